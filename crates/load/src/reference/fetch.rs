//! One exchange on a fresh connection, with everything about the answer kept.

use std::net::SocketAddr;

use model::plan::Plan;
use model::record::{Reference, Tally};
use model::tls::Negotiated;
use model::units::{Bytes, Instant, Span};
use model::{Coding, Outcome};
use sha2::{Digest as _, Sha256};
use sys::reactor::{Event, Key, Reactor, Refused, Stored, Transmit};
use wire::tunnel::Opening;
use wire::{Broken, Client, End, Head, Request, Sink, StreamId};

use crate::exchange::Cause;
use crate::preamble::Preamble;
use crate::redirect::Guide;
use crate::worker::{handshake_ended, written};

/// Content that is kept to compare others with; of longer content only the start is compared.
pub(super) const CONTENT_KEPT: usize = 16 * 1024 * 1024;

/// A complete answer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) version: String,
    pub(super) head_bytes: u64,
    pub(super) framing: &'static str,
    pub(super) coding: Coding,
    pub(super) fields: Vec<(String, String)>,
    pub(super) content: Vec<u8>,
    pub(super) length: u64,
    /// SHA-256 of the content, hexadecimal.
    pub(super) digest: String,
    pub(super) tls: Option<Negotiated>,
    /// It is a redirect that is not followed only because so many before it were.
    pub(super) leads_on: bool,
}

/// As the record tells it: the first answer, and which fields it did not share with the others.
pub(super) fn describe(answers: &[Answer], address: String) -> Reference {
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
        decoded: None,
        server,
        headers,
        framing: first.framing.to_owned(),
        dynamic: false,
        checked: String::new(),
        address,
        tls: first.tls.clone(),
    }
}

/// A request, where its bytes lie, and what they are if not its own; none where a handshake is all.
type Asks<'a> = Option<(&'a Request, Stored, Option<&'a [u8]>)>;

/// How long a person waits at most until the wish to end is heard.
const LOOK: Span = Span::from_ms(100);

/// Fetches one after the other.
pub(super) struct Fetcher<'a, R, C: Client> {
    pub(super) reactor: &'a mut R,
    pub(super) guide: Option<Guide>,
    shared: C::Shared,
    out: Vec<u8>,
    timeout: Span,
    /// For all that comes before the request.
    connect_limit: Span,
    source: Option<SocketAddr>,
    preamble: Option<Preamble>,
    /// The server that is asked.
    host: usize,
    /// Where all connections lead, if that is a Unix socket.
    unix_socket: Option<String>,
    tally: Tally,
    is_over: &'a mut dyn FnMut() -> bool,
}

impl<'a, R: Reactor, C: Client> Fetcher<'a, R, C> {
    pub(super) fn new(
        reactor: &'a mut R,
        (plan, host): (&Plan, usize),
        shared: C::Shared,
        is_over: &'a mut dyn FnMut() -> bool,
    ) -> Self {
        Self {
            reactor,
            guide: Guide::new(plan),
            shared,
            out: Vec::new(),
            timeout: plan.file().timeout,
            connect_limit: plan.file().connect_limit(),
            source: plan
                .file()
                .sources
                .first()
                .map(|ip| SocketAddr::new(*ip, 0)),
            preamble: Preamble::new(plan, 0),
            host,
            unix_socket: plan.file().unix_socket.clone(),
            tally: Tally::default(),
            is_over,
        }
    }

    pub(super) fn into_tally(self) -> Tally {
        self.tally
    }

    /// What `address` is called.
    pub(super) fn name_of(&self, address: SocketAddr) -> String {
        match &self.unix_socket {
            None => address.to_string(),
            Some(path) => format!("unix:{path}"),
        }
    }

    /// Keeps the bytes of a request where they can be sent from.
    pub(super) fn store(&mut self, message: &[u8]) -> Stored {
        self.reactor.store(message.to_vec())
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
    ) -> Result<Vec<Answer>, Cause> {
        let mut fetch = || self.fetch(request, stored, address);
        Ok(vec![fetch()?, fetch()?])
    }

    /// A handshake, and nothing else.
    pub(super) fn greet(&mut self, address: SocketAddr) -> Result<(), Cause> {
        self.talk(None, address).map(|_| ())
    }

    pub(super) fn talk(&mut self, asks: Asks<'_>, address: SocketAddr) -> Result<Talk<C>, Cause> {
        self.tally.due += 1;
        self.tally.connections.asked += 1;
        let source = self
            .source
            .filter(|source| source.is_ipv4() == address.is_ipv4());
        let result = match self.reactor.connect(address, source) {
            Ok(key) => self.converse(asks, key),
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

    fn converse(&mut self, asks: Asks<'_>, key: Key) -> Result<Talk<C>, Cause> {
        let mut talk = Talk {
            client: C::new(&mut self.shared),
            collect: Collect::default(),
            opening: None,
            is_connected: false,
            asked_at: None,
        };
        let begun = self.reactor.now();
        let cause = loop {
            if let Some(cause) = talk.collect.over.take() {
                break cause;
            }
            if asks.is_none() && talk.is_connected && talk.client.is_established() {
                talk.client.finish();
                self.tally.sent += 1;
                break None;
            }
            let Some(completion) = self.reactor.next() else {
                let going_on = self.go_on(asks, key, &mut talk);
                match going_on.and_then(|()| self.wait(begun, &mut talk)) {
                    Ok(()) => continue,
                    Err(cause) => break Some(cause),
                }
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
                    let introduced = self.introduce(key, &mut talk);
                    let going_on = introduced.and_then(|()| self.go_on(asks, key, &mut talk));
                    if let Err(cause) = going_on {
                        break Some(cause);
                    }
                }
                Event::Received { bytes, mark } => {
                    talk.client.hear_mark(mark);
                    self.tally.bytes_received += Bytes::new(bytes.len() as u64);
                    if let Err(cause) = talk.receive(&mut self.shared, at, bytes) {
                        break Some(cause);
                    }
                }
                Event::Ended { error } => {
                    if let Err(cause) = talk.end(&mut self.shared, at, error) {
                        break Some(cause);
                    }
                }
                Event::SendFailed { error } => break Some(Cause::Write(Refused::Kernel(error))),
                Event::Accepted { .. }
                | Event::Begun { .. }
                | Event::Sent
                | Event::Skipped { .. } => {}
            }
        };
        // What TLS has to say to its failure, if it can.
        let _it_is_over = self.go_on(asks, key, &mut talk);
        self.out.clear();
        let now = self.reactor.now();
        if talk.client.farewell(&mut self.shared, now, &mut self.out) {
            let last = written(&talk.client, &self.out);
            let _told = self.reactor.send(key, last);
        }
        self.part(key, talk.is_connected, cause.is_some());
        match cause {
            None => Ok(talk),
            Some(cause) => Err(cause),
        }
    }

    /// Says what the connection begins with, where the plan wants that.
    fn introduce(&mut self, key: Key, talk: &mut Talk<C>) -> Result<(), Cause> {
        if let Some(preamble) = &mut self.preamble {
            self.out.clear();
            preamble.write((0, self.host), &*self.reactor, key, &mut self.out);
            talk.opening = preamble.opening();
            let sent = self.reactor.send(key, Transmit::copied(&self.out));
            sent.map_err(Cause::Write)?;
        }
        talk.is_connected = talk.opening.is_none();
        Ok(())
    }

    /// Waits until something comes, or it is time to look up.
    fn wait(&mut self, begun: Instant, talk: &mut Talk<C>) -> Result<(), Cause> {
        if (self.is_over)() {
            return Err(Cause::Unfinished);
        }
        let (since, limit) = match talk.asked_at {
            None => (begun, self.connect_limit),
            Some(asked_at) => (asked_at, self.timeout),
        };
        let deadline = since + limit;
        let soon = self.reactor.now() + LOOK;
        let wakeup = talk.client.poll_timeout().unwrap_or(soon);
        let now = self.reactor.wait(deadline.min(soon).min(wakeup));
        if talk.client.poll_timeout().is_some_and(|at| at <= now) {
            talk.wake(&mut self.shared, now)?;
        }
        if now >= deadline {
            return Err(talk.timed_out(limit));
        }
        Ok(())
    }

    /// Asks as soon as the connection is ready for it, and hands over what is to be sent.
    fn go_on(&mut self, asks: Asks<'_>, key: Key, talk: &mut Talk<C>) -> Result<(), Cause> {
        if !talk.is_connected {
            return Ok(());
        }
        if let Some((request, _, message)) = asks
            && talk.asked_at.is_none()
            && talk.client.free() > 0
        {
            let begun = match message {
                None => talk.client.begin(request),
                Some(message) => talk.client.begin_as(request, message),
            };
            begun.expect("it had room");
            talk.asked_at = Some(self.reactor.now());
            self.tally.sent += 1;
        }
        while talk.client.wants_transmit() && self.reactor.may_send(key) {
            self.out.clear();
            let now = self.reactor.now();
            let transmit = match talk.client.poll_transmit(now, &mut self.out) {
                wire::Transmit::Fixed { .. } => {
                    let (_, stored, _) = asks.expect("what is sent was asked");
                    Transmit::stored(stored)
                }
                wire::Transmit::Written { .. } => written(&talk.client, &self.out).with_notice(),
                wire::Transmit::Nothing => break,
            };
            self.reactor.send(key, transmit).map_err(Cause::Write)?;
        }
        Ok(())
    }

    fn part(&mut self, key: Key, is_connected: bool, is_broken: bool) {
        self.tally.bytes_sent += Bytes::new(self.reactor.bytes_taken(key));
        if is_connected {
            let counts = &mut self.tally.connections;
            counts.established += 1;
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

/// One exchange under way.
pub(super) struct Talk<C> {
    client: C,
    collect: Collect,
    /// The tunnel that a proxy was asked for, as long as it has not answered.
    opening: Option<Opening>,
    /// The server can be talked to.
    is_connected: bool,
    /// When the request was begun.
    asked_at: Option<Instant>,
}

impl<C: Client> Talk<C> {
    fn receive(
        &mut self,
        shared: &mut C::Shared,
        at: Instant,
        bytes: &mut [u8],
    ) -> Result<(), Cause> {
        if let Some(opening) = &mut self.opening {
            self.is_connected = opening.handle_bytes(bytes).map_err(Cause::Tunnel)?;
            if self.is_connected {
                self.opening = None;
            }
            return Ok(());
        }
        let (client, collect) = (&mut self.client, &mut self.collect);
        client
            .handle_bytes(shared, at, bytes, collect)
            .map_err(Cause::Protocol)?;
        if self.client.has_ended() && self.collect.over.is_none() {
            return self.end(shared, at, None);
        }
        Ok(())
    }

    /// Time has passed that the protocol waited for.
    fn wake(&mut self, shared: &mut C::Shared, at: Instant) -> Result<(), Cause> {
        self.client.handle_timeout(at, &mut self.collect);
        if self.client.has_ended() && self.collect.over.is_none() {
            return self.end(shared, at, None);
        }
        Ok(())
    }

    fn end(
        &mut self,
        shared: &mut C::Shared,
        at: Instant,
        error: Option<sys::Errno>,
    ) -> Result<(), Cause> {
        if self.opening.is_some() {
            return Err(Cause::TunnelEnded(error));
        }
        let how = error.map_or(End::Finished, |_| End::Reset);
        self.collect.error = error;
        self.client.handle_end(shared, at, how, &mut self.collect);
        if C::HANDSHAKES && self.asked_at.is_none() {
            return Err(handshake_ended::<C>(error));
        }
        Ok(())
    }

    const fn timed_out(&self, after: Span) -> Cause {
        if self.opening.is_some() {
            Cause::TunnelTimeout(after)
        } else if !self.is_connected {
            Cause::ConnectTimeout(after)
        } else if C::HANDSHAKES && self.asked_at.is_none() {
            Cause::HandshakeTimeout(after)
        } else {
            Cause::Timeout {
                after,
                content: self.collect.answer.length,
                begun: self.collect.first_byte,
            }
        }
    }

    pub(super) fn answer(self) -> Answer {
        let tls = self.client.negotiated();
        Answer {
            tls,
            ..self.collect.answer()
        }
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
        self.answer.coding = head.coding;
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
