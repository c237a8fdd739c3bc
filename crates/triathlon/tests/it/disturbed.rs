//! A lab beside programs that take its CPUs: who it was stands first, and what they spoilt is
//! measured again.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use model::Trial;

use crate::lab::files;
use crate::support::process::{Running, triathlon};
use crate::support::{not_run, slow};

/// A program of which one runs for each CPU has more of them than anyone needs to be
/// named; it is called by a name of its own, since other tests run shells too.
#[test]
fn whoever_takes_the_cpus_is_named_in_the_first_sentence() {
    if !slow() {
        return not_run("disturbed::whoever_takes_the_cpus", "it takes seconds");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("burner");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let cpus = available_parallelism().map_or(1, |cpus| cpus.get());
    let burners: Vec<Running> = (0..cpus)
        .map(|_| Running::start(Command::new(&program).args(["-c", "while :; do :; done"])))
        .collect();
    let results = folder.path().join("results");
    let run = triathlon([
        "lab",
        "--no-lock",
        "first-heat",
        "server=origin",
        "rounds=1",
        "connections=[1]",
        "duration=200ms",
        "warmup=20ms",
        "--results",
        &results.display().to_string(),
    ])
    .expect_measured();
    drop(burners);
    let trials = files(&results, "trials").into_iter().map(|path| {
        let text = fs::read_to_string(path).expect("a readable trial");
        serde_json::from_str::<Trial>(&text).expect("a trial is JSON")
    });
    let trials: Vec<Trial> = trials.collect();
    for trial in &trials {
        let cause = trial.void.as_ref();
        assert!(cause.is_some(), "{:?}", trial.usage.system);
    }
    // Two points and their ceilings: all were measured a second time, which helped nobody.
    let attempt = |trial: &Trial| trial.point.as_ref().expect("a lab's trial").attempt;
    let again = trials.iter().filter(|trial| attempt(trial) == 1);
    assert_eq!(again.count(), 4, "{run:#?}");
    let text: Vec<&str> = run.stdout.split_whitespace().collect();
    let text = text.join(" ");
    let (_, sentence) = text
        .split_once("Something else had the CPUs in 8 of 8 trials: ")
        .unwrap_or_else(|| panic!("{text}"));
    let (takers, rest) = sentence.split_once(". By server: ").expect("who it was");
    assert!(takers.contains("burner in "), "{takers}");
    assert!(
        rest.starts_with("origin 4 of 4, the ceiling 4 of 4. "),
        "{rest}"
    );
}
