use model::experiment::Gap;
use model::fixture::first_heat;
use model::point::{PLACEMENT, RATE, SOURCES, Value};
use model::record::Recovery;
use model::units::{Rate, Span};
use model::{Experiment, Manifest, Trial};
use verdict::judge_set;

use super::*;

fn run() -> Run {
    of_trials(first_heat())
}

fn of_trials(mut trials: Vec<Trial>) -> Run {
    let verdicts = judge_set(&trials);
    let mut run = Run::default();
    for (trial, verdict) in trials.iter_mut().zip(verdicts) {
        trial.verdict = verdict;
        run.add(trial);
    }
    run.note_gaps(&[]);
    run.sort();
    run
}

fn told(run: &mut Run, demand: &str) -> Told {
    let text = format!("{{\"who\":\"comment 8\",\"demand\":\"?\",{demand}}}");
    run.asked = vec![serde_json::from_str(&text).unwrap()];
    let mut all = answers(run);
    assert_eq!(all.len(), 1);
    all.remove(0).told
}

fn number(run: &mut Run, demand: &str) -> Number {
    match told(run, demand) {
        Told::Number(number) => number,
        Told::Not(why) => panic!("{why}"),
    }
}

#[test]
fn a_number_has_its_interval_its_verdict_and_its_trials() {
    let mut run = run();
    let found = number(
        &mut run,
        r#""show": "rate", "server": "nginx", "workload": "seven-bytes", "connections": 64,
           "means": "enough""#,
    );
    let cells = run.cells("seven-bytes");
    let is_it = |cell: &&Cell<'_>| cell.server() == "nginx" && cell.place().connections() == 64;
    let cell = cells.iter().find(is_it).unwrap();
    let rate = cell.rate().unwrap();
    assert_eq!(
        found.value,
        crate::number::Unit::PerSecond.show(rate.median)
    );
    assert!(
        found
            .interval
            .is_some_and(|text| text.starts_with('[') && text.ends_with("/s]"))
    );
    assert_eq!(
        found.place,
        "right answers, nginx, seven-bytes, 64 connections"
    );
    assert_eq!(found.trials.len(), 6);
    assert!(found.trials.is_sorted() && found.status.is_some());
    assert_eq!(found.means.as_deref(), Some("enough"));
}

/// What an experiment counts of a server beside rates and times is a number of a point, too.
#[test]
fn processes_bytes_and_logs_are_numbers_with_trials() {
    let mut trials = first_heat();
    for trial in &mut trials {
        let asked = trial.record.total.sent_in_it();
        let total = &mut trial.record.total;
        let ended = total.ended_in_it();
        total.bytes_content = model::Bytes::new(7 * ended);
        total.bytes_received = model::Bytes::new(242 * ended);
        total.bytes_sent = model::Bytes::new(40 * ended);
        trial.record.reference_phase = model::record::Tally::default();
        trial.record.warmup_phase = model::record::Tally::default();
        trial.record.drain_phase = model::record::Tally::default();
        if let Some(server) = &mut trial.context.server {
            server.access_log_lines = Some(asked);
            server.access_log_bytes = Some(model::Bytes::new(92 * asked));
        }
        if let Some(group) = &mut trial.usage.server {
            (group.processes, group.threads) = (Some(3), Some(75));
        }
        let system = trial.usage.system.get_or_insert_default();
        system.others.get_or_insert_default().begun = Some(2 * ended);
    }
    let mut run = of_trials(trials);
    for (word, value, place) in [
        (
            "begun",
            "2",
            "processes and threads begun on the machine for a request",
        ),
        (
            "beside_content",
            "235 B",
            "bytes received beside content for a request",
        ),
        (
            "log_bytes",
            "92.0 B",
            "bytes of the access log for a request",
        ),
        ("log_lines", "1", "lines of the access log for a request"),
        ("processes", "3", "processes of the server"),
        ("received", "242 B", "bytes received for a request"),
        ("sent", "40.0 B", "bytes sent for a request"),
        ("threads", "75", "threads of the server"),
    ] {
        let demand = format!(
            r#""show": "{word}", "server": "nginx", "workload": "seven-bytes", "connections": 64"#
        );
        let found = number(&mut run, &demand);
        assert_eq!(found.value, value, "{word}");
        assert_eq!(
            found.place,
            format!("{place}, nginx, seven-bytes, 64 connections")
        );
        assert_eq!(found.trials.len(), 6, "{word}");
    }
    // A server that writes no log answers nothing about it.
    let demand = r#""show": "log_bytes", "server": "nginx", "workload": "seven-bytes",
                    "connections": 64"#;
    let Told::Not(why) = told(&mut self::run(), demand) else {
        panic!("it writes no log");
    };
    assert!(
        why.starts_with("not known here: bytes of the access log"),
        "{why}"
    );
}

/// What an answer has, who closed connections, and how many exchanges needed a new one.
#[test]
fn connections_and_content_are_numbers_with_trials() {
    let mut trials = first_heat();
    for trial in &mut trials {
        let record = &mut trial.record;
        record.warmup_phase = model::record::Tally::default();
        record.drain_phase = model::record::Tally::default();
        let right = record.total.outcomes[model::Outcome::Ok];
        record.total.bytes_content = model::Bytes::new(700 * right);
        record.connections_from = vec![2, 0, 7];
        if let Some(usage) = &mut trial.usage.server {
            usage.behind_cpu = Some(Span::ZERO);
        }
        let opened = record.total.ended_in_it() / 8;
        let connections = &mut record.total.connections;
        connections.established = opened;
        connections.closed_by_client = connections.established / 4;
        connections.closed_by_server = connections.closed_by_client * 3;
        connections.broken = 0;
    }
    let mut run = of_trials(trials);
    for (word, value, name) in [
        (
            "cpu_behind",
            "0 µs",
            "CPU time of the servers behind it for a request",
        ),
        (
            "closed_by_server",
            "75 %",
            "share of ended connections that the server closed",
        ),
        ("content", "700 B", "content of an answer"),
        (
            "sources_used",
            "2",
            "source addresses that connections came from",
        ),
        (
            "stalled",
            "0",
            "connections without an answer in the whole window",
        ),
        (
            "kept_alive",
            "87.5 %",
            "share of exchanges that needed no new connection",
        ),
    ] {
        let demand = format!(
            r#""show": "{word}", "server": "nginx", "workload": "seven-bytes", "connections": 64"#
        );
        let found = number(&mut run, &demand);
        assert_eq!(found.value, value, "{word}");
        assert_eq!(
            found.place,
            format!("{name}, nginx, seven-bytes, 64 connections")
        );
        assert_eq!(found.trials.len(), 6, "{word}");
    }
}

/// Of several points the other number is that of the one which is where the first is.
#[test]
fn a_ratio_is_within_one_place_if_nothing_else_is_said() {
    let mut trials = model::fixture::Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        ceiling: false,
        ..model::fixture::Heat::default()
    }
    .trials();
    let mut others = trials.clone();
    for trial in &mut others {
        let point = trial.point.as_mut().unwrap();
        point.id = point.id.clone().with(SOURCES, Value::Count(8));
        // From more addresses nginx is faster: that would be the best point of all.
        let factor = match point.id.server.as_str() {
            "nginx" => 3.0,
            _ => 0.5,
        };
        trial.record.achieved_rate *= factor;
    }
    for trial in &mut trials {
        let point = trial.point.as_mut().unwrap();
        point.id = point.id.clone().with(SOURCES, Value::Count(1));
    }
    trials.extend(others);
    let mut run = Run::default();
    trials.iter().for_each(|trial| run.add(trial));
    let found = number(
        &mut run,
        r#""show": "rate", "server": "origin", "against": "nginx", "workload": "seven-bytes",
           "sources": 1"#,
    );
    let other = number(
        &mut run,
        r#""show": "rate", "server": "origin", "against": "nginx", "workload": "seven-bytes""#,
    );
    // The best point of origin is that with one address.
    assert_eq!(found.value, other.value);
    assert!(found.value.starts_with("1.9"), "{}", found.value);
}

/// Points of an experiment that names neither are over loopback, with CPUs apart.
#[test]
fn what_goes_without_saying_may_be_named() {
    let mut run = run();
    let named = |usual: &str| {
        let place = r#""show": "rate", "server": "nginx", "workload": "seven-bytes""#;
        format!("{place}{usual}")
    };
    let found = number(&mut run, &named(""));
    let usual = r#", "network": "loopback", "placement": "apart""#;
    let same = number(&mut run, &named(usual));
    assert_eq!((same.place, same.value), (found.place, found.value));
    let other = told(&mut run, &named(r#", "network": "veth""#));
    assert!(matches!(other, Told::Not(_)), "{other:?}");
}

/// Where an experiment asks for several rates, a demand says which one it means.
#[test]
fn a_point_is_named_by_its_rate_too() {
    let whole = model::fixture::Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        ceiling: false,
        ..model::fixture::Heat::default()
    };
    let mut run = Run::default();
    for (per_second, factor) in [(1_000, 1.0), (2_000, 0.5)] {
        for mut trial in whole.trials() {
            let point = trial.point.as_mut().unwrap();
            let rate = Rate::per_second(per_second);
            point.id = point.id.clone().with(RATE, Value::Rate(rate));
            trial.record.achieved_rate *= factor;
            run.add(&trial);
        }
    }
    let of_nginx = r#""show": "rate", "server": "nginx", "workload": "seven-bytes""#;
    let rated = |run: &mut Run, more: &str| number(run, &format!("{of_nginx}{more}"));
    let best = rated(&mut run, "");
    let slow = rated(&mut run, r#", "rate": "1k""#);
    let fast = rated(&mut run, r#", "rate": 2000"#);
    assert_eq!(best.value, slow.value);
    assert_ne!(fast.value, slow.value);
    assert!(fast.place.contains("2,000/s"), "{}", fast.place);
    let ratio = rated(&mut run, r#", "rate": 2000, "against_rate": 1000"#);
    assert!(ratio.value.starts_with("0.5"), "{}", ratio.value);
    let demand = format!(r#"{of_nginx}, "rate": 3000"#);
    let Told::Not(why) = told(&mut run, &demand) else {
        panic!("there is no such point");
    };
    assert!(why.contains("3,000/s"), "{why}");
}

#[test]
fn without_a_count_it_is_the_best_point() {
    let mut run = run();
    let found = number(
        &mut run,
        r#""show": "rate", "server": "nginx", "workload": "seven-bytes""#,
    );
    let cells = run.cells("seven-bytes");
    let of_nginx = cells.iter().filter(|cell| cell.server() == "nginx");
    let rates = of_nginx.filter_map(|cell| Some(cell.rate()?.median));
    let best = rates.max_by(f64::total_cmp).unwrap();
    assert_eq!(found.value, crate::number::Unit::PerSecond.show(best));
}

#[test]
fn a_ratio_is_that_of_the_comparison() {
    let mut run = run();
    let found = number(
        &mut run,
        r#""show": "rate", "server": "lighttpd", "against": "nginx", "workload": "seven-bytes",
           "connections": 64"#,
    );
    let mut comparisons = run.comparisons().into_iter();
    let comparison = comparisons
        .find(|one| one.workload == "seven-bytes")
        .unwrap();
    assert_eq!(comparison.load.connections(), 64);
    let is_it = |one: &&verdict::analysis::Rival| one.racer.server == "lighttpd";
    let rival = comparison.rivals.iter().find(is_it).unwrap();
    let ratio = rival.ratio().unwrap();
    assert_eq!(found.value, format!("{ratio} ×"));
    assert_eq!(found.interval, rival.interval());
    assert_eq!(found.trials.len(), 12);
}

#[test]
fn a_rule_answers_with_the_trials_in_which_it_spoke() {
    let mut run = run();
    let said = |run: &Run, is_it: fn(Severity) -> bool| {
        let digests = run.digests().iter().filter(|digest| !digest.ceiling);
        let mut rules = digests.flat_map(|digest| digest.rules.clone());
        rules
            .find(|(_, severity)| is_it(*severity))
            .expect("one spoke")
            .0
    };
    let rule = said(&run, |severity| severity > Severity::Note);
    let found = number(&mut run, &format!("\"rule\": \"{rule}\""));
    assert!(
        !found.trials.is_empty() && found.place.starts_with(&rule),
        "{found:?}"
    );
    // What a rule only notes is no doubt.
    let rule = said(&run, |severity| severity == Severity::Note);
    let noted = number(&mut run, &format!("\"rule\": \"{rule}\""));
    assert!(
        noted.place.starts_with(&rule) && noted.place.contains("; noted, without doubt"),
        "{noted:?}"
    );
    let none = number(&mut run, r#""rule": "GEN-99""#);
    assert!(
        none.trials.is_empty() && none.value.starts_with("0 of "),
        "{none:?}"
    );
    // What it says of others is not told of a server where it found nothing.
    let trials = first_heat();
    let mut verdicts = judge_set(&trials);
    for (trial, verdict) in trials.iter().zip(&mut verdicts) {
        let point = trial.point.as_ref();
        if point.is_some_and(|point| point.id.server == "nginx") {
            verdict.findings.clear();
        }
    }
    let mut run = Run::default();
    trials.iter().for_each(|trial| run.add(trial));
    run.judge(&verdicts);
    let of = |server: &str| format!("\"rule\": \"{rule}\", \"server\": \"{server}\"");
    let elsewhere = number(&mut run, &of("nginx"));
    assert_eq!(elsewhere.place, format!("{rule} found nothing"));
    // Where no trial is, it says nothing at all.
    let nobody = told(&mut run, &of("nobody"));
    let why = "not measured here: no trial has this point (nobody)";
    assert!(
        matches!(&nobody, Told::Not(said) if said == why),
        "{nobody:?}"
    );
}

/// A question that came after a run is answered by its trials as one that it was made for.
#[test]
fn a_later_file_asks_what_the_record_does_not() {
    let mut run = run();
    let text = r#"{ "experiment": { "name": "x", "question": "?", "rounds": 6,
        "duration": "1s" }, "server": [{ "product": "nginx" }],
        "load": { "connections": [1, 64] },
        "workload": [{ "name": "seven-bytes", "body": { "bytes": 7 } }],
        "published": [{ "what": "w", "show": "cpu", "value": "95us", "server": "nginx",
            "workload": "seven-bytes", "connections": 64 }],
        "asked": [
            { "who": "a", "demand": "?", "show": "rate", "server": "nginx", "connections": 64 },
            { "who": "b", "demand": "?", "show": "rate", "server": "thttpd" },
            { "who": "c", "demand": "?", "show": "rate", "server": "nginx", "workload": "none" },
            { "who": "d", "demand": "?", "show": "rate", "server": "nginx", "connections": 5 },
            { "who": "e", "demand": "?", "rule": "GEN-03", "workload": "none" }] }"#;
    let later: model::ExperimentFile = serde_json::from_str(text).unwrap();
    let later = Experiment::try_from(later).unwrap();
    run.ask_later(&later, "later.toml");
    let all = answers(&run);
    // The first workload is that of the file, not that of the run.
    let Told::Number(first) = &all[0].told else {
        panic!("{all:?}");
    };
    assert_eq!(
        first.place,
        "right answers, nginx, seven-bytes, 64 connections"
    );
    for answer in &all[1..] {
        let Told::Not(why) = &answer.told else {
            panic!("{answer:?}");
        };
        assert!(why.starts_with("not measured here: no trial"), "{why}");
    }
    assert_eq!(crate::published::rows(&run).len(), 1);
    let said = run.said_first();
    let is_said = |said: &String| said.contains("later.toml, a later file than the record");
    assert!(said.iter().any(is_said), "{said:?}");
    // What the record asks itself is no later question.
    let mut same = Run::default();
    same.published.clone_from(&later.file().published);
    same.asked.clone_from(&later.file().asked);
    same.ask_later(&later, "later.toml");
    assert!(!same.said_first().iter().any(is_said));
}

/// One round of six in which answers never were as before leaves the median what it is; where they
/// are all like that it is a bound.
#[test]
fn recovery_is_at_least_as_long_as_it_was_watched() {
    let demand = r#""show": "recovery", "server": "nginx", "workload": "seven-bytes",
                    "connections": 64"#;
    let with_interval = |never: u32, interval: u64| {
        let mut trials = first_heat();
        for trial in &mut trials {
            let round = trial.point.as_ref().unwrap().round;
            let took = (round > never).then(|| Span::from_ms(u64::from(round) * 100));
            trial.plan.interval = Span::from_ms(interval);
            trial.recovery = Some(Recovery {
                gone: Span::from_s(5),
                before: Span::from_us(50),
                took,
                watched: Span::from_s(3),
            });
        }
        number(&mut of_trials(trials), demand)
    };
    let with = |never: u32| with_interval(never, 50);
    // As far as anybody looked, nobody had to recover.
    let some = with_interval(0, 500);
    assert_eq!((some.value.as_str(), some.is_bound), ("350 ms", false));
    let at_once = with_interval(0, 600);
    assert_eq!(at_once.value, "at most 350 ms");
    assert!(at_once.is_bound && at_once.interval.is_none());
    let all = with(0);
    assert_eq!(
        (all.value.as_str(), all.standing),
        ("350 ms", Standing::Sound)
    );
    let none = with(u32::MAX);
    assert_eq!(
        (none.value.as_str(), none.standing),
        ("3.00 s", Standing::AtLeast)
    );
    let one = with(1);
    assert_eq!(
        (one.value.as_str(), one.standing),
        ("450 ms", Standing::Sound)
    );
    let Told::Not(why) = told(&mut run(), demand) else {
        panic!("no crowd came");
    };
    assert!(why.starts_with("not known here: time until"), "{why}");
}

/// The heat as measured by a run whose manifest has this, too; its questions came later.
fn fitted(told: serde_json::Value) -> Run {
    let mut manifest = serde_json::json!({
        "format": 2,
        "experiment": {
            "experiment": { "name": "x", "question": "?", "rounds": 6, "duration": "2s" },
            "server": [{ "product": "nginx" }, { "product": "lighttpd" }],
            "workload": [{ "name": "seven-bytes", "body": { "bytes": 7 } }],
            "load": { "connections": 64 }
        },
        "source": "built-in", "command": [], "tool": model::environment::Tool::default(),
        "time": "2026-11-20T10:32:00Z", "order_seed": 7
    });
    let told = told.as_object().expect("an object").clone();
    manifest.as_object_mut().expect("an object").extend(told);
    let mut later: Manifest = serde_json::from_value(manifest).expect("a manifest");
    let mut run = Run::of(&later, &[]);
    let asked = r#"{ "who": "comment 8", "demand": "?", "not": "one system" }"#;
    later.experiment.asked = vec![serde_json::from_str(asked).expect("a question")];
    let later = Experiment::try_from(later.experiment).expect("an experiment");
    run.ask_later(&later, "later.toml");
    first_heat().iter().for_each(|trial| run.add(trial));
    run.sort();
    run
}

const NO_TRIAL: &str = "no trial has this point";

/// For each server, workload and number of connections, why a run has no number of them.
fn check_causes(run: &mut Run, causes: &[(&str, &str, u32, &str)]) {
    for (server, workload, connections, expected) in causes {
        let demand = format!(
            r#""show": "rate", "server": "{server}", "workload": "{workload}",
               "connections": {connections}"#
        );
        let said = match told(run, &demand) {
            Told::Not(why) => why,
            Told::Number(number) => panic!("{number:?}"),
        };
        let place = format!("({server}, {workload}, {connections} connections)");
        assert_eq!(said, format!("not measured here: {expected} {place}"));
    }
}

/// A run says itself what it left out, and a later question can rest on that.
#[test]
fn what_did_not_fit_is_told_of_later_questions_too() {
    let budget = serde_json::json!({ "budget": { "time_ns": 600_000_000_000_u64, "priority": 2 } });
    let mut run = fitted(serde_json::json!({
        "scaled": ["apache left out (priority 2)"],
        "left_out": [
            { "part": { "server": "caddy" }, "why": budget },
            { "part": { "server": "h2o, pinned" }, "why": budget },
            { "part": { "server": "nginx 4 cores" }, "why": "machine" },
            { "part": { "workload": "100 KB" }, "why": budget },
            { "part": { "connections": 9 }, "why": { "budget": { "time_ns": 1 } } },
            { "part": { "server": "nginx" }, "why": budget },
        ],
    }));
    let (budget, machine) = ("left out to fit the budget", "left out to fit this machine");
    check_causes(
        &mut run,
        &[
            ("caddy", "seven-bytes", 64, budget),
            ("h2o, pinned", "seven-bytes", 64, budget),
            ("nginx 4 cores", "seven-bytes", 64, machine),
            ("nginx", "100 KB", 64, budget),
            ("nginx", "seven-bytes", 9, budget),
            // What has trials was not left out as a whole.
            ("nginx", "seven-bytes", 5, NO_TRIAL),
            ("h2o", "seven-bytes", 64, NO_TRIAL),
            // A sentence is for people.
            ("apache", "seven-bytes", 64, NO_TRIAL),
        ],
    );
}

/// Earlier versions told it in sentences alone.
#[test]
fn what_did_not_fit_is_read_from_sentences_where_there_is_no_list() {
    let mut run = fitted(serde_json::json!({
        "scaled": [
            "6 rounds instead of 8",
            "caddy, h2o, pinned and 100 KB left out (priority 2)",
        ],
    }));
    let left_out = "left out to fit this machine or the budget";
    check_causes(
        &mut run,
        &[
            ("caddy", "seven-bytes", 64, left_out),
            ("h2o, pinned", "seven-bytes", 64, left_out),
            ("nginx", "100 KB", 64, left_out),
            ("h2", "seven-bytes", 64, NO_TRIAL),
            ("6 rounds instead of 8", "seven-bytes", 64, NO_TRIAL),
            ("varnish", "seven-bytes", 64, NO_TRIAL),
        ],
    );
}

#[test]
fn what_was_not_measured_says_why() {
    let mut run = run();
    let mut why = |demand: &str| match told(&mut run, demand) {
        Told::Not(why) => why,
        Told::Number(number) => panic!("{number:?}"),
    };
    assert_eq!(
        why(r#""not": "it needs a second machine""#),
        "it needs a second machine"
    );
    let absent = r#""show": "rate", "server": "caddy", "workload": "seven-bytes""#;
    assert_eq!(
        why(absent),
        "not measured here: no trial has this point (caddy, seven-bytes)"
    );
    let gap = Gap {
        server: "caddy".to_owned(),
        error: "caddy is not installed".to_owned(),
        ..Gap::default()
    };
    let mut with_gap = Run::default();
    with_gap.note_gaps(&[gap]);
    let Told::Not(said) = told(&mut with_gap, absent) else {
        panic!("it is not there");
    };
    assert_eq!(said, "not measured here: caddy is not installed");
}

#[test]
fn the_section_links_each_number_to_its_trials() {
    let mut run = run();
    run.asked = [
        "\"show\": \"rate\", \"server\": \"nginx\"",
        "\"not\": \"a <reason>\"",
    ]
    .iter()
    .map(|rest| {
        let text = format!("{{\"who\":\"comment 8\",\"demand\":\"a & b\",{rest}}}");
        serde_json::from_str(&text).unwrap()
    })
    .collect();
    let page = crate::html::page(&run);
    let (_, section) = page.split_once("<section id=\"asked\"").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    for part in [
        "1 of 2 demands answered by a number of this run.",
        "a &amp; b",
        "a &lt;reason&gt;",
        "comment 8",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
    let links: Vec<&str> = section.split("<a href=\"#").skip(1).collect();
    assert_eq!(links.len(), 6);
    for link in links {
        let anchor = link.split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
}

/// The same trials, and once more with the generator on the server's CPUs, where it is faster.
fn over_both() -> Run {
    let mut trials = first_heat();
    for trial in &mut trials {
        let id = &mut trial.point.as_mut().unwrap().id;
        *id = id.clone().with(PLACEMENT, Value::Word("apart".to_owned()));
    }
    let mut shared = trials.clone();
    for trial in &mut shared {
        let id = &mut trial.point.as_mut().unwrap().id;
        *id = id.clone().with(PLACEMENT, Value::Word("shared".to_owned()));
        trial.record.achieved_rate *= 2.0;
    }
    trials.extend(shared);
    of_trials(trials)
}

#[test]
fn a_point_is_at_home_where_nothing_else_is_said() {
    let mut run = over_both();
    let of = |run: &mut Run, more: &str| {
        let text = format!(r#""show": "rate", "server": "nginx", "workload": "seven-bytes"{more}"#);
        number(run, &text)
    };
    let home = of(&mut run, "");
    assert!(home.place.contains("apart"), "{}", home.place);
    let shared = of(&mut run, r#", "placement": "shared""#);
    assert!(shared.place.contains("shared"), "{}", shared.place);
    let ratio = of(
        &mut run,
        r#", "placement": "shared", "against_placement": "apart""#,
    );
    assert_eq!(ratio.value, "2.00 ×");
    let told = told(
        &mut run,
        r#""show": "rate", "server": "nginx", "workload": "seven-bytes", "network": "veth""#,
    );
    assert!(matches!(told, Told::Not(why) if why.contains("veth")));
}

/// What one relative to a bound is at most is a bound, and no doubt.
#[test]
fn a_ratio_to_a_bound_is_a_bound_and_not_suspect() {
    let mut trials = first_heat();
    for trial in &mut trials {
        let id = &trial.point.as_ref().unwrap().id;
        let never = id.server == "origin";
        trial.recovery = Some(Recovery {
            gone: Span::from_s(5),
            before: Span::from_us(50),
            took: (!never).then(|| Span::from_ms(100)),
            watched: Span::from_s(3),
        });
    }
    let demand = r#""show": "recovery", "server": "nginx", "against": "origin",
                    "workload": "seven-bytes", "connections": 64"#;
    let found = number(&mut of_trials(trials), demand);
    assert!(found.value.starts_with("at most "), "{found:?}");
    assert_eq!((found.standing, found.is_bound), (Standing::Sound, true));
}

/// A number that counts requests without an answer comes with what that means.
#[test]
fn an_answer_says_what_it_takes_requests_without_one_for() {
    let mut trials = model::fixture::Heat {
        ceiling: false,
        ..model::fixture::Heat::of_one("nginx", 6)
    }
    .trials();
    let said = |trials: &[Trial]| {
        let mut run = Run::default();
        trials.iter().for_each(|trial| run.add(trial));
        let demand = r#"{"who": "ours", "demand": "?", "show": "p50", "server": "nginx"}"#;
        run.asked = vec![serde_json::from_str(demand).unwrap()];
        convention(&answers(&run))
    };
    assert_eq!(said(&trials), None);
    for trial in &mut trials {
        let count = trial.record.response_time.count();
        trial.record.response_time.record_censored_n(count + 1);
    }
    assert_eq!(said(&trials), Some(UNANSWERED));
}

/// What a load by a schedule loses rests on the claim of that load, and on no other.
#[test]
fn what_a_load_by_schedule_loses_rests_on_the_claim_of_its_load() {
    use model::finding::{Claim, ClaimVerdict};
    let mut trials = model::fixture::Heat {
        ceiling: false,
        ..model::fixture::Heat::of_one("nginx", 3)
    }
    .trials();
    let mut found = |latency: Status| {
        let mut run = Run::default();
        for trial in &mut trials {
            trial.plan.arrivals = model::fixture::open().plan.arrivals;
            let worth = |status| ClaimVerdict {
                status,
                because: Vec::new(),
                partial: false,
            };
            let of = [
                (Claim::Latency, latency),
                (Claim::Resources, Status::Suspect),
            ];
            trial.verdict.claims = of.map(|(made, status)| (made, worth(status))).into();
            run.add(trial);
        }
        let demand = r#""show": "failures", "server": "nginx", "workload": "seven-bytes""#;
        let found = number(&mut run, demand);
        (found.standing, found.status)
    };
    let invalid = (Standing::Struck, Some(Status::Invalid));
    assert_eq!(found(Status::Invalid), invalid);
    assert_eq!(found(Status::Valid), (Standing::Sound, Some(Status::Valid)));
}
