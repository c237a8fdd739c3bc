use std::collections::BTreeSet;

use model::experiment::Gap;
use model::finding::{ClaimVerdict, Finding};
use model::fixture::{Heat, first_heat, open, spoilt_heat};
use model::{Claim, Severity, Span, Status, Trial, Verdict};

use super::frame::{ASSETS, Assets};
use super::page::assemble;
use super::*;
use crate::chart::Kind;
use crate::digests::Run;
use crate::number::Unit;
use crate::plots::{PLOTS, Subject};

/// A run of `trials` with the verdicts they carry.
fn run_of(trials: &[Trial]) -> Run {
    let mut run = Run::default();
    "first-heat".clone_into(&mut run.name);
    "Which server is <fastest> & \"cheapest\"?".clone_into(&mut run.question);
    run.command = Some("triathlon lab first-heat order_seed=2026".to_owned());
    run.experiment = Some("[experiment]\nname = \"first-heat\"\n".to_owned());
    run.note_gaps(&[Gap {
        server: "h2o".to_owned(),
        product: "h2o".to_owned(),
        error: "h2o is not installed".to_owned(),
        remedy: Some("apt-get install h2o".to_owned()),
        ..Gap::default()
    }]);
    for trial in trials {
        run.add(trial);
    }
    run
}

fn judged(mut trials: Vec<Trial>) -> Vec<Trial> {
    let verdicts = verdict::judge_set(&trials);
    for (trial, verdict) in trials.iter_mut().zip(verdicts) {
        trial.verdict = verdict;
    }
    trials
}

/// The page without what stands in files of its own.
fn bare(run: &Run) -> String {
    let assets = Assets {
        style: "/* style.css */\n",
        script: "// page.js\n",
    };
    assemble(run, &assets)
}

/// A verdict made by hand, so that the page's snapshot does not change with the rules.
fn verdict_of(capacity: Status, finding: Option<Severity>) -> Verdict {
    let claim = |status| ClaimVerdict {
        status,
        because: Vec::new(),
        partial: false,
    };
    Verdict {
        set: "1".to_owned(),
        status: capacity,
        claims: [
            (Claim::Capacity, claim(capacity)),
            (Claim::Comparison, claim(Status::Valid)),
            (Claim::Resources, claim(Status::Valid)),
        ]
        .into(),
        findings: finding
            .map(|severity| Finding {
                rule: "GEN-01".to_owned(),
                name: "gen-thread-saturated".to_owned(),
                severity: [(Claim::Capacity, severity)].into(),
                evidence: [("busy_share".to_owned(), serde_json::json!(0.97))].into(),
                threshold: [("invalid".to_owned(), serde_json::json!(0.95))].into(),
                say: "Generator thread 0 of 1 was 97 % busy.".to_owned(),
                fix: vec!["Give the generator more CPUs".to_owned()],
                source: "measurement".to_owned(),
            })
            .into_iter()
            .collect(),
        headroom: Some(1.5),
        ..Verdict::default()
    }
}

fn small() -> Run {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        window: Span::from_s(2),
        ..Heat::default()
    }
    .trials();
    for trial in &mut trials {
        let point = trial.point.clone().unwrap_or_default();
        trial.verdict = match (point.id.server.as_str(), point.id.connections()) {
            ("origin", 64) => Verdict {
                generator_limited: true,
                ..verdict_of(Status::Invalid, Some(Severity::Invalid))
            },
            ("nginx", 64) if point.round == 2 => verdict_of(Status::Invalid, None),
            ("nginx", 1) => verdict_of(Status::Suspect, Some(Severity::Suspect)),
            _ => verdict_of(Status::Valid, None),
        };
    }
    run_of(&trials)
}

#[test]
fn a_small_run_makes_this_page() {
    insta::assert_snapshot!("page", bare(&small()).replace("><", ">\n<"));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert_eq!(page(&small()), page(&small()));
}

#[test]
fn every_number_in_a_chart_is_in_its_table() {
    for run in [small(), run_of(&judged(spoilt_heat()))] {
        for (position, workload) in run.workloads().iter().enumerate() {
            let subject = Subject {
                run: &run,
                workload,
                position,
            };
            for chart in PLOTS.iter().flat_map(|plot| plot(&subject)) {
                let figure = chart::figure(&chart, 4, chart::Room::Half);
                let Some((_, table)) = figure.split_once("<details class=\"numbers\">") else {
                    continue;
                };
                let shown: BTreeSet<&str> = table.split(['>', '<']).flat_map(words).collect();
                let check = |unit: Unit, value: f64| {
                    let text = unit.show(value);
                    assert!(
                        shown.contains(text.as_str()),
                        "{}: {text} is not in the table",
                        chart.id
                    );
                };
                // What is shaded has no values.
                let series = chart.series.iter();
                for series in series.filter(|series| series.kind != Kind::Shade) {
                    for point in &series.points {
                        check(chart.y.unit, point.y);
                        if let Some((low, high)) = point.interval {
                            check(chart.y.unit, low);
                            check(chart.y.unit, high);
                        }
                    }
                    if series.kind != Kind::Scatter {
                        for dot in &series.cloud {
                            check(chart.y.unit, dot.y);
                        }
                    }
                }
            }
        }
    }
}

/// The values in a cell: "at least" and the dash of an interval are not part of them.
fn words(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(" – ")
        .flat_map(|part| part.split(" · "))
        .map(|part| part.trim().trim_start_matches("at least ").trim())
}

#[test]
fn nothing_that_a_server_said_is_markup() {
    let html = bare(&run_of(&judged(spoilt_heat())));
    for danger in [
        "<script>alert",
        "<img",
        "<h1>Service",
        "</script><script>",
        "<fastest>",
    ] {
        assert!(!html.contains(danger), "{danger} is in the page as markup");
    }
    for shown in [
        "&lt;script&gt;alert(&#39;from an error log&#39;)",
        "&lt;/pre&gt;&lt;/details&gt;&lt;img src=x onerror=alert(1)&gt;",
        "&lt;h1&gt;Service &quot;Unavailable&quot;",
        "&lt;fastest&gt; &amp; &quot;cheapest&quot;",
    ] {
        assert!(html.contains(shown), "{shown} is not in the page");
    }
    assert!(
        !html.contains('\u{1b}'),
        "a control character is in the page"
    );
}

#[test]
fn the_page_loads_nothing() {
    let html = assemble(&run_of(&judged(spoilt_heat())), &ASSETS);
    for loading in [
        "http://", "https://", "@import", "url(", " src=", "<link", "fetch(",
    ] {
        // What a server is asked is text, and stands between tags.
        let inside_tags: String = html
            .split('<')
            .filter_map(|part| part.split_once('>').map(|(tag, _)| tag))
            .collect::<Vec<_>>()
            .join("\n");
        assert!(!inside_tags.contains(loading), "{loading} in a tag");
    }
    for loading in ["@import", "url(", "//"] {
        assert!(!ASSETS.style.contains(loading), "{loading} in the style");
    }
    for loading in ["fetch(", "XMLHttpRequest", "http", "import("] {
        assert!(!ASSETS.script.contains(loading), "{loading} in the script");
    }
    for (position, _) in html.match_indices("href=\"") {
        assert!(
            html[position..].starts_with("href=\"#"),
            "a link leads outside"
        );
    }
}

#[test]
fn tags_nest_and_ids_are_unique() {
    for html in [
        bare(&small()),
        bare(&run_of(&judged(spoilt_heat()))),
        bare(&Run::default()),
    ] {
        check_structure(&html);
    }
}

/// Elements that have no end.
const VOID: [&str; 4] = ["meta", "br", "!DOCTYPE", "img"];

fn check_structure(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut headings = vec![0];
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes another element");
            continue;
        }
        if let Some((_, id)) = tag.split_once(" id=\"") {
            let id = id.split('"').next().unwrap();
            assert!(ids.insert(id), "two elements have the id {id}");
        }
        if let Some(level) = name
            .strip_prefix('h')
            .and_then(|digit| digit.parse::<i32>().ok())
        {
            assert!(
                level <= headings.last().unwrap() + 1,
                "h{level} skips a level"
            );
            headings.push(level);
        }
        if tag.ends_with('/') || VOID.contains(&name) {
            continue;
        }
        if name == "script" || name == "style" {
            rest = &rest[rest.find(&format!("</{name}>")).unwrap() + name.len() + 3..];
            continue;
        }
        open.push(name);
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn the_ceiling_and_every_round_are_drawn() {
    let trials = judged(first_heat());
    let run = run_of(&trials);
    let workloads = run.workloads();
    let subject = Subject {
        run: &run,
        workload: &workloads[0],
        position: 0,
    };
    let charts: Vec<_> = PLOTS.iter().flat_map(|plot| plot(&subject)).collect();
    let rate = &charts[0];
    let names: Vec<&str> = rate
        .legend()
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "ceiling of the generator",
            "apache-event",
            "lighttpd",
            "nginx",
            "origin"
        ]
    );
    for series in &rate.series[1..] {
        assert_eq!(
            (series.points.len(), series.cloud.len()),
            (4, 24),
            "{}",
            series.name
        );
    }
}

/// Page and terminal say the same of who is faster.
#[test]
fn two_servers_that_cannot_be_told_apart_are_not_ranked() {
    let mut trials = judged(
        Heat {
            servers: vec!["nginx", "origin"],
            workloads: vec![("seven-bytes", 7)],
            connections: vec![64],
            ..Heat::default()
        }
        .trials(),
    );
    for trial in &mut trials {
        // Both as fast, but for noise; intervals of medians that lie apart tell nothing of pairs.
        let point = trial.point.clone().unwrap();
        let faster = if (point.id.server == "origin") == (point.round % 2 == 0) {
            1.2
        } else {
            1.0
        };
        trial.record.achieved_rate = 50_000.0 * faster + f64::from(point.sequence);
        trial.verdict = verdict_of(Status::Valid, None);
    }
    let run = run_of(&trials);
    let said = run.comparisons()[0].certainty().join(" ");
    assert!(said.starts_with("origin: inconclusive"), "{said}");
    let html = bare(&run);
    assert!(html.contains(&said) && !html.contains(">ranks<"));
    let text = crate::text::lab(&run, crate::text::Style::default());
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&said), "{text}");
    let answer = html.find("times the rate of nginx").unwrap();
    assert!(
        answer < html.find("Of 2 points").unwrap(),
        "the answer comes first"
    );
}

/// Page and terminal rank three servers, of whom two cannot be told apart.
#[test]
fn servers_that_cannot_be_told_apart_share_their_ranks() {
    let mut trials = Heat {
        servers: vec!["nginx", "origin", "lighttpd"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        rounds: 8,
        ..Heat::default()
    }
    .trials();
    for trial in &mut trials {
        let point = trial.point.clone().unwrap();
        trial.record.achieved_rate = match (point.id.server.as_str(), point.round % 2) {
            ("origin", _) => 90_000.0,
            ("nginx", 0) | ("lighttpd", 1) => 60_000.0,
            _ => 50_000.0,
        };
        trial.verdict = verdict_of(Status::Valid, None);
    }
    let run = run_of(&trials);
    let html = bare(&run);
    let caption = "Ranks: seven-bytes, at 64 connections</caption>";
    let (_, after) = html.split_once(caption).expect("ranks");
    let rows = after.split("</table>").next().unwrap();
    let check = |server: &str, ranks: &str, other: &str| {
        let head = format!(">{server}</th>");
        let row = rows.split("<tr>").find(|row| row.contains(&head));
        let row = row.expect("a row");
        let has = |text: &str| row.contains(&format!(">{text}</td>"));
        assert!(has(ranks) && has(other), "{row}");
    };
    check("origin", "1", "–");
    check("nginx", "2 to 3", "lighttpd");
    check("lighttpd", "2 to 3", "nginx");
    let text = crate::text::lab(&run, crate::text::Style::default());
    assert!(text.contains("Ranks: 1 origin; 2 to 3 "), "{text}");
}

#[test]
fn a_single_run_is_a_report_too() {
    let mut trial = open();
    trial.verdict = verdict::judge(&trial);
    let html = bare(&run_of(&[trial]));
    check_structure(&html);
    assert!(html.contains("2,000/s over 64 connections"));
    assert!(html.contains("Rate over time"));
}

/// Charts of a run whose trials `shape` has changed, by title.
fn charts_of(shape: impl Fn(&mut Trial)) -> Vec<crate::chart::Chart> {
    let mut trials = judged(
        Heat {
            servers: vec!["nginx", "origin"],
            workloads: vec![("seven-bytes", 7)],
            connections: vec![64, 256],
            ceiling: false,
            ..Heat::default()
        }
        .trials(),
    );
    trials.iter_mut().for_each(shape);
    let run = run_of(&trials);
    let subject = Subject {
        run: &run,
        workload: "seven-bytes",
        position: 0,
    };
    PLOTS.iter().flat_map(|plot| plot(&subject)).collect()
}

#[test]
fn charts_are_drawn_across_what_varies() {
    let titles = |charts: &[crate::chart::Chart]| -> Vec<String> {
        charts.iter().map(|chart| chart.title.clone()).collect()
    };
    let by_connections = charts_of(|_| ());
    assert_eq!(by_connections[0].title, "Rate against connections");

    let by_server = charts_of(|trial| {
        if let Some(point) = &mut trial.point {
            point.id = point
                .id
                .clone()
                .with(model::point::CONNECTIONS, model::point::Value::Count(64));
        }
    });
    assert_eq!(by_server[0].title, "Rate at 64 connections");
    assert_eq!(by_server[0].x.name, "server");

    let by_load = charts_of(|trial| {
        let rate = u64::from(trial.plan.connections) * 100;
        trial.plan.arrivals = model::plan::Arrivals::Fixed {
            rate_per_1000_s: model::Rate::per_second(rate),
        };
        if let Some(point) = &mut trial.point {
            point.id = point
                .id
                .clone()
                .with(model::point::CONNECTIONS, model::point::Value::Count(64));
        }
    });
    assert_eq!(by_load[0].title, "Rate against intended load");
    let names: Vec<&str> = by_load[0]
        .series
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert!(
        names.ends_with(&["intended load", "nginx", "origin"]),
        "{names:?}"
    );
    assert!(
        titles(&by_load)
            .contains(&"Response-time spectrum at 6,400/s over 64 connections".to_owned()),
        "{:?}",
        titles(&by_load)
    );
}

/// Each wrong status is told, with how many answers had it, over all rounds.
#[test]
fn wrong_statuses_are_told_one_by_one() {
    let mut trials = judged(Heat::of_one("nginx", 2).trials());
    for trial in &mut trials {
        trial.record.total.outcomes[model::Outcome::Status] = 1_007;
        trial.record.wrong_statuses = [(404, 7), (503, 1_000)].into();
    }
    let page = bare(&run_of(&trials));
    let told = "status <small>404: 14, 503: 2,000</small>";
    assert!(page.contains(told), "{page}");
}

/// How many timeouts cost no connection is told, over all rounds, if any did.
#[test]
fn timeouts_that_were_cancelled_alone_are_told() {
    let page = |cancelled| {
        let mut trials = judged(Heat::of_one("nginx", 2).trials());
        for trial in &mut trials {
            trial.record.total.outcomes[model::Outcome::Timeout] = 600;
            trial.record.total.cancelled = cancelled;
        }
        bare(&run_of(&trials))
    };
    assert!(!page(0).contains("cancelled alone"));
    let (page, told) = (page(550), "timeout <small>cancelled alone: 1,100</small>");
    assert!(page.contains(told), "{page}");
}

#[test]
fn text_is_never_markup() {
    let check = |text: &str, expected: &str| assert_eq!(escape(text), expected, "{text:?}");
    check("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d");
    check(
        "\"><script>alert('x')</script>",
        "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
    );
    check("bell \u{7} and tab\t", "bell \\u{7} and tab\t");
}

#[test]
fn json_cannot_end_its_script() {
    let text = json(&"</script><!-- \u{2028}");
    assert_eq!(text, "\"\\u003c/script\\u003e\\u003c!-- \\u2028\"");
    assert_eq!(
        serde_json::from_str::<String>(&text).unwrap(),
        "</script><!-- \u{2028}"
    );
}

#[test]
fn what_was_published_stands_beside_what_is_measured_with_a_warning() {
    let mut run = run_of(&judged(first_heat()));
    assert!(!bare(&run).contains("Then and now"));
    let published = |what: &str, server: &str| {
        let text = serde_json::json!({
            "what": what, "rate": 1000, "server": server, "workload": "seven-bytes",
            "source": "a table & its text"
        });
        serde_json::from_value(text).expect("a figure")
    };
    run.published = vec![published("a file", "nginx"), published("another", "thttpd")];
    let page = bare(&run);
    let (_, section) = page
        .split_once("<section id=\"published\"")
        .expect("a section");
    let (section, _) = section.split_once("</section>").expect("its end");
    for part in [
        "Other hardware",
        "<td>nginx, ",
        "<td class=\"n\">1,000/s</td>",
        "not measured in this run",
        "a table &amp; its text",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
}
