//! Charts, pictures and tables of invented results.

use model::probe::{AxisKind, Class, Curve, Limit, Pass, Series};

use super::*;

/// Three passes of one operation that grows in proportion.
fn result(probe: &str, slope_tenths: u32) -> ProbeResult {
    let slope = f64::from(slope_tenths) / 10.0;
    let ns = |pass: u32| -> Vec<u64> {
        (1..=2_000_u32)
            .map(|n| 500 + u64::from(n * slope_tenths / 10 + (n * 7 + pass) % 13))
            .collect()
    };
    ProbeResult {
        probe: probe.to_owned(),
        question: "socket(), again & again".to_owned(),
        axis: "open sockets".to_owned(),
        population_asked: 2_000,
        population: 2_000,
        limits: vec![Limit {
            name: "open files".to_owned(),
            source: "RLIMIT_NOFILE".to_owned(),
            free: Some(20_000),
            per_1000: 1_000,
            fixed: 64,
        }],
        passes: (1..=3)
            .map(|number| Pass {
                number,
                timer_cost_ns: 20.0,
                series: vec![Series::counted("socket", ns(number))],
                ..Pass::default()
            })
            .collect(),
        growth: vec![Growth {
            series: "socket".to_owned(),
            classes: vec![Class::Linear],
            confidence: 0.97,
            sentence: "linear: 480 ns and more".to_owned(),
            from: 20.0,
            to: 1_900.0,
            typical_ns: (490.0, 480.0 + 1_900.0 * slope),
            ratio: (3.0, 2.9, 3.1),
            curves: vec![Curve::Linear { a: 480.0, b: slope }],
            bins: vec![(20.0, 490.0), (1_900.0, 480.0 + 1_900.0 * slope)],
        }],
        ..ProbeResult::default()
    }
}

fn side<'a>(name: &'a str, results: &'a [ProbeResult]) -> Side<'a> {
    Side { name, results }
}

#[test]
fn the_answer_stands_first_in_a_sentence() {
    let of = |probe: &str, classes: &[Class]| {
        let mut result = result(probe, 5);
        result.growth[0].classes = classes.to_vec();
        result
    };
    let check = |results: &[ProbeResult], expected: &str| {
        let sides = [side("", results)];
        assert_eq!(answer(&operations(&sides)).as_deref(), Some(expected));
        let flat = table(&sides[0]);
        let flat: Vec<&str> = flat.split_whitespace().collect();
        assert!(flat.join(" ").starts_with(expected), "{flat:?}");
        assert!(crate::html::probes("probes", &sides).contains(expected));
    };
    check(
        &[of("socket", &[Class::Linear]), of("bind", &[Class::Flat])],
        "Of 2 operations 1 has a cost that changes: socket (linear). 1 is flat.",
    );
    check(
        &[of("socket", &[Class::Flat]), of("bind", &[Class::Flat])],
        "Of 2 operations none has a cost that surely changes with how many there are. 2 are flat.",
    );
    check(
        &[
            of("a", &[Class::Linear]),
            of("b", &[Class::Step]),
            of("c", &[Class::Flat]),
            of("d", &[Class::Flat, Class::Step]),
            of("e", &[]),
        ],
        "Of 5 operations 2 have a cost that changes: a socket (linear) and b socket (a step). 1 is \
         flat, 1 lies between two classes and 1 has too few points to tell.",
    );
    // Which growth it is cannot be told, and that it grows can.
    check(
        &[
            of("a", &[Class::Linear, Class::Worse]),
            of("b", &[Class::Step, Class::TwoBranches]),
        ],
        "Of 2 operations 1 has a cost that changes: a socket (between linear and worse than \
         linear). 1 lies between two classes.",
    );
    let alone = [of("socket", &[Class::Linear])];
    assert_eq!(answer(&operations(&[side("", &alone)])), None);
}

#[test]
fn each_pass_is_a_series_and_the_fit_another() {
    let results = [result("socket", 5)];
    let operations = operations(&[side("", &results)]);
    assert_eq!(operations.len(), 1);
    assert_eq!(operations[0].name(), "socket");
    let chart = chart(&operations[0], "curve-1");
    let names: Vec<&str> = chart.series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "pass 1",
            "pass 2",
            "pass 3",
            "median of each bin",
            "fit: linear"
        ]
    );
    // The passes take turns where they share a place.
    for pass in &chart.series[..3] {
        let dots = pass.cloud.len();
        assert!((50..1_000).contains(&dots), "{} of {}", dots, pass.name);
    }
}

/// A third of a download is alone; the chart says where the other reader begins.
#[test]
fn a_second_download_is_marked_where_it_begins() {
    let of = |variant: &str| ProbeResult {
        variant: Some(variant.to_owned()),
        kind: AxisKind::Progress,
        population: 200,
        growth: Vec::new(),
        ..result("download", 5)
    };
    let results = ["alone", "second-download", "second-reader"].map(of);
    let operations = operations(&[side("", &results)]);
    let marks = |position: usize| {
        let chart = chart(&operations[position], "x");
        let is_mark = |one: &&crate::chart::Series| one.kind == crate::chart::Kind::Reference;
        let marks: Vec<crate::chart::Series> =
            chart.series.iter().filter(is_mark).cloned().collect();
        marks
    };
    assert!(marks(0).is_empty());
    for (position, name) in [
        (1, "the second download begins, after 66 MB"),
        (2, "the second reader begins, after 66 MB"),
    ] {
        let [mark] = &marks(position)[..] else {
            panic!("{:?}", marks(position));
        };
        assert_eq!(mark.name, name);
        let across: Vec<f64> = mark.points.iter().map(|point| point.x).collect();
        assert_eq!(across, [66.0, 66.0]);
        assert!(mark.points[0].y < mark.points[1].y);
    }
    // The drawing has its name in words.
    let html = crate::html::probes("probes", &[side("", &results)]);
    assert!(html.contains("<span>the second download begins, after 66 MB</span>"));
}

#[test]
fn two_sides_are_laid_over_each_other() {
    let (a, b) = (
        [result("socket", 5)],
        [result("socket", 20), result("bind", 1)],
    );
    let sides = [side("old", &a), side("new", &b)];
    let both = operations(&sides);
    assert_eq!(both.len(), 2);
    let chart = chart(&both[0], "x");
    assert_eq!(chart.legend().len(), 6, "clouds, medians and fits of two");
    let text = comparison(&sides);
    assert!(text.contains("bind socket  only in new"), "{text}");
    assert!(text.contains("2.99"), "{text}");
}

#[test]
fn the_terminal_shows_a_rising_curve_that_rises() {
    let results = [result("socket", 30)];
    let picture = scatter(&operations(&[side("", &results)])[0]);
    let lines: Vec<&str> = picture.lines().collect();
    assert!(
        lines[1]
            .trim_end()
            .ends_with(['━', '⠈', '⠉', '⠙', '⠛', '⣿', '⠋', '⠃', '⠁']),
        "{picture}"
    );
    assert!(lines[14].contains('│'));
    let first = |line: &str| line.chars().position(|c| c == '━');
    let top = lines[1..15].iter().filter_map(|line| first(line)).next();
    let bottom = lines[1..15]
        .iter()
        .rev()
        .filter_map(|line| first(line))
        .next();
    assert!(top > bottom, "{picture}");
    assert!(picture.contains("open sockets"));
}

#[test]
fn the_table_names_the_class_before_the_numbers() {
    let results = [result("socket", 5)];
    let text = table(&side("", &results));
    let row = text.lines().nth(1).expect("a row");
    assert!(row.starts_with("socket"), "{text}");
    let (class, cost) = (row.find("linear (97 %)"), row.find("490 ns"));
    assert!(class.is_some() && class < cost, "{text}");
    assert!(text.contains("linear: 480 ns and more."), "{text}");
}

#[test]
fn what_is_true_of_all_is_said_once() {
    let with = |probe, own: &str| {
        let mut result = result(probe, 5);
        for (name, value) in [("priority", "that of any program"), ("memory", own)] {
            result.facts.insert(name.to_owned(), value.to_owned());
        }
        result
    };
    let text = table(&side("", &[with("fork", "1 kB"), with("spawn", "2 kB")]));
    assert_eq!(text.matches("that of any program").count(), 1, "{text}");
    assert!(
        text.contains("all: priority that of any program."),
        "{text}"
    );
    assert!(text.contains("spawn: memory 2 kB."), "{text}");
    let text = table(&side("", &[with("fork", "1 kB")]));
    let alone = "fork: memory 1 kB, priority that of any program.";
    assert!(text.contains(alone), "{text}");
}

#[test]
fn the_page_of_two_sides_holds_them_against_each_other() {
    let (a, mut b) = ([result("socket", 5)], [result("socket", 20)]);
    b[0].growth[0].classes = vec![Class::Worse];
    let page = crate::html::probes("both", &[side("old", &a), side("new", &b)]);
    for wanted in [
        "A is old, B is new",
        "<p class=\"facts\">B: new",
        "<td data-of=\"growth of A\">linear</td>",
        "<td data-of=\"growth of B\">worse than linear<br><small>another class</small></td>",
        "<td class=\"n\" data-of=\"B over A\">1.00</td>",
        "<td class=\"n\" data-of=\"B over A\">2.99</td>",
        "<a href=\"#curve-1\">socket</a>",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
}

#[test]
fn a_row_without_a_class_says_why_or_what_else_was_seen() {
    let mut unclear = result("connect", 5);
    unclear.growth[0].classes.clear();
    unclear.growth[0].sentence = "too few points".to_owned();
    let download = ProbeResult {
        kind: AxisKind::Progress,
        growth: Vec::new(),
        ..result("download", 0)
    };
    let results = [unclear, download];
    let text = table(&side("", &results));
    assert!(text.contains("too few points\n"), "{text}");
    let numbers = text.lines().find(|line| line.contains("measured: "));
    let numbers = numbers.expect("what was measured is shown");
    assert_eq!(numbers.matches(" at ").count(), 8, "{numbers}");
    let page = crate::html::probes("one", &[side("", &results)]);
    for wanted in [
        "<td data-of=\"growth\">unclear<br><small>too few points</small></td>",
        "<td data-of=\"growth\">a course in time: median ",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
}

#[test]
fn the_page_holds_answers_curves_limits_and_escapes_what_it_shows() {
    let results = [result("socket", 5)];
    let page = crate::html::probes("probes <1>", &[side("", &results)]);
    for wanted in [
        "probes &lt;1&gt;",
        "again &amp; again",
        "linear",
        "6,000 points were measured",
        "RLIMIT_NOFILE",
        "id=\"curve-1\"",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("src=\"http"));
}

#[test]
fn what_falls_is_called_so_everywhere() {
    let mut falling = result("connect", 5);
    let growth = &mut falling.growth[0];
    growth.classes = vec![Class::Falling];
    growth.confidence = 0.95;
    growth.ratio = (0.54, 0.42, 0.69);
    growth.curves.clear();
    growth.sentence = "falling: it grows nowhere".to_owned();
    let mut flat = falling.clone();
    flat.growth[0].classes = vec![Class::Flat];
    let (a, b) = ([falling], [flat]);
    let text = table(&side("", &a));
    assert!(
        text.contains("falling (95 %)") && text.contains("0.54 (0.42 to 0.69)"),
        "{text}"
    );
    assert!(text.contains("falling: it grows nowhere."), "{text}");
    let page = crate::html::probes("one", &[side("", &a)]);
    assert!(page.contains(">falling</td>"), "{page}");
    let text = comparison(&[side("old", &a), side("new", &b)]);
    assert!(
        text.contains("falling") && text.contains("another class"),
        "{text}"
    );
}

fn question(asked: &str) -> model::probe::ProbesFile {
    let text = format!(
        r#"{{ "experiment": {{ "name": "small", "question": "Does it grow?" }},
            "probe": [{{ "name": "socket" }}],
            "published": [{{ "probe": "socket", "then": "O(1) | on Linux" }}],
            "asked": [{asked}] }}"#
    );
    serde_json::from_str(&text).unwrap()
}

/// What is told of a demand: a value and of what it is, or why there is none.
fn told_of(asked: &str) -> Result<(String, String), String> {
    let download = ProbeResult {
        kind: AxisKind::Progress,
        variant: Some("alone".to_owned()),
        growth: Vec::new(),
        ..result("download", 0)
    };
    let ended = ProbeResult {
        note: Some("no more files".to_owned()),
        population: 1_000,
        ..result("bind", 10)
    };
    let file = question(&format!(r#"{{ "who": "ours", "demand": "?", {asked} }}"#));
    let mut asked = ProbeResult {
        server: Some("poll".to_owned()),
        ..result("request", 10)
    };
    let server = ("server".to_owned(), "lighttpd/1.4.69, tuned".to_owned());
    let way = ("waits by".to_owned(), "poll or select".to_owned());
    asked.facts.extend([server, way]);
    let results = [result("socket", 5), ended, download, asked];
    match asked::answers(&file, &results).remove(0).told {
        crate::asked::Told::Number(found) => Ok((found.value, found.place)),
        crate::asked::Told::Not(why) => Err(why),
    }
}

#[test]
fn demands_of_probes_have_a_number() {
    let check = |asked: &str, (value, place): (&str, &str)| {
        let expected = (value.to_owned(), place.to_owned());
        assert_eq!(told_of(asked), Ok(expected), "{asked}");
    };
    check(
        r#""show": "growth", "probe": "socket""#,
        (
            "linear",
            "class of growth, socket, 3 passes: linear: 480 ns and more",
        ),
    );
    check(
        r#""show": "beginning", "probe": "socket""#,
        (
            "490 ns",
            "cost of a call at the beginning, socket, 3 passes",
        ),
    );
    check(
        r#""show": "ratio", "probe": "socket""#,
        (
            "3.00 ×",
            "the end relative to the beginning, socket, 3 passes: linear: 480 ns and more",
        ),
    );
    check(
        r#""show": "beginning", "probe": "bind", "against": "socket""#,
        (
            "1.000 ×",
            "cost of a call at the beginning, bind socket, relative to socket, 3 passes",
        ),
    );
    check(
        r#""show": "speed", "probe": "download:alone""#,
        (
            "2,057,613 MB/s",
            "median speed, download-alone socket, 3 passes",
        ),
    );
    check(
        r#""show": "population", "probe": "bind""#,
        ("1,000", "open sockets, of 2,000 asked for: no more files"),
    );
    check(
        r#""show": "server", "probe": "request@poll""#,
        ("waits by poll or select", "lighttpd/1.4.69, tuned"),
    );
}

#[test]
fn a_demand_of_probes_without_a_number_has_a_reason() {
    let check = |asked: &str, why: &str| {
        assert_eq!(told_of(asked), Err(why.to_owned()), "{asked}");
    };
    check(
        r#""show": "growth", "probe": "download:alone""#,
        "download-alone socket has no class of growth",
    );
    check(
        r#""show": "growth", "probe": "fork""#,
        "fork was not measured here",
    );
    check(
        r#""show": "server", "probe": "bind""#,
        "bind asks no server",
    );
    check(
        r#""show": "growth", "probe": "bind", "operation": "reap""#,
        "bind has no operation 'reap'; it has socket",
    );
    check(r#""not": "one system""#, "one system");
}

#[test]
fn the_page_of_an_experiment_says_what_was_seen_and_asked_before() {
    let results = [result("socket", 5)];
    let file =
        question(r#"{ "who": "ours", "demand": "Does it?", "show": "growth", "probe": "socket" }"#);
    let html = crate::html::probes_asked(&file, &results, None);
    let command = format!("<pre>triathlon lab {}</pre>", file.experiment.name);
    assert!(html.contains(&command));
    for wanted in [
        "O(1) | on Linux",
        "linear; 490 ns at the beginning",
        "Does it?",
        "1 of 1 demand answered",
        "<a href=\"#probe-socket\">socket</a>",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    assert_eq!(html.matches("<span id=\"probe-socket\"></span>").count(), 1);
    let notes = "It grows: {{growth | probe = socket}}, by {{ratio | probe = socket}}.";
    let made = crate::study::of_probes(&file, &results, "small", "../x.pack", notes, None, None);
    let made = made.unwrap();
    for wanted in [
        "# small\n\nDoes it grow?\n",
        "triathlon lab small\n",
        "| socket | linear (97 %) | 490 ns | 1.43 µs | 3.00 \\[2.90, 3.10\\] |",
        "](small-1.svg)",
        "| socket | O(1) \\| on Linux | linear; 490 ns at the beginning, 1.43 µs at the end |",
        "Each probe is a file of the record, by its name.",
        "| who | demand | answer | of what | verdict | probes |",
        "| ours | Does it? | linear | class of growth, socket, 3 passes: linear: 480 ns and more |",
        "It grows: linear, by 3.00 × [2.90, 3.10].",
    ] {
        assert!(made.page.contains(wanted), "{wanted}\n{}", made.page);
    }
    assert_eq!(made.drawings.len(), 1);
    let later = "of a later <file>";
    let html = crate::html::probes_asked(&file, &results, Some(later));
    assert!(html.contains("<p class=\"facts\">of a later &lt;file&gt;</p>"));
    let made = crate::study::of_probes(&file, &results, "small", "x", "", None, Some(later));
    assert!(made.unwrap().page.contains("\n- of a later &lt;file>\n"));
    let notes = "{{growth | probe = bind}}";
    let wrong = crate::study::of_probes(&file, &results, "small", "x", notes, None, None);
    let said = wrong.unwrap_err().to_string();
    assert_eq!(
        said,
        "line 1: {{growth | probe = bind}}: bind was not measured here"
    );
}

/// A page has a chart of the kernel and one of servers, and says how each of these waits and what
/// else was read.
#[test]
fn the_page_draws_servers_apart_and_says_what_was_read_besides() {
    let asking = |probe: &str, facts: &[(&str, &str)]| {
        let mut result = result(probe, 5);
        let facts = facts.iter().map(|(name, value)| (*name, *value));
        result.facts = facts
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        result
    };
    let mut results = [
        asking("socket", &[]),
        asking(
            "connect",
            &[
                ("server", "lighttpd, tuned"),
                ("waits by", "poll or select"),
            ],
        ),
        asking("fork", &[("mappings", "25"), ("memory", "1580 kB <")]),
    ];
    // What differs from pass to pass is said of each, and not from the first to the last.
    for (pass, memory) in results[2]
        .passes
        .iter_mut()
        .zip(["1580 kB <", "1504 kB", "1580 kB <"])
    {
        pass.facts.insert("memory".to_owned(), memory.to_owned());
    }
    // The page of HTML and the terminal say the same.
    let said = "(passes 1 and 3), 1504 kB (pass 2)";
    assert!(table(&side("", &results)).contains(&format!("memory 1580 kB < {said}")));
    let html = crate::html::probes("x", &[side("", &results)]);
    assert!(
        html.contains(&format!("<dd>1580 kB &lt; {said}</dd>")),
        "{html}"
    );
    let mut file = question(r#"{ "who": "ours", "demand": "Why?", "not": "so" }"#);
    let mut figure = file.published[0].clone();
    figure.probe = "connect".to_owned();
    file.published.push(figure);
    let made = crate::study::of_probes(&file, &results, "x", "y", "", None, None).unwrap();
    for wanted in [
        "![What a call costs, against how many there are](x-1.svg)",
        "![What a server costs a client, against how many connections are open](x-2.svg)",
        "\n## What was read besides\n\n- connect. server: lighttpd, tuned; waits by: poll or \
         select\n- fork. mappings: 25; memory: 1580 kB &lt; (passes 1 and 3), 1504 kB (pass \
         2)\n\n## What ended early",
    ] {
        assert!(made.page.contains(wanted), "{wanted}\n{}", made.page);
    }
    let drawings: Vec<&str> = made.drawings.iter().map(|(_, svg)| svg.as_str()).collect();
    assert!(drawings[0].contains("socket") && !drawings[0].contains("by poll"));
    assert!(drawings[1].contains("connect socket, by poll or select"));
}

/// That others had the CPUs is no word about where curves end; and a second run has both, too.
#[test]
fn a_page_says_that_no_curve_ended_early_where_others_had_the_cpus() {
    let mut disturbed = result("socket", 5);
    disturbed.busy_elsewhere = Some(0.025);
    let mut early = result("socket", 5);
    early.note = Some("ended at 2,000: no more files".to_owned());
    let file = question(r#"{ "who": "ours", "demand": "Why?", "not": "so" }"#);
    let again = crate::study::AgainOfProbes {
        results: &[early],
        record: "z",
    };
    let made = crate::study::of_probes(&file, &[disturbed], "x", "y", "", Some(again), None);
    let page = made.unwrap().page;
    let (first, second) = page.split_once("## Held against a second run").unwrap();
    let said = "No curve ended early.\n\n- socket: other programs used 2.5 % of its CPUs\n";
    assert!(first.contains(said), "{first}");
    assert!(
        second.contains("- socket: ended at 2,000: no more files\n"),
        "{second}"
    );
    assert!(!second.contains("No curve ended early"), "{second}");
}

/// The same with six passes, which differ a little.
fn in_six_passes(mut result: ProbeResult) -> ProbeResult {
    let passes: Vec<Pass> = (0..6)
        .map(|place| result.passes[place % 3].clone())
        .collect();
    result.passes = passes;
    result
}

/// What a second run says stands beside each number, and where they disagree it says so.
#[test]
fn numbers_of_probes_are_held_against_a_second_run() {
    let asked = r#"{ "who": "ours", "demand": "Dearer?", "show": "end", "probe": "bind",
                     "against": "socket" }"#;
    let first = [result("socket", 5), result("bind", 5)].map(in_six_passes);
    let mut second = [result("socket", 5), result("bind", 20)].map(in_six_passes);
    second[1].growth[0].classes = vec![Class::Flat];
    let again = crate::study::AgainOfProbes {
        results: &second,
        record: "again.pack",
    };
    let made = crate::study::of_probes(&question(asked), &first, "x", "y", "", Some(again), None);
    let page = made.unwrap().page;
    let (_, section) = page.split_once("## Held against a second run").unwrap();
    for wanted in [
        "- 2 probes in 6 passes: [the record](again.pack)",
        "- 2 curves: 1 disagrees (no class of growth is possible in both runs).",
        "- 3 ratios: 2 disagree; if nothing had changed, at most 1 would by chance",
        "- 2 numbers with a unit: 1 disagrees; ",
        "| class of growth, socket | linear | linear | – | agrees |",
        "| class of growth, bind socket | linear | flat | – | **disagrees** |",
        "| the end relative to the beginning, socket | 3.00 × | 3.00 × | 1.000 \\[0.999, 1.001\\] | agrees |",
        "relative to socket, 6 passes |",
    ] {
        assert!(section.contains(wanted), "{wanted}\n{section}");
    }
    // What was not measured again is told.
    let again = crate::study::AgainOfProbes {
        results: &second[..1],
        record: "again.pack",
    };
    let made = crate::study::of_probes(&question(asked), &first, "x", "y", "", Some(again), None);
    let page = made.unwrap().page;
    let wanted = "| class of growth, bind socket | linear | – | – | not measured in the second |";
    assert!(page.contains(wanted), "{page}");
}
