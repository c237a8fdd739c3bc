//! GEN-17: agents whose clocks are known to some interval.

use model::environment::Timekeeping;
use model::plan::Arrivals;
use model::plan::pace::{Form, Stage};
use model::trial::Offset;
use model::{Claim, Rate};

use super::*;

/// A load that two agents made, for a server whose machine was metered. What they measured is that
/// of one: the rule reads clocks.
fn by_two() -> Vec<Trial> {
    let mut trials = closed();
    let share =
        |agent: &str, worker: u32| fixture::share(agent, worker..worker + 1, fixture::closed());
    trials[0].plan.workers = 2;
    trials[0].agents = vec![share("gen1", 0), share("gen2", 1)];
    trials
}

/// Clocks of all agents are known within so much of the window, in parts of a thousand.
fn within(trials: &mut [Trial], of_thousand: u64) {
    let span = Span::from_ns(trials[0].record.window.as_ns() / 1_000 * of_thousand);
    for share in &mut trials[0].agents {
        share.clock_offset_within = span;
    }
}

fn offset(trials: &mut [Trial], of_thousand: i64) {
    let thousandth = i64::try_from(trials[0].record.window.as_ns() / 1_000).unwrap();
    trials[0].agents[1].clock_offset_ns = thousandth * of_thousand;
}

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        rule: "GEN-17",
        base: by_two,
        provoke: |t| within(t, 7),
        silent: |t| within(t, 4),
        missing: None,
    }]
}

fn said(trials: &[Trial]) -> Option<Finding> {
    finding(&judge(&trials[0]), "GEN-17")
}

#[test]
fn windows_of_agents_are_one_as_far_as_their_clocks_are_known() {
    let check = |of_thousand: u64, rate: Option<Severity>, cost: Option<Severity>| {
        let mut trials = by_two();
        within(&mut trials, of_thousand);
        let found = said(&trials);
        let of = |claim: Claim| {
            found
                .as_ref()
                .and_then(|one| one.severity.get(&claim).copied())
        };
        assert_eq!(of(Claim::Capacity), rate, "{of_thousand}: {found:#?}");
        assert_eq!(of(Claim::Resources), cost, "{of_thousand}: {found:#?}");
    };
    // Two intervals add up between agents; between one of them and the meters there is one.
    check(4, None, None);
    check(6, Some(Severity::Suspect), None);
    check(11, Some(Severity::Suspect), Some(Severity::Suspect));
    check(49, Some(Severity::Suspect), Some(Severity::Suspect));
    check(51, Some(Severity::Invalid), Some(Severity::Suspect));
    check(101, Some(Severity::Invalid), Some(Severity::Invalid));
}

#[test]
fn one_agent_is_apart_from_nobody_but_the_meters() {
    let one = |is_metered: bool| {
        let mut trials = by_two();
        trials[0].agents.pop();
        within(&mut trials, 20);
        if !is_metered {
            trials[0].usage.server = None;
        }
        said(&trials).map(|found| found.severity.into_keys().collect::<Vec<Claim>>())
    };
    assert_eq!(one(true), Some(vec![Claim::Resources]));
    assert_eq!(one(false), None);
}

/// Where the servers' machine is no agent of the load and did not ask for it, its clock is known to
/// an interval of its own, which comes on top of an agent's.
#[test]
fn meters_are_apart_by_the_interval_of_their_own_machine_too() {
    let cost = |agents: u64, servers: Option<u64>| {
        let mut trials = by_two();
        let trial = &mut trials[0];
        trial.agents.pop();
        let part =
            |of_thousand: u64| Span::from_ns(trial.record.window.as_ns() / 1_000 * of_thousand);
        trial.agents[0].clock_offset_within = part(agents);
        trial.servers_clock = servers.map(|of_thousand| Offset {
            offset_ns: 0,
            within: part(of_thousand),
        });
        said(&trials).map(|found| found.severity.into_iter().collect::<Vec<_>>())
    };
    let suspect = Some(vec![(Claim::Resources, Severity::Suspect)]);
    assert_eq!(cost(6, None), None);
    assert_eq!(cost(6, Some(3)), None);
    assert_eq!(cost(6, Some(5)), suspect);
    assert_eq!(cost(1, Some(11)), suspect);
    assert_eq!(
        cost(51, Some(51)),
        Some(vec![(Claim::Resources, Severity::Invalid)])
    );
}

/// Meters were read by that clock, so that it is the cost that is doubted.
#[test]
fn a_clock_of_the_servers_machine_that_is_far_away_is_noted() {
    let far = |of_thousand: i64| {
        let mut trials = by_two();
        let trial = &mut trials[0];
        let thousandth = i64::try_from(trial.record.window.as_ns() / 1_000).unwrap();
        trial.servers_clock = Some(Offset {
            offset_ns: thousandth * of_thousand,
            within: Span::ZERO,
        });
        trial.environment.timekeeping = Some(Timekeeping::default());
        said(&trials)
    };
    assert_eq!(far(9), None);
    let found = far(-12).expect("a hundredth of the window and more");
    let claims: Vec<Claim> = found.severity.keys().copied().collect();
    assert_eq!(
        (claims, found.worst()),
        (vec![Claim::Resources], Severity::Note)
    );
    let say = "The clock of the servers' machine was ";
    assert!(found.say.starts_with(say), "{}", found.say);
    assert!(
        found.say.contains(" behind, which is 1.2 % of the window"),
        "{}",
        found.say
    );
    assert!(found.say.contains("is not synchronised"), "{}", found.say);
    let stated = found
        .evidence
        .contains_key("within_ns of the servers' machine");
    assert!(stated, "{:?}", found.evidence);
}

/// A crowd that comes for a tenth of the window comes of all agents at once, or is another one.
#[test]
fn the_shortest_stage_is_what_must_coincide() {
    let staged = |parts: &[u64]| {
        let mut trials = by_two();
        within(&mut trials, 1);
        let window = trials[0].record.window.as_ns();
        let stage = |part: &u64| Stage {
            length: Span::from_ns(window / 100 * part),
            form: Form::Hold {
                rate_per_1000_s: Rate::per_1000_s(1_000_000),
            },
        };
        trials[0].plan.stages = parts.iter().map(stage).collect();
        said(&trials).map(|found| found.say)
    };
    assert_eq!(staged(&[]), None);
    assert_eq!(staged(&[70, 0, 30]), None);
    let say = staged(&[90, 10]).expect("2 of a hundred parts of the crowd");
    assert!(say.contains("2.0 % of the shortest stage"), "{say}");
}

/// Its offset is taken out, so that it is a note; what is not known of it is not.
#[test]
fn a_clock_that_is_far_away_is_noted() {
    let far = |of_thousand: i64, synchronised: bool| {
        let mut trials = by_two();
        offset(&mut trials, of_thousand);
        trials[0].agents[1].environment.timekeeping = Some(Timekeeping {
            synchronised,
            ..Timekeeping::default()
        });
        said(&trials)
    };
    assert_eq!(far(9, true), None);
    assert_eq!(far(-9, true), None);
    let ahead = far(12, true).expect("a hundredth of the window and more");
    assert_eq!(ahead.worst(), Severity::Note);
    assert!(
        ahead.say.starts_with("The clock of gen2 was "),
        "{}",
        ahead.say
    );
    assert!(
        ahead.say.contains(" ahead, which is 1.2 % of the window"),
        "{}",
        ahead.say
    );
    assert!(!ahead.say.contains("kernel"), "{}", ahead.say);
    let behind = far(-12, false).expect("the same to the other side");
    assert!(
        behind.say.contains(" behind, which is 1.2 % of the window"),
        "{}",
        behind.say
    );
    assert!(behind.say.contains("not synchronised"), "{}", behind.say);
}

#[test]
fn evenly_spaced_arrivals_of_several_agents_may_come_in_pairs() {
    let spaced = |arrivals: fn(Rate) -> Arrivals, per_second: u64, within_us: u64| {
        let mut trials = by_two();
        trials[0].plan.arrivals = arrivals(Rate::per_1000_s(per_second * 1_000));
        for share in &mut trials[0].agents {
            share.clock_offset_within = Span::from_us(within_us);
        }
        said(&trials)
    };
    let fixed = |rate_per_1000_s| Arrivals::Fixed { rate_per_1000_s };
    let poisson = |rate_per_1000_s| Arrivals::Poisson { rate_per_1000_s };
    // One in a millisecond, and half of that.
    assert_eq!(spaced(fixed, 1_000, 249), None);
    let found = spaced(fixed, 1_000, 251).expect("the gap is half as long");
    assert_eq!(found.worst(), Severity::Note);
    assert!(found.say.contains("one every 1000 µs"), "{}", found.say);
    assert_eq!(spaced(poisson, 1_000, 251), None);
    // No machine sends one in 50 µs evenly.
    assert_eq!(spaced(fixed, 20_000, 251), None);
}
