//! The door itself: help, interruption, stored trials judged again.

use std::fs;

use model::event::Phase;
use model::{Outcome, Span, Trial};

use crate::support::process::{Running, command, load, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, send};
use crate::support::{plan, wait_until};
use crate::tls::{Files, https};

fn right() -> Stub {
    Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    })
}

#[test]
fn every_subcommand_helps_with_examples() {
    let help = triathlon(["--help"]).expect_code(0).stdout;
    let list = help
        .split_once("Commands:")
        .and_then(|(_, rest)| rest.split_once("\n\n"))
        .map(|(list, _)| list)
        .expect("a list of commands");
    let names: Vec<&str> = list
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    for name in ["load", "serve", "lab", "report", "judge"] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    for name in names {
        let help = triathlon([name, "--help"]).expect_code(0).stdout;
        let examples = help.to_lowercase();
        let examples = examples.split_once("example").map(|(_, rest)| rest);
        assert!(
            examples.is_some_and(|text| text.contains(&format!("triathlon {name}"))),
            "no example in the help of {name}:\n{help}"
        );
    }
}

#[test]
fn versions_are_told() {
    let version = env!("CARGO_PKG_VERSION");
    let told = triathlon(["--version"]).expect_code(0).stdout;
    assert_eq!(told, format!("triathlon {}\n", env!("TRIATHLON_BUILD")));
    assert!(told.contains(version), "{told}");
    let known = option_env!("TRIATHLON_COMMIT").filter(|commit| !commit.is_empty());
    assert!(known.is_none_or(|commit| told.contains(commit)), "{told}");
}

#[test]
fn a_trial_names_the_build() {
    let server = right();
    let trial = triathlon(["load", &server.url(), "-n", "1", "--json", "-"]).trial();
    assert_eq!(trial.environment.tool.version, env!("CARGO_PKG_VERSION"));
    let known = option_env!("TRIATHLON_COMMIT").filter(|commit| !commit.is_empty());
    assert_eq!(trial.environment.tool.commit.as_deref(), known);
}

#[test]
fn examples_quote_what_a_shell_would_take_for_a_pattern() {
    for subcommand in ["lab", "load", "probe", "serve"] {
        let help = triathlon([subcommand, "--help"]).expect_code(0).stdout;
        let examples = help.lines().filter(|line| line.starts_with("  triathlon "));
        for example in examples {
            let bare: String = example.split('\'').step_by(2).collect();
            assert!(!bare.contains(['[', '*', '?', '&']), "{example}");
        }
    }
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let server = right();
    let mut wanted = plan::paced(&server.url(), 200, 600);
    wanted.workers = 1;
    let running = plan::start(&wanted);
    wait_until("the window began", || {
        plan::reached(&running, Phase::Measurement)
    });
    let seen = server.requests();
    wait_until("something was measured", || server.requests() > seen + 50);
    running.signal("INT");
    let (run, trial) = plan::finish(running);
    assert_eq!(run.code, Some(130), "{run:#?}");
    assert!(trial.record.interrupted);
    assert!(trial.record.total.outcomes[Outcome::Ok] >= 40, "{run:#?}");
    assert_eq!(trial.record.total.outcomes.failures(), 0, "{run:#?}");
}

#[test]
fn an_interrupted_run_prints_its_result() {
    let server = right();
    let flags = "-c 2 -t 1 -d 10m --warmup 0s -R 200";
    let url = server.url();
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let running = Running::start(&mut command(words));
    wait_until("something was measured", || server.requests() > 50);
    running.signal("INT");
    let run = running.finish().expect_code(130);
    assert!(
        run.stdout.to_lowercase().contains("interrupted"),
        "{run:#?}"
    );
}

#[test]
fn an_interrupt_during_the_warm_up_is_told_and_nothing_is_judged() {
    let server = right();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trial.json").display().to_string();
    let flags = "-c 2 -t 1 --warmup 10m -R 200";
    let url = server.url();
    let words = ["load", &url, "--json", &path].into_iter();
    let running = Running::start(&mut command(words.chain(flags.split(' '))));
    wait_until("it warms up", || server.requests() > 50);
    running.signal("INT");
    let run = running.finish().expect_code(130);
    let said: Vec<&str> = run.stdout.split_whitespace().collect();
    let said = said.join(" ");
    for words in [
        "interrupted during the warm-up, after ",
        "of 10.0 min: nothing was measured",
    ] {
        assert!(said.contains(words), "{words}: {run:#?}");
    }
    for word in ["invalid", " 0 ns", "goodput", "could not"] {
        assert!(!said.contains(word), "{word}: {run:#?}");
    }
    let trial = fs::read_to_string(&path).expect("the trial is written");
    let trial: Trial = serde_json::from_str(&trial).expect("a trial");
    assert!(trial.verdict.claims.is_empty() && trial.verdict.findings.is_empty());
}

#[test]
fn an_interrupt_does_not_wait_for_the_answer_before_the_run() {
    let silent = Stub::start(|_, _| Next::Keep);
    let url = silent.url();
    let words = ["load", &url, "-t", "1", "--timeout", "10m"];
    let running = Running::start(&mut command(words));
    wait_until("it was asked", || silent.requests() > 0);
    running.signal("INT");
    running.finish().expect_code(130);
}

/// By a name and over TLS: the report has a row for each part of the way, and the record has as
/// many values of each as there were look-ups, connections and answers.
#[test]
fn each_part_of_the_way_has_its_times() {
    let files = Files::new();
    files.sign("site", |_| {});
    // An answer of this size comes in parts, so that it has a first byte apart from its end.
    let server = files.serve("site", &[("large", &vec![b'x'; 1 << 20])], "");
    let url = https(&server.url("/large")).replace("127.0.0.1", "localhost");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trial.json").display().to_string();
    let trust = files.trust();
    let flags = format!("-n 24 -c 4 -t 1 --warmup 0s {trust} --json {path}");
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let run = triathlon(words).expect_measured();
    let trial = fs::read_to_string(&path).expect("the trial is written");
    let record = serde_json::from_str::<Trial>(&trial)
        .expect("a trial")
        .record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 24, "{run:#?}");
    let lookup = record.lookup.as_ref().expect("the name was looked up");
    let parts = [
        ("look-up", &lookup.time, 1),
        ("connect", &record.connect_time, 4),
        ("handshake", &record.tls_time, 4),
        ("first byte", &record.first_byte_time, 24),
        ("transfer", &record.transfer_time, 24),
        ("response", &record.response_time, 24),
    ];
    for (row, times, count) in parts {
        assert_eq!((row, times.count()), (row, count), "{run:#?}");
        let is_there = times.max() > Some(Span::ZERO);
        assert!(is_there, "{row} takes no time: {run:#?}");
        let mut lines = run.stdout.lines();
        let shown = lines.any(|line| line.trim_start().starts_with(row));
        assert!(shown, "no row {row}: {run:#?}");
    }
    assert_eq!(record.tls.map(|tls| tls.full_time.count()), Some(4));
}

#[test]
fn a_stored_trial_is_judged_again_to_the_same_effect() {
    let server = right();
    let run = load(&server.url(), "-n 400 -c 4 -t 1 --warmup 0s").expect_measured();
    let trial = run.trial();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("trial.json");
    fs::write(&path, &run.stdout).expect("a file");
    let judged = triathlon([std::ffi::OsStr::new("judge"), path.as_os_str()]).expect_measured();
    let status = trial.verdict.status.name();
    assert!(judged.stdout.to_lowercase().contains(status), "{judged:#?}");
    // What is written again is what was read.
    let again = serde_json::to_value(&trial).expect("a trial can be written");
    let first: serde_json::Value = serde_json::from_str(&run.stdout).expect("it was JSON");
    assert_eq!(again, first);
}
