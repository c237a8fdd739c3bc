use super::*;
use model::condition::{
    Clocks, Disk, Hiccups, Link, ListenerCondition, OpenFiles, ServerCondition,
};
use model::usage::{Others, Spender};
use model::{Bytes, Span};

/// A stock Debian 12 server on hardware, with a healthy nginx.
fn healthy() -> Condition {
    let mut condition = Condition {
        cpu_quota_seen: true,
        page_size: Some(Bytes::new(4_096)),
        memory_available: Some(Bytes::new(20 << 30)),
        swap_used: Some(Bytes::ZERO),
        sockets: [("TCP.tw", 12), ("TCP.mem", 40), ("TCP.orphan", 0)]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        tracked_connections: Some(0),
        tracked_connections_max: Some(262_144),
        steal: Some(0.0),
        hiccups: Some(Hiccups {
            watched: Span::from_s(1),
            count: 1,
            lost: Span::from_ms(1),
            longest: Span::from_ms(1),
        }),
        others: Some(Others {
            window: Span::from_s(1),
            cpu: Span::from_ms(8),
            ..Others::default()
        }),
        links: [("lo", 65_536), ("eth0", 1_500)]
            .map(|(name, mtu)| Link {
                name: name.to_owned(),
                device: name != "lo",
                mtu: Some(mtu),
                speed_mbit: None,
            })
            .into(),
        clocks: vec![Clocks {
            cpus: vec![0, 1],
            governor: "performance".to_owned(),
            driver: Some("acpi-cpufreq".to_owned()),
            preference: None,
        }],
        disk: Some(Disk {
            path: "results".to_owned(),
            size: Bytes::new(100 << 30),
            free: Bytes::new(50 << 30),
        }),
        mains: Some(vec![true]),
        core_kinds: Some([("capacity 1024".to_owned(), vec![0, 1])].into()),
        kernel_log: Some(Vec::new()),
        kernel_tracing: Some(Vec::new()),
        filtered: Some(false),
        server: Some(nginx()),
        ..Condition::default()
    };
    let environment = &mut condition.environment;
    environment.cpus_online = vec![0, 1];
    environment.cpus_allowed = vec![0, 1];
    environment.memory = Some(Bytes::new(24 << 30));
    environment.virtualised = Some(false);
    environment.clocksource = Some("tsc".to_owned());
    environment.clock_cost_ns = Some(20.0);
    for (key, value) in [
        ("net.core.somaxconn", "4096"),
        ("net.ipv4.ip_local_port_range", "32768\t60999"),
        ("net.ipv4.tcp_mem", "283902\t378538\t567804"),
        ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
        ("net.ipv4.tcp_wmem", "4096\t16384\t4194304"),
    ] {
        environment.sysctls.insert(key.to_owned(), value.to_owned());
    }
    condition
}

fn nginx() -> ServerCondition {
    ServerCondition {
        pid: 42,
        name: "nginx".to_owned(),
        processes: vec![42, 43],
        cpus_allowed: Some(vec![0]),
        open_files: [42, 43].map(open_files(65_535)).into(),
        listeners: Some(vec![ListenerCondition {
            address: ([0, 0, 0, 0], 8080).into(),
            waiting: 0,
            backlog: 4096,
        }]),
        traced: Some(false),
        filtered: Some(false),
        logs: Some(vec![Disk {
            path: "/var/log/nginx/access.log".to_owned(),
            size: Bytes::new(100 << 30),
            free: Bytes::new(50 << 30),
        }]),
        swap_used: Some(Bytes::ZERO),
    }
}

fn open_files(limit: u64) -> impl Fn(u32) -> OpenFiles {
    move |pid| OpenFiles {
        pid,
        soft: Some(limit),
        hard: Some(limit),
    }
}

fn listeners(condition: &mut Condition) -> &mut Vec<ListenerCondition> {
    let server = condition.server.as_mut().unwrap();
    server.listeners.as_mut().unwrap()
}

fn set(condition: &mut Condition, key: &str, value: &str) {
    condition
        .environment
        .sysctls
        .insert(key.to_owned(), value.to_owned());
}

type Change = fn(&mut Condition);

/// Each rule, what provokes it, how bad that is, and what makes it unreadable.
const CASES: &[(&str, Severity, Change, Option<Change>)] = &[
    (
        "GEN-06",
        Severity::Suspect,
        |c| c.server.as_mut().unwrap().cpus_allowed = Some(vec![0, 1]),
        Some(|c| c.environment.cpus_allowed.clear()),
    ),
    (
        "GEN-11",
        Severity::Suspect,
        |c| c.environment.clocksource = Some("hpet".to_owned()),
        Some(|c| c.environment.clocksource = None),
    ),
    (
        "GEN-14",
        Severity::Invalid,
        |c| c.environment.tool.debug_build = true,
        None,
    ),
    (
        "GEN-15",
        Severity::Note,
        |c| c.environment.proxies.push("http_proxy".to_owned()),
        None,
    ),
    (
        "TCP-01",
        Severity::Suspect,
        |c| set(c, "net.ipv4.ip_local_port_range", "40000 40099"),
        Some(|c| drop(c.environment.sysctls.remove("net.ipv4.ip_local_port_range"))),
    ),
    (
        "TCP-02",
        Severity::Suspect,
        |c| {
            c.sockets.insert("TCP.tw".to_owned(), 9_000);
        },
        Some(|c| c.sockets.clear()),
    ),
    (
        "TCP-07",
        Severity::Suspect,
        |c| listeners(c)[0].backlog = 4,
        Some(|c| listeners(c).clear()),
    ),
    (
        "TCP-08",
        Severity::Suspect,
        |c| set(c, "net.core.somaxconn", "128"),
        Some(|c| drop(c.environment.sysctls.remove("net.core.somaxconn"))),
    ),
    (
        "TCP-09",
        Severity::Suspect,
        |c| set(c, "net.ipv4.tcp_mem", "30000000 30000000 30000000"),
        Some(|c| drop(c.environment.sysctls.remove("net.ipv4.tcp_mem"))),
    ),
    (
        "TCP-10",
        Severity::Suspect,
        |c| set(c, "net.ipv4.tcp_rmem", "4096 30000000 30000000"),
        Some(|c| drop(c.environment.sysctls.remove("net.ipv4.tcp_rmem"))),
    ),
    (
        "TCP-11",
        Severity::Invalid,
        |c| set(c, "net.ipv4.tcp_tw_recycle", "1"),
        Some(|c| c.environment.sysctls.clear()),
    ),
    (
        "CT-02",
        Severity::Invalid,
        |c| c.tracked_connections = Some(262_000),
        Some(|c| c.tracked_connections = None),
    ),
    (
        "LNK-02",
        Severity::Note,
        |c| listeners(c)[0].address = ([127, 0, 0, 1], 8080).into(),
        Some(|c| c.server.as_mut().unwrap().listeners = None),
    ),
    (
        "LNK-03",
        Severity::Note,
        |c| c.links[0].mtu = Some(1_500),
        Some(|c| c.links.clear()),
    ),
    (
        "CPU-01",
        Severity::Suspect,
        |c| c.steal = Some(0.08),
        Some(|c| c.steal = None),
    ),
    (
        "CPU-02",
        Severity::Suspect,
        |c| c.hiccups.as_mut().unwrap().longest = Span::from_ms(11),
        Some(|c| c.hiccups = None),
    ),
    (
        "CPU-08",
        Severity::Suspect,
        |c| c.others.as_mut().unwrap().cpu = Span::from_ms(90),
        Some(|c| c.others = None),
    ),
    (
        "CPU-03",
        Severity::Note,
        |c| c.environment.virtualised = Some(true),
        Some(|c| c.environment.virtualised = None),
    ),
    (
        "CPU-04",
        Severity::Suspect,
        |c| c.clocks[0].governor = "powersave".to_owned(),
        Some(|c| c.clocks.clear()),
    ),
    (
        "CPU-10",
        Severity::Suspect,
        |c| c.environment.cpu_quota = Some(2.0),
        Some(|c| c.cpu_quota_seen = false),
    ),
    (
        "CPU-11",
        Severity::Note,
        |c| c.server.as_mut().unwrap().processes = vec![42, 43, 44, 45],
        Some(|c| c.server.as_mut().unwrap().cpus_allowed = None),
    ),
    (
        "CPU-12",
        Severity::Suspect,
        |c| {
            let kinds = c.core_kinds.as_mut().unwrap();
            kinds.insert("capacity 512".to_owned(), vec![1]);
            c.server.as_mut().unwrap().cpus_allowed = Some(vec![0, 1]);
        },
        Some(|c| c.core_kinds = None),
    ),
    (
        "CPU-15",
        Severity::Suspect,
        |c| c.mains = Some(vec![false, false]),
        Some(|c| c.mains = None),
    ),
    (
        "CPU-16",
        Severity::Invalid,
        |c| c.server.as_mut().unwrap().traced = Some(true),
        Some(|c| c.server.as_mut().unwrap().traced = None),
    ),
    (
        "MEM-01",
        Severity::Invalid,
        |c| c.server.as_mut().unwrap().swap_used = Some(Bytes::new(4096)),
        Some(|c| c.swap_used = None),
    ),
    (
        "MEM-03",
        Severity::Suspect,
        |c| c.memory_available = Some(Bytes::new(1 << 30)),
        Some(|c| c.memory_available = None),
    ),
    (
        "DSK-01",
        Severity::Suspect,
        |c| c.disk.as_mut().unwrap().free = Bytes::new(1 << 20),
        Some(|c| c.disk = None),
    ),
    (
        "ENV-04",
        Severity::Note,
        |c| c.kernel_log = Some(vec!["TCP: out of memory".to_owned()]),
        Some(|c| c.kernel_log = None),
    ),
    (
        "SRV-01",
        Severity::Invalid,
        |c| listeners(c).clear(),
        Some(|c| c.server.as_mut().unwrap().listeners = None),
    ),
    (
        "SRV-03",
        Severity::Suspect,
        |c| c.server.as_mut().unwrap().open_files[1].soft = Some(1_024),
        Some(|c| c.server.as_mut().unwrap().open_files.clear()),
    ),
];

#[test]
fn a_healthy_machine_gets_nothing() {
    let examination = examine(&healthy());
    let found: Vec<_> = examination
        .diagnoses
        .iter()
        .map(|d| d.finding.rule.as_str())
        .collect();
    assert!(found.is_empty(), "{examination:#?}");
    assert!(examination.unknown.is_empty(), "{:?}", examination.unknown);
}

#[test]
fn each_rule_fires_when_provoked_and_is_silent_otherwise() {
    for (rule, severity, provoke, _) in CASES {
        let silent = examine(&healthy()).silent;
        assert!(
            silent.iter().any(|id| id == rule),
            "{rule} is not silent: {silent:?}"
        );
        let mut condition = healthy();
        provoke(&mut condition);
        let examination = examine(&condition);
        let diagnosis = examination
            .diagnoses
            .iter()
            .find(|d| d.finding.rule == *rule);
        let diagnosis = diagnosis.unwrap_or_else(|| panic!("{rule} does not fire"));
        assert_eq!(diagnosis.finding.worst(), *severity, "{rule}");
        assert!(
            !diagnosis.reads.is_empty() && !diagnosis.finding.source.is_empty(),
            "{rule}"
        );
    }
}

#[test]
fn memory_of_tcp_is_counted_in_pages_of_this_machine() {
    for (page, expected) in [(4_096, None), (65_536, Some(Severity::Suspect))] {
        let mut condition = healthy();
        condition.page_size = Some(Bytes::new(page));
        let findings = examine(&condition).findings();
        let found = findings.iter().find(|one| one.rule == "TCP-09");
        assert_eq!(found.map(Finding::worst), expected, "{page}");
    }
    let mut condition = healthy();
    condition.sockets.remove("TCP.mem");
    assert!(examine(&condition).unknown.contains_key("TCP-09"));
}

#[test]
fn reserved_ports_are_for_nobody() {
    for (reserved, fires) in [("8080,40000-40099", false), ("32768-52767", true)] {
        let mut condition = healthy();
        set(&mut condition, "net.ipv4.ip_local_reserved_ports", reserved);
        let findings = examine(&condition).findings();
        let found = findings.iter().find(|one| one.rule == "TCP-01");
        assert_eq!(found.is_some(), fires, "{reserved}: {found:?}");
    }
}

/// A range that is large enough is not made larger: what is reserved in it is in the way.
#[test]
fn the_remedy_for_few_ports_gives_enough_of_them() {
    let check = |range: &str, reserved: &str, said: &str, expected: &[&str]| {
        let mut condition = healthy();
        set(&mut condition, "net.ipv4.ip_local_port_range", range);
        set(&mut condition, "net.ipv4.ip_local_reserved_ports", reserved);
        let found = examine(&condition).diagnoses.into_iter();
        let mut found = found.filter(|one| one.finding.rule == "TCP-01");
        let found = found.next().expect("they are few");
        assert!(found.finding.say.contains(said), "{}", found.finding.say);
        let applied: Vec<&str> = found
            .remedies
            .iter()
            .map(|one| one.apply.as_str())
            .collect();
        assert_eq!(applied, expected, "{range} {reserved}");
        for remedy in &found.remedies {
            let words = remedy
                .apply
                .strip_prefix("sysctl -w ")
                .expect("it is a setting");
            let (key, value) = words.split_once('=').expect("it sets one");
            set(&mut condition, key, value.trim_matches('\''));
        }
        let left = examine(&condition).findings();
        assert!(!left.iter().any(|one| one.rule == "TCP-01"), "{left:?}");
    };
    let wider = "sysctl -w net.ipv4.ip_local_port_range='32768 60999'";
    check("50000 60999", "", "has 11000 ports. ", &[wider]);
    check(
        "50000 60999",
        "8080,55000-55999",
        "10000 ports beside 1000 that are",
        &[wider],
    );
    let freed = |left: &str| format!("sysctl -w net.ipv4.ip_local_reserved_ports='{left}'");
    check(
        "32768 60999",
        "8080,32768-52767",
        "8232 ports beside 20000 that are reserved. ",
        &[&freed("8080")],
    );
    check(
        "32768 60999",
        "30000-50000,60999-61001",
        "beside 17234 that",
        &[&freed("30000-32767,61000-61001")],
    );
    check(
        "50000 60999",
        "32768-60999",
        "has 0 ports",
        &[wider, &freed("")],
    );
}

#[test]
fn the_remedy_for_shared_cpus_names_those_that_help() {
    let remedy = |server: &[u32], allowed: &[u32], cores: &[&[u32]]| {
        let mut condition = healthy();
        condition.server.as_mut().unwrap().cpus_allowed = Some(server.to_vec());
        let environment = &mut condition.environment;
        environment.cpus_allowed = allowed.to_vec();
        environment.cpus_online = (0..8).collect();
        environment.thread_siblings = cores
            .iter()
            .flat_map(|core| core.iter().map(|cpu| (*cpu, core.to_vec())))
            .collect();
        let findings = examine(&condition).findings();
        let found = findings.into_iter().find(|one| one.rule == "GEN-06");
        found.expect("they share CPUs").fix.join("; ")
    };
    let pair = |server: u32, generator: u32| {
        format!(
            "taskset -acp {server} 42   # the server on CPU {server}; then run the generator with \
             --cpus {generator}"
        )
    };
    let single: &[&[u32]] = &[&[0], &[1], &[2], &[3]];
    assert_eq!(remedy(&[0, 1], &[0, 1], single), pair(0, 1));
    assert_eq!(remedy(&[2, 3], &[2, 3], single), pair(2, 3));
    let halves: &[&[u32]] = &[&[0, 1], &[2, 3]];
    assert_eq!(remedy(&[0, 1, 2, 3], &[0, 1, 2, 3], halves), pair(0, 2));
    assert_eq!(remedy(&[0, 2], &[1, 3], halves), pair(0, 3));
    let none = "let the server and this program use CPUs of different cores, or make the load on \
                another machine";
    assert_eq!(remedy(&[0], &[0, 1], halves), none);
    assert_eq!(remedy(&[3], &[3], single), none);
}

#[test]
fn halves_of_one_core_are_shared() {
    for (siblings, fires) in [([0, 0], false), ([0, 1], true)] {
        let mut condition = healthy();
        let [first, last] = siblings;
        let of_core: Vec<u32> = (first..=last).collect();
        let cores = &mut condition.environment.thread_siblings;
        cores.insert(0, of_core.clone());
        cores.insert(1, if last == 1 { of_core } else { vec![1] });
        let findings = examine(&condition).findings();
        let found = findings.iter().find(|one| one.rule == "GEN-06");
        assert_eq!(found.is_some(), fires, "{siblings:?}: {found:?}");
    }
}

#[test]
fn buffers_are_held_against_memory_and_against_the_kernel() {
    let check = |memory: u64, kernel: &str, read: u64, expected: Option<Severity>, word: &str| {
        let mut condition = healthy();
        condition.at_once = Some(1_000);
        condition.environment.memory = Some(Bytes::new(memory));
        condition.environment.kernel = Some(kernel.to_owned());
        set(
            &mut condition,
            "net.ipv4.tcp_rmem",
            &format!("4096 {read} 6291456"),
        );
        let findings = examine(&condition).findings();
        let found = findings.iter().find(|one| one.rule == "TCP-10");
        assert_eq!(
            found.map(Finding::worst),
            expected,
            "{memory} {kernel} {read}"
        );
        assert!(
            found.is_none_or(|found| found.say.contains(word)),
            "{found:?}"
        );
    };
    let (suspect, invalid) = (Some(Severity::Suspect), Some(Severity::Invalid));
    check(24 << 30, "Linux 6.18.0", 1 << 20, None, "");
    check(24 << 30, "Linux 6.18.0", 2 << 20, suspect, "128");
    check(24 << 30, "Linux 3.10.0", 2 << 20, suspect, "85");
    check(2 << 30, "Linux 6.18.0", 1 << 20, invalid, "quarter");
    check(1 << 28, "Linux 6.18.0", 131_072, None, "");
}

#[test]
fn a_dear_clock_is_no_system_call_unless_its_source_makes_it_one() {
    for (source, calls) in [("tsc", false), ("hpet", true)] {
        let mut condition = healthy();
        condition.environment.clocksource = Some(source.to_owned());
        condition.environment.clock_cost_ns = Some(150.0);
        let findings = examine(&condition).findings();
        let clock = findings.iter().find(|one| one.rule == "GEN-11").unwrap();
        assert_eq!(clock.say.contains("system call"), calls, "{clock:?}");
    }
}

#[test]
fn connections_over_loopback_are_left_untracked_in_both_directions() {
    let mut condition = healthy();
    condition.tracked_connections = Some(7);
    let findings = examine(&condition).findings();
    let tracking = findings.iter().find(|one| one.rule == "CT-02").unwrap();
    assert!(
        tracking.fix.iter().any(|fix| fix.contains("--ports")),
        "{tracking:?}"
    );
}

#[test]
fn who_uses_the_cpus_is_told_by_name() {
    let mut condition = healthy();
    let others = condition.others.as_mut().unwrap();
    others.cpu = Span::from_ms(1_900);
    others.top = vec![Spender {
        name: "cc1".to_owned(),
        processes: 2,
        short_lived: false,
        cpu: Span::from_ms(1_880),
    }];
    let findings = examine(&condition).findings();
    let found = findings.iter().find(|one| one.rule == "CPU-08").unwrap();
    assert_eq!(
        found.say,
        "Other programs used 95 % of the machine: cc1 (2 processes) 94 %. That was within 1.00 s; \
         what matters is the share during a run."
    );
}

#[test]
fn hiccups_are_many_or_long() {
    for (lost_ms, longest_ms, fires) in [(9, 9, false), (11, 2, true), (9, 10, false)] {
        let mut condition = healthy();
        condition.hiccups = Some(Hiccups {
            watched: Span::from_s(1),
            count: 9,
            lost: Span::from_ms(lost_ms),
            longest: Span::from_ms(longest_ms),
        });
        let examination = examine(&condition);
        let found = examination.findings();
        let fired = found.iter().any(|finding| finding.rule == "CPU-02");
        assert_eq!(fired, fires, "{lost_ms} ms, longest {longest_ms} ms");
    }
}

#[test]
fn a_server_is_watched_by_a_kernel_that_traces_or_through_a_filter() {
    let check = |change: Change, expected: Option<Severity>| {
        let mut condition = healthy();
        change(&mut condition);
        let findings = examine(&condition).findings();
        let found = findings.iter().find(|one| one.rule == "CPU-16");
        assert_eq!(found.map(Finding::worst), expected, "{found:?}");
    };
    let suspect = Some(Severity::Suspect);
    let events = || Some(vec!["function_graph".to_owned()]);
    check(|c| c.kernel_tracing = Some(Vec::new()), None);
    check(
        |c| c.kernel_tracing = Some(vec!["irq:irq_handler_entry".to_owned()]),
        suspect,
    );
    let mut condition = healthy();
    (condition.kernel_tracing, condition.server) = (events(), None);
    assert!(
        examine(&condition)
            .findings()
            .iter()
            .any(|one| one.rule == "CPU-16")
    );
    let filter = |c: &mut Condition| c.server.as_mut().unwrap().filtered = Some(true);
    let mut condition = healthy();
    filter(&mut condition);
    let findings = examine(&condition).findings();
    assert_eq!(findings[0].worst(), Severity::Note);
    assert!(!findings[0].severity.contains_key(&Claim::Capacity));
    // Under the same filter, nobody is put at a disadvantage.
    condition.filtered = Some(true);
    assert_eq!(examine(&condition).findings(), []);
    condition.kernel_tracing = None;
    assert!(examine(&condition).unknown.contains_key("CPU-16"));
}

#[test]
fn logs_of_the_server_have_a_file_system_of_their_own() {
    let check = |size: u64, free: u64, expected: Option<Severity>| {
        let mut condition = healthy();
        let logs = &mut condition.server.as_mut().unwrap().logs;
        let log = &mut logs.as_mut().unwrap()[0];
        (log.size, log.free) = (Bytes::new(size << 20), Bytes::new(free << 20));
        let findings = examine(&condition).findings();
        let found = findings.iter().find(|one| one.rule == "DSK-01");
        assert_eq!(found.map(Finding::worst), expected, "{size} {free}");
        assert!(found.is_none_or(|found| found.say.contains("/var/log")));
    };
    // What counts is how long a log can grow, and not the share of a large disk.
    check(250_000, 10_000, None);
    check(100_000, 5_000, Some(Severity::Suspect));
    check(100_000, 500, Some(Severity::Invalid));
    check(4_000, 900, Some(Severity::Suspect));
    // A file system of the kernel's own has no size.
    check(0, 0, None);
    let mut condition = healthy();
    condition.server.as_mut().unwrap().logs = None;
    assert!(examine(&condition).unknown.contains_key("DSK-01"));
}

#[test]
fn processors_that_govern_themselves_are_asked_what_they_prefer() {
    let check = |driver: &str, governor: &str, preference: Option<&str>, worst| {
        let mut condition = healthy();
        let mut other = condition.clocks[0].clone();
        condition.clocks[0].cpus = vec![0];
        other.cpus = vec![1];
        other.governor = governor.to_owned();
        other.driver = Some(driver.to_owned());
        other.preference = preference.map(str::to_owned);
        condition.clocks.push(other);
        let examination = examine(&condition);
        let mut found = examination.diagnoses.iter();
        let found = found.find(|one| one.finding.rule == "CPU-04");
        let context = format!("{driver} {governor} {preference:?}: {found:?}");
        assert_eq!(found.map(|one| one.finding.worst()), worst, "{context}");
        found.map(|one| one.remedies[0].clone())
    };
    let (note, suspect) = (Some(Severity::Note), Some(Severity::Suspect));
    check("intel_pstate", "performance", Some("performance"), None);
    check("intel_pstate", "powersave", Some("performance"), None);
    check("amd-pstate-epp", "powersave", Some("performance"), None);
    check("amd-pstate-epp", "powersave", Some("power"), suspect);
    // Without a preference the driver itself governs.
    check("intel_pstate", "powersave", None, note);
    check("intel_cpufreq", "schedutil", Some("performance"), suspect);
    let mends = check(
        "intel_pstate",
        "powersave",
        Some("balance_performance"),
        note,
    );
    let file = "/sys/devices/system/cpu/cpu1/cpufreq/energy_performance_preference";
    let mends = mends.unwrap();
    assert_eq!(mends.apply, format!("echo performance | tee {file}"));
    let undo = format!("echo balance_performance | tee {file}");
    assert_eq!(mends.undo, Some(undo));
}

#[test]
fn links_matter_where_the_server_is_reached_through_them() {
    for (address, device, fires) in [
        ([0, 0, 0, 0], true, true),
        ([127, 0, 0, 1], true, false),
        ([0, 0, 0, 0], false, false),
    ] {
        let mut condition = healthy();
        (condition.links[1].mtu, condition.links[1].device) = (Some(9_000), device);
        listeners(&mut condition)[0].address = (address, 8080).into();
        let examination = examine(&condition);
        let mut found = examination.diagnoses.iter();
        let found = found.find(|one| one.finding.rule == "LNK-03");
        assert_eq!(found.is_some(), fires, "{address:?}, {device}: {found:?}");
        assert!(found.is_none_or(|one| one.finding.worst() == Severity::Note));
        assert!(found.is_none_or(|one| one.remedies.is_empty()));
    }
}

#[test]
fn what_cannot_be_read_is_unknown() {
    for (rule, _, _, hide) in CASES {
        let Some(hide) = hide else { continue };
        let mut condition = healthy();
        hide(&mut condition);
        let unknown = examine(&condition).unknown;
        assert!(unknown.contains_key(*rule), "{rule}: {unknown:?}");
    }
}

#[test]
fn every_rule_has_a_case() {
    for rule in rules() {
        assert!(
            CASES.iter().any(|case| case.0 == rule.id),
            "{} has no case",
            rule.id
        );
    }
}

#[test]
fn a_machine_without_other_links_has_loopback_only() {
    let mut condition = healthy();
    condition.links.truncate(1);
    let findings = examine(&condition).findings();
    assert!(findings.iter().any(|one| one.rule == "LNK-02"));
    condition.links.clear();
    assert!(examine(&condition).unknown.contains_key("LNK-02"));
}

#[test]
fn without_a_server_its_rules_do_not_apply() {
    let mut condition = healthy();
    condition.server = None;
    let examination = examine(&condition);
    for rule in [
        "TCP-07", "CPU-11", "CPU-16", "SRV-01", "SRV-03", "GEN-06", "LNK-02",
    ] {
        assert!(
            examination.not_applicable.iter().any(|id| id == rule),
            "{rule}"
        );
    }
}

#[test]
fn what_mends_a_setting_can_be_undone() {
    let mut condition = healthy();
    set(&mut condition, "net.core.somaxconn", "128");
    let examination = examine(&condition);
    let remedy = &examination.diagnoses[0].remedies[0];
    assert_eq!(remedy.apply, "sysctl -w net.core.somaxconn='4096'");
    assert_eq!(
        remedy.undo.as_deref(),
        Some("sysctl -w net.core.somaxconn='128'")
    );
}

#[test]
fn more_open_files_leave_the_hard_limit_as_it_was() {
    for (soft, hard, apply, undo) in [
        (500, Some(524_288), "65535:", "500:"),
        (500, None, "65535:", "500:"),
        (500, Some(20_000), "65535:65535", "500:20000"),
    ] {
        let mut condition = healthy();
        let limits = &mut condition.server.as_mut().unwrap().open_files[1];
        (limits.soft, limits.hard) = (Some(soft), hard);
        let examination = examine(&condition);
        let found = examination
            .diagnoses
            .iter()
            .find(|one| one.finding.rule == "SRV-03");
        // The process whose limit is high enough is left alone.
        let [remedy] = &found.unwrap().remedies[..] else {
            panic!("one process of two: {:?}", found.unwrap().remedies);
        };
        let command = |limits: &str| format!("prlimit --pid 43 --nofile={limits}");
        assert_eq!(remedy.apply, command(apply));
        assert_eq!(remedy.undo, Some(command(undo)));
    }
}

/// A remedy gives what the rule asks for, and never less than there is.
#[test]
fn more_open_files_are_enough_for_all_connections() {
    for (hard, apply) in [(1_048_576, "100064:"), (70_000, "100064:100064")] {
        let mut condition = healthy();
        condition.at_once = Some(50_000);
        let limits = &mut condition.server.as_mut().unwrap().open_files;
        limits.truncate(1);
        (limits[0].soft, limits[0].hard) = (Some(70_000), Some(hard));
        let examination = examine(&condition);
        let mut found = examination.diagnoses.iter();
        let found = found.find(|one| one.finding.rule == "SRV-03").unwrap();
        let expected = format!("prlimit --pid 42 --nofile={apply}");
        assert_eq!(found.remedies[0].apply, expected);
    }
}

#[test]
fn a_table_without_a_limit_is_never_full() {
    let is_found = |max: u64| {
        let mut condition = healthy();
        condition.tracked_connections = Some(1_000);
        condition.tracked_connections_max = Some(max);
        let examination = examine(&condition);
        let mut found = examination.diagnoses.iter();
        found.any(|one| one.finding.worst() == Severity::Invalid)
    };
    assert_eq!([0, 1_000, 100_000].map(is_found), [false, true, false]);
}

/// Who listens nowhere is not reached over loopback.
#[test]
fn a_server_that_listens_nowhere_listens_on_no_loopback() {
    let mut condition = healthy();
    listeners(&mut condition).clear();
    let examination = examine(&condition);
    let mut found = examination.diagnoses.iter();
    assert!(found.all(|one| one.finding.rule != "LNK-02"));
}

#[test]
fn rules_that_need_a_trial_are_named() {
    let examination = examine(&healthy());
    assert!(examination.need_a_trial.iter().any(|id| id == "GEN-01"));
    assert!(!examination.need_a_trial.iter().any(|id| id == "GEN-06"));
}

/// The catalogue's first tier.
const TIER_1: &[(&str, &[u32])] = &[
    ("GEN", &[1, 2, 3, 4, 5, 6, 7, 13, 14, 15]),
    ("TCP", &[1, 2, 3, 4, 5, 7, 9, 10, 11, 17]),
    ("CT", &[1, 2]),
    ("LNK", &[1, 2, 3]),
    ("CPU", &[1, 2, 3, 4, 8, 10, 11]),
    ("MEM", &[1, 2]),
    ("DSK", &[1]),
    ("SRV", &[1, 2, 3, 4, 5, 6]),
    ("HTTP", &[1, 2, 3, 4, 5, 9, 10, 13, 14, 18]),
    ("STA", &[1, 2, 3, 4, 5, 6, 8, 9, 10, 11]),
    ("ENV", &[1, 4]),
];

#[test]
fn every_rule_of_the_first_tier_is_answered_or_named() {
    let examination = examine(&healthy());
    for (group, numbers) in TIER_1 {
        for number in *numbers {
            let id = format!("{group}-{number:02}");
            let places = [
                rules().any(|rule| rule.id == id),
                examination.need_a_trial.contains(&id),
                NOT_YET.iter().any(|(known, _)| *known == id),
            ];
            let count = places.iter().filter(|is_there| **is_there).count();
            assert_eq!(count, 1, "{id}: doctor, trial, not yet: {places:?}");
        }
    }
}
