//! TCP-04: with SYN cookies a server answers without TCP's options, and slower than it could.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "TCP-04",
    name: "syn-cookies",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Linux networking/ip-sysctl.rst: cookies are no help for highly loaded servers",
    judge: Judge::Alone(judge),
};

const COUNTERS: [&str; 2] = ["TcpExt.SyncookiesSent", "TcpExt.TCPReqQFullDoCookies"];

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_local().is_none() {
        return Judgement::unknown("kernel counters of the server's machine");
    }
    let seen = COUNTERS.iter().filter_map(|name| facts.counter(name));
    // A full queue counts in both.
    let Some(sent) = seen.max() else {
        return Judgement::unknown("the kernel's counters of SYN cookies");
    };
    let sysctl = "net.ipv4.tcp_syncookies";
    let setting = facts.trial.environment.setting(sysctl);
    let always = setting.is_some_and(|value| value == "2");
    if sent == 0 && !always {
        return Judgement::Silent;
    }
    let (severity, why, fix) = if always {
        (
            Invalid,
            "net.ipv4.tcp_syncookies = 2 does that to every connection",
            "sysctl -w net.ipv4.tcp_syncookies=1",
        )
    } else {
        (
            Suspect,
            "a queue of connection requests was full",
            "Raise the server's listen backlog and net.core.somaxconn, or open connections slowly",
        )
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "The kernel answered {} connection requests with SYN cookies: {why}. Connections \
             opened this way can lack options of TCP.",
            words::count(sent)
        ),
    )
    .evidence("cookies", sent)
    .evidence(sysctl, setting.map(str::to_owned))
    .fix(fix)
    .into()
}
