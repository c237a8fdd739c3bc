//! What the connections of a run speak: chosen once, before the loop, which is compiled for each.

use model::plan::Plan;
use sys::reactor::Settings;
use wire::Client;
use wire::h1::client::{Connection, HEAD_BYTES, Shared};
use wire::tls::{Connector, Tls};

use crate::request::Requests;
use crate::run::settings;

/// The most that TLS hands over at once, unless requests have content: the first flight with a
/// post-quantum key is 1.5 KiB, a request less than that.
const PIECE: usize = 4_096;
/// The same where they have: a whole record.
const PIECE_LONGEST: usize = 16 * 1024;
/// Sends of one worker that are under way at once.
const PIECES: u32 = 2_048;

/// What connections speak.
pub(crate) trait Speak: Sync {
    /// The client side of a connection.
    type Client: Client;

    /// What those of one worker have in common.
    fn shared(&self, plan: &Plan, requests: &Requests) -> <Self::Client as Client>::Shared;

    /// A reactor's room for so many connections of `plan`.
    fn settings(&self, connections: u32, plan: &Plan) -> Settings;
}

/// HTTP/1.1 over TCP.
#[derive(Debug)]
pub(crate) struct InClear;

impl Speak for InClear {
    type Client = Connection;

    fn shared(&self, plan: &Plan, requests: &Requests) -> Shared {
        Shared::new(plan.file().pipeline, requests.len() * 2, HEAD_BYTES)
    }

    fn settings(&self, connections: u32, _: &Plan) -> Settings {
        settings(connections)
    }
}

/// HTTP/1.1 over TLS.
impl Speak for Connector {
    type Client = Tls<Connection>;

    fn shared(&self, plan: &Plan, requests: &Requests) -> <Self::Client as Client>::Shared {
        let inner = InClear.shared(plan, requests);
        Self::shared(self, inner, requests.all(), piece(plan))
    }

    fn settings(&self, connections: u32, plan: &Plan) -> Settings {
        Settings {
            copies: connections.saturating_mul(2).clamp(64, PIECES),
            copy_bytes: u32::try_from(piece(plan)).unwrap_or(u32::MAX),
            ..settings(connections)
        }
    }
}

/// How much is handed over at once.
fn piece(plan: &Plan) -> usize {
    let has_content = plan.requests().iter().any(|request| request.body.is_some());
    if has_content { PIECE_LONGEST } else { PIECE }
}
