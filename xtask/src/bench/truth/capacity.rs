//! The capacity that a search finds, against one that follows from a server's clock.

use anyhow::Result;

use super::known::{self, Known};
use super::{queue, task};
use crate::bench::Setting;
use crate::bench::generator::{number_after, trial_of};

/// What the server that gives one answer after the other gives per second.
const PACE: f64 = 2_000.0;
/// The longest that 99 % of the answers may take, in seconds.
const LIMIT: f64 = 0.01;
/// How long a trial of a search lasts in seconds: as long as by default, or as in a quick run.
const TRIALS: [u32; 2] = [20, 4];

pub(in crate::bench) fn capacity(setting: &Setting) -> Result<()> {
    let program = known::compile(&setting.site)?;
    let seconds = TRIALS[usize::from(setting.seconds == 1)];
    println!(
        "  p(99) < 10 ms, from a server that gives {PACE:.0} answers/s one after the other; trials \
         of {seconds} s"
    );
    println!("  {:<28} {:>9} {:>20}", "arrivals", "computed", "found");
    let even = (
        PACE * (1.0 + (LIMIT - 1.0 / PACE) / (0.99 * f64::from(seconds))),
        "evenly",
    );
    let poisson = (queue::highest_rate(PACE, LIMIT, 0.99), "Poisson");
    for (computed, name) in [even, poisson] {
        let pace = format!("{PACE:.0}");
        let server = Known::start(&program, setting.server_cpu, 0, &["paced".to_owned(), pace])?;
        let task = task(setting, &server, 200, seconds);
        let poisson = (name == "Poisson").then_some("--poisson");
        let mut more = vec!["--capacity", "p(99)<10ms"];
        more.extend(poisson);
        let cpus = ["--cpus", &task.cpu.to_string()];
        let found = trial_of(&setting.programs, &task, &cpus, &more)?;
        let rate = |key: &str| number_after(&found, &["\"answer\"", key]).map(|rate| rate / 1e3);
        let bounds = (rate("\"lower_per_1000_s\":"), rate("\"upper_per_1000_s\":"));
        let (Some(lower), Some(upper)) = bounds else {
            println!("  {name:<28} {computed:>9.0} no interval: {found}");
            continue;
        };
        let off = (f64::midpoint(lower, upper) / computed - 1.0) * 100.0;
        let found = format!("{lower:.0} to {upper:.0}");
        let met = if off.abs() <= 2.0 { "met" } else { "NOT met" };
        println!("  {name:<28} {computed:>9.0} {found:>20}  {off:+.2} %, at most 2 %: {met}");
    }
    Ok(())
}
