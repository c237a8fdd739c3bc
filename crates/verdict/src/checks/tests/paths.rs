//! LNK: the ends of the way between generator and server.

use model::environment::PathEnd;
use model::{Bytes, Outcome};

use super::*;

fn end(link: &str) -> PathEnd {
    PathEnd {
        link: link.to_owned(),
        driver: Some("mlx5_core".to_owned()),
        speed_mbit: Some(10_000),
        mtu: Some(1_500),
        queues: Some(8),
        offloads: [("gro".to_owned(), true), ("tso".to_owned(), true)].into(),
        round_trip_at_most: None,
    }
}

/// Bytes that passed a link in the window.
fn passed(trial: &mut Trial, link: &str, received: u64, sent: u64) {
    let counters = &mut trial.usage.system.as_mut().unwrap().counters;
    for (name, value) in [("rx_bytes", received), ("tx_bytes", sent)] {
        counters.insert(format!("link.{link}.{name}"), value);
    }
}

/// Answers of so many bytes each.
fn answers_of(trial: &mut Trial, bytes: u64) {
    let total = &mut trial.record.total;
    total.bytes_received = Bytes::new(total.outcomes[Outcome::Ok] * bytes);
}

/// A server on another machine, whose answers take an eighth of a link of 10 Gbit/s.
fn over_network() -> Vec<Trial> {
    let mut trials = closed();
    let trial = &mut trials[0];
    let reference = trial.record.reference.as_mut().unwrap();
    "192.0.2.7:80".clone_into(&mut reference.address);
    trial.environment.path = Some(end("eth0"));
    passed(trial, "eth0", 1_500_000_000, 200_000_000);
    trials
}

/// The same load by an agent; the trial itself is of the servers' machine.
fn by_agent() -> Vec<Trial> {
    let mut trials = over_network();
    let share = fixture::share("gen1", 0..1, trials[0].clone());
    let trial = &mut trials[0];
    trial.agents = vec![share];
    trial.environment.path = Some(end("eth1"));
    passed(trial, "eth1", 200_000_000, 1_500_000_000);
    trials
}

fn path(trials: &mut [Trial]) -> &mut PathEnd {
    trials[0].environment.path.as_mut().unwrap()
}

fn of_agent(trials: &mut [Trial]) -> &mut PathEnd {
    trials[0].agents[0].environment.path.as_mut().unwrap()
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            rule: "LNK-06",
            base: over_network,
            provoke: |t| {
                answers_of(&mut t[0], 100_000);
                path(t).offloads.insert("gro".to_owned(), false);
            },
            silent: |t| {
                path(t).offloads.insert("gro".to_owned(), false);
            },
            missing: Some((|t| path(t).offloads.clear(), "gro of eth0")),
        },
        Case {
            rule: "LNK-11",
            base: by_agent,
            provoke: |t| of_agent(t).mtu = Some(9_000),
            silent: |_| {},
            missing: Some((|t| t[0].environment.path = None, "the servers' machine")),
        },
    ]
}

fn said(trials: &[Trial], rule: &str) -> Option<String> {
    finding(&judge(&trials[0]), rule).map(|found| found.say)
}

fn unknown(trials: &[Trial], rule: &str) -> Option<String> {
    judge(&trials[0]).coverage.unknown.get(rule).cloned()
}

#[test]
fn the_link_of_the_route_is_judged_by_its_own_speed() {
    let mut trials = over_network();
    assert_eq!(said(&trials, "LNK-01"), None);
    assert_eq!(unknown(&trials, "LNK-01"), None);
    // Another link that is full carries something else.
    let facts = &mut trials[0].environment.facts;
    facts.insert("link.eth7.speed_mbit".to_owned(), "100".to_owned());
    passed(&mut trials[0], "eth7", 1_500_000_000, 200_000_000);
    assert_eq!(said(&trials, "LNK-01"), None);
    path(&mut trials).speed_mbit = Some(1_000);
    let full = said(&trials, "LNK-01").expect("it is full");
    assert!(full.starts_with("eth0 was "), "{full}");
    path(&mut trials).speed_mbit = None;
    let why = unknown(&trials, "LNK-01").expect("its speed is not known");
    assert!(why.contains("the speed of eth0"), "{why}");
    passed(&mut trials[0], "eth0", 7, 7);
    let why = unknown(&trials, "LNK-01").expect("it did not carry the load");
    assert!(why.contains("the route names eth0"), "{why}");
    // What is behind a pair of devices has the speed of the kernel.
    path(&mut trials).driver = Some("veth".to_owned());
    assert_eq!(unknown(&trials, "LNK-01"), None);
    assert_eq!(said(&trials, "LNK-01"), None);
}

#[test]
fn both_ends_are_judged() {
    let mut trials = by_agent();
    for rule in ["LNK-01", "LNK-02", "LNK-06", "LNK-11"] {
        assert_eq!(said(&trials, rule), None, "{rule}");
        assert_eq!(unknown(&trials, rule), None, "{rule}");
    }
    path(&mut trials).speed_mbit = Some(1_000);
    let full = said(&trials, "LNK-01").expect("that of the servers is full");
    assert!(
        full.starts_with("The servers' machine: eth1 was "),
        "{full}"
    );
    path(&mut trials).speed_mbit = Some(10_000);
    of_agent(&mut trials).speed_mbit = Some(1_000);
    let full = said(&trials, "LNK-01").expect("that of the agent is full");
    assert!(full.starts_with("Agent gen1: eth0 was "), "{full}");
    // What one end tells does not stand for the other.
    let mut trials = by_agent();
    path(&mut trials).speed_mbit = None;
    let why = unknown(&trials, "LNK-01").expect("the speed of one end is not known");
    assert!(why.contains("the speed of eth1"), "{why}");
    let mut trials = by_agent();
    answers_of(&mut trials[0], 100_000);
    path(&mut trials).offloads.insert("tso".to_owned(), false);
    let slow = said(&trials, "LNK-06").expect("the servers' card does not cut segments");
    assert!(slow.contains("eth1") && slow.contains("TSO"), "{slow}");
}

#[test]
fn an_address_of_this_machine_is_reached_over_loopback_whatever_it_is() {
    let mut trials = over_network();
    assert_eq!(said(&trials, "LNK-02"), None);
    path(&mut trials).link = "lo".to_owned();
    let found = said(&trials, "LNK-02").expect("no network takes part");
    assert!(found.contains("loopback"), "{found}");
    let mut trials = over_network();
    path(&mut trials).driver = Some("veth".to_owned());
    let found = said(&trials, "LNK-02").expect("no wire takes part");
    assert!(found.contains("virtual Ethernet device"), "{found}");
}

/// The kernel uses ports again for the sake of loopback addresses alone (`tcp_tw_reuse` of 2),
/// whatever link packets to other addresses of the machine take.
#[test]
fn ports_of_other_addresses_of_this_machine_are_not_used_again() {
    let is_found = |mut trials: Vec<Trial>| {
        let trial = &mut trials[0];
        trial.record.total.connections.closed_by_client = 27_000;
        let sysctls = &mut trial.environment.sysctls;
        sysctls.insert("net.ipv4.tcp_tw_reuse".to_owned(), "2".to_owned());
        said(&trials, "TCP-01").is_some()
    };
    assert!(!is_found(closed()));
    let mut trials = over_network();
    path(&mut trials).link = "lo".to_owned();
    assert!(is_found(trials));
}
