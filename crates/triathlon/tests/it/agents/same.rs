//! The same plan made by one process and by two agents: the same arrivals, and answers that took as
//! long.

use std::collections::BTreeSet;
use std::fs;

use model::distribution::Shape;
use model::finding::{Finding, Severity};
use model::record::Sample;
use model::{Distribution, Random, Record, Span, Trial};

use super::nats::{Nats, agent, load_by};
use super::shares_add_up;
use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, load};

/// Four workers, 1,200 arrivals at random instants, a source address for each connection, and every
/// exchange kept.
const PLAN: &str = "-t 4 -c 8 -R 600 --poisson --seed 7 -d 2s --warmup 0s --spin never \
                    --interface 127.0.1.1-127.0.1.8";

/// On a machine that others use too, response times of two runs differ by less than this.
const LEAST: Span = Span::from_ms(5);
/// Some of them may be disturbed.
const TRIES: usize = 5;

/// What came of the plan once.
struct Made {
    trial: Trial,
    /// When the exchanges of each worker were due in the window, in nanoseconds. Samples come in
    /// the order in which exchanges ended, which is that of the machine.
    due: BTreeSet<(u32, i64)>,
}

impl Made {
    /// Runs the plan, which `run` does with the flags that it is given, and holds its counts
    /// against the server's.
    fn by(nginx: &std::path::Path, run: impl FnOnce(&str, &str) -> Run) -> Self {
        let nginx = Nginx::start(nginx, &[("file", b"seven!\n")]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("samples");
        let flags = format!("{PLAN} --samples {}", path.display());
        let run = run(&nginx.url("file"), &flags).expect_measured();
        let trial = run.trial();
        let record = &trial.record;
        let sent = record.reference_phase.sent + record.total.sent + record.drain_phase.sent;
        assert_eq!(nginx.quit().len() as u64, sent, "{run:#?}");
        let samples = fs::read_to_string(&path).expect("samples are written");
        let samples = samples.lines().map(|line| {
            let sample: Sample = serde_json::from_str(line).expect("a line is a sample");
            (sample.worker, sample.due_ns)
        });
        let due: BTreeSet<_> = samples.collect();
        let never_sent = trial.record.total.due - trial.record.total.sent;
        let told = due.len() as u64 + never_sent;
        assert!(told >= trial.record.total.due, "each once: {run:#?}");
        Self { trial, due }
    }

    /// Whether every arrival was sent: those that a machine without a CPU for them left waiting at
    /// the end are counted, and not told one by one.
    fn is_whole(&self) -> bool {
        self.due.len() as u64 == self.trial.record.total.due
    }

    /// Whether others had so much of the CPUs that response times are theirs. To each of two agents
    /// of one machine the other is one of them, which a rule may doubt and does not forbid.
    fn is_disturbed(&self) -> bool {
        let mut found = self.trial.verdict.findings.iter();
        let of_others = ["GEN-07", "CPU-01", "CPU-08"];
        let forbids = |one: &Finding| {
            of_others.contains(&one.rule.as_str()) && one.worst() == Severity::Invalid
        };
        !self.is_whole() || self.trial.void.is_some() || found.any(forbids)
    }

    /// Which of the plan's sources were used, by each of those who have a record of their own.
    fn sources(&self) -> Vec<BTreeSet<usize>> {
        let used = |record: &Record| {
            let each = record.connections_from.iter().enumerate();
            each.filter(|(_, connections)| **connections > 0)
                .map(|(position, _)| position)
                .collect()
        };
        let shares = self.trial.agents.iter().map(|share| used(&share.record));
        std::iter::once(used(&self.trial.record))
            .chain(shares)
            .collect()
    }

    fn of_workers(&self) -> Vec<(u32, u32)> {
        let workers = self.trial.record.workers.iter();
        workers
            .map(|worker| (worker.index, worker.connections))
            .collect()
    }
}

/// Arrivals follow from the plan, the seed and the position of a worker among all of them, wherever
/// it runs. How long answers took is compared loosely, and only where nobody else had the CPUs:
/// these are two runs on a machine that others use too.
#[test]
fn two_agents_make_the_load_of_one_process() {
    let name = "two_agents_make_the_load_of_one_process";
    let Some([nats, nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let _agents = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.1/32"));
    let by_one = || Made::by(&nginx, load);
    let by_two = || {
        Made::by(&nginx, |url, flags| {
            let flags = format!("{flags} --agents a,b --json -");
            load_by(url, &nats.url(), &flags)
        })
    };
    let mut were_compared = false;
    let is_alike = (0..TRIES).any(|_| {
        let (one, two) = (by_one(), by_two());
        shares_add_up(&two.trial);
        // The schedule is the same to the nanosecond: together they have no arrival that is not in
        // it.
        let together = one.due.union(&two.due).count() as u64;
        assert_eq!(two.trial.record.total.due, one.trial.record.total.due);
        assert!(together <= one.trial.record.total.due, "{together}");
        assert_eq!(two.of_workers(), one.of_workers());
        if one.is_disturbed() || two.is_disturbed() {
            return false;
        }
        let (all, agents) = (one.sources(), two.sources());
        assert_eq!(agents[0], all[0], "the same sources");
        let told = format!("{agents:?}");
        assert_eq!((all[0].len(), agents.len()), (8, 3), "{told}");
        assert!(agents[1].is_disjoint(&agents[2]), "none is of two: {told}");
        let (one, two) = (&one.trial.record, &two.trial.record);
        were_compared = true;
        !are_told_apart(&one.response_time, &two.response_time, LEAST)
    });
    assert!(
        is_alike || !were_compared,
        "in each of the pairs that nobody disturbed, response times differ"
    );
}

/// Whether the Kolmogorov-Smirnov test of two samples, at the level 0.001, says that one of these
/// is larger than the other by more than `least`.
fn are_told_apart(one: &Distribution, other: &Distribution, least: Span) -> bool {
    // The square root of -ln(0.001 / 2) / 2.
    const CRITICAL: f64 = 1.949;
    let (n, m) = (one.count() as f64, other.count() as f64);
    let bound = CRITICAL * ((n + m) / (n * m)).sqrt();
    let is_smaller = |small: &Distribution, large: &Distribution| {
        let up_to = |of: &Distribution, at| 1.0 - of.count_above(at) as f64 / of.count() as f64;
        small.buckets().any(|(lowest, width, _)| {
            let highest = (lowest + width).saturating_sub(Span::from_ns(1));
            up_to(small, highest) - up_to(large, highest + least) > bound
        })
    };
    is_smaller(one, other) || is_smaller(other, one)
}

#[test]
fn the_test_tells_apart_what_differs() {
    let mut random = Random::new(11);
    let mut sample = |most_us: u64, shift: Span| {
        let mut distribution = Distribution::new(Shape::TOTAL);
        for _ in 0..1_200 {
            let value = Span::from_ns(random.next_u64() % (most_us * 1_000));
            distribution.record(value + shift);
        }
        distribution
    };
    let plain = sample(600, Span::ZERO);
    let check = |other: &Distribution, least: Span, expected: bool| {
        assert_eq!(are_told_apart(&plain, other, least), expected);
        assert_eq!(are_told_apart(other, &plain, least), expected);
    };
    check(&sample(600, Span::ZERO), Span::ZERO, false);
    check(&sample(900, Span::ZERO), Span::ZERO, true);
    check(&sample(900, Span::ZERO), LEAST, false);
    check(&sample(600, Span::from_ms(4)), LEAST, false);
    check(&sample(600, Span::from_ms(4)), Span::ZERO, true);
    check(&sample(600, Span::from_ms(6)), LEAST, true);
}
