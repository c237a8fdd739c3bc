//! Connection tracking and links.

use model::condition::{Condition, ListenerCondition};
use model::finding::Claim::{Capacity, Comparison, Resources};
use model::finding::{Claim, Severity};

use super::{Answer, Rule, sysctl};
use crate::check::Found;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "CT-02",
        name: "conntrack-full",
        reads: "net.netfilter.nf_conntrack_count, net.netfilter.nf_conntrack_max",
        source: "kernel Documentation/networking/nf_conntrack-sysctl.rst",
        examine: tracking,
    },
    Rule {
        id: "LNK-02",
        name: "loopback",
        reads: "addresses of the listening sockets (sock_diag), /sys/class/net: links beside lo",
        source: "loopback charges the receiver's work to the sender",
        examine: loopback,
    },
    Rule {
        id: "LNK-03",
        name: "mtu",
        reads: "/sys/class/net/*/mtu, device; not offloads: ethtool -k LINK shows them",
        source: "MDA2AV/HttpArena sets lo to 1500",
        examine: mtu,
    },
];

fn tracking(condition: &Condition) -> Answer {
    let (Some(count), Some(max)) = (
        condition.tracked_connections,
        condition.tracked_connections_max,
    ) else {
        let is_table = condition
            .tracked_connections
            .or(condition.tracked_connections_max);
        if is_table.is_some() || condition.environment.sysctls.is_empty() {
            return Answer::unknown("net.netfilter.nf_conntrack_count or nf_conntrack_max");
        }
        // Other settings can be read: without the module there is no table that could fill.
        return Answer::NotApplicable;
    };
    // 0 is no limit.
    if max > 0 && count * 10 >= max * 9 {
        let say = format!(
            "The firewall tracks {count} connections of at most {max}: from there on new ones are \
             dropped."
        );
        let found = Found::all(&Claim::ALL, Severity::Invalid, say)
            .evidence("count", count)
            .evidence("max", max);
        let key = "net.netfilter.nf_conntrack_max";
        return Answer::Found(found, vec![sysctl(condition, key, &(max * 4).to_string())]);
    }
    if count == 0 {
        return Answer::Silent;
    }
    let say = format!(
        "The firewall tracks connections ({count} now). If it tracks those of the benchmark, every \
         packet pays for a look-up: this number then grows while a trial runs."
    );
    Found::all(&[Capacity, Comparison], Severity::Note, say)
        .evidence("count", count)
        // Over loopback a connection is first seen on its way out, by its destination.
        .fix(
            "for c in PREROUTING OUTPUT; do iptables -t raw -I $c -p tcp -m multiport --ports PORT \
             -j NOTRACK; done",
        )
        .into()
}

fn loopback(condition: &Condition) -> Answer {
    if condition.links.is_empty() {
        return Answer::unknown("/sys/class/net");
    }
    let is_alone = condition.links.iter().all(|link| link.name == "lo");
    let why = match condition.server.as_ref().map(|server| &server.listeners) {
        _ if is_alone => "This machine has no other link than loopback.",
        None => return Answer::NotApplicable,
        Some(None) => return Answer::unknown("the addresses that the server listens on"),
        Some(Some(listeners)) => {
            let is_loopback =
                |one: &ListenerCondition| one.address.ip().to_canonical().is_loopback();
            if listeners.is_empty() || !listeners.iter().all(is_loopback) {
                return Answer::Silent;
            }
            "The server listens on loopback only."
        }
    };
    let say = format!(
        "{why} So no network card and no wire take part, and numbers are not those of two \
         machines. The kernel does the receiver's work in the CPU time of the sender: CPU time \
         per request has work of both sides in it."
    );
    Found::all(&[Resources, Capacity], Severity::Note, say).into()
}

fn mtu(condition: &Condition) -> Answer {
    let lo = condition.links.iter().find(|link| link.name == "lo");
    if lo.is_none_or(|lo| lo.mtu.is_none()) {
        return Answer::unknown("the largest packet of lo");
    }
    let server = condition.server.as_ref();
    let listeners = server.and_then(|server| server.listeners.as_ref());
    let is_loopback = |one: &ListenerCondition| one.address.ip().to_canonical().is_loopback();
    let is_local = listeners.is_some_and(|all| !all.is_empty() && all.iter().all(is_loopback));
    let odd = condition.links.iter().filter_map(|link| {
        let stock = match link.name.as_str() {
            "lo" => 65_536,
            _ if link.device && !is_local => 1_500,
            _ => return None,
        };
        let mtu = link.mtu.filter(|mtu| *mtu != stock)?;
        Some((link.name.as_str(), mtu, stock))
    });
    let odd: Vec<_> = odd.collect();
    if odd.is_empty() {
        return Answer::Silent;
    }
    let told = |(name, mtu, stock): &(&str, u64, u64)| {
        format!("The largest packet of {name} is {mtu} bytes, not the stock {stock}.")
    };
    let told: Vec<String> = odd.iter().map(told).collect();
    let say = format!(
        "{} Large bodies are cut into more or fewer packets than elsewhere.",
        told.join(" ")
    );
    // What a link to others can carry is for its network to say: only lo is mended.
    let remedies = odd.iter().filter(|(name, _, _)| *name == "lo");
    let remedies = remedies.map(|(_, mtu, stock)| model::condition::Remedy {
        apply: format!("ip link set lo mtu {stock}"),
        undo: Some(format!("ip link set lo mtu {mtu}")),
    });
    let mut found = Found::all(&[Comparison, Capacity], Severity::Note, say);
    for (name, mtu, _) in &odd {
        found = found.evidence(&format!("mtu.{name}"), *mtu);
    }
    Answer::Found(found, remedies.collect())
}
