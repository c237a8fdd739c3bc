//! The objections: one function per key or family of keys, all tried on every line.

use model::{Bytes, Severity};

use super::kernel::{Kernel, KernelRange};
use super::table::{self, IP_SYSCTL, NET_SYSCTL, covers};
use super::{Kind, Machine, Objection, Setting};

/// An objection before it knows its line.
struct Draft {
    kind: Kind,
    severity: Severity,
    kernels: KernelRange,
    say: String,
    fix: String,
    source: &'static str,
}

impl Draft {
    fn new(kind: Kind, severity: Severity, say: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            kernels: KernelRange::ALL,
            say: say.into(),
            fix: "remove the line".to_owned(),
            source: IP_SYSCTL,
        }
    }

    fn kernels(self, kernels: KernelRange) -> Self {
        Self { kernels, ..self }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self {
            fix: fix.into(),
            ..self
        }
    }

    fn source(self, source: &'static str) -> Self {
        Self { source, ..self }
    }
}

type Rule = fn(&Setting, &Machine) -> Vec<Draft>;

const RULES: &[Rule] = &[
    already_default,
    buffers_of_other_protocols,
    congestion_control,
    fin_timeout,
    irrelevant,
    legacy,
    netdev_max_backlog,
    port_range,
    round_number,
    socket_buffers,
    somaxconn,
    syn_backlog,
    syncookies,
    tcp_mem,
    tw_buckets,
    tw_recycle,
    tw_reuse,
];

/// Everything to say about one line. An objection that never held for a kernel as new as the one
/// asked, or newer than it, is left out; one that ended before it is told as such.
pub(super) fn judge(setting: &Setting, machine: &Machine) -> Vec<Objection> {
    let mut objections: Vec<Objection> = RULES
        .iter()
        .flat_map(|rule| rule(setting, machine))
        .filter_map(|draft| place(draft, setting, machine.kernel))
        .collect();
    let is_ours = |key: &str| covers(key, &setting.key);
    let known = table::KNOWN.contains(&setting.key.as_str())
        || table::DEFAULTS
            .iter()
            .any(|default| default.key == setting.key)
        || table::IRRELEVANT.iter().any(|entry| is_ours(entry.key));
    if objections.is_empty() && !known {
        let say = "Nothing is known here about this key: it is not among those that can matter \
                   for a web server, or it is not a Linux one.";
        let draft = Draft::new(Kind::Unknown, Severity::Note, say)
            .fix("say in a comment what it is for, or remove the line");
        objections.extend(place(draft, setting, machine.kernel));
    }
    // Of several that ended, the last is the one whose version a reader wants.
    let ended = |o: &Objection| {
        (!o.holds)
            .then(|| o.kernels.ended_before(machine.kernel))
            .flatten()
    };
    if let Some(last) = objections.iter().filter_map(ended).max() {
        objections.retain(|o| o.holds || ended(o) == Some(last));
    }
    // What is the default cannot also be too large, too round or beside the point.
    if objections
        .iter()
        .any(|o| o.kind == Kind::AlreadyDefault && o.holds)
    {
        objections.retain(|o| o.kind == Kind::AlreadyDefault || o.severity > Severity::Note);
    }
    objections
}

fn place(draft: Draft, setting: &Setting, kernel: Kernel) -> Option<Objection> {
    let holds = draft.kernels.contains(kernel);
    let ended = draft.kernels.ended_before(kernel);
    let say = match (holds, ended) {
        (true, _) => draft.say,
        (false, Some(end)) => {
            format!(
                "No longer so since Linux {end}, though often repeated: {}",
                draft.say
            )
        }
        (false, None) => return None,
    };
    Some(Objection {
        line: setting.line,
        key: setting.key.clone(),
        value: setting.value.clone(),
        kind: draft.kind,
        severity: if holds {
            draft.severity
        } else {
            Severity::Note
        },
        kernels: draft.kernels,
        holds,
        say,
        fix: if holds {
            draft.fix
        } else {
            "nothing to do for this reason".to_owned()
        },
        source: draft.source,
    })
}

fn single(setting: &Setting, key: &str) -> Option<u64> {
    if setting.key != key {
        return None;
    }
    match setting.numbers()?.as_slice() {
        [number] => Some(*number),
        _ => None,
    }
}

fn already_default(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    table::DEFAULTS
        .iter()
        .filter(|d| d.key == setting.key && d.value == setting.value)
        .filter(|d| d.kernels.contains(machine.kernel))
        .map(|d| {
            Draft::new(
                Kind::AlreadyDefault,
                Severity::Note,
                "This is the kernel's default.",
            )
            .kernels(d.kernels)
            .source(d.source)
        })
        .collect()
}

fn irrelevant(setting: &Setting, _: &Machine) -> Vec<Draft> {
    table::IRRELEVANT
        .iter()
        .filter(|entry| covers(entry.key, &setting.key))
        .map(|entry| {
            Draft::new(
                Kind::Irrelevant,
                Severity::Note,
                format!("It cannot matter for this workload. {}", entry.why),
            )
            .source(entry.source)
        })
        .collect()
}

fn tcp_mem(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    if setting.key != "net.ipv4.tcp_mem" {
        return Vec::new();
    }
    let Some([_, _, max]) = setting.numbers().and_then(|n| <[u64; 3]>::try_from(n).ok()) else {
        return vec![Draft::new(
            Kind::Malformed,
            Severity::Suspect,
            "It takes three numbers.",
        )];
    };
    let bytes = Bytes::new(max.saturating_mul(machine.page));
    // 16 GiB is more than TCP takes on a machine whose size we do not know.
    let limit = machine.memory.unwrap_or(Bytes::new(16 << 30));
    if bytes <= limit {
        return Vec::new();
    }
    let compared = machine.memory.map_or_else(
        || "more memory than most machines have".to_owned(),
        |memory| format!("the machine has {memory}"),
    );
    let say = format!(
        "The unit is pages of {} bytes, not bytes: this lets TCP take {bytes}; {compared}. The \
         limit that should protect the machine is gone.",
        machine.page
    );
    vec![
        Draft::new(Kind::Unit, Severity::Suspect, say)
            .fix("remove the line: the kernel sizes it from the memory at boot"),
    ]
}

fn socket_buffers(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    let (side, stock) = match setting.key.as_str() {
        "net.ipv4.tcp_rmem" => ("receive", "4096 131072"),
        "net.ipv4.tcp_wmem" => ("send", "4096 16384"),
        _ => return Vec::new(),
    };
    let Some([min, start, max]) = setting.numbers().and_then(|n| <[u64; 3]>::try_from(n).ok())
    else {
        return vec![Draft::new(
            Kind::Malformed,
            Severity::Suspect,
            "It takes three numbers.",
        )];
    };
    let fix = format!("remove the line, or keep its beginning stock: {stock} {max}");
    let mut drafts = Vec::new();
    if start > 1 << 20 {
        let all = Bytes::new(start.saturating_mul(machine.connections));
        let say = format!(
            "The second number is the {side} buffer that every socket starts with: {} each, {all} \
             for {} connections. The kernel tunes buffers upwards by itself, up to the third \
             number.",
            Bytes::new(start),
            machine.connections
        );
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say).fix(fix.clone()));
        let small = "Buffers of megabytes can do nothing for small answers: a 7-byte body with its \
                     head fits into one segment, and no buffer ever fills.";
        drafts.push(Draft::new(Kind::Irrelevant, Severity::Note, small).fix(fix.clone()));
    }
    if min > 1 << 20 {
        let say = format!(
            "The first number is what each socket keeps even under memory pressure: {}; the \
             kernel can no longer take memory back from idle connections.",
            Bytes::new(min)
        );
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say).fix(fix.clone()));
    }
    if side == "receive" && start < 32 << 10 {
        let say = "The second number is the receive buffer that every socket starts with; below \
                   32 KiB requests with large heads or bodies wait for window updates.";
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say).fix(fix));
    }
    drafts
}

fn somaxconn(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    let Some(value) = single(setting, "net.core.somaxconn") else {
        return Vec::new();
    };
    let mut drafts = Vec::new();
    if value > 65_535 {
        let say = format!(
            "The queue length is a 16-bit field: of {value} only the lowest 16 bits count, {}.",
            value % 65_536
        );
        drafts.push(
            Draft::new(Kind::Width, Severity::Suspect, say)
                .kernels(KernelRange::before(Kernel::new(3, 11)))
                .fix("write 4096")
                .source("commit 5f671d6b4ec3; commit becb74f0acca (4.1)"),
        );
        drafts.push(
            Draft::new(
                Kind::Width,
                Severity::Suspect,
                format!("The queue length is a 16-bit field: {value} is refused and the default, 128, stays."),
            )
            .kernels(KernelRange::between(Kernel::new(3, 11), Kernel::new(4, 1)))
            .fix("write 4096")
            .source("commit 5f671d6b4ec3; the field has 32 bits since commit becb74f0acca (4.1)"),
        );
    }
    if value > 10_000 {
        let say = "A queue of more than 10,000 connections that wait to be accepted only hides a \
                   server that does not accept; each of them has long given up. The limit that \
                   counts is the smaller of this and the server's own backlog.";
        drafts.push(Draft::new(Kind::Size, Severity::Note, say).fix("write 4096"));
    }
    let default = if machine.kernel < Kernel::new(5, 4) {
        128
    } else {
        4096
    };
    if value < default {
        let say = format!(
            "It lowers the kernel's default of {default}: more than {value} connections opened at \
             once overflow the accept queue and are retried after a second."
        );
        drafts.push(Draft::new(Kind::Size, Severity::Suspect, say));
    } else if value < 1_000 && value != default {
        let say = "Below 1,000 the accept queue is short for a benchmark that opens its \
                   connections at once.";
        drafts.push(Draft::new(Kind::Size, Severity::Note, say).fix("write 4096"));
    }
    drafts
}

fn syn_backlog(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let Some(value) = single(setting, "net.ipv4.tcp_max_syn_backlog") else {
        return Vec::new();
    };
    let mut drafts = Vec::new();
    if value > 10_000 {
        let say = "It limits half-open connections of a listener, which on a local network last \
                   microseconds; more than 10,000 of them delay the SYN cookies that protect a \
                   server in production. The accept queue, somaxconn and the server's backlog, \
                   fills first.";
        drafts.push(
            Draft::new(Kind::Size, Severity::Note, say).fix("remove the line, or write 4096"),
        );
    }
    drafts
}

fn syncookies(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_syncookies") {
        Some(0) => vec![Draft::new(
            Kind::Dangerous,
            Severity::Suspect,
            "Without SYN cookies a full queue of half-open connections drops new ones silently: \
             connect times jump by a second instead of the kernel logging the overflow; the \
             server is open to SYN floods.",
        )],
        Some(2) => vec![Draft::new(
            Kind::Dangerous,
            Severity::Suspect,
            "2 sends SYN cookies for every connection, without TCP options: a test setting.",
        )],
        _ => Vec::new(),
    }
}

fn tw_recycle(setting: &Setting, _: &Machine) -> Vec<Draft> {
    const GONE: Kernel = Kernel::new(4, 12);
    const SOURCE: &str = "commit 4396e46187ca (removed in 4.12); \
                          vincent.bernat.ch/en/blog/2014-tcp-time-wait-state-linux";
    match single(setting, "net.ipv4.tcp_tw_recycle") {
        None | Some(0) => Vec::new(),
        Some(_) => vec![
            Draft::new(
                Kind::Dangerous,
                Severity::Invalid,
                "Connections from behind one address whose clocks differ (NAT, several clients on \
                 a host) are dropped without a word: closed on the client, open on the server. \
                 Never set it, neither for a benchmark nor in production.",
            )
            .kernels(KernelRange::before(GONE))
            .source(SOURCE),
            Draft::new(
                Kind::Removed,
                Severity::Note,
                "The key was removed in Linux 4.12; sysctl reports an error and goes on.",
            )
            .kernels(KernelRange::from(GONE))
            .source(SOURCE),
        ],
    }
}

fn tw_reuse(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_tw_reuse") {
        Some(1) => vec![
            Draft::new(
                Kind::Misunderstood,
                Severity::Note,
                "It lets the side that connects reuse ports in TIME_WAIT: it acts on the load \
                 generator or a proxy, never on connections that a web server accepts. On \
                 loopback it is on by default since 4.19 (value 2).",
            )
            .fix("keep it on the generator's machine only")
            .source("commit 79e9fed46038 (4.19); Documentation/networking/ip-sysctl.rst"),
        ],
        _ => Vec::new(),
    }
}

fn tw_buckets(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_max_tw_buckets") {
        Some(value) if value > 1_000_000 => vec![Draft::new(
            Kind::Size,
            Severity::Note,
            "One client address has some 28,000 ports to leave in TIME_WAIT for 60 seconds; \
             millions of them need dozens of client addresses that reconnect for each request. \
             The default follows the memory.",
        )],
        Some(value) if value < 16_384 => vec![Draft::new(
            Kind::Dangerous,
            Severity::Suspect,
            "Above this number TIME_WAIT is skipped, which the kernel asks not to do: late \
             segments of one connection may reach the next.",
        )],
        _ => Vec::new(),
    }
}

fn netdev_max_backlog(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.core.netdev_max_backlog") {
        Some(value) if value > 50_000 => vec![
            Draft::new(
                Kind::Size,
                Severity::Note,
                "It is the queue of packets per CPU for loopback and for steered or old network \
                 drivers. It drops nothing until the second column of /proc/net/softnet_stat \
                 moves; a longer queue than that needs only adds delay.",
            )
            .fix("raise it from 1000 step by step while that column moves")
            .source(NET_SYSCTL),
        ],
        _ => Vec::new(),
    }
}

fn buffers_of_other_protocols(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let other = match setting.key.as_str() {
        "net.core.rmem_default" => "tcp_rmem",
        "net.core.wmem_default" => "tcp_wmem",
        _ => return Vec::new(),
    };
    let mut drafts = vec![Draft::new(
        Kind::Irrelevant,
        Severity::Note,
        format!(
            "TCP does not read it: the second number of {other} overrides it. It sets the buffers \
             of UDP and other sockets."
        ),
    )];
    if single(setting, &setting.key).is_some_and(|value| value > 1 << 20) {
        drafts.push(Draft::new(
            Kind::Size,
            Severity::Suspect,
            "Every UDP and other datagram socket of the machine starts with a buffer of this size.",
        ));
    }
    drafts
}

fn congestion_control(setting: &Setting, _: &Machine) -> Vec<Draft> {
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

fn fin_timeout(setting: &Setting, _: &Machine) -> Vec<Draft> {
    match single(setting, "net.ipv4.tcp_fin_timeout") {
        Some(value) if value != 60 => vec![Draft::new(
            Kind::Misunderstood,
            Severity::Note,
            "It does not shorten TIME_WAIT, which is fixed at 60 seconds: it is the patience with \
             orphaned connections in FIN_WAIT_2, whose peer does not close its side.",
        )],
        _ => Vec::new(),
    }
}

fn port_range(setting: &Setting, _: &Machine) -> Vec<Draft> {
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

fn legacy(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let legacy = ["net.ipv4.tcp_fack", "net.ipv4.tcp_low_latency"];
    if legacy.contains(&setting.key.as_str()) {
        let say = "The kernel keeps this key for compatibility; it has no effect any more.";
        return vec![
            Draft::new(Kind::Removed, Severity::Note, say)
                .kernels(KernelRange::from(Kernel::new(4, 15))),
        ];
    }
    Vec::new()
}

/// A power of ten or a small multiple of one, far from the default: nobody derived it.
fn round_number(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let sized = ["max", "mem", "backlog", "default", "somaxconn", "buckets"];
    let Some(numbers) = setting.numbers() else {
        return Vec::new();
    };
    let is_round = |n: &u64| *n >= 100_000 && *n % 10_u64.pow(n.ilog10() - 1) == 0;
    if sized.iter().any(|part| setting.key.contains(part)) && numbers.iter().any(is_round) {
        let say = "A small number padded with zeros: nothing on the machine leads to it. A setting \
                   is worth having when a counter moved before and no longer moves after.";
        return vec![
            Draft::new(Kind::RoundNumber, Severity::Note, say)
                .fix("remove the line, measure, and set it only if a counter asks for it"),
        ];
    }
    Vec::new()
}
