//! Standard output as a file, and flags that would be ignored.

use std::fs;

use model::fixture;
use serde_json::json;

use crate::support::process::{Run, Running, command, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, send};

/// A run in a folder of its own, after which no file there is named `-`.
#[track_caller]
fn run_in(folder: &tempfile::TempDir, words: &[&str]) -> Run {
    let run = Running::start(command(words).current_dir(folder.path())).finish();
    assert!(
        !folder.path().join("-").exists(),
        "a file named -: {run:#?}"
    );
    run
}

fn server() -> Stub {
    Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    })
}

#[test]
fn samples_go_to_standard_output_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let stub = server();
    let url = stub.url();
    let load = ["load", &url, "-n", "20", "-c", "2", "--samples", "-"];
    let run = run_in(&folder, &load).expect_measured();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 20, "{run:#?}");
    for line in lines {
        serde_json::from_str::<model::record::Sample>(line).expect("a sample");
    }
    run_in(&folder, &[load.as_slice(), &["--json", "-"]].concat())
        .expect_code(2)
        .expect_complaint(&["--samples -", "--json -", "file"]);
    let run = run_in(
        &folder,
        &[load.as_slice(), &["--json", "trial.json"]].concat(),
    );
    assert_eq!(run.expect_measured().stdout.lines().count(), 20);
    assert!(folder.path().join("trial.json").is_file());
}

#[test]
fn tables_and_pages_go_to_standard_output_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = serde_json::to_string(&fixture::closed()).expect("a trial is JSON");
    fs::write(folder.path().join("trial.json"), text).expect("a file");
    let report = |more: &[&str]| run_in(&folder, &[&["report", "trial.json"], more].concat());
    let rows = report(&["--csv", "-"]).expect_code(0);
    assert_eq!(rows.stdout.lines().count(), 2, "{rows:#?}");
    let page = report(&["--html", "-"]).expect_code(0);
    assert!(page.stdout.starts_with("<!DOCTYPE html>") && page.stdout.ends_with("</html>\n"));
    let both = report(&["--html", "page.html", "--csv", "-"]).expect_code(0);
    assert_eq!(
        (&both.stdout, both.stderr.as_str()),
        (&rows.stdout, "page.html\n")
    );
    for (flags, words) in [
        (
            &["--html", "-", "--csv", "-"][..],
            &["--html -", "--csv -"][..],
        ),
        (&["--html", "-", "--pdf", "x.pdf"], &["--html -", "file"]),
        (&["--pdf", "-"], &["--pdf -", "file"]),
        (
            &["--html", "x", "--csv", "x"],
            &["x would be written twice"],
        ),
    ] {
        report(flags).expect_code(2).expect_complaint(words);
    }
    let twice = [
        "compare",
        "trial.json",
        "trial.json",
        "--html",
        "q",
        "--json",
        "./q",
    ];
    run_in(&folder, &twice)
        .expect_code(2)
        .expect_complaint(&["--html and --json both write ./q"]);
    let compared = run_in(
        &folder,
        &["compare", "trial.json", "trial.json", "--html", "-"],
    );
    let page = compared.expect_code(0).stdout;
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
}

#[test]
fn a_plan_says_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = serde_json::to_string(&fixture::closed().plan).expect("a plan is JSON");
    fs::write(folder.path().join("plan.json"), plan).expect("a file");
    let help = triathlon(["load", "--help"]).expect_code(0).stdout;
    let with_plan = [
        "--keep-secrets",
        "--help",
        "--plan",
        "--samples",
        "--version",
    ];
    let mut count = 0;
    for line in help.lines() {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| !word.starts_with("--"));
        let is_flag = line.trim_start().starts_with('-');
        let Some(flag) = words.next().filter(|_| is_flag) else {
            continue;
        };
        if with_plan.contains(&flag) {
            continue;
        }
        count += 1;
        let value = match flag {
            "--expect" => "body",
            "--expect-status" => "200",
            "--spin" | "--backend" => "auto",
            "--interface" | "--proxy-protocol-source" => "127.0.0.1",
            "--handshakes" => "full:1",
            "--proxy-protocol" => "v1",
            "--interface-order" => "random",
            "--duration" | "--timeout" | "--connect-timeout" | "--warmup" | "--deadline"
            | "--think" => "1s",
            "--reconnect" | "--slow-share" => "1%",
            "--stages" => "1s:1",
            "--capacity" => "errors<1%",
            "--capacity-of" => "rate",
            "--metrics" => "127.0.0.1:1",
            "--threshold" => "rate>1",
            "--tls-version" => "1.3",
            "--tls-groups" => "X25519",
            "--tls-suites" => "TLS_AES_128_GCM_SHA256",
            _ => "1",
        };
        let mut load = vec!["load", "--plan", "plan.json", flag];
        load.extend(words.next().map(|_| value));
        run_in(&folder, &load)
            .expect_code(2)
            .expect_complaint(&["--plan", flag]);
    }
    assert!(count >= 24, "only {count} flags in the help");
    run_in(&folder, &["load", "--plan", "plan.json", "--samples", "-"])
        .expect_code(2)
        .expect_complaint(&["--samples -", "--plan"]);
}

#[test]
fn what_is_resumed_is_what_was_begun() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("begun")).expect("a folder");
    let manifest = json!({
        "format": 1,
        "experiment": {
            "experiment": {"name": "mine", "question": "?", "rounds": 2, "duration": "1s"},
            "server": [{"product": "origin"}],
            "workload": [{"name": "seven-bytes", "body": {"bytes": 7}}],
            "load": {"connections": 1},
        },
        "source": "built-in",
        "command": [],
        "tool": {"version": "0.0.0", "commit": null, "debug_build": true, "traced": false},
        "time": "2026-11-20T10:00:00Z",
        "order_seed": 1,
        "at_once": 16,
    });
    let path = folder.path().join("begun/manifest.json");
    fs::write(path, manifest.to_string()).expect("a file");
    for (given, words) in [
        (
            &["--resume", "begun", "rounds=10"][..],
            &["--resume", "rounds=10"][..],
        ),
        (
            &["rounds=10", "--resume", "begun"],
            &["--resume", "rounds=10"],
        ),
        (
            &["mine", "rounds=10", "--resume", "begun"],
            &["--resume", "KEY=VALUE"],
        ),
        (
            &["first-heat", "--resume", "begun"],
            &["begun", "mine", "first-heat"],
        ),
    ] {
        run_in(&folder, &[&["lab"], given].concat())
            .expect_code(2)
            .expect_complaint(words);
    }
    run_in(&folder, &["lab", "mine", "--resume", "begun", "--list"]).expect_code(0);
}
