//! How far a server's own limit, as rule SRV-11 estimates it, is from the limit that was measured.
//!
//! Give it results of one server: a closed loop, where the server is the limit, and open loops of
//! the same workloads below that rate. For each of them it prints rate ÷ busy share, divided by the
//! rate of the closed loop.
//!
//! `cargo run -p lab --example limit-error results/own-limit/*`

#![expect(clippy::print_stdout, reason = "a program that prints its result")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use lab::store::Store;
use verdict::limit::server_busy_share;
use verdict::summary::median;

/// A server and what it was asked for.
type Cell = (String, String);

/// What a trial in open loop says.
struct Below {
    intended: u64,
    rate: f64,
    busy: f64,
}

fn main() -> Result<(), lab::LabError> {
    let mut limits: BTreeMap<Cell, Vec<(f64, f64)>> = BTreeMap::new();
    let mut below: BTreeMap<Cell, Vec<Below>> = BTreeMap::new();
    for folder in std::env::args().skip(1).map(PathBuf::from) {
        let (store, _) = Store::open(&folder)?;
        for trial in store.trials() {
            let trial = trial?;
            let point = trial.point.as_ref().filter(|point| !point.ceiling);
            let (Some(point), Some(busy)) = (point, server_busy_share(&trial)) else {
                continue;
            };
            if trial.void.is_some() {
                continue;
            }
            let cell = (point.id.server.clone(), point.id.workload.clone());
            let rate = trial.record.achieved_rate;
            match trial.plan.arrivals.rate() {
                None => limits.entry(cell).or_default().push((rate, busy)),
                Some(intended) => below.entry(cell).or_default().push(Below {
                    intended: intended.as_per_1000_s(),
                    rate,
                    busy,
                }),
            }
        }
    }
    for (cell, loads) in below {
        let (server, workload) = &cell;
        let Some(closed) = limits.get(&cell) else {
            println!("{server}, {workload}: no closed loop among the results");
            continue;
        };
        let limit = middle(closed.iter().map(|(rate, _)| *rate));
        let busy = middle(closed.iter().map(|(_, busy)| *busy));
        println!("{server}, {workload}: limit {limit:.0}/s, server {busy:.3} busy there");
        let mut of_rate: BTreeMap<u64, Vec<Below>> = BTreeMap::new();
        for load in loads {
            of_rate.entry(load.intended).or_default().push(load);
        }
        for loads in of_rate.values() {
            let load = middle(loads.iter().map(|load| load.rate)) / limit;
            let busy = middle(loads.iter().map(|load| load.busy));
            let ratio = middle(loads.iter().map(|load| load.rate / load.busy / limit));
            println!("  load {load:.2}, busy {busy:.3}: estimate / limit {ratio:.3}");
        }
    }
    Ok(())
}

fn middle(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    median(&numbers).unwrap_or(f64::NAN)
}
