//! STA-14: quantiles that lie among the unanswered have no value.

use model::Outcome;
use model::finding::Claim::Latency;
use model::finding::Severity::Suspect;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-14",
    name: "censored-by-timeout",
    claims: &[Latency],
    mandatory: false,
    source: "Censored data: longer than the timeout, nobody knows by how much",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let times = &facts.record.response_time;
    if times.count() + times.censored() == 0 {
        return Judgement::unknown("response times: no exchange ended");
    }
    if times.censored() == 0 {
        return Judgement::Silent;
    }
    let share = number(times.censored()) / number(times.count() + times.censored());
    let shed = facts.record.total.outcomes[Outcome::Shed];
    let (how, fix) = if shed > times.censored() / 2 {
        let fix = "Ask for a rate that the server can keep (-R), or allow more connections (-c)";
        ("never sent or never answered", fix)
    } else {
        let fix = "Allow more time (--timeout), or find out why they are not answered";
        ("never answered", fix)
    };
    Found::new(
        &[(Latency, Suspect)],
        format!(
            "{} {} {how} ({}): quantiles above {} are longer than anything that was seen.",
            words::plural(times.censored(), "exchange"),
            words::was(times.censored()),
            words::share(share),
            words::all_but(share)
        ),
    )
    .evidence("censored", times.censored())
    .evidence("censored_share", share)
    .evidence("shed", shed)
    .fix(fix)
    .into()
}
