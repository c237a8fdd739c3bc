//! A lab beside programs that take its CPUs: who it was stands first, and what they spoilt is
//! measured again.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use model::Trial;
use model::usage::Spender;

use crate::lab::files;
use crate::network::needs_network;
use crate::support::process::{Run, Running, triathlon};
use crate::support::{need, not_run, slow, wait_until};

/// A program of which several run for each CPU has more of them than anyone needs to be named,
/// beside compilers too; it is called by a name of its own, since other tests run shells.
#[test]
fn whoever_takes_the_cpus_is_named_in_the_first_sentence() {
    if !slow() {
        return not_run("disturbed::whoever_takes_the_cpus", "it takes seconds");
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("burner");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let cpus = available_parallelism().map_or(1, |cpus| cpus.get());
    let burners: Vec<Running> = (0..cpus * 4)
        .map(|_| Running::start(Command::new(&program).args(["-c", "while :; do :; done"])))
        .collect();
    let results = folder.path().join("results");
    let run = race(&results);
    drop(burners);
    let trials = trials(&results);
    for trial in &trials {
        let cause = trial.void.as_ref();
        assert!(cause.is_some(), "{:?}", trial.usage.system);
    }
    // Two points and their ceilings: all were measured a second time, which helped nobody.
    let attempt = |trial: &Trial| trial.point.as_ref().expect("a lab's trial").attempt;
    let again = trials.iter().filter(|trial| attempt(trial) == 1);
    assert_eq!(again.count(), 4, "{run:#?}");
    let (takers, rest) = first_sentence(&run, "8 of 8");
    assert!(takers.contains("burner in "), "{takers}");
    assert!(
        rest.starts_with("origin 4 of 4, the ceiling 4 of 4. "),
        "{rest}"
    );
}

/// Held by whoever disturbs: one would be named in the sentence of the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A kernel thread is no process that anyone started, and has a name all the same. One that
/// receives from a network device has nothing of a load over loopback.
#[test]
fn a_kernel_thread_at_work_is_named_in_the_first_sentence() {
    let name = "disturbed::a_kernel_thread_at_work_is_named_in_the_first_sentence";
    if !slow() {
        return not_run(name, "it takes seconds");
    }
    let Some([unshare, python, _]) = need(name, ["unshare", "python3", "ip"]) else {
        return;
    };
    if !needs_network(name) {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let script = include_str!("kernel_thread.py");
    let mut command = Command::new(unshare);
    command.args(["--net", "--mount"]).arg(python);
    let mut work = Running::start(command.args(["-c", script]));
    wait_until("the kernel thread is at work", || {
        assert!(!work.ended(), "{}", work.stderr());
        work.stdout() == "ready\n"
    });
    let results = folder.path().join("results");
    let run = race(&results);
    drop(work);
    let (takers, _) = first_sentence(&run, "8 of 8");
    assert!(takers.contains("[napi] in "), "{takers}");
    let is_it = |spender: &Spender| spender.name == "[napi]";
    for trial in trials(&results) {
        let others = trial.usage.system.and_then(|system| system.others);
        let others = others.expect("others are read");
        assert!(!others.serving_top.iter().any(is_it), "{others:?}");
    }
}

/// A lab of origin alone, which takes seconds.
fn race(results: &Path) -> Run {
    triathlon([
        "lab",
        "--no-lock",
        "first-heat",
        "server=origin",
        "rounds=1",
        "calm=0s",
        "connections=[1]",
        "duration=100ms",
        "warmup=20ms",
        "--hiccups",
        "0s",
        "--results",
        &results.display().to_string(),
    ])
    .expect_measured()
}

/// What it stored.
fn trials(results: &Path) -> Vec<Trial> {
    let trials = files(results, "trials").into_iter().map(|path| {
        let text = fs::read_to_string(path).expect("a readable trial");
        serde_json::from_str::<Trial>(&text).expect("a trial is JSON")
    });
    trials.collect()
}

/// Who took the CPUs, and what follows, in the first sentence of its report.
fn first_sentence(run: &Run, trials: &str) -> (String, String) {
    let text: Vec<&str> = run.stdout.split_whitespace().collect();
    let text = text.join(" ");
    let parts = text
        .split_once(&format!(
            "Something other than server and generator used the CPUs in {trials}"
        ))
        .and_then(|(_, rest)| rest.split_once(": "))
        .and_then(|(_, rest)| rest.split_once(". By server: "));
    let (takers, rest) = parts.unwrap_or_else(|| panic!("{text}"));
    (takers.to_owned(), rest.to_owned())
}
