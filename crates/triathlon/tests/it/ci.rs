//! The example of docs/ci.md: two builds of a proxy in one lab, and a limit that fails for a
//! regression, and for nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use lab::store::Store;
use model::fixture::Heat;
use serde_json::Value;

use crate::support::need;
use crate::support::process::{Run, Running, command, triathlon};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn compare(results: &Path, limits: &[&str], more: &[&str]) -> Run {
    let results = results.display().to_string();
    let mut words = vec!["compare", &results, "--servers", "before,after"];
    for limit in limits {
        words.extend(["--fail-on", limit]);
    }
    words.extend(more);
    triathlon(words)
}

/// A result of two servers, whose second has `factor` times the rate of the first.
fn invented(results: &Path, factor: f64) -> PathBuf {
    let text = fs::read_to_string(docs().join("ci/proxy.toml")).expect("the example");
    let text = text.replace("\"proxy\"", "\"nginx\"");
    let experiment = lab::experiment::parse("proxy.toml", &text, &[]).expect("an experiment");
    let manifest = serde_json::json!({
        "format": model::plan::FORMAT, "experiment": experiment.file(), "source": "proxy.toml",
        "command": [], "tool": model::environment::Tool::default(),
        "time": "2026-11-20T10:00:00Z", "order_seed": 1,
    });
    let manifest = serde_json::from_value(manifest).expect("a manifest");
    let store = Store::create(results, &manifest, "").expect("a store");
    let trials = Heat {
        servers: vec!["before"],
        workloads: vec![("1 KB file", 1_024)],
        connections: vec![16],
        rounds: 10,
        ..Heat::default()
    }
    .trials();
    for (number, mut trial) in trials.into_iter().enumerate() {
        let is_ceiling = trial.point.as_ref().is_some_and(|point| point.ceiling);
        store.put_trial(&trial).expect("a trial is stored");
        if is_ceiling {
            continue;
        }
        let point = trial.point.as_mut().expect("a trial of a lab has a point");
        "after".clone_into(&mut point.id.server);
        point.sequence += 1_000 + u32::try_from(number).expect("a small number");
        trial.record.achieved_rate *= factor;
        store.put_trial(&trial).expect("a trial is stored");
    }
    store.directory().to_owned()
}

#[test]
fn a_limit_fails_for_a_regression_and_for_nothing_else() {
    for (factor, limit, code) in [
        (0.5, "rate:-5%", 4),
        (0.5, "rate:-60%", 0),
        (1.0, "rate:-5%", 0),
        (2.0, "rate:-5%", 0),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let result = invented(folder.path(), factor);
        let run = compare(&result, &[limit], &[]).expect_code(code);
        assert!(run.stdout.contains("after against before"), "{run:#?}");
        assert!(run.stdout.contains("measured in one lab"), "{run:#?}");
    }
}

#[test]
fn a_server_that_took_no_part_is_named_with_those_that_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = invented(folder.path(), 1.0).display().to_string();
    triathlon(["compare", &result, "--servers", "before,afer"])
        .expect_code(2)
        .expect_complaint(&["no trial of a server 'afer'", "after, before"]);
    triathlon(["compare", &result, "--servers", "before"])
        .expect_code(2)
        .expect_complaint(&["--servers before,after"]);
    triathlon(["compare", &result]).expect_code(2);
}

/// Runs the example as docs/ci.md has it, in shorter windows.
fn run_example(folder: &Path, more: &[&str]) -> PathBuf {
    let (file, servers) = (docs().join("ci/proxy.toml"), docs().join("ci/servers"));
    let results = folder.join("results");
    let words = [
        "lab".to_owned(),
        file.display().to_string(),
        "--servers".to_owned(),
        servers.display().to_string(),
        "--results".to_owned(),
        results.display().to_string(),
    ];
    let short = [
        "--no-lock",
        "--hiccups",
        "0s",
        "rounds=6",
        "repeats=0",
        "calm=0s",
        "duration=100ms",
        "warmup=20ms",
        // Sixteen connections are enough for a rate.
        "think=10ms",
    ];
    let words = words
        .iter()
        .map(String::as_str)
        .chain(short)
        .chain(more.iter().copied());
    let run = Running::start(&mut command(words));
    let limit = std::time::Duration::from_secs(240);
    run.finish_within(limit).expect_measured();
    results.join("proxy")
}

/// The numbers of a build for debugging are invalid; as those of any other they would count.
fn as_if_released(results: &Path) {
    let executions = fs::read_dir(results).expect("a folder");
    for execution in executions {
        let trials = execution.expect("an entry").path().join("trials");
        for trial in fs::read_dir(trials).expect("a folder") {
            let path = trial.expect("an entry").path();
            let text = fs::read_to_string(&path).expect("a trial");
            let text = text.replace("\"debug_build\":true", "\"debug_build\":false");
            fs::write(&path, text).expect("a trial can be written");
        }
    }
}

/// Whether what `rate:-5%` allows is left: by the whole interval of the ratio, which a busy machine
/// makes wide, and never by fewer than six rounds.
fn is_slower(run: &Run) -> bool {
    let compared: Value = serde_json::from_str(&run.stdout).expect("the comparison is JSON");
    let rows = compared["rows"].as_array().expect("rows");
    let rate = rows
        .iter()
        .find(|row| row["metric"] == "rate")
        .expect("a rate");
    let estimate = &rate["estimate"];
    let highest = estimate["interval"]["high"].as_f64();
    let pairs = estimate["sample"]["pairs"].as_u64().unwrap_or(0);
    pairs >= 6 && highest.is_some_and(|highest| highest < 0.95)
}

#[test]
fn the_example_of_the_page_fails_when_it_must_and_only_then() {
    let name = "the_example_of_the_page_fails_when_it_must_and_only_then";
    if need(name, ["nginx"]).is_none() {
        return;
    }
    let run = |more: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = run_example(folder.path(), more);
        as_if_released(&results);
        compare(&results, &["rate:-5%"], &["--json", "-"])
    };
    for more in [&[][..], &["server[1].preset=tuned"]] {
        let told = run(more);
        let expected = if is_slower(&told) { 4 } else { 0 };
        told.expect_code(expected);
    }
}
