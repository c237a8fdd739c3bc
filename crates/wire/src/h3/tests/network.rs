//! Two sides and a network between them, in simulated time.

use std::collections::BTreeMap;

use model::tls::{HandshakeKind, HandshakeMix, TlsRecord};
use model::{Instant, Mark, Random, Span};

use crate::client::{Broken, Client as _, ProtocolError, Sink, StreamId, Transmit};
use crate::h1::server::ServerLimits;
use crate::h3::client::{Connection, Shared, encode};
use crate::h3::server::Server;
use crate::message::{Head, Request, RequestId, RequestParts};
use crate::testing::{LIMITS, Site};
use crate::tls::pki_types::PrivateKeyDer;
use crate::tls::{Acceptor, Connector, Demands, Identity};

/// What became of exchanges, by their place: the status and how long the content is, or how it
/// broke.
#[derive(Default)]
pub(super) struct Log {
    under_way: BTreeMap<u32, (u16, usize)>,
    pub(super) ended: Vec<Result<(u16, usize), Broken>>,
    pub(super) is_closing: bool,
    /// Bytes of content that were handed on, of all answers.
    pub(super) content: usize,
}

impl Sink for Log {
    fn first_byte(&mut self, _: StreamId) {}

    fn head(&mut self, stream: StreamId, head: &Head<'_>) {
        self.under_way.insert(stream.0, (head.status, 0));
    }

    fn content(&mut self, stream: StreamId, bytes: &[u8]) {
        self.under_way.get_mut(&stream.0).unwrap().1 += bytes.len();
        self.content += bytes.len();
    }

    fn skipped(&mut self, _: StreamId, _: u64) {}

    fn complete(&mut self, stream: StreamId) {
        self.ended
            .push(Ok(self.under_way.remove(&stream.0).unwrap()));
    }

    fn broken(&mut self, stream: StreamId, how: Broken) {
        self.under_way.remove(&stream.0);
        self.ended.push(Err(how));
    }

    fn closing(&mut self) {
        self.is_closing = true;
    }
}

/// How bad a network is: out of 100.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    pub(super) lost: u64,
    pub(super) repeated: u64,
    pub(super) late: u64,
    /// Marked on its way, of those that may be.
    pub(super) marked: u64,
}

pub(super) const FINE: Weather = Weather {
    lost: 0,
    repeated: 0,
    late: 0,
    marked: 0,
};

pub(super) struct World {
    pub(super) now: Instant,
    shared: Shared,
    pub(super) client: Connection,
    pub(super) server: Server<()>,
    pub(super) site: Site,
    pub(super) log: Log,
    pub(super) error: Option<ProtocolError>,
    acceptor: Acceptor,
    identity: Identity,
    limits: ServerLimits,
    random: Random,
    weather: Weather,
    /// Datagrams under way, by when they come: to the server or to the client.
    under_way: BTreeMap<(Instant, u64), (bool, Mark, Vec<u8>)>,
    count: u64,
    to_ask: Vec<Request>,
    /// What went to the server since it was last emptied.
    pub(super) said: Vec<Vec<u8>>,
    /// What came from the server, likewise.
    pub(super) answered: Vec<Vec<u8>>,
    /// The exchanges that began, each time that some did.
    pub(super) begun: Vec<Vec<u32>>,
    connections: u8,
}

/// How connections of a world begin.
#[derive(Clone, Copy, Default)]
pub(super) struct Beginning {
    /// Whether sessions are resumed.
    pub(super) resumes: bool,
    pub(super) mix: Option<HandshakeMix>,
    /// Whether the server takes requests before the end of a handshake.
    pub(super) takes_early: bool,
}

fn copy(identity: &Identity) -> Identity {
    Identity {
        chain: identity.chain.clone(),
        key: identity.key.clone_key(),
    }
}

fn acceptor(identity: &Identity, takes_early: bool) -> Acceptor {
    let identity = copy(identity);
    let made = match takes_early {
        true => Acceptor::with_early_data(identity, 1_000),
        false => Acceptor::new(identity),
    };
    made.unwrap()
}

fn certificate(name: &str) -> (Identity, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let identity = Identity {
        chain: vec![made.cert.der().clone()],
        key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
    };
    (identity, made.cert.der().to_vec())
}

impl World {
    pub(super) fn new(seed: u64, weather: Weather, streams: u32) -> Self {
        Self::with_name(seed, weather, streams, "localhost", LIMITS)
    }

    /// The same, where the certificate of the server is for `name`.
    pub(super) fn with_name(
        seed: u64,
        weather: Weather,
        streams: u32,
        name: &str,
        limits: ServerLimits,
    ) -> Self {
        Self::beginning(seed, (weather, streams, name, limits), Beginning::default())
    }

    /// The same, whose connections begin like that.
    pub(super) fn beginning(
        seed: u64,
        (weather, streams, name, limits): (Weather, u32, &str, ServerLimits),
        how: Beginning,
    ) -> Self {
        let (identity, root) = certificate(name);
        let connector = Connector::new(Demands {
            name: "localhost",
            roots: Some(vec![root.into()]),
            identities: Vec::new(),
            versions: &[],
            suites: &[],
            groups: &[],
            resumes: how.resumes,
            mix: how.mix,
        });
        let acceptor = acceptor(&identity, how.takes_early);
        let draws = [u8::try_from(seed % 251).unwrap(); 32];
        let random = Random::stream(seed, 3);
        let mut shared = Shared::new(&connector.unwrap(), streams, 16_384, random).unwrap();
        shared.seed([!draws[0]; 32]);
        Self {
            now: Instant::from_ns(1_000_000_000),
            client: Connection::new(&mut shared),
            shared,
            server: Server::seeded(&acceptor, limits, 2, Some(draws)).unwrap(),
            site: Site::default(),
            log: Log::default(),
            error: None,
            acceptor,
            identity,
            limits,
            random: Random::stream(seed, 7),
            weather,
            under_way: BTreeMap::new(),
            count: 0,
            to_ask: Vec::new(),
            said: Vec::new(),
            answered: Vec::new(),
            begun: Vec::new(),
            connections: 0,
        }
    }

    /// Begins another connection, when the one of before is over.
    pub(super) fn reconnect(&mut self) {
        self.part();
        assert!(self.run(|world| world.server.open() == 0), "it is over");
        self.under_way.clear();
        // Another connection has other names.
        self.connections += 1;
        self.shared.seed([self.connections; 32]);
        self.client = Connection::new(&mut self.shared);
        self.log = Log::default();
    }

    /// Asks for that on another connection, and says of which kind its handshake was.
    pub(super) fn ask_anew(&mut self, target: &str) -> HandshakeKind {
        self.reconnect();
        self.ask("GET", target, None);
        let is_over = |world: &Self| world.log.ended.len() == 1 && world.client.may_part();
        assert!(self.run(is_over), "{:?} {:?}", self.log.ended, self.error);
        assert_eq!(self.log.ended, [Ok((200, 5))]);
        assert_eq!(self.error, None);
        self.client.handshake()
    }

    /// From now on another server is there, which knows no session of before.
    pub(super) fn replace_server(&mut self, takes_early: bool) {
        self.acceptor = acceptor(&self.identity, takes_early);
        self.server = Server::seeded(&self.acceptor, self.limits, 2, None).unwrap();
    }

    /// The same, and that server lets nobody begin a request before [`World::allow`].
    pub(super) fn replace_server_by_reserved(&mut self) {
        self.acceptor = acceptor(&self.identity, true);
        self.server = Server::reserved(&self.acceptor, self.limits, 2);
    }

    /// The server lets its clients begin so many requests at once from now on.
    pub(super) fn allow(&mut self, streams: u32) {
        self.server.allow(self.now, streams, &mut self.site);
    }

    /// What handshakes came to.
    pub(super) fn tell_tls(&self) -> TlsRecord {
        Connection::tell(&self.shared).unwrap()
    }

    /// The server may send the next client only so many bytes that were not taken.
    pub(super) fn narrow(&mut self, window: usize) {
        self.shared.narrow(u32::try_from(window).unwrap());
        self.client = Connection::new(&mut self.shared);
    }

    /// Will ask for that, as soon as there is room.
    pub(super) fn ask(&mut self, method: &str, target: &str, content: Option<&[u8]>) {
        let parts = RequestParts {
            method,
            target,
            authority: "localhost",
            fields: &[],
            content,
        };
        let request = Request::compile(RequestId(0), &parts, false);
        self.to_ask.push(request.with_h3(encode(&parts)));
    }

    /// Lets things happen until `is_over`, or for a minute.
    pub(super) fn run(&mut self, is_over: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + Span::from_s(60);
        loop {
            let _may = !self.to_ask.is_empty() && self.client.may_begin_early(self.now);
            while self.client.free() > 0
                && let Some(request) = self.to_ask.pop()
            {
                self.client.begin(&request).unwrap();
            }
            self.send();
            if is_over(self) {
                return true;
            }
            let next = self.next();
            if next > end {
                return false;
            }
            self.now = self.now.max(next);
            self.step();
        }
    }

    /// Lets happen what happens in that time, and no more.
    pub(super) fn pass(&mut self, time: Span) {
        let end = self.now + time;
        self.send();
        while self.next() <= end {
            self.now = self.now.max(self.next());
            self.step();
            self.send();
        }
        self.now = end;
    }

    /// When something happens next.
    fn next(&self) -> Instant {
        let datagram = self.under_way.first_key_value().map(|(key, _)| key.0);
        datagram
            .unwrap_or(Instant::FAR_FUTURE)
            .min(self.server.poll_timeout())
            .min(self.client.poll_timeout().unwrap_or(Instant::FAR_FUTURE))
    }

    fn step(&mut self) {
        if let Some(entry) = self.under_way.first_entry()
            && entry.key().0 <= self.now
        {
            let (is_to_server, mark, mut bytes) = entry.remove();
            if is_to_server {
                let from = "[::1]:9".parse().unwrap();
                self.server
                    .handle_datagram(self.now, from, None, mark, &bytes, &mut self.site);
            } else {
                self.client.hear_mark(mark);
                let taken =
                    self.client
                        .handle_bytes(&mut self.shared, self.now, &mut bytes, &mut self.log);
                self.error = self.error.or_else(|| taken.err());
            }
        }
        self.server.handle_timeout(self.now, &mut self.site);
        if self.client.poll_timeout().is_some_and(|at| at <= self.now) {
            self.client.handle_timeout(self.now, &mut self.log);
        }
    }

    /// Puts what both sides have to send onto the network.
    fn send(&mut self) {
        let mut out = Vec::new();
        while self.client.wants_transmit() {
            out.clear();
            let Transmit::Written { starts } = self.client.poll_transmit(self.now, &mut out) else {
                break;
            };
            let others = self.client.also_starts();
            let begun: Vec<u32> = starts.iter().chain(others).map(|one| one.0).collect();
            if !begun.is_empty() {
                self.begun.push(begun);
            }
            let (segment, mark) = (self.client.segment(), self.client.mark());
            let pieces = out.chunks(segment);
            pieces.for_each(|one| self.post(true, mark, one));
        }
        loop {
            out.clear();
            let Some(way) = self.server.poll_transmit(self.now, &mut out) else {
                break;
            };
            let pieces = out.chunks(way.segment);
            pieces.for_each(|one| self.post(false, way.mark, one));
        }
    }

    fn post(&mut self, is_to_server: bool, mark: Mark, datagram: &[u8]) {
        match is_to_server {
            true => self.said.push(datagram.to_vec()),
            false => self.answered.push(datagram.to_vec()),
        }
        let mut falls = |share: u64| (self.random.below(100) as u64) < share;
        let (is_lost, is_repeated) = (falls(self.weather.lost), falls(self.weather.repeated));
        let is_late = falls(self.weather.late);
        // One whose sender does not know marks gets none.
        let may_be_marked = mark != Mark::NotCapable && self.weather.marked > 0;
        let mark = match may_be_marked && falls(self.weather.marked) {
            true => Mark::Congested,
            false => mark,
        };
        let way = Span::from_ms(5);
        if !is_lost {
            let more = if is_late { way * 6 } else { Span::ZERO };
            self.deliver(is_to_server, mark, datagram, way + more);
        }
        if is_repeated {
            self.deliver(is_to_server, mark, datagram, way * 3);
        }
    }

    fn deliver(&mut self, is_to_server: bool, mark: Mark, datagram: &[u8], after: Span) {
        self.count += 1;
        let key = (self.now + after, self.count);
        self.under_way
            .insert(key, (is_to_server, mark, datagram.to_vec()));
    }

    /// Says on a new stream what nobody else would.
    pub(super) fn say(&mut self, bytes: &[u8], is_one_way: bool, is_all: bool) -> u64 {
        self.run(|world| world.client.is_established());
        let id = self.client.say_raw(bytes, is_one_way, is_all);
        self.send();
        id
    }

    /// The client hears `bytes` as part of the answer to its request, whatever the server said.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.client.hear_raw(&mut self.shared, bytes, &mut self.log)
    }

    /// Gives up what was said there.
    pub(super) fn give_up(&mut self, id: u64) {
        self.client.give_up_raw(id);
        self.send();
    }

    pub(super) fn tell(&self) -> model::quic::QuicRecord {
        Connection::tell_quic(&self.shared).unwrap()
    }

    /// From now on the server has no room for a connection.
    pub(super) fn fill(&mut self) {
        self.server = Server::seeded(&self.acceptor, LIMITS, 0, None).unwrap();
    }

    pub(super) fn part(&mut self) {
        let mut out = Vec::new();
        if self.client.farewell(&mut self.shared, self.now, &mut out) {
            self.post(true, self.client.mark(), &out);
        }
    }
}
