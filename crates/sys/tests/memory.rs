//! How much memory of this process a reactor takes, and how much of that each connection costs.

use sys::allocations::{Bytes, Counting};
use sys::reactor::{Reactor, Readiness, Settings, Uring};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What one more connection may cost, of the 1 KiB that the generator has for all of it.
const CONNECTION_BYTES: u64 = 256;
/// What a reactor takes for all connections together, receive buffers included.
const SHARED_BYTES: u64 = 16 << 20;

fn settings(connections: u32) -> Settings {
    Settings {
        connections,
        copies: 64,
        copy_bytes: 4_096,
    }
}

fn held<R: Reactor>(new: impl FnOnce() -> R) -> u64 {
    let before = Bytes::of_this_thread();
    let reactor = new();
    let held = Bytes::of_this_thread().held_since(&before);
    drop(reactor);
    held
}

fn check<R: Reactor>(name: &str, new: impl Fn(&Settings) -> R) {
    // From 2,048 connections on there are no more receive buffers.
    let few = held(|| new(&settings(2_500)));
    let many = held(|| new(&settings(10_000)));
    let each = (many - few) / 7_500;
    let shared = many - each * 10_000;
    assert!(
        each <= CONNECTION_BYTES && shared <= SHARED_BYTES,
        "{name}: {each} bytes per connection and {shared} for all"
    );
}

#[test]
fn a_connection_costs_little() {
    check("readiness", |settings| {
        Readiness::new(settings).expect("epoll is everywhere")
    });
    // Where io_uring is not permitted, or too few descriptors are, there is nothing to count.
    if Uring::new(&settings(10_000)).is_ok() {
        check("uring", |settings| {
            Uring::new(settings).expect("it just worked")
        });
    }
}
