//! What wrk tells the `done` of a script, from a trial of ours.

use std::collections::BTreeMap;

use model::{Outcome, Span, Trial};

use super::figures::{Figures, number, whole};
use super::spread::Spread;
use crate::lua::{Finished, Statistics};

/// What a script is told of the trial, in wrk's units: microseconds, and requests per second of a
/// thread.
pub(crate) fn finished(trial: &Trial) -> Finished {
    let figures = Figures::new(trial);
    Finished {
        duration_us: trial.record.window.as_ns() / 1_000,
        requests: figures.complete(),
        bytes: figures.received(),
        errors: [
            ("connect", figures.connect()),
            ("read", figures.read()),
            ("write", figures.of(Outcome::Write)),
            ("status", figures.wrong()),
            ("timeout", figures.of(Outcome::Timeout)),
        ],
        latency: latency(trial),
        rates: rates(trial),
    }
}

fn latency(trial: &Trial) -> Statistics {
    let times = super::wrk::latencies(trial);
    let mut values: Vec<(u64, u64)> = Vec::new();
    for (lowest, width, count) in times.buckets() {
        let us = (lowest + width / 2).as_ns() / 1_000;
        match values.last_mut() {
            Some((last, seen)) if *last == us => *seen += count,
            _ => values.push((us, count)),
        }
    }
    let spread = Spread::of(times);
    Statistics {
        values,
        mean: spread.mean,
        deviation: spread.deviation,
    }
}

fn rates(trial: &Trial) -> Statistics {
    let threads = f64::from(trial.plan.workers.max(1));
    let intervals = trial.record.intervals.iter();
    let rates: Vec<u64> = intervals
        .filter(|interval| interval.length > Span::ZERO)
        .map(|interval| {
            let right = number(interval.tally.right_in_it());
            whole(right / interval.length.as_s_f64() / threads)
        })
        .collect();
    let mut values: BTreeMap<u64, u64> = BTreeMap::new();
    for rate in &rates {
        *values.entry(*rate).or_default() += 1;
    }
    let rates: Vec<f64> = rates.into_iter().map(number).collect();
    let spread = Spread::of_numbers(&rates);
    Statistics {
        values: values.into_iter().collect(),
        mean: spread.mean,
        deviation: spread.deviation,
    }
}
