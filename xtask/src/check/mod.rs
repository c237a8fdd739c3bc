//! `cargo xtask check`: all that needs nothing but Rust, in the order in which it fails fastest.

use std::process::{Command, Output, Stdio};
use std::thread;

use anyhow::{Context as _, Result, bail};

use crate::command::{cargo, print_times, step, watch};
use crate::tidy;

/// What every step compiles with, so that none compiles what another has compiled already.
pub(crate) const PROFILE: &str = "--profile=suite";

/// How many tests did what.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
    /// Tests marked to be ignored: there are none, and tidy keeps it so.
    pub(crate) ignored: u64,
}

impl Counts {
    /// Adds what another step counted.
    pub(crate) const fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    /// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; ...`, as the test harness prints it.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else {
            return;
        };
        for part in rest.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(count), Some(what)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(count) = count.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }
}

/// Runs it.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let counts = all()?;
    print_times();
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.failed > 0 {
        bail!("{} tests failed", counts.failed);
    }
    Ok(())
}

/// All of it, in one order.
fn all() -> Result<Counts> {
    build()?;
    run_tests(&|_| {})
}

/// Formatting, the house rules, lints, docs; then the tests of all rooms are compiled, and none
/// runs.
pub(crate) fn build() -> Result<()> {
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    let fuzz = ["fmt", "--manifest-path=fuzz/Cargo.toml", "--check"];
    step("format of the fuzz targets", &mut cargo(&fuzz))?;
    tidy::run(&[])?;
    let lints = [
        "clippy",
        PROFILE,
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-Dwarnings",
    ];
    step("lints", &mut cargo(&lints))?;
    let docs = [
        "doc",
        PROFILE,
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--quiet",
    ];
    step("docs", cargo(&docs).env("RUSTDOCFLAGS", "-Dwarnings"))?;
    let compile = [
        "test",
        PROFILE,
        "--workspace",
        "--exclude=triathlon",
        "--no-run",
        "--quiet",
    ];
    step("tests of the rooms compiled", &mut cargo(&compile))
}

/// Runs every test that needs no other program, with `prepare` told of each command before it
/// starts. Meanwhile the door is compiled, with its end-to-end tests: tests often leave a CPU idle.
pub(crate) fn run_tests(prepare: &dyn Fn(&mut Command)) -> Result<Counts> {
    let mut counts = Counts::default();
    let rooms = [
        "test",
        PROFILE,
        "--workspace",
        "--exclude=triathlon",
        "--no-fail-fast",
    ];
    let door = [
        "test",
        PROFILE,
        "--package=triathlon",
        "--bins",
        "--no-fail-fast",
    ];
    let compile = [
        "test",
        PROFILE,
        "--package=triathlon",
        "--no-run",
        "--quiet",
    ];
    let (mut rooms, mut door) = (cargo(&rooms), cargo(&door));
    prepare(&mut rooms);
    prepare(&mut door);
    thread::scope(|scope| {
        let door = scope.spawn(|| {
            step("the door and its tests compiled", &mut cargo(&compile))?;
            output_of_tests(&mut door)
        });
        counts.add(tests_by("unit and simulation tests", &mut rooms)?);
        let door = door.join();
        let output = door.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        println!("== unit tests of the door, which ran beside them");
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        let mut of_door = Counts::default();
        text.lines().for_each(|line| of_door.add_line(line));
        if !output.status.success() && of_door.failed == 0 {
            bail!("the unit tests of the door could not be run to the end");
        }
        counts.add(of_door);
        Ok(counts)
    })
}

/// Runs a test command, and keeps what it prints for later.
fn output_of_tests(command: &mut Command) -> Result<Output> {
    let output = command.stderr(Stdio::inherit()).output();
    output.with_context(|| format!("cannot start {:?}", command.get_program()))
}

/// Runs a test command and counts. A failure to build is an error, a failed test a count.
pub(crate) fn tests_by(title: &str, command: &mut Command) -> Result<Counts> {
    let mut counts = Counts::default();
    let good = watch(title, command, &mut |line| counts.add_line(line))?;
    if !good && counts.failed == 0 {
        bail!("{title} could not be run to the end");
    }
    Ok(counts)
}

#[cfg(test)]
mod tests;
