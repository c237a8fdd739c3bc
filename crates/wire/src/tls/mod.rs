//! TLS as a transformer of bytes: [`Tls`] around a [`Client`](crate::Client) is one, [`TlsServer`]
//! around a [`Service`](crate::Service) is one.
//!
//! The protocol is rustls with aws-lc-rs, through its interface without buffers: what was received
//! is decrypted where it lies as far as whole records go, and what is sent is encrypted into the
//! caller's buffer. rustls reads the calendar, to look at the dates of certificates; nothing here
//! else reads a clock (ADR 0023).
//!
//! Cost: an idle connection keeps no buffer; a record that comes in pieces is copied once.

mod client;
mod connector;
mod error;
mod facts;
mod offer;
mod server;
mod session;
mod store;
mod suites;
mod tickets;

pub use rustls::pki_types;

pub use self::client::{Inner, Shared, Tls};
pub(crate) use self::connector::HTTP_2;
pub use self::connector::{Connector, Demands, Identity, SetupError, no_key};
pub use self::error::TlsError;
pub(crate) use self::facts::{Facts, Tally};
pub(crate) use self::offer::{Draw, Early, Offer};
pub(crate) use self::server::is_safe;
pub use self::server::{Acceptor, TlsServer};

#[cfg(test)]
mod tests;
