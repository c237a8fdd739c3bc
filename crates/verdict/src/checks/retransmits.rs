//! TCP-05: lost segments make latency a matter of timers.
//!
//! The kernel counts for all programs of a network namespace together: what was lost may be another
//! program's. What a loss costs is the retransmission timer, and an exchange that waited for it
//! took at least that long. So the trial's own exchanges say how many of them losses can have
//! struck; a segment that was sent again sooner, without the timer, costs about a round trip.

use model::Outcome;
use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{self, Invalid, Note, Suspect};

use model::units::Span;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::RETRANSMITTED;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "TCP-05",
    name: "retransmits",
    claims: &[Capacity, Latency],
    mandatory: true,
    source: "Linux networking/snmp_counter.rst; OutSegs would count bare acknowledgements",
    judge: Judge::Alone(judge),
};

/// The shortest retransmission timeout: TCP_RTO_MIN of Linux (include/net/tcp.h).
const RTO_MIN: Span = Span::from_ms(200);
/// What took longer may have waited for it: a bucket that holds the limit holds what is longer,
/// too.
pub const WAITED: Span = Span::from_ms(198);

fn judge(facts: &Facts<'_>) -> Judgement {
    let (Some(again), Some(data)) = (
        facts.counter("Tcp.RetransSegs"),
        facts.counter("TcpExt.TCPOrigDataSent"),
    ) else {
        return Judgement::unknown("the kernel's counters of segments sent and sent again");
    };
    let share = number(again) / number(data.max(1));
    let Some(of_machine) = RETRANSMITTED.severity(share) else {
        return Judgement::Silent;
    };
    let struck = again.min(waited(facts));
    let of_trial = number(struck) / number(facts.ended().max(1));
    let of_trial_severity = RETRANSMITTED.severity(of_trial).unwrap_or(Note);
    let severity = of_machine.min(of_trial_severity);
    // What this machine loses on loopback it loses to itself.
    let loopback = facts.is_loopback() == Some(true);
    let latency = match severity {
        Note if loopback && struck > 0 => Suspect,
        other => other,
    };
    let capacity: Severity = match severity {
        Invalid => Suspect,
        other => other,
    };
    Found::new(
        &[(Latency, latency), (Capacity, capacity)],
        format!(
            "This machine sent {} of {} data segments again ({}), counted over all its \
             programs; {}.",
            words::count(again),
            words::count(data),
            words::share(share),
            if struck == 0 {
                format!(
                    "no exchange of this trial took {RTO_MIN} or more or had no answer, as with \
                     one that waits until a lost segment is sent again"
                )
            } else {
                format!(
                    "{} of this trial took {RTO_MIN} or more or had no answer, as with one that \
                     waits until a lost segment is sent again",
                    words::plural(struck, "exchange")
                )
            }
        ),
    )
    .evidence("Tcp.RetransSegs", again)
    .evidence("TcpExt.TCPOrigDataSent", data)
    .evidence("exchanges_struck_at_most", struck)
    .evidence("TcpExt.TCPTimeouts", facts.counter("TcpExt.TCPTimeouts"))
    .limit(&RETRANSMITTED)
    .fix("Look for drops on the path: ip -s link, nstat -az | grep -i drop")
    .into()
}

/// How many of the trial's exchanges and connects took so long that a timer can have struck them.
pub(super) fn waited(facts: &Facts<'_>) -> u64 {
    let record = facts.record;
    record.service_time.count_above(WAITED)
        + record.connect_time.count_above(WAITED)
        + record.total.outcomes[Outcome::Unfinished]
}
