//! The requests of a plan, encoded to bytes before the run.

use model::plan::Plan;
use wire::{Request, RequestId, RequestParts};

/// The plan's request in the two forms in which it is sent.
#[derive(Clone, Debug)]
pub struct Requests {
    /// As it is sent while the connection is to be kept.
    keep: Request,
    /// As the last one on a connection is sent: it asks the server to close, so that the server
    /// counts as many requests on the connection as we do, and TIME_WAIT stays on its side.
    last: Request,
}

impl Requests {
    /// Compiles the request of `plan`.
    pub fn compile(plan: &Plan) -> Self {
        let request = plan.request();
        let parts = RequestParts {
            method: &request.method,
            target: &request.url.path,
            authority: &request.url.authority,
            fields: &request.headers,
            content: request.body.as_deref(),
        };
        Self {
            keep: Request::compile(RequestId(0), &parts, false),
            last: Request::compile(RequestId(1), &parts, true),
        }
    }

    /// All of them, in the order of their ids.
    pub const fn all(&self) -> [&Request; 2] {
        [&self.keep, &self.last]
    }

    /// The one to send next on a connection.
    #[inline]
    pub const fn choose(&self, is_last: bool) -> &Request {
        if is_last { &self.last } else { &self.keep }
    }

    /// How many bytes the request with this id has.
    #[inline]
    pub fn bytes_of(&self, id: RequestId) -> u64 {
        self.all()[usize::from(id.0)].h1_bytes().len() as u64
    }
}
