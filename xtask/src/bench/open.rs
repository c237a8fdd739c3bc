//! The response time in open loop with each way to wait, against a client that only spins.

use anyhow::Result;

use super::generator::{Ask, Reading, run_bare, run_triathlon};
use super::server::Server;
use super::statistics::summary;
use super::{NULL_RESPONDER, Setting};

/// At `rate` per second, with each `--spin`.
pub(super) fn open(setting: &Setting, rate: u32) -> Result<()> {
    let server = Server::origin(&setting.programs, &setting.site, setting.server_cpu, None)?;
    let rate = rate.to_string();
    let kinds = [
        ("always", "uring"),
        ("auto", "uring"),
        ("never", "uring"),
        ("always", "readiness"),
        ("never", "readiness"),
    ];
    let mut bare = Vec::new();
    let mut ours: Vec<Vec<Reading>> = vec![Vec::new(); kinds.len()];
    for _ in 0..setting.rounds {
        let ask = Ask {
            connections: 32,
            ..Ask::of(NULL_RESPONDER)
        };
        let task = setting.task(&server, ask);
        let programs = &setting.programs;
        bare.push(run_bare(programs, "bare_spin", &task, &["--rate", &rate])?);
        for ((spin, backend), readings) in kinds.iter().zip(&mut ours) {
            let more = ["-R", &rate, "--spin", spin, "--backend", backend];
            readings.push(run_triathlon(programs, &task, &more)?);
        }
    }
    println!(
        "  {:<28} {:>9} {:>22} {:>7} {:>9} {:>9} {:>6}",
        "", "median us", "ratio [interval]", "worst", "late p99", "worst", "busy"
    );
    print_open("bare spinning client", &bare, &bare);
    for ((spin, backend), readings) in kinds.iter().zip(&ours) {
        print_open(&format!("--spin {spin}, {backend}"), readings, &bare);
    }
    Ok(())
}

fn print_open(name: &str, readings: &[Reading], bare: &[Reading]) {
    let ratios: Vec<f64> = readings
        .iter()
        .zip(bare)
        .map(|(ours, theirs)| ours.median_us / theirs.median_us)
        .collect();
    let of =
        |value: fn(&Reading) -> f64| summary(&readings.iter().map(value).collect::<Vec<f64>>());
    let (Some(median), Some(ratio), Some(late), Some(busy)) = (
        of(|r| r.median_us),
        summary(&ratios),
        of(|r| r.late_us),
        of(|r| r.busy),
    ) else {
        return;
    };
    let interval = format!("{:.2} [{:.2}, {:.2}]", ratio.median, ratio.low, ratio.high);
    println!(
        "  {name:<28} {:>9.1} {interval:>22} {:>7.2} {:>9.2} {:>9.2} {:>5.0}%",
        median.median,
        ratio.most,
        late.median,
        late.most,
        busy.median * 100.0
    );
}
