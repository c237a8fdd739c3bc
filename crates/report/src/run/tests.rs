use model::finding::{Cause, Status};
use model::fixture::Heat;
use model::usage::Spender;

use super::*;
use crate::text::Style;

fn of_trials(trials: &[Trial]) -> Run {
    let mut run = Run::default();
    for trial in trials {
        run.add(trial);
    }
    run.sort();
    run
}

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
fn a_trial_that_something_spoilt_does_not_count_and_is_told_first() {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        ..Heat::default()
    }
    .trials();
    trials.retain(|trial| trial.point.as_ref().is_some_and(|point| !point.ceiling));
    let of = |run: &Run| run.comparisons()[0].rivals[0].estimate.clone().unwrap();
    let counting = |run: &Run| run.comparisons()[0].rivals[0].racer.counting();
    let whole = of_trials(&trials);
    assert!(whole.in_the_way().is_empty());
    let cell: Vec<Trial> = trials
        .iter()
        .filter(|t| t.point.as_ref().unwrap().round == 1)
        .cloned()
        .collect();
    assert_eq!(cell.len(), 2);
    // Both are measured again; of the first attempt one was spoilt, and so slow as to be seen.
    for trial in trials
        .iter_mut()
        .filter(|t| t.point.as_ref().unwrap().round == 1)
    {
        trial.record.achieved_rate /= 1_000.0;
        if trial.point.as_ref().unwrap().id.server == "origin" {
            trial.void = Some(Cause {
                rule: "CPU-08".to_owned(),
                who: vec![Spender {
                    name: "cc1".to_owned(),
                    ..Spender::default()
                }],
                ..Cause::default()
            });
        }
    }
    let first = of_trials(&trials);
    let last = u32::try_from(trials.len()).unwrap();
    for (mut trial, sequence) in cell.into_iter().zip(last + 1..) {
        let point = trial.point.as_mut().unwrap();
        (point.attempt, point.sequence) = (1, sequence);
        trials.push(trial);
    }
    for order in ["as made", "as found"] {
        let run = of_trials(&trials);
        assert_eq!(of(&run), of(&whole), "{order}");
        assert_eq!((counting(&first), counting(&run)), (5, 6), "{order}");
        let said = run.in_the_way();
        assert_eq!(said.len(), 1, "{said:?}");
        for part in ["in 1 of ", "origin 1 of 7", "cc1 in 1", "measured again"] {
            assert!(said[0].contains(part), "{part}: {said:?}");
        }
        let text = crate::text::lab(&run, Style { colour: false });
        assert!(
            text.find("cc1 in 1") < text.find("seven-bytes, at"),
            "{text}"
        );
        assert!(
            text.contains("With the trials that do not count: "),
            "{text}"
        );
        trials.reverse();
    }
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
