//! Ten minutes at full rate: whether memory stays as it is, and counters agree with the server's.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::known::{self, Known};
use super::{Setting, task};
use crate::bench::generator::{number_after, trial_command};

/// How often memory is read.
const LOOK: Duration = Duration::from_secs(2);
/// What is allocated on first use has been by then.
const SETTLED: f64 = 20.0;

pub(in crate::bench) fn soak(setting: &Setting) -> Result<()> {
    let program = known::compile(&setting.site)?;
    let law = ["constant", "0"].map(str::to_owned);
    let server = Known::start(&program, setting.server_cpu, 0, &law)?;
    // A minute of a quick run, else ten.
    let seconds = if setting.seconds == 1 { 60 } else { 600 };
    let task = task(setting, &server, 64, seconds);
    let file = setting.site.join("soak.json");
    let cpus = ["--cpus", &task.cpu.to_string()];
    let mut command = trial_command(&setting.programs, &task, &cpus, &[]);
    command.arg("--json").arg(&file);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let sizes = watch(&mut child)?;
    let trial = fs::read_to_string(&file).context("triathlon load wrote no trial")?;
    let record = &trial[trial.find("\"record\"").context("no record")?..];
    let phases = ["total", "reference_phase", "warmup_phase", "drain_phase"];
    let right = phases.map(|phase| {
        let key = format!("\"{phase}\":");
        number_after(record, &[&key, "\"ok\":"]).unwrap_or(0.0)
    });
    let right: f64 = right.iter().sum();
    let answered = server.noted()?.answered;
    println!("  right answers of all phases {right:.0}, answers of the server {answered}");
    // At the end the record is put together, which takes memory of its own.
    let window = SETTLED..f64::from(seconds);
    let in_window = sizes.into_iter().filter(|(at, _)| window.contains(at));
    let settled: Vec<(f64, f64)> = in_window.collect();
    if let (Some((_, first)), Some((_, last))) = (settled.first(), settled.last()) {
        let growth = slope(&settled) * 60.0;
        println!("  resident memory {first:.0} KiB after {SETTLED} s, {last:.0} KiB at its end");
        println!("  {growth:+.1} KiB per minute between");
    }
    Ok(())
}

/// The resident memory of `child` in KiB and when it was read in seconds, until it ends.
fn watch(child: &mut Child) -> Result<Vec<(f64, f64)>> {
    let status = format!("/proc/{}/status", child.id());
    let start = Instant::now();
    let mut sizes = Vec::new();
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        if let Some(size) = number_after(&text, &["VmRSS:"]) {
            sizes.push((start.elapsed().as_secs_f64(), size));
        }
        std::thread::sleep(LOOK);
    }
    Ok(sizes)
}

/// How much the second number grows with the first: least squares.
#[expect(clippy::cast_precision_loss, reason = "some hundred readings")]
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|one| one.0), mean(|one| one.1));
    let together: f64 = points.iter().map(|one| (one.0 - x) * (one.1 - y)).sum();
    let alone: f64 = points.iter().map(|one| (one.0 - x).powi(2)).sum();
    together / alone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        let points: Vec<(f64, f64)> = (0..10).map(f64::from).map(|x| (x, 3.0 - 2.0 * x)).collect();
        assert!((slope(&points) + 2.0).abs() < 1e-12);
    }
}
