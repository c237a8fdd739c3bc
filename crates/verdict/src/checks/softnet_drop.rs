//! TCP-17: packets that a CPU's queue before the network stack had no room for, loopback included.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::Note;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::{SOFTNET_DROPPED, SOFTNET_SQUEEZED};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "TCP-17",
    name: "softnet-drop",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Linux net/core/net-procfs.c: columns of /proc/net/softnet_stat",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let (Some(dropped), Some(squeezed)) = (
        facts.counter("softnet.dropped"),
        facts.counter("softnet.squeezed"),
    ) else {
        return Judgement::unknown("/proc/net/softnet_stat over the window");
    };
    // All that were counted; none moved where the counter is absent.
    let packets = facts.counter("softnet.processed").unwrap_or(0).max(1);
    let seconds = facts.record.window.as_s_f64().max(1e-9);
    let (share, per_second) = (
        number(dropped) / number(packets),
        number(squeezed) / seconds,
    );
    let found = if let Some(severity) = SOFTNET_DROPPED.severity(share) {
        Found::all(
            CHECK.claims,
            severity,
            format!(
                "This machine dropped {} of {} packets before its network stack saw them: a \
                 CPU's queue was full. TCP can wait for 200 ms or more before it sends a lost \
                 packet again.",
                words::count(dropped),
                words::count(packets)
            ),
        )
        .fix("sysctl -w net.core.netdev_max_backlog=10000")
    } else if SOFTNET_SQUEEZED.severity(per_second).is_some() {
        Found::all(
            CHECK.claims,
            Note,
            format!(
                "{} times a second a CPU had more packets to receive than the kernel takes in \
                 one turn.",
                words::rate(per_second)
            ),
        )
    } else {
        return Judgement::Silent;
    };
    found
        .evidence("dropped", dropped)
        .evidence("squeezed", squeezed)
        .evidence("packets", packets)
        .limit(&SOFTNET_DROPPED)
        .limit(&SOFTNET_SQUEEZED)
        .into()
}
