use model::fixture::first_heat;
use verdict::judge_set;

use super::*;

fn run() -> Run {
    let mut trials = first_heat();
    let verdicts = judge_set(&trials);
    let mut run = Run::default();
    "first-heat".clone_into(&mut run.name);
    "Which is faster, <a> or b?".clone_into(&mut run.question);
    run.command = Some("triathlon lab first-heat".to_owned());
    for (trial, verdict) in trials.iter_mut().zip(verdicts) {
        trial.verdict = verdict;
        run.add(trial);
    }
    run.sort();
    let value = |text: &str| serde_json::from_str(text).unwrap();
    run.published = vec![value_of(
        r#"{"what": "a | file", "rate": 1000, "server": "nginx", "workload": "seven-bytes"}"#,
    )];
    run.asked = vec![
        value(
            r#"{"who": "comment 8", "demand": "The limit?", "show": "headroom", "server": "nginx",
                "workload": "seven-bytes"}"#,
        ),
        value(r#"{"who": "ours", "demand": "FreeBSD?", "not": "one system"}"#),
    ];
    run
}

fn value_of(text: &str) -> model::experiment::Published {
    serde_json::from_str(text).unwrap()
}

/// What no trial is left of.
fn invalid() -> model::Verdict {
    model::Verdict {
        status: model::Status::Invalid,
        claims: [(
            model::Claim::Capacity,
            model::finding::ClaimVerdict {
                status: model::Status::Invalid,
                because: vec!["GEN-03".to_owned()],
                partial: false,
            },
        )]
        .into(),
        ..model::Verdict::default()
    }
}

const NOTES: &str = "\
It said nginx is fast. It is: {{rate | server = nginx | workload = seven-bytes
  | connections = 64}}, which is {{rate | server = nginx | workload = seven-bytes | against =
  lighttpd}} of lighttpd.
";

#[test]
fn a_study_of_one_workload_along_an_axis_has_its_curves_drawn() {
    let titles = |run: &Run| {
        let charts = charts::chosen(run).into_iter();
        charts.map(|chart| chart.title).collect::<Vec<_>>()
    };
    let mut run = run();
    let [rate, cost] = &titles(&run)[..] else {
        panic!("{:?}", titles(&run));
    };
    assert!(rate.starts_with("Rate against connections"), "{rate}");
    assert_eq!(cost, "What a request costs the server");
    // Figures of two workloads, or of none: all workloads, side by side.
    let mut other = run.published[0].clone();
    other.workload = Some("100-kilobytes".to_owned());
    run.published.push(other);
    assert!(titles(&run)[0].ends_with("by workload"), "{run:?}");
    run.published.clear();
    assert!(titles(&run)[0].ends_with("by workload"), "{run:?}");
}

/// Of a crowd readers want to see what was lost, before how long the answers took that came.
#[test]
fn a_study_of_a_crowd_has_what_was_lost_drawn() {
    use model::record::Interval;
    use model::units::{Rate, Span};
    let mut trials = model::fixture::Heat::of_one("nginx", 2).trials();
    for trial in &mut trials {
        trial.plan.arrivals = model::fixture::open().plan.arrivals;
        let second = |start: u64| {
            let mut interval = Interval::new(Span::from_s(start), Span::from_s(1));
            interval.response_time.record_n(Span::from_ms(3), 10);
            interval.scheduled = Some(Rate::per_second(200));
            interval
        };
        trial.record.intervals = (0..6).map(second).collect();
    }
    let ids = |trials: &[model::Trial]| {
        let mut run = Run::default();
        trials.iter().for_each(|trial| run.add(trial));
        let charts = charts::chosen(&run).into_iter();
        charts.map(|chart| chart.id).collect::<Vec<_>>()
    };
    let whole = ids(&trials);
    assert_eq!(whole[0], "time-1", "{whole:?}");
    assert!(whole[1].starts_with("spectrum-"), "{whole:?}");
    for trial in &mut trials {
        trial.record.intervals[1].tally.outcomes[model::Outcome::Shed] = 3;
    }
    assert_eq!(ids(&trials), ["time-1", "lost-1"]);
}

#[test]
fn the_page_has_everything_and_its_drawings_stand_alone() {
    let run = run();
    let made = study(&run, "first-heat", "../x.pack", NOTES, None).unwrap();
    for part in [
        "# first-heat\n\nWhich is faster, &lt;a> or b?\n",
        "```sh\ntriathlon lab first-heat\n```",
        "[the record](../x.pack)",
        "## The answer here",
        "times the rate of nginx",
        "](first-heat-1.svg)",
        "](first-heat-2.svg)",
        "## Where the curves bend\n\nThe knee is the load beyond which",
        "| seven-bytes | nginx | 1, 16, 64, 256 | ",
        "\nNo ranks: 6 rounds cannot tell the 6 pairs of 4 servers apart; 8 rounds are needed.\n",
        "## Errors with the most connections\n\nA stalled connection got no answer",
        "| seven-bytes | nginx | 256 connections | 0 | 0 % | 0 |\n",
        "**Other hardware",
        "| a \\| file | nginx, ",
        "| 1,000/s | ",
        "1 of 2 demands answered",
        "| ours | FreeBSD? | – | one system | – | – |",
        "## What is invalid or suspect",
        "## What the original got right and wrong\n\nIt said nginx is fast. It is: ",
    ] {
        assert!(made.page.contains(part), "{part}: {}", made.page);
    }
    assert!(!made.page.contains("{{"));
    assert_eq!(made.drawings.len(), 2);
    for (name, drawing) in &made.drawings {
        assert!(name.starts_with("first-heat-"));
        assert!(drawing.starts_with("<svg xmlns="), "{name}");
        assert_eq!(
            drawing.matches("http://").count(),
            1,
            "only that of the form"
        );
        assert!(
            drawing.contains(">nginx<") && drawing.contains(">lighttpd<"),
            "{name}"
        );
    }
    let again = study(&run, "first-heat", "../x.pack", NOTES, None).unwrap();
    assert_eq!((again.page, again.drawings), (made.page, made.drawings));
}

/// Rows of servers with their ranks, and with whom each shares one.
#[test]
fn a_page_ranks_servers_where_rounds_tell() {
    let mut run = Run::default();
    let heat = model::fixture::Heat {
        servers: vec!["nginx", "lighttpd", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        rounds: 8,
        ..model::fixture::Heat::default()
    };
    for trial in &mut heat.trials() {
        // Two are as fast as each other, but for what changes from round to round.
        let point = trial.point.as_ref().unwrap();
        let rate = match (point.id.server.as_str(), point.round % 2) {
            ("origin", _) => 90_000.0,
            ("nginx", 0) | ("lighttpd", 1) => 60_000.0,
            _ => 50_000.0,
        };
        trial.record.achieved_rate = rate;
        run.add(trial);
    }
    let page = study(&run, "x", "y", "", None).unwrap().page;
    let table = "\n| ranks | server | rate | not told apart from |\n|--:|---|--:|---|\n\
                 | 1 | origin | 90,000/s | – |\n";
    assert!(page.contains(table), "{page}");
    for (server, other) in [("nginx", "lighttpd"), ("lighttpd", "nginx")] {
        let row = format!("\n| 2 to 3 | {server} | 55,000/s | {other} |\n");
        assert!(page.contains(&row), "{page}");
    }
    let said = "\nThe ranks that a server may have: the first is 1 more than the number of servers \
                that are shown to be faster by more than 2.0 %, the last is the number of servers \
                without those that it is shown to be faster than by as much. The chance that any \
                of the 3 pairs of 3 servers is told apart wrongly is 5.0 % at most.\n";
    assert!(page.contains(said), "{page}");
}

/// Of a point with several sources a figure names those that it belongs beside.
#[test]
fn a_published_figure_names_its_point() {
    use model::point::{SOURCES, Value};
    let mut trials = first_heat();
    for trial in &mut trials {
        let point = trial.point.as_mut().unwrap();
        let sources = point.id.connections() * 10;
        point.id = point.id.clone().with(SOURCES, Value::Count(sources));
    }
    let mut run = Run::default();
    trials.iter().for_each(|trial| run.add(trial));
    let place = |keys: &str| {
        let figure = value_of(&format!(
            r#"{{"what": "w", "rate": 1, "server": "nginx", "workload": "seven-bytes"{keys}}}"#
        ));
        let mut run = run.clone();
        run.published = vec![figure];
        let row = rows(&run).remove(0);
        row.now.ok().map(|now| now.cell.place().connections())
    };
    assert_eq!(place(r#", "sources": 10"#), Some(1));
    assert_eq!(place(r#", "sources": 160"#), Some(16));
    assert_eq!(place(r#", "sources": 11"#), None);
    assert_eq!(place(r#", "network": "veth""#), None);
    assert_eq!(place(r#", "placement": "shared""#), None);
    assert!(place("").is_some());
}

/// Each figure has its unit, and the ratios are said to be good for no more than they are.
#[test]
fn a_published_figure_may_be_any_number_of_a_point() {
    let whole = run();
    let page = |figures: &[&str]| {
        let figure = |keys: &&str| {
            value_of(&format!(
                r#"{{"what": "w", "server": "nginx", "workload": "seven-bytes",
                    "connections": 64, {keys}}}"#
            ))
        };
        let mut run = whole.clone();
        run.published = figures.iter().map(figure).collect();
        let made = study(&run, "x", "x", "", None).unwrap().page;
        let (_, section) = made.split_once("## Then and now").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        section.to_owned()
    };
    let rate = r#""rate": 1000"#;
    let of_rates = page(&[rate]);
    for part in [
        "now / then is mostly how much faster this machine is in all; where it differs from row \
         to row, it is more.\n",
        "| w | nginx, 64 connections | 1,000/s | ",
    ] {
        assert!(of_rates.contains(part), "{part}: {of_rates}");
    }
    assert_eq!(page(&[r#""show": "rate", "value": 1000"#]), of_rates);
    let cpu = r#""show": "cpu", "value": "95us""#;
    let mixed = page(&[rate, cpu, r#""show": "headroom", "value": 1.5"#]);
    for part in [
        "now / then of rates is mostly how much faster this machine is in all, and of times what \
         part of them this machine needs; where it differs from row to row, among those of a \
         kind, it is more. Bytes, counts and shares say little of how fast",
        "| w | nginx, 64 connections | 1,000/s | ",
        "| w | CPU time of the server for a request, nginx, 64 connections | 95.0 µs | ",
        "| w | headroom of the generator, nginx, 64 connections | 1.50 × | ",
    ] {
        assert!(mixed.contains(part), "{part}: {mixed}");
    }
    let cells = whole.cells("seven-bytes");
    let mut cells = cells.iter().filter(|cell| cell.server() == "nginx");
    let cell = cells.find(|cell| cell.place().connections() == 64);
    let shown = model::experiment::Shown::Cpu;
    let (number, value) = crate::asked::number_at(cell.unwrap(), shown).unwrap();
    let ratio = standing(&crate::number::times(value / 95.0), number.standing);
    let now = standing(&number.value, number.standing);
    let row = format!("| 95.0 µs | {now} | {ratio} | ");
    assert!(mixed.contains(&row), "{row}: {mixed}");
    // What the trials do not hold is said by its name, and has no ratio.
    let none = page(&[r#""show": "log_bytes", "value": 92"#]);
    let row = "not known here: bytes of the access log for a request of nginx, seven-bytes, 64 \
               connections | 92.0 B | – | – |";
    assert!(none.contains(row), "{none}");
}

#[test]
fn a_placeholder_that_resolves_to_nothing_sound_is_an_error() {
    let mut run = run();
    let check = |notes: &str, said: &str| {
        let error = study(&run, "x", "x", notes, None).unwrap_err().to_string();
        assert_eq!(error, said);
    };
    check(
        "a\n\n{{rate | server = thttpd | workload = seven-bytes}}",
        "line 3: {{rate | server = thttpd | workload = seven-bytes}}: not measured here: no trial \
         has this point (thttpd, seven-bytes)",
    );
    check(
        "{{rate | server}}",
        "line 1: {{rate | server}}: 'server' has no '='",
    );
    check("x {{rate", "line 1: {{}}: it has no end");
    let error = study(&run, "x", "x", "{{speed | server = nginx}}", None).unwrap_err();
    assert!(error.why.contains("unknown variant `speed`"), "{error}");
    let error = study(&run, "x", "x", "{{rate | servr = nginx}}", None).unwrap_err();
    assert!(error.why.contains("unknown field `servr`"), "{error}");
    // What no trial is left of is no number of a page.
    run.judge(&vec![invalid(); run.digests().len()]);
    let notes = "{{rate | server = nginx | workload = seven-bytes}}";
    let error = study(&run, "x", "x", notes, None).unwrap_err();
    assert!(error.why.ends_with("/s is invalid"), "{error}");
}

/// The same race, in which one server answered so many times as many.
fn with_lighttpd_at(factor: f64) -> Run {
    let mut trials = first_heat();
    for trial in &mut trials {
        if trial.point.as_ref().unwrap().id.server == "lighttpd" {
            trial.record.achieved_rate *= factor;
        }
    }
    let verdicts = judge_set(&trials);
    let mut again = Run::default();
    again.command = run().command;
    for (trial, verdict) in trials.iter_mut().zip(verdicts) {
        trial.verdict = verdict;
        again.add(trial);
    }
    again.sort();
    again
}

fn held_against(again: &Run) -> String {
    let second = Again {
        run: again,
        record: "../again.pack",
    };
    let made = study(&run(), "first-heat", "../x.pack", NOTES, Some(second)).unwrap();
    let (_, section) = made
        .page
        .split_once("## Held against a second run\n")
        .unwrap();
    section.to_owned()
}

#[test]
fn each_number_is_held_against_a_second_run() {
    let same = held_against(&with_lighttpd_at(1.0));
    for part in [
        "[the record](../again.pack)",
        "ratios: 0 disagree; if nothing had changed, at most ",
        "No declared comparison has an answer in both runs; ",
        "| right answers, nginx, seven-bytes, 256 connections, relative to lighttpd, seven-bytes, ",
        "| rate of lighttpd relative to nginx, seven-bytes, 64 connections |",
        " | agrees |",
    ] {
        assert!(same.contains(part), "{part}: {same}");
    }
    assert!(!same.contains("**disagrees**"), "{same}");
    let other = held_against(&with_lighttpd_at(1.5));
    let differing = other.lines().filter(|line| line.contains("**disagrees**"));
    let differing: Vec<&str> = differing.collect();
    assert!(
        !differing.is_empty() && differing.iter().all(|line| line.contains("lighttpd")),
        "{other}"
    );
    assert!(!other.contains("ratios: 0 disagree"), "{other}");
}

/// What is invalid in one of the runs is held against nothing.
#[test]
fn a_number_that_is_invalid_is_not_held() {
    let mut again = with_lighttpd_at(1.0);
    again.judge(&vec![invalid(); again.digests().len()]);
    let section = held_against(&again);
    assert!(section.contains(" | invalid in the second |"), "{section}");
    assert!(!section.contains("**disagrees**"), "{section}");
}

/// The same race in which nothing was measured of some workload, by a run that was scaled to its
/// budget and was asked that.
fn scaled_without(workload: &str, asked: &[model::experiment::Demand]) -> Run {
    let manifest = serde_json::json!({
        "format": 2,
        "experiment": {
            "experiment": { "name": "x", "question": "?", "rounds": 6, "duration": "2s" },
            "server": [{ "product": "nginx" }, { "product": "lighttpd" }],
            "workload": [{ "name": "hundred-kb", "body": { "bytes": "100k" } }],
            "load": { "connections": 64 }
        },
        "scaled": ["6 rounds instead of 8"],
        "source": "built-in", "command": [], "tool": model::environment::Tool::default(),
        "time": "2026-11-20T10:32:00Z", "order_seed": 7
    });
    let mut again = Run::of(&serde_json::from_value(manifest).unwrap(), &[]);
    again.asked = asked.to_vec();
    for trial in first_heat() {
        if trial.point.as_ref().unwrap().id.workload != workload {
            again.add(&trial);
        }
    }
    again.sort();
    again
}

/// What a second run left out for its budget it was asked; of a question that came later nobody
/// knows whether it would have answered it.
#[test]
fn a_question_that_a_second_run_did_not_know_was_not_left_out_by_it() {
    let later = held_against(&scaled_without("seven-bytes", &[]));
    let said = "not measured in the second run: no trial has this point (nginx, seven-bytes";
    assert!(later.contains(said), "{later}");
    assert!(!later.contains("left out to fit"), "{later}");
    let known = held_against(&scaled_without("seven-bytes", &run().asked));
    let said = "not measured in the second run: left out to fit this machine or the budget \
                (nginx, seven-bytes)";
    assert!(known.contains(said), "{known}");
}

/// What a second run measured and could not read is not known in that one.
#[test]
fn what_a_second_run_does_not_know_is_said_of_it() {
    let mut trials = first_heat();
    let mut again = Run::default();
    for trial in &mut trials {
        trial.usage.server = None;
        again.add(trial);
    }
    again.sort();
    let second = Again {
        run: &again,
        record: "../again.pack",
    };
    let notes = "{{cpu | server = nginx | workload = seven-bytes | connections = 64}}\n";
    let made = study(&run(), "first-heat", "../x.pack", notes, Some(second)).unwrap();
    let said = "| not known in the second run: CPU time of the server for a request of nginx";
    assert!(made.page.contains(said), "{}", made.page);
}

/// A run of two servers with a workload in clear and one over TLS, which only the servers for that
/// are asked for.
fn with_own_protocol() -> Run {
    let manifest = serde_json::json!({
        "format": 2,
        "experiment": {
            "experiment": { "name": "x", "question": "?", "rounds": 6, "duration": "2s" },
            "server": [{ "product": "nginx" }, { "product": "lighttpd" }],
            "workload": [
                { "name": "seven-bytes", "body": { "bytes": 7 } },
                { "name": "tls", "body": { "bytes": 7 }, "protocol": "http1-tls" }
            ],
            "load": { "connections": 64 },
            "asked": [{ "who": "w", "demand": "d", "show": "rate", "server": "nginx",
                "workload": "tls", "against_workload": "seven-bytes" }]
        },
        "source": "built-in", "command": [], "tool": model::environment::Tool::default(),
        "time": "2026-11-20T10:32:00Z", "order_seed": 7
    });
    let mut run = Run::of(&serde_json::from_value(manifest).unwrap(), &[]);
    let heat = model::fixture::Heat {
        servers: vec!["nginx", "lighttpd"],
        workloads: vec![("seven-bytes", 7), ("tls", 7)],
        connections: vec![64],
        ..model::fixture::Heat::default()
    };
    let mut trials = heat.trials();
    for point in trials.iter_mut().filter_map(|trial| trial.point.as_mut()) {
        let is_own = point.id.workload == "tls";
        let protocol = if is_own { "http1-tls" } else { "http1" };
        if is_own && !point.ceiling {
            point.id.server.push_str(" http1-tls");
        }
        let value = model::point::Value::Word(protocol.to_owned());
        point.id = point.id.clone().with(model::point::PROTOCOL, value);
    }
    let verdicts = judge_set(&trials);
    for (trial, verdict) in trials.iter_mut().zip(verdicts) {
        trial.verdict = verdict;
        run.add(trial);
    }
    run.sort();
    run
}

#[test]
fn a_workload_in_a_protocol_of_its_own_is_one_of_the_study_like_others() {
    let run = with_own_protocol();
    let labels = ["nginx", "nginx http1-tls", "lighttpd", "lighttpd http1-tls"];
    assert_eq!(run.labels(), labels);
    // Nothing is missing: each was asked for what it is for.
    let said = run.said_first();
    assert!(
        !said.iter().any(|said| said.contains("not finished")),
        "{said:?}"
    );
    // Each is compared with the reference of its protocol, and two comparisons are all there are.
    let comparisons = run.comparisons();
    let of = |workload: &str| {
        let found = comparisons.iter().find(|one| one.workload == workload);
        let found = found.unwrap();
        let rivals = found.rivals.iter().map(|rival| rival.racer.server.clone());
        assert_eq!(found.family.comparisons, 2);
        (found.reference.server.clone(), rivals.collect::<Vec<_>>())
    };
    let names = |one: &str, other: &str| (one.to_owned(), vec![other.to_owned()]);
    assert_eq!(of("seven-bytes"), names("nginx", "lighttpd"));
    assert_eq!(of("tls"), names("nginx http1-tls", "lighttpd http1-tls"));
    // Over all workloads a server is one, and has a mark in each.
    for chart in charts::chosen(&run) {
        let series = chart.series.iter().map(|one| one.name.as_str());
        assert_eq!(series.collect::<Vec<_>>(), ["nginx", "lighttpd"]);
    }
    let answers = answers(&run);
    let Told::Number(number) = &answers[0].told else {
        panic!("{:?}", answers[0].told);
    };
    assert!(number.is_ratio);
    let place = "right answers, nginx http1-tls, tls, 64 connections, relative to nginx, \
                 seven-bytes, 64 connections";
    assert_eq!(number.place, place);
}
