//! How much memory an idle connection costs the generator, and how much each interval of a run: a
//! whole worker, its reactor and its timers included. All of it is allocated before the start
//! (`allocations` shows that nothing is allocated later), so that a worker that was built and never
//! run tells it.

#![allow(
    clippy::print_stderr,
    reason = "the figure is for whoever watches, and a bound alone does not tell it"
)]

use std::sync::Arc;

use load::expectation::Expectation;
use load::reference::Findings;
use load::settings;
use model::fixture;
use model::plan::{Arrivals, Plan, PlanFile, Stop};
use model::record::INTERVALS_MAX;
use model::units::{Rate, Span};
use sys::allocations::{Bytes, Counting};
use sys::reactor::{Reactor, Readiness, Settings, Uring};

#[global_allocator]
static COUNTING: Counting = Counting;

/// What one more idle connection may cost, in bytes.
const CONNECTION_BYTES: u64 = 1_024;
const MANY: u32 = 10_000;
/// From 2,048 connections on there are no more receive buffers, which idle connections share.
const FEW: u32 = 2_500;

/// What one more interval may cost, in bytes.
const INTERVAL_BYTES: u64 = 27 * 1_024;
/// What an open loop may have to hold for an arrival that waits, in bytes.
const ARRIVAL_BYTES: u64 = 8;
/// It has room for all arrivals that a run will have, up to so many, and for one more.
const ARRIVALS_MOST: u64 = 1 << 20;

/// The rate of an open loop, per second.
const RATE: u64 = 1_000;

/// A closed loop, and an open one.
const LOOPS: [(&str, Arrivals); 2] = [
    ("closed", Arrivals::Closed),
    (
        "open",
        Arrivals::Fixed {
            rate_per_1000_s: Rate::per_second(RATE),
        },
    ),
];

fn plan(connections: u32, arrivals: Arrivals, stop: Stop) -> Plan {
    let address = ([127, 0, 0, 1], 1).into();
    Plan::try_from(PlanFile {
        connections,
        arrivals,
        stop,
        ..fixture::plan("http://127.0.0.1:1/", &[address])
    })
    .expect("a plan that can run")
}

/// A run of so many intervals.
const fn seconds(count: u64) -> Stop {
    Stop::DurationNs(Span::from_s(count))
}

/// What a worker of `plan` holds, ready to run.
fn held<R: Reactor>(plan: &Plan, new: impl Fn(&Settings) -> R) -> u64 {
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
    let reactor = new(&settings(plan.file().connections));
    let worker = load::worker_of(plan, &findings, 0, reactor, progress, stop);
    let held = Bytes::of_this_thread().held_since(&before);
    drop(worker);
    held
}

/// What ten thousand connections take more than a quarter of them is what connections cost:
/// histograms, receive buffers and the like are the same for both.
fn check<R: Reactor>(name: &str, new: impl Fn(&Settings) -> R) {
    for (loops, arrivals) in LOOPS {
        let held = |connections| held(&plan(connections, arrivals, seconds(1)), &new);
        let few = held(FEW);
        let each = (held(MANY) - few) / u64::from(MANY - FEW);
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

#[test]
fn a_longer_run_costs_its_intervals_and_nothing_else() {
    let new = |room: &Settings| Readiness::new(room).expect("epoll is everywhere");
    let most = INTERVALS_MAX as u64;
    for (loops, arrivals) in LOOPS {
        let held = |stop| held(&plan(1, arrivals, stop), new);
        // But for the arrivals of an open loop, each of which may have to wait.
        let room = |count: u64| match arrivals {
            Arrivals::Closed => 0,
            _ => ARRIVAL_BYTES * (count + 1).min(ARRIVALS_MOST),
        };
        let of = |count: u64| held(seconds(count)) - room(count * RATE);
        let each = of(2) - of(1);
        eprintln!("{loops} loop: {each} bytes per interval");
        assert!(each <= INTERVAL_BYTES, "{loops} loop: {each} bytes");
        let bare = of(1) - each;
        let check = |stop, intervals: u64, count: u64| {
            let expected = bare + intervals * each + room(count);
            assert_eq!(held(stop), expected, "{loops} loop, {stop:?}");
        };
        for long in [3, 10, 60, most - 1, most] {
            check(seconds(long), long, long * RATE);
        }
        // When all intervals are in use, they become longer.
        for longer in [most + 1, 3_600, 86_400] {
            check(seconds(longer), most, longer * RATE);
        }
        // Nobody knows how long that will take.
        check(Stop::Count(1), most, 1);
    }
}
