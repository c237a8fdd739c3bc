//! Results that are stored: what somebody changed in them later, and what is left to do.

use std::fs;
use std::path::{Path, PathBuf};

use lab::store::Store;
use model::experiment::{ExperimentFile, Manifest};
use model::fixture::Heat;

use crate::support::process::triathlon;

fn manifest() -> Manifest {
    let text = "[experiment]\nname = 'mine'\nquestion = '?'\nrounds = 2\nduration = '2s'\n\
                [[server]]\nproduct = 'nginx'\n[[server]]\nproduct = 'origin'\n\
                [[workload]]\nname = 'seven-bytes'\nbody = { bytes = 7 }\n\
                [load]\nconnections = [1, 64]\n";
    let experiment = lab::experiment::parse("mine.toml", text, &[]).expect("an experiment");
    let experiment: &ExperimentFile = experiment.file();
    let manifest = serde_json::json!({
        "format": model::plan::FORMAT, "experiment": experiment, "source": "mine.toml",
        "command": [], "tool": model::environment::Tool::default(),
        "time": "2026-11-20T10:00:00Z", "order_seed": 1, "at_once": 16,
    });
    serde_json::from_value(manifest).expect("a manifest")
}

/// Twelve trials as a lab stores them, with its list.
fn stored(results: &Path) -> PathBuf {
    let trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        rounds: 2,
        ..Heat::default()
    }
    .trials();
    let store = Store::create(results, &manifest(), "").expect("a store");
    for trial in &trials {
        store.put_trial(trial).expect("a trial is stored");
    }
    store.directory().to_owned()
}

/// The files of trials, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("trials")).expect("a folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

#[test]
fn a_trial_that_is_missing_or_changed_is_told() {
    let results = tempfile::tempdir().expect("a folder");
    let folder = stored(results.path());
    let named = folder.display().to_string();
    let run = triathlon(["report", &named]).expect_code(0);
    assert!(!run.stderr.contains("stored"), "{run:#?}");
    let all = files(&folder);
    fs::remove_file(&all[3]).expect("it can be removed");
    let text = fs::read_to_string(&all[4]).expect("a trial");
    fs::write(&all[4], format!("{text} ")).expect("it can be written");
    let said = [
        "1 of 12 stored trials is missing",
        "1 trial was changed after it was stored",
    ];
    triathlon(["report", &named])
        .expect_code(1)
        .expect_complaint(&said);
    let page = fs::read_to_string(folder.join("report.html")).expect("the page");
    assert!(
        said.iter().all(|said| page.contains(said)),
        "the page does not say so"
    );
    triathlon(["compare", &named, &named])
        .expect_code(1)
        .expect_complaint(&said);
    let pack = results.path().join("small.pack").display().to_string();
    triathlon(["pack", &named, "-o", &pack])
        .expect_code(1)
        .expect_complaint(&said);
    // It is named, and not where it is unpacked for a moment.
    let (told, page) = (format!("{pack}: {}", said[0]), format!("{pack}.html"));
    for words in [
        &["judge", &pack][..],
        &["report", &pack, "--html", &page],
        &["compare", &pack, &pack],
    ] {
        triathlon(words).expect_code(1).expect_complaint(&[&told]);
    }
    let trial = all[0].display().to_string();
    let judged = triathlon(["judge", &trial]).expect_one_of(&[0, 3]);
    judged.expect_complaint(&said);
    let bundle = results.path().join("bundle");
    let words = ["report", &named, "--publish", &bundle.display().to_string()];
    triathlon(words).expect_code(1);
    let page = fs::read_to_string(bundle.join("report.html")).expect("the page");
    assert!(
        said.iter().all(|said| page.contains(said)),
        "the bundle does not say so"
    );
}

#[test]
fn the_others_are_judged_and_each_that_is_missing_or_broken_is_named() {
    let results = tempfile::tempdir().expect("a folder");
    let folder = stored(results.path());
    let named = folder.display().to_string();
    let all = files(&folder);
    let name = |file: &Path| {
        file.file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    let (missing, rest) = all.split_at(4);
    let (broken, whole) = rest.split_at(2);
    for file in missing {
        fs::remove_file(file).expect("it can be removed");
    }
    for file in broken {
        let text = fs::read_to_string(file).expect("a trial");
        fs::write(file, &text[..text.len() / 2]).expect("it can be written");
    }
    for format in [&["judge", &named][..], &["judge", "--json", &named]] {
        let run = triathlon(format).expect_code(1);
        let run = run.expect_complaint(&["4 of 12 stored trials are missing", "is not a trial"]);
        for file in missing.iter().chain(broken) {
            assert!(run.stderr.contains(&name(file)), "{file:?}: {run:#?}");
            assert!(!run.stdout.contains(&name(file)), "{file:?}: {run:#?}");
        }
        match format.len() {
            2 => assert!(
                whole.iter().all(|file| run.stdout.contains(&name(file))),
                "{run:#?}"
            ),
            _ => assert_eq!(run.stdout.lines().count(), whole.len()),
        }
    }
    let given = whole
        .iter()
        .chain(broken)
        .map(|file| file.display().to_string());
    let run = triathlon(["judge".to_owned()].into_iter().chain(given)).expect_code(1);
    assert!(run.stdout.contains(&name(&whole[0])), "{run:#?}");
    let run = triathlon(["report", &named]).expect_code(1);
    for file in missing.iter().chain(broken) {
        assert!(run.stderr.contains(&name(file)), "{file:?}: {run:#?}");
    }
    for file in rest {
        fs::remove_file(file).expect("it can be removed");
    }
    triathlon(["judge", &named])
        .expect_code(1)
        .expect_complaint(&["12 of 12 stored trials are missing", "no trial found in"]);
}

#[test]
fn what_a_resumed_lab_would_do_is_listed() {
    let results = tempfile::tempdir().expect("a folder");
    let folder = stored(results.path()).display().to_string();
    let run = triathlon(["lab", "--resume", &folder, "--list"]).expect_code(0);
    for words in ["server      origin", "\nleft  ", "(12 trials stored)"] {
        assert!(run.stdout.contains(words), "{words}: {run:#?}");
    }
    assert!(!run.stdout.contains("scalable-2003"), "{run:#?}");
}

#[test]
fn a_bundle_has_digests_of_its_own() {
    let results = tempfile::tempdir().expect("a folder");
    let folder = stored(results.path()).display().to_string();
    let bundle = results.path().join("bundle").display().to_string();
    triathlon(["report", &folder, "--publish", &bundle]).expect_code(0);
    let run = triathlon(["report", &bundle]).expect_code(0);
    assert!(!run.stderr.contains("stored"), "{run:#?}");
    let list = fs::read_to_string(Path::new(&bundle).join("SHA256SUMS")).expect("the list");
    assert_eq!(list.lines().count(), 12);
}

#[test]
fn results_of_another_format_are_refused_with_a_sentence() {
    let results = tempfile::tempdir().expect("a folder");
    let folder = stored(results.path());
    let path = folder.join("manifest.json");
    let text = fs::read_to_string(&path).expect("the manifest");
    let format = format!("\"format\":{}", model::plan::FORMAT);
    let other = text.replacen(&format, "\"format\":99", 1);
    assert_ne!(other, text);
    fs::write(&path, other).expect("it can be written");
    let folder = folder.display().to_string();
    let why = [
        "manifest.json has format 99",
        "use the version that stored it",
    ];
    triathlon(["report", &folder])
        .expect_code(1)
        .expect_complaint(&why);
    triathlon(["compare", &folder, &folder])
        .expect_code(1)
        .expect_complaint(&why);
    triathlon(["lab", "--resume", &folder])
        .expect_code(1)
        .expect_complaint(&why);
}
