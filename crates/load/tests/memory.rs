//! How much memory an idle connection costs the generator: a whole worker, its reactor and its
//! timers included. All of it is allocated before the start (`allocations` shows that nothing is
//! allocated later), so that a worker that was built and never run tells it.

#![allow(
    clippy::print_stderr,
    reason = "the figure is for whoever watches, and a bound alone does not tell it"
)]

use std::sync::Arc;

use load::expectation::Expectation;
use load::reference::Findings;
use load::settings;
use model::fixture;
use model::plan::{Arrivals, Plan, PlanFile};
use model::units::Rate;
use sys::allocations::{Bytes, Counting};
use sys::reactor::{Reactor, Readiness, Settings, Uring};

#[global_allocator]
static COUNTING: Counting = Counting;

/// What one more idle connection may cost, in bytes.
const CONNECTION_BYTES: u64 = 1_024;
const MANY: u32 = 10_000;
/// From 2,048 connections on there are no more receive buffers, which idle connections share.
const FEW: u32 = 2_500;

fn plan(connections: u32, arrivals: Arrivals) -> Plan {
    let address = ([127, 0, 0, 1], 1).into();
    Plan::try_from(PlanFile {
        connections,
        arrivals,
        ..fixture::plan("http://127.0.0.1:1/", &[address])
    })
    .expect("a plan that can run")
}

/// What a worker with so many connections holds, ready to run.
fn held<R: Reactor>(connections: u32, arrivals: Arrivals, new: impl Fn(&Settings) -> R) -> u64 {
    let plan = plan(connections, arrivals);
    let findings = Findings {
        expectations: vec![Expectation {
            status: Some(200),
            length: Some(5),
            content: (*b"hello").into(),
            no_error: false,
            coding: None,
            plain: None,
        }],
        references: vec![None],
        targets: vec![plan.file().addresses.clone()],
        tally: model::record::Tally::default(),
        notes: Vec::new(),
    };
    let (progress, stop) = (Arc::default(), Arc::default());
    let before = Bytes::of_this_thread();
    let reactor = new(&settings(connections));
    let worker = load::worker_of(&plan, &findings, 0, reactor, progress, stop);
    let held = Bytes::of_this_thread().held_since(&before);
    drop(worker);
    held
}

/// What ten thousand connections take more than a quarter of them is what connections cost:
/// histograms, receive buffers and the like are the same for both.
fn check<R: Reactor>(name: &str, new: impl Fn(&Settings) -> R) {
    let open = Arrivals::Fixed {
        rate_per_1000_s: Rate::per_second(1_000),
    };
    for (loops, arrivals) in [("closed", Arrivals::Closed), ("open", open)] {
        let few = held(FEW, arrivals, &new);
        let each = (held(MANY, arrivals, &new) - few) / u64::from(MANY - FEW);
        let shared = few - each * u64::from(FEW);
        eprintln!("{name}, {loops} loop: {each} bytes per connection, {shared} for all of them");
        assert!(
            each <= CONNECTION_BYTES,
            "{name}, {loops} loop: {each} bytes per connection"
        );
    }
}

#[test]
fn an_idle_connection_costs_little_by_readiness() {
    check("readiness", |room| {
        Readiness::new(room).expect("epoll is everywhere")
    });
}

#[test]
fn an_idle_connection_costs_little_by_io_uring() {
    // Where io_uring is not permitted, or too few descriptors are, there is nothing to count.
    match Uring::new(&settings(MANY)) {
        Ok(_) => check("io_uring", |room| Uring::new(room).expect("it just worked")),
        Err(error) => eprintln!("not counted with io_uring: {error}"),
    }
}
