//! What a worker does seldom: phases, connects, closes, failures, timeouts, the end.

use super::{
    AtomicBool, BACKOFF_FIRST, BACKOFF_LONGEST, CONNECTS_UNDER_WAY, Cause, Client, Errno,
    INTERRUPTED_TIME, Instant, Key, NOBODY, Ordering, PARTING, PARTING_TIME, Phase, Reactor,
    Record, Refused, SocketAddr, Span, State, Worker, connection,
};
use crate::exchange::Exchange;
use model::units::Bytes;

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Crosses the edges of phases that time has come to, and looks whether a signal came.
    pub(super) fn enter_phases(&mut self, now: Instant) {
        self.recorder.roll(now);
        if is_set(&self.stop) && !self.interrupted {
            self.interrupted = true;
            self.give_up = now + INTERRUPTED_TIME;
            self.schedule.cut(now);
            self.recorder.end_window(now);
        }
        let before = std::mem::replace(&mut self.phase, self.recorder.phase());
        let after = self.phase;
        if before == Phase::Warmup && after != Phase::Warmup {
            self.gauge.start(&self.reactor);
            self.age_at_start = Some(self.age(self.recorder.window().0));
            self.backlog_at_start = self.backlog.len();
            if let Some(count) = self.share.count.filter(|_| !self.share.open_loop) {
                self.remaining = count.saturating_sub(self.recorder.outstanding());
            }
        }
        if before != Phase::Drain && after == Phase::Drain {
            self.gauge.end(&self.reactor);
            self.age_at_end = Some(self.age(self.recorder.window().1));
            self.stop_sending(now);
        }
    }

    /// How long the exchanges in flight have been so at `edge`, summed up.
    fn age(&self, edge: Instant) -> Span {
        self.connections
            .iter()
            .filter_map(|connection| {
                let sent = self.reactor.sent_at(connection.key?);
                Some(connection.age(sent, edge))
            })
            .sum()
    }

    /// The window is over: what was not sent yet never will be.
    fn stop_sending(&mut self, now: Instant) {
        self.stopping = true;
        while let Some(due) = self.backlog.pop_front() {
            self.never_sent(due, now, Cause::ShedAtEnd);
        }
        for place in 0..self.share.connections {
            if let Some(due) = self.connections[place as usize].pending.take() {
                self.never_sent(due, now, Cause::Unfinished);
            }
        }
    }

    /// Records an exchange that was never sent.
    pub(super) fn never_sent(&mut self, due: Instant, now: Instant, cause: Cause) {
        self.last_end = self.last_end.max(now);
        self.recorder.end(&Exchange {
            due,
            ready: now.max(due),
            sent: None,
            first_byte: None,
            ended: now.max(due),
            content: Bytes::ZERO,
            connect: None,
            cause: Some(cause),
        });
    }

    /// Begins to connect all connections, as far as connects may be under way at once.
    pub(super) fn connect_first(&mut self, now: Instant) {
        for place in 0..self.share.connections {
            if !self.share.open_loop {
                let pending = self.claim(now);
                self.connections[place as usize].pending = pending;
                if pending.is_none() {
                    return;
                }
            }
            self.connect(place, now);
        }
    }

    /// Begins to connect, or waits until fewer connects are under way.
    pub(super) fn connect(&mut self, place: u32, now: Instant) {
        if self.connecting >= CONNECTS_UNDER_WAY {
            return self.waiting.push_back(place);
        }
        self.connects += 1;
        let target = self.share.targets[self.connects % self.share.targets.len()];
        let source = self.source_for(target);
        self.recorder.connections_at(now).asked += 1;
        let mut result = self.reactor.connect(target, source);
        if result == Err(Refused::Slots)
            && let Some((_, key)) = self.parting.pop_front()
        {
            self.reactor.close(key);
            result = self.reactor.connect(target, source);
        }
        match result {
            Ok(key) => {
                self.owners[key.index()] = place;
                self.connecting += 1;
                self.connections[place as usize].connecting(key, now);
                self.timeouts.arm(place, now + self.share.timeout);
            }
            Err(refused) => {
                self.connecting += 1;
                self.connect_failed(place, now, Cause::Connect(refused));
            }
        }
    }

    /// The source address whose turn it is, of the target's family: each meets each target.
    fn source_for(&self, target: SocketAddr) -> Option<SocketAddr> {
        let sources = &self.sources[usize::from(target.is_ipv6())];
        let turn = self.connects / self.share.targets.len();
        let index = turn.checked_rem(sources.len())?;
        Some(sources[index])
    }

    /// A connect succeeded.
    pub(super) fn established(&mut self, place: u32, key: Key, at: Instant) {
        let took = at.saturating_since(self.reactor.sent_at(key));
        self.connecting -= 1;
        self.open += 1;
        self.recorder.set_open_connections(self.open);
        self.recorder.connected(took);
        self.recorder.connections_at(at).established += 1;
        let client = C::new(&mut self.shared);
        let connection = &mut self.connections[place as usize];
        connection.established(client, at, took);
        match connection.pending.take() {
            Some(due) => self.begin(place, due, at, at),
            None => self.go_on(place, at),
        }
        self.connect_waiting(at);
    }

    /// One connect fewer is under way: the next may begin.
    fn connect_waiting(&mut self, now: Instant) {
        if !self.stopping
            && let Some(place) = self.waiting.pop_front()
        {
            self.connect(place, now);
        }
    }

    /// A connect failed: so does the exchange that waited for it.
    pub(super) fn connect_failed(&mut self, place: u32, at: Instant, cause: Cause) {
        self.connecting -= 1;
        self.recorder.connections_at(at).failed += 1;
        let connection = &mut self.connections[place as usize];
        connection.gone();
        let waiting = connection.pending.take();
        if let Some(due) = waiting.or_else(|| self.backlog.pop_front()) {
            self.never_sent(due, at, cause);
        }
        self.back_off(place, at);
        self.connect_waiting(at);
    }

    /// The server ended the stream.
    pub(super) fn peer_ended(&mut self, place: u32, at: Instant, error: Option<Errno>) {
        let connection = &mut self.connections[place as usize];
        let key = connection.key.expect("a stream that ends had begun");
        let unsent = connection.take_unsent(self.reactor.sent_at(key));
        connection.ended(&mut self.shared, &self.expectation, at, error);
        let is_broken = self.end_exchanges(place, at);
        self.count_close(place, at, is_broken, false);
        self.close(place, at);
        if let Some(due) = unsent {
            // It was to follow a complete answer, but the server had closed: it asks elsewhere.
            self.recorder.unbegin();
            self.wait_again(place, due, at);
        } else if is_broken {
            self.back_off(place, at);
        } else {
            self.reconnect(place, at);
        }
    }

    /// The exchanges under way have failed, and the connection is of no more use.
    pub(super) fn break_off(&mut self, place: u32, at: Instant) {
        let is_broken = self.end_exchanges(place, at);
        self.count_close(place, at, is_broken, false);
        self.close(place, at);
        self.back_off(place, at);
    }

    /// Records the exchanges that are over; whether one of them failed with the connection.
    fn end_exchanges(&mut self, place: u32, at: Instant) -> bool {
        let connection = &mut self.connections[place as usize];
        let Some(key) = connection.key else {
            return false;
        };
        let sent = self.reactor.sent_at(key);
        let mut is_broken = false;
        while let Some(flight) = connection.take_over() {
            let sent = (sent >= flight.ready()).then_some(sent);
            self.recorder.end(&flight.end(sent, at));
            self.last_end = at;
            is_broken |= !flight.is_answered();
        }
        is_broken
    }

    fn count_close(&mut self, place: u32, at: Instant, is_broken: bool, by_us: bool) {
        let announced = self.connections[place as usize].take_close_announced();
        if announced && !by_us {
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

    /// The socket goes now.
    fn close(&mut self, place: u32, at: Instant) {
        if let Some(key) = self.leave(place, at) {
            self.reactor.close(key);
        }
    }

    /// The connection lets go of its socket, which stays open.
    fn leave(&mut self, place: u32, at: Instant) -> Option<Key> {
        let connection = &mut self.connections[place as usize];
        let key = connection.gone()?;
        let uncounted = self
            .reactor
            .bytes_taken(key)
            .saturating_sub(connection.bytes_counted);
        self.recorder.add_bytes_sent(uncounted, at);
        self.owners[key.index()] = NOBODY;
        self.open -= 1;
        self.recorder.set_open_connections(self.open);
        Some(key)
    }

    /// The last answer on this connection has come. A new one is made at once; the old socket waits
    /// for the server's close, so that TIME_WAIT stays where the close was announced.
    pub(super) fn part(&mut self, place: u32, at: Instant) {
        let connection = &self.connections[place as usize];
        let by_us = self.share.requests_per_connection == Some(connection.requests);
        self.count_close(place, at, false, by_us);
        if let Some(key) = self.leave(place, at) {
            if self.parting.len() == PARTING
                && let Some((_, oldest)) = self.parting.pop_front()
            {
                self.reactor.close(oldest);
            }
            self.parting.push_back((at + PARTING_TIME, key));
        }
        self.reconnect(place, at);
    }

    /// The server has closed a socket that waited for it.
    pub(super) fn parted(&mut self, key: Key) {
        self.reactor.close(key);
        if let Some(position) = self.parting.iter().position(|(_, parting)| *parting == key) {
            self.parting.remove(position);
        }
    }

    /// A new socket at once, if there is anything to use it for.
    fn reconnect(&mut self, place: u32, at: Instant) {
        if self.share.open_loop {
            if !self.stopping && !self.schedule_is_over() {
                self.connect(place, at);
            }
        } else {
            let pending = self.claim(at);
            self.connections[place as usize].pending = pending;
            if pending.is_some() {
                self.connect(place, at);
            }
        }
    }

    /// An exchange that had begun waits for a connection again.
    fn wait_again(&mut self, place: u32, due: Instant, at: Instant) {
        if self.stopping {
            self.never_sent(due, at, Cause::Unfinished);
        } else if self.share.open_loop {
            self.backlog.push_front(due);
            self.connect(place, at);
        } else {
            self.connections[place as usize].pending = Some(due);
            self.connect(place, at);
        }
    }

    /// A new socket after a while.
    fn back_off(&mut self, place: u32, at: Instant) {
        let connection = &mut self.connections[place as usize];
        let doublings = connection.failures.min(10);
        connection.failures += 1;
        connection.state = State::BackingOff;
        if !self.stopping {
            let wait = (BACKOFF_FIRST * (1 << doublings)).min(BACKOFF_LONGEST);
            self.retries.arm(place, at + wait);
        }
    }

    /// Ends what has waited too long, and wakes what has waited long enough.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(place) = self.timeouts.take_due(now) {
            self.look_at_timeout(place, now);
        }
        while let Some(place) = self.retries.take_due(now) {
            self.retry(place, now);
        }
        while let Some((at, key)) = self.parting.front().copied()
            && at <= now
        {
            self.reactor.close(key);
            self.parting.pop_front();
        }
        if now >= self.give_up {
            self.give_up(now);
        }
    }

    /// The alarm of a connection went off: what it was set for may have ended long ago.
    fn look_at_timeout(&mut self, place: u32, now: Instant) {
        let timeout = self.share.timeout;
        let connection = &mut self.connections[place as usize];
        let Some(key) = connection.key else {
            return;
        };
        let since = match (connection.state, connection.oldest()) {
            (State::Connecting, _) => self.reactor.sent_at(key).max(connection.free_since),
            (_, Some(flight)) => self.reactor.sent_at(key).max(flight.ready()),
            (_, None) => return,
        };
        if since + timeout > now {
            return self.timeouts.arm(place, since + timeout);
        }
        if connection.state == State::Connecting {
            self.reactor.reset(key);
            self.owners[key.index()] = NOBODY;
            self.connect_failed(place, now, Cause::ConnectTimeout(timeout));
        } else {
            connection.fail_all(connection::timed_out(timeout));
            self.break_off(place, now);
        }
    }

    /// The wait before a connect is over.
    fn retry(&mut self, place: u32, now: Instant) {
        if self.stopping || self.connections[place as usize].key.is_some() {
            return;
        }
        let connection = &mut self.connections[place as usize];
        if connection.state == State::BackingOff {
            self.recorder.connections_at(now).backed_off += 1;
        }
        if self.share.open_loop || connection.pending.is_some() {
            self.connect(place, now);
        } else {
            self.reconnect(place, now);
        }
    }

    /// What is under way is given up.
    fn give_up(&mut self, now: Instant) {
        self.give_up = Instant::FAR_FUTURE;
        for place in 0..self.share.connections {
            let connection = &mut self.connections[place as usize];
            if connection.in_flight() > 0 {
                connection.fail_all(|_| Cause::Unfinished);
                self.break_off(place, now);
            }
        }
    }

    /// Closes everything and writes the record.
    pub(super) fn finish(mut self) -> Record {
        let now = self.reactor.now();
        let end = if self.share.count.is_some() && !self.interrupted {
            self.last_end
        } else {
            now
        };
        self.recorder.end_window(end);
        self.gauge.end(&self.reactor);
        for place in 0..self.share.connections {
            if self.connections[place as usize].state == State::Open {
                self.count_close(place, now, false, true);
                self.close(place, now);
            } else if let Some(key) = self.connections[place as usize].gone() {
                self.reactor.reset(key);
            }
        }
        for (_, key) in std::mem::take(&mut self.parting) {
            self.reactor.close(key);
        }
        self.reactor.submit();
        let mut record = self.recorder.finish(now);
        record.backend = self.reactor.name().to_owned();
        record.wait_resolution = self.reactor.wait_resolution();
        record.backlog_max = self.backlog_max as u64;
        record.interrupted = self.interrupted;
        if self.backlog_at_start > self.share.connections as usize {
            record.notes.push(
                "arrivals of the warm-up were still waiting when the window began: the server \
                 could not follow, and answering them took part of the window"
                    .to_owned(),
            );
        }
        for worker in &mut record.workers {
            worker.connections = self.share.connections;
            worker.cpu = None;
            worker.thread_id = sys::cpu::thread_id();
            worker.age_at_start = self.age_at_start;
            worker.age_at_end = self.age_at_end;
            self.gauge.fill(worker);
        }
        record
    }
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
