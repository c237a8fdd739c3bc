//! HTTP/1.1 (RFC 9112).

pub mod body;
pub mod client;
pub(crate) mod encode;
mod host;
pub mod known;
pub mod parse;
pub mod request;
pub mod server;

pub use self::host::is_host;
