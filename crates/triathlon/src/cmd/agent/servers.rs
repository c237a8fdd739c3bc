//! What has the servers of a lab on the machine of an agent: a child process of this program. Lines
//! that come for it go into its standard input, and what it writes goes out.
//!
//! Where its standard input ends, because it is told to end or because the agent is lost, it ends
//! all that it has started.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fleet::Output;

use crate::cmd::lab::Word;

/// So often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(100);
/// One that is to end does so within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts it, and passes lines on until it has ended.
pub(super) fn run(lines: &Receiver<String>, output: &Output) -> Result<(), String> {
    let mut child =
        start().map_err(|error| format!("its child process does not start: {error}"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            each_line(stdout, |line| output.say(line));
            has_ended.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| each_line(stderr, |line| output.say(Word::Note(line).text())));
        pass_on(lines, stdin, &has_ended);
        let until = Instant::now() + PATIENCE;
        while !has_ended.load(Ordering::Relaxed) && Instant::now() < until {
            thread::sleep(LOOK);
        }
        if !has_ended.load(Ordering::Relaxed) {
            // The kernel asks its servers to end.
            drop(child.kill());
        }
    });
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("its child process failed ({status})")),
        Err(error) => Err(format!("its child process cannot be waited for: {error}")),
    }
}

fn start() -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["agent", "servers"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C at a terminal reaches the agent alone, which then ends it.
        .process_group(0)
        .spawn()
}

fn each_line(input: Option<impl Read>, mut told: impl FnMut(String)) {
    let lines = input
        .into_iter()
        .flat_map(|input| BufReader::new(input).lines());
    for line in lines.map_while(Result::ok) {
        told(line);
    }
}

/// Passes lines on until no more can come, or it has ended.
fn pass_on(lines: &Receiver<String>, stdin: Option<ChildStdin>, has_ended: &AtomicBool) {
    let Some(mut stdin) = stdin else { return };
    while !has_ended.load(Ordering::Relaxed) {
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                if writeln!(stdin, "{line}").is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
