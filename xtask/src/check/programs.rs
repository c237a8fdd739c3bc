//! Test programs: what cargo compiled for the tests, run by us.
//!
//! Cargo runs them one after the other, and many wait; run by us, several run at a time. All are
//! compiled by one command, so that nothing is compiled twice with other features.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Counts;
use super::again::Unit;
use crate::command::{Start, over};

/// The programs that keep the memory that a test gave back: each simulated run, and each trial that
/// is read, takes megabytes of histograms. Else the kernel takes them back at its end and lends
/// them anew, page by page, to the next. Others gain nothing, or lose.
const KEEPING: [&str; 2] = ["load sim", "report"];

/// What makes the C library keep it.
const KEEPS_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TOP_PAD_", "16777216"),
    ("MALLOC_TRIM_THRESHOLD_", "268435456"),
];

/// A test program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Program {
    /// Its package and target: `load sim`.
    pub(crate) name: String,
    path: PathBuf,
    /// The folder of its package, where cargo would run it.
    folder: PathBuf,
}

impl Program {
    /// It, to be run as cargo would run it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder);
        command.env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// The test programs that a command compiles which tells what it makes in JSON, and all that it
/// compiles of ours.
pub(super) fn compiled(command: &mut Command) -> Result<(Vec<Program>, Vec<Unit>)> {
    let start = Start::now();
    println!("== tests compiled");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("the tests could not be compiled");
    }
    over("tests compiled", start);
    read(&String::from_utf8_lossy(&output.stdout))
}

/// The test programs and what is ours among the messages of cargo, one a line.
fn read(messages: &str) -> Result<(Vec<Program>, Vec<Unit>)> {
    let mut programs = Vec::new();
    let mut units = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)
            .with_context(|| format!("not a message of cargo: {line}"))?;
        units.extend(Unit::of(&message));
        // What measures is compiled for the lints alone.
        let is_bench = message["target"]["kind"][0] == "bench";
        let is_test = message["profile"]["test"] == true && !is_bench;
        let (Some(path), true) = (message["executable"].as_str(), is_test) else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().context("a manifest lies in a folder")?;
        let package = folder.file_name().unwrap_or_default().to_string_lossy();
        let target = message["target"]["name"].as_str().unwrap_or_default();
        let name = match target == package {
            true => target.to_owned(),
            false => format!("{package} {target}"),
        };
        programs.push(Program {
            name,
            path: path.into(),
            folder: folder.into(),
        });
    }
    units.sort();
    units.dedup();
    Ok((programs, units))
}

/// Runs `programs`, as many at a time as there are CPUs, and shows what each printed when it ends.
pub(crate) fn run(
    title: &str,
    programs: Vec<Program>,
    prepare: &(dyn Fn(&mut Command) + Sync),
) -> Result<Counts> {
    println!("== {title}");
    let start = Start::now();
    let queue = Mutex::new(programs.into_iter());
    let counts = Mutex::new(Counts::default());
    let work = || -> Result<()> {
        loop {
            let next = queue.lock().expect("nobody panics with it").next();
            let Some(program) = next else {
                return Ok(());
            };
            let mut command = program.command();
            if KEEPING.contains(&program.name.as_str()) {
                command.envs(KEEPS_MEMORY);
            }
            prepare(&mut command);
            let output = command.stderr(Stdio::inherit()).output();
            let output =
                output.with_context(|| format!("cannot start the tests of {program:?}"))?;
            let mut counts = counts.lock().expect("nobody panics with it");
            let text = String::from_utf8_lossy(&output.stdout);
            println!("   {}\n{text}", program.name);
            let before = counts.failed;
            text.lines().for_each(|line| counts.add_line(line));
            if !output.status.success() && counts.failed == before {
                bail!("the tests of {} could not be run to the end", program.name);
            }
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            let done = worker.join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    over(title, start);
    Ok(counts.into_inner().expect("nobody panics with it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_among_all_that_cargo_makes() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/w/load/Cargo.toml","#,
            r#""target":{"name":"load"},"profile":{"test":false},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/load/Cargo.toml","#,
            r#""target":{"name":"load"},"profile":{"test":true},"executable":"/t/load-1"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/load/Cargo.toml","#,
            r#""target":{"name":"sim"},"profile":{"test":true},"executable":"/t/sim-2"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/door/Cargo.toml","#,
            r#""target":{"name":"door"},"profile":{"test":false},"executable":"/t/door"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/w/load/Cargo.toml","#,
            r#""target":{"name":"loop","kind":["bench"]},"profile":{"test":true},"#,
            r#""executable":"/t/loop-4"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let program = |name: &str, path: &str| Program {
            name: name.to_owned(),
            path: path.into(),
            folder: "/w/load".into(),
        };
        let expected = [
            program("load", "/t/load-1"),
            program("load sim", "/t/sim-2"),
        ];
        assert_eq!(read(messages).unwrap().0, expected);
        assert!(read("error: something else").is_err());
    }
}
