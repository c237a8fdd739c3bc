//! The doctor's rules on trees of files: provoked, silent on a counter-example, and unknown where
//! a file is missing.

use std::collections::BTreeMap;

use model::environment::Tool;
use verdict::doctor::examine;

use super::super::*;
use super::machine;

/// Files of a machine in which no rule below finds anything.
const QUIET: &[(&str, &str)] = &[
    ("proc/meminfo", "MemTotal: 25165824 kB\n"),
    (
        "proc/net/sockstat",
        "sockets: used 9\nTCP: inuse 2 orphan 0 tw 17 alloc 3 mem 5\n",
    ),
    ("proc/self/cgroup", "0::/a/b\n"),
    ("sys/fs/cgroup/a/cgroup.procs", ""),
    ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
    ("proc/self/status", "Cpus_allowed_list:\t0-1\n"),
    ("sys/class/power_supply/AC/online", "1\n"),
    ("sys/devices/system/cpu/online", "0-1\n"),
    ("sys/devices/cpu/type", "4\n"),
    ("proc/sys/net/netfilter/nf_conntrack_count", "0\n"),
    ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
    ("proc/sys/net/ipv4/tcp_mem", "283902 378538 567804\n"),
];

/// A file with other content, or without which the tree is made.
type Change<'a> = (&'a str, Option<&'a str>);

/// What `rule` says of a quiet machine with changes: how bad it is, or one of `silent`, `unknown`
/// and `not applicable`.
fn answer(rule: &str, changes: &[Change<'_>]) -> String {
    let mut files: BTreeMap<&str, &str> = QUIET.iter().copied().collect();
    for (path, text) in changes {
        match text {
            Some(text) => files.insert(path, text),
            None => files.remove(path),
        };
    }
    let files: Vec<_> = files.into_iter().collect();
    let (folder, roots) = machine(&files);
    let places = crate::environment::Roots {
        proc: &roots.proc,
        sys: &roots.sys,
        etc: folder.path(),
    };
    let environment = crate::environment::read(places, Tool::default());
    let condition = read(&roots, environment, folder.path(), None);
    let examination = examine(&condition);
    let findings = examination.findings();
    let found = findings.iter().find(|finding| finding.rule == rule);
    let has = |ids: &[String]| ids.iter().any(|id| id == rule);
    match found {
        Some(finding) => finding.worst().name(),
        None if has(&examination.silent) => "silent",
        None if has(&examination.not_applicable) => "not applicable",
        None if examination.unknown.contains_key(rule) => "unknown",
        None => "nothing",
    }
    .to_owned()
}

fn check(rule: &str, changes: &[Change<'_>], expected: &str) {
    assert_eq!(answer(rule, changes), expected, "{rule} with {changes:?}");
}

#[test]
fn memory_of_tcp_is_held_against_the_machine() {
    const LIMITS: &str = "proc/sys/net/ipv4/tcp_mem";
    const SOCKETS: &str = "proc/net/sockstat";
    check("TCP-09", &[], "silent");
    check("TCP-09", &[(LIMITS, Some("1 2 30000000\n"))], "invalid");
    check(
        "TCP-09",
        &[(LIMITS, Some("30000000 30000000 30000000\n"))],
        "suspect",
    );
    check("TCP-09", &[(LIMITS, None)], "unknown");
    check("TCP-09", &[(SOCKETS, None)], "unknown");
    check(
        "TCP-09",
        &[(SOCKETS, Some("TCP: inuse 2 orphan 0 tw 17\n"))],
        "unknown",
    );
    check("TCP-09", &[("proc/meminfo", None)], "unknown");
}

#[test]
fn a_limit_of_cpu_time_is_seen_in_both_hierarchies() {
    const OWN: &str = "sys/fs/cgroup/a/b/cpu.max";
    const GROUP: &str = "proc/self/cgroup";
    check("CPU-10", &[], "silent");
    check("CPU-10", &[(OWN, Some("200000 100000\n"))], "suspect");
    check(
        "CPU-10",
        &[("sys/fs/cgroup/a/cpu.max", Some("200000 100000\n"))],
        "suspect",
    );
    check("CPU-10", &[(OWN, None)], "silent");
    check(
        "CPU-10",
        &[(OWN, None), ("sys/fs/cgroup/a/cgroup.procs", None)],
        "unknown",
    );
    check("CPU-10", &[(GROUP, None)], "unknown");
    // The newer hierarchy has no CPU controller where the older one has it.
    let older = (GROUP, Some("1:cpu:/x\n0::/a/b\n"));
    let quota = "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us";
    let period = ("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", Some("100000\n"));
    check("CPU-10", &[older], "unknown");
    check("CPU-10", &[older, period, (quota, Some("-1\n"))], "silent");
    check(
        "CPU-10",
        &[older, period, (quota, Some("50000\n"))],
        "suspect",
    );
}

#[test]
fn a_table_of_connections_is_full_empty_or_not_there() {
    const COUNT: &str = "proc/sys/net/netfilter/nf_conntrack_count";
    const MAX: &str = "proc/sys/net/netfilter/nf_conntrack_max";
    check("CT-02", &[], "silent");
    check("CT-02", &[(COUNT, Some("240000\n"))], "invalid");
    check("CT-02", &[(COUNT, Some("7\n"))], "note");
    check("CT-02", &[(COUNT, None)], "unknown");
    check("CT-02", &[(COUNT, None), (MAX, None)], "not applicable");
    let settings = ("proc/sys/net/ipv4/tcp_mem", None);
    check("CT-02", &[(COUNT, None), (MAX, None), settings], "unknown");
}

#[test]
fn cores_are_of_one_kind_or_mixed() {
    const UNIT: Change<'_> = ("sys/devices/cpu/type", None);
    let capacity = |text| ("sys/devices/system/cpu/cpu1/cpu_capacity", Some(text));
    let first = ("sys/devices/system/cpu/cpu0/cpu_capacity", Some("1024\n"));
    let kind = |path, cpus| (path, Some(cpus));
    check("CPU-12", &[], "silent");
    check("CPU-12", &[UNIT], "unknown");
    check("CPU-12", &[UNIT, first, capacity("1024\n")], "silent");
    check("CPU-12", &[UNIT, first, capacity("512\n")], "suspect");
    let core = |cpus| kind("sys/devices/cpu_core/cpus", cpus);
    let atom = |cpus| kind("sys/devices/cpu_atom/cpus", cpus);
    check("CPU-12", &[UNIT, core("0\n"), atom("1\n")], "suspect");
    check("CPU-12", &[UNIT, core("0-1\n"), atom("2-3\n")], "silent");
}

#[test]
fn power_comes_from_the_mains_or_not() {
    const MAINS: &str = "sys/class/power_supply/AC/online";
    check("CPU-15", &[], "silent");
    check("CPU-15", &[(MAINS, Some("0\n"))], "suspect");
    check("CPU-15", &[(MAINS, None)], "unknown");
    let battery = ("sys/class/power_supply/BAT0/capacity", Some("80\n"));
    check("CPU-15", &[(MAINS, None), battery], "not applicable");
}

#[test]
fn links_beside_loopback_are_seen() {
    let link = |path| (path, Some("1500\n"));
    check("LNK-02", &[], "unknown");
    check("LNK-02", &[link("sys/class/net/lo/mtu")], "note");
    let both = [link("sys/class/net/lo/mtu"), link("sys/class/net/eth0/mtu")];
    check("LNK-02", &both, "not applicable");
}

#[test]
fn ports_that_are_reserved_are_for_nobody() {
    const RANGE: Change<'_> = (
        "proc/sys/net/ipv4/ip_local_port_range",
        Some("32768\t60999\n"),
    );
    let reserved = |text| ("proc/sys/net/ipv4/ip_local_reserved_ports", Some(text));
    check("TCP-01", &[], "unknown");
    check("TCP-01", &[RANGE, reserved("\n")], "silent");
    check("TCP-01", &[RANGE, reserved("8080,9000-9100\n")], "silent");
    check(
        "TCP-01",
        &[RANGE, reserved("8080,32768-52767\n")],
        "suspect",
    );
}

#[test]
fn a_kernel_that_traces_is_seen_where_it_may_be_read() {
    const TRACER: &str = "sys/kernel/tracing/current_tracer";
    const EVENTS: &str = "sys/kernel/tracing/set_event";
    let older = (
        "sys/kernel/debug/tracing/current_tracer",
        Some("function\n"),
    );
    // Nothing was read of a server: there is none.
    check("CPU-16", &[], "not applicable");
    check("CPU-16", &[(TRACER, Some("nop\n"))], "not applicable");
    check("CPU-16", &[(TRACER, Some("function\n"))], "suspect");
    check("CPU-16", &[older], "suspect");
    let nop = (TRACER, Some("nop\n"));
    let event = |text| (EVENTS, Some(text));
    check(
        "CPU-16",
        &[nop, event("mce:mce_record\n")],
        "not applicable",
    );
    check("CPU-16", &[nop, event("sched:sched_switch\n")], "suspect");
}

#[test]
fn every_cpu_has_a_governor_of_its_own() {
    const FIRST: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    const LAST: &str = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    const DRIVER: &str = "sys/devices/system/cpu/cpu1/cpufreq/scaling_driver";
    const PREFERS: &str = "sys/devices/system/cpu/cpu1/cpufreq/energy_performance_preference";
    let is = |path, word| (path, Some(word));
    let first = is(FIRST, "performance\n");
    let last = is(LAST, "powersave\n");
    check("CPU-04", &[], "unknown");
    check("CPU-04", &[first, is(LAST, "performance\n")], "silent");
    check("CPU-04", &[first, last], "suspect");
    let driver = is(DRIVER, "intel_pstate\n");
    check("CPU-04", &[first, last, driver], "note");
    let all = [first, last, driver, is(PREFERS, "performance\n")];
    check("CPU-04", &all, "silent");
}

#[test]
fn links_of_devices_have_a_stock_size_of_packets() {
    let is = |path, text| (path, Some(text));
    let lo = is("sys/class/net/lo/mtu", "65536\n");
    let bridge = is("sys/class/net/br0/mtu", "1400\n");
    let link = |mtu| is("sys/class/net/eth0/mtu", mtu);
    let device = is("sys/class/net/eth0/device/vendor", "0x1af4\n");
    check("LNK-03", &[], "unknown");
    check("LNK-03", &[lo, bridge], "silent");
    check("LNK-03", &[lo, device, link("1500\n")], "silent");
    check("LNK-03", &[lo, device, link("9000\n")], "note");
}
