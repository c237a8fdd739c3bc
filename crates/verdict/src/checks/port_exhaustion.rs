//! TCP-01: connections that close leave their source port in TIME_WAIT for a minute.
//!
//! Where the kernel may use such a port again (`net.ipv4.tcp_tw_reuse`; on loopback that is what it
//! does by itself since Linux 4.18), the port is in the way for a second. Connections that are
//! closed when the load is over are not in the way of anything, and were counted while they were
//! open.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::ports::{Ports, RANGE};
use crate::thresholds::PORTS_USED;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "TCP-01",
    name: "port-exhaustion",
    claims: &[Capacity, Latency, Comparison, Resources],
    mandatory: false,
    source: "Linux ip-sysctl.rst (tcp_tw_reuse); TIME_WAIT lasts 60 s",
    judge: Judge::Alone(judge),
};

/// How long a port stays in TIME_WAIT.
const TIME_WAIT_S: f64 = 60.0;
/// The same where it may be used again: `net.ipv4.tcp_tw_reuse_delay`, where nothing else is set.
const REUSE_MS: f64 = 1_000.0;

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.trial.plan.unix_socket.is_some() {
        return Judgement::Silent;
    }
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
    if facts.is_asked_from_elsewhere() {
        return Judgement::unknown("the source ports of each machine that makes load");
    }
    let Some(of_one) = Ports::of(&facts.trial.environment) else {
        return Judgement::unknown(format!("{RANGE} of the generator's machine"));
    };
    let used = ports_used(facts);
    let plan = &facts.trial.plan;
    let pairs = (plan.sources.len().max(1) * plan.addresses.len().max(1)) as u64;
    let ports = number(of_one.count()) * number(pairs);
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

/// Ports of open connections and of those that we closed and that cannot be used again yet.
fn ports_used(facts: &Facts<'_>) -> f64 {
    let record = facts.record;
    let phases = [&record.warmup_phase, &record.total];
    let closed: u64 = phases
        .iter()
        .map(|tally| tally.connections.closed_by_client)
        .sum();
    let plan = &facts.trial.plan;
    let seconds = (plan.warmup + record.window).as_s_f64();
    let within = (waits_s(facts) / seconds.max(1e-9)).min(1.0);
    f64::from(plan.connections) + number(closed) * within
}

/// For how many seconds a port that we closed is in the way.
fn waits_s(facts: &Facts<'_>) -> f64 {
    let setting = |name: &str| facts.trial.environment.setting(name).map(str::trim);
    let is_used_again = match setting("net.ipv4.tcp_tw_reuse") {
        Some("1") => true,
        // The kernel asks for the address, not for the route.
        Some("2") => facts.is_loopback_address() == Some(true),
        _ => false,
    };
    if !is_used_again {
        return TIME_WAIT_S;
    }
    let delay_ms = setting("net.ipv4.tcp_tw_reuse_delay").and_then(|text| text.parse().ok());
    delay_ms.unwrap_or(REUSE_MS) / 1_000.0
}
