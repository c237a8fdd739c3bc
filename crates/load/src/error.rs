//! What keeps a run from being made.

use std::io;
use std::net::SocketAddr;

/// What can go wrong before a single exchange counts.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The name of the host means nothing.
    #[error("cannot find the host '{host}': {reason}; check the name, or give an address")]
    Resolve {
        /// As given.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// No address accepts a connection.
    #[error("cannot connect to {url} ({reasons}); {advice}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Each address with its error.
        reasons: String,
        /// What to look at.
        advice: &'static str,
    },
    /// The server shows a certificate that is refused here, so that no exchange could succeed.
    #[error("nothing can be measured at {url}: {reason}; --insecure (-k) accepts any certificate")]
    Certificate {
        /// What was asked.
        url: String,
        /// What is wrong with the certificate.
        reason: String,
    },
    /// The answer before the run is not what the plan expects.
    #[error("the answer before the run is not the expected one: {0}")]
    Unexpected(String),
    /// The kernel's side of the loop cannot be set up.
    #[error("cannot use the {backend} backend: {reason}")]
    Backend {
        /// Its name.
        backend: &'static str,
        /// Why.
        reason: io::Error,
    },
    /// Limits stand in the way of as many connections as the plan wants.
    #[error("{connections} connections are not possible here: {obstacles}")]
    Limits {
        /// The plan's.
        connections: u32,
        /// Each limit, and what to do.
        obstacles: String,
    },
    /// Connections are to come from addresses of another family.
    #[error(
        "none of the source addresses can reach {target}: give one of {family} (--interface), or \
         leave them out"
    )]
    Source {
        /// An address of the server.
        target: SocketAddr,
        /// The family that it has.
        family: &'static str,
    },
    /// A process with a part of the workers did not measure.
    #[error("the process with workers {first} to {last}: {reason}")]
    Part {
        /// The first of them.
        first: u32,
        /// The last of them.
        last: u32,
        /// What it said, or how it ended.
        reason: String,
    },
    /// What makes the requests beside the plan has made a mistake, or is not there.
    #[error("{0}")]
    Author(String),
    /// What the plan wants of TLS cannot be had.
    #[error("TLS: {0}")]
    Tls(String),
    /// A worker cannot be given what it needs, or be bound to its CPU.
    #[error("cannot start worker {index}{cpu}: {reason}")]
    Worker {
        /// Its position.
        index: u32,
        /// Where it was to run, in words.
        cpu: String,
        /// Why.
        reason: io::Error,
    },
}
