//! STA-14: quantiles that lie among those without a right answer have no value.

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
    let outcomes = &facts.record.total.outcomes;
    let shed = outcomes[Outcome::Shed];
    let answered = [Outcome::Status, Outcome::Content, Outcome::Protocol];
    let wrong: u64 = answered.into_iter().map(|one| outcomes[one]).sum();
    let (how, fix) = if shed > times.censored() / 2 {
        let fix = "Ask for a rate that the server can keep (-R), or allow more connections (-c)";
        ("never sent or never answered", fix)
    } else if wrong > times.censored() / 2 {
        let fix = "Find out why answers are wrong (the failures of this run): how long a wrong \
                   one took says nothing of right ones";
        ("answered wrongly or not at all", fix)
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
