//! Servers as folders: those that the program brings along beyond the first four, and the user's.

use std::fs;
use std::path::Path;

use model::Trial;

use crate::lab::files;
use crate::support::need;
use crate::support::process::{Run, triathlon};

/// A lab of one point, of `server` alone.
fn tiny(server: &str, results: &Path, more: &[&str]) -> Run {
    let server = format!("server={server}");
    let results = results.display().to_string();
    let mut arguments = vec!["lab", "--no-lock", "first-heat", &server, "rounds=1"];
    arguments.push("connections=[2]");
    arguments.extend(["duration=50ms", "warmup=20ms", "--hiccups", "0s"]);
    arguments.extend(["--results", &results]);
    arguments.extend(more);
    triathlon(arguments)
}

/// Those that were not measured again because something disturbed them.
fn trials(results: &Path) -> Vec<Trial> {
    let read = |path| fs::read_to_string(path).expect("a readable trial");
    let trials = files(results, "trials").into_iter().map(read);
    trials
        .map(|text| serde_json::from_str(&text).expect("a trial"))
        .filter(|trial: &Trial| trial.point.as_ref().is_none_or(|point| point.attempt == 0))
        .collect()
}

/// Runs a tiny lab of `server`, of which `version` is the beginning of its version and `processes`
/// the least number of its processes.
fn check_measured(server: &str, version: &str, processes: usize, more: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = tiny(server, folder.path(), more).expect_measured();
    let gaps = files(folder.path(), "gaps");
    assert!(gaps.is_empty(), "{server}: {run:#?}");
    let mut seen = 0;
    for trial in trials(folder.path()) {
        if trial.point.as_ref().is_none_or(|point| point.ceiling) {
            continue;
        }
        seen += 1;
        let facts = trial.context.server.expect("a server");
        assert_eq!(facts.product, server);
        assert!(facts.version.starts_with(version), "{facts:?}");
        assert_eq!(facts.listener_is_ours, Some(true), "{facts:?}");
        let before = facts.processes_before.expect("processes");
        assert!(before.len() >= processes, "{server}: {before:?}");
        assert_eq!(Some(before), facts.processes_after, "{server}");
        assert!(trial.record.achieved_rate > 0.0, "{server}");
        let usage = trial.usage.server.expect("usage");
        assert!(usage.cpu.is_some_and(|cpu| !cpu.is_zero()), "{server}");
    }
    assert_eq!(seen, 2, "{server}: {run:#?}");
}

#[test]
fn h2o_is_a_folder() {
    if need("h2o_is_a_folder", ["h2o"]).is_some() {
        check_measured("h2o", "h2o version ", 1, &[]);
        check_measured("h2o", "h2o version ", 1, &["server[0].preset=stock"]);
        check_measured("h2o", "h2o version ", 1, &["server[0].access_log=on"]);
    }
}

#[test]
fn caddy_is_a_folder() {
    if need("caddy_is_a_folder", ["caddy"]).is_some() {
        check_measured("caddy", "2.", 1, &[]);
        check_measured("caddy", "2.", 1, &["server[0].access_log=on"]);
    }
}

/// A rig: a cache, its manager and origin behind it, all metered together.
#[test]
fn varnish_before_origin_is_a_folder() {
    if need("varnish_before_origin_is_a_folder", ["varnishd", "cc"]).is_some() {
        check_measured("varnish", "varnish-", 3, &[]);
        check_measured("varnish", "varnish-", 3, &["server[0].preset=stock"]);
    }
}

/// A server that everybody has: this program, by a folder of the user's.
const MINE: &str = r#"install = "it is here"

[[process]]
programs = ["@triathlon"]
version = { arguments = ["--version"], pattern = "[0-9.]+" }
arguments = ["serve", "{{ site }}", "--listen", "127.0.0.1:{{ port }}", "--workers", "1"]

[access_log]
off = {}

[handler.static]
[protocol.http1]
"#;

/// A folder of servers with `mine` in it.
fn mine(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    fs::write(folder.path().join("mine/server.toml"), text).expect("a file");
    folder
}

#[test]
fn a_server_of_the_users_is_a_folder_too() {
    let folder = mine(MINE);
    let servers = folder.path().display().to_string();
    check_measured("mine", "", 1, &["--servers", &servers]);
    let listing = triathlon(["lab", "--list", "servers", "--servers", &servers]);
    assert!(listing.stdout.contains("\nmine "), "{listing:#?}");
    let results = tempfile::tempdir().unwrap();
    tiny("mine", results.path(), &[])
        .expect_code(2)
        .expect_complaint(&["the lab knows no product 'mine'"]);
    // What it cannot do is a row, and it was asked for by its name.
    let run = tiny(
        "mine",
        results.path(),
        &["--servers", &servers, "server[0].access_log=on"],
    );
    run.expect_code(1)
        .expect_complaint(&["mine has no access log 'on'; there are off"]);
}

#[test]
fn mistakes_in_a_folder_are_told_with_file_and_line() {
    let check = |from: &str, to: &str, code: i32, complaints: &[&str]| {
        assert!(MINE.contains(from), "{from}");
        let folder = mine(&MINE.replacen(from, to, 1));
        let servers = folder.path().display().to_string();
        let results = tempfile::tempdir().unwrap();
        tiny("mine", results.path(), &["--servers", &servers])
            .expect_code(code)
            .expect_complaint(complaints);
    };
    check(
        "{{ site }}",
        "{{ sitte }}",
        2,
        &[
            "mine/server.toml:6: process[0].arguments: there is no value 'sitte'",
            "'site'?",
        ],
    );
    check(
        "[0-9.]+",
        "no version",
        1,
        &["mine/server.toml:5: process[0].version.pattern: 'no version' is nowhere in what"],
    );
    check(
        "arguments = [\"serve\",",
        "arguments = [\"surf\",",
        1,
        &["it ended at once (exit code 2)", "surf"],
    );
    check(
        "127.0.0.1:{{ port }}\", \"--workers\", \"1\"]",
        "127.0.0.1:0\"]\nready = { within = \"200ms\" }",
        1,
        &[
            "it is not ready after 0.2 s",
            "mine/server.toml:7: ",
            "it does not listen on port",
        ],
    );
}

#[test]
fn a_workload_that_a_server_does_not_offer_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"[experiment]
name = "first-heat"
question = "?"
rounds = 1
warmup = "20ms"
duration = "50ms"
[[server]]
product = "origin"
[[workload]]
name = "page"
[[workload.request]]
body = { bytes = 7 }
weight = 3
[[workload.request]]
body = { bytes = "20k" }
[[workload]]
name = "script"
needs = ["cgi"]
[[workload.request]]
path = "/cgi-bin/hello"
[load]
connections = 2
"#;
    let file = folder.path().join("mine.toml").display().to_string();
    fs::write(&file, text).unwrap();
    let results = folder.path().join("results");
    let place = results.display().to_string();
    let words = [
        "lab",
        "--no-lock",
        &file,
        "--hiccups",
        "0s",
        "--results",
        &place,
    ];
    let why = "origin does not offer 'cgi', which the workload needs; it offers static, http1";
    let run = triathlon(words)
        .expect_code(1)
        .expect_complaint(&[&format!("not 'script': {why}"), "origin (script)"]);
    let gaps = files(&results, "gaps");
    assert_eq!(gaps.len(), 1, "{run:#?}");
    let gap = fs::read_to_string(&gaps[0]).unwrap();
    assert!(gap.contains(why) && gap.contains("script"), "{gap}");
    // The other workload is measured: both of its requests, three of one for each of the other.
    let measured: Vec<Trial> = trials(&results);
    let of_origin = measured.iter().filter(|trial| {
        let point = trial.point.as_ref().expect("a point");
        !point.ceiling && point.id.workload == "page"
    });
    let of_origin: Vec<&Trial> = of_origin.collect();
    assert_eq!(of_origin.len(), 1, "{run:#?}");
    let classes = &of_origin[0].record.classes;
    assert_eq!(classes.len(), 2, "{run:#?}");
    assert!(
        classes
            .iter()
            .all(|class| class.outcomes.failures() == 0 && class.outcomes[model::Outcome::Ok] > 0),
        "{run:#?}"
    );
}
