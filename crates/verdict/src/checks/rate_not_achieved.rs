//! GEN-04: the load that was sent is not the load that was asked for.
//!
//! Where requests waited for a free connection, there were too few of them for the rate, or the
//! server kept them too long: that is a result about both. Where they waited for connections to be
//! made again after failures, it is one about these. Where they waited for the generator, it is not
//! a result at all. Nothing is said of users who come at a rate: what they ask next is due when
//! they have their answers, and GEN-19 tells how many found no place.

use model::finding::Claim::Latency;
use model::finding::Severity;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::{BUSY_SHARE, UNSENT_SHARE};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-04",
    name: "rate-not-achieved",
    claims: &[Latency],
    mandatory: true,
    source: "Nighthawk terminology; Lancet accepts 10 % (ATC 2019)",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if !facts.is_open_loop() {
        return Judgement::NotApplicable;
    }
    let (intended, seconds) = (facts.intended(), facts.record.window.as_s_f64());
    if intended <= 0.0 || seconds <= 0.0 {
        return Judgement::unknown("arrivals: none became due in the window");
    }
    let sent = number(facts.record.total.sent_in_it());
    let unsent = 1.0 - (sent / intended).min(1.0);
    let Some(severity) = UNSENT_SHARE.severity(unsent) else {
        return Judgement::Silent;
    };
    let blocked = facts.record.blocked_time.sum();
    let late = facts.record.late_time.sum();
    let saturated = facts
        .record
        .busiest_worker()
        .is_some_and(|(_, busy)| BUSY_SHARE.severity(busy) == Some(Severity::Invalid));
    let ours = saturated || late > blocked;
    let offered = format!(
        "The plan asks for {} requests/s; the generator sent {}/s, and the server gave {}/s \
         right answers.",
        words::rate(intended / seconds),
        words::rate(sent / seconds),
        words::rate(facts.record.achieved_rate),
    );
    let found = if ours {
        Found::new(
            &[(Latency, severity)],
            format!("{offered} Requests waited for the generator, not for the server."),
        )
        .fix(
            "Give the generator more CPUs (load: -t, --cpus; lab: servers with fewer cores) or \
             ask for a lower rate",
        )
    } else {
        let (why, fix) = waited(facts);
        Found::new(&[(Latency, Severity::Note)], format!("{offered} {why}")).fix(fix)
    };
    found
        .evidence("intended", intended)
        .evidence("sent", facts.record.total.sent_in_it())
        .evidence("unsent_share", unsent)
        .evidence("blocked_time_sum_s", blocked.as_s_f64())
        .evidence("late_time_sum_s", late.as_s_f64())
        .evidence("backlog_max", facts.record.backlog_max)
        .evidence("backed_off", facts.record.total.connections.backed_off)
        .limit(&UNSENT_SHARE)
        .into()
}

/// What requests waited for that did not wait for the generator, and what helps.
fn waited(facts: &Facts<'_>) -> (String, &'static str) {
    let backed_off = facts.record.total.connections.backed_off;
    if backed_off > 0 {
        return (
            format!(
                "Requests waited for connections, {} of which were made again only after a pause, \
                 because the one before had failed or broken.",
                words::count(backed_off)
            ),
            "Find out why connections fail or break (the failures of this run): a generator that \
             made them again at once would load the server with them",
        );
    }
    let places = facts.trial.places();
    let carry = facts
        .record
        .service_time
        .mean()
        .filter(|mean| !mean.is_zero());
    let carry = carry.map_or_else(String::new, |mean| {
        format!(
            ", which at a mean service time of {mean} carry {}/s",
            words::rate(number(places) / mean.as_s_f64())
        )
    });
    let grow = match facts.trial.plan.deadline {
        Some(deadline) => format!("were given up after {deadline}"),
        None => "wait longer for as long as the run lasts".to_owned(),
    };
    let places = match facts.trial.plan.at_once() {
        1 => words::plural(places, "connection"),
        _ => words::plural(places, "exchange") + " at once",
    };
    (
        format!("Requests waited for one of {places}{carry}: those beyond that {grow}."),
        "Allow more connections (-c) if users come over more; if the server is as slow with them, \
         it is overloaded at this rate: ask for one that it can keep (-R)",
    )
}
