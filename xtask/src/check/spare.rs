//! Work that takes only the CPU time which others leave, as tests that wait do.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result, bail};

use crate::command::{Start, command, output, over};

/// Steps that run one after the other beside something else.
pub(crate) struct Spare {
    steps: JoinHandle<Result<()>>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The process of the step that runs now.
    running: Option<u32>,
    /// Whether nothing runs beside them any more.
    alone: bool,
}

impl Spare {
    /// Starts `steps`, below everybody who wants a CPU.
    pub(crate) fn start(steps: [(&'static str, Command); 2]) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let own = Arc::clone(&state);
        let work = move || {
            steps
                .into_iter()
                .try_for_each(|(title, command)| step(title, command, &own))
        };
        let steps = thread::spawn(work);
        Self { steps, state }
    }

    /// Nothing runs beside them any more: waits for them, and for the first that fails.
    pub(crate) fn finish(self) -> Result<()> {
        let running = {
            let mut state = lock(&self.state);
            state.alone = true;
            state.running
        };
        if let Some(process) = running {
            raise(process);
        }
        let done = self.steps.join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nobody panics while it is held")
}

/// Runs one of them.
fn step(title: &str, command: Command, state: &Mutex<State>) -> Result<()> {
    let start = Start::now();
    let mut child = {
        let mut state = lock(state);
        let mut command = if state.alone { command } else { below(command) };
        println!("== {title}, beside");
        let child = command.spawn();
        let child = child.with_context(|| format!("cannot start {:?}", command.get_program()))?;
        state.running = Some(child.id());
        child
    };
    let status = child.wait();
    lock(state).running = None;
    if !status.context("cannot wait for the step")?.success() {
        bail!("{title} failed");
    }
    over(title, start);
    Ok(())
}

/// `inner` with a CPU only where nobody else wants it; as it is, where the machine has no chrt(1).
fn below(inner: Command) -> Command {
    if output(command("chrt").arg("--version")).is_none() {
        return inner;
    }
    let mut outer = command("chrt");
    outer.args(["--idle", "0"]);
    outer.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// Gives `process` and all that it started their share of the CPUs. Who may not do that leaves them
/// as they are: they end later, if others want the CPUs.
fn raise(process: u32) {
    // Whatever starts from now on has what its parent has: parents come first.
    let mut known = BTreeSet::from([process]);
    let mut next = vec![process];
    while let Some(process) = next.pop() {
        let chrt = ["--all-tasks", "--other", "--pid", "0"];
        let _done = output(command("chrt").args(chrt).arg(process.to_string()));
        let children = children(process);
        next.extend(children.into_iter().filter(|child| known.insert(*child)));
    }
}

/// The processes that `parent` started and that have not ended.
fn children(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let process = |entry: fs::DirEntry| -> Option<u32> {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        (parent_in_stat(&text)? == parent).then_some(process)
    };
    entries.flatten().filter_map(process).collect()
}

/// The field `ppid` of proc_pid_stat(5).
fn parent_in_stat(text: &str) -> Option<u32> {
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::Stdio;

    use super::*;

    /// `SCHED_IDLE` of sched(7).
    const IDLE: u32 = 5;

    /// The scheduling policy of `process`: the field `policy` of proc_pid_stat(5), the 41st.
    fn policy(process: u32) -> u32 {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let (_, rest) = text.rsplit_once(')').unwrap();
        let mut fields = rest.split_whitespace().skip(41 - 3);
        fields.next().unwrap().parse().unwrap()
    }

    #[test]
    fn the_parent_is_read_past_any_name() {
        let text = "12 (a ) b) S 7 1 1 0 -1 4194560 99 88 0 0 5 6 700 41 20 0 1 0 3 4 5";
        assert_eq!(parent_in_stat(text), Some(7));
        assert_eq!(parent_in_stat("1 (a) S"), None);
    }

    /// Until nobody is beside them; and all that they started are raised with them.
    #[test]
    fn steps_stay_below_others_until_they_are_alone() {
        let idle = |script: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", script]);
            below(sh)
        };
        let mut command = idle("echo here; read line; exit \"$line\"");
        if command.get_program() == "sh" {
            return;
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut said).unwrap();
        assert_eq!(said, "here\n");
        assert!(children(std::process::id()).contains(&child.id()));
        assert_eq!(policy(child.id()), IDLE);
        raise(child.id());
        // Who is no superuser may not.
        let raised = policy(child.id());
        assert!(raised == 0 || raised == IDLE, "{raised}");
        writeln!(child.stdin.take().unwrap(), "3").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }

    #[test]
    fn the_first_step_that_fails_is_named_and_the_next_does_not_run() {
        let sh = |script: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", script]);
            sh
        };
        let steps = [("lints", sh("exit 1")), ("docs", sh("exit 1"))];
        let error = Spare::start(steps).finish().unwrap_err();
        assert_eq!(error.to_string(), "lints failed");
        let steps = [("lints", sh("exit 0")), ("docs", sh("exit 0"))];
        Spare::start(steps).finish().unwrap();
    }
}
