//! `cargo xtask check`: all that needs nothing but Rust.

pub(crate) mod again;
mod counts;
pub(crate) mod programs;

use std::process::Command;

use anyhow::{Result, bail};

use self::again::Unit;
pub(crate) use self::counts::Counts;
use self::programs::Program;
use crate::command::{cargo, print_times, step, watch};
use crate::tidy;

/// What every step compiles with, so that none compiles what another has compiled already.
const PROFILE: &str = "--profile=suite";

/// The end-to-end tests.
const END_TO_END: &str = "triathlon it";

/// The programs of tests that take longest, the longest first: `lab` waits, the others compute.
const LONGEST: [&str; 5] = ["lab", "load sim", "triathlon", "report", "verdict growth"];

/// Runs it.
pub(crate) fn run(_: &[String]) -> Result<()> {
    read()?;
    let tests = Tests::compile()?;
    tests.source.lints()?;
    tests.source.docs()?;
    let mut counts = examples()?;
    counts.add(tests.run(&|_| {})?);
    print_times();
    counts.print_failures();
    println!("{counts}");
    if counts.failed > 0 {
        bail!("{} tests failed", counts.failed);
    }
    Ok(())
}

/// Formatting and the house rules: what needs no compiler.
pub(crate) fn read() -> Result<()> {
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    let fuzz = ["fmt", "--manifest-path=fuzz/Cargo.toml", "--check"];
    step("format of the fuzz targets", &mut cargo(&fuzz))?;
    tidy::run(&[])
}

/// Everything that was compiled, to be looked at again.
#[derive(Clone)]
pub(crate) struct Source(Vec<Unit>);

impl Source {
    /// Lints it; a warning is an error.
    pub(crate) fn lints(&self) -> Result<()> {
        again::lints(&self.0)
    }

    /// Makes its docs; a warning is an error.
    pub(crate) fn docs(&self) -> Result<()> {
        again::docs(&self.0)
    }
}

/// All tests, compiled.
pub(crate) struct Tests {
    programs: Vec<Program>,
    /// What they were made from, with all else that there is in the workspace.
    pub(crate) source: Source,
    /// Those that need servers and tools.
    pub(crate) end_to_end: Program,
}

impl Tests {
    /// Compiles them.
    pub(crate) fn compile() -> Result<Self> {
        let compile = [
            "build",
            PROFILE,
            "--workspace",
            "--all-targets",
            "--quiet",
            "--message-format=json-render-diagnostics",
        ];
        let (mut programs, units) = programs::compiled(&mut again::recording(&compile)?)?;
        let end_to_end = programs
            .iter()
            .position(|program| program.name == END_TO_END);
        let Some(end_to_end) = end_to_end else {
            bail!("cargo compiled no end-to-end tests: {programs:?}");
        };
        let end_to_end = programs.remove(end_to_end);
        // One that is long and begins last leaves the other CPUs idle.
        programs.sort_by_key(|program| {
            let place = LONGEST.iter().position(|name| *name == program.name);
            place.unwrap_or(LONGEST.len())
        });
        Ok(Self {
            programs,
            source: Source(units),
            end_to_end,
        })
    }

    /// Runs every other test that needs no other program, with `prepare` told of each command
    /// before it starts.
    pub(crate) fn run(self, prepare: &(dyn Fn(&mut Command) + Sync)) -> Result<Counts> {
        programs::run("unit and simulation tests", self.programs, prepare)
    }
}

/// Runs the examples in the docs, which cargo compiles meanwhile.
pub(crate) fn examples() -> Result<Counts> {
    let examples = ["test", PROFILE, "--workspace", "--doc", "--no-fail-fast"];
    // With what the tests are made from.
    let mut examples = again::recording(&examples)?;
    tests_by("examples in the docs", &mut examples)
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
