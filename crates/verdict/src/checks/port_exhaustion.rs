//! TCP-01: connections that close leave their source port in TIME_WAIT for a minute.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::PORTS_USED;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "TCP-01",
    name: "port-exhaustion",
    claims: &[Capacity, Latency, Comparison, Resources],
    mandatory: false,
    source: "Linux ip-sysctl.rst; TIME_WAIT lasts 60 s",
    judge: Judge::Alone(judge),
};

/// How long a port stays in TIME_WAIT.
const TIME_WAIT_S: f64 = 60.0;

fn judge(facts: &Facts<'_>) -> Judgement {
    let exhausted = facts.record.examples.iter().find(|example| {
        let text = example.text.to_ascii_lowercase();
        [
            "assign requested address",
            "address not available",
            "eaddrnotavail",
        ]
        .iter()
        .any(|words| text.contains(words))
    });
    let fix = "Use more source addresses (127.0.0.0/8 on loopback), keep connections open, or let \
               the server close them";
    if let Some(example) = exhausted {
        return Found::all(
            CHECK.claims,
            Invalid,
            format!(
                "The generator ran out of source ports: {} of {} connects failed, the first with \
                 \"{}\".",
                words::count(facts.record.total.connections.failed),
                words::count(facts.record.total.connections.asked),
                example.text
            ),
        )
        .evidence("example", example.text.clone())
        .fix(fix)
        .into();
    }
    let sysctl = "net.ipv4.ip_local_port_range";
    let range = facts.trial.environment.setting(sysctl).and_then(|text| {
        let mut ends = text.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(low)), Some(Ok(high))) = (ends.next(), ends.next()) else {
            return None;
        };
        Some(f64::from(high.checked_sub(low)?) + 1.0)
    });
    let Some(range) = range else {
        return Judgement::unknown(format!("{sysctl} of the generator's machine"));
    };
    let used = ports_used(facts);
    let plan = &facts.trial.plan;
    let ports = range * number((plan.sources.len().max(1) * plan.addresses.len().max(1)) as u64);
    let share = used / ports;
    if PORTS_USED.severity(share).is_none() {
        return Judgement::Silent;
    }
    Found::new(
        &[(Capacity, Suspect), (Latency, Suspect)],
        format!(
            "About {} of {} source ports were in use or in TIME_WAIT ({}): finding a free one \
             becomes slow well before none is left.",
            words::rate(used),
            words::rate(ports),
            words::share(share)
        ),
    )
    .evidence("ports_used", used)
    .evidence("ports", ports)
    .limit(&PORTS_USED)
    .fix(fix)
    .into()
}

/// Ports of open connections and of those that we closed within the last minute.
fn ports_used(facts: &Facts<'_>) -> f64 {
    let record = facts.record;
    let phases = [&record.warmup_phase, &record.total, &record.drain_phase];
    let closed: u64 = phases
        .iter()
        .map(|tally| tally.connections.closed_by_client)
        .sum();
    let plan = &facts.trial.plan;
    let seconds = (plan.warmup + record.window).as_s_f64();
    let within = (TIME_WAIT_S / seconds.max(1e-9)).min(1.0);
    f64::from(plan.connections) + number(closed) * within
}
