//! LNK-02: over loopback no wire takes part, and CPU time is charged to the wrong side; between two
//! virtual devices there is no wire either.
//!
//! A note, not a doubt: servers on one machine are charged alike, so they compare; their costs are
//! not those over a network. A load that was to go over devices and did not is not such a
//! measurement.

use model::environment::PathEnd;
use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{Invalid, Note};

use super::link_saturated::{carried, links, moved};
use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "LNK-02",
    name: "loopback",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "Linux loopback: the receiver's TCP input runs within the sender's send call",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_over_veth() {
        return over_veth(facts);
    }
    let is_device = |path: &&PathEnd| path.is_virtual() && !path.is_loopback();
    if let Some(path) = facts.path().filter(is_device) {
        return virtual_device(&path.link);
    }
    match facts.is_loopback() {
        None => Judgement::unknown("the address that answered"),
        Some(false) => Judgement::Silent,
        Some(true) => Found::all(
            CHECK.claims,
            Note,
            "Measured over loopback: no network takes part, and the CPU time of the kernel's \
             work for the receiver is charged to the sender."
                .to_owned(),
        )
        .fix(ANOTHER_MACHINE)
        .into(),
    }
}

fn virtual_device(link: &str) -> Judgement {
    Found::all(
        CHECK.claims,
        Note,
        format!(
            "Measured over {link}, a virtual Ethernet device: packets pass a device and the \
             receiver's queue, but no network card and no wire."
        ),
    )
    .evidence("device", link)
    .fix(ANOTHER_MACHINE)
    .into()
}

/// The device's own counters must have seen the load: where they did not, it went another way.
fn over_veth(facts: &Facts<'_>) -> Judgement {
    if links(facts).next().is_none() {
        return Judgement::unknown("the counters of the devices");
    }
    let used = links(facts).find(|link| *link != LOOPBACK && carried(facts, link));
    let found = match used {
        Some(link) => Found::all(
            CHECK.claims,
            Note,
            format!(
                "Measured over a pair of virtual Ethernet devices ({link} is the generator's): \
                 packets pass a device and the receiver's queue, but no network card and no wire."
            ),
        )
        .evidence("device", link)
        .evidence("packets_sent", moved(facts, link, "tx_packets"))
        .evidence("packets_received", moved(facts, link, "rx_packets"))
        .fix(ANOTHER_MACHINE),
        None => Found::all(
            CHECK.claims,
            Invalid,
            "The load was to go over a pair of virtual Ethernet devices, and none of them carried \
             it."
            .to_owned(),
        )
        .fix("Look at the routes of the two network namespaces (lsns -t net shows them)"),
    };
    let by_loopback = moved(facts, LOOPBACK, "rx_packets");
    found.evidence("packets_over_loopback", by_loopback).into()
}

/// What gives figures of a network.
const ANOTHER_MACHINE: &str = "To measure a network, send the load from another machine";
/// The device that every network namespace has.
const LOOPBACK: &str = "lo";
