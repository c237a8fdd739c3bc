//! What happens to a connection: it is made, fails, is closed, is to be looked at.

use model::units::Instant;
use sys::Errno;
use sys::reactor::{Key, Reactor, Refused};
use wire::{Client, End, StreamId};

use super::handshake::is_early;
use super::{Arrival, Share, TURN, Unstamped, Worker, handshake_ended};
use crate::exchange::Cause;
use crate::flight::Watch;
use crate::pool::{Connection, Open};

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Begins connects, as far as they may be under way at once.
    pub(super) fn dial(&mut self, now: Instant) {
        self.pool.dial_again = Instant::FAR_FUTURE;
        if self.stopping {
            return;
        }
        for _ in 0..TURN {
            if !self.pool.may_connect() {
                return;
            }
            if let Some(turn) = self.renewal.as_ref().and_then(|renewal| renewal.wait(now)) {
                self.pool.dial_again = turn;
                return;
            }
            // In turns, those that were never made come first: else one that is made anew again and
            // again would take all of them.
            let place = match self.is_paced() && self.want_fresh(now) {
                true => self.pool.take_latest(),
                false => self.pool.take_waiting(),
            };
            let Some(place) = place else {
                if !self.want_fresh(now) {
                    return;
                }
                continue;
            };
            if !self.is_needed(place, now) {
                continue;
            }
            self.limit_received(place);
            let (reactor, recorder) = (&mut self.reactor, &mut self.recorder);
            let tried = self.pool.connect(place, now, reactor, recorder);
            if let (Some(_), Some(renewal)) = (&tried, &mut self.renewal) {
                renewal.take_turn(now);
            }
            match tried {
                None => return,
                Some(Ok(key)) => {
                    if !self.reactor.sends_at_once() {
                        self.unstamped.push(Unstamped {
                            place,
                            key,
                            stream: None,
                        });
                    }
                }
                Some(Err(refused)) => self.connect_failed(place, now, Cause::Connect(refused)),
            }
        }
        self.pool.dial_again = now;
    }

    /// Whether the connection in `place` still has something to carry. A closed loop asks its next
    /// exchange here, unless another one waits already.
    fn is_needed(&mut self, place: u32, now: Instant) -> bool {
        if self.share.open_loop {
            return true;
        }
        let Connection::Waiting { pending: None } = self.pool.connection(place) else {
            return true;
        };
        let host = self.pool.host(place);
        let pending = match self.is_waited_for(host) {
            true => None,
            false => self.claim(place, now),
        };
        let is_needed = pending.is_some() || self.is_waited_for(host) || self.has_users();
        *self.pool.connection(place) = if is_needed {
            Connection::Waiting { pending }
        } else {
            Connection::Absent
        };
        is_needed
    }

    /// Whether connections are opened in turns.
    fn is_paced(&self) -> bool {
        self.renewal
            .as_ref()
            .is_some_and(|renewal| renewal.is_paced())
    }

    /// The next connection that was never made is to be made, if there is one.
    fn want_fresh(&mut self, now: Instant) -> bool {
        if self.fresh >= self.fresh_end {
            return false;
        }
        if self.begin_script(self.fresh, now) {
            self.fresh += 1;
            return true;
        }
        // Whoever waits for a turn to connect has nothing to ask before it.
        let due = if self.is_paced() { now } else { self.start };
        let pending = self.share.chains.then_some(due);
        if let Some(due) = pending {
            self.recorder.arrive(due);
        }
        self.pool.want(self.fresh, pending);
        self.fresh += 1;
        true
    }

    /// A connect succeeded.
    pub(super) fn established(&mut self, place: u32, key: Key, at: Instant) {
        if let Some(split) = &mut self.split {
            split.established(place, key, &mut self.reactor);
        }
        if self.preamble.is_none() || self.introduce(place, at) {
            self.begin_protocol(place, at);
        }
    }

    /// The connection in `place` leads to the server.
    pub(super) fn begin_protocol(&mut self, place: u32, at: Instant) {
        let shared = &mut self.shared[self.pool.host(place)];
        let identities = C::identities(shared);
        if identities > 1 {
            let turn = self.pool.identity(place, identities);
            C::take_identity(shared, turn);
        }
        let client = C::new(shared);
        if C::HANDSHAKES {
            return self.secure(place, client, at);
        }
        let pending = self.pool.established(place, client, at, &mut self.recorder);
        if let Some(due) = pending {
            self.hold(place);
            self.begin(place, Arrival::new(due), at, at);
        }
        self.feed(place, at);
        self.poll_protocol(place, at);
    }

    /// A connect failed: so does the exchange that waited for it.
    pub(super) fn connect_failed(&mut self, place: u32, at: Instant, cause: Cause) {
        let pending = self.pool.connect_failed(place, at, &mut self.recorder);
        if let Some(arrival) = self.waiting_for(place, pending) {
            self.never_sent(arrival, at, cause);
        }
        if !self.stopping {
            self.pool.back_off(place, at, &mut self.recorder);
            self.look_elsewhere(place);
        }
    }

    /// Content was drained unread.
    pub(super) fn skipped(&mut self, place: u32, at: Instant, count: u64) {
        self.recorder.add_bytes_received(count, at);
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            return;
        };
        let was_full = open.client.free() == 0;
        let (requests, recorder) = (&self.requests, &mut self.recorder);
        let mut watch =
            Watch::new(flights, requests, recorder, (place, at)).telling(self.hooks.as_deref_mut());
        open.client.handle_skipped(at, count, &mut watch);
        let seen = watch.seen;
        open.skipping = open.client.skippable() > 0;
        self.follow(place, at, was_full, seen);
    }

    /// The reactor takes no send on this connection. If the connection is no more, what was to go
    /// out on it asks elsewhere; else its exchange has failed.
    #[cold]
    pub(super) fn cannot_send(
        &mut self,
        place: u32,
        at: Instant,
        stream: Option<StreamId>,
        refused: Refused,
    ) {
        if refused != Refused::Stale
            && let Some(stream) = stream
            && let Some((_, flights)) = self.pool.open_and_flights(place)
            && let Some(flight) = &mut flights[stream.0 as usize]
        {
            flight.cause = Some(Cause::Write(refused));
        }
        self.break_off(place, at, |_| Cause::Write(refused));
    }

    /// A send failed. If the peer is gone, the end of the stream follows and tells how; else it is
    /// this machine that could not send.
    #[cold]
    pub(super) fn send_failed(&mut self, place: u32, at: Instant, error: Errno) {
        let is_ours = error.is_out_of_memory();
        let cause = Cause::Write(Refused::Kernel(error));
        if let Some(open) = self.pool.open(place) {
            open.write_error = Some(error);
            if is_ours {
                self.break_off(place, at, |_| cause);
            }
        } else if is_ours {
            // What could not be sent was said before the first exchange.
            self.give_up_tunnel(place, at, cause);
            self.give_up_handshake(place, at, cause);
        }
    }

    /// The server ended the stream.
    pub(super) fn peer_ended(&mut self, place: u32, at: Instant, error: Option<Errno>) {
        self.take_back(place, at);
        let host = self.pool.host(place);
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            self.give_up_tunnel(place, at, Cause::TunnelEnded(error));
            if C::HANDSHAKES {
                self.give_up_handshake(place, at, handshake_ended::<C>(error));
            }
            return;
        };
        let how = error.map_or(End::Finished, |_| End::Reset);
        let (requests, recorder) = (&self.requests, &mut self.recorder);
        let mut watch =
            Watch::new(flights, requests, recorder, (place, at)).telling(self.hooks.as_deref_mut());
        watch.error = error;
        watch.write_error = open.write_error;
        open.client
            .handle_end(&mut self.shared[host], at, how, &mut watch);
        let seen = watch.seen;
        open.in_flight -= seen.answered + seen.broken;
        open.close_announced |= seen.close_announced;
        // Where the close ends the content, the answer to our last request ends here.
        let by_us = is_last_by_us(&self.share, open);
        if seen.answered + seen.broken > 0 {
            self.last_end = at;
        }
        if seen.answered > 0 {
            self.pool.answered(place);
        }
        let is_broken = seen.broken > 0;
        self.count_close(place, at, is_broken, by_us);
        let (reactor, recorder) = (&mut self.reactor, &mut self.recorder);
        self.pool.close(place, at, reactor, recorder);
        self.hand_over(at);
        if is_broken && !self.stopping {
            self.pool.back_off(place, at, &mut self.recorder);
        } else if !is_broken {
            self.reconnect(place, at);
        }
    }

    pub(super) fn count_close(&mut self, place: u32, at: Instant, is_broken: bool, by_us: bool) {
        let Some(open) = self.pool.open(place) else {
            return;
        };
        if std::mem::take(&mut open.close_announced) && !by_us {
            self.recorder.announce_close(at);
        }
        let counts = self.recorder.connections_at(at);
        if is_broken {
            counts.broken += 1;
        } else if by_us {
            counts.closed_by_client += 1;
        } else {
            counts.closed_by_server += 1;
        }
    }

    /// The connection takes no more exchanges. Those that the server will not process any more ask
    /// elsewhere; what we began before our own last request is still answered.
    pub(super) fn wind_up(&mut self, place: u32, at: Instant) {
        let is_announced = self
            .pool
            .open(place)
            .is_some_and(|open| open.close_announced);
        if is_announced {
            self.take_back(place, at);
        }
        let Some(open) = self.pool.open(place) else {
            return;
        };
        if open.in_flight == 0 && open.client.may_part() {
            if is_early(&open.client) {
                // The answer was there before the handshake was over: its end is still to be said.
                open.client.finish();
                self.transmit(place, at);
            }
            self.part(place, at);
        } else if (C::MULTIPLEXES || !is_announced) && open.client.wants_transmit() {
            self.send(place, at);
        }
        if is_announced {
            self.hand_over(at);
        }
    }

    /// The last answer on this connection has come. A new one is made at once; the old socket waits
    /// for the server's close.
    pub(super) fn part(&mut self, place: u32, at: Instant) {
        let Some(open) = self.pool.open(place) else {
            return;
        };
        let by_us = is_last_by_us(&self.share, open);
        let is_early = is_early(&open.client);
        self.count_close(place, at, false, by_us);
        self.say_farewell(place, at);
        self.read_on(place);
        let (reactor, recorder) = (&mut self.reactor, &mut self.recorder);
        if C::DATAGRAMS {
            // There is no close of the server to wait for.
            self.pool.close(place, at, reactor, recorder);
        } else {
            let is_bare = self.share.requests_per_connection == Some(0);
            self.pool
                .half_close(place, is_bare || is_early, at, reactor, recorder);
        }
        self.reconnect(place, at);
    }

    /// A new socket, if there is anything to use it for.
    pub(super) fn reconnect(&mut self, place: u32, at: Instant) {
        if self.stopping || (self.share.open_loop && self.schedule_is_over()) {
            return;
        }
        // What waits already is asked first. Whoever waits for a turn to connect asks then.
        let is_paced = self.is_paced() && self.share.chains;
        let host = self.pool.host(place);
        let pending = match self.is_waited_for(host) || is_paced {
            true => None,
            false => self.claim(place, at),
        };
        let asks_then = is_paced && self.remaining > 0;
        if self.share.open_loop || pending.is_some() || self.is_waited_for(host) || asks_then {
            self.pool.want(place, pending);
        } else {
            self.think(place, at);
        }
    }

    /// Ends what has waited too long, and wakes what has waited long enough.
    pub(super) fn expire(&mut self, now: Instant) {
        for _ in 0..TURN {
            let Some(place) = self.pool.alarms.take_due(now) else {
                break;
            };
            self.look_at(place, now);
        }
        let (reactor, recorder) = (&mut self.reactor, &mut self.recorder);
        self.pool.expire_half_closed(now, reactor, recorder);
        self.go_on_slowly(now);
        self.stalled_until = Instant::FAR_FUTURE;
        for _ in 0..self.stalled.len() {
            let Some(place) = self.stalled.pop_front() else {
                break;
            };
            if let Some(open) = self.pool.open(place) {
                open.is_stalled = false;
                self.transmit(place, now);
                self.feed(place, now);
                if self.is_bare() {
                    self.part_when_said(place, now);
                }
            } else if C::HANDSHAKES {
                self.retry_handshake(place, now);
            }
        }
        if now >= self.give_up {
            self.give_up(now);
        }
    }

    /// The alarm of a connection went off: what it was set for may have ended long ago.
    fn look_at(&mut self, place: u32, now: Instant) {
        let limit = self.share.connect_limit;
        let asks = self.wake_user(place, now);
        let due = match self.pool.connection(place) {
            Connection::Absent | Connection::Waiting { .. } => return,
            Connection::BackingOff { until } => *until,
            Connection::Connecting { asked, .. } => asked.unwrap_or(now) + limit,
            Connection::Open(open) if open.in_flight == 0 => asks,
            Connection::Open(_) => self.deadline(place),
            Connection::Securing(securing) => securing.since + limit,
        };
        if due <= now {
            return match self.pool.connection(place) {
                Connection::Connecting {
                    opening: Some(_), ..
                } => self.give_up_tunnel(place, now, Cause::TunnelTimeout(limit)),
                Connection::Connecting { key, .. } => {
                    let key = *key;
                    self.reactor.reset(key);
                    self.connect_failed(place, now, Cause::ConnectTimeout(limit));
                }
                Connection::Open(_) => self.time_out(place, now),
                Connection::Securing(_) => {
                    self.give_up_handshake(place, now, Cause::HandshakeTimeout(limit));
                }
                _ => self.retry(place, now),
            };
        }
        if due < Instant::FAR_FUTURE {
            self.pool.alarms.arm(place, due);
        }
        if C::HANDSHAKES && self.pool.securing(place).is_some() {
            return self.wake_handshake(place, now);
        }
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            return;
        };
        if open.client.poll_timeout().is_some_and(|at| at <= now) {
            let was_full = open.client.free() == 0;
            let (requests, recorder) = (&self.requests, &mut self.recorder);
            let mut watch = Watch::new(flights, requests, recorder, (place, now))
                .telling(self.hooks.as_deref_mut());
            open.client.handle_timeout(now, &mut watch);
            let seen = watch.seen;
            self.follow(place, now, was_full, seen);
            if C::HANDSHAKES {
                self.hear_goodbye(place, now);
            }
        } else {
            self.poll_protocol(place, now);
        }
    }

    /// When the first of the exchanges on the connection in `place` has taken too long.
    pub(super) fn deadline(&mut self, place: u32) -> Instant {
        let timeout = self.share.timeout;
        let flights = self.pool.open_and_flights(place);
        flights
            .and_then(|(_, flights)| {
                let under_way = flights.iter().flatten();
                under_way.map(|flight| flight.deadline(timeout)).min()
            })
            .unwrap_or(Instant::FAR_FUTURE)
    }

    /// The wait before a connect is over.
    fn retry(&mut self, place: u32, now: Instant) {
        if self.stopping {
            return;
        }
        self.recorder.connections_at(now).backed_off += 1;
        *self.pool.connection(place) = Connection::Absent;
        self.reconnect(place, now);
    }
}

/// Whether it was we who made the request that began last the last one on its connection.
fn is_last_by_us<C>(share: &Share, open: &Open<C>) -> bool {
    share.requests_per_connection == Some(open.requests) || open.last == Some(open.requests)
}
