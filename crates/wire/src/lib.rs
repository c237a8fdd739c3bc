//! HTTP as state machines: bytes in, events out. No socket, no clock, no thread; `now` is an argument.
//!
//! [`Client`] is the side that asks. Nothing that comes from the network can make it panic.

#![forbid(unsafe_code)]

pub mod client;
pub mod h1;
pub mod message;

pub use client::{
    Availability, Broken, Client, End, ProtocolError, Refused, Sink, StreamId, Transmit,
};
pub use message::{Framing, Head, Request, RequestParts, Version};
