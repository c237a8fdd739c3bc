//! Both sides of HTTP/3, with QPACK in the heads, over QUIC in simulated time: whatever a peer says
//! on its streams.

use model::{Instant, Mark, Random, Span};
use quinn_proto::{Dir, StreamId, VarInt};
use wire::client::{Client, End, ProtocolError, StreamId as Place, Transmit};
use wire::h3::client::{Connection, Shared, encode};
use wire::h3::server::Server;
use wire::message::{Request, RequestId, RequestParts};

use crate::h2::Site;
use crate::pieces;
use crate::quic::{PEER, Raw, setup};
use crate::request::LIMITS;
use crate::response::{Log, Told};

/// Heads longer than this are refused here, so that inputs need not be long.
const HEAD_BYTES: usize = 2048;
/// More than this a server never has to say to so few bytes.
const MOST: usize = 4 * 1024 * 1024;
/// So many datagrams never go there and back without an end.
const ROUNDS: usize = 2_000;
/// Streams that a client of these tests opens, by their number: the first go one way.
const STREAMS: usize = 8;
const ONE_WAY: usize = 3;

const NOW: Instant = Instant::from_ns(1_000_000_000);

/// Datagrams go there and back until nobody has more to say. How much the server said.
fn talk(raw: &mut Raw, server: &mut Server<()>) -> usize {
    let (mut said, mut out) = (0, Vec::new());
    for _ in 0..ROUNDS {
        let mut is_quiet = true;
        while let Some(datagram) = raw.say() {
            server.handle_datagram(NOW, PEER, None, Mark::NotCapable, datagram, &mut Site);
            is_quiet = false;
        }
        out.clear();
        while let Some(way) = server.poll_transmit(NOW, &mut out) {
            out.chunks(way.segment).for_each(|one| raw.take(one));
            said += out.len();
            out.clear();
            is_quiet = false;
        }
        if is_quiet {
            return said;
        }
    }
    panic!("they talk without an end");
}

/// The first byte chooses the cuts. Then each two bytes say on which stream so many of the bytes
/// after them go, and whether the stream ends there. Nothing makes the server panic, or say without
/// end, and at last it lets go of the connection.
pub fn server(data: &[u8]) {
    let Some((seed, mut rest)) = data.split_first() else {
        return;
    };
    let mut server = Server::new(&setup().acceptor, LIMITS, 1).expect("a suite of QUIC");
    let mut raw = Raw::client();
    let mut said = talk(&mut raw, &mut server);
    let mut streams = [None; STREAMS];
    while let [how, length, bytes @ ..] = rest {
        let (bytes, after) = bytes.split_at(bytes.len().min(usize::from(*length)));
        rest = after;
        let place = usize::from(how & 7);
        let dir = if place < ONE_WAY { Dir::Uni } else { Dir::Bi };
        let Some(id) = streams[place].or_else(|| raw.open(dir)) else {
            continue;
        };
        streams[place] = Some(id);
        for piece in pieces(bytes, *seed) {
            raw.write(id, piece);
            said += talk(&mut raw, &mut server);
        }
        match how >> 6 {
            1 => raw.finish(id),
            2 => raw.reset(id),
            3 if dir == Dir::Bi => raw.stop(id),
            _ => continue,
        }
        // Another stream takes its place.
        streams[place] = None;
        said += talk(&mut raw, &mut server);
        assert!(said < MOST, "{said} bytes");
    }
    assert!(server.open() <= 1);
    let mut now = NOW;
    for _ in 0..10 {
        now += LIMITS.idle_time;
        server.handle_timeout(now, &mut Site);
        let mut out = Vec::new();
        while server.poll_transmit(now, &mut out).is_some() {
            said += std::mem::take(&mut out).len();
        }
    }
    assert!(said < MOST, "{said} bytes");
    assert_eq!(server.open(), 0, "it lets go of a silent client");
}

/// The first byte chooses the cuts, the second how many requests are in flight, whether the first
/// is cancelled and whether its answer ends, the third how much of the rest comes on the server's
/// control stream; what follows is the first answer. What is told is the same however the bytes
/// come.
pub fn client(data: &[u8]) {
    let [seed, flight, control, bytes @ ..] = data else {
        return;
    };
    let (control, answer) = bytes.split_at(bytes.len().min(usize::from(*control)));
    let (whole, how) = tell([control].into_iter(), [answer].into_iter(), *flight);
    let (control, answer) = (pieces(control, *seed), pieces(answer, *seed));
    let (cut, cut_how) = tell(control.into_iter(), answer.into_iter(), *flight);
    assert_eq!(how.is_ok(), cut_how.is_ok(), "{how:?} {cut_how:?}");
    if how.is_ok() {
        assert_eq!(whole, cut);
    }
}

/// One connection, and what it told.
struct Asking {
    shared: Shared,
    connection: Connection,
    log: Log,
    raw: Raw,
}

impl Asking {
    fn new() -> Self {
        let random = Random::stream(1, 1);
        let shared = Shared::new(&setup().connector, 4, HEAD_BYTES, random);
        let mut shared = shared.expect("a suite of QUIC");
        Self {
            connection: Connection::new(&mut shared),
            shared,
            log: Log::default(),
            raw: Raw::server(),
        }
    }

    /// Datagrams go there and back until nobody has more to say.
    fn talk(&mut self) -> Result<(), ProtocolError> {
        let mut out = Vec::new();
        for _ in 0..ROUNDS {
            let mut is_quiet = true;
            while self.connection.wants_transmit() {
                out.clear();
                if self.connection.poll_transmit(NOW, &mut out) == Transmit::Nothing {
                    break;
                }
                let segment = self.connection.segment();
                out.chunks(segment).for_each(|one| self.raw.take(one));
                is_quiet = false;
            }
            while let Some(datagram) = self.raw.say() {
                let mut datagram = datagram.to_vec();
                let (shared, log) = (&mut self.shared, &mut self.log);
                self.connection
                    .handle_bytes(shared, NOW, &mut datagram, log)?;
                is_quiet = false;
            }
            if is_quiet {
                return Ok(());
            }
        }
        panic!("they talk without an end");
    }
}

fn tell<'a>(
    control: impl Iterator<Item = &'a [u8]>,
    answer: impl Iterator<Item = &'a [u8]>,
    flight: u8,
) -> (Vec<Told>, Result<(), ProtocolError>) {
    let mut asking = Asking::new();
    asking.talk().expect("the handshake succeeds");
    assert!(asking.connection.is_established());
    let how = answered(&mut asking, control, answer, flight);
    if how.is_ok() {
        let (shared, log) = (&mut asking.shared, &mut asking.log);
        asking
            .connection
            .handle_end(shared, NOW + Span::from_ms(1), End::Finished, log);
    }
    (asking.log.0, how)
}

fn answered<'a>(
    asking: &mut Asking,
    control: impl Iterator<Item = &'a [u8]>,
    answer: impl Iterator<Item = &'a [u8]>,
    flight: u8,
) -> Result<(), ProtocolError> {
    for exchange in 0..=(flight & 3) {
        let method = ["GET", "HEAD"][usize::from(flight >> (2 + exchange) & 1)];
        let parts = RequestParts {
            method,
            target: "/",
            authority: "a",
            fields: &[],
            content: None,
        };
        let request = Request::compile(RequestId(0), &parts, false);
        if asking.connection.free() > 0 {
            let begun = asking.connection.begin(&request.with_h3(encode(&parts)));
            begun.expect("it has room");
        }
        asking.talk()?;
    }
    if flight & 0x40 != 0 {
        assert!(asking.connection.cancel(Place(0)), "it is under way");
        asking.talk()?;
    }
    let own = asking.raw.open(Dir::Uni).expect("the client allows some");
    for piece in control {
        asking.raw.write(own, piece);
        asking.talk()?;
    }
    // The stream of the first request.
    let first = StreamId::from(VarInt::from_u32(0));
    for piece in answer {
        asking.raw.write(first, piece);
        asking.talk()?;
    }
    if flight & 0x80 != 0 {
        asking.raw.finish(first);
        asking.talk()?;
    }
    Ok(())
}
