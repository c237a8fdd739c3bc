//! STA-12: how precisely the rounds of a point agree, at any length of the window.
//!
//! A wide interval is not a doubt: it says honestly how far the number may be off. So this is a
//! note, with a word: sharp within 3 %, fair within 10 %, rough beyond. A short window needs no
//! other rule, because what it misses shows as a spread between rounds, each with a fresh start.
//! What rounds cannot show, camps and a drift, is judged by STA-05, STA-06 and STA-03.
//!
//! Each claim is judged by the rounds of its own number. In an open loop the plan sets the rate,
//! on which rounds agree whatever the server does.

use model::finding::Claim::{self, Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Note;
use model::units::Span;

use crate::check::{Check, Found, Judge, Judgement};
use crate::pairs::{Precision, Sharpness};
use crate::set::{Peers, PointSummary};
use crate::summary::Rounds;
use crate::thresholds::{HALF_WIDTH, ROUNDS_SUSPECT, WINDOW_MIN_S};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-12",
    name: "precision",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "Policy; the exact interval of the median over rounds",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let window = peers.entry.window;
    if window.is_zero() {
        return Judgement::unknown("the length of the window");
    }
    if peers.entry.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let is_long = window.as_s_f64() >= WINDOW_MIN_S;
    if peers.point().is_none() && is_long {
        return Judgement::Silent;
    }
    let claims = &peers.entry.claims;
    let point = peers.point();
    let mut numbers: Vec<Number<'_>> = claims
        .iter()
        .map(|claim| number_of(*claim, peers, point))
        .collect();
    numbers.sort_by_key(|number| number.name);
    numbers.dedup_by_key(|number| number.name);
    let is_sharp = |number: &Number<'_>| {
        let precision = number.precision();
        precision.is_some_and(|precision| precision.sharpness == Sharpness::Sharp)
    };
    if numbers.iter().all(is_sharp) {
        return Judgement::Silent;
    }
    let rounds = point.map_or(1, |point| point.rate.values.len());
    let mut found = Found::all(claims, Note, say(window, rounds, &numbers))
        .evidence("window_s", window.as_s_f64())
        .evidence("rounds", point.map(|_| rounds));
    for number in &numbers {
        found = found.evidence(
            &format!("half_width of {}", number.name.trim_start_matches("the ")),
            number
                .precision()
                .and_then(|precision| precision.half_width),
        );
    }
    found
        .limit(&HALF_WIDTH)
        .fix("Measure more rounds (lab), or longer ones")
        .into()
}

/// What a claim is about, over the rounds of its point.
struct Number<'a> {
    name: &'static str,
    verb: &'static str,
    rounds: Option<&'a Rounds>,
}

impl Number<'_> {
    /// How precisely it is known; none where not every round has it.
    fn precision(&self) -> Option<Precision> {
        self.rounds.map(Precision::of)
    }
}

fn number_of<'a>(claim: Claim, peers: &Peers<'_>, point: Option<&'a PointSummary>) -> Number<'a> {
    let rate = Number {
        name: "the rate",
        verb: "is",
        rounds: point.map(|point| &point.rate),
    };
    let response = Number {
        name: "response times",
        verb: "are",
        // The tail is what short windows miss first, where the sample carries it.
        rounds: point.and_then(|p| p.response_p99_us.as_ref().or(p.response_p50_us.as_ref())),
    };
    match claim {
        Latency => response,
        Comparison if peers.entry.is_scheduled => response,
        Capacity | Comparison => rate,
        Resources => Number {
            name: "CPU time per exchange",
            verb: "is",
            rounds: point.and_then(|point| point.cpu_us.as_ref()),
        },
    }
}

fn say(window: Span, rounds: usize, numbers: &[Number<'_>]) -> String {
    let few = ROUNDS_SUSPECT;
    if (rounds as u64) < few {
        let rounds = match rounds {
            1 => "One round".to_owned(),
            _ => words::plural(rounds as u64, "round"),
        };
        return format!(
            "{rounds} of {window} cannot say how precise this is: an interval needs {few} rounds."
        );
    }
    let told = numbers.iter().map(|number| match number.precision() {
        Some(precision) => format!("{} {} {}", number.name, number.verb, precision.text()),
        None => format!("{} {} not known for every round", number.name, number.verb),
    });
    format!(
        "Over {} of {window}: {}.",
        words::plural(rounds as u64, "round"),
        told.collect::<Vec<_>>().join("; ")
    )
}
