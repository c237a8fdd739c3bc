//! Ports, queues and memory of TCP.

use model::Bytes;
use model::condition::Condition;
use model::finding::Claim::{Capacity, Comparison, Latency};
use model::finding::{Claim, Severity};

use super::{Answer, Rule, number, numbers, sysctl};
use crate::check::Found;
use crate::ports::{Ports, RANGE, RESERVED};
use crate::sysctl::Kernel;

const IP_SYSCTL: &str = "kernel Documentation/networking/ip-sysctl.rst";

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "TCP-01",
        name: "port-exhaustion",
        reads: "net.ipv4.ip_local_port_range, net.ipv4.ip_local_reserved_ports",
        source: IP_SYSCTL,
        examine: ports,
    },
    Rule {
        id: "TCP-02",
        name: "time-wait-residue",
        reads: "/proc/net/sockstat (TCP tw), net.ipv4.ip_local_port_range",
        source: IP_SYSCTL,
        examine: time_wait,
    },
    Rule {
        id: "TCP-08",
        name: "somaxconn-absurd",
        reads: "net.core.somaxconn",
        source: IP_SYSCTL,
        examine: somaxconn,
    },
    Rule {
        id: "TCP-09",
        name: "tcp-mem-unit",
        reads: "net.ipv4.tcp_mem (pages), /proc/net/sockstat (TCP mem), memory, size of a page",
        source: IP_SYSCTL,
        examine: tcp_mem,
    },
    Rule {
        id: "TCP-10",
        name: "socket-default-buffers",
        reads: "net.ipv4.tcp_rmem, net.ipv4.tcp_wmem (second numbers), memory",
        source: IP_SYSCTL,
        examine: buffers,
    },
    Rule {
        id: "TCP-11",
        name: "tcp-tw-recycle",
        reads: "net.ipv4.tcp_tw_recycle",
        source: "commit 4396e46187ca (removed in 4.12)",
        examine: recycle,
    },
];

/// The range that a kernel has by itself.
const RANGE_DEFAULT: (u64, u64) = (32_768, 60_999);
/// Fewer ports than this are used up soon.
const PORTS_MIN: u64 = 20_000;

fn ports(condition: &Condition) -> Answer {
    let Some(mut ports) = Ports::of(&condition.environment) else {
        return Answer::unknown(RANGE);
    };
    let count = ports.count();
    let per_second = count / 60;
    if count >= PORTS_MIN {
        return Answer::Silent;
    }
    let lost = ports.in_range() - count;
    let beside = match lost {
        0 => String::new(),
        lost => format!(" beside {lost} that are reserved"),
    };
    let say = format!(
        "One source address has {count} ports{beside}. Without keep-alive each stays in TIME_WAIT \
         for 60 s after the generator closes its connection, so with more than {per_second} new \
         connections a second no port is left."
    );
    let found = Found::all(&[Capacity, Latency], Severity::Suspect, say)
        .evidence("ports", count)
        .evidence("reserved", lost);
    let mut remedies = Vec::new();
    if ports.in_range() < PORTS_MIN {
        ports.range = RANGE_DEFAULT;
        let (low, high) = ports.range;
        remedies.push(sysctl(condition, RANGE, &format!("{low} {high}")));
    }
    if ports.count() < PORTS_MIN {
        // A wider range would help no longer than until somebody reserves that, too.
        remedies.push(sysctl(condition, RESERVED, &ports.reserved_outside()));
    }
    Answer::Found(found, remedies)
}

fn time_wait(condition: &Condition) -> Answer {
    let ports = Ports::of(&condition.environment);
    let (Some(ports), Some(tw)) = (ports, condition.sockets.get("TCP.tw")) else {
        return Answer::unknown(format!("/proc/net/sockstat or {RANGE}"));
    };
    let count = ports.count();
    if *tw * 10 <= count {
        return Answer::Silent;
    }
    let say = format!(
        "{tw} connections are in TIME_WAIT, of {count} ports that one source address has: the \
         next run finds fewer free ones."
    );
    Found::all(&[Capacity, Comparison], Severity::Suspect, say)
        .evidence("time_wait", *tw)
        .fix("wait 60 s before measuring")
        .into()
}

fn somaxconn(condition: &Condition) -> Answer {
    let Some(value) = number(condition, "net.core.somaxconn") else {
        return Answer::unknown("net.core.somaxconn");
    };
    let (severity, what) = match value {
        0..1024 => (
            Severity::Suspect,
            "if more are opened at once, the rest are tried again after a second",
        ),
        1024..=65_535 => return Answer::Silent,
        _ => (
            Severity::Note,
            "kernels before 4.1 cut or refuse more than 65535, and no server needs more",
        ),
    };
    let say = format!("The kernel lets at most {value} connections wait to be accepted: {what}.");
    let found = Found::all(&[Latency, Capacity], severity, say).evidence("somaxconn", value);
    Answer::Found(found, vec![sysctl(condition, "net.core.somaxconn", "4096")])
}

fn tcp_mem(condition: &Condition) -> Answer {
    let limits = numbers(condition, "net.ipv4.tcp_mem");
    let (Some([_, pressure, max]), Some(memory), Some(page)) = (
        limits.and_then(|n| <[u64; 3]>::try_from(n).ok()),
        condition.environment.memory,
        condition.page_size,
    ) else {
        return Answer::unknown("net.ipv4.tcp_mem, or the size of memory or of its pages");
    };
    let used = condition.sockets.get("TCP.mem").copied();
    if let Some(used) = used.filter(|used| *used > pressure) {
        let say = format!(
            "TCP holds {used} pages, more than the {pressure} from which it saves memory: TCP \
             windows shrink and connections are dropped."
        );
        return Found::all(&Claim::ALL, Severity::Invalid, say)
            .evidence("tcp_mem_used_pages", used)
            .fix("close what holds the connections (ss -tm), then measure")
            .into();
    }
    let allowed = Bytes::new(max.saturating_mul(page.count()));
    if allowed <= memory {
        return used.map_or_else(
            || Answer::unknown("/proc/net/sockstat: how much memory TCP holds"),
            |_| Answer::Silent,
        );
    }
    let say = format!(
        "The unit of tcp_mem is pages, here of {page}: the setting allows TCP {allowed} on a \
         machine that has {memory}. The limit that should protect the machine is gone."
    );
    Found::all(&[Capacity, Comparison], Severity::Suspect, say)
        .evidence("tcp_mem_max_pages", max)
        .fix(
            "remove net.ipv4.tcp_mem from /etc/sysctl.conf and /etc/sysctl.d, and reboot: the \
             kernel sizes it",
        )
        .into()
}

fn buffers(condition: &Condition) -> Answer {
    let start = |key| match numbers(condition, key)?.as_slice() {
        [_, start, _] => Some(*start),
        _ => None,
    };
    let (Some(read), Some(write)) = (start("net.ipv4.tcp_rmem"), start("net.ipv4.tcp_wmem")) else {
        return Answer::unknown("net.ipv4.tcp_rmem or net.ipv4.tcp_wmem");
    };
    let stock_read = stock_read_buffer(condition);
    // What every kernel starts with is no choice of anybody's.
    let is_raised = read > stock_read || write > 16_384;
    let connections = u64::from(condition.at_once.unwrap_or(1_000));
    let all = Bytes::new((read + write).saturating_mul(connections));
    let memory = condition.environment.memory;
    let is_much = is_raised && memory.is_some_and(|m| all.count() > m.count() / 4);
    if read.max(write) <= 1 << 20 && read >= 32 << 10 && !is_much {
        return Answer::Silent;
    }
    let mut say = format!(
        "The second numbers of tcp_rmem and tcp_wmem are the buffers that every socket starts \
         with: {} and {}. The defaults are {} and 16 KiB; the kernel grows them by itself.",
        Bytes::new(read),
        Bytes::new(write),
        Bytes::new(stock_read)
    );
    let mut capacity = Severity::Suspect;
    if is_much {
        // As many as we suppose may never be opened.
        if condition.at_once.is_some() {
            capacity = Severity::Invalid;
        }
        say += &format!(
            " With {connections} connections that is up to {all}, more than a quarter of memory."
        );
    }
    let severity = [(Capacity, capacity), (Comparison, Severity::Suspect)];
    let found = Found::new(&severity, say)
        .evidence("tcp_rmem_default", read)
        .evidence("tcp_wmem_default", write)
        .evidence("connections", connections);
    let stock = |key: &str, head: &str| {
        let max = numbers(condition, key)
            .and_then(|n| n.last().copied())
            .unwrap_or(6 << 20);
        sysctl(condition, key, &format!("{head} {max}"))
    };
    let remedies = vec![
        stock("net.ipv4.tcp_rmem", &format!("4096 {stock_read}")),
        stock("net.ipv4.tcp_wmem", "4096 16384"),
    ];
    Answer::Found(found, remedies)
}

/// Raised by commit a337531b942b.
fn stock_read_buffer(condition: &Condition) -> u64 {
    let kernel = condition.environment.kernel.as_deref();
    let kernel = kernel.and_then(|text| text.parse::<Kernel>().ok());
    match kernel {
        Some(kernel) if kernel < Kernel::new(4, 20) => 87_380,
        _ => 131_072,
    }
}

fn recycle(condition: &Condition) -> Answer {
    if condition.environment.sysctls.is_empty() {
        return Answer::unknown("kernel settings");
    }
    match number(condition, "net.ipv4.tcp_tw_recycle") {
        None | Some(0) => Answer::Silent,
        Some(_) => {
            let say = "tcp_tw_recycle is on: connections from behind one address whose clocks \
                       differ are dropped silently.";
            let found = Found::all(&Claim::ALL, Severity::Invalid, say.to_owned());
            Answer::Found(
                found,
                vec![sysctl(condition, "net.ipv4.tcp_tw_recycle", "0")],
            )
        }
    }
}
