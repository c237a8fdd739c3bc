//! GEN-12: how much of a response time the client itself added, by times that the kernel noted.
//!
//! Where the plan asks for it, the kernel notes on a part of the connections when it handed a
//! request to the device and when it received the last byte of the answer. What lies before the
//! request was handed over, since it could have been sent, and after the answer was there is the
//! client's doing: it was late, or it woke up late. A user would not have waited for that.

use model::finding::Claim::Latency;
use model::record::TimeSplit;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::summary::{Reading, read};
use crate::thresholds::CLIENT_SHARE;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-12",
    name: "client-share",
    claims: &[Latency],
    mandatory: false,
    source: "Kogias, Mallon and Bugnion, Lancet (USENIX ATC 2019)",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.trial.plan.split_one_in.is_none() {
        return Judgement::NotApplicable;
    }
    let Some(split) = &facts.record.split else {
        return Judgement::unknown("when the kernel sent and received");
    };
    let TimeSplit {
        client_added,
        response,
        ..
    } = split;
    let (Reading::Value(added), Reading::Value(all)) =
        (read(client_added, 0.99), read(response, 0.99))
    else {
        return Judgement::unknown("the 99th percentile of exchanges with times of the kernel");
    };
    let share = number(added.as_ns()) / number(all.as_ns()).max(1.0);
    let Some(severity) = CLIENT_SHARE.severity(share) else {
        return Judgement::Silent;
    };
    Found::new(
        &[(Latency, severity)],
        format!(
            "The generator itself added up to {added} to 99 of 100 exchanges whose times the \
             kernel noted, by sending late and by waking up late; that is {} of the 99th \
             percentile of their response time, {all}.",
            words::share(share)
        ),
    )
    .evidence("client_share", share)
    .evidence("exchanges", split.response.count())
    .limit(&CLIENT_SHARE)
    .fix(
        "Give the generator more CPUs, or CPUs of its own (load: -t, --cpus; lab: servers with \
         fewer cores), a lower rate or fewer connections",
    )
    .fix("Let it poll where it would sleep (--spin always)")
    .into()
}
