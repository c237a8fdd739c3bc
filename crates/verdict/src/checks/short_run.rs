//! STA-12: a short window sees neither timers nor slow change.
//!
//! Where at least six rounds agree, each with a fresh start, what a short window misses would show
//! as a spread between them: then this is a note. Each claim is held against the rounds of its own
//! number. In an open loop the plan sets the rate, on which rounds agree whatever the server does;
//! and CPU time per exchange can be steady where the rate is not.

use model::finding::Claim::{self, Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{self, Note, Suspect};
use model::units::Span;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::{Peers, PointSummary};
use crate::summary::Rounds;
use crate::thresholds::{ROUNDS_AGREE, ROUNDS_SUSPECT, WINDOW_MIN_S};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-12",
    name: "short-run",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "Policy; timers of servers and kernels run in seconds",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let window = peers.entry.window;
    if window.is_zero() {
        return Judgement::unknown("the length of the window");
    }
    if window.as_s_f64() >= WINDOW_MIN_S {
        return Judgement::Silent;
    }
    let claims = &peers.entry.claims;
    let point = peers.point();
    let judged: Vec<(Claim, Number<'_>)> = claims
        .iter()
        .map(|claim| (*claim, number_of(*claim, peers, point)))
        .collect();
    let severity: Vec<(Claim, Severity)> = judged
        .iter()
        .map(|(claim, number)| (*claim, if number.agrees() { Note } else { Suspect }))
        .collect();
    let mut numbers: Vec<&Number<'_>> = judged.iter().map(|(_, number)| number).collect();
    numbers.sort_by_key(|number| number.name);
    numbers.dedup_by_key(|number| number.name);
    let rounds = point.map_or(1, |point| point.trials.len());
    let mut found = Found::new(&severity, say(window, rounds, &numbers))
        .evidence("window_s", window.as_s_f64())
        .evidence("rounds", point.map(|point| point.trials.len()));
    for number in numbers {
        found = found.evidence(
            &format!("half_width of {}", number.name.trim_start_matches("the ")),
            number.half_width(),
        );
    }
    found
        .limit(&ROUNDS_AGREE)
        .fix("Measure 10 s or longer (-d), or six rounds or more (lab)")
        .into()
}

/// What a claim is about, over the rounds of its point.
struct Number<'a> {
    name: &'static str,
    rounds: Option<&'a Rounds>,
}

impl Number<'_> {
    /// How precisely it is known; none with fewer rounds than an interval needs.
    fn half_width(&self) -> Option<f64> {
        let rounds = self.rounds?;
        (rounds.values.len() as u64 >= ROUNDS_SUSPECT)
            .then(|| rounds.half_width())
            .flatten()
    }

    fn agrees(&self) -> bool {
        self.half_width()
            .is_some_and(|width| ROUNDS_AGREE.severity(width).is_none())
    }
}

fn number_of<'a>(claim: Claim, peers: &Peers<'_>, point: Option<&'a PointSummary>) -> Number<'a> {
    let rate = Number {
        name: "the rate",
        rounds: point.map(|point| &point.rate),
    };
    let response = Number {
        name: "response times",
        // The tail is what short windows miss first, where the sample carries it.
        rounds: point.and_then(|p| p.response_p99_us.as_ref().or(p.response_p50_us.as_ref())),
    };
    match claim {
        Latency => response,
        Comparison if peers.entry.is_open_loop => response,
        Capacity | Comparison => rate,
        Resources => Number {
            name: "CPU time per exchange",
            rounds: point.and_then(|point| point.cpu_us.as_ref()),
        },
    }
}

fn say(window: Span, rounds: usize, numbers: &[&Number<'_>]) -> String {
    if rounds < 2 {
        return format!("The window of {window} is short for a single run.");
    }
    let rounds = words::plural(rounds as u64, "round");
    let list = |wanted: bool| {
        let fitting = numbers.iter().filter(|number| number.agrees() == wanted);
        let told = fitting.map(|number| match number.half_width() {
            // Closer than anyone reads is not worth its digits.
            Some(width) => {
                let width = words::share(width.max(1e-4));
                let only = if wanted { "" } else { "only " };
                format!("on {} {only}within {width}", number.name)
            }
            None => format!("not on {}", number.name),
        });
        told.collect::<Vec<_>>().join(" and ")
    };
    match (list(true), list(false)) {
        (agreed, other) if other.is_empty() => {
            format!("The window of {window} is short, but {rounds} agree {agreed}.")
        }
        (agreed, other) if agreed.is_empty() => format!(
            "The window of {window} is short, and {rounds} do not make up for it: they agree \
             {other}."
        ),
        (agreed, other) => format!(
            "The window of {window} is short, and {rounds} do not make up for all of it: they \
             agree {agreed}, but {other}."
        ),
    }
}
