//! Two results laid over each other, from outside.

use std::fs;
use std::path::{Path, PathBuf};

use model::Trial;
use model::experiment::{ExperimentFile, Manifest};
use model::fixture::{Heat, Shaped};
use model::probe::{Pass, ProbeResult, Series};
use serde_json::Value;

use crate::support::process::{Run, Running, command, triathlon};

/// Two servers, one workload, rates times `factor`, as a lab stores them.
fn store(folder: &Path, seed: u64, rounds: u32, factor: f64) -> PathBuf {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        rounds,
        seed,
        ..Heat::default()
    }
    .trials();
    let place = folder.join(format!("2026-11-2{seed}T10-00-00Z"));
    fs::create_dir_all(place.join("trials")).expect("a folder");
    for (number, trial) in trials.iter_mut().enumerate() {
        trial.record.achieved_rate *= factor;
        put(&place.join(format!("trials/{number:05}.json")), trial);
    }
    put(&place.join("manifest.json"), &manifest(rounds));
    place
}

fn manifest(rounds: u32) -> Manifest {
    let experiment: ExperimentFile = serde_json::from_value(serde_json::json!({
        "experiment": {"name": "mine", "question": "?", "rounds": rounds, "duration": "2s"},
        "server": [{"product": "nginx"}, {"product": "origin"}],
        "workload": [{"name": "seven-bytes", "body": {"bytes": 7}}],
        "load": {"mode": "closed", "connections": [1, 64]},
    }))
    .expect("an experiment");
    Manifest {
        format: model::plan::FORMAT,
        experiment,
        source: "mine.toml".to_owned(),
        command: Vec::new(),
        tool: model::environment::Tool::default(),
        time: "2026-11-20T10:00:00Z".to_owned(),
        order_seed: 1,
        notes: Vec::new(),
        scaled: Vec::new(),
        not_repeated: 0,
        left_out: None,
        server_cpus: vec![0],
        generator_cpus: vec![1],
        cpu_choice: "servers on CPU 0, the generator on CPU 1".to_owned(),
        at_once: 16,
    }
}

fn put(file: &Path, value: &impl serde::Serialize) {
    let text = serde_json::to_string(value).expect("JSON");
    fs::write(file, text).expect("a file can be written");
}

fn load(folder: &Path, name: &str, rate: f64) -> PathBuf {
    let shaped = Shaped {
        rate,
        ..Shaped::default()
    };
    let file = folder.join(name);
    put(&file, &shaped.trial());
    file
}

fn compare(a: &Path, b: &Path, more: &[&str]) -> Run {
    let (a, b) = (a.display().to_string(), b.display().to_string());
    let mut words = vec!["compare", &a, &b];
    words.extend(more);
    triathlon(words)
}

#[test]
fn two_executions_of_a_lab_have_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = store(folder.path(), 1, 8, 1.0);
    let b = store(folder.path(), 2, 8, 0.9);
    let run = compare(&a, &b, &[]).expect_code(0);
    let order = [
        "Same environment",
        "Same configuration",
        "Declared comparisons",
        "nginx, seven-bytes, 64 connections",
        "slower (margin 2.0 %)",
        "Everything else",
        "Declared: 2 comparisons",
        "The two were measured at different times.",
    ];
    let mut rest = run.stdout.as_str();
    for part in order {
        let at = rest.find(part);
        rest = &rest[at.unwrap_or_else(|| panic!("{part}: {}", run.stdout))..];
    }
    let same = compare(&a, &a, &[]).expect_code(0);
    assert!(same.stdout.contains("equivalent within 2.0 %"), "{same:#?}");
    assert!(same.stdout.starts_with("A: A\nB: B\n"), "{same:#?}");
}

#[test]
fn every_form_has_the_same_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = store(folder.path(), 1, 8, 1.0);
    let b = store(folder.path(), 2, 8, 1.2);
    let [html, markdown] = ["c.html", "c.md"].map(|name| folder.path().join(name));
    let run = compare(
        &a,
        &b,
        &[
            "--json",
            "-",
            "--html",
            &html.display().to_string(),
            "--markdown",
            &markdown.display().to_string(),
            "--fail-on",
            "rate:-3%",
        ],
    )
    .expect_code(0);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON alone on stdout");
    assert_eq!(json["format"], 1);
    assert_eq!(json["family"]["comparisons"], 2);
    assert_eq!(json["rows"][0]["answer"]["answer"], "more");
    assert_eq!(json["rows"][0]["estimate"]["sample"]["design"], "unpaired");
    let coverage = json["rows"][0]["estimate"]["interval"]["coverage"].as_f64();
    assert!((0.95..0.96).contains(&coverage.expect("a level")), "{json}");
    assert_eq!(json["limits"].as_array().map(Vec::len), Some(4));
    assert!(run.stderr.contains("rate:-3% holds"), "{run:#?}");
    for file in [html, markdown] {
        let text = fs::read_to_string(&file).expect("a document");
        assert!(text.contains("faster (margin 2.0 %)"), "{}", file.display());
        assert!(text.contains("The two were measured at different times."));
    }
    compare(&a, &b, &["--json", "-", "--markdown", "-"])
        .expect_code(2)
        .expect_complaint(&["--json - and --markdown -", "name a file"]);
}

/// What a lab with the secret `X` left, in its experiment, its command and a configuration.
fn store_with_secrets(folder: &Path, seed: u64, accepted: &str) -> PathBuf {
    let place = store(folder, seed, 2, 1.0);
    let mut manifest = serde_json::to_value(manifest(2)).expect("JSON");
    manifest["experiment"]["workload"][0]["request"] = serde_json::json!([{
        "body": {"bytes": 7},
        "headers": [["Authorization", "Bearer X"], ["X-Api-Key", "X"], ["Accept", accepted]],
    }]);
    let word = r#"workload[0].request[0].headers=[["Authorization","Bearer X"],["Cookie","X"]]"#;
    manifest["command"] = serde_json::json!(["triathlon", "lab", "mine.toml", word]);
    put(&place.join("manifest.json"), &manifest);
    for entry in fs::read_dir(place.join("trials")).expect("a folder") {
        let file = entry.expect("an entry").path();
        let text = fs::read_to_string(&file).expect("a trial");
        let mut trial: Trial = serde_json::from_str(&text).expect("a trial");
        let Some(server) = trial.context.server.as_mut() else {
            continue;
        };
        let line = format!("proxy_set_header Cookie \"X\"; # {}\n", server.product);
        server.configuration.insert("proxy.conf".to_owned(), line);
        put(&file, &trial);
    }
    place
}

#[test]
fn no_form_repeats_a_credential() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = store_with_secrets(folder.path(), 1, "text/a");
    let b = store_with_secrets(folder.path(), 2, "text/b");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let files = ["c.html", "c.md", "c.json", "r.html", "r.md"].map(path);
    let [html, markdown, json, page, study] = &files;
    let documents = ["--html", html, "--markdown", markdown, "--json", json];
    let mut all = vec![compare(&a, &b, &documents).expect_code(0).stdout];
    assert!(all[0].contains("text/b"), "{}", all[0]);
    let named = a.display().to_string();
    let servers = ["compare", &named, "--servers", "nginx,origin"];
    all.push(triathlon(servers).expect_code(0).stdout);
    assert!(all[1].contains("# nginx"), "{}", all[1]);
    triathlon(["report", &named, "--html", page, "--markdown", study]).expect_code(0);
    let read = |file: &String| fs::read_to_string(file).expect("a document");
    all.extend(files.iter().map(read));
    for text in all {
        for shown in ["Bearer X", "\"X\"", "&quot;X&quot;", r#"\"X\""#] {
            assert!(!text.contains(shown), "{shown}: {text}");
        }
    }
}

#[test]
fn a_limit_fails_only_where_the_whole_interval_lies_beyond() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = store(folder.path(), 1, 8, 1.0);
    let b = store(folder.path(), 2, 8, 0.9);
    let failed = compare(&a, &b, &["--fail-on", "rate:-3%"]).expect_code(4);
    assert!(failed.stdout.contains("rate:-3% failed"), "{failed:#?}");
    let near = compare(&a, &b, &["--fail-on=rate:-10%"]).expect_code(0);
    assert!(
        near.stdout.contains("rate:-10% is inconclusive"),
        "{near:#?}"
    );
    let far = compare(&a, &b, &["--fail-on", "rate:-20%", "--fail-on", "cpu:+50%"]);
    let far = far.expect_code(0);
    assert!(far.stdout.contains("rate:-20% holds"), "{far:#?}");
    compare(&a, &b, &["--fail-on", "rate:-20%", "--fail-on", "rate:-3%"]).expect_code(4);
    // Three rounds of each have no interval: they fail nothing.
    let few = folder.path().join("few");
    let (a, b) = (store(&few, 3, 3, 1.0), store(&few, 4, 3, 0.5));
    let said = compare(&a, &b, &["--fail-on", "rate:-3%"]).expect_code(0);
    let inconclusive = "rate:-3% is inconclusive";
    assert!(said.stdout.contains(inconclusive), "{said:#?}");
    assert!(said.stdout.contains("3 rounds are too few"), "{said:#?}");
}

#[test]
fn a_limit_that_cannot_be_read_says_what_is_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = load(folder.path(), "a.json", 60_000.0);
    for (limit, why) in [
        ("rate", "'rate' has no ':'"),
        ("speed:-3%", "'speed' is not a metric"),
        ("rate:3%", "has no sign"),
        ("rate:-3", "does not end in %"),
    ] {
        compare(&a, &a, &["--fail-on", limit])
            .expect_code(2)
            .expect_complaint(&[
                why,
                "metrics: rate, cpu, p50, p99, page_p50, page_p99, memory",
                "rate:-3%",
            ]);
    }
    compare(&a, &a, &["--fail-on", "end:+5%"])
        .expect_code(2)
        .expect_complaint(&["these results have no end", "cpu", "rate"]);
}

#[test]
fn single_runs_have_a_ratio_and_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = load(folder.path(), "a.json", 60_000.0);
    let b = load(folder.path(), "b.json", 30_000.0);
    let run = compare(&a, &b, &[]).expect_code(0);
    for part in ["0.500", "a ratio and no answer", "A single trial"] {
        assert!(run.stdout.contains(part), "{part}: {run:#?}");
    }
    // A gate that no result can fail is a mistake of whoever built it.
    compare(&a, &b, &["--fail-on", "rate:-3%"])
        .expect_code(2)
        .expect_complaint(&[
            "--fail-on rate:-3%",
            "could never fail",
            "compare the folders",
        ]);
    // A folder of such files has a round for each.
    for side in ["old", "new"] {
        fs::create_dir(folder.path().join(side)).expect("a folder");
        for number in 0..5 {
            let factor = if side == "old" { 1.0 } else { 1.5 };
            let rate = factor * (50_000.0 + 100.0 * f64::from(number));
            let name = format!("{side}/{number}.json");
            load(folder.path(), &name, rate);
        }
    }
    let run = compare(&folder.path().join("old"), &folder.path().join("new"), &[]);
    let run = run.expect_code(0);
    assert!(run.stdout.contains("faster (margin 2.0 %)"), "{run:#?}");
}

#[test]
fn probes_compare_by_their_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let probe = |name: &str, factor: u64| {
        let file = folder.path().join(name);
        let passes = (1..=5).map(|number| Pass {
            number,
            series: vec![Series::counted(
                "socket",
                (0..60)
                    .map(|n| factor * (900 + n + u64::from(number)))
                    .collect(),
            )],
            ..Pass::default()
        });
        let result = ProbeResult {
            probe_format: model::probe::FORMAT,
            probe: "socket".to_owned(),
            population: 60,
            passes: passes.collect(),
            ..ProbeResult::default()
        };
        put(&file, &result);
        file
    };
    let (a, b) = (probe("a.json", 1), probe("b.json", 2));
    let page = folder.path().join("both.html").display().to_string();
    let run = compare(&a, &b, &["--html", &page]).expect_code(0);
    assert!(run.stdout.contains("dearer (margin 2.0 %)"), "{run:#?}");
    let html = fs::read_to_string(&page).expect("a page");
    assert!(html.contains("dearer (margin 2.0 %)") && html.contains("Every point"));
    let load = load(folder.path(), "load.json", 60_000.0);
    compare(&a, &load, &[]).expect_code(2).expect_complaint(&[
        "'triathlon probe'",
        "'triathlon load'",
        "the same command",
    ]);
}

#[test]
fn a_folder_of_several_executions_is_not_pooled() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = store(folder.path(), 1, 6, 1.0);
    let alone = folder.path().join("alone");
    let only = store(&alone, 3, 6, 1.0);
    compare(&alone, &only, &[]).expect_code(0);
    store(folder.path(), 2, 6, 1.0);
    compare(folder.path(), &a, &[])
        .expect_code(2)
        .expect_complaint(&[
            "holds 2 executions",
            "give one of them",
            "2026-11-22T10-00-00Z",
        ]);
    let trial: Trial = {
        let text = fs::read_to_string(a.join("trials/00000.json")).expect("a trial");
        serde_json::from_str(&text).expect("a trial")
    };
    assert!(trial.point.is_some());
    compare(&a.join("trials"), &a, &[])
        .expect_code(1)
        .expect_complaint(&["belongs to an experiment", "manifest.json"]);
    let empty = tempfile::tempdir().expect("a folder");
    compare(empty.path(), &a, &[])
        .expect_code(1)
        .expect_complaint(&["holds no result"]);
    compare(&empty.path().join("none"), &a, &[])
        .expect_code(1)
        .expect_complaint(&["does not exist"]);
}

#[test]
fn the_help_names_metrics_and_exit_codes() {
    let run = triathlon(["compare", "--help"]).expect_code(0);
    for part in [
        "--fail-on",
        "Exit codes: 0 compared",
        "4 a limit of --fail-on",
        "Metrics: rate, cpu",
        "--markdown",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

/// Two of one lab in which a server stood twice: what equal servers differ by is no difference, in
/// the comparison as in the report.
#[test]
fn no_difference_below_that_of_twins_is_told() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pack = root.join("record/rootusers-2016/results.pack");
    let pack = pack.to_str().expect("a path in UTF-8");
    let servers = "nginx 1 core,nginx 1 core log on";
    let run = triathlon(["compare", pack, "--servers", servers]).expect_code(0);
    let told = &run.stdout;
    for words in [
        "are the same server twice, and may differ by ",
        "no smaller difference is reported",
        "inconclusive: ",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("slower (margin"), "{told}");
}

/// One study on two machines: the page beside it is what the command says of the two records, with
/// the processors and kernels that differ.
#[test]
fn a_study_on_two_machines_has_its_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let packs = ["elsewhere", "results"].map(|run| format!("record/rootusers-2016/{run}.pack"));
    let words = ["compare", &packs[0], &packs[1], "--markdown", "-"];
    let made = Running::start(command(words).current_dir(&root)).finish();
    let made = made.expect_code(0);
    let page = fs::read_to_string(root.join("docs/studies/rootusers-2016-elsewhere.md"));
    let page = page.expect("a page");
    let own = page.split_once("\n\n## ").expect("a heading before it").1;
    assert_eq!(format!("## {own}"), made.stdout);
    for differs in [
        "| cpu model | Intel(R) Xeon(R) Processor | AMD EPYC |",
        "| kernel | ",
    ] {
        assert!(made.stdout.contains(differs), "{differs}");
    }
}
