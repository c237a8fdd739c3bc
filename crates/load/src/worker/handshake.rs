//! Between the established transport and the first exchange: the handshake of a protocol that has
//! one. A protocol without one is compiled without any of this.

use model::Mark;
use model::tls::HandshakeKind;
use model::units::{Bytes, Instant, Span};
use sys::Errno;
use sys::reactor::{Reactor, Refused, Transmit};
use wire::{Broken, Client, End, Head, ProtocolError, Sink, StreamId};

use super::{Arrival, STALLED, Worker};
use crate::exchange::{Cause, Exchange};
use crate::pool::{Connection, Making, Open, Pool};
use crate::recorder::Recorder;

/// How an exchange ended that was a handshake.
struct Ended {
    /// How long the connect before it took.
    connect: Option<Span>,
    cause: Option<Cause>,
}

/// Who hears what the protocol tells before the first exchange: nothing can be said yet.
struct Nobody;

impl Sink for Nobody {
    fn first_byte(&mut self, _: StreamId) {}

    fn head(&mut self, _: StreamId, _: &Head<'_>) {}

    fn content(&mut self, _: StreamId, _: &[u8]) {}

    fn skipped(&mut self, _: StreamId, _: u64) {}

    fn complete(&mut self, _: StreamId) {}

    fn broken(&mut self, _: StreamId, _: Broken) {}
}

/// What was written last, to be sent.
#[inline]
pub(crate) fn written<'a, C: Client>(client: &C, bytes: &'a [u8]) -> Transmit<'a> {
    let transmit = Transmit::copied(bytes);
    if C::DATAGRAMS {
        let segment = u16::try_from(client.segment()).unwrap_or(0);
        transmit.in_datagrams(segment, client.mark())
    } else {
        transmit
    }
}

/// Bytes came within the handshake of `place`: what is wrong with them.
pub(super) fn hear<C: Client>(
    pool: &mut Pool<C>,
    shared: &mut C::Shared,
    recorder: &mut Recorder,
    place: u32,
    at: Instant,
    (mark, bytes): (Mark, &mut [u8]),
) -> Option<ProtocolError> {
    let securing = pool.securing(place)?;
    securing.client.hear_mark(mark);
    recorder.add_bytes_received(bytes.len() as u64, at);
    let heard = securing.client.handle_bytes(shared, at, bytes, &mut Nobody);
    heard.err()
}

/// Something came on an open connection whose handshake went on beside its first exchange: it may
/// be over.
#[inline]
pub(super) fn secured_late<C: Client>(open: &mut Open<C>, recorder: &mut Recorder, at: Instant) {
    if C::HANDSHAKES
        && let Some(since) = open.securing_since
        && open.client.is_established()
    {
        open.securing_since = None;
        recorder.secured(at.saturating_since(since), open.client.handshake());
    }
}

/// Whether an answer may have come before the server knew the end of the handshake: what it says to
/// that, sessions for other connections, comes behind the answer.
#[inline]
pub(super) fn is_early<C: Client>(client: &C) -> bool {
    C::HANDSHAKES && !C::DATAGRAMS && client.handshake() == HandshakeKind::Early
}

/// Bytes came on a connection that we have taken leave of: tickets, for sessions to come.
#[cold]
pub(super) fn hear_late<C: Client>(
    pool: &mut Pool<C>,
    shared: &mut [C::Shared],
    recorder: &mut Recorder,
    number: u32,
    at: Instant,
    bytes: &mut [u8],
) {
    if let Some((client, host)) = pool.half_closed.client(number) {
        recorder.add_bytes_received(bytes.len() as u64, at);
        // Whatever is wrong with them, nothing waits for them.
        let _heard = client.handle_bytes(&mut shared[host], at, bytes, &mut Nobody);
    }
}

/// What it means that the transport ended within the handshake: where datagrams carry it, that
/// nobody is there.
pub(crate) const fn handshake_ended<C: Client>(error: Option<Errno>) -> Cause {
    match error {
        Some(error) if C::DATAGRAMS => Cause::Connect(Refused::Kernel(error)),
        error => Cause::HandshakeEnded(error),
    }
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// The transport is established: the handshake begins.
    pub(super) fn secure(&mut self, place: u32, client: C, at: Instant) {
        self.pool.secure(place, client, at, &mut self.recorder);
        if self.is_bare()
            && let Some(securing) = self.pool.securing(place)
            && securing.pending.is_some()
        {
            self.recorder.send(at);
        }
        if let Some(due) = self.pool.open_early(place, at, &mut self.recorder) {
            self.begin(place, Arrival::new(due), at, at);
            return self.poll_protocol(place, at);
        }
        self.shake_hands(place, at, None);
    }

    /// The handshake has gone on, or failed.
    pub(super) fn shake_hands(&mut self, place: u32, at: Instant, error: Option<ProtocolError>) {
        let Some(securing) = self.pool.securing(place) else {
            return;
        };
        let has_ended = securing.client.has_ended();
        if error.is_none() && securing.client.is_established() && !has_ended {
            return self.secured(place, at);
        }
        self.transmit_handshake(place, at);
        self.arm_handshake(place);
        if let Some(error) = error {
            self.handshake_failed(place, at, Cause::Protocol(error));
        } else if has_ended {
            self.give_up_handshake(place, at, Cause::HandshakeEnded(None));
        }
    }

    /// The protocol may want to be woken within its handshake.
    fn arm_handshake(&mut self, place: u32) {
        if let Some(securing) = self.pool.securing(place)
            && let Some(wakeup) = securing.client.poll_timeout()
        {
            self.pool.alarms.arm(place, wakeup);
        }
    }

    /// Time has passed within the handshake.
    pub(super) fn wake_handshake(&mut self, place: u32, now: Instant) {
        let Some(securing) = self.pool.securing(place) else {
            return;
        };
        let wakeup = securing.client.poll_timeout();
        if wakeup.is_some_and(|at| at <= now) {
            securing.client.handle_timeout(now, &mut Nobody);
            self.shake_hands(place, now, None);
        } else {
            self.arm_handshake(place);
        }
    }

    /// The connection in `place` is to be let go of: where nothing else would tell the peer, we do.
    pub(super) fn say_farewell(&mut self, place: u32, at: Instant) {
        if !C::DATAGRAMS {
            return;
        }
        let shared = &mut self.shared[self.pool.host(place)];
        let (key, client) = match self.pool.connection(place) {
            Connection::Open(open) => (open.key, &mut open.client),
            Connection::Securing(securing) => (securing.key, &mut securing.client),
            _ => return,
        };
        self.out.clear();
        if client.farewell(shared, at, &mut self.out) {
            // Where there is no room for it, the server waits until it has waited long enough.
            let _told = self.reactor.send(key, written(client, &self.out));
        }
    }

    /// Whether handshakes are all that is made.
    #[inline]
    pub(super) const fn is_bare(&self) -> bool {
        C::HANDSHAKES && matches!(self.share.requests_per_connection, Some(0))
    }

    /// The exchange that was a handshake has ended, for `cause` or well.
    fn end_handshake(&mut self, due: Instant, since: Instant, at: Instant, how: Ended) {
        let Ended { connect, cause } = how;
        self.last_end = self.last_end.max(at);
        self.recorder.end(&Exchange {
            due,
            ready: since.max(due),
            sent: Some(since),
            first_byte: None,
            ended: at,
            content: Bytes::ZERO,
            coding: None,
            connect,
            begun_late: Span::ZERO,
            class: Some(0),
            cause,
        });
    }

    /// The handshake was all that was wanted of the connection: we take leave of the server.
    fn shaken(&mut self, place: u32, pending: Option<Instant>, since: Instant, at: Instant) {
        let Some(open) = self.pool.open(place) else {
            return;
        };
        open.client.finish();
        let connect = open.making.take().map(|making| making.took);
        self.pool.answered(place);
        if let Some(due) = pending {
            let how = Ended {
                connect,
                cause: None,
            };
            self.end_handshake(due, since, at, how);
        }
        self.transmit(place, at);
        self.part_when_said(place, at);
    }

    /// Lets go of the connection once the end of its handshake and our goodbye are handed over, and
    /// what is waited for has come.
    pub(super) fn part_when_said(&mut self, place: u32, at: Instant) {
        let is_over = |client: &C| !client.wants_transmit() && client.may_part();
        if self
            .pool
            .open(place)
            .is_some_and(|open| is_over(&open.client))
        {
            self.part(place, at);
        }
    }

    /// The handshake is over: the connection is open.
    fn secured(&mut self, place: u32, at: Instant) {
        let securing = self.pool.securing(place);
        let since = securing.map_or(at, |securing| securing.since);
        let pending = self.pool.secured(place, at, &mut self.recorder);
        if self.is_bare() {
            return self.shaken(place, pending, since, at);
        }
        if let Some(due) = pending {
            self.begin(place, Arrival::new(due), at, at);
        }
        self.feed(place, at);
        self.poll_protocol(place, at);
    }

    /// Hands to the reactor what the handshake wants to send.
    fn transmit_handshake(&mut self, place: u32, now: Instant) {
        while let Some(securing) = self.pool.securing(place)
            && securing.client.wants_transmit()
        {
            let key = securing.key;
            if !self.reactor.may_send(key) {
                if !std::mem::replace(&mut securing.is_stalled, true) {
                    self.stalled.push_back(place);
                }
                self.stalled_until = self.stalled_until.min(now + STALLED);
                return;
            }
            self.out.clear();
            match securing.client.poll_transmit(now, &mut self.out) {
                wire::Transmit::Written { .. } => {}
                wire::Transmit::Fixed { .. } | wire::Transmit::Nothing => return,
            }
            let transmit = written(&securing.client, &self.out);
            if let Err(refused) = self.reactor.send(key, transmit) {
                return self.give_up_handshake(place, now, Cause::Write(refused));
            }
        }
    }

    /// What found no room is tried again.
    #[cold]
    pub(super) fn retry_handshake(&mut self, place: u32, now: Instant) {
        if let Some(securing) = self.pool.securing(place) {
            securing.is_stalled = false;
            self.transmit_handshake(place, now);
            self.arm_handshake(place);
        }
    }

    /// The handshake ends without a word of the protocol: the transport did, or its time is up.
    #[cold]
    pub(super) fn give_up_handshake(&mut self, place: u32, at: Instant, cause: Cause) {
        let shared = &mut self.shared[self.pool.host(place)];
        if let Some(securing) = self.pool.securing(place) {
            let client = &mut securing.client;
            client.handle_end(shared, at, End::Reset, &mut Nobody);
            self.handshake_failed(place, at, cause);
        }
    }

    /// As for a connect that failed: so does the exchange that waited for it.
    #[cold]
    fn handshake_failed(&mut self, place: u32, at: Instant, cause: Cause) {
        self.say_farewell(place, at);
        let securing = self.pool.securing(place);
        let since = securing.map_or(at, |securing| securing.since);
        let (reactor, recorder) = (&mut self.reactor, &mut self.recorder);
        let pending = self.pool.handshake_failed(place, at, reactor, recorder);
        if let Some((due, _)) = pending
            && self.is_bare()
        {
            let how = Ended {
                connect: None,
                cause: Some(cause),
            };
            self.end_handshake(due, since, at, how);
        } else if let Some(arrival) = self.waiting_for(place, pending) {
            self.never_sent(arrival, at, cause);
        }
        if !self.stopping {
            self.pool.back_off(place, at, &mut self.recorder);
        }
    }

    /// The exchange that waited for the connection in `place`, which failed, or else for any.
    pub(super) fn waiting_for(
        &mut self,
        place: u32,
        pending: Option<(Instant, Making)>,
    ) -> Option<Arrival> {
        let pending = pending.map(|(due, making)| Arrival {
            making: Some(making),
            ..self.arrival(place, due)
        });
        pending.or_else(|| self.take_waiting(self.pool.host(place)))
    }

    /// The server may have said that it sends no more, before its stream ends.
    #[inline]
    pub(super) fn hear_goodbye(&mut self, place: u32, at: Instant) {
        if C::HANDSHAKES
            && let Some(open) = self.pool.open(place)
            && open.client.has_ended()
        {
            self.peer_ended(place, at, None);
        }
    }
}
