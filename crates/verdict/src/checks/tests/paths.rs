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
        rps_cpus: Some(0),
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

/// What the first CPU of the servers' machine spent in interrupts, and how busy the others were.
fn interrupts(trials: &mut [Trial], first: f64, others: f64) {
    let system = trials[0].usage.system.as_mut().unwrap();
    for usage in &mut system.cpus {
        (usage.interrupt, usage.busy) = match usage.cpu {
            0 => (first, first),
            _ => (others * 0.1, others),
        };
    }
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
            rule: "LNK-07",
            base: by_agent,
            provoke: |t| {
                interrupts(t, 0.97, 0.41);
                path(t).queues = Some(1);
            },
            silent: |t| interrupts(t, 0.84, 0.41),
            missing: Some((|t| t[0].usage.system = None, "the time of each CPU")),
        },
        Case {
            rule: "LNK-12",
            base: by_agent,
            provoke: |t| {
                t[0].environment.cpus_online = (0..8).collect();
                path(t).queues = Some(1);
            },
            silent: |t| {
                t[0].environment.cpus_online = (0..8).collect();
                path(t).queues = Some(2);
            },
            missing: Some((|t| path(t).queues = None, "how many queues eth1")),
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

/// One CPU that is full of interrupts is a limit where others could have helped it.
#[test]
fn interrupts_are_a_limit_where_other_cpus_idle() {
    let check = |first: f64, others: f64, expected: Option<Severity>| {
        let mut trials = by_agent();
        interrupts(&mut trials, first, others);
        let found = finding(&judge(&trials[0]), "LNK-07");
        let rate = found
            .as_ref()
            .map(|found| found.severity[&model::Claim::Capacity]);
        assert_eq!(rate, expected, "{first} {others}");
        assert!(found.is_none_or(|one| one.say.starts_with("The servers' machine: CPU 0 ")));
    };
    // A tick of ten milliseconds is a thousandth of the window.
    check(0.85, 0.3, None);
    check(0.852, 0.3, Some(Severity::Suspect));
    check(0.95, 0.3, Some(Severity::Suspect));
    check(0.952, 0.3, Some(Severity::Invalid));
    check(0.97, 0.84, Some(Severity::Invalid));
    check(0.97, 0.86, None);
}

#[test]
fn interrupts_of_an_agent_are_told_of_it() {
    let mut trials = by_agent();
    let system = trials[0].agents[0].usage.system.as_mut().unwrap();
    system.cpus[1].interrupt = 0.9;
    system.cpus[0].busy = 0.2;
    let say = said(&trials, "LNK-07").expect("the agent receives answers as fast as it can");
    assert!(say.starts_with("Agent gen1: CPU 1 spent 90 %"), "{say}");
    // A machine of one CPU has no other that could help.
    let system = trials[0].agents[0].usage.system.as_mut().unwrap();
    system.cpus.remove(0);
    assert_eq!(said(&trials, "LNK-07"), None);
    assert_eq!(unknown(&trials, "LNK-07"), None);
}

/// What takes place within one machine has no card whose queues could be too few.
#[test]
fn queues_are_those_of_a_card() {
    let mut trials = by_agent();
    for end in [0, 1] {
        let path = match end {
            0 => path(&mut trials),
            _ => of_agent(&mut trials),
        };
        path.driver = Some("veth".to_owned());
        path.queues = None;
    }
    interrupts(&mut trials, 0.99, 0.1);
    for rule in ["LNK-07", "LNK-12"] {
        assert_eq!(said(&trials, rule), None, "{rule}");
        assert_eq!(unknown(&trials, rule), None, "{rule}");
    }
}

#[test]
fn the_kernel_may_hand_packets_on_to_other_cpus() {
    let with = |rps_cpus: Option<u32>| {
        let mut trials = by_agent();
        trials[0].environment.cpus_online = (0..9).collect();
        path(&mut trials).queues = Some(2);
        path(&mut trials).rps_cpus = rps_cpus;
        (said(&trials, "LNK-12"), unknown(&trials, "LNK-12"))
    };
    let (say, unknown) = with(Some(0));
    let say = say.expect("two queues for nine CPUs");
    let words = "eth1 receives by 2 queues, so that 2 CPUs take all packets for the server, which \
                 has 9 CPUs";
    assert!(say.contains(words), "{say}");
    assert_eq!(unknown, None);
    assert_eq!(with(Some(3)), (None, None));
    let (say, unknown) = with(None);
    assert_eq!(say, None);
    let why = unknown.expect("earlier versions did not read it");
    assert!(why.contains("RPS"), "{why}");
}
