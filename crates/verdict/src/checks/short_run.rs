//! STA-12: a short window sees neither timers nor slow change.
//!
//! Where at least six rounds agree, each with a fresh start, what a short window misses would show
//! as a spread between them: then this is a note.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{Note, Suspect};

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
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
    let rounds = peers.point().map(|point| &point.rate);
    let agreeing = rounds.filter(|rate| {
        rate.values.len() as u64 >= ROUNDS_SUSPECT
            && rate
                .half_width()
                .is_some_and(|width| ROUNDS_AGREE.severity(width).is_none())
    });
    let (severity, say) = match (agreeing, rounds) {
        (Some(rate), _) => (
            Note,
            format!(
                "The window of {window} is short, but {} rounds agree within {}.",
                rate.values.len(),
                words::share(rate.half_width().unwrap_or(0.0))
            ),
        ),
        (None, Some(rate)) if rate.values.len() > 1 => (
            Suspect,
            format!(
                "The window of {window} is short, and {} do not agree well enough to make up for \
                 it.",
                words::plural(rate.values.len() as u64, "round")
            ),
        ),
        _ => (
            Suspect,
            format!("The window of {window} is short for a single run."),
        ),
    };
    Found::all(CHECK.claims, severity, say)
        .evidence("window_s", window.as_s_f64())
        .evidence("rounds", rounds.map(|rate| rate.values.len()))
        .evidence(
            "half_width",
            rounds.and_then(crate::summary::Rounds::half_width),
        )
        .limit(&ROUNDS_AGREE)
        .fix("Measure 10 s or longer (-d), or six rounds or more (lab)")
        .into()
}
