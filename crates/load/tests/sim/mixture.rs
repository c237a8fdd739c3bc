//! A thousand seeds of kernels that are late, partial, short of room and unwilling, before servers
//! that answer, stall, close, break off, talk too much or refuse: each arrival ends in exactly one
//! outcome, what is counted twice agrees, and every run ends.

use std::process::Command;
use std::sync::atomic::Ordering;

use model::plan::{Arrivals, PlanFile, Spin, Stop};
use model::record::Record;
use model::request::RequestFile;
use model::units::{Rate, Span};
use sys::Errno;
use sys::reactor::sim::{Kernel, Reply, Service, SimServer, Then};

use crate::harness::{HELLO, MIXTURE, all, closed, ms, simulate_on};

/// A number below `bound` that depends on the seed and on what it is for.
fn pick(seed: u64, what: u64, bound: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what.wrapping_mul(0xd134_2543_de82_ef95);
    x = (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 29)) % bound
}

fn server(seed: u64) -> SimServer {
    let kind = pick(seed, 1, 8);
    let mut number = 0;
    let service = if pick(seed, 2, 2) == 0 {
        Service::Constant(Span::from_us(pick(seed, 3, 5_000)))
    } else {
        Service::Exponential(Span::from_us(pick(seed, 3, 5_000) + 1))
    };
    let server = SimServer::new(service, move |_| {
        number += 1;
        let odd = number % (pick(seed, 4, 20) + 2) == 0;
        let reply = Reply::new(HELLO);
        match kind {
            1 if odd => None,
            2 if odd => Some(reply.then(Then::Finish)),
            3 if odd => Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset)),
            4 if odd => Some(Reply::new(HELLO.repeat(2))),
            5 if odd => Some(Reply::new("HTTP/1.1 408 Bye\r\n\r\n").then(Then::Finish)),
            6 if odd => Some(Reply::new("garbage")),
            _ => Some(reply),
        }
    })
    .with_delay(Span::from_us(pick(seed, 5, 300)))
    .in_segments(
        1 + usize::try_from(pick(seed, 6, 90)).expect("small"),
        Span::from_us(pick(seed, 7, 3) * 50),
    )
    .seeded(seed);
    if kind == 7 {
        server.refusing(|_, number| (number % 3 == 0).then(|| Errno::new(111)))
    } else {
        server
    }
}

fn plan(seed: u64) -> PlanFile {
    let rate_per_1000_s = Rate::per_second(1 + pick(seed, 10, 20_000));
    let connections = 1 + u32::try_from(pick(seed, 12, 40)).expect("small");
    let upload = RequestFile {
        method: "POST".to_owned(),
        body_base64: Some("eHh4".repeat(200)),
        weight: 1,
        ..RequestFile::get("http://sim/upload")
    };
    let mut requests = vec![RequestFile::get("http://sim/")];
    if pick(seed, 13, 3) == 0 {
        requests.push(upload);
    }
    let arrivals = match pick(seed, 11, 3) {
        0 => Arrivals::Closed,
        1 => Arrivals::Fixed { rate_per_1000_s },
        _ => Arrivals::Poisson { rate_per_1000_s },
    };
    let is_open = arrivals != Arrivals::Closed;
    let by_count = pick(seed, 14, 4) == 0;
    PlanFile {
        requests,
        arrivals,
        deadline: (is_open && pick(seed, 24, 3) == 0).then(|| ms(1 + pick(seed, 25, 30))),
        stop: if by_count {
            Stop::Count(1 + pick(seed, 15, 400))
        } else {
            Stop::DurationNs(ms(20 + pick(seed, 15, 100)))
        },
        requests_most: (!by_count && pick(seed, 26, 4) == 0).then(|| 1 + pick(seed, 27, 400)),
        warmup: ms(pick(seed, 16, 2) * 15),
        requests_per_connection: (pick(seed, 17, 3) == 0)
            .then(|| 1 + u32::try_from(pick(seed, 18, 9)).expect("small")),
        pipeline: match pick(seed, 19, 3) {
            0 => 1 + u32::try_from(pick(seed, 20, 8)).expect("small"),
            _ => 1,
        },
        timeout: ms(5 + pick(seed, 21, 40)),
        spin: [Spin::Never, Spin::Auto, Spin::Always]
            [usize::try_from(pick(seed, 22, 3)).expect("small")],
        cpus: vec![0],
        interval: ms(1 + pick(seed, 23, 30)),
        seed,
        ..closed(connections, ms(1))
    }
}

#[track_caller]
fn check(seed: u64, record: &Record, plan: &PlanFile) {
    let all = all(record);
    let told = || {
        let mut plan = plan.clone();
        plan.requests.clear();
        format!("seed {seed}: {plan:?}\n{all:?}")
    };
    assert_eq!(all.due, all.outcomes.total(), "each ends once; {}", told());
    if let Some(count) = plan.count() {
        let least = match plan.stop {
            Stop::Count(count) => count,
            // The time may have ended it.
            Stop::DurationNs(_) => 0,
        };
        // What was under way when the warm-up ended counts, even if that is more.
        let most = count
            .max(u64::from(plan.connections * plan.pipeline) * u64::from(!plan.warmup.is_zero()));
        let ended = record.total.outcomes.total();
        assert!((least..=most).contains(&ended), "{}", told());
    }
    let counts = all.connections;
    assert_eq!(
        counts.established,
        counts.closed_by_client + counts.closed_by_server + counts.broken,
        "{}",
        told()
    );
    assert!(
        counts.asked >= counts.established + counts.failed,
        "{}",
        told()
    );
    // Requests that were handed in, and those whose connection went before their last byte.
    assert!(all.sent <= all.outcomes.total(), "{}", told());
    let worker = &record.workers[0];
    let window = record.window.as_ns() * u64::from(plan.connections * plan.pipeline);
    assert!(worker.outstanding_integral_ns <= window, "{}", told());
    let in_intervals: u64 = record
        .intervals
        .iter()
        .map(|one| one.tally.outcomes.total())
        .sum();
    assert_eq!(in_intervals, record.total.outcomes.total(), "{}", told());
}

/// What the server read is what the client says it sent, as far as it was not under way at the end.
#[track_caller]
fn run(seed: u64) {
    let plan = plan(seed);
    let server = server(seed);
    let seen = server.counts();
    let record = simulate_on(Kernel::mixture(seed), plan.clone(), server);
    check(seed, &record, &plan);
    let all = all(&record);
    assert!(
        seen.bytes.load(Ordering::Relaxed) <= all.bytes_sent.count(),
        "seed {seed}: the server read {:?}, {all:?}",
        seen.bytes
    );
    assert_eq!(
        seen.connections
            .load(Ordering::Relaxed)
            .min(all.connections.established),
        all.connections.established,
        "seed {seed}"
    );
}

#[test]
fn a_thousand_seeds_of_late_and_partial_kernels() {
    for seed in 0..1_000 {
        run(seed);
    }
}

/// All other tests of this suite, each under the mixtures of a seed. A test whose words hold
/// only where kernels never fail says so; what its workers record is examined under each of them.
/// `TRIATHLON_SIMULATED_KERNELS=1-1000` asks for other seeds, and for the slowest tests, too.
#[test]
fn the_whole_suite_under_mixtures() {
    let asked = std::env::var("TRIATHLON_SIMULATED_KERNELS").ok();
    let (first, last) = asked
        .as_deref()
        .unwrap_or("1-1")
        .split_once('-')
        .expect("FIRST-LAST");
    let number = |text: &str| text.parse::<u64>().expect("a seed is a number");
    // These run under mixtures of their own.
    let mut left_out = vec!["mixture", "on_any_kernel"];
    if asked.is_none() {
        left_out.push("overload");
    }
    let own = std::env::current_exe().expect("this program");
    for seed in number(first)..=number(last) {
        let skip = left_out.iter().flat_map(|name| ["--skip", name]);
        let mut suite = Command::new(&own);
        let output = suite.args(skip).env(MIXTURE, seed.to_string()).output();
        let output = output.expect("it starts again");
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "seed {seed}: {told}");
        assert!(!told.contains(" 0 passed"), "seed {seed}: {told}");
    }
}
