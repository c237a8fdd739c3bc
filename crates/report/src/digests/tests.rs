use model::Rate;
use model::capacity::{Answer, Found};
use model::finding::{Cause, Status};
use model::fixture::Heat;
use model::plan::Arrivals;
use model::point::{SOURCES, Value};
use model::usage::Spender;
use verdict::analysis::Standing;
use verdict::summary::median;

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

/// Where several groups share a server, a round has several trials of it, and is one round.
#[test]
fn trials_of_several_groups_are_one_round() {
    let mut trials = Heat::of_one("nginx", 6).trials();
    trials.retain(|trial| trial.point.as_ref().is_some_and(|point| !point.ceiling));
    trials[0].environment.tool.debug_build = true;
    let mut again = trials.clone();
    for trial in &mut again {
        trial.point.as_mut().unwrap().group = 1;
    }
    trials.extend(again);
    let mut run = Run::default();
    for trial in &trials {
        run.add(trial);
    }
    run.judge(&verdict::judge_set(&trials));
    let cells = run.cells("seven-bytes");
    assert_eq!(cells[0].as_bad_as(Status::Invalid), (1, 6));
    // Trials of no lab have no rounds, and are as many.
    for trial in &mut trials {
        trial.point = None;
    }
    let run = of_trials(&trials);
    let workload = run.workloads().remove(0);
    assert_eq!(run.cells(&workload)[0].as_bad_as(Status::Valid).1, 12);
}

#[test]
fn a_point_keeps_its_worth_and_its_rounds_where_a_rule_objects_to_one() {
    let mut trials = Heat::of_one("nginx", 6).trials();
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
    assert_eq!(cells[0].as_bad_as(Status::Invalid).0, 1);
    // It is one of those that make the median: to leave it out would be to choose.
    let rate = cells[0].rate().unwrap();
    assert_eq!((rate.struck(), rate.rounds.len()), (0, trials.len()));
    let whole = rate.rounds.len();
    let mut all: Vec<f64> = trials.iter().map(|one| one.record.achieved_rate).collect();
    all.sort_by(f64::total_cmp);
    assert_eq!(Some(rate.median), median(&all));
    // Where rules object to most of them, the same number is struck.
    for trial in &mut trials[..whole / 2 + 1] {
        trial.environment.tool.debug_build = true;
    }
    let mut run = of_trials(&trials);
    run.judge(&verdict::judge_set(&trials));
    let rate = run.cells("seven-bytes")[0].rate().unwrap();
    assert_eq!(rate.standing, Standing::Struck);
    assert_eq!(Some(rate.median), median(&all));
}

/// A round in which most requests got no answer has no median, and the median of all rounds is no
/// smaller for that.
#[test]
fn quantiles_beyond_the_timeout_count_as_longer_than_any() {
    let heat = Heat {
        ceiling: false,
        ..Heat::of_one("nginx", 7)
    };
    let of = |unanswered: usize| {
        let mut trials = heat.trials();
        for trial in &mut trials[..unanswered] {
            let record = &mut trial.record;
            let count = record.response_time.count();
            record.response_time.record_censored_n(count + 1);
        }
        let run = of_trials(&trials);
        let cell = run.cells("seven-bytes").remove(0);
        let p50 = cell.response(0).unwrap();
        let most = cell
            .rounds
            .iter()
            .filter_map(|digest| digest.response_us(0));
        let most = most.fold(0.0, f64::max);
        assert_eq!((p50.rounds, p50.carried), (7, 7));
        (p50.measure, most, trials[0].plan.timeout.as_us_f64())
    };
    let (three, longest, _) = of(3);
    assert_eq!(three.standing, Standing::Sound);
    assert!((three.median - longest).abs() < 1e-9, "{}", three.median);
    assert!(three.is_open_above);
    // A rule that doubts those rounds leaves them bounds.
    let mut trials = heat.trials();
    for trial in &mut trials {
        let count = trial.record.response_time.count();
        trial.record.response_time.record_censored_n(count + 1);
    }
    let mut run = of_trials(&trials);
    run.judge(&verdict::judge_set(&trials));
    for digest in &mut run.digests {
        digest
            .claims
            .insert(model::Claim::Capacity, (Status::Suspect, false));
    }
    let doubted = run.cells("seven-bytes")[0].response(0).unwrap().measure;
    assert_eq!(doubted.standing, Standing::AtLeast);
    let csv = crate::csv::rows(&[&run]);
    assert!(csv.contains(",p50,"), "{csv}");
    let (four, _, timeout) = of(4);
    assert_eq!(four.standing, Standing::AtLeast);
    assert!((four.median - timeout).abs() < 1e-9, "{}", four.median);
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
        let text = crate::text::lab(&run, Style::default());
        assert!(
            text.find("cc1 in 1") < text.find("seven-bytes, at"),
            "{text}"
        );
        assert!(
            text.contains("The trials that do not count would not change these numbers."),
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
        manifest.not_repeated, 0,
        "earlier versions say nothing of it"
    );
    let points = "Scaled to the budget: 3 of 4 points on the axis of connections.";
    let check = |not_repeated: u32, expected: Option<&str>| {
        let manifest = Manifest {
            not_repeated,
            ..manifest.clone()
        };
        let expected: Vec<&str> = [points].into_iter().chain(expected).collect();
        assert_eq!(Run::of(&manifest, &[]).notes, expected);
    };
    check(0, None);
    check(
        1,
        Some(
            "Scaled to the budget: 1 spoilt cell was not measured again, and it stays as it was \
             measured. triathlon lab --resume makes up for that.",
        ),
    );
    check(
        12,
        Some(
            "Scaled to the budget: 12 spoilt cells were not measured again, and they stay as they \
             were measured. triathlon lab --resume makes up for that.",
        ),
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
    let placed = [
        "./bin/triathlon",
        "lab",
        "x",
        "--results",
        "/home",
        "--results=/home",
        "b=1",
    ];
    assert_eq!(manifest(Some(7), &placed), "triathlon lab x b=1");
}

/// A run in which a rule objects to a round, one was spoilt and measured again, and the generator
/// was the limit of another: whatever shows it leaves out the same trials.
fn patchy() -> (Vec<Trial>, Run) {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![16, 64],
        rounds: 9,
        ceiling: false,
        ..Heat::default()
    }
    .trials();
    let mut again = Vec::new();
    for trial in &mut trials {
        let point = trial.point.clone().unwrap();
        if point.round == 1 {
            let mut second = trial.clone();
            second.point.as_mut().unwrap().attempt = 1;
            again.push(second);
            trial.record.achieved_rate /= 100.0;
            trial.void = Some(Cause::default());
        }
        if point.round == 2 && point.id.server == "origin" {
            trial.record.achieved_rate *= 7.0;
            trial.environment.tool.debug_build = true;
        }
    }
    trials.extend(again);
    for (sequence, trial) in (1..).zip(&mut trials) {
        trial.point.as_mut().unwrap().sequence = sequence;
    }
    let mut run = of_trials(&trials);
    run.judge(&verdict::judge_set(&trials));
    (trials, run)
}

/// What a CSV file says of a point is the median of the rounds that it marks.
fn points_are_of_their_rounds(column: &dyn Fn(&str) -> Vec<f64>) {
    for (flag, value, of_point) in [
        ("rate_counts", "achieved_rate_per_s", "point_rate_per_s"),
        ("server_cpu_counts", "server_cpu_us", "point_server_cpu_us"),
        (
            "response_time_counts",
            "response_time_p50_us",
            "point_response_time_p50_us",
        ),
    ] {
        let flagged = column(flag).into_iter().zip(column(value));
        let behind = flagged.filter_map(|(flag, value)| (flag > 0.5).then_some(value));
        let mut behind: Vec<f64> = behind.collect();
        behind.sort_by(f64::total_cmp);
        let half = behind.len() / 2;
        let middle = f64::midpoint(behind[half], behind[(behind.len() - 1) / 2]);
        let said = column(of_point)[0];
        assert!((middle - said).abs() < 1e-9, "{flag}: {middle}, {said}");
    }
}

#[test]
fn every_output_shows_the_same_number_at_the_same_place() {
    let (trials, run) = patchy();
    let plain = Style::default();
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lab = flat(crate::text::lab(&run, plain));
    let judge = flat(crate::text::analysis(&run, plain));
    let html = crate::html::page(&run);
    let csv = crate::csv::rows(&[&run]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|other| *other == name).unwrap();
    let in_csv = |cell: &Cell<'_>, name: &str| -> Vec<f64> {
        let of_it = rows[1..].iter().filter(|row| {
            row[column("server")] == cell.server()
                && row[column("connections")] == cell.place().connections().to_string()
        });
        of_it
            .map(|row| row[column(name)].parse().unwrap())
            .collect()
    };
    let mut side = verdict::compare::Side::new("A", verdict::compare::Kind::Lab);
    trials.iter().for_each(|trial| side.add(trial));
    let compared = verdict::compare::compare(&side, &side);

    let cells = run.cells("seven-bytes");
    assert_eq!(cells.len(), 4);
    for cell in &cells {
        let rate = cell.rate().unwrap();
        // A rule objects to one round of origin, which counts; of all the spoilt attempt does not.
        let left = 9;
        assert_eq!(rate.rounds.len() - rate.struck(), left, "{}", cell.server());
        let shown = crate::number::plain(rate.median);
        for (name, text) in [("lab", &lab), ("judge", &judge), ("html", &html)] {
            assert!(text.contains(&shown), "{shown} is not in {name}: {text}");
        }
        let cpu = cell.value(model::Claim::Resources, |digest| digest.cpu_us);
        let cpu = crate::number::digits(cpu.unwrap().median);
        for (name, text) in [("lab", &lab), ("judge", &judge), ("html", &html)] {
            assert!(text.contains(&cpu), "{cpu} is not in {name}");
        }
        for value in in_csv(cell, "point_rate_per_s") {
            assert!((value - rate.median).abs() < 1e-9, "{value}");
        }
        let counts = in_csv(cell, "rate_counts");
        assert_eq!(counts.iter().filter(|flag| **flag > 0.5).count(), left);
        points_are_of_their_rounds(&|name| in_csv(cell, name));
        let word = rate.precision.sharpness.word();
        assert!(csv.contains(&format!(",{word},")) && html.contains(&format!(">{word}</span>")));
        let place = format!("{}, seven-bytes, {}", cell.server(), cell.place().text());
        let mut all = compared.rows.iter();
        let row = all.find(|row| row.place == place && row.metric.name == "rate");
        let value = row.unwrap().a;
        assert!((value.median - rate.median).abs() < 1e-9, "{value:?}");
        assert_eq!(value.rounds, left);
    }

    let comparison = run.comparisons().remove(0);
    let rival = &comparison.rivals[0];
    assert_eq!(rival.racer.counting(), 9);
    let ratio = rival.ratio().unwrap();
    for said in [comparison.sentence(), comparison.answer(rival)] {
        let said = said.replace('µ', "u");
        for (name, text) in [("lab", &lab), ("judge", &judge), ("html", &html)] {
            assert!(text.contains(&said), "{said} is not in {name}: {text}");
        }
    }
    assert!(html.contains(&format!("{ratio} ×")), "{ratio}");
    let cell = cells
        .iter()
        .find(|cell| cell.server() == "origin" && cell.place().connections() == 64);
    for value in in_csv(cell.unwrap(), "ratio") {
        assert!((value - rival.estimate.as_ref().unwrap().ratio).abs() < 1e-9);
    }
}

#[test]
fn charts_are_drawn_along_any_axis_with_numbers() {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![16, 64],
        ceiling: false,
        ..Heat::default()
    }
    .trials();
    // An axis that the table lacks has words; those of one server are told apart all the same.
    for trial in &mut trials {
        let point = trial.point.as_mut().unwrap();
        let tls = Value::Word(format!("1.{}", 2 + point.round % 2));
        point.id = point.id.clone().with("tls", tls);
    }
    let run = of_trials(&trials);
    let cells = run.cells("seven-bytes");
    assert_eq!(cells.len(), 8);
    let across = Across::of(&cells);
    assert_eq!(across.phrase(), "against connections");
    let lines: BTreeSet<String> = cells.iter().map(|cell| across.line(cell)).collect();
    let expected = ["nginx, 1.2", "nginx, 1.3", "origin, 1.2", "origin, 1.3"];
    assert_eq!(lines.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(across.name(cells[0].place()), "16, 1.2");
}

#[test]
fn memory_is_that_after_as_many_connections_as_were_held() {
    let (mut trials, _) = patchy();
    for trial in &mut trials {
        let server = trial.context.server.as_mut().unwrap();
        server.standing = Some(model::trial::Standing {
            connections_before: 64,
            ..Default::default()
        });
    }
    let mut run = of_trials(&trials);
    let after = |run: &Run| -> Vec<Option<u32>> {
        let cells = run.cells("seven-bytes");
        cells.iter().map(Cell::memory_after).collect()
    };
    assert_eq!(after(&run), [Some(64), None, Some(64), None]);
    let said = "was read after they had held up to 64 connections";
    assert!(crate::html::page(&run).contains(said));
    // Started afresh for each trial, or by ascending connections, it has held no more.
    for trial in &mut trials {
        trial.context.server.as_mut().unwrap().standing = None;
    }
    run = of_trials(&trials);
    assert_eq!(after(&run), [None; 4]);
    assert!(!crate::html::page(&run).contains(said));
}

/// The lab plans its rounds for those that are there, and so are answers judged.
#[test]
fn servers_that_were_missing_from_the_start_are_no_comparisons() {
    let heat = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![16],
        rounds: 7,
        ceiling: false,
        ..Heat::default()
    };
    let mut run = of_trials(&heat.trials());
    let servers = ["nginx", "origin", "lwan", "caddy"];
    run.server_order = servers.map(str::to_owned).to_vec();
    let comparisons = |run: &Run| run.comparisons()[0].family.comparisons;
    assert_eq!(comparisons(&run), 3);
    let gap = |server: &str, round| Gap {
        server: server.to_owned(),
        round,
        ..Gap::default()
    };
    // One that could not be measured was asked about all the same.
    run.note_gaps(&[gap("caddy", Some(2))]);
    assert_eq!(comparisons(&run), 3);
    run.note_gaps(&[gap("lwan", None)]);
    assert_eq!(comparisons(&run), 2);
}

#[test]
fn spare_rounds_are_told_from_those_that_were_planned() {
    let heat = Heat {
        rounds: 8,
        ..Heat::default()
    };
    let mut run = of_trials(&heat.trials());
    assert_eq!(
        run.said_first(),
        [""; 0],
        "nobody said how many were planned"
    );
    run.rounds = 8;
    assert_eq!(run.said_first(), [""; 0]);
    run.rounds = 6;
    let said = run.said_first();
    assert!(
        said[0].starts_with("Rounds 7 and 8 were added: 6 were planned"),
        "{said:?}"
    );
    assert!(crate::html::page(&run).contains("Rounds 7 and 8 were added"));
    run.rounds = 7;
    assert!(run.said_first()[0].starts_with("Round 8 was added: 7 "));
    let looked = "No result was looked at for that.";
    assert!(run.said_first()[0].ends_with(looked));
    // An earlier version made up for rounds that rules had struck, too.
    let mut trials = heat.trials();
    trials[0].verdict.set = "21".to_owned();
    let mut run = of_trials(&trials);
    run.rounds = 7;
    let said = run.said_first().remove(0);
    assert!(
        said.ends_with("some may have been added for what came out."),
        "{said}"
    );
}

/// Whoever reads the page of a run that was interrupted is told before all numbers.
#[test]
fn a_run_that_is_not_finished_says_so() {
    let manifest = serde_json::json!({
        "format": 2,
        "experiment": {
            "experiment": { "name": "x", "question": "?", "rounds": 6, "duration": "1s" },
            "server": [{ "product": "nginx" }, { "product": "origin" }],
            "workload": [{ "name": "seven-bytes", "body": { "bytes": 7 } }],
            "load": { "connections": 64 },
        },
        "source": "built-in", "command": [], "time": "", "order_seed": 0,
        "tool": model::environment::Tool::default(),
    });
    let manifest = serde_json::from_value(manifest).unwrap();
    let heat = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        rounds: 6,
        ..Heat::default()
    };
    let trials = heat.trials();
    let said = |gaps: &[Gap], is_there: &dyn Fn(&str, u32) -> bool| {
        let mut run = Run::of(&manifest, gaps);
        for trial in &trials {
            let point = trial.point.as_ref().unwrap();
            if is_there(&point.id.server, point.round) {
                run.add(trial);
            }
        }
        run.said_first()
    };
    assert_eq!(said(&[], &|_, _| true), [""; 0]);
    let expected = "This run is not finished: of 6 rounds that were planned, 3 are complete. \
                    triathlon lab --resume goes on with it.";
    assert_eq!(said(&[], &|_, round| round <= 3), [expected]);
    let is_there = |server: &str, round: u32| round <= 3 || (round == 4 && server != "origin");
    assert_eq!(said(&[], &is_there), [expected]);
    // What is known to be missing is no sign of that.
    let gap = Gap {
        server: "origin".to_owned(),
        product: "origin".to_owned(),
        workload: Some("seven-bytes".to_owned()),
        error: "it died".to_owned(),
        ..Gap::default()
    };
    let said = said(&[gap], &|server, round| server != "origin" || round <= 3);
    assert!(
        !said.iter().any(|one| one.contains("not finished")),
        "{said:?}"
    );
}

#[test]
fn a_ceiling_that_is_passed_is_told() {
    let mut trials = Heat {
        servers: vec!["origin", "nginx"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        ..Heat::default()
    }
    .trials();
    assert!(of_trials(&trials).above_ceilings("seven-bytes").is_empty());
    for trial in &mut trials {
        if let Some(ceiling) = &mut trial.context.ceiling {
            ceiling.rate = 100_000.0;
        }
    }
    let said = of_trials(&trials).above_ceilings("seven-bytes");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("At 64 connections, origin (12"),
        "{said:?}"
    );
    assert!(
        said[0].contains("more than the ceiling (100,000/s)"),
        "{said:?}"
    );
}

/// One ceiling holds for all numbers of source addresses, and it was measured from one of them.
#[test]
fn a_ceiling_says_from_how_many_addresses_it_was_measured() {
    let of_sources = |count: u32| {
        let mut trials = Heat {
            ceiling: count == 64,
            ..Heat::of_one("origin", 6)
        }
        .trials();
        for trial in &mut trials {
            let point = trial.point.as_mut().unwrap();
            point.id = point.id.clone().with(SOURCES, Value::Count(count));
        }
        trials
    };
    let alone = of_trials(&of_sources(64));
    assert_eq!(alone.sources_of_ceilings("seven-bytes"), None);
    let both = of_trials(&[of_sources(64), of_sources(12_000)].concat());
    let said = both.sources_of_ceilings("seven-bytes").unwrap();
    assert!(
        said.starts_with("The ceiling was measured from 64 source addresses"),
        "{said}"
    );
    let subject = crate::plots::Subject {
        run: &both,
        workload: "seven-bytes",
        position: 0,
    };
    let rate = crate::plots::PLOTS[0](&subject).remove(0);
    assert!(rate.caption.ends_with(&said), "{}", rate.caption);
    let text = crate::text::lab(&both, Style::default());
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(&said), "{text}");
}

/// Servers of several protocols have a ceiling each.
#[test]
fn a_server_is_held_against_the_ceiling_of_its_own_protocol() {
    let mut trials = Heat {
        servers: vec!["origin", "nginx"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        ..Heat::default()
    }
    .trials();
    assert_eq!(of_trials(&trials).ceilings("seven-bytes").len(), 1);
    for trial in &mut trials {
        let is_origin = trial.point.as_ref().unwrap().id.server == "origin";
        if let Some(ceiling) = trial.context.ceiling.as_mut().filter(|_| is_origin) {
            ceiling.rate = 1_000_000.0;
        }
    }
    let run = of_trials(&trials);
    let all = run.ceilings("seven-bytes");
    assert!(all.values().all(BTreeMap::is_empty), "no number is right");
    assert!(run.above_ceilings("seven-bytes").is_empty());
    // Each is shown where the servers say what they speak.
    for trial in &mut trials {
        let id = &mut trial.point.as_mut().unwrap().id;
        let spoken = match id.server.as_str() {
            "origin" => "http2",
            _ => "http1",
        };
        *id = id.clone().with("protocol", Value::Word(spoken.to_owned()));
    }
    let run = of_trials(&trials);
    let kinds: Vec<String> = run.ceilings("seven-bytes").into_keys().collect();
    assert_eq!(kinds, ["http1", "http2"]);
    let chart = crate::html::page(&run);
    assert!(chart.contains("ceiling, http1") && chart.contains("ceiling, http2"));
    for trial in &mut trials {
        let is_origin = trial.point.as_ref().unwrap().id.server == "origin";
        if let Some(ceiling) = trial.context.ceiling.as_mut().filter(|_| !is_origin) {
            ceiling.rate = 1_000.0;
        }
    }
    let said = of_trials(&trials).above_ceilings("seven-bytes");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("At 64 connections, nginx ("),
        "{said:?}"
    );
}

/// What a search found stands in the text, in the page and in the table, and its trials are one
/// point whatever rates they were made at.
#[test]
fn a_searched_capacity_is_told_with_its_interval() {
    let mut trials = Heat::of_one("nginx", 6).trials();
    trials.retain(|trial| !trial.point.as_ref().unwrap().ceiling);
    for (trial, place) in trials.iter_mut().zip(0_u64..) {
        let rate = Rate::per_second(10_000 + 100 * place);
        trial.plan.arrivals = Arrivals::Fixed {
            rate_per_1000_s: rate,
        };
        trial.context.search = Some(Found {
            objective: vec!["p(99)<5ms".to_owned(), "errors<0.1%".to_owned()],
            closed_loop_rate: 20_000.0,
            answer: Answer::Between {
                lower: rate,
                upper: Rate::per_second(10_200 + 100 * place),
                fresh_met: 5,
                fresh: 5,
            },
            trials: Vec::new(),
        });
    }
    let run = of_trials(&trials);
    assert_eq!(run.cells("seven-bytes").len(), 1);
    let text = crate::text::lab(&run, Style::default());
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "nginx, 64 connections: 10,000/s to 10,700/s while p(99)<5ms and errors<0.1% (6 \
                searches)";
    assert!(flat.contains(said), "{text}");
    let page = crate::html::page(&run);
    assert!(page.contains("the highest rate that meets the objective"));
    let table = crate::csv::rows(&[&run]);
    assert!(
        table.contains("between,p(99)<5ms and errors<0.1%,10000,10200"),
        "{table}"
    );
    // Where the generator or the machine was the limit once, nobody knows the upper end.
    trials[0].context.search.as_mut().unwrap().answer = Answer::GeneratorLimit {
        lower: Some(Rate::per_second(9_000)),
        failed: Rate::per_second(18_000),
    };
    let run = of_trials(&trials);
    let found = run.searches("seven-bytes");
    assert_eq!(found[0].interval(), "at least 9,000/s");
    assert_eq!(
        found[0].rests_on(),
        "6 searches; the generator or the machine was the limit in 1"
    );
    let bounds = run.digests().iter().filter(|digest| digest.is_bound);
    assert_eq!(bounds.count(), 1);
}
