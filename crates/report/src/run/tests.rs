use model::finding::Status;
use model::fixture::Heat;

use super::*;

#[test]
fn names_are_ordered_as_people_count() {
    let mut names = [
        "nginx 10 cores",
        "origin",
        "nginx 2 cores",
        "Apache",
        "origin",
    ]
    .map(str::to_owned)
    .to_vec();
    in_order(&mut names, &["origin".to_owned()]);
    assert_eq!(
        names,
        ["origin", "Apache", "nginx 2 cores", "nginx 10 cores"]
    );
}

#[test]
fn commands_are_quoted_as_a_shell_reads_them() {
    let words = ["triathlon", "lab", "my experiment.toml", "it's"].map(str::to_owned);
    assert_eq!(
        shell(&words),
        "triathlon lab 'my experiment.toml' 'it'\\''s'"
    );
}

#[test]
fn a_point_keeps_its_worth_where_one_round_is_struck() {
    let mut trials = Heat {
        servers: vec!["nginx"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        ..Heat::default()
    }
    .trials();
    trials.retain(|trial| trial.point.as_ref().is_some_and(|point| !point.ceiling));
    trials[0].environment.tool.debug_build = true;
    let mut run = Run::default();
    for trial in &trials {
        run.add(trial);
    }
    run.judge(&verdict::judge_set(&trials));
    let cells = run.cells("seven-bytes");
    assert_eq!(cells.len(), 1);
    assert_ne!(cells[0].status(), Status::Invalid);
    assert_eq!(cells[0].count(Status::Invalid), 1);
    // The spoilt one is kept and struck, the others make the median.
    let rate = cells[0].rate().unwrap();
    assert_eq!((rate.struck(), rate.rounds.len()), (1, trials.len()));
}

#[test]
fn the_rest_of_a_window_is_no_stretch_of_its_own() {
    let mut trial = Heat::default().trials().swap_remove(0);
    let Some(last) = trial.record.intervals.last_mut() else {
        panic!("no intervals");
    };
    let usual = last.length;
    let count = |trial: &Trial| Digest::of(trial, 0).stretches.len();
    let all = count(&trial);
    for (length, expected) in [(usual / 2, all), (usual / 10, all - 1)] {
        if let Some(last) = trial.record.intervals.last_mut() {
            last.length = length;
        }
        assert_eq!(count(&trial), expected, "{length}");
    }
}

#[test]
fn what_was_scaled_is_said_as_a_sentence() {
    let manifest = serde_json::json!({
        "format": 1,
        "experiment": {
            "experiment": {"name": "x", "question": "?", "rounds": 1, "duration": "1s"},
            "load": {"connections": [1]},
        },
        "source": "built-in",
        "command": [],
        "tool": model::environment::Tool::default(),
        "time": "",
        "order_seed": 0,
        "scaled": ["3 of 4 points on the axis of connections"],
    });
    let manifest: Manifest = serde_json::from_value(manifest).unwrap();
    assert_eq!(
        Run::of(&manifest, &[]).notes,
        ["Scaled to the budget: 3 of 4 points on the axis of connections."]
    );
}

#[test]
fn the_command_repeats_the_order_too() {
    let manifest = |seed: Option<u64>, words: &[&str]| {
        let mut file = serde_json::json!({
            "experiment": { "name": "x", "question": "q", "rounds": 6, "duration": "1s" },
            "server": [{ "product": "nginx" }],
            "workload": [{ "name": "w", "body": { "bytes": 7 } }],
            "load": { "connections": 1 }
        });
        if let Some(seed) = seed {
            file["experiment"]["seed"] = seed.into();
        }
        let manifest = serde_json::json!({
            "format": 2, "experiment": file, "source": "built-in", "command": words,
            "tool": model::environment::Tool::default(), "time": "2026-11-20T10:32:00Z",
            "order_seed": 7
        });
        Run::of(&serde_json::from_value(manifest).unwrap(), &[])
            .command
            .unwrap()
    };
    let lab = ["triathlon", "lab", "x"];
    assert_eq!(manifest(None, &lab), "triathlon lab x seed=7");
    assert_eq!(manifest(Some(7), &lab), "triathlon lab x");
}
