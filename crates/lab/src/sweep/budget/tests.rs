use model::experiment::Part;

use super::super::tests::{AT_ONCE, first_heat};
use super::*;
use crate::capacity;

/// These servers are installed.
fn these(servers: &[usize]) -> Present {
    servers.iter().copied().collect()
}

#[test]
fn the_first_heat_takes_at_most_four_minutes_with_four_servers() {
    let experiment = first_heat(&[]);
    let cost = Cost::of(&experiment, &these(&[0, 1, 2, 3]), AT_ONCE);
    assert_eq!((cost.trials, cost.ceilings, cost.starts), (160, 32, 40));
    assert!(
        (Span::from_s(180)..Span::from_s(240)).contains(&cost.time),
        "{}",
        cost.time
    );
    // Of six comparisons the smallest p at six rounds is 0.031: none could ever tell.
    assert!(experiment.rounds() >= 8);
}

#[test]
fn what_is_left_is_what_is_not_done() {
    let experiment = first_heat(&[]);
    let present = these(&[0, 1, 2, 3]);
    let all = Cost::of(&experiment, &present, AT_ONCE);
    let left = |done: u32| {
        Cost::of_those(&experiment, &present, (7, AT_ONCE), &|slot| {
            slot.sequence > done
        })
    };
    assert_eq!(left(0), all);
    assert_eq!(left(10).trials, all.trials - 10);
    assert!(left(10).time < all.time);
    assert_eq!(
        (left(u32::MAX).trials, left(u32::MAX).time),
        (0, Span::ZERO)
    );
}

#[test]
fn a_budget_thins_points_then_duration_then_rounds_to_those_needed() {
    let big = first_heat(&[
        "rounds=10",
        "duration=10s",
        "connections={from=10,to=1000,step=10}",
    ]);
    let present = these(&[0, 1, 2, 3]);
    let full = Cost::of(&big, &present, AT_ONCE).time;
    let scaled = |budget| scale(&big, &present, AT_ONCE, budget);

    // An eighth is kept for what is spoilt.
    let all = scaled(full * 8 / 7 + Span::from_s(10));
    assert!(all.fits && all.said.is_empty());
    assert_eq!(all.experiment, big);
    let whole = scaled(full + Span::from_s(10));
    assert!(whole.fits && !whole.said.is_empty());
    assert!(
        Cost::of(&whole.experiment, &present, AT_ONCE).time <= plannable(full + Span::from_s(10))
    );

    let half = scaled(full / 2);
    assert!(half.fits, "{:?}", half.said);
    assert!(half.experiment.connections().len() < 100);
    assert_eq!(half.experiment.duration(), big.duration());
    assert_eq!(half.experiment.rounds(), 10);
    assert_eq!(half.experiment.connections().last(), Some(&1000));

    let tenth = scaled(Span::from_s(600));
    assert!(tenth.fits);
    assert_eq!(tenth.experiment.connections(), [10, 510, 1000]);
    assert!(tenth.experiment.duration() < big.duration());
    assert_eq!(tenth.experiment.rounds(), 10);
    assert_eq!(tenth.said.len(), 2, "{:?}", tenth.said);

    let tiny = scaled(Span::from_s(90));
    assert!(tiny.experiment.rounds() >= 8);
    assert_eq!(tiny.said.len(), 3, "{:?}", tiny.said);

    let none = scaled(Span::from_s(1));
    assert!(!none.fits);
    // 3 servers against the fourth, 2 workloads: 6 comparisons.
    assert_eq!(none.experiment.rounds(), 8);
    let two = scale(&big, &these(&[0, 1]), AT_ONCE, Span::from_s(1));
    assert_eq!(two.experiment.rounds(), 7);
    let one = scale(&big, &these(&[0]), AT_ONCE, Span::from_s(1));
    assert_eq!(one.experiment.rounds(), 6);
    assert_eq!(none.experiment.duration(), Span::from_ms(200));
}

/// Sixteen servers have 45 comparisons in three workloads, which 11 rounds can answer, and 120
/// pairs in each, which take 13.
#[test]
fn ranks_keep_their_rounds_while_there_is_something_else_to_leave_out() {
    let study = crate::experiment::read("rootusers-2016", &[]).unwrap();
    let study = study.experiment;
    let servers = study.servers().iter().enumerate();
    let present: Present = servers
        .filter(|(_, server)| server.cores == 1)
        .map(|(index, _)| index)
        .collect();
    let mut kept = 0;
    for minutes in [12, 20, 28, 36] {
        let scaled = scale(&study, &present, AT_ONCE, Span::from_s(60 * minutes));
        let left = &scaled.experiment;
        let asked = left.workloads().iter().map(|workload| {
            let servers = left.servers().iter().filter(|server| server.cores == 1);
            let asked = servers.filter(|server| left.asks(workload, server.speech));
            asked.count()
        });
        let needed = rounds_needed(verdict::pairs::ranked_pairs(asked.max().unwrap()));
        assert!(
            !scaled.fits || left.rounds() >= needed,
            "{minutes} min: {} of {needed}, {:?}",
            left.rounds(),
            scaled.said
        );
        kept += u32::from(scaled.fits);
    }
    assert!(kept >= 3, "{kept}");
}

/// Sixteen servers have 15 comparisons, which 10 rounds can answer; fifteen of them, which are 105
/// pairs, take 13 rounds to rank, and more time.
#[test]
fn nothing_is_left_out_for_ranks_that_do_not_fit_without_it_either() {
    let server = |number| {
        let priority = if number == 16 { 2 } else { 1 };
        format!("[[server]]\nproduct = 'nginx'\nlabel = 'n{number}'\npriority = {priority}\n")
    };
    let text = format!(
        "[experiment]\nname = 'x'\nquestion = '?'\nrounds = 20\nduration = '1s'\n\
         duration_min = '1s'\n{}[[workload]]\nname = 'w'\nbody = {{ bytes = 7 }}\n\
         [load]\nconnections = [1]\n",
        (1..=16).map(server).collect::<String>()
    );
    let experiment = crate::experiment::parse("x.toml", &text, &[]).unwrap();
    let all: Present = (0..16).collect();
    let of = |rounds: u64| {
        let round = Cost::of(&experiment, &all, AT_ONCE).time / 20;
        let time = (round * rounds + checks(&experiment, &all)) * 8 / 7 + Span::from_ms(10);
        let scaled = scale(&experiment, &all, AT_ONCE, time);
        (
            scaled.experiment.servers().len(),
            scaled.experiment.rounds(),
        )
    };
    assert_eq!(of(10), (16, 10));
    assert_eq!(of(11), (16, 11));
    // The last of them goes where the others can be ranked without it.
    assert_eq!(of(12), (15, 13));
    assert_eq!(of(13), (16, 13));
}

#[test]
fn points_that_a_study_names_are_the_last_that_a_budget_leaves_out() {
    let values: Vec<u32> = [1, 2, 4]
        .into_iter()
        .chain((10..=1000).step_by(10))
        .collect();
    let over = |count, named: &[u32]| spread_over(&values, count, &named.iter().copied().collect());
    assert_eq!(over(3, &[]), [1, 490, 1000]);
    assert_eq!(over(3, &[100]), [1, 100, 1000]);
    // Ends need no second place, and what is not on the axis has none.
    assert_eq!(over(3, &[1, 55, 1000]), [1, 490, 1000]);
    assert_eq!(over(4, &[10, 100, 1000]), [1, 10, 100, 1000]);
    // The ends stay where there is no room for all.
    assert_eq!(over(3, &[10, 100]), [1, 10, 1000]);
    for count in 3..=103 {
        let kept = over(count, &[20]);
        assert!(kept.len() == count && kept.contains(&20), "{kept:?}");
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "{kept:?}");
    }
    let study = crate::experiment::read("rootusers-2016", &[]).unwrap();
    let study = study.experiment;
    let present: Present = (0..study.servers().len()).collect();
    let least = scale(&study, &present, AT_ONCE, Span::from_s(1));
    assert_eq!(least.experiment.connections(), [1, 100, 1000]);
}

#[test]
fn a_budget_shortens_the_warm_up_with_the_windows_as_far_as_the_experiment_allows() {
    let all = these(&[0, 1, 2, 3]);
    let scaled = |least: &[&str], seconds: u64| {
        let overrides = [&["rounds=10", "duration=30s", "warmup=30s"], least].concat();
        scale(
            &first_heat(&overrides),
            &all,
            AT_ONCE,
            Span::from_s(seconds),
        )
    };
    let lengths = |scaled: &Scaled| {
        let experiment = &scaled.experiment;
        (experiment.warmup(), experiment.duration())
    };
    // It is the author who knows what a server needs to be steady.
    let kept = scaled(&[], 1_000);
    assert!(!kept.fits);
    assert_eq!(lengths(&kept), (Span::from_s(30), Span::from_ms(200)));
    let half = scaled(&["warmup_min=3s"], 5_000);
    let (warmup, window) = lengths(&half);
    assert!(
        half.fits && half.experiment.rounds() == 10,
        "{:?}",
        half.said
    );
    assert_eq!(warmup, window);
    assert!(window > Span::from_s(15), "{:?}", half.said);
    let few = scaled(&["warmup_min=3s"], 600);
    assert!(few.fits && few.experiment.rounds() == 10, "{:?}", few.said);
    assert_eq!(few.experiment.warmup(), Span::from_s(3));
    assert!(
        few.said[1] == "servers warm up for 3.00 s instead of 30.0 s",
        "{:?}",
        few.said
    );
    let none = scaled(&["warmup_min=3s"], 1);
    assert_eq!(lengths(&none), (Span::from_s(3), Span::from_ms(200)));
    let none = scaled(&["warmup_min=40s", "duration_min=2s"], 1);
    assert_eq!(lengths(&none), (Span::from_s(30), Span::from_s(2)));
    // What a reload does shows behind it.
    let none = scaled(&["warmup_min=3s", "reload=true"], 1);
    assert_eq!(lengths(&none), (Span::from_s(3), Span::from_s(2)));
    // A window that is as short as can be does not keep the warm-up long.
    let short = scaled(&["warmup_min=3s", "duration=100ms"], 600);
    assert!(short.fits, "{:?}", short.said);
    assert_eq!(lengths(&short), (Span::from_s(3), Span::from_ms(100)));
}

/// A server of little priority is left out before windows become shorter than they may.
#[test]
fn a_budget_leaves_out_what_would_make_windows_too_short() {
    let names = |least: &str| {
        let overrides = ["rounds=8", "duration=10s", "server[3].priority=2", least];
        let scaled = scale(
            &first_heat(&overrides),
            &these(&[0, 1, 2, 3]),
            AT_ONCE,
            Span::from_s(200),
        );
        assert!(scaled.fits, "{:?}", scaled.said);
        scaled.experiment.servers().len()
    };
    assert_eq!(names("duration_min=200ms"), 4);
    assert_eq!(names("duration_min=1s"), 3);
}

/// Two servers and a workload are missed less than the others.
fn with_priorities() -> Experiment {
    first_heat(&[
        "server[1].priority=3",
        "server[2].priority=2",
        "workload[1].priority=2",
        "duration=10s",
    ])
}

#[test]
fn a_budget_leaves_out_what_has_the_least_priority_only_where_nothing_less_fits() {
    let big = with_priorities();
    let present = [0, 1, 2, 3];
    let names = |scaled: &Scaled| -> Vec<String> {
        let servers = scaled.experiment.servers().iter();
        let servers = servers.map(|server| server.label.clone());
        let workloads = scaled.experiment.workloads().iter();
        servers
            .chain(workloads.map(|one| one.name.clone()))
            .collect()
    };
    let all = [
        "origin",
        "nginx",
        "apache",
        "lighttpd",
        "7-byte file",
        "100 KB file",
    ];
    let check = |present: &[usize], seconds: u64, expected: &[&str], said: &[&str]| {
        let scaled = scale(&big, &these(present), AT_ONCE, Span::from_s(seconds));
        assert_eq!(names(&scaled), expected, "{:?}", scaled.said);
        let told: Vec<&str> = scaled.said.iter().map(String::as_str).collect();
        assert_eq!(told[..said.len()], *said);
    };
    // Windows of 10 s become shorter first.
    check(&present, 200, &all, &[]);
    let left = ["origin", "lighttpd", "7-byte file"];
    check(
        &present,
        1,
        &left,
        &[
            "nginx left out (priority 3)",
            "100 KB file left out (priority 2)",
            "apache left out (priority 2)",
        ],
    );
    // Who is not here costs nothing, and stays as a row.
    check(
        &[0, 2, 3],
        1,
        &["origin", "nginx", "lighttpd", "7-byte file"],
        &[
            "100 KB file left out (priority 2)",
            "apache left out (priority 2)",
        ],
    );
}

/// The same as data.
#[test]
fn what_a_budget_leaves_out_is_listed() {
    let big = with_priorities();
    let present = [0, 1, 2, 3];
    let smallest = scale(&big, &these(&present), AT_ONCE, Span::from_s(1));
    let gone = |part: Part, priority: Option<u32>| {
        let time = Span::from_s(1);
        let why = Why::Budget { time, priority };
        LeftOut { part, why }
    };
    let server = |label: &str| Part::Server(label.to_owned());
    let mut expected = vec![
        gone(server("nginx"), Some(3)),
        gone(Part::Workload("100 KB file".to_owned()), Some(2)),
        gone(server("apache"), Some(2)),
    ];
    let left = smallest.experiment.connections();
    let thinned = big.connections().iter().filter(|one| !left.contains(one));
    expected.extend(thinned.map(|count| gone(Part::Connections(*count), None)));
    assert_eq!(smallest.left_out, expected);
    let larger = scale(&big, &these(&present), AT_ONCE, Span::from_s(200));
    let is_point = |one: &LeftOut| matches!(one.part, Part::Connections(_));
    assert!(
        larger.left_out.iter().all(is_point),
        "{:?}",
        larger.left_out
    );
}

#[test]
fn fewer_rounds_than_needed_are_left_alone_and_what_they_cannot_tell_is_said() {
    let small = first_heat(&["rounds=2"]);
    let scaled = scale(&small, &these(&[0]), AT_ONCE, Span::from_s(1));
    assert_eq!(scaled.experiment.rounds(), 2);
    let check = |rounds: &str, present: &[usize], expected: Option<&str>| {
        let found = untold(&first_heat(&[rounds]), &these(present));
        assert_eq!(found.as_deref(), expected, "{rounds}");
    };
    check(
        "rounds=1",
        &[0, 1, 2, 3],
        Some(
            "1 round cannot tell which server is faster: there are no 95 % intervals below 6, and \
             6 comparisons of servers have answers from 8 on",
        ),
    );
    check(
        "rounds=7",
        &[0, 1, 2, 3],
        Some(
            "7 rounds cannot tell which server is faster: there are intervals, and 6 comparisons \
             of servers have answers from 8 on",
        ),
    );
    check(
        "rounds=5",
        &[0],
        Some("5 rounds cannot tell which server is faster: there are no 95 % intervals below 6"),
    );
    check("rounds=7", &[0, 1], None);
    check("rounds=8", &[0, 1, 2, 3], None);
}

#[test]
fn rounds_that_are_not_given_are_as_many_as_the_comparisons_need() {
    assert_eq!(first_heat(&[]).rounds(), 8);
    assert_eq!(first_heat(&["server=origin"]).rounds(), 6);
    assert_eq!(first_heat(&["server=origin,nginx"]).rounds(), 7);
    assert_eq!(first_heat(&["server=origin,nginx", "rounds=3"]).rounds(), 3);
}

/// Its trials are as many as in clear; servers of its own are started, and who comes and goes with
/// it is not told one by one.
#[test]
fn a_workload_with_a_protocol_of_its_own_costs_its_points_and_can_be_left_out() {
    let own = [
        "rounds=8",
        "duration=10s",
        "duration_min=10s",
        "workload[1].protocol=http2-tls",
        "workload[1].priority=2",
        "tls.version=1.3",
        "load.streams=4",
    ];
    let experiment = first_heat(&own);
    let all = these(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let plain = first_heat(&own[..3]);
    let (cost, in_clear) = (
        Cost::of(&experiment, &all, AT_ONCE),
        Cost::of(&plain, &these(&[0, 1, 2, 3]), AT_ONCE),
    );
    assert_eq!(
        (cost.trials, cost.ceilings),
        (in_clear.trials, in_clear.ceilings)
    );
    assert_eq!(cost.starts, in_clear.starts * 2);
    // Comparisons are those of servers that meet.
    let told = untold(&first_heat(&["rounds=7", own[3]]), &all);
    assert!(
        told.unwrap()
            .contains("6 comparisons of servers have answers from 8 on")
    );
    assert_eq!(first_heat(&[own[3]]).rounds(), first_heat(&[]).rounds());
    let scaled = scale(&experiment, &all, AT_ONCE, cost.time / 2);
    assert_eq!(scaled.said[0], "100 KB file left out (priority 2)");
    let left = &scaled.experiment;
    assert_eq!((left.servers().len(), left.workloads().len()), (4, 1));
    assert_eq!((&left.file().tls, left.streams()), (&None, 1));
}

#[test]
fn a_search_costs_its_trials() {
    let closed = first_heat(&["duration=1s"]);
    let searched = first_heat(&["duration=1s", "mode=capacity", "objective=errors<1%"]);
    let cost = |experiment: &Experiment| Cost::of(experiment, &these(&[0, 1, 2, 3]), AT_ONCE);
    let (plain, search) = (cost(&closed), cost(&searched));
    assert_eq!(plain.trials, search.trials, "one counts of each search");
    let (trials, windows) = capacity::usual(Span::from_s(1));
    let turns = u64::from(plain.trials - plain.ceilings);
    let more = windows * turns - Span::from_s(1) * turns;
    assert!(trials > 20 && search.time > plain.time + more);
}

/// Points that only a workload names are not thinned, and nothing waits for them to be.
#[test]
fn a_budget_leaves_the_connections_of_a_workload() {
    let experiment = first_heat(&["workload[1].connections=[1, 2, 3, 4, 5, 6, 7, 8]"]);
    let scaled = scale(&experiment, &these(&[0, 1, 2, 3]), AT_ONCE, Span::from_s(1));
    let workload = &scaled.experiment.workloads()[1];
    assert_eq!(scaled.experiment.connections_of(workload).len(), 8);
}

/// One of them gets faster while it runs: it is warmed up until it is steady.
#[test]
fn servers_that_are_warmed_up_until_they_are_steady_cost_their_limit() {
    let limit = Span::from_s(30);
    let some = |limit| -> Present { [(0, None), (1, limit)].into_iter().collect() };
    let cost = |overrides: &[&str], limit| {
        let experiment = first_heat(&[&["rounds=7"], overrides].concat());
        Cost::of(&experiment, &some(limit), AT_ONCE)
    };
    let (plain, steady) = (cost(&[], None), cost(&[], Some(limit)));
    assert_eq!(plain.starts, steady.starts);
    let warmup = first_heat(&[]).warmup();
    assert_eq!(steady.time - plain.time, (limit - warmup) * 7);
    // Nobody is warmed up where the experiment does not want it.
    let none = |limit| cost(&["warmup=0s"], limit).time;
    assert_eq!(none(None), none(Some(limit)));
    // A budget leaves out rather who costs so much.
    let budget = |limit| {
        let overrides = ["rounds=7", "server[1].priority=2"];
        let scaled = scale(
            &first_heat(&overrides),
            &some(limit),
            AT_ONCE,
            Span::from_s(120),
        );
        assert!(scaled.fits, "{:?}", scaled.said);
        scaled.experiment.servers().len()
    };
    assert_eq!((budget(None), budget(Some(limit))), (4, 3));
}

/// Apache with a process for each connection takes seconds to start and to end.
#[test]
fn starts_that_were_seen_count_as_they_were_seen() {
    let experiment = first_heat(&["rounds=7", "order=server"]);
    let two = these(&[0, 1]);
    let seen = |index| (index == 1).then_some(Span::from_s(3));
    let slow = two.clone().with_starts(&seen, Some(Span::from_s(1)));
    let cost = |present: &Present| Cost::of(&experiment, present, AT_ONCE);
    let (plain, slower) = (cost(&two), cost(&slow));
    assert_eq!((plain.trials, plain.starts), (slower.trials, slower.starts));
    let more = (Span::from_s(3) - START + Span::from_s(1) - START) * 7;
    assert_eq!(slower.time - plain.time, more);
    // What they take is taken from the windows.
    let scaled = |present: &Present| scale(&experiment, present, AT_ONCE, Span::from_s(120));
    let (plain, slower) = (scaled(&two), scaled(&slow));
    assert!(plain.fits && slower.fits, "{:?}", slower.said);
    assert!(slower.experiment.duration() < plain.experiment.duration());
    assert!(Cost::of(&slower.experiment, &slow, AT_ONCE).time <= plannable(Span::from_s(120)));
    // It is known of a server whose index another one had that was left out.
    let big = first_heat(&["rounds=7", "order=server", "server[1].priority=2"]);
    let all = these(&[0, 1, 2]).with_starts(&|index| Some(Span::from_s(index as u64 * 10)), None);
    let fewer = scale(&big, &all, AT_ONCE, Span::from_s(200));
    assert_eq!(fewer.said[0], "nginx left out (priority 2)");
    let kept = these(&[0, 1]).with_starts(&|index| Some(Span::from_s(index as u64 * 20)), None);
    let time = Cost::of(&fewer.experiment, &kept, AT_ONCE).time;
    assert!(
        time > Span::from_s(140) && time <= Span::from_s(200),
        "{time}"
    );
}
