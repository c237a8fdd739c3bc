//! One exchange on a fresh connection, with everything about the answer kept.

use std::net::SocketAddr;

use model::Outcome;
use model::plan::Plan;
use model::record::{Reference, Tally};
use model::units::{Bytes, Instant, Span};
use sys::reactor::{Event, Key, Reactor, Refused, Stored, Transmit};
use wire::{Client, Request};

use super::talk::{Answer, Collect, Talk};
use crate::exchange::Cause;
use crate::preamble::Preamble;
use crate::redirect::Guide;
use crate::worker::written;

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
