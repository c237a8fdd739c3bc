//! TCP-18: datagrams that a socket had no room for are lost silently. QUIC waits for its
//! timers, takes the loss for a full path, and sends less.
//!
//! The kernel counts for all programs of a network namespace together, and does not say whose
//! datagrams these were.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{Invalid, Suspect};
use model::plan::Protocol;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::DATAGRAMS_LOST;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "TCP-18",
    name: "udp-drops",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Linux networking/snmp_counter.rst; RFC 9002 section 7: a loss makes the congestion \
             window smaller",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.trial.plan.protocol != Protocol::Http3 {
        return Judgement::NotApplicable;
    }
    // Over IPv4 and IPv6; a kernel without one of them does not count it.
    let counter = |name: &str| {
        let both = ["Udp", "Udp6"].map(|protocol| facts.counter(&format!("{protocol}.{name}")));
        both.into_iter().flatten().reduce(u64::saturating_add)
    };
    let (Some(wrong), Some(full), Some(unsent)) = (
        counter("InErrors"),
        counter("RcvbufErrors"),
        counter("SndbufErrors"),
    ) else {
        return Judgement::unknown("the kernel's counters of datagrams that were dropped");
    };
    // What found no room to be received is among the errors, too.
    let dropped = wrong.max(full);
    if DATAGRAMS_LOST.severity(number(dropped + unsent)).is_none() {
        return Judgement::Silent;
    }
    let mut say = String::new();
    if dropped > 0 {
        let (datagrams, were) = (words::plural(dropped, "datagram"), were(dropped));
        say.push_str(&format!(
            "{datagrams} {were} received and dropped ({} because the buffer of a socket was full)",
            words::count(full)
        ));
    }
    if unsent > 0 {
        let what = match dropped {
            0 => words::plural(unsent, "datagram"),
            _ => format!(", and {}", words::count(unsent)),
        };
        say.push_str(&format!("{what} found no room to be sent"));
    }
    say.push_str(", counted over all programs of this machine.");
    let lost = facts.record.quic.as_ref().map(|quic| quic.packets_lost);
    let setting = |name: &str| facts.trial.environment.setting(name);
    Found::new(&[(Latency, Invalid), (Capacity, Suspect)], say)
        .evidence("in_errors", wrong)
        .evidence("receive_buffer_errors", full)
        .evidence("send_buffer_errors", unsent)
        .evidence("packets_of_ours_lost", lost)
        .evidence("net.core.rmem_max", setting("net.core.rmem_max"))
        .evidence("net.core.wmem_max", setting("net.core.wmem_max"))
        .limit(&DATAGRAMS_LOST)
        .fix(
            "Give sockets larger buffers, and restart generator and server: sysctl -w \
             net.core.rmem_max=8388608 net.core.wmem_max=8388608",
        )
        .into()
}

const fn were(count: u64) -> &'static str {
    match count {
        1 => "was",
        _ => "were",
    }
}
