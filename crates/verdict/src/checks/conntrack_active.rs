//! CT-01: a firewall that tracks the benchmark's connections looks each packet up.
//!
//! Reads how many entries the table had before this trial connected and how many after; trials that
//! did not look before are judged by the setting of their environment. A loaded module says
//! nothing: it tracks only where a rule asks for it. Entries that come with the connections do.

use model::finding::Claim::{Capacity, Comparison};
use model::finding::Severity::Suspect;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::TRACKED;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "CT-01",
    name: "conntrack-active",
    claims: &[Capacity, Comparison],
    mandatory: false,
    source: "Linux commit 4d3a57f23dec: tracking begins with a rule that needs it",
    judge: Judge::Alone(judge),
};

/// With fewer connections than this, those of others look the same.
const CONNECTIONS_MIN: u32 = 8;

fn judge(facts: &Facts<'_>) -> Judgement {
    let sysctl = "net.netfilter.nf_conntrack_count";
    let sysctls = &facts.trial.environment.sysctls;
    let system = facts.trial.usage.system.as_ref();
    let stored = || facts.trial.environment.setting(sysctl)?.parse::<u64>().ok();
    let before = system
        .and_then(|system| system.tracked_before)
        .or_else(stored);
    let after = system.and_then(|system| system.tracked_connections);
    let (before, after) = match (before, after) {
        // Settings were read, and there was no table among them.
        (None, None) if !sysctls.is_empty() => return Judgement::NotApplicable,
        (before, Some(after)) if !sysctls.is_empty() => (before.unwrap_or(0), after),
        _ => return Judgement::unknown(format!("{sysctl} before and after connecting")),
    };
    let connections = facts.trial.plan.connections;
    if connections < CONNECTIONS_MIN {
        return Judgement::NotApplicable;
    }
    let gained = after.saturating_sub(before);
    if TRACKED
        .severity(number(gained) / f64::from(connections))
        .is_none()
    {
        return Judgement::Silent;
    }
    Found::all(
        CHECK.claims,
        Suspect,
        format!(
            "The firewall of this machine tracked {} more connections than before, and the plan \
             opened {}: the firewall looks up each packet of a connection that it tracks.",
            words::count(gained),
            words::count(u64::from(connections))
        ),
    )
    .evidence("before", before)
    .evidence("after", after)
    .limit(&TRACKED)
    .fix(
        "Exempt the port of the server: for c in PREROUTING OUTPUT; do iptables -t raw -I $c -p \
         tcp -m multiport --ports PORT -j NOTRACK; done",
    )
    .into()
}
