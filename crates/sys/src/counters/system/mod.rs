//! The machine as a whole: time of each CPU, and the kernel's network and memory counters.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use model::Span;
use model::usage::CpuUsage;

use super::ticks;

/// Time that one CPU has spent in each way since boot, in steps of a tick.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CpuTime {
    /// Its number.
    pub cpu: u32,
    /// In user mode, niced included.
    pub user: Span,
    /// In the kernel for a task.
    pub system: Span,
    /// Idle, waiting for I/O included: what the kernel calls iowait is idle with a story.
    pub idle: Span,
    /// In interrupts and softirqs.
    pub interrupt: Span,
    /// Given to another guest.
    pub steal: Span,
}

/// Reads the per-CPU lines of `/proc/stat`.
pub fn cpu_times(root: &Path) -> io::Result<Vec<CpuTime>> {
    let text = fs::read_to_string(root.join("stat"))?;
    Ok(text.lines().filter_map(parse_cpu_line).collect())
}

fn parse_cpu_line(line: &str) -> Option<CpuTime> {
    let rest = line.strip_prefix("cpu")?;
    let mut fields = rest.split_ascii_whitespace();
    // The line of the whole machine has a blank where the others have a number.
    let cpu = rest
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| fields.next()?.parse().ok())??;
    let mut next = || fields.next()?.parse().ok().map(ticks);
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (waiting, irq, softirq, steal) = (
        next().unwrap_or_default(),
        next().unwrap_or_default(),
        next().unwrap_or_default(),
        next().unwrap_or_default(),
    );
    Some(CpuTime {
        cpu,
        user: user + nice,
        system,
        idle: idle + waiting,
        interrupt: irq + softirq,
        steal,
    })
}

/// The shares of the time between two readings, for each CPU that is in both.
pub fn cpu_shares(before: &[CpuTime], after: &[CpuTime]) -> Vec<CpuUsage> {
    after
        .iter()
        .filter_map(|later| {
            let earlier = before.iter().find(|earlier| earlier.cpu == later.cpu)?;
            let went = |field: fn(&CpuTime) -> Span| {
                field(later).saturating_sub(field(earlier)).as_s_f64()
            };
            let (user, system, idle) = (went(|t| t.user), went(|t| t.system), went(|t| t.idle));
            let (interrupt, steal) = (went(|t| t.interrupt), went(|t| t.steal));
            let whole = user + system + idle + interrupt + steal;
            (whole > 0.0).then(|| CpuUsage {
                cpu: later.cpu,
                busy: (whole - idle) / whole,
                user: user / whole,
                system: system / whole,
                interrupt: interrupt / whole,
                steal: steal / whole,
            })
        })
        .collect()
}

/// The step in which the times of CPUs are counted.
pub fn tick() -> Span {
    ticks(1)
}

/// How many processes and threads have begun since boot: `processes` of `/proc/stat`.
pub fn processes_begun(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("stat")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("processes "))?;
    line.trim().parse().ok()
}

/// The network namespaces that some processes are in, held open: their counters can still be read
/// when the last of those processes has ended.
#[derive(Debug, Default)]
pub struct Networks {
    open: Vec<Network>,
}

/// The files of one namespace.
#[derive(Debug)]
struct Network {
    /// Those with a line of names and a line of values for each protocol.
    pairs: Vec<File>,
    /// That with a line for each counter of IPv6.
    ipv6: Option<File>,
    links: Option<File>,
}

impl Networks {
    /// Opens those that `processes` are in; without any, our own. A missing file contributes
    /// nothing.
    pub fn of(root: &Path, processes: &[u32]) -> Self {
        let open = |network: PathBuf| {
            let open = |file: &str| File::open(network.join(file)).ok();
            Network {
                pairs: ["snmp", "netstat"].into_iter().filter_map(open).collect(),
                ipv6: open("snmp6"),
                links: open("dev"),
            }
        };
        Self {
            open: networks(root, processes).into_iter().map(open).collect(),
        }
    }
}

/// All counters of the network stack and of memory, by name: `TcpExt.ListenOverflows`,
/// `Tcp.RetransSegs`, `vmstat.pswpin`, `softnet.dropped`, `link.eth0.rx_bytes`. Those of a
/// network are sums over `networks`. A missing file contributes nothing.
pub fn counters(root: &Path, networks: &Networks) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for Network { pairs, ipv6, links } in &networks.open {
        for text in pairs.iter().filter_map(|file| reread(file).ok()) {
            parse_pairs(&text, &mut all);
        }
        if let Some(text) = ipv6.as_ref().and_then(|file| reread(file).ok()) {
            parse_udp6(&text, &mut all);
        }
        if let Some(text) = links.as_ref().and_then(|file| reread(file).ok()) {
            parse_links(&text, &mut all);
        }
    }
    if let Ok(text) = fs::read_to_string(root.join("vmstat")) {
        for line in text.lines() {
            if let Some((name, value)) = line.split_once(' ')
                && let Ok(value) = value.trim().parse()
            {
                all.insert(format!("vmstat.{name}"), value);
            }
        }
    }
    // It counts for the CPUs, whatever the namespace.
    if let Ok(text) = fs::read_to_string(root.join("net/softnet_stat")) {
        parse_softnet(&text, &mut all);
    }
    all
}

/// What `file` says now, from its beginning.
fn reread(mut file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Where the counters of each network namespace of `processes` are.
fn networks(root: &Path, processes: &[u32]) -> Vec<PathBuf> {
    let mut found: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for pid in processes {
        let process = root.join(pid.to_string());
        // One that has ended, or is not ours to look at, is no reason to know nothing.
        if let Ok(namespace) = fs::read_link(process.join("ns/net")) {
            found
                .entry(namespace)
                .or_insert_with(|| process.join("net"));
        }
    }
    match found.is_empty() {
        true => vec![root.join("net")],
        false => found.into_values().collect(),
    }
}

/// One line per CPU of hexadecimal columns: packets, those dropped, and how often there was more
/// work than a turn allows (net/core/net-procfs.c).
fn parse_softnet(text: &str, into: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let columns = line.split_ascii_whitespace();
        for (name, value) in ["processed", "dropped", "squeezed"].iter().zip(columns) {
            if let Ok(value) = u64::from_str_radix(value, 16) {
                *into.entry(format!("softnet.{name}")).or_default() += value;
            }
        }
    }
}

/// Bytes and packets of each link: eight columns received, then eight sent.
fn parse_links(text: &str, into: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let Some((link, rest)) = line.split_once(':') else {
            continue;
        };
        let columns: Vec<&str> = rest.split_ascii_whitespace().collect();
        let named = [
            (0, "rx_bytes"),
            (1, "rx_packets"),
            (8, "tx_bytes"),
            (9, "tx_packets"),
        ];
        for (column, name) in named {
            if let Some(value) = columns.get(column).and_then(|value| value.parse().ok()) {
                let sum: &mut u64 = into
                    .entry(format!("link.{}.{name}", link.trim()))
                    .or_default();
                *sum = sum.saturating_add(value);
            }
        }
    }
}

/// One line per counter, of which those of UDP have no others beside them: `Udp6InErrors 3`.
fn parse_udp6(text: &str, into: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().and_then(|name| name.strip_prefix("Udp6"));
        let value = words.next().and_then(|value| value.parse().ok());
        if let (Some(name), Some(value)) = (name, value) {
            let sum: &mut u64 = into.entry(format!("Udp6.{name}")).or_default();
            *sum = sum.saturating_add(value);
        }
    }
}

/// Two lines per protocol: names, then values.
fn parse_pairs(text: &str, into: &mut BTreeMap<String, u64>) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((protocol, names)), Some((_, values))) =
            (names.split_once(':'), values.split_once(':'))
        else {
            continue;
        };
        let pairs = names
            .split_ascii_whitespace()
            .zip(values.split_ascii_whitespace());
        for (name, value) in pairs {
            // Tcp.MaxConn is -1: no counter.
            if let Ok(value) = value.parse() {
                let sum: &mut u64 = into.entry(format!("{protocol}.{name}")).or_default();
                *sum = sum.saturating_add(value);
            }
        }
    }
}

/// How many connections the firewall tracks; none where it has no table of them.
pub fn tracked_connections(root: &Path) -> Option<u64> {
    let path = root.join("sys/net/netfilter/nf_conntrack_count");
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// `/proc/net/sockstat` by name: `TCP.inuse`, `TCP.tw`, `TCP.mem`. Levels, not counters.
pub fn socket_levels(root: &Path) -> io::Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(root.join("net/sockstat"))?;
    let mut levels = BTreeMap::new();
    for line in text.lines() {
        let Some((kind, rest)) = line.split_once(':') else {
            continue;
        };
        let mut words = rest.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            if let Ok(value) = value.parse() {
                levels.insert(format!("{kind}.{name}"), value);
            }
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests;
