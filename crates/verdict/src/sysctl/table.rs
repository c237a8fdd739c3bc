//! What is known of each key: its default by kernel, and what it can matter for.

use super::kernel::{Kernel, KernelRange};

/// The kernel's own documentation of network settings.
pub(super) const IP_SYSCTL: &str = "Documentation/networking/ip-sysctl.rst";
/// The kernel's own documentation of core network settings.
pub(super) const NET_SYSCTL: &str = "Documentation/admin-guide/sysctl/net.rst";

/// A default value over a range of kernels.
pub(super) struct Default {
    pub(super) key: &'static str,
    pub(super) kernels: KernelRange,
    pub(super) value: &'static str,
    pub(super) source: &'static str,
}

const fn always(key: &'static str, value: &'static str) -> Default {
    Default {
        key,
        kernels: KernelRange::ALL,
        value,
        source: IP_SYSCTL,
    }
}

/// Defaults that do not depend on the size of the machine.
pub(super) const DEFAULTS: &[Default] = &[
    Default {
        key: "net.core.netdev_max_backlog",
        kernels: KernelRange::ALL,
        value: "1000",
        source: NET_SYSCTL,
    },
    Default {
        key: "net.core.somaxconn",
        kernels: KernelRange::before(Kernel::new(5, 4)),
        value: "128",
        source: IP_SYSCTL,
    },
    Default {
        key: "net.core.somaxconn",
        kernels: KernelRange::from(Kernel::new(5, 4)),
        value: "4096",
        source: IP_SYSCTL,
    },
    Default {
        key: "net.ipv4.ip_local_port_range",
        kernels: KernelRange::before(Kernel::new(4, 2)),
        value: "32768 61000",
        source: IP_SYSCTL,
    },
    Default {
        key: "net.ipv4.ip_local_port_range",
        kernels: KernelRange::from(Kernel::new(4, 2)),
        value: "32768 60999",
        source: "commit 07f4c90062f8 (4.2)",
    },
    always("net.ipv4.tcp_abort_on_overflow", "0"),
    always("net.ipv4.tcp_ecn", "2"),
    always("net.ipv4.tcp_fin_timeout", "60"),
    always("net.ipv4.tcp_keepalive_intvl", "75"),
    always("net.ipv4.tcp_keepalive_probes", "9"),
    always("net.ipv4.tcp_keepalive_time", "7200"),
    always("net.ipv4.tcp_moderate_rcvbuf", "1"),
    always("net.ipv4.tcp_retries2", "15"),
    always("net.ipv4.tcp_rfc1337", "0"),
    always("net.ipv4.tcp_sack", "1"),
    always("net.ipv4.tcp_slow_start_after_idle", "1"),
    always("net.ipv4.tcp_synack_retries", "5"),
    always("net.ipv4.tcp_syncookies", "1"),
    always("net.ipv4.tcp_timestamps", "1"),
    Default {
        key: "net.ipv4.tcp_tw_reuse",
        kernels: KernelRange::before(Kernel::new(4, 18)),
        value: "0",
        source: IP_SYSCTL,
    },
    Default {
        key: "net.ipv4.tcp_tw_reuse",
        kernels: KernelRange::from(Kernel::new(4, 18)),
        value: "2",
        source: "commit 79e9fed46038 (4.18)",
    },
    always("net.ipv4.tcp_window_scaling", "1"),
];

/// A key that cannot change what is measured, and why.
pub(super) struct Irrelevant {
    /// A key, or the beginning of one before a `*`, or the end of one after it.
    pub(super) key: &'static str,
    pub(super) why: &'static str,
    pub(super) source: &'static str,
}

/// Keys that cannot matter for requests to a web server over healthy connections.
pub(super) const IRRELEVANT: &[Irrelevant] = &[
    Irrelevant {
        key: "fs.file-max",
        why: "It limits open files of the whole machine; what a server runs into first is its own \
              RLIMIT_NOFILE, which this does not change.",
        source: "Documentation/admin-guide/sysctl/fs.rst",
    },
    Irrelevant {
        key: "net.core.optmem_max",
        why: "It limits ancillary data of sendmsg; TCP connections of a web server use none \
              (except zero-copy sends).",
        source: NET_SYSCTL,
    },
    Irrelevant {
        key: "net.core.rmem_max",
        why: "It caps what a program may ask for by SO_RCVBUF; TCP sizes its buffers by the third \
              number of tcp_rmem unless the program asks.",
        source: IP_SYSCTL,
    },
    Irrelevant {
        key: "net.core.wmem_max",
        why: "It caps what a program may ask for by SO_SNDBUF; TCP sizes its buffers by the third \
              number of tcp_wmem unless the program asks.",
        source: IP_SYSCTL,
    },
    Irrelevant {
        key: "*.rp_filter",
        why: "It drops packets whose source is not reachable through the interface they came by: \
              a matter of routing, not of speed; the strict mode (1) can drop load from many \
              source addresses.",
        source: IP_SYSCTL,
    },
    Irrelevant {
        key: "net.ipv4.tcp_ecn",
        why: "It matters only where a router or queue on the path marks congestion.",
        source: IP_SYSCTL,
    },
    Irrelevant {
        key: "net.ipv4.tcp_sack",
        why: "It matters only where packets are lost.",
        source: IP_SYSCTL,
    },
    Irrelevant {
        key: "net.ipv4.tcp_synack_retries",
        why: "It counts repetitions of a SYN-ACK that nobody answered: a benchmark that needs \
              them is invalid already.",
        source: IP_SYSCTL,
    },
    Irrelevant {
        key: "net.ipv4.tcp_keepalive_*",
        why: "TCP keep-alive probes connections that have been silent for hours; HTTP keep-alive \
              is another thing, set in the server.",
        source: IP_SYSCTL,
    },
    Irrelevant {
        key: "net.ipv4.tcp_max_orphans",
        why: "It limits sockets that no process holds any more, which appear only when the server \
              closes with data unsent; a benchmark over kept connections has none.",
        source: IP_SYSCTL,
    },
];

/// Whether a table key covers `key`.
pub(super) fn covers(pattern: &str, key: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => key.ends_with(end),
        (_, Some(start)) => key.starts_with(start),
        _ => pattern == key,
    }
}

/// Keys that are in no other table and known all the same: if no rule objects to the value, there
/// is nothing to object to.
pub(super) const KNOWN: &[&str] = &[
    "fs.nr_open",
    "kernel.pid_max",
    "kernel.threads-max",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.rmem_default",
    "net.core.wmem_default",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_nonlocal_bind",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_tw_recycle",
    "net.ipv4.tcp_wmem",
    "vm.max_map_count",
    "vm.overcommit_memory",
    "vm.swappiness",
];

/// A key whose value is one number or several.
pub(super) struct Number {
    pub(super) key: &'static str,
    /// How many numbers the kernel reads.
    pub(super) count: usize,
    /// The smallest that any kernel takes.
    pub(super) min: i128,
    /// The largest that any kernel takes.
    pub(super) max: i128,
}

const fn number(key: &'static str, count: usize, min: i128, max: i128) -> Number {
    Number {
        key,
        count,
        min,
        max,
    }
}

const fn int(key: &'static str) -> Number {
    number(key, 1, 0, INT_MAX)
}

const INT_MAX: i128 = 0x7fff_ffff;
const UINT_MAX: i128 = 0xffff_ffff;
const ULONG_MAX: i128 = 0xffff_ffff_ffff_ffff;

/// Keys that hold numbers, by the type of the kernel's variable. Where kernels differ the widest
/// range stands here: what is outside of it is refused by all of them.
const NUMBERS: &[Number] = &[
    number("fs.file-max", 1, 0, ULONG_MAX),
    number("fs.nr_open", 1, 0, UINT_MAX),
    number("kernel.pid_max", 1, 1, INT_MAX),
    number("kernel.threads-max", 1, 1, INT_MAX),
    int("net.core.netdev_max_backlog"),
    int("net.core.optmem_max"),
    int("net.core.rmem_default"),
    int("net.core.rmem_max"),
    int("net.core.somaxconn"),
    int("net.core.wmem_default"),
    int("net.core.wmem_max"),
    int("net.ipv4.tcp_abort_on_overflow"),
    int("net.ipv4.tcp_ecn"),
    int("net.ipv4.tcp_fin_timeout"),
    int("net.ipv4.tcp_keepalive_intvl"),
    int("net.ipv4.tcp_keepalive_probes"),
    int("net.ipv4.tcp_keepalive_time"),
    int("net.ipv4.tcp_max_orphans"),
    int("net.ipv4.tcp_max_syn_backlog"),
    int("net.ipv4.tcp_max_tw_buckets"),
    int("net.ipv4.tcp_moderate_rcvbuf"),
    int("net.ipv4.tcp_retries2"),
    int("net.ipv4.tcp_rfc1337"),
    int("net.ipv4.tcp_sack"),
    int("net.ipv4.tcp_slow_start_after_idle"),
    int("net.ipv4.tcp_synack_retries"),
    int("net.ipv4.tcp_syncookies"),
    int("net.ipv4.tcp_timestamps"),
    int("net.ipv4.tcp_tw_recycle"),
    int("net.ipv4.tcp_tw_reuse"),
    int("net.ipv4.tcp_window_scaling"),
    number("net.ipv4.tcp_mem", 3, 0, ULONG_MAX),
    number("net.ipv4.tcp_notsent_lowat", 1, 0, UINT_MAX),
    number("net.ipv4.tcp_rmem", 3, 0, INT_MAX),
    number("net.ipv4.tcp_syn_retries", 1, 0, 255),
    number("net.ipv4.tcp_wmem", 3, 0, INT_MAX),
    number("vm.max_map_count", 1, 0, INT_MAX),
    number("vm.overcommit_memory", 1, 0, 2),
    number("vm.swappiness", 1, 0, 200),
];

/// What is known of the numbers of `key`.
pub(super) fn number_of(key: &str) -> Option<&'static Number> {
    NUMBERS.iter().find(|number| number.key == key)
}

/// The keys that hold numbers.
pub(super) fn number_keys() -> impl Iterator<Item = &'static str> {
    NUMBERS.iter().map(|number| number.key)
}

/// Keys that the kernel tells and lets nobody set.
pub(super) const READ_ONLY: &[&str] = &[
    "*.mc_forwarding",
    "fs.aio-nr",
    "fs.dentry-state",
    "fs.file-nr",
    "fs.inode-nr",
    "fs.inode-state",
    "fs.quota.*",
    "kernel.arch",
    "kernel.bootloader_type",
    "kernel.bootloader_version",
    "kernel.cap_last_cap",
    "kernel.core_modes",
    "kernel.ngroups_max",
    "kernel.osrelease",
    "kernel.ostype",
    "kernel.pty.nr",
    "kernel.random.boot_id",
    "kernel.random.entropy_avail",
    "kernel.random.poolsize",
    "kernel.random.uuid",
    "kernel.seccomp.actions_avail",
    "kernel.version",
    "net.core.netdev_rss_key",
    "net.ipv4.tcp_available_*",
    "net.ipv4.tcp_ehash_entries",
    "net.ipv4.udp_hash_entries",
    "net.mptcp.available_*",
    "net.netfilter.nf_conntrack_count",
];
