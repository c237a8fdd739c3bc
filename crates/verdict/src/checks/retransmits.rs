//! TCP-05: lost segments make latency a matter of timers.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{self, Invalid, Note, Suspect};

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

fn judge(facts: &Facts<'_>) -> Judgement {
    let (Some(again), Some(data)) = (
        facts.counter("Tcp.RetransSegs"),
        facts.counter("TcpExt.TCPOrigDataSent"),
    ) else {
        return Judgement::unknown("the kernel's counters of segments sent and sent again");
    };
    let share = number(again) / number(data.max(1));
    let Some(severity) = RETRANSMITTED.severity(share) else {
        return Judgement::Silent;
    };
    // What this machine loses on loopback it loses to itself; the counters are the machine's, so
    // a stray segment of another program stays a note.
    let loopback = facts.is_loopback() == Some(true);
    let latency = match severity {
        Note if loopback => Suspect,
        other => other,
    };
    let capacity: Severity = match severity {
        Invalid => Suspect,
        other => other,
    };
    Found::new(
        &[(Latency, latency), (Capacity, capacity)],
        format!(
            "{} of {} data segments of this machine were sent again ({}): each costs its exchange \
             a timer of 200 ms or more.",
            words::count(again),
            words::count(data),
            words::share(share)
        ),
    )
    .evidence("Tcp.RetransSegs", again)
    .evidence("TcpExt.TCPOrigDataSent", data)
    .evidence("TcpExt.TCPTimeouts", facts.counter("TcpExt.TCPTimeouts"))
    .limit(&RETRANSMITTED)
    .fix("Look for drops on the path: ip -s link, nstat -az | grep -i drop")
    .into()
}
