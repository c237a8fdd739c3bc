//! `cargo xtask check`: all that needs nothing but Rust, in the order in which it fails fastest.

mod counts;
pub(crate) mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

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
    lints()?;
    docs()?;
    let tests = Tests::compile()?;
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

/// Lints all the code.
pub(crate) fn lints() -> Result<()> {
    let lints = [
        "clippy",
        PROFILE,
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-Dwarnings",
    ];
    step("lints", &mut cargo(&lints))
}

/// Makes the docs; a warning is an error. What `lints` found free of faults is checked by the same
/// compiler in the same way, so that cargo takes it from there.
pub(crate) fn docs() -> Result<()> {
    let docs = [
        "doc",
        PROFILE,
        "--workspace",
        "--no-deps",
        "--document-private-items",
        "--quiet",
    ];
    let mut docs = cargo(&docs);
    docs.env("RUSTDOCFLAGS", "-Dwarnings");
    if let Some(driver) = clippy_driver() {
        // What `cargo clippy` sets for the arguments that `lints` has.
        docs.env("RUSTC_WORKSPACE_WRAPPER", driver);
        docs.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    }
    step("docs", &mut docs)
}

/// The compiler that `cargo clippy` uses; none where it is not beside the others.
fn clippy_driver() -> Option<PathBuf> {
    let mut rustc = Command::new("rustc");
    let told = rustc.args(["--print", "sysroot"]).output().ok()?;
    let root = String::from_utf8(told.stdout).ok()?;
    let driver = Path::new(root.trim()).join("bin/clippy-driver");
    driver.is_file().then_some(driver)
}

/// All tests, compiled.
pub(crate) struct Tests {
    programs: Vec<Program>,
    /// Those that need servers and tools.
    pub(crate) end_to_end: Program,
}

impl Tests {
    /// Compiles them.
    pub(crate) fn compile() -> Result<Self> {
        let compile = [
            "test",
            PROFILE,
            "--workspace",
            "--no-run",
            "--quiet",
            "--message-format=json-render-diagnostics",
        ];
        let mut programs = programs::compiled(&mut cargo(&compile))?;
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
    let mut examples = cargo(&["test", PROFILE, "--workspace", "--doc", "--no-fail-fast"]);
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
