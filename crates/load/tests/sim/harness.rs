//! A plan, a server of known behaviour, and the real worker between them, on a virtual clock.

use std::cell::Cell;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use load::reference::Findings;
use load::settings;
use model::fixture;
use model::plan::{Arrivals, Plan, PlanFile, Stop};
use model::record::{Record, Tally};
use model::units::{Instant, Rate, Span};
use sys::reactor::sim::{Kernel, Reply, Service, Sim, SimServer};
use sys::reactor::{Reactor as _, Settings};

/// The variable of the environment that holds the seed of a mixture of kernels.
pub(crate) const MIXTURE: &str = "TRIATHLON_SIMULATED_KERNEL";

/// A right answer.
pub(crate) const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

pub(crate) const fn s(s: u64) -> Span {
    Span::from_s(s)
}

pub(crate) const fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

/// So long after the virtual clock's start, which is where runs without warm-up begin.
pub(crate) fn at(span: Span) -> Instant {
    Instant::ZERO + s(1) + span
}

pub(crate) fn closed(connections: u32, duration: Span) -> PlanFile {
    PlanFile {
        stop: Stop::DurationNs(duration),
        connections,
        ..fixture::plan("http://sim/", &[([127, 0, 0, 1], 80).into()])
    }
}

pub(crate) fn count(connections: u32, count: u64) -> PlanFile {
    PlanFile {
        stop: Stop::Count(count),
        ..closed(connections, s(1))
    }
}

pub(crate) fn open(connections: u32, rate: u64, duration: Span) -> PlanFile {
    PlanFile {
        arrivals: Arrivals::Fixed {
            rate_per_1000_s: Rate::per_second(rate),
        },
        ..closed(connections, duration)
    }
}

/// A server that says hello to any number at once, after `service`.
pub(crate) fn hello(service: Service) -> SimServer {
    SimServer::new(service, |_| Some(Reply::new(HELLO)))
}

/// One that gives each request, numbered from 0, what `answer` says.
pub(crate) fn numbered(mut answer: impl FnMut(u64) -> Option<Reply> + Send + 'static) -> SimServer {
    let mut number = 0;
    SimServer::new(Service::Constant(ms(1)), move |_| {
        number += 1;
        answer(number - 1)
    })
}

/// One that answers every request with `bytes`.
pub(crate) fn answering(bytes: &str) -> SimServer {
    let bytes = bytes.to_owned();
    numbered(move |_| Some(Reply::new(bytes.clone())))
}

/// What a right answer is: hello.
pub(crate) fn right() -> load::expectation::Expectation {
    load::expectation::Expectation {
        status: Some(200),
        length: Some(5),
        content: (*b"hello").into(),
        ..load::expectation::Expectation::default()
    }
}

/// Hello is what each request expects.
pub(crate) fn findings(file: &PlanFile) -> Findings {
    Findings {
        expectations: vec![right(); file.requests.len()],
        references: vec![None; file.requests.len()],
        targets: targets(file),
        tally: Tally::default(),
        notes: Vec::new(),
    }
}

/// The addresses of its servers: where the plan gives none, each has one of its own.
fn targets(file: &PlanFile) -> Vec<Vec<SocketAddr>> {
    if !file.addresses.is_empty() {
        return vec![file.addresses.clone()];
    }
    let plan = Plan::try_from(file.clone()).expect("a plan that can run");
    let hosts = (1..).zip(plan.hosts());
    hosts
        .map(|(number, _)| vec![([127, 0, 0, number], 80).into()])
        .collect()
}

/// Runs all workers of the plan, one after the other, each against a server of its own.
pub(crate) fn simulate_all(file: PlanFile, server: impl Fn() -> SimServer) -> Record {
    let workers = file.workers;
    let mut record = Record::default();
    for index in 0..workers {
        record.merge(run(
            file.clone(),
            index,
            server(),
            Span::ZERO,
            &Arc::default(),
        ));
    }
    record
}

pub(crate) fn simulate(file: PlanFile, server: SimServer) -> Record {
    run(file, 0, server, Span::ZERO, &Arc::default())
}

/// Each call that does work costs the generator `call_cost`.
pub(crate) fn simulate_slowed(file: PlanFile, server: SimServer, call_cost: Span) -> Record {
    run(file, 0, server, call_cost, &Arc::default())
}

pub(crate) fn run(
    file: PlanFile,
    index: u32,
    server: SimServer,
    call_cost: Span,
    stop: &Arc<AtomicBool>,
) -> Record {
    run_on(file, index, stop, |settings| {
        Sim::new(server, settings)
            .slowed(call_cost)
            .with_kernel(kernel())
    })
}

/// On a kernel that does what real ones do.
pub(crate) fn simulate_on(kernel: Kernel, file: PlanFile, server: SimServer) -> Record {
    run_on(file, 0, &Arc::default(), |settings| {
        Sim::new(server, settings).with_kernel(kernel)
    })
}

fn run_on(
    file: PlanFile,
    index: u32,
    stop: &Arc<AtomicBool>,
    network: impl FnOnce(&Settings) -> Sim,
) -> Record {
    let findings = findings(&file);
    let plan = Plan::try_from(file).expect("a plan that can run");
    let sim = network(&settings(plan.connections_of(index)));
    let start = sim.now();
    let stop = Arc::clone(stop);
    audited(|| load::worker_of(&plan, &findings, index, sim, Arc::default(), stop).run(start))
}

/// Where these are the right answers.
pub(crate) fn simulate_with(file: PlanFile, findings: &Findings, server: SimServer) -> Record {
    let plan = Plan::try_from(file).expect("a plan that can run");
    let sim = Sim::new(server, &settings(plan.connections_of(0))).with_kernel(kernel());
    let start = sim.now();
    let (told, stop) = (Arc::default(), Arc::default());
    audited(|| load::worker_of(&plan, findings, 0, sim, told, stop).run(start))
}

/// The kernel below the network: one that never fails, or the mixture that whoever started these
/// tests asked for.
pub(crate) fn kernel() -> Kernel {
    mixture().map_or_else(Kernel::default, Kernel::mixture)
}

/// The seed of the mixture under which the suite runs, if it runs under one.
fn mixture() -> Option<u64> {
    let seed = std::env::var(MIXTURE).ok()?;
    Some(seed.parse().expect("the seed of a mixture is a number"))
}

thread_local! {
    /// Whether a worker of this thread is at work, or its record is not looked through yet.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Runs a worker and holds its record against what is true on every kernel.
pub(crate) fn audited(run: impl FnOnce() -> Record) -> Record {
    AT_WORK.set(true);
    let record = run();
    audit(&record);
    AT_WORK.set(false);
    record
}

/// Each arrival has ended once, each connection that was made has ended once, and what is counted
/// twice agrees.
#[track_caller]
fn audit(record: &Record) {
    let all = all(record);
    assert_eq!(all.due, all.outcomes.total(), "each ends once: {all:?}");
    let counts = all.connections;
    let ended = counts.closed_by_client + counts.closed_by_server + counts.broken;
    assert_eq!(counts.established, ended, "{counts:?}");
    assert!(
        counts.asked >= counts.established + counts.failed,
        "{counts:?}"
    );
    let of_intervals = record
        .intervals
        .iter()
        .map(|one| one.tally.outcomes.total());
    assert_eq!(of_intervals.sum::<u64>(), record.total.outcomes.total());
}

/// The body of a test that says what comes out where the kernel never fails and is never late. On
/// any other kernel its own words need not hold; that the worker ends and that its record adds up
/// must hold there, too.
pub(crate) fn where_kernels_never_fail(test: impl FnOnce()) {
    if mixture().is_none() {
        return test();
    }
    if let Err(panic) = catch_unwind(AssertUnwindSafe(test))
        && AT_WORK.get()
    {
        resume_unwind(panic);
    }
}

/// All phases together.
pub(crate) fn all(record: &Record) -> Tally {
    let mut tally = record.total;
    tally.merge(&record.warmup_phase);
    tally.merge(&record.drain_phase);
    tally
}
