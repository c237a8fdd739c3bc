//! Keys that the kernel has no more, or keeps without effect.

use model::Severity;

use super::super::table::covers;
use super::super::{Kernel, KernelRange, Kind, Machine, Setting};
use super::Draft;

struct Removed {
    /// A key, or the beginning of one before a `*`.
    key: &'static str,
    since: Kernel,
    why: &'static str,
    instead: &'static str,
    source: &'static str,
}

const fn gone(
    key: &'static str,
    since: (u16, u16),
    why: &'static str,
    instead: &'static str,
    source: &'static str,
) -> Removed {
    Removed {
        key,
        since: Kernel::new(since.0, since.1),
        why,
        instead,
        source,
    }
}

const REMOVE: &str = "remove the line";
const DEBUGFS: &str = "It moved to /sys/kernel/debug/sched, where its name has no 'sched_'.";
const DEBUGFS_SOURCE: &str = "commit 8a99b6833c88 (5.13)";
const TRACKING: &str = "Connection tracking has another name for it.";
const TRACKING_SOURCE: &str = "commit adf0516845bc (4.9)";
const UNUSED: &str = "The kernel keeps this key for compatibility; it has no effect any more.";

/// The first that covers a key counts. `tcp_tw_recycle` has a rule of its own.
const REMOVED: &[Removed] = &[
    gone(
        "kernel.sched_latency_ns",
        (5, 13),
        DEBUGFS,
        REMOVE,
        DEBUGFS_SOURCE,
    ),
    gone(
        "kernel.sched_migration_cost_ns",
        (5, 13),
        DEBUGFS,
        REMOVE,
        DEBUGFS_SOURCE,
    ),
    gone(
        "kernel.sched_min_granularity_ns",
        (5, 13),
        DEBUGFS,
        REMOVE,
        DEBUGFS_SOURCE,
    ),
    gone(
        "kernel.sched_nr_migrate",
        (5, 13),
        DEBUGFS,
        REMOVE,
        DEBUGFS_SOURCE,
    ),
    gone(
        "kernel.sched_tunable_scaling",
        (5, 13),
        DEBUGFS,
        REMOVE,
        DEBUGFS_SOURCE,
    ),
    gone(
        "kernel.sched_wakeup_granularity_ns",
        (5, 13),
        DEBUGFS,
        REMOVE,
        DEBUGFS_SOURCE,
    ),
    gone(
        "net.ipv4.ip_conntrack_max",
        (4, 9),
        TRACKING,
        "write net.netfilter.nf_conntrack_max, where connections are tracked at all",
        TRACKING_SOURCE,
    ),
    gone(
        "net.ipv4.netfilter.ip_conntrack_*",
        (4, 9),
        TRACKING,
        "write net.netfilter.nf_conntrack_..., where connections are tracked at all",
        TRACKING_SOURCE,
    ),
    gone(
        "net.ipv4.route.max_size",
        (3, 6),
        UNUSED,
        REMOVE,
        "commit 89aef8921bfb (3.6): there is no cache of routes any more",
    ),
    gone(
        "net.ipv4.tcp_abc",
        (3, 9),
        "Appropriate byte counting was taken out.",
        REMOVE,
        "commit ca2eb5679f8d (3.9)",
    ),
    gone(
        "net.ipv4.tcp_fack",
        (4, 15),
        UNUSED,
        REMOVE,
        "Documentation/networking/ip-sysctl.rst",
    ),
    gone(
        "net.ipv4.tcp_low_latency",
        (4, 14),
        UNUSED,
        REMOVE,
        "Documentation/networking/ip-sysctl.rst",
    ),
    gone(
        "net.ipv4.tcp_max_ssthresh",
        (3, 13),
        "Limited slow start was taken out.",
        REMOVE,
        "commit 9f9843a751d0 (3.13)",
    ),
    gone(
        "net.netfilter.nf_conntrack_helper",
        (6, 0),
        "Helpers are no longer assigned automatically.",
        "name helpers in the rules of the firewall",
        "commit b118509076b3 (6.0)",
    ),
];

/// Whether the kernel once had, or still has, a key of this table.
pub(super) fn knows(key: &str) -> bool {
    REMOVED.iter().any(|removed| covers(removed.key, key))
}

pub(super) fn removed(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let Some(removed) = REMOVED.iter().find(|one| covers(one.key, &setting.key)) else {
        return Vec::new();
    };
    let say = if removed.why == UNUSED {
        UNUSED.to_owned()
    } else {
        format!(
            "Linux {} removed the key: sysctl reports an error and goes on. {}",
            removed.since, removed.why
        )
    };
    vec![
        Draft::new(Kind::Removed, Severity::Note, say)
            .kernels(KernelRange::from(removed.since))
            .fix(removed.instead)
            .source(removed.source),
    ]
}
