//! What an exchange costs in instructions: the same on every run of the same binary, where times
//! are not. A change of one per cent is a change of the program.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::programs::bare_programs;
use crate::command::output;
use crate::packages::find;

/// Exchanges of the shorter run and of the longer one: their difference has no start and no end.
const COUNTS: [u64; 2] = [2_000, 6_000];

/// Counts every scenario.
pub(crate) fn run() -> Result<()> {
    let Some(valgrind) = find("valgrind") else {
        bail!("instructions are counted by valgrind (apt-get install valgrind)");
    };
    let programs = bare_programs("load")?;
    let (_, program) = programs
        .iter()
        .find(|(name, _)| name == "instructions")
        .context("the scenarios were not built")?;
    let scenarios = output(&mut Command::new(program)).context("it tells no scenarios")?;
    println!("instructions per exchange, head and tail of the run taken away");
    for scenario in scenarios.lines() {
        let [shorter, longer] = COUNTS.map(|count| count_run(&valgrind, program, scenario, count));
        let exchanges = COUNTS[1] - COUNTS[0];
        println!("  {scenario:<44} {:>8}", (longer? - shorter?) / exchanges);
    }
    Ok(())
}

fn count_run(valgrind: &Path, program: &Path, scenario: &str, count: u64) -> Result<u64> {
    let result = Command::new(valgrind)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--scenario", scenario, "--count", &count.to_string()])
        .stdin(Stdio::null())
        .output()
        .context("cannot start valgrind")?;
    let text = String::from_utf8_lossy(&result.stderr);
    if !result.status.success() {
        bail!("'{scenario}' failed:\n{text}");
    }
    collected(&text).with_context(|| format!("valgrind told no count:\n{text}"))
}

/// The number in Valgrind's line `==1== Collected : 123`.
fn collected(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("Collected : ")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        let text = "==7== Events    : Ir\n==7== Collected : 21262979\n==7==\n";
        assert_eq!(collected(text), Some(21_262_979));
        assert_eq!(collected("==7== Events"), None);
    }
}
