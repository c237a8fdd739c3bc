use std::ops::RangeInclusive;

use model::point::{CONNECTIONS, RATE, Value};

use super::*;
use crate::pairs::Answer;

fn id(server: &str, connections: u32) -> PointId {
    PointId {
        server: server.to_owned(),
        workload: "small".to_owned(),
        ..PointId::default()
    }
    .with(CONNECTIONS, Value::Count(connections))
}

/// Servers with their rates in each round at 16 and 64 connections, a little apart in each.
fn rounds<'a>(ids: &'a [(PointId, f64)], count: u32) -> Vec<Round<'a>> {
    let of = |(id, rate): &'a (PointId, f64)| {
        (1..=count).map(move |round| Round {
            attempt: 0,
            group: 0,
            id,
            round,
            value: Some(rate * (1.0 + 0.001 * f64::from(round))),
            at_least: false,
            cpu_us: Some(1e6 / rate),
            is_cost_struck: false,
            is_spoilt: false,
            spoilt_by: None,
            struck_by: None,
            unlike_by: None,
        })
    };
    ids.iter().flat_map(of).collect()
}

/// Something else had the CPUs of that round.
fn spoil(round: &mut Round<'_>) {
    (round.is_spoilt, round.spoilt_by) = (true, Some("CPU-08"));
}

fn servers() -> Vec<(PointId, f64)> {
    vec![
        (id("origin", 16), 100.0),
        (id("origin", 64), 90_000.0),
        (id("nginx", 16), 100.0),
        (id("nginx", 64), 50_000.0),
        (id("lighttpd", 64), 50_100.0),
    ]
}

#[test]
fn the_answer_is_a_sentence_at_the_declared_load() {
    let ids = servers();
    let comparisons = compare(&rounds(&ids, 8), Asked::default());
    let [comparison] = comparisons.as_slice() else {
        panic!("{comparisons:?}");
    };
    assert_eq!(
        comparison.sentence(),
        "small, at 64 connections: origin has 1.80 times the rate of nginx [1.80, 1.80]; lighttpd \
         1.002 times [1.002, 1.002]."
    );
    assert_eq!(
        comparison.certainty(),
        [
            "origin: faster (margin 2.0 %).",
            "lighttpd: equivalent within 2.0 %."
        ]
    );
    let cost = comparison.cost().unwrap();
    assert!(cost.contains("nginx 20.0 µs, origin 11.1 µs"), "{cost}");
}

#[test]
fn servers_that_could_not_be_measured_are_comparisons_too() {
    let ids = servers();
    let asked = ["nginx", "origin", "lighttpd", "apache"].map(str::to_owned);
    let asked = Asked {
        servers: &asked,
        ..Asked::default()
    };
    assert_eq!(compare(&rounds(&ids, 8), asked)[0].family.comparisons, 3);
}

/// Who is asked in another protocol is no rival, and no comparison either.
#[test]
fn servers_that_a_workload_is_not_asked_of_are_no_comparisons() {
    let ids = servers();
    let asked = ["nginx", "origin", "lighttpd", "nginx http2"].map(str::to_owned);
    let apart = [("nginx http2".to_owned(), "small".to_owned())];
    let asked = Asked {
        servers: &asked,
        apart: &apart,
        ..Asked::default()
    };
    assert_eq!(compare(&rounds(&ids, 8), asked)[0].family.comparisons, 2);
}

#[test]
fn the_reference_is_whom_the_experiment_names() {
    let ids = servers();
    let references = ["lighttpd".to_owned()];
    let asked = Asked {
        references: &references,
        ..Asked::default()
    };
    let comparison = compare(&rounds(&ids, 8), asked).remove(0);
    assert_eq!(comparison.reference.server, "lighttpd");
}

#[test]
fn a_reference_that_two_groups_share_is_compared_within_each() {
    let ids = servers();
    let mut all = rounds(&ids, 8);
    // The machine is half as fast when the second group has its turn, with the reference.
    let mut second: Vec<Round<'_>> = all
        .extract_if(.., |round| round.id.server == "lighttpd")
        .collect();
    second.extend(all.iter().filter(|round| round.id.server == "nginx"));
    for round in &mut second {
        round.group = 1;
        round.value = round.value.map(|value| value / 2.0);
        round.cpu_us = round.cpu_us.map(|us| us * 2.0);
    }
    // The first group was measured again in round 1, and the second was not.
    for round in all.iter_mut().filter(|round| round.round == 1) {
        round.attempt = 1;
    }
    all.extend(second);
    let comparison = compare(&all, Asked::default()).remove(0);
    assert_eq!(
        comparison.sentence(),
        "small, at 64 connections: origin has 1.80 times the rate of nginx [1.80, 1.80]; lighttpd \
         1.002 times [1.002, 1.002]."
    );
    assert_eq!(comparison.reference.counting(), 8);
    for rival in &comparison.rivals {
        assert_eq!(rival.racer.counting(), 8, "{}", rival.racer.server);
    }
}

/// A server with its log on shares no group with one whose log is off, nor a reference with it.
#[test]
fn servers_that_never_stand_in_one_group_are_compared_within_rounds() {
    let ids = servers();
    let mut all = rounds(&ids, 8);
    for round in all.iter_mut().filter(|it| it.id.server == "lighttpd") {
        round.group = 1;
        // It was measured again, and its round still is the round of the others.
        round.attempt = u32::from(round.round == 3);
    }
    let comparison = compare(&all, Asked::default()).remove(0);
    assert_eq!(
        comparison.sentence(),
        "small, at 64 connections: origin has 1.80 times the rate of nginx [1.80, 1.80]; lighttpd \
         1.002 times [1.002, 1.002]."
    );
    assert_eq!(comparison.rivals[1].rounds(), 8);
    // Where they meet, only where they meet.
    let met = all
        .iter_mut()
        .find(|it| it.id.server == "lighttpd" && it.round == 5);
    met.unwrap().group = 0;
    let comparison = compare(&all, Asked::default()).remove(0);
    assert_eq!(comparison.rivals[1].rounds(), 1);
}

#[test]
fn rounds_to_which_a_rule_objects_count_and_are_told() {
    let ids = servers();
    let mut objected = rounds(&ids, 8);
    for round in objected.iter_mut().filter(|round| round.round == 8) {
        round.value = round.value.map(|value| value * 3.0);
        round.struck_by = (round.id.server == "nginx").then_some("STA-03");
    }
    let comparison = compare(&objected, Asked::default()).remove(0);
    assert_eq!(comparison.rivals[0].racer.counting(), 8);
    assert_eq!(comparison.rivals[0].rounds(), 8);
    assert!(comparison.sentence().contains("origin has 1.80 times"));
    assert_eq!(
        comparison.certainty().last().unwrap(),
        "Rounds that count although a rule objects to them: 1 of nginx (STA-03)."
    );
}

#[test]
fn bounds_are_no_answers() {
    let ids = servers();
    let mut bounded = rounds(&ids, 8);
    for round in &mut bounded {
        round.at_least = round.id.server == "nginx";
    }
    let comparison = compare(&bounded, Asked::default()).remove(0);
    assert!(
        comparison
            .sentence()
            .contains("origin has at most 1.80 times")
    );
    assert_eq!(comparison.rivals[0].answer, None);
    assert!(comparison.certainty()[0].contains("the generator was the limit"));
    // Of spoilt rounds no less, where the answer rests on them.
    for round in &mut bounded {
        (round.is_spoilt, round.spoilt_by) = (true, Some("CPU-08"));
    }
    let comparison = compare(&bounded, Asked::default()).remove(0);
    assert_eq!(comparison.rivals[0].answer, None);
}

/// What a bound of a time rests on is told where the bound is; of a rate nobody waited.
#[test]
fn a_bound_of_a_time_tells_its_convention() {
    let of_times = |with_rate: bool| {
        let mut ids = servers();
        for (id, _) in &mut ids {
            if with_rate {
                *id = id.clone().with(RATE, Value::Rate(Rate::per_second(100)));
            }
        }
        let mut all = rounds(&ids, 8);
        for round in &mut all {
            round.at_least = round.id.server == "origin";
        }
        let comparison = compare(&all, Asked::default()).remove(0);
        let said = comparison.certainty();
        said.iter().any(|sentence| sentence == UNANSWERED)
    };
    assert!(of_times(true));
    assert!(!of_times(false));
}

/// What must not be held against others is not, however many rounds there are.
#[test]
fn servers_that_were_not_measured_alike_are_not_compared() {
    let ids = servers();
    let told = |unlike: u32| {
        let mut all = rounds(&ids, 8);
        let is_meant = |round: &&mut Round<'_>| round.id.server == "lighttpd";
        for round in all.iter_mut().filter(is_meant) {
            round.unlike_by = (round.round <= unlike).then_some("HTTP-11");
        }
        compare(&all, Asked::default()).remove(0)
    };
    let unlike = told(8);
    assert_eq!(
        unlike.sentence(),
        "small, at 64 connections: origin has 1.80 times the rate of nginx [1.80, 1.80]; lighttpd \
         cannot be compared with nginx, because they were not measured alike (HTTP-11)."
    );
    let rival = unlike.rivals.last().unwrap();
    assert_eq!(rival.racer.server, "lighttpd");
    assert!(matches!(
        rival.answer,
        Some(Answer::Inconclusive { .. }) | None
    ));
    assert!(!told(4).sentence().contains("cannot be compared"));
}

#[test]
fn two_executions_are_not_compared() {
    let ids = servers();
    let mut other = servers();
    for (id, _) in &mut other {
        "11:00".clone_into(&mut id.execution.begun);
    }
    let mut both = rounds(&ids, 8);
    both.extend(rounds(&other, 8));
    assert!(compare(&both, Asked::default()).is_empty());
}

#[test]
fn a_point_is_suspect_where_rounds_share_a_cause() {
    use Status::{Invalid, Suspect, Unknown, Valid};
    let check = |rounds: &[(Status, &[&'static str])], expected: Status| {
        let all = rounds
            .iter()
            .map(|(status, causes)| (*status, causes.to_vec()));
        assert_eq!(worth(all), expected, "{rounds:?}");
    };
    let sound: (Status, &[&str]) = (Valid, &[]);
    let doubted: (Status, &[&str]) = (Suspect, &["CPU-08"]);
    let other: (Status, &[&str]) = (Suspect, &["CPU-03"]);
    let struck: (Status, &[&str]) = (Invalid, &["GEN-03"]);
    check(&[sound, sound, sound, sound, sound, doubted], Valid);
    check(&[sound, sound, sound, sound, other, doubted], Valid);
    check(&[sound, sound, sound, sound, doubted, doubted], Suspect);
    check(&[sound, sound, sound, sound, sound, struck], Valid);
    check(&[sound, sound, sound, sound, struck, struck], Suspect);
    let otherwise: (Status, &[&str]) = (Invalid, &["STA-03"]);
    check(&[sound, sound, sound, sound, struck, otherwise], Suspect);
    // One of three stays among the others or leaves their middle alone; one of two does not.
    check(&[sound, sound, struck], Valid);
    check(&[sound, struck], Suspect);
    check(&[sound, sound, struck, struck, struck, struck], Invalid);
    check(&[doubted], Suspect);
    check(&[(Unknown, &[]), (Unknown, &[]), sound], Unknown);
}

#[test]
fn spare_rounds_save_what_lost_a_few_and_no_more() {
    let ids = servers();
    let short = |asked: u32, lost: u32, spares: usize| {
        let mut rounds = rounds(&ids, asked);
        let is_lost = |round: &&mut Round<'_>| round.id.server == "lighttpd" && round.round <= lost;
        for round in rounds.iter_mut().filter(is_lost) {
            spoil(round);
        }
        let comparisons = compare(&rounds, Asked::default());
        assert_eq!(comparisons[0].family.comparisons, 2);
        comparisons[0].is_short(asked as usize, spares)
    };
    // Two comparisons need seven rounds.
    assert_eq!(rounds_needed(2, crate::pairs::ALPHA), 7);
    assert!(!short(7, 0, 3), "nothing was lost");
    assert!(!short(8, 1, 3), "enough are left");
    assert!(short(7, 1, 3));
    assert!(short(7, 3, 3));
    assert!(
        !short(7, 4, 3),
        "three spare rounds do not make up for four"
    );
    assert!(!short(6, 0, 3), "fewer were asked for than can ever tell");
    assert!(!short(7, 1, 0));
    // What came out, and what rules say of it, adds no round.
    let mut all = rounds(&ids, 7);
    for round in all.iter_mut().filter(|round| round.round <= 2) {
        (round.value, round.struck_by) = (None, Some("GEN-03"));
    }
    assert!(!compare(&all, Asked::default())[0].is_short(7, 3));
}

/// What rules leave of most rounds is chosen by them: nothing is said of it.
#[test]
fn few_rounds_that_rules_leave_are_no_sample() {
    let ids = servers();
    let told = |struck: u32| {
        let mut rounds = rounds(&ids, 11);
        let is_meant = |round: &&mut Round<'_>| round.id.server == "lighttpd";
        for round in rounds.iter_mut().filter(is_meant) {
            if round.round <= struck {
                round.struck_by = Some("GEN-03");
            }
        }
        compare(&rounds, Asked::default()).remove(0)
    };
    let few = told(9);
    let said = few.sentence();
    let why = "lighttpd cannot be compared with nginx, because most rounds of lighttpd are invalid \
               (GEN-03)";
    assert!(said.contains("origin has 1.80 times"), "{said}");
    assert!(said.contains(why), "{said}");
    assert!(!few.certainty().join(" ").contains("although"));
    let most = told(5);
    let objected = "Rounds that count although a rule objects to them: 5 of lighttpd (GEN-03).";
    assert!(!most.sentence().contains("cannot be compared"));
    assert_eq!(most.certainty().pop().as_deref(), Some(objected));
}

#[test]
fn one_round_is_told_as_one() {
    assert_eq!(
        rests_on_all(0, 1),
        "rests on the only round, which did not have the CPUs to itself"
    );
    assert!(rests_on_all(1, 2).starts_with("rests on both rounds as"));
    let ids = servers();
    let compared = compare(&rounds(&ids, 1), Asked::default()).remove(0);
    let said = &compared.certainty()[0];
    assert!(said.contains("1 round is too few for"), "{said}");
}

/// Where something took the CPUs in most rounds, the answer rests on all of them and says so.
#[test]
fn spoilt_rounds_count_where_the_others_are_too_few() {
    let ids = servers();
    let compared = |spoilt: u32, again: bool| {
        let mut all = rounds(&ids, 8);
        let is_spoilt = |round: &&mut Round<'_>| round.round <= spoilt;
        for round in all.iter_mut().filter(is_spoilt) {
            (round.is_spoilt, round.spoilt_by) = (true, Some("CPU-01"));
            // The machine was slower, for all alike.
            round.value = round.value.map(|value| value / 2.0);
        }
        if again {
            all.extend(rounds(&ids, spoilt).into_iter().map(|round| Round {
                attempt: 1,
                ..round
            }));
        }
        compare(&all, Asked::default()).remove(0)
    };
    // Two comparisons need seven rounds.
    let sound = compared(1, false);
    assert_eq!(sound.certainty()[0], "origin: faster (margin 2.0 %).");
    let spoilt = compared(2, false);
    assert_eq!(spoilt.certainty()[0], "origin: faster (margin 2.0 %).");
    assert_eq!(
        spoilt.certainty()[2],
        "What is said about origin and lighttpd is suspect: it rests on all 8 rounds as they were \
         first measured, and only 6 of them had the CPUs to themselves."
    );
    assert!(
        spoilt.sentence().contains("1.80 times"),
        "{}",
        spoilt.sentence()
    );
    // What counts is not said to count for nothing.
    let last = spoilt.certainty().pop().unwrap();
    assert_eq!(
        last,
        "Rounds that count although something spoilt them: 2 of nginx (CPU-01), 2 of origin \
         (CPU-01), 2 of lighttpd (CPU-01)."
    );
    assert!(!spoilt.certainty().join(" ").contains("do not count"));
    assert!(spoilt.is_short(8, 3), "spare rounds can still save it");
    // What was measured again without a disturbance counts instead.
    assert_eq!(
        compared(2, true).certainty()[0],
        "origin: faster (margin 2.0 %)."
    );
    assert!(compared(8, false).certainty()[2].contains("none of them had"));
}

/// A trial that was changed after it was stored can make two points of one server.
#[test]
fn a_server_that_stands_twice_is_compared_twice() {
    let mut ids = servers();
    let (mut other, rate) = ids[1].clone();
    other
        .axes
        .set(model::point::ACCESS_LOG, Value::Word("on".to_owned()));
    ids.push((other, rate));
    ids.retain(|(id, _)| id.server != "lighttpd");
    let comparison = compare(&rounds(&ids, 8), Asked::default()).remove(0);
    assert_eq!(
        (comparison.rivals.len(), comparison.family.comparisons),
        (2, 2)
    );
}

/// What something spoilt is no better for that: where rules forbid most of what was measured first
/// for another reason, too, nothing rests on it.
#[test]
fn spoilt_rounds_that_rules_forbid_are_no_result() {
    let ids = servers();
    let told = |struck: u32| {
        let mut all = rounds(&ids, 8);
        for round in &mut all {
            spoil(round);
            let is_meant = round.id.server == "nginx" && round.round <= struck;
            round.struck_by = is_meant.then_some("HTTP-10");
        }
        compare(&all, Asked::default()).remove(0)
    };
    assert_eq!(
        told(5).sentence(),
        "small, at 64 connections: lighttpd and origin cannot be compared with nginx, because \
         most rounds of nginx are invalid (HTTP-10)."
    );
    assert!(told(4).sentence().contains("1.80 times"));
}

/// Two that are alike show what a difference means on this machine: nothing smaller is told.
#[test]
fn no_difference_is_told_that_twins_show_too() {
    let check = |twin: f64, margin: &str, lighttpd: &str, told: &str| {
        let ids = [
            (id("nginx", 64), 50_000.0),
            (id("nginx twin", 64), 50_000.0 * twin),
            (id("lighttpd", 64), 52_000.0),
            (id("origin", 64), 90_000.0),
        ];
        let twins = [("nginx".to_owned(), "nginx twin".to_owned())];
        let asked = Asked {
            twins: &twins,
            ..Asked::default()
        };
        let comparison = compare(&rounds(&ids, 12), asked).remove(0);
        let said = comparison.certainty().join(" ");
        assert!(
            said.contains(&format!("faster (margin {margin})")),
            "{said}"
        );
        assert!(said.contains(&format!("lighttpd: {lighttpd}")), "{said}");
        assert!(said.contains(told), "{said}");
    };
    // 4 % is more than the 2 % that count, and than twins differ by.
    let equal = "nginx and nginx twin are the same server twice, and may differ by 0.5 % here (at \
                 small), which is less than the margin.";
    check(1.005, "2.0 %", "faster", equal);
    check(1.0 / 1.005, "2.0 %", "faster", equal);
    // Here two that are the same differ by more than that.
    let apart = "may differ by 6.0 % here (at small): no smaller difference is reported.";
    check(1.06, "6.0 %", "equivalent within 6.0 %", apart);
    check(1.0 / 1.06, "6.0 %", "equivalent within 6.0 %", apart);
}

#[test]
fn twins_of_which_too_little_is_known_are_told() {
    let ids = [(id("nginx", 64), 5e4), (id("nginx twin", 64), 5e4)];
    let twins = [("nginx".to_owned(), "nginx twin".to_owned())];
    let asked = Asked {
        twins: &twins,
        ..Asked::default()
    };
    let comparison = compare(&rounds(&ids, 5), asked).remove(0);
    let said = comparison.certainty().join(" ");
    let told = "nginx and nginx twin are the same server twice, and their ratio has no interval";
    assert!(said.contains(told), "{said}");
}

/// Nobody measures the one again in vain, because the other is no result either.
#[test]
fn where_both_are_invalid_both_are_named() {
    let ids = servers();
    let mut all = rounds(&ids, 8);
    for round in &mut all {
        round.struck_by = match round.id.server.as_str() {
            "nginx" => Some("GEN-01"),
            "origin" => Some("GEN-03"),
            _ => None,
        };
    }
    let comparison = compare(&all, Asked::default()).remove(0);
    let mut rivals = comparison.rivals.iter();
    let origin = rivals.find(|rival| rival.racer.server == "origin").unwrap();
    assert_eq!(
        origin.forbidden.as_deref(),
        Some("most rounds of origin (GEN-03) and of nginx (GEN-01) are invalid")
    );
}

/// A bound is the reason for no answer only where it hides what would decide.
#[test]
fn too_few_rounds_are_the_reason_where_a_bound_hides_nothing() {
    let ids = servers();
    let told_of = |server: &str, count: u32, bounded: &str| {
        let mut all = rounds(&ids, count);
        for round in &mut all {
            round.at_least = round.id.server == bounded;
        }
        let comparison = compare(&all, Asked::default()).remove(0);
        let mut rivals = comparison.rivals.iter();
        let rival = rivals.find(|rival| rival.racer.server == server).unwrap();
        comparison.answer(rival)
    };
    let told = |count: u32, bounded: &str| told_of("origin", count, bounded);
    assert_eq!(told(8, "origin"), "faster (margin 2.0 %)");
    assert_eq!(
        told(6, "origin"),
        "inconclusive: 6 rounds are too few for 2 comparisons; 7 rounds are needed"
    );
    assert_eq!(told(6, "nginx"), "no answer: the generator was the limit");
    // At least 1.002 times, within the margin: more rounds would not tell either.
    let within = told_of("lighttpd", 6, "lighttpd");
    assert_eq!(within, "no answer: the generator was the limit");
}

/// Servers with their rates, whose rounds differ by so much from each other.
fn ranks_of(rates: &[(&str, f64)], count: u32, spread: f64) -> Ranks {
    let ids: Vec<(PointId, f64)> = rates
        .iter()
        .map(|(name, rate)| (id(name, 64), *rate))
        .collect();
    let mut all = rounds(&ids, count);
    for round in &mut all {
        // Each server has its bad rounds, another one in each.
        let place = rates.iter().position(|(name, _)| *name == round.id.server);
        let is_bad = (place.unwrap_or(0) + round.round as usize).is_multiple_of(3);
        let value = round.value.as_mut().expect("a rate");
        *value *= if is_bad { 1.0 - spread } else { 1.0 };
    }
    let comparison = compare(&all, Asked::default()).remove(0);
    comparison.ranks.expect("several servers")
}

fn rows(ranks: &Ranks) -> Vec<(&str, Option<RangeInclusive<usize>>, String)> {
    let servers = ranks.servers.iter();
    servers
        .map(|one| {
            (
                one.server.as_str(),
                one.ranks.clone(),
                one.not_told_from.join(" "),
            )
        })
        .collect()
}

#[test]
fn servers_that_cannot_be_told_apart_share_their_ranks() {
    let rates = [("a", 100.0), ("b", 200.0), ("c", 201.0), ("d", 300.0)];
    let ranks = ranks_of(&rates, 12, 0.0);
    let expected = [
        ("d", Some(1..=1), String::new()),
        ("c", Some(2..=3), "b".to_owned()),
        ("b", Some(2..=3), "c".to_owned()),
        ("a", Some(4..=4), String::new()),
    ];
    assert_eq!(rows(&ranks), expected);
    assert_eq!(
        ranks.sentence("faster"),
        "The ranks that a server may have: the first is 1 more than the number of servers that are \
         shown to be faster by more than 2.0 %, the last is the number of servers without those \
         that it is shown to be faster than by as much. The chance that any of the 6 pairs of 4 \
         servers is told apart wrongly is 5.0 % at most."
    );
}

/// Each differs from its neighbour by less than the margin, and the first from the last by more.
#[test]
fn a_chain_of_servers_names_whom_each_is_not_told_from() {
    let rates = [("a", 100.0), ("b", 101.5), ("c", 103.0)];
    let ranks = ranks_of(&rates, 12, 0.0);
    let expected = [
        ("c", Some(1..=2), "b".to_owned()),
        ("b", Some(1..=3), "c a".to_owned()),
        ("a", Some(2..=3), "b".to_owned()),
    ];
    assert_eq!(rows(&ranks), expected);
}

/// One is faster by far in the median of its rounds, and in too few of them to be told apart.
#[test]
fn rounds_that_differ_much_share_all_ranks() {
    let rates = [("a", 100.0), ("b", 110.0), ("c", 121.0)];
    let of = |spread: f64| -> Vec<Option<RangeInclusive<usize>>> {
        let ranks = ranks_of(&rates, 12, spread);
        let servers = ranks.servers.into_iter();
        servers.map(|one| one.ranks).collect()
    };
    assert_eq!(of(0.0), [Some(1..=1), Some(2..=2), Some(3..=3)]);
    assert_eq!(of(0.9), [Some(1..=3), Some(1..=3), Some(1..=3)]);
}

#[test]
fn too_few_rounds_give_no_ranks() {
    let rates = [("a", 100.0), ("b", 200.0), ("c", 300.0), ("d", 400.0)];
    let ranks = ranks_of(&rates, 6, 0.0);
    assert!(!ranks.can_tell());
    let said =
        "No ranks: 6 rounds cannot tell the 6 pairs of 4 servers apart; 8 rounds are needed.";
    assert_eq!(ranks.sentence("faster"), said);
    assert!(ranks_of(&rates, 8, 0.0).can_tell());
}

/// Of response times the shorter is the better.
#[test]
fn at_an_asked_rate_the_shortest_time_is_first() {
    let at = |server| id(server, 64).with(RATE, Value::Rate(Rate::per_second(10)));
    let ids = [(at("a"), 100.0), (at("b"), 200.0), (at("c"), 300.0)];
    let comparison = compare(&rounds(&ids, 12), Asked::default()).remove(0);
    assert_eq!(comparison.quantity(), "median response time");
    let ranks = comparison.ranks.expect("several servers");
    let names: Vec<_> = ranks
        .servers
        .iter()
        .map(|one| (one.server.as_str(), one.ranks.clone()))
        .collect();
    let expected = [("a", Some(1..=1)), ("b", Some(2..=2)), ("c", Some(3..=3))];
    assert_eq!(names, expected);
}

/// What rules object to in most rounds is no result: it stands last, without a rank.
#[test]
fn a_server_without_a_result_has_no_ranks() {
    let ids: Vec<_> = [("a", 100.0), ("b", 200.0), ("c", 300.0)]
        .into_iter()
        .map(|(name, rate)| (id(name, 64), rate))
        .collect();
    let mut all = rounds(&ids, 12);
    for round in all.iter_mut().filter(|round| round.id.server == "c") {
        round.struck_by = Some("GEN-07");
    }
    let ranks = compare(&all, Asked::default())
        .remove(0)
        .ranks
        .expect("several servers");
    let expected = [
        ("b", Some(1..=1), String::new()),
        ("a", Some(2..=2), String::new()),
        ("c", None, String::new()),
    ];
    assert_eq!(rows(&ranks), expected);
}
