//! What the connections of a run speak: chosen once, before the loop, which is compiled for each.

use model::Random;
use model::plan::{Plan, ScriptFile};
use sys::reactor::{SENDS_MAX, Settings};
use wire::Client;
use wire::h1::client::{Connection, HEAD_BYTES, Shared};
use wire::h2::client as h2;
use wire::h3::client as h3;
use wire::tls::{Connector, Tls};

use crate::dictation;
use crate::pool::CONNECTS_UNDER_WAY;
use crate::preamble::Preamble;
use crate::redirect;
use crate::request::Requests;
use crate::run::settings;
use crate::session;

/// The most that TLS hands over at once, unless requests have content: the first flight with a
/// post-quantum key is 1.5 KiB, a request less than that.
const PIECE: usize = 4_096;
/// The same where they have: a whole record.
const PIECE_LONGEST: usize = 16 * 1024;
/// Sends of one worker that are under way at once.
const PIECES: u32 = 2_048;

/// What connections begin with, under way at once: of those of one batch, and of the one before.
const PREAMBLES: u32 = 2 * CONNECTS_UNDER_WAY;

/// The most that HTTP/3 hands over at once: some datagrams.
const DATAGRAMS: u32 = 16 * 1024;

/// Of which connections something is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The position of their worker.
    pub(crate) worker: u32,
    /// The position of the server that they lead to.
    pub(crate) host: usize,
}

/// What connections speak.
pub(crate) trait Speak: Sync {
    /// The client side of a connection.
    type Client: Client;

    /// What those of one worker to one server, by their positions, have in common.
    fn shared(
        &self,
        plan: &Plan,
        requests: &Requests,
        at: Side,
    ) -> <Self::Client as Client>::Shared;

    /// A reactor's room for so many connections of `plan`.
    fn settings(&self, connections: u32, plan: &Plan) -> Settings;
}

/// A reactor's room for so many connections of `plan`, with what each of them begins with.
pub(crate) fn room<S: Speak>(speak: &S, connections: u32, plan: &Plan) -> Settings {
    let mut settings = speak.settings(connections, plan);
    if plan.file().slow.send_bytes_per_s.is_some() {
        settings.copies = settings.copies.max(connections.clamp(64, PIECES));
    }
    let Some(longest) = Preamble::longest(plan) else {
        return settings;
    };
    Settings {
        copies: settings.copies + PREAMBLES,
        copy_bytes: settings.copy_bytes.max(longest),
        ..settings
    }
}

/// HTTP/1.1 over TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InClear;

impl Speak for InClear {
    type Client = Connection;

    fn shared(&self, plan: &Plan, requests: &Requests, at: Side) -> Shared {
        let asked = requests.of_server(at.host);
        Shared::new(plan.file().pipeline, asked * 2, HEAD_BYTES)
    }

    fn settings(&self, connections: u32, plan: &Plan) -> Settings {
        // Requests of users are written one by one.
        let bytes = match dictation::asks(plan) {
            true => dictation::COPIED,
            false => session::longest(plan).max(redirect::longest(plan)),
        };
        let plain = settings(connections);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let one_each = connections.clamp(64, PIECES);
        let (copies, copy_bytes) = match (bytes, plan.file().pipeline) {
            (0, 1) => return plain,
            (bytes, 1) => (one_each, bytes),
            // What goes out together is copied, too: a connection that finds no room waits.
            (bytes, pipeline) => {
                let most = u32::try_from(SENDS_MAX).unwrap_or(u32::MAX);
                let sends = connections.saturating_mul(pipeline.min(most));
                let copies = sends.clamp(64, PIECES.max(connections));
                (copies, bytes.max(plain.copy_bytes))
            }
        };
        Settings {
            copies,
            copy_bytes,
            ..plain
        }
    }
}

/// HTTP/2 over TCP, by prior knowledge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Http2InClear;

impl Speak for Http2InClear {
    type Client = h2::Connection;

    fn shared(&self, plan: &Plan, requests: &Requests, _: Side) -> h2::Shared {
        let piece = frames(plan, requests);
        h2::Shared::new(plan.file().streams, piece, HEAD_BYTES).telling(reads_heads(plan))
    }

    fn settings(&self, connections: u32, plan: &Plan) -> Settings {
        let requests = Requests::compile(plan, &[], 0);
        with_copies(connections, plan, frames(plan, &requests))
    }
}

/// HTTP/2 over TLS, by ALPN.
#[derive(Debug)]
pub(crate) struct Http2(pub(crate) Connector);

impl Speak for Http2 {
    type Client = Tls<h2::Connection>;

    fn shared(
        &self,
        plan: &Plan,
        requests: &Requests,
        at: Side,
    ) -> <Self::Client as Client>::Shared {
        let inner = Http2InClear.shared(plan, requests, at);
        self.0
            .shared(inner, requests.all(), piece(plan), draws(plan, at.worker))
    }

    fn settings(&self, connections: u32, plan: &Plan) -> Settings {
        let requests = Requests::compile(plan, &[], 0);
        // The end of the handshake goes out before the first frames.
        let most = frames(plan, &requests) + 2 * piece(plan);
        with_copies(connections, plan, most)
    }
}

/// HTTP/3 over QUIC.
#[derive(Debug)]
pub(crate) struct Http3(pub(crate) Connector);

impl Speak for Http3 {
    type Client = h3::Connection;

    fn shared(&self, plan: &Plan, _: &Requests, at: Side) -> h3::Shared {
        let random = draws(plan, at.worker);
        let made = h3::Shared::new(&self.0, plan.file().streams, HEAD_BYTES, random);
        let made = made.expect("one was made before the run");
        made.telling(reads_heads(plan))
    }

    fn settings(&self, connections: u32, _: &Plan) -> Settings {
        Settings {
            copies: connections.saturating_mul(2).clamp(64, PIECES),
            copy_bytes: DATAGRAMS,
            ..settings(connections)
        }
    }
}

/// Room for as many sends as may be under way, each of so many bytes.
fn with_copies(connections: u32, plan: &Plan, bytes: usize) -> Settings {
    let sends = connections.saturating_mul(2 + plan.file().streams);
    Settings {
        copies: sends.clamp(64, PIECES),
        copy_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        ..settings(connections)
    }
}

/// The most that HTTP/2 hands over at once: a request and what goes before it, or content.
fn frames(plan: &Plan, requests: &Requests) -> usize {
    let longest = requests.all().map(|request| request.h2().longest()).max();
    piece(plan).max(longest.unwrap_or(0) + 1_024)
}

/// HTTP/1.1 over TLS.
impl Speak for Connector {
    type Client = Tls<Connection>;

    fn shared(
        &self,
        plan: &Plan,
        requests: &Requests,
        at: Side,
    ) -> <Self::Client as Client>::Shared {
        let inner = InClear.shared(plan, requests, at);
        let random = draws(plan, at.worker);
        Self::shared(self, inner, requests.all(), piece(plan), random)
    }

    fn settings(&self, connections: u32, plan: &Plan) -> Settings {
        Settings {
            copies: connections.saturating_mul(2).clamp(64, PIECES),
            copy_bytes: u32::try_from(piece(plan)).unwrap_or(u32::MAX),
            ..settings(connections)
        }
    }
}

/// What says of which kind the handshakes of a worker are: other draws than those of its arrivals.
const fn draws(plan: &Plan, worker: u32) -> Random {
    Random::stream(plan.file().seed, u64::MAX - worker as u64)
}

/// Whether somebody reads fields of answers.
fn reads_heads(plan: &Plan) -> bool {
    let script = plan.file().script.as_ref();
    script.is_some_and(ScriptFile::is_stateful) || plan.file().follow.is_some()
}

/// How much is handed over at once.
fn piece(plan: &Plan) -> usize {
    let has_content = plan.requests().iter().any(|request| request.body.is_some());
    match has_content || dictation::asks(plan) {
        true => PIECE_LONGEST,
        false => PIECE,
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;

    /// What goes out together is copied: each connection of a pipeline has room for as many sends
    /// as it may have under way, so that none waits for the others.
    #[test]
    fn each_connection_of_a_pipeline_has_room_for_its_sends() {
        let address = ([127, 0, 0, 1], 80).into();
        let copies = |connections: u32, pipeline| {
            let mut file = fixture::plan("http://127.0.0.1/", &[address]);
            file.connections = connections;
            file.pipeline = pipeline;
            let plan = Plan::try_from(file).expect("a plan that can run");
            let room = InClear.settings(connections, &plan);
            assert!(room.copy_bytes >= 4_096);
            room.copies
        };
        assert_eq!(copies(100, 64), 400);
        assert_eq!(copies(100, 2), 200);
        assert_eq!(copies(5_000, 16), 5_000);
        // Without one, bytes that lie ready are sent from where they are.
        assert_eq!(copies(5_000, 1), settings(5_000).copies);
    }
}
