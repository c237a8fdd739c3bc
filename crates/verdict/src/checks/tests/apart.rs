//! GEN-17: agents whose clocks are known to some interval.

use model::environment::Timekeeping;
use model::plan::Arrivals;
use model::plan::pace::{Form, Stage};
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
