//! The small C program that makes processes: compiled when first needed, run once for each pass.
//!
//! A fork copies what the parent has mapped, so a parent of our own size would measure our size.
//! The program's mappings and memory are read before it starts and stand beside the curve.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sys::process::{Child, Confinement, start};

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, ProbeError, Task, index};

const SOURCE: &str = include_str!("processes.c");

/// How the program is linked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Linked {
    Dynamically,
    Statically,
}

/// Runs the program in `mode` and reads its lines.
pub(super) fn measure(task: &Task, mode: &str, linked: Linked) -> Result<Measured, ProbeError> {
    let program = compiled(linked, &task.folder)?;
    let mut command = Command::new(&program);
    command
        .arg(mode)
        .arg(task.population.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = start(&mut command, Confinement::default())
        .doing(|| format!("starting {}", program.display()))?;
    let output = child
        .take_stdout()
        .ok_or_else(|| ProbeError::Program("the program's output was piped".to_owned()))?;
    let mut lines = BufReader::new(output).lines();
    let mut next = || -> Result<String, ProbeError> {
        match lines.next() {
            Some(line) => line.doing(|| "reading from the program".to_owned()),
            None => Err(ProbeError::Program(format!(
                "{} ended without output",
                program.display()
            ))),
        }
    };
    if next()? != "ready" {
        return Err(ProbeError::Program(format!(
            "{} did not say that it is ready",
            program.display()
        )));
    }
    let facts = size(child.pid());
    go(&mut child)?;
    let count = index(task.population);
    let mut born = Stopwatch::new(name(mode), count);
    let mut reaped = Stopwatch::new("reap", count);
    let mut timer_cost_ns = None;
    loop {
        let line = next()?;
        let number = |text: &str| text.parse::<u64>().ok();
        match line.split_once(' ') {
            None if line == "end" => break,
            Some(("timer", cost)) => timer_cost_ns = cost.parse().ok(),
            Some(("error", why)) => {
                return Err(ProbeError::Program(format!(
                    "child number {} could not be made: {why}",
                    born.count() + 1
                )));
            }
            Some((one, other)) => match (number(one), number(other)) {
                (Some(one), Some(other)) => {
                    born.push(one);
                    reaped.push(other);
                }
                _ => return Err(unexpected(&line)),
            },
            None => return Err(unexpected(&line)),
        }
    }
    Ok(Measured {
        series: vec![born.series(), reaped.series()],
        facts,
        timer_cost_ns,
    })
}

fn unexpected(line: &str) -> ProbeError {
    ProbeError::Program(format!("the program said '{line}'"))
}

const fn name(mode: &str) -> &'static str {
    match mode.as_bytes() {
        b"fork" => "fork",
        b"vfork" => "vfork",
        _ => "posix_spawn",
    }
}

fn go(child: &mut Child) -> Result<(), ProbeError> {
    let mut input = child
        .take_stdin()
        .ok_or_else(|| ProbeError::Program("the program's input was piped".to_owned()))?;
    input
        .write_all(b"\n")
        .doing(|| "telling the program to start".to_owned())
}

/// What a fork of it has to copy.
fn size(pid: u32) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let folder = PathBuf::from(format!("/proc/{pid}"));
    if let Ok(maps) = fs::read_to_string(folder.join("maps")) {
        facts.insert("mappings".to_owned(), maps.lines().count().to_string());
    }
    if let Ok(status) = fs::read_to_string(folder.join("status")) {
        for (field, fact) in [("VmRSS:", "memory"), ("VmPTE:", "page tables")] {
            let value = status.lines().find_map(|line| line.strip_prefix(field));
            if let Some(value) = value {
                facts.insert(fact.to_owned(), value.trim().to_owned());
            }
        }
    }
    facts
}

/// Where the program is, compiled if need be.
fn compiled(linked: Linked, folder: &Path) -> Result<PathBuf, ProbeError> {
    let mut hasher = DefaultHasher::new();
    SOURCE.hash(&mut hasher);
    let suffix = match linked {
        Linked::Dynamically => "dynamic",
        Linked::Statically => "static",
    };
    let name = format!("processes-{:016x}-{suffix}", hasher.finish());
    let cache = cache().filter(|cache| fs::create_dir_all(cache).is_ok());
    let home = cache.as_deref().unwrap_or(folder);
    let program = home.join(&name);
    if program.exists() {
        return Ok(program);
    }
    compile(linked, home, &program).or_else(|error| {
        // A cache that cannot be written to is no reason to give up.
        if home == folder {
            return Err(error);
        }
        let program = folder.join(&name);
        if program.exists() {
            return Ok(program);
        }
        compile(linked, folder, &program)
    })
}

/// The user's cache folder.
fn cache() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(base.join("triathlon"))
}

/// Compiles under a name of its own and renames, so that nobody ever sees half a program.
fn compile(linked: Linked, home: &Path, program: &Path) -> Result<PathBuf, ProbeError> {
    let mark = format!(
        "{}-{}",
        std::process::id(),
        program.display().to_string().len()
    );
    let source = home.join(format!("processes-{mark}.c"));
    let unfinished = home.join(format!("processes-{mark}.new"));
    fs::write(&source, SOURCE).doing(|| format!("writing {}", source.display()))?;
    let mut command = Command::new("cc");
    command.args(["-O2", "-o"]).arg(&unfinished).arg(&source);
    if linked == Linked::Statically {
        command.arg("-static");
    }
    let output = command.stdin(Stdio::null()).output();
    let _removed = fs::remove_file(&source);
    match output {
        Ok(output) if output.status.success() => {
            fs::rename(&unfinished, program)
                .doing(|| format!("renaming to {}", program.display()))?;
            Ok(program.to_owned())
        }
        Ok(output) => Err(ProbeError::Missing(format!(
            "the C compiler cannot link {} ({}); on Debian: apt install gcc libc6-dev",
            match linked {
                Linked::Dynamically => "a program",
                Linked::Statically => "a static program",
            },
            String::from_utf8_lossy(&output.stderr)
                .lines()
                .last()
                .unwrap_or("it did not say why")
        ))),
        Err(error) => Err(ProbeError::Missing(format!(
            "there is no C compiler ({error}), and processes are made by a small C program; on \
             Debian: apt install gcc libc6-dev"
        ))),
    }
}
