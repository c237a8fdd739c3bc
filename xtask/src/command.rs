//! Starting other programs: from the workspace's folder, with a heading and a verdict.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How long each step took, in the order in which they ended.
static TIMES: Mutex<Vec<(String, Duration)>> = Mutex::new(Vec::new());

/// A command that runs in the workspace's folder.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(crate::root());
    command
}

/// The cargo that started us, so that the pinned toolchain is used throughout.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(program);
    command.args(arguments);
    command
}

/// Runs a step under a heading; fails with the heading when it fails.
pub(crate) fn step(title: &str, command: &mut Command) -> Result<()> {
    println!("== {title}");
    let start = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{title} failed");
    }
    over(title, start);
    Ok(())
}

/// Notes and prints that a step is over.
pub(crate) fn over(title: &str, start: Instant) {
    let time = start.elapsed();
    println!("   {title}: {:.1} s", time.as_secs_f64());
    let mut times = TIMES.lock().expect("nobody panics while it is held");
    times.push((title.to_owned(), time));
}

/// Prints how long each step took so far.
pub(crate) fn print_times() {
    println!("== times");
    for (title, time) in TIMES.lock().expect("nobody panics while it is held").iter() {
        println!("{:>8.1} s  {title}", time.as_secs_f64());
    }
}

/// What a command printed on stdout; none if it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a step, showing its output while it comes and handing each line to `see`.
pub(crate) fn watch(title: &str, command: &mut Command, see: &mut dyn FnMut(&str)) -> Result<bool> {
    println!("== {title}");
    let start = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let stdout = child.stdout.take().context("stdout was piped")?;
    show(stdout, see)?;
    let status = child.wait().context("cannot wait for the step")?;
    over(title, start);
    Ok(status.success())
}

fn show(stdout: impl Read, see: &mut dyn FnMut(&str)) -> Result<()> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(stdout);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        see(text.trim_end());
        line.clear();
    }
    Ok(())
}
