//! One of the plan's connections: its socket, its protocol, and the exchanges it carries.
//!
//! The socket comes and goes, the place stays: a plan for 64 connections has 64 of these, and each
//! reconnects when its socket is gone.

use model::units::{Bytes, Instant, Span};
use sys::Errno;
use sys::reactor::{Key, Refused};
use wire::{Broken, Client, Head, ProtocolError, Sink, StreamId};

use crate::exchange::{Cause, Exchange};
use crate::expectation::Expectation;

/// What has become of the socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// There is none, and none is being made.
    Absent,
    /// A connect failed or a connection broke: the next connect waits.
    BackingOff,
    /// A connect is under way.
    Connecting,
    /// It is established.
    Open,
}

/// An exchange under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    due: Instant,
    ready: Instant,
    first_byte: Option<Instant>,
    connect: Option<Span>,
    content: u64,
    compares: bool,
    answered: bool,
    over: bool,
    cause: Option<Cause>,
}

impl Flight {
    /// One that begins at once.
    pub(crate) const fn new(due: Instant, ready: Instant, compares: bool) -> Self {
        Self {
            due,
            ready,
            first_byte: None,
            connect: None,
            content: 0,
            compares,
            answered: false,
            over: false,
            cause: None,
        }
    }

    /// As an exchange that ended at `ended`.
    pub(crate) const fn end(&self, sent: Option<Instant>, ended: Instant) -> Exchange {
        Exchange {
            due: self.due,
            ready: self.ready,
            sent,
            first_byte: self.first_byte,
            ended,
            content: Bytes::new(self.content),
            connect: self.connect,
            cause: self.cause,
        }
    }

    /// Whether a complete answer has come, right or wrong.
    pub(crate) const fn is_answered(&self) -> bool {
        self.answered
    }

    /// When a connection was free for it.
    pub(crate) const fn ready(&self) -> Instant {
        self.ready
    }
}

/// One of the plan's connections.
#[derive(Debug)]
pub(crate) struct Connection<C> {
    pub(crate) state: State,
    pub(crate) key: Option<Key>,
    client: Option<C>,
    /// Exchanges under way, by their stream modulo the length.
    flights: Box<[Option<Flight>]>,
    /// The stream of the oldest exchange under way, and the one after the youngest.
    oldest: u32,
    next: u32,
    /// A closed loop's exchange that is due and waits for the socket.
    pub(crate) pending: Option<Instant>,
    /// When it was last free: established, or the exchange before ended.
    pub(crate) free_since: Instant,
    /// Whether it stands in the queue of idle ones.
    pub(crate) queued: bool,
    /// Exchanges begun on this socket.
    pub(crate) requests: u32,
    /// Connects that failed and connections that broke since the last complete answer.
    pub(crate) failures: u32,
    /// Bytes sent that the recorder knows of.
    pub(crate) bytes_counted: u64,
    connect: Option<Span>,
    write_error: Option<Errno>,
    close_announced: bool,
    skipping: bool,
}

impl<C: Client> Connection<C> {
    /// A place for a connection with up to `pipeline` exchanges under way.
    pub(crate) fn new(pipeline: u32) -> Self {
        Self {
            state: State::Absent,
            key: None,
            client: None,
            flights: (0..pipeline).map(|_| None).collect(),
            oldest: 0,
            next: 0,
            pending: None,
            free_since: Instant::ZERO,
            queued: false,
            requests: 0,
            failures: 0,
            bytes_counted: 0,
            connect: None,
            write_error: None,
            close_announced: false,
            skipping: false,
        }
    }

    /// A connect is under way on `key`.
    pub(crate) fn connecting(&mut self, key: Key, now: Instant) {
        debug_assert_eq!(self.in_flight(), 0, "nothing is under way without a socket");
        self.state = State::Connecting;
        self.key = Some(key);
        self.free_since = now;
    }

    /// The connect succeeded at `at`, after `took`.
    pub(crate) fn established(&mut self, client: C, at: Instant, took: Span) {
        self.state = State::Open;
        self.client = Some(client);
        self.free_since = at;
        self.connect = Some(took);
        self.oldest = 0;
        self.next = 0;
        self.requests = 0;
        self.bytes_counted = 0;
        self.write_error = None;
        self.close_announced = false;
        self.skipping = false;
    }

    /// The socket is gone; its key, if there was one.
    pub(crate) fn gone(&mut self) -> Option<Key> {
        debug_assert_eq!(
            self.in_flight(),
            0,
            "exchanges end before their socket goes"
        );
        self.state = State::Absent;
        self.client = None;
        self.key.take()
    }

    /// The protocol, on an established connection.
    #[inline]
    pub(crate) fn client(&mut self) -> &mut C {
        self.client
            .as_mut()
            .expect("an open connection speaks a protocol")
    }

    /// Exchanges under way.
    #[inline]
    pub(crate) const fn in_flight(&self) -> u32 {
        self.next.wrapping_sub(self.oldest)
    }

    /// The exchange under way for longest.
    pub(crate) fn oldest(&self) -> Option<&Flight> {
        let place = self.oldest as usize % self.flights.len();
        self.flights[place].as_ref()
    }

    /// How long the exchanges under way have been so at `edge`, summed up, the latest of them sent
    /// at `sent`.
    pub(crate) fn age(&self, sent: Instant, edge: Instant) -> Span {
        let under_way = self.flights.iter().flatten();
        under_way
            .filter(|flight| sent >= flight.ready)
            .map(|_| edge.saturating_since(sent))
            .sum()
    }

    /// Puts the exchange that has begun as `stream` under way.
    #[inline]
    pub(crate) fn launch(&mut self, stream: StreamId, mut flight: Flight) {
        debug_assert_eq!(stream.0, self.next, "streams are numbered in their order");
        flight.connect = self.connect.take();
        let place = stream.0 as usize % self.flights.len();
        self.flights[place] = Some(flight);
        self.next = self.next.wrapping_add(1);
        self.requests += 1;
    }

    /// Takes received bytes.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        shared: &mut C::Shared,
        expectation: &Expectation,
        at: Instant,
        bytes: &mut [u8],
    ) -> Result<(), ProtocolError> {
        let (client, mut watch) = self.watch(expectation, at);
        client.handle_bytes(shared, at, bytes, &mut watch)
    }

    /// Takes the news that content was drained unread.
    pub(crate) fn skipped(&mut self, expectation: &Expectation, at: Instant, count: u64) {
        let (client, mut watch) = self.watch(expectation, at);
        client.handle_skipped(at, count, &mut watch);
        self.skipping = client.skippable() > 0;
    }

    /// The peer ended the stream; what was not complete has failed.
    pub(crate) fn ended(
        &mut self,
        shared: &mut C::Shared,
        expectation: &Expectation,
        at: Instant,
        error: Option<Errno>,
    ) {
        let how = error.map_or(wire::End::Finished, |_| wire::End::Reset);
        let write_error = self.write_error;
        let (client, mut watch) = self.watch(expectation, at);
        watch.error = error;
        watch.write_error = write_error;
        client.handle_end(shared, at, how, &mut watch);
    }

    /// A send failed; the end of the stream follows.
    pub(crate) const fn send_failed(&mut self, error: Errno) {
        self.write_error = Some(error);
    }

    /// Ends all exchanges under way for the same reason.
    pub(crate) fn fail_all(&mut self, cause: impl Fn(&Flight) -> Cause) {
        for flight in self.flights.iter_mut().flatten() {
            if !flight.over {
                flight.cause = Some(cause(flight));
                flight.over = true;
            }
        }
    }

    /// Takes the oldest exchange if it is over.
    #[inline]
    pub(crate) fn take_over(&mut self) -> Option<Flight> {
        let place = self.oldest as usize % self.flights.len();
        let over = self.flights[place].take_if(|flight| flight.over)?;
        self.oldest = self.oldest.wrapping_add(1);
        Some(over)
    }

    /// Takes back the youngest exchange if it was not handed to the kernel, which last took
    /// something at `sent`: when it was due.
    pub(crate) fn take_unsent(&mut self, sent: Instant) -> Option<Instant> {
        let place = self.next.wrapping_sub(1) as usize % self.flights.len();
        let unsent = self.flights[place].take_if(|flight| !flight.over && sent < flight.ready)?;
        self.next = self.next.wrapping_sub(1);
        self.connect = self.connect.or(unsent.connect);
        Some(unsent.due)
    }

    /// Content that is not looked at and may be drained unread, if that has not been asked yet and
    /// is more than `least`.
    #[inline]
    pub(crate) fn start_skipping(&mut self, least: u64) -> Option<u64> {
        let client = self.client.as_ref()?;
        let skippable = client.skippable();
        if skippable <= least || skippable == u64::MAX || self.skipping {
            return None;
        }
        if self.oldest()?.compares {
            return None;
        }
        self.skipping = true;
        Some(skippable)
    }

    /// Whether the server has announced the close of its own accord. Says so once.
    pub(crate) const fn take_close_announced(&mut self) -> bool {
        std::mem::replace(&mut self.close_announced, false)
    }

    fn watch<'a>(
        &'a mut self,
        expectation: &'a Expectation,
        at: Instant,
    ) -> (&'a mut C, Watch<'a>) {
        let client = self
            .client
            .as_mut()
            .expect("an open connection speaks a protocol");
        let watch = Watch {
            flights: &mut self.flights,
            close_announced: &mut self.close_announced,
            skipping: &mut self.skipping,
            expectation,
            at,
            error: None,
            write_error: None,
        };
        (client, watch)
    }
}

/// Follows what the protocol tells and holds it against the expectation.
struct Watch<'a> {
    flights: &'a mut [Option<Flight>],
    close_announced: &'a mut bool,
    skipping: &'a mut bool,
    expectation: &'a Expectation,
    at: Instant,
    error: Option<Errno>,
    write_error: Option<Errno>,
}

impl Watch<'_> {
    /// The exchange that the protocol tells of; none if it was taken back, because the connection
    /// ended before it was sent.
    #[inline]
    fn flight(&mut self, stream: StreamId) -> Option<&mut Flight> {
        let place = stream.0 as usize % self.flights.len();
        self.flights[place].as_mut()
    }
}

impl Sink for Watch<'_> {
    #[inline]
    fn first_byte(&mut self, stream: StreamId) {
        let at = self.at;
        if let Some(flight) = self.flight(stream) {
            flight.first_byte.get_or_insert(at);
        }
    }

    #[inline]
    fn head(&mut self, stream: StreamId, head: &Head<'_>) {
        *self.close_announced |= !head.keep_alive;
        let cause = self.expectation.check_status(head.status);
        if let Some(flight) = self.flight(stream) {
            flight.cause = flight.cause.or(cause);
            flight.compares &= cause.is_none();
        }
    }

    #[inline]
    fn content(&mut self, stream: StreamId, bytes: &[u8]) {
        let expectation = self.expectation;
        if let Some(flight) = self.flight(stream) {
            if flight.compares {
                let cause = expectation.check_content(flight.content, bytes);
                flight.cause = flight.cause.or(cause);
                flight.compares = cause.is_none();
            }
            flight.content += bytes.len() as u64;
        }
    }

    fn skipped(&mut self, stream: StreamId, count: u64) {
        if let Some(flight) = self.flight(stream) {
            flight.content += count;
        }
    }

    #[inline]
    fn complete(&mut self, stream: StreamId) {
        let expectation = self.expectation;
        *self.skipping = false;
        if let Some(flight) = self.flight(stream) {
            // The length of an answer with another status says nothing more.
            if flight.cause.is_none() {
                flight.cause = expectation.check_length(flight.content);
            }
            flight.answered = true;
            flight.over = true;
        }
    }

    #[cold]
    fn broken(&mut self, stream: StreamId, how: Broken) {
        let (error, write_error) = (self.error, self.write_error);
        if let Some(flight) = self.flight(stream) {
            flight.cause = Some(match (how, write_error) {
                (Broken::Unanswered, Some(error)) => Cause::Write(Refused::Kernel(error)),
                _ => Cause::Ended {
                    how,
                    content: flight.content,
                    error,
                },
            });
            flight.over = true;
        }
    }
}

/// Why an exchange under way has timed out.
pub(crate) fn timed_out(after: Span) -> impl Fn(&Flight) -> Cause {
    move |flight| Cause::Timeout {
        after,
        content: flight.content,
        begun: flight.first_byte.is_some(),
    }
}

#[cfg(test)]
mod tests;
