//! One connection: its side of the protocol, and how far the kernel is with its answers.

use std::fs::File;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use model::Instant;
use sys::slots::Key;
use wire::Service;
use wire::h1::server::ServerLimits;
use wire::http::Server;
use wire::tls::{Acceptor, TlsServer};

use crate::answers::Answer;

/// HTTP/1.1 or HTTP/2, as it answers here.
pub(crate) type Http = Server<Arc<File>, Rc<Answer>>;

/// What stands between HTTP and the transport: chosen once, before the loop.
pub(crate) trait Accept {
    /// Its side of a connection.
    type Service: Service<File = Arc<File>, Kept = Rc<Answer>>;

    /// A connection that was just accepted.
    fn accept(&self, http: Http) -> Self::Service;
}

/// Nothing.
#[derive(Debug)]
pub(crate) struct InClear;

impl Accept for InClear {
    type Service = Http;

    #[inline]
    fn accept(&self, http: Http) -> Http {
        http
    }
}

impl Accept for Acceptor {
    type Service = TlsServer<Http>;

    fn accept(&self, http: Http) -> TlsServer<Http> {
        Self::accept(self, http)
    }
}

/// One connection of a worker.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    /// How the reactor knows it.
    pub(crate) key: Key,
    pub(crate) service: S,
    pub(crate) state: State,
    /// Who is at the other end; asked for only where it is logged.
    pub(crate) peer: IpAddr,
    /// Bytes handed to the reactor to send.
    pub(crate) handed: u64,
    /// Of these, taken by the kernel when last looked at.
    pub(crate) taken: u64,
    /// When that last grew, or the first of what is under way was handed over.
    pub(crate) progress_at: Instant,
    /// The reactor was told to receive nothing for now.
    pub(crate) is_paused: bool,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    /// For the client, or for nothing.
    Open,
    /// For the last bytes to be taken by the kernel, which the reactor tells; then it ends.
    Ending(End),
    /// For the last bytes to be taken by the kernel, which nobody tells; then it ends.
    Flushing(End),
    /// For the client to finish, after we did; what it sends is dropped.
    Lingering {
        /// Longer we do not wait.
        until: Instant,
        /// Bytes that may still come.
        patience: u64,
    },
    /// For a delay that was ordered.
    Pausing {
        /// The end of the delay.
        until: Instant,
    },
    /// For its bytes to be taken by the kernel.
    Sending,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// At once, in good order.
    Close,
    /// In good order, when the client has finished too.
    Linger,
    /// By a reset.
    Reset,
}

impl<S> Connection<S> {
    /// A connection that was just accepted.
    pub(crate) fn new(
        accept: &impl Accept<Service = S>,
        key: Key,
        now: Instant,
        limits: ServerLimits,
        peer: IpAddr,
    ) -> Self {
        Self {
            key,
            service: accept.accept(Server::new(now, limits)),
            state: State::Open,
            peer,
            handed: 0,
            taken: 0,
            progress_at: now,
            is_paused: false,
        }
    }
}
