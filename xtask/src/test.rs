//! `cargo xtask test`: the whole suite, with the real servers and tools that it needs.
//!
//! A test that cannot run here, for want of a privilege or a product, passes for the test
//! harness and leaves a line in the file that `TRIATHLON_NOT_RUN` names. The lines are
//! printed at the end; where `CI=true` nothing may be missing, so there each is a failure.

use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, bail};

use crate::check::programs::Program;
use crate::check::{self, Counts, Tests};
use crate::command::print_times;
use crate::packages;

/// Open files that the suite needs: a thousand connections on both ends, twice, and room.
const OPEN_FILES: &str = "65536";

/// What the names of end-to-end tests have in which servers and generators of labs work all the
/// time, so that fewer of them run at a time; the others wait for windows and timeouts.
const LABS: &[&str] = &[
    "ci::",
    "comparisons::",
    "disturbed::",
    "first_heat::",
    "keys::",
    "lab::",
    "lab_exits::",
    "lab_tls::",
    "lab_users::",
    "servers::",
    "unfair::",
];

/// What the names of end-to-end tests have that mostly wait, for timeouts and for each other: they
/// leave the CPUs to unit and simulation tests, and begin beside these.
const WAITING: &[&str] = &[
    "agents::between::",
    "agents::labs::",
    "agents::lost::",
    "doctor::",
    "hostile::",
    "hostile_http2::",
    "models::",
    "serve::faults::",
    "tls::",
    "view::",
];

/// How many parts the other end-to-end tests are run in, each by the first that has time for it.
const PARTS: usize = 8;

/// How many end-to-end tests may fail beside others to be run once more without them.
const AGAIN: u64 = 5;

/// Runs it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    let is_known = |flag: &String| ["--install", "--all"].contains(&flag.as_str());
    if !arguments.iter().all(is_known) {
        bail!("usage: cargo xtask test [--install] [--all]");
    }
    let is_given = |flag: &str| arguments.iter().any(|given| given == flag);
    let install = ci || is_given("--install");
    if std::env::var_os("TRIATHLON_LIMITS_RAISED").is_none() {
        return again_with_limits(arguments, ci);
    }
    let wanted = packages::wanted(install)?;
    let not_run = crate::root().join("target/not-run.txt");
    fs::create_dir_all(crate::root().join("target")).context("cannot make target/")?;
    fs::write(&not_run, "").with_context(|| format!("cannot write {}", not_run.display()))?;
    // Nothing runs yet that other work could disturb.
    let tests = thread::scope(|scope| {
        let installing = scope.spawn(|| wanted.install());
        check::read()?;
        let tests = Tests::compile()?;
        let installed = installing.join();
        installed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        anyhow::Ok(tests)
    })?;
    // The only environment that tests read; inherited by every step from here on.
    let prepare = |command: &mut Command| {
        command
            .env("TRIATHLON_SLOW_TESTS", "1")
            .envs(is_given("--all").then_some(("TRIATHLON_SERVERS_IN_FULL", "1")))
            .env("TRIATHLON_NOT_RUN", &not_run);
    };
    let (end_to_end, source) = (tests.end_to_end.clone(), tests.source.clone());
    let mut counts = check::examples()?;
    let others = Others::of(&end_to_end)?;
    // Three lanes, none of which waits for another at its half: a compiler leaves a core idle half
    // of the time, and so do tests that wait. Two share what is left, so that both end together.
    let (read, (worked, waited)) = together(
        || {
            source.lints()?;
            source.docs()
        },
        || {
            together(
                || {
                    let units = tests.run(&prepare)?;
                    anyhow::Ok((units, others.run(&end_to_end, &prepare)?))
                },
                || {
                    let mut waited = run_waiting(&end_to_end, &prepare)?;
                    waited.add(run_labs(&end_to_end, &prepare)?);
                    waited.add(others.run(&end_to_end, &prepare)?);
                    anyhow::Ok(waited)
                },
            )
        },
    );
    read?;
    let (units, mut first) = worked?;
    counts.add(units);
    first.add(waited?);
    counts.add(run_again(first, &end_to_end, &prepare)?);
    print_times();
    summarise(counts, &fs::read_to_string(&not_run)?, ci)
}

/// Does both at the same time, each on a thread.
fn together<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let one = one.join();
        (
            one.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            other,
        )
    })
}

/// The program of end-to-end tests, of which `threads` of so many CPUs run at a time.
fn at_a_time(
    program: &Program,
    prepare: &dyn Fn(&mut Command),
    threads: fn(usize) -> usize,
) -> Command {
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut command = program.command();
    prepare(&mut command);
    command.arg(format!("--test-threads={}", threads(cpus)));
    command
}

/// The arguments that leave out tests with one of these in their names.
fn without<'a>(names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    names.iter().flat_map(|name| ["--skip", name])
}

/// Runs the end-to-end tests that mostly wait.
fn run_waiting(program: &Program, prepare: &dyn Fn(&mut Command)) -> Result<Counts> {
    let mut waiting = at_a_time(program, prepare, |cpus| 2 * cpus);
    waiting.args(WAITING).args(without(LABS));
    check::tests_by("end-to-end tests that wait", &mut waiting)
}

/// Runs the end-to-end tests of labs.
fn run_labs(program: &Program, prepare: &dyn Fn(&mut Command)) -> Result<Counts> {
    let mut labs = at_a_time(program, prepare, |cpus| cpus + 2);
    labs.args(LABS);
    check::tests_by("end-to-end tests of labs", &mut labs)
}

/// The end-to-end tests that neither mostly wait nor are of labs, in parts that nobody runs yet.
struct Others(Mutex<std::vec::IntoIter<Vec<String>>>);

impl Others {
    /// Those of `program`, which lists them.
    fn of(program: &Program) -> Result<Self> {
        let mut command = program.command();
        command.args(["--list", "--format=terse"]);
        command.args(without(LABS)).args(without(WAITING));
        let output = command
            .output()
            .context("cannot list the end-to-end tests")?;
        let names = listed(&String::from_utf8_lossy(&output.stdout));
        if !output.status.success() || names.is_empty() {
            bail!("the end-to-end tests could not be listed");
        }
        let parts = parts(&names);
        Ok(Self(Mutex::new(parts.into_iter())))
    }

    /// Runs one part after the other until none is left.
    fn run(&self, program: &Program, prepare: &dyn Fn(&mut Command)) -> Result<Counts> {
        let mut counts = Counts::default();
        let next = || self.0.lock().expect("nobody panics with it").next();
        while let Some(part) = next() {
            let mut others = at_a_time(program, prepare, |cpus| 2 * cpus);
            others.arg("--exact").args(&part);
            counts.add(check::tests_by("other end-to-end tests", &mut others)?);
        }
        Ok(counts)
    }
}

/// The names of tests in what the test harness lists: `module::name: test`, one a line.
fn listed(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

/// The names in parts of about the same size; one part has at least one.
fn parts(names: &[String]) -> Vec<Vec<String>> {
    let size = names.len().div_ceil(PARTS).max(1);
    names.chunks(size).map(<[String]>::to_vec).collect()
}

/// Runs the end-to-end tests that failed once more, one after the other, with nothing of the suite
/// beside them: what a server does on a machine that is busy with something else is no fault of the
/// test. Those that pass now count as passed, and what they said at first is printed: it may show
/// a defect that appears only in company. Where more fail than a busy machine explains, none is.
fn run_again(
    mut first: Counts,
    program: &Program,
    prepare: &dyn Fn(&mut Command),
) -> Result<Counts> {
    if !(1..=AGAIN).contains(&first.failed) || first.failures.is_empty() {
        return Ok(first);
    }
    let mut command = program.command();
    prepare(&mut command);
    command.args(["--test-threads=1", "--exact"]);
    command.args(first.failures.iter().map(|failure| &failure.name));
    let second = check::tests_by("end-to-end tests that failed, alone", &mut command)?;
    first.pass(&second);
    Ok(first)
}

/// Starts this program once more below a shell that raised the limit of open files.
fn again_with_limits(arguments: &[String], ci: bool) -> Result<()> {
    let script =
        format!("ulimit -n {OPEN_FILES} 2>/dev/null || ulimit -n \"$(ulimit -Hn)\"; exec \"$@\"");
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut shell = Command::new("sh");
    if ci {
        // Nothing is compiled a second time there, so what would make that fast is in vain.
        shell.env("CARGO_INCREMENTAL", "0");
        // LuaJIT's make takes this for its C flags: what it runs scripts with is assembly, and the
        // rest compiles in a third of the time.
        shell.env("CCOPT", "-O0 -fomit-frame-pointer");
    }
    let status = shell
        .args(["-c", &script, "sh"])
        .arg(own)
        .arg("test")
        .args(arguments)
        .env("TRIATHLON_LIMITS_RAISED", "1")
        .status()
        .context("cannot start a shell to raise limits")?;
    if !status.success() {
        bail!("not everything passed");
    }
    Ok(())
}

/// Prints what was not run, then the one line that counts.
fn summarise(mut counts: Counts, not_run: &str, strict: bool) -> Result<()> {
    let mut lines: Vec<&str> = not_run.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    for line in &lines {
        println!("not run, because {line}");
    }
    let missing = u64::try_from(lines.len())?;
    counts.passed = counts.passed.saturating_sub(missing);
    if strict {
        counts.failed += missing;
    }
    counts.print_failures();
    println!("{counts}");
    if counts.failed > 0 {
        bail!("{} tests failed", counts.failed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_run_once_in_parts() {
        let text = "a::one: test\na::two: test\nb: benchmark\n";
        assert_eq!(listed(text), ["a::one", "a::two"]);
        for count in [1, 7, 8, 9, 300] {
            let names: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            let parts = parts(&names);
            assert!(parts.len() <= PARTS, "{count}");
            assert!(parts.iter().all(|part| !part.is_empty()), "{count}");
            assert_eq!(parts.concat(), names);
        }
    }
}
