//! Starting other programs: from the workspace's folder, with a heading and a verdict.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
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

/// Prints how long each step took so far. Some ran side by side, so they may add up to more than
/// it took altogether.
pub(crate) fn print_times() {
    println!("== times");
    for (title, time) in TIMES.lock().expect("nobody panics while it is held").iter() {
        println!("{:>8.1} s  {title}", time.as_secs_f64());
    }
}

/// A step that runs beside others. What it prints is shown if it fails; it is killed if nobody
/// waits for its end.
pub(crate) struct Beside {
    title: &'static str,
    start: Instant,
    child: Child,
    log: PathBuf,
}

impl Beside {
    /// Starts it; `log` is a name below `target`.
    pub(crate) fn start(title: &'static str, log: &str, command: &mut Command) -> Result<Self> {
        println!("== {title}, beside the following");
        let log = crate::root().join("target").join(log);
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = command
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(Self {
            title,
            start: Instant::now(),
            child,
            log,
        })
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Result<()> {
        let status = self.child.wait().context("cannot wait for the step")?;
        if !status.success() {
            print!("{}", fs::read_to_string(&self.log)?);
            bail!("{} failed", self.title);
        }
        over(self.title, self.start);
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // One that has ended already, which is the rule, cannot be killed.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(|_| ()).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell with that script, at work beside this test.
    fn beside(log: &str, script: &str) -> Beside {
        let target = crate::root().join("target");
        fs::create_dir_all(target).expect("a folder");
        let mut shell = command("sh");
        Beside::start("a step", log, shell.args(["-c", script])).expect("it starts")
    }

    #[test]
    fn a_step_beside_others_fails_with_its_title() {
        beside("test-of-good.log", "exit 0").end().expect("good");
        let error = beside("test-of-bad.log", "exit 1").end().expect_err("bad");
        assert_eq!(error.to_string(), "a step failed");
        let times = TIMES.lock().expect("nobody panics while it is held");
        assert!(times.iter().any(|(title, _)| title == "a step"));
    }

    #[test]
    fn a_step_that_nobody_waits_for_is_killed() {
        let step = beside("test-of-killed.log", "read line < /dev/zero");
        let pid = step.child.id();
        drop(step);
        assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
    }
}
