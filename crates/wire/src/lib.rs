//! HTTP as state machines: bytes in, events out. No socket, no clock, no thread; `now` is an argument.

#![forbid(unsafe_code)]

pub mod h1;
