//! GEN-04: the load that was sent is not the load that was asked for.
//!
//! Where requests waited for a free connection, the server was overloaded: that is a result about
//! the server. Where they waited for the generator, it is not a result at all.

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
        Found::new(
            &[(Latency, Severity::Note)],
            format!(
                "{offered} Requests waited for a free connection: the server is overloaded at \
                 this rate, and response times grow for as long as the run lasts."
            ),
        )
        .fix("Ask for a rate that the server can keep (-R), or allow more connections (-c)")
    };
    found
        .evidence("intended", intended)
        .evidence("sent", facts.record.total.sent_in_it())
        .evidence("unsent_share", unsent)
        .evidence("blocked_time_sum_s", blocked.as_s_f64())
        .evidence("late_time_sum_s", late.as_s_f64())
        .evidence("backlog_max", facts.record.backlog_max)
        .limit(&UNSENT_SHARE)
        .into()
}
