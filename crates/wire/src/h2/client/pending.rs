//! Which requests are among the frames that wait to be sent.
//!
//! Several may be, so that all that begin at once go out at once.

use crate::client::StreamId;

/// A request that has begun and not gone out.
#[derive(Debug)]
struct Waiting {
    stream: StreamId,
    /// Where its head is among the bytes that wait.
    at: usize,
    length: usize,
}

/// The requests that have begun and not gone out.
#[derive(Debug)]
pub(super) struct Pending {
    /// In order.
    waiting: Vec<Waiting>,
    /// Those whose first byte was taken last.
    started: Vec<StreamId>,
    /// How many of the bytes that wait are heads of requests, at most.
    bytes: usize,
}

impl Pending {
    /// For a connection with up to `streams` exchanges at once.
    pub(super) fn new(streams: u32) -> Self {
        Self {
            waiting: Vec::with_capacity(streams as usize),
            started: Vec::with_capacity(streams as usize),
            bytes: 0,
        }
    }

    /// The next request is that of `stream`; its head has `length` bytes from position `at` on.
    pub(super) fn push(&mut self, stream: StreamId, at: usize, length: usize) {
        self.waiting.push(Waiting { stream, at, length });
        self.bytes += length;
    }

    /// Takes the head of `stream` out of `out`, if no byte of it has gone out: whether that was so.
    pub(super) fn withdraw(&mut self, stream: StreamId, out: &mut Vec<u8>) -> bool {
        let is_it = |waiting: &Waiting| waiting.stream == stream;
        let Some(index) = self.waiting.iter().position(is_it) else {
            return false;
        };
        let Waiting { at, length, .. } = self.waiting.remove(index);
        out.drain(at..at + length);
        for later in &mut self.waiting[index..] {
            later.at -= length;
        }
        true
    }

    /// How many of the bytes that wait are heads of requests, at most.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The exchange of `stream` is over.
    #[inline]
    pub(super) fn forget(&mut self, stream: StreamId) {
        if !self.waiting.is_empty() {
            self.waiting.retain(|waiting| waiting.stream != stream);
        }
    }

    /// Nothing waits any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }

    /// The first `count` bytes go out, and `rest` are left.
    pub(super) fn take(&mut self, count: usize, rest: usize) {
        self.started.clear();
        let gone = self.waiting.partition_point(|waiting| waiting.at < count);
        let gone = self.waiting.drain(..gone);
        self.started.extend(gone.map(|waiting| waiting.stream));
        for waiting in &mut self.waiting {
            waiting.at -= count;
        }
        self.bytes = self.bytes.min(rest);
    }

    /// The exchanges whose first byte was taken last, in order.
    #[inline]
    pub(super) fn started(&self) -> &[StreamId] {
        &self.started
    }
}

#[cfg(test)]
mod tests {
    use model::Instant;

    use crate::client::{Broken, Client as _, Sink, StreamId, Transmit};
    use crate::h2::client::{Connection, OUT_LIMIT, Shared, encode};
    use crate::h2::frame::{self, Code};
    use crate::h2::settings;
    use crate::message::{Head, Request, RequestId, RequestParts};

    const NOW: Instant = Instant::from_ns(1);

    /// Nothing is answered.
    struct Nobody;

    impl Sink for Nobody {
        fn first_byte(&mut self, _: StreamId) {}
        fn head(&mut self, _: StreamId, _: &Head<'_>) {}
        fn content(&mut self, _: StreamId, _: &[u8]) {}
        fn skipped(&mut self, _: StreamId, _: u64) {}
        fn complete(&mut self, _: StreamId) {}
        fn broken(&mut self, _: StreamId, _: Broken) {}
    }

    fn request(fields: &[(String, String)]) -> Request {
        let parts = RequestParts {
            method: "GET",
            target: "/",
            authority: "x",
            fields,
            content: None,
        };
        let encoded = encode(&[parts], false).remove(0);
        Request::compile(RequestId(0), &parts, false).with_h2(encoded)
    }

    /// Whose peer has said that it takes any number of streams.
    fn greeted(mut shared: Shared) -> Connection {
        let mut client = Connection::new(&mut shared);
        let mut greeting = Vec::new();
        frame::settings(&mut greeting, &[]);
        let heard = client.handle_bytes(&mut shared, NOW, &mut greeting, &mut Nobody);
        assert_eq!(heard, Ok(()));
        client
    }

    /// What is taken next: how many bytes, and which exchanges begin in them.
    fn taken(client: &mut Connection) -> (usize, Vec<u32>) {
        let mut out = Vec::new();
        let Transmit::Written { starts } = client.poll_transmit(NOW, &mut out) else {
            return (out.len(), Vec::new());
        };
        let others = client.also_starts().iter().copied();
        let all = starts.into_iter().chain(others);
        (out.len(), all.map(|StreamId(place)| place).collect())
    }

    #[test]
    fn requests_that_begin_at_once_go_out_at_once() {
        let request = request(&[]);
        let mut client = greeted(Shared::new(5, 4_096, 10_000));
        for place in 0..3 {
            assert_eq!(client.begin(&request), Ok(StreamId(place)));
        }
        assert_eq!(client.free(), 2);
        assert_eq!(taken(&mut client).1, [0, 1, 2]);
        assert!(!client.wants_transmit());
        assert_eq!(taken(&mut client).0, 0);
        for place in 3..5 {
            assert_eq!(client.begin(&request), Ok(StreamId(place)));
        }
        assert_eq!(client.free(), 0);
        assert_eq!(taken(&mut client).1, [3, 4]);
    }

    /// Each begins with the piece that has its first byte.
    #[test]
    fn pieces_tell_what_begins_in_them() {
        let fields = [("x-long".to_owned(), "y".repeat(100))];
        let request = request(&fields);
        let mut client = greeted(Shared::new(9, 150, 10_000));
        while client.free() > 0 {
            client.begin(&request).unwrap();
        }
        client.vacate(7);
        let mut told = Vec::new();
        while client.wants_transmit() {
            let (count, streams) = taken(&mut client);
            assert!(count <= 150);
            told.push(streams);
        }
        // Greeting and first head; then what is left of it, and later ones, which are indexed.
        assert_eq!(told[0], [0]);
        assert_eq!(told.concat(), [0, 1, 2, 3, 4, 5, 6, 8]);
    }

    /// The limit is for what a server makes us send, and not for our own requests.
    #[test]
    fn long_requests_that_wait_are_not_the_servers_fault() {
        let fields = [("x-long".to_owned(), "y".repeat(20_000))];
        let request = request(&fields);
        let mut shared = Shared::new(50, 4_096, 10_000);
        let mut client = Connection::new(&mut shared);
        let mut greeting = Vec::new();
        // No table, so that each request has its whole length.
        frame::settings(&mut greeting, &[(settings::TABLE_SIZE, 0)]);
        let heard = client.handle_bytes(&mut shared, NOW, &mut greeting, &mut Nobody);
        assert_eq!(heard, Ok(()));
        while client.free() > 0 {
            client.begin(&request).unwrap();
        }
        assert!(client.out.len() > OUT_LIMIT);
        let mut ping = Vec::new();
        frame::ping_ack(&mut ping, &[0; 8]);
        let heard = client.handle_bytes(&mut shared, NOW, &mut ping, &mut Nobody);
        assert_eq!(heard, Ok(()));
    }

    /// What the server will not process is not sent any more; what else waits is.
    #[test]
    fn a_server_that_goes_away_is_asked_nothing_more() {
        let request = request(&[]);
        let mut shared = Shared::new(5, 4_096, 10_000);
        let mut client = greeted(Shared::new(5, 4_096, 10_000));
        client.begin(&request).unwrap();
        assert_eq!(taken(&mut client).1, [0]);
        client.begin(&request).unwrap();
        client.begin(&request).unwrap();
        let mut said = Vec::new();
        frame::settings(&mut said, &[]);
        // As one does who is about to end: any stream may still be processed.
        frame::go_away(&mut said, 0x7fff_ffff, Code::NO_ERROR);
        let heard = client.handle_bytes(&mut shared, NOW, &mut said, &mut Nobody);
        assert_eq!(heard, Ok(()));
        let mut acknowledged = Vec::new();
        frame::settings_ack(&mut acknowledged);
        assert_eq!(client.out, acknowledged);
        assert_eq!(taken(&mut client).1, [0; 0]);
        assert_eq!(client.in_flight(), 1);
    }
}
