//! Starting other programs: from the workspace's folder, with a heading and a verdict.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How long each step took, and how much CPU time, in the order in which they ended.
static TIMES: Mutex<Vec<(String, Duration, Duration)>> = Mutex::new(Vec::new());

/// When a step began: by the clock, and by the CPU time of our children that have ended.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    time: Instant,
    cpu: Duration,
}

impl Start {
    /// Now.
    pub(crate) fn now() -> Self {
        Self {
            time: Instant::now(),
            cpu: cpu_of_children(),
        }
    }
}

/// User and system time of all children that were waited for, and of theirs. Zero where the kernel
/// does not tell.
fn cpu_of_children() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    cpu_in_stat(&text).unwrap_or_default()
}

/// The fields `cutime` and `cstime` of proc_pid_stat(5), in ticks: Linux tells 100 a second.
fn cpu_in_stat(text: &str) -> Option<Duration> {
    // The second field is a name in parentheses, with anything in it; the next is the third.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(16 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 10))
}

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
    let start = Start::now();
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
pub(crate) fn over(title: &str, start: Start) {
    let time = start.time.elapsed();
    let cpu = cpu_of_children().saturating_sub(start.cpu);
    println!("   {title}: {:.1} s", time.as_secs_f64());
    let mut times = TIMES.lock().expect("nobody panics while it is held");
    times.push((title.to_owned(), time, cpu));
}

/// Prints how long each step took so far, and the CPU time of what ended meanwhile: of steps that
/// run side by side, each is told that of the others, too. Their sum would count it twice, so that
/// of all together stands below.
pub(crate) fn print_times() {
    println!("== times, and CPU times of what ended meanwhile");
    let times = TIMES.lock().expect("nobody panics while it is held");
    for (title, time, cpu) in times.iter() {
        let (time, cpu) = (time.as_secs_f64(), cpu.as_secs_f64());
        println!("{time:>8.1} s {cpu:>8.1} s  {title}");
    }
    let all = cpu_of_children().as_secs_f64();
    println!("{:>8} {all:>10.1} s  all together", "");
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
    let start = Start::now();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_children_is_read_past_any_name() {
        let text = "1 (a ) b) S 1 1 1 0 -1 4194560 99 88 0 0 5 6 700 41 20 0 1 0 3 4 5";
        assert_eq!(cpu_in_stat(text), Some(Duration::from_millis(7_410)));
        assert_eq!(cpu_in_stat("1 (a) S 1"), None);
    }
}
