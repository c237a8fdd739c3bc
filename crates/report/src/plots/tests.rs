use std::collections::BTreeSet;

use model::fixture::Heat;
use model::plan::{Arrivals, ScriptFile, Think};
use model::point::{CONNECTIONS, PLACEMENT, PROTOCOL, Value};
use model::record::Interval;
use model::units::Span;

use super::*;
use crate::chart::Scale;

fn of(trials: &[model::Trial]) -> Run {
    let mut run = Run::default();
    trials.iter().for_each(|trial| run.add(trial));
    run
}

fn subject(run: &Run) -> Subject<'_> {
    Subject {
        run,
        workload: "seven-bytes",
        position: 0,
    }
}

/// The ceiling is measured in a closed loop, whatever rate the servers are asked for.
#[test]
fn a_ceiling_stands_beside_each_rate_that_was_asked_for() {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64, 256],
        ..Heat::default()
    }
    .trials();
    for trial in &mut trials {
        let rate = u64::from(trial.plan.connections) * 100;
        let point = trial.point.as_mut().unwrap();
        point.id = point.id.clone().with(CONNECTIONS, Value::Count(64));
        if !point.ceiling {
            trial.plan.arrivals = Arrivals::Fixed {
                rate_per_1000_s: model::Rate::per_second(rate),
            };
        }
    }
    let run = of(&trials);
    let subject = subject(&run);
    let chart = rate::plot(&subject).remove(0);
    assert_eq!(chart.title, "Rate against intended load");
    let ceiling = chart
        .series
        .iter()
        .find(|one| one.name.starts_with("ceiling"));
    let mut places: Vec<f64> = ceiling.unwrap().cloud.iter().map(|dot| dot.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    assert_eq!(places, [6_400.0, 25_600.0]);
}

#[test]
fn a_rate_that_changes_shows_what_was_asked_for_what_waits_and_what_is_lost() {
    let mut trials = Heat::of_one("nginx", 2).trials();
    for trial in &mut trials {
        let second = |start: u64| {
            let mut interval = Interval::new(Span::from_s(start), Span::from_s(1));
            interval
                .response_time
                .record_n(Span::from_ms(start + 1), 10);
            interval
        };
        trial.record.intervals = (0..6).map(second).collect();
    }
    let ids = |run: &Run| -> Vec<String> {
        let charts = crowd::plot(&subject(run)).into_iter();
        charts.map(|chart| chart.id).collect()
    };
    assert!(ids(&of(&trials)).is_empty());
    for trial in &mut trials {
        for interval in &mut trial.record.intervals {
            interval.scheduled = Some(model::Rate::per_second(200));
        }
    }
    assert_eq!(ids(&of(&trials)), ["wait-1"]);
    // With answers enough there is a 99th percentile.
    let mut more = trials.clone();
    for interval in more
        .iter_mut()
        .flat_map(|trial| &mut trial.record.intervals)
    {
        interval.response_time.record_n(Span::from_ms(3), 10_000);
    }
    assert_eq!(ids(&of(&more)), ["wait-1", "slowest-1"]);
    for trial in &mut trials {
        trial.record.intervals[1].tally.outcomes[model::Outcome::Shed] = 3;
    }
    let run = of(&trials);
    let mut charts = crowd::plot(&subject(&run)).into_iter();
    let wait = charts.next().unwrap();
    assert_eq!((wait.id.as_str(), wait.series.len()), ("wait-1", 2));
    let points = &wait.series[0].points;
    assert!(points.is_sorted_by(|one, other| one.y < other.y));
    let lost = charts.next().unwrap();
    assert_eq!(lost.id, "lost-1");
    let when = "stands where it was given up";
    assert!(lost.caption.contains(when), "{}", lost.caption);
    check_halves(&lost);
    let time = time::plot(&subject(&run)).remove(0);
    let asked_for = time.series.last().unwrap();
    assert_eq!(asked_for.name, "asked for");
    assert!(
        asked_for
            .points
            .iter()
            .all(|point| (point.y - 200.0).abs() < 1e-9)
    );
}

/// What failed and what was never sent are lines of their own, of two rounds.
fn check_halves(lost: &Chart) {
    let parts: Vec<(Option<&str>, bool)> = lost
        .series
        .iter()
        .map(|one| (one.part.as_deref(), one.light))
        .collect();
    let [failed, never_sent] = ["failed, round ", "never sent, round "].map(|half| {
        let of_it = parts
            .iter()
            .filter(|(part, _)| part.unwrap().starts_with(half));
        of_it.map(|(_, light)| *light).collect::<Vec<_>>()
    });
    assert_eq!((failed, never_sent), (vec![false; 2], vec![true; 2]));
    let highest = |light: bool| {
        let series = lost.series.iter().filter(|one| one.light == light);
        let values = series.flat_map(|one| &one.points).map(|point| point.y);
        values.fold(0.0, f64::max)
    };
    assert!(highest(false) < 0.5 && highest(true) > 0.5, "{lost:?}");
    let drawn = crate::html::drawing(lost);
    assert!(
        drawn.contains(">solid: failed · dotted: never sent</text>"),
        "{drawn}"
    );
}

#[test]
fn no_server_is_left_out_where_there_are_many_lines() {
    let mut trials = Heat {
        servers: vec![
            "nginx", "origin", "lighttpd", "apache", "h2o", "caddy", "varnish",
        ],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![64],
        rounds: 10,
        ..Heat::default()
    }
    .trials();
    for trial in &mut trials {
        let second = |start: u64| Interval {
            tally: trial.record.total,
            ..Interval::new(Span::from_s(start), Span::from_s(1))
        };
        trial.record.intervals = (0..6).map(second).collect();
    }
    let run = of(&trials);
    let subject = subject(&run);
    let chart = time::plot(&subject).remove(0);
    let servers: BTreeSet<&str> = chart.series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(servers.len(), 7);
    assert_eq!(chart.series.len(), 7 * 8);
    assert!(chart.caption.ends_with("the first 8 rounds are drawn."));
}

/// A server has one colour, and each way in which it was asked a dash of its own.
#[test]
fn lines_of_one_server_asked_in_several_ways_are_told_apart() {
    let of_way = |way: &str| {
        let mut trials = Heat {
            servers: vec!["nginx", "origin"],
            workloads: vec![("seven-bytes", 7)],
            connections: vec![1, 64],
            ceiling: false,
            ..Heat::default()
        }
        .trials();
        for trial in &mut trials {
            let point = trial.point.as_mut().unwrap();
            let way = Value::Word(way.to_owned());
            point.id = point.id.clone().with(PLACEMENT, way);
        }
        trials
    };
    let run = of(&[of_way("apart"), of_way("shared")].concat());
    let mut chart = rate::plot(&subject(&run)).remove(0);
    chart.series.retain(|one| one.kind == Kind::Line);
    let looks: BTreeSet<(usize, usize)> = chart
        .series
        .iter()
        .map(|one| (one.look, one.strand))
        .collect();
    let expected = [(0, 0), (0, 1), (1, 0), (1, 1)];
    assert_eq!(looks.into_iter().collect::<Vec<_>>(), expected);
    let drawn = crate::html::drawing(&chart);
    let dashed = drawn.matches("stroke-dasharray=\"10 4\"").count();
    assert_eq!(dashed, 4, "two lines and their samples: {drawn}");
}

/// Six servers asked in five ways are no thirty servers.
#[test]
fn servers_that_were_asked_in_several_ways_stand_beside_each_other() {
    let servers = vec![
        "nginx http1",
        "nginx http1-tls",
        "origin http1",
        "origin http1-tls",
    ];
    let heat = |servers: Vec<&'static str>| {
        let mut trials = Heat {
            servers,
            workloads: vec![("seven-bytes", 7)],
            connections: vec![64],
            ceiling: false,
            ..Heat::default()
        }
        .trials();
        for trial in &mut trials {
            let point = trial.point.as_mut().unwrap();
            let way = point.id.server.split(' ').next_back().unwrap();
            let way = Value::Word(way.to_owned());
            point.id = point.id.clone().with(PROTOCOL, way);
        }
        of(&trials)
    };
    let run = heat(servers);
    let chart = rate::plot(&subject(&run)).remove(0);
    let Scale::Category(mut ways) = chart.x.scale.clone() else {
        panic!("{:?}", chart.x);
    };
    ways.sort();
    assert_eq!(ways, ["http1", "http1-tls"]);
    // In whichever order they were measured.
    let across = |one: &Series| {
        let mut places: Vec<f64> = one.points.iter().map(|point| point.x).collect();
        places.sort_by(f64::total_cmp);
        places
    };
    let (ceilings, mut bars): (Vec<&Series>, Vec<&Series>) = chart
        .series
        .iter()
        .partition(|one| one.kind == Kind::Reference);
    let strokes: BTreeSet<String> = ceilings
        .iter()
        .map(|one| format!("{} {:.2?}", one.name, across(one)))
        .collect();
    let stroke = |ends: &str| format!("ceiling of the generator [{ends}]");
    let expected = [stroke("-0.42, 0.42"), stroke("0.58, 1.42")];
    assert_eq!(strokes.into_iter().collect::<Vec<_>>(), expected);
    bars.sort_by_key(|one| one.look);
    let places: Vec<Vec<f64>> = bars.iter().map(|one| across(one)).collect();
    assert_eq!(places, [[0.0, 1.0], [0.0, 1.0]]);
    check_bars(&chart, &bars, run.rounds() as usize);
    assert!(
        bars::plot(&subject(&run)).is_empty(),
        "the rates are bars already"
    );
    let costs = cost::plot(&subject(&run)).remove(0);
    assert_eq!(costs.x, chart.x);
    let stacks: BTreeSet<&str> = costs.series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(stacks.into_iter().collect::<Vec<_>>(), ["nginx", "origin"]);
    // A name that does not say how its server was asked stays whole.
    let run = heat(vec!["nginx http1", "nginx http1-tls", "http1-tls"]);
    let chart = rate::plot(&subject(&run)).remove(0);
    assert!(matches!(chart.x.scale, Scale::Category(names) if names.len() == 3));
}

/// Two servers, each with a bar for both ways: with a dot for each of the rounds, and a stroke.
fn check_bars(chart: &Chart, bars: &[&Series], rounds: usize) {
    let stacks: Vec<Kind> = bars.iter().map(|one| one.kind).collect();
    assert_eq!(stacks, [Kind::Bar { stack: 0 }, Kind::Bar { stack: 1 }]);
    assert!(
        bars.iter().all(|one| one.cloud.len() == 2 * rounds),
        "{bars:?}"
    );
    // A dot for each round and a stroke for each interval, on a bar for each point.
    let drawn = crate::html::drawing(chart);
    assert_eq!(drawn.matches("<rect class=\"bar\"").count(), 4, "{drawn}");
    let dots = drawn.split("<path class=\"dots sum\" d=\"").skip(1);
    let dots: usize = dots
        .map(|path| path.split('"').next().unwrap().matches("h0").count())
        .sum();
    // Those that fall on one pixel are drawn once.
    assert!((4..=4 * rounds).contains(&dots), "{dots}: {drawn}");
    assert_eq!(
        drawn.matches("<path class=\"whisker\"").count(),
        2,
        "{drawn}"
    );
    assert!(
        chart
            .caption
            .contains("the bar their median, the stroke its 95 % interval")
    );
}

/// With two numbers of connections the lines have bars beside them: those of the larger one.
#[test]
fn servers_asked_in_several_ways_at_few_connections_have_bars_at_the_most() {
    let mut trials = Heat {
        servers: vec![
            "nginx log off http1",
            "nginx log off http1-tls",
            "nginx log on http1",
            "nginx log on http1-tls",
        ],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![16, 64],
        ..Heat::default()
    }
    .trials();
    for trial in trials
        .iter_mut()
        .filter(|trial| !trial.point.as_ref().unwrap().ceiling)
    {
        let point = trial.point.as_mut().unwrap();
        let way = point.id.server.split(' ').next_back().unwrap();
        let way = Value::Word(way.to_owned());
        point.id = point.id.clone().with(PROTOCOL, way);
    }
    let run = of(&trials);
    let chart = bars::plot(&subject(&run)).remove(0);
    assert_eq!(chart.title, "Rate at 64 connections");
    let names: Vec<&str> = chart.series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["nginx log off", "nginx log on"]);
    assert!(
        chart.series.iter().all(|one| one.points.len() == 2),
        "{chart:?}"
    );
    let rates = rate::plot(&subject(&run)).remove(0);
    assert!(rates.series.iter().any(|one| one.kind == Kind::Line));
}

#[test]
fn each_round_is_a_dot_on_the_bars_of_cpu_time() {
    let run = of(&Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        rounds: 6,
        ..Heat::default()
    }
    .trials());
    let chart = cost::plot(&subject(&run)).remove(0);
    let of_kind = |is_meant: fn(Kind) -> bool| {
        let all = chart.series.iter();
        all.filter(|one| is_meant(one.kind))
            .collect::<Vec<&Series>>()
    };
    let bars = of_kind(|kind| matches!(kind, Kind::Bar { .. }));
    let sums = of_kind(|kind| matches!(kind, Kind::Sum { .. }));
    assert!(bars.iter().all(|one| one.cloud.is_empty()));
    assert_eq!(sums.len(), 2);
    for sum in sums {
        assert_eq!((sum.points.len(), sum.cloud.len()), (2, 12));
        for point in &sum.points {
            let of_bars = bars.iter().filter(|one| one.name == sum.name);
            let here = of_bars
                .flat_map(|one| &one.points)
                .filter(|one| (one.x - point.x).abs() < 0.5);
            let height: f64 = here.map(|one| one.y).sum();
            assert!((height / point.y - 1.0).abs() < 0.1, "{height} {}", point.y);
        }
    }
    assert!(chart.caption.contains("Each dot"), "{}", chart.caption);
}

#[test]
fn published_figures_are_lines_in_the_chart_of_their_points_where_it_has_room() {
    let mut run = of(&Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7), ("a picture", 70_000)],
        connections: vec![1, 64],
        ..Heat::default()
    }
    .trials());
    let cells = run.cells("seven-bytes");
    let rates = cells.iter().filter_map(|cell| Some(cell.rate()?.median));
    let (low, high) = rates.fold((f64::MAX, 0.0), |(low, high), rate| {
        (f64::min(low, rate), f64::max(high, rate))
    });
    let figure = |what: &str, rate: f64, workload: &str| {
        let text = serde_json::json!({
            "what": what, "rate": rate.round(), "server": "nginx", "workload": workload
        });
        serde_json::from_value(text).expect("a figure")
    };
    let drawn = |run: &Run| {
        let chart = rate::plot(&subject(run)).remove(0);
        let is_line = |one: &&Series| one.name.ends_with("(published)");
        let lines: Vec<Series> = chart.series.iter().filter(is_line).cloned().collect();
        (lines, chart.caption)
    };
    assert!(drawn(&run).0.is_empty());
    run.published = vec![
        figure("near", high * 1.5, "seven-bytes"),
        figure("of another file", high, "a picture"),
        figure("far", low / 3.0, "seven-bytes"),
    ];
    let (lines, caption) = drawn(&run);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].name, "near (published)");
    let ends: Vec<f64> = lines[0].points.iter().map(|point| point.x).collect();
    assert_eq!(ends, [1.0, 64.0]);
    for part in ["A dashed line is what", "The published figure 'far', "] {
        assert!(caption.contains(part), "{caption}");
    }
    let many = |rate: f64| (0..4).map(|_| figure("one", rate, "seven-bytes")).collect();
    for rate in [high, low / 3.0] {
        run.published = many(rate);
        let (lines, caption) = drawn(&run);
        assert!(lines.is_empty(), "too many, or too far");
        assert!(caption.contains(" 4 published figures "), "{caption}");
    }
}

/// As long as all requests would take at the measured rates, and no longer than a bound allows.
#[test]
fn the_time_of_many_requests_is_that_of_their_rates() {
    let mut trials = Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 16, 64],
        rounds: 1,
        ..Heat::default()
    }
    .trials();
    let seconds = |trials: &[model::Trial], server: &str| -> f64 {
        let points = trials.iter().filter(|trial| {
            let point = trial.point.as_ref().unwrap();
            point.id.server == server && !point.ceiling
        });
        points.map(|trial| 1e7 / trial.record.achieved_rate).sum()
    };
    let chart = |trials: &[model::Trial]| total::plot(&subject(&of(trials))).pop();
    let drawn = chart(&trials).unwrap();
    assert_eq!(drawn.id, "total-1");
    assert_eq!(drawn.title, "Time for 30,000,000 requests");
    for bar in &drawn.series {
        let expected = seconds(&trials, &bar.name);
        assert!((bar.points[0].y / expected - 1.0).abs() < 1e-9, "{bar:?}");
        assert!(!bar.light, "{bar:?}");
    }
    assert!(!drawn.caption.contains("at most"), "{}", drawn.caption);
    // Where the generator set a rate, the server may need less time.
    for trial in &mut trials {
        let id = &trial.point.as_ref().unwrap().id;
        trial.verdict.generator_limited = id.server == "origin" && id.connections() == 64;
    }
    let drawn = chart(&trials).unwrap();
    let light = drawn.series.iter().filter(|bar| bar.light);
    let light: Vec<&str> = light.map(|bar| bar.name.as_str()).collect();
    assert_eq!(light, ["origin"]);
    assert!(
        drawn.caption.contains("at most that long"),
        "{}",
        drawn.caption
    );
    // A server without a rate at one of the numbers has no time.
    trials.retain(|trial| {
        let id = &trial.point.as_ref().unwrap().id;
        id.server != "nginx" || id.connections() != 16
    });
    assert_eq!(chart(&trials), None);
    // Nor has a load whose rate was asked for.
    for trial in &mut trials {
        trial.plan.arrivals = Arrivals::Fixed {
            rate_per_1000_s: model::Rate::per_second(1_000),
        };
    }
    assert_eq!(chart(&trials), None);
}

/// The ramp lies before the window, in which all users are there.
#[test]
fn users_who_begin_one_after_the_other_are_drawn() {
    let mut trials = Heat::of_one("nginx", 2).trials();
    assert!(ramp::plot(&subject(&of(&trials))).is_empty());
    for trial in &mut trials {
        trial.plan.warmup = Span::from_s(11);
        trial.plan.script = Some(ScriptFile {
            start: Some(Think::Uniform {
                from: Span::ZERO,
                to: Span::from_s(10),
            }),
            ..ScriptFile::default()
        });
    }
    let chart = ramp::plot(&subject(&of(&trials))).remove(0);
    assert_eq!((chart.id.as_str(), chart.series.len()), ("ramp-1", 2));
    let places: Vec<String> = chart.series[1]
        .points
        .iter()
        .map(|point| format!("{:.0} {:.0}", point.x, point.y))
        .collect();
    assert_eq!(places, ["-11 0", "-1 64", "2 64"]);
    // The chart of the rate shades it, and names it in its legend.
    for trial in &mut trials {
        let second = |start: u64| Interval::new(Span::from_s(start), Span::from_s(1));
        trial.record.intervals = (0..6).map(second).collect();
    }
    let time = time::plot(&subject(&of(&trials))).remove(0);
    let shade = &time.series[0];
    let ends: Vec<f64> = shade.points.iter().map(|point| point.x).collect();
    assert_eq!((shade.kind, ends), (Kind::Shade, vec![-11.0, -1.0]));
    assert!(
        time.caption.contains("In the shaded stretch users begin"),
        "{}",
        time.caption
    );
    for drawn in [crate::html::drawing(&time), crate::html::drawing(&chart)] {
        // The stretch, and its sample in the legend.
        assert_eq!(drawn.matches("class=\"shade\"").count(), 2, "{drawn}");
        assert!(drawn.contains(">users begin (ramp)</text>"), "{drawn}");
    }
}
