//! The kernel, made safe: sockets, one event loop with several backends, clocks, CPUs.
//!
//! This is the only crate of the workspace with `unsafe` in it. It knows nothing of HTTP and keeps
//! no statistics beyond what it did itself.

#![allow(
    unsafe_code,
    reason = "the only crate that talks to the kernel; each block says why it is sound"
)]

pub mod allocations;
mod buffer;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod datagram;
mod errno;
pub mod file;
pub mod hiccup;
pub mod link;
pub mod namespace;
mod netlink;
pub mod process;
pub mod reactor;
pub mod signal;
pub mod slots;
pub mod socket;
pub mod syscall;
#[cfg(test)]
mod testing;
mod timer;

pub use errno::Errno;
