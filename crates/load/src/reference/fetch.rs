//! One exchange on a fresh connection, with everything about the answer kept.

use std::net::SocketAddr;

use model::Outcome;
use model::plan::Plan;
use model::record::{Reference, Tally};
use model::units::{Bytes, Instant, Span};
use sha2::{Digest as _, Sha256};
use sys::reactor::{Event, Key, Reactor, Refused, Stored, Transmit};
use wire::h1::client::{Connection, HEAD_BYTES, Shared};
use wire::{Broken, Client as _, End, Head, Request, Sink, StreamId};

use crate::exchange::Cause;

/// Content that is kept to compare others with; of longer content only the start is compared.
const CONTENT_KEPT: usize = 16 * 1024 * 1024;

/// A complete answer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) version: String,
    pub(super) head_bytes: u64,
    pub(super) framing: &'static str,
    pub(super) fields: Vec<(String, String)>,
    pub(super) content: Vec<u8>,
    pub(super) length: u64,
    /// SHA-256 of the content, hexadecimal.
    pub(super) digest: String,
}

/// As the record tells it: the first answer, and which fields it did not share with the others.
pub(super) fn describe(answers: &[Answer], address: SocketAddr) -> Reference {
    let first = &answers[0];
    let value_of = |answer: &Answer, name: &str| {
        answer
            .fields
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.clone())
    };
    let headers = first
        .fields
        .iter()
        .map(|(name, value)| {
            let is_stable = !name.eq_ignore_ascii_case("date")
                && answers
                    .iter()
                    .all(|answer| value_of(answer, name) == value_of(first, name));
            (
                name.clone(),
                if is_stable {
                    value.clone()
                } else {
                    String::new()
                },
            )
        })
        .collect();
    let server = first
        .fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("server"))
        .map(|(_, value)| value.clone());
    Reference {
        status: first.status,
        version: first.version.clone(),
        head_bytes: first.head_bytes,
        length: first.length,
        sha256: first.digest.clone(),
        server,
        headers,
        framing: first.framing.to_owned(),
        dynamic: false,
        checked: String::new(),
        address: address.to_string(),
    }
}

/// How long a person waits at most until the wish to end is heard.
const LOOK: Span = Span::from_ms(100);

/// Fetches one after the other.
pub(super) struct Fetcher<'a, R> {
    reactor: &'a mut R,
    timeout: Span,
    source: Option<SocketAddr>,
    tally: Tally,
    is_over: &'a mut dyn FnMut() -> bool,
}

impl<'a, R: Reactor> Fetcher<'a, R> {
    pub(super) fn new(
        reactor: &'a mut R,
        plan: &Plan,
        is_over: &'a mut dyn FnMut() -> bool,
    ) -> Self {
        Self {
            reactor,
            timeout: plan.file().timeout,
            source: plan
                .file()
                .sources
                .first()
                .map(|ip| SocketAddr::new(*ip, 0)),
            tally: Tally::default(),
            is_over,
        }
    }

    pub(super) fn into_tally(self) -> Tally {
        self.tally
    }

    /// Keeps the bytes of `request` where they can be sent from.
    pub(super) fn store(&mut self, request: &Request) -> Stored {
        self.reactor.store(request.h1_bytes().to_vec())
    }

    /// They are not needed any more.
    pub(super) fn discard(&mut self, stored: Stored) {
        self.reactor.discard(stored);
    }

    /// Two answers on two connections, or why there are not two.
    pub(super) fn fetch_twice(
        &mut self,
        request: &Request,
        stored: Stored,
        address: SocketAddr,
    ) -> Result<[Answer; 2], Cause> {
        let mut fetch = || self.fetch(request, stored, address);
        Ok([fetch()?, fetch()?])
    }

    fn fetch(
        &mut self,
        request: &Request,
        stored: Stored,
        address: SocketAddr,
    ) -> Result<Answer, Cause> {
        self.tally.due += 1;
        self.tally.connections.asked += 1;
        let source = self
            .source
            .filter(|source| source.is_ipv4() == address.is_ipv4());
        let result = match self.reactor.connect(address, source) {
            Ok(key) => self.converse(request, stored, key),
            Err(refused) => Err(Cause::Connect(refused)),
        };
        let outcome = match &result {
            Ok(_) => Outcome::Ok,
            Err(cause) => cause.outcome(),
        };
        self.tally.outcomes[outcome] += 1;
        if outcome == Outcome::Connect {
            self.tally.connections.failed += 1;
        }
        result
    }

    fn converse(&mut self, request: &Request, stored: Stored, key: Key) -> Result<Answer, Cause> {
        let mut shared = Shared::new(1, 1, HEAD_BYTES);
        let mut client = Connection::new(&mut shared);
        let mut collect = Collect::default();
        let mut is_connected = false;
        let deadline = self.reactor.now() + self.timeout;
        let cause = loop {
            if let Some(cause) = collect.over.take() {
                break cause;
            }
            let Some(completion) = self.reactor.next() else {
                if (self.is_over)() {
                    break Some(Cause::Unfinished);
                }
                let soon = self.reactor.now() + LOOK;
                let now = self.reactor.wait(deadline.min(soon));
                if now >= deadline {
                    break Some(collect.timed_out(self.timeout, is_connected));
                }
                continue;
            };
            if completion.key != key {
                continue;
            }
            let at = completion.at;
            match completion.event {
                Event::ConnectFailed { error } => {
                    return Err(Cause::Connect(Refused::Kernel(error)));
                }
                Event::Connected => {
                    is_connected = true;
                    self.tally.connections.established += 1;
                    if let Err(cause) = self.ask(request, stored, key, &mut client) {
                        break Some(cause);
                    }
                }
                Event::Received { bytes } => {
                    self.tally.bytes_received += Bytes::new(bytes.len() as u64);
                    let result = client.handle_bytes(&mut shared, at, bytes, &mut collect);
                    if let Err(error) = result {
                        break Some(Cause::Protocol(error));
                    }
                }
                Event::Ended { error } => {
                    let how = error.map_or(End::Finished, |_| End::Reset);
                    collect.error = error;
                    client.handle_end(&mut shared, at, how, &mut collect);
                }
                Event::SendFailed { error } => break Some(Cause::Write(Refused::Kernel(error))),
                Event::Accepted { .. }
                | Event::Begun { .. }
                | Event::Sent
                | Event::Skipped { .. } => {}
            }
        };
        self.part(key, is_connected, cause.is_some());
        match cause {
            None => Ok(collect.answer()),
            Some(cause) => Err(cause),
        }
    }

    fn ask(
        &mut self,
        request: &Request,
        stored: Stored,
        key: Key,
        client: &mut Connection,
    ) -> Result<(), Cause> {
        client.begin(request).expect("a fresh connection is free");
        let _stored = client.poll_transmit(Instant::ZERO, &mut Vec::new());
        self.tally.sent += 1;
        self.reactor
            .send(key, Transmit::stored(stored))
            .map_err(Cause::Write)?;
        Ok(())
    }

    fn part(&mut self, key: Key, is_connected: bool, is_broken: bool) {
        self.tally.bytes_sent += Bytes::new(self.reactor.bytes_taken(key));
        if is_connected {
            let counts = &mut self.tally.connections;
            if is_broken {
                counts.broken += 1;
            } else {
                counts.closed_by_client += 1;
            }
        }
        self.reactor.close(key);
        self.reactor.submit();
    }
}

/// Keeps the whole answer.
#[derive(Default)]
struct Collect {
    answer: Answer,
    hash: Sha256,
    error: Option<sys::Errno>,
    first_byte: bool,
    /// Set when the exchange is over: with what went wrong, or nothing.
    over: Option<Option<Cause>>,
}

impl Collect {
    fn timed_out(&self, after: Span, is_connected: bool) -> Cause {
        if is_connected {
            Cause::Timeout {
                after,
                content: self.answer.length,
                begun: self.first_byte,
            }
        } else {
            Cause::ConnectTimeout(after)
        }
    }

    fn answer(mut self) -> Answer {
        let digest = self.hash.finalize();
        self.answer.digest = model::hex(&digest);
        self.answer
    }
}

impl Sink for Collect {
    fn first_byte(&mut self, _stream: StreamId) {
        self.first_byte = true;
    }

    fn head(&mut self, _stream: StreamId, head: &Head<'_>) {
        self.answer.status = head.status;
        self.answer.version = head.version.to_string();
        self.answer.head_bytes = head.bytes.len() as u64;
        self.answer.framing = head.framing.name();
        self.answer.fields = head
            .fields()
            .into_iter()
            .map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned()))
            .collect();
    }

    fn content(&mut self, _stream: StreamId, bytes: &[u8]) {
        self.answer.length += bytes.len() as u64;
        self.hash.update(bytes);
        let room = CONTENT_KEPT.saturating_sub(self.answer.content.len());
        self.answer
            .content
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn skipped(&mut self, _stream: StreamId, _count: u64) {}

    fn complete(&mut self, _stream: StreamId) {
        self.over = Some(None);
    }

    fn broken(&mut self, _stream: StreamId, how: Broken) {
        self.over = Some(Some(Cause::Ended {
            how,
            content: self.answer.length,
            error: self.error,
        }));
    }
}
