//! HTTP as state machines: bytes in, events out. No socket, no clock, no thread; `now` is an
//! argument.
//!
//! [`Client`] is the side that asks, [`Service`] the side that answers. Nothing that comes from the
//! network can make either panic.

#![forbid(unsafe_code)]

mod answer;
pub mod client;
pub mod date;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod http;
pub mod message;
mod prefixed;
pub mod proxy;
pub mod service;
mod static_table;
#[cfg(test)]
mod testing;
pub mod tls;
pub mod tunnel;

pub use client::{Broken, Client, End, ProtocolError, Refused, Sink, StreamId, Transmit};
pub use message::{Framing, Head, Request, RequestId, RequestParts, Version};
pub use service::{Handler, Part, Persistence, Repeat, Service};
