//! Ports, TIME_WAIT and the ends of connections.

use model::Severity;

use super::super::kernel::{Kernel, KernelRange};
use super::super::{Kind, Machine, Objection, Setting};
use super::{Draft, single};

pub(super) fn tw_recycle(setting: &Setting, _: &Machine) -> Vec<Draft> {
    const GONE: Kernel = Kernel::new(4, 12);
    const SOURCE: &str = "commit 4396e46187ca (removed in 4.12); \
                          vincent.bernat.ch/en/blog/2014-tcp-time-wait-state-linux";
    let Some(value) = single(setting, "net.ipv4.tcp_tw_recycle") else {
        return Vec::new();
    };
    let mut drafts = vec![
        Draft::new(
            Kind::Removed,
            Severity::Note,
            "The key was removed in Linux 4.12; sysctl reports an error and goes on.",
        )
        .kernels(KernelRange::from(GONE))
        .source(SOURCE),
    ];
    if value != 0 {
        drafts.push(
            Draft::new(
                Kind::Dangerous,
                Severity::Invalid,
                "Connections from behind one address whose clocks differ (NAT, several clients on \
                 a host) are dropped silently: closed on the client, open on the server. \
                 Never set it, for a benchmark or in production.",
            )
            .kernels(KernelRange::before(GONE))
            .source(SOURCE),
        );
    }
    drafts
}

pub(super) fn tw_reuse(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_tw_reuse") {
        Some(1) => vec![
            Draft::new(
                Kind::Misunderstood,
                Severity::Note,
                "It lets the side that connects reuse ports in TIME_WAIT: it acts on the load \
                 generator or a proxy, never on connections that a web server accepts. On \
                 loopback it is on by default since 4.18 (value 2).",
            )
            .fix("keep it on the generator's machine only")
            .source("commit 79e9fed46038 (4.18); Documentation/networking/ip-sysctl.rst"),
        ],
        _ => Vec::new(),
    }
}

const TIMESTAMPS: &str = "tcp_twsk_unique in net/ipv4/tcp_ipv4.c; RFC 7323 §5";

pub(super) fn timestamps(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_timestamps") {
        Some(0) => vec![
            Draft::new(
                Kind::Dangerous,
                Severity::Suspect,
                "Without timestamps tcp_tw_reuse has no effect, whatever its value: a port in \
                 TIME_WAIT is taken again only where timestamps tell new segments from old ones. \
                 PAWS is off too: on a fast connection, whose sequence numbers wrap, an old \
                 segment can be taken for a new one.",
            )
            .source(TIMESTAMPS),
        ],
        _ => Vec::new(),
    }
}

/// What `setting` says of ports in TIME_WAIT, which another line of the file switches off.
pub(in super::super) fn reuse_without_timestamps(
    setting: &Setting,
    settings: &[Setting],
) -> Option<Objection> {
    let reuse = single(setting, "net.ipv4.tcp_tw_reuse").filter(|value| *value != 0);
    let mut others = settings.iter().rev();
    let timestamps = others.find(|other| other.key == "net.ipv4.tcp_timestamps");
    let off = timestamps.filter(|other| other.numbers().as_deref() == Some(&[0]));
    let (_, off) = reuse.zip(off)?;
    Some(Objection {
        line: setting.line,
        key: setting.key.clone(),
        value: setting.value.clone(),
        kind: Kind::Misunderstood,
        severity: Severity::Suspect,
        kernels: KernelRange::ALL,
        holds: true,
        say: format!(
            "Line {} switches it off: without timestamps no port in TIME_WAIT is taken again.",
            off.line
        ),
        fix: format!("remove line {}", off.line),
        source: TIMESTAMPS,
    })
}

pub(super) fn tw_buckets(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    // The default is half the table of connections, which has a slot for each 128 KiB of memory.
    let small = machine
        .memory
        .map_or(16_384, |memory| (memory.count() >> 19).min(16_384));
    match single(setting, "net.ipv4.tcp_max_tw_buckets") {
        Some(value) if value > 1_000_000 => vec![Draft::new(
            Kind::Size,
            Severity::Note,
            "One client address has about 28,000 ports, and so at most as many connections in \
             TIME_WAIT. Millions need dozens of client addresses that reconnect for each request. \
             The default grows with memory.",
        )],
        Some(value) if value < small => vec![Draft::new(
            Kind::Dangerous,
            Severity::Suspect,
            "Above this number TIME_WAIT is skipped, which the kernel's documentation advises \
             against: late segments of one connection may reach the next.",
        )],
        _ => Vec::new(),
    }
}

pub(super) fn fin_timeout(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_fin_timeout") {
        Some(value) if value != 60 => vec![Draft::new(
            Kind::Misunderstood,
            Severity::Note,
            "It does not shorten TIME_WAIT, which is fixed at 60 seconds. It limits how long an \
             orphaned connection stays in FIN_WAIT_2 while its peer does not close its side.",
        )],
        _ => Vec::new(),
    }
}

pub(super) fn port_range(setting: &Setting, _: &Machine) -> Vec<Draft> {
    if setting.key != "net.ipv4.ip_local_port_range" {
        return Vec::new();
    }
    let Some([low, high]) = setting.numbers().and_then(|n| <[u64; 2]>::try_from(n).ok()) else {
        return vec![Draft::new(
            Kind::Malformed,
            Severity::Suspect,
            "It takes two numbers.",
        )];
    };
    if low > high || high > 65_535 {
        let say = "The range is refused: its first number must not be above its last, 65535.";
        return vec![Draft::new(Kind::Width, Severity::Suspect, say)];
    }
    let mut drafts = vec![
        Draft::new(
            Kind::Misunderstood,
            Severity::Note,
            "These are the ports of the side that connects: on a web server it changes nothing; \
             on the generator's machine more source addresses give more ports than any range.",
        )
        .fix("keep it on the generator's machine only"),
    ];
    if low < 1024 {
        let say = format!(
            "The range is refused and what was there stays: {low} is below \
             ip_unprivileged_port_start, 1024 unless that is set lower before."
        );
        drafts.push(
            Draft::new(Kind::Width, Severity::Suspect, say)
                .kernels(KernelRange::from(Kernel::new(4, 11)))
                .fix("begin at 1024 or above")
                .source("commit 4548b683b781 (4.11); Documentation/networking/ip-sysctl.rst"),
        );
    }
    if low < 10_000 {
        drafts.push(Draft::new(
            Kind::Dangerous,
            Severity::Note,
            format!(
                "Ports from {low} on include those of services: an outgoing connection may take \
                 the port that a server is about to listen on."
            ),
        ));
    }
    drafts
}

pub(super) fn congestion_control(setting: &Setting, _: &Machine) -> Vec<Draft> {
    if setting.key != "net.ipv4.tcp_congestion_control" {
        return Vec::new();
    }
    if ["cubic", "reno", "bbr"].contains(&setting.value.as_str()) {
        return vec![Draft::new(
            Kind::Irrelevant,
            Severity::Note,
            "Congestion control acts on losses and long paths; on loopback or a local network it \
             changes nothing. It must be the same for all that are compared.",
        )];
    }
    vec![Draft::new(
        Kind::Misunderstood,
        Severity::Note,
        format!(
            "'{}' is a module that the kernel may lack: then the line fails and the default stays. \
             On loopback or a local network congestion control changes nothing; it must be the \
             same for all that are compared.",
            setting.value
        ),
    )]
}
