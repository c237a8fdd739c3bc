//! Origin, the embedded web server: small, fast and correct. The default system under test, the
//! partner that generators are calibrated with, and a good server for the files of a folder.
//!
//! [`start()`] binds everything first, so that whatever can fail fails before the first request;
//! then each worker runs on its own thread with its own listeners. Start reading at `worker.rs`.

#![forbid(unsafe_code)]

mod answers;
mod conditional;
mod connection;
mod file;
mod head;
mod http3;
mod log;
mod media;
mod range;
mod route;
mod settings;
mod site;
mod start;
mod synthetic;
mod timeouts;
pub mod tls;
mod worker;

pub use settings::{Backend, LogTarget, Settings};
pub use start::{OriginError, Running, start};
pub use worker::Summary;

#[cfg(test)]
#[global_allocator]
static COUNTED: sys::allocations::Counting = sys::allocations::Counting;
