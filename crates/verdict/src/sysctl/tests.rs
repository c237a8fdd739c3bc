use super::*;

const ROOTUSERS: &str = include_str!("fixtures/rootusers-2016.conf");
const REAL_LOAD: &str = include_str!("fixtures/real-load-2022.conf");
const DUMP: &str = include_str!("fixtures/dump-6.18.conf");
const DEBIAN_12: &str = include_str!("fixtures/debian-12.conf");

fn on(version: &str) -> Machine {
    let mut machine = Machine::new(version.parse().unwrap());
    machine.memory = Some(Bytes::new(4 << 30));
    machine
}

fn find<'a>(objections: &'a [Objection], key: &str, kind: Kind) -> Option<&'a Objection> {
    objections.iter().find(|o| o.key == key && o.kind == kind)
}

/// What a reader of the study of 2016 objected to, as (key, kind, word that must be in it).
const READER: &[(&str, Kind, &str)] = &[
    ("net.ipv4.tcp_mem", Kind::Unit, "114.44 GiB"),
    ("net.core.somaxconn", Kind::Width, "34464"),
    ("net.core.somaxconn", Kind::Width, "128, stays"),
    ("net.ipv4.tcp_rmem", Kind::Size, "every socket starts with"),
    ("net.ipv4.tcp_wmem", Kind::Size, "every socket starts with"),
    ("net.ipv4.tcp_rmem", Kind::Irrelevant, "small answers"),
    ("net.ipv4.tcp_tw_recycle", Kind::Dangerous, "Never set it"),
    (
        "net.core.netdev_max_backlog",
        Kind::RoundNumber,
        "A round number",
    ),
    ("net.core.optmem_max", Kind::RoundNumber, "A round number"),
    (
        "net.ipv4.tcp_max_tw_buckets",
        Kind::RoundNumber,
        "A round number",
    ),
    ("net.ipv4.tcp_max_syn_backlog", Kind::Size, "SYN cookies"),
    (
        "net.ipv4.tcp_max_syn_backlog",
        Kind::RoundNumber,
        "A round number",
    ),
    ("net.core.optmem_max", Kind::Irrelevant, "ancillary"),
    (
        "net.core.rmem_default",
        Kind::Irrelevant,
        "TCP does not read it",
    ),
    (
        "net.core.wmem_default",
        Kind::Irrelevant,
        "TCP does not read it",
    ),
    ("net.core.rmem_max", Kind::Irrelevant, "SO_RCVBUF"),
    ("net.core.wmem_max", Kind::Irrelevant, "SO_SNDBUF"),
    ("net.ipv4.tcp_sack", Kind::AlreadyDefault, "default"),
    ("net.ipv4.tcp_timestamps", Kind::AlreadyDefault, "default"),
];

#[test]
fn the_list_of_2016_gets_every_objection_of_its_reader() {
    let objections = judge(ROOTUSERS, on("3.10.0-327.10.1.el7.x86_64"));
    for (key, kind, word) in READER {
        let objection = find(&objections, key, *kind)
            .unwrap_or_else(|| panic!("{key}: no objection of kind {kind:?}"));
        assert!(objection.say.contains(word), "{key}: {}", objection.say);
        assert!(objection.holds, "{key}: {}", objection.kernels);
        assert!(!objection.source.is_empty());
    }
}

#[test]
fn what_no_longer_holds_says_since_when() {
    let objections = judge(ROOTUSERS, on("6.18"));
    let width = find(&objections, "net.core.somaxconn", Kind::Width).unwrap();
    assert!(
        !width.holds && width.say.contains("No longer true since Linux 4.1"),
        "{}",
        width.say
    );
    assert_eq!(width.severity, Severity::Note);
    let recycle = find(&objections, "net.ipv4.tcp_tw_recycle", Kind::Dangerous).unwrap();
    assert!(
        !recycle.holds && recycle.say.contains("since Linux 4.12"),
        "{}",
        recycle.say
    );
    assert!(
        find(&objections, "net.ipv4.tcp_tw_recycle", Kind::Removed)
            .unwrap()
            .holds
    );
    assert!(
        find(&objections, "net.ipv4.tcp_mem", Kind::Unit)
            .unwrap()
            .holds
    );
}

#[test]
fn between_the_two_a_wide_somaxconn_is_refused() {
    let objections = judge("net.core.somaxconn = 100000", on("4.0"));
    let width = find(&objections, "net.core.somaxconn", Kind::Width).unwrap();
    assert!(
        width.holds && width.say.contains("refused"),
        "{}",
        width.say
    );
}

#[test]
fn the_list_of_2022_is_judged_too() {
    let objections = judge(REAL_LOAD, on("4.18.0-305.el8"));
    let check = |key: &str, kind: Kind| {
        assert!(
            find(&objections, key, kind).is_some(),
            "{key} {kind:?}: {objections:#?}"
        );
    };
    check("fs.file-max", Kind::Irrelevant);
    check("net.ipv4.tcp_synack_retries", Kind::Irrelevant);
    check("net.ipv4.tcp_max_orphans", Kind::Irrelevant);
    check("net.ipv4.tcp_fin_timeout", Kind::Misunderstood);
    check("net.ipv4.ip_local_port_range", Kind::Misunderstood);
    check("net.core.somaxconn", Kind::Size);
    check("net.core.rmem_max", Kind::Irrelevant);
    // 256 raised the default of that kernel; on a later one it lowers it.
    let later = judge(REAL_LOAD, on("6.1"));
    let lowered = find(&later, "net.core.somaxconn", Kind::Size).unwrap();
    assert!(
        lowered.say.contains("lowers the kernel's default of 4096"),
        "{}",
        lowered.say
    );
    assert_eq!(lowered.severity, Severity::Suspect);
}

#[test]
fn a_stock_server_gets_notes_only() {
    let objections = judge(DEBIAN_12, on("6.1.0-18-amd64"));
    assert!(
        objections.iter().all(|o| o.severity == Severity::Note),
        "{objections:#?}"
    );
}

#[test]
fn a_default_is_one_of_the_kernel_asked() {
    let is_default = |line: &str, version: &str| {
        judge(line, on(version))
            .iter()
            .any(|o| o.kind == Kind::AlreadyDefault && o.holds)
    };
    // Each changed between the two versions.
    for (key, before, old, from, new) in [
        ("net.core.somaxconn", "5.3", "128", "5.4", "4096"),
        (
            "net.ipv4.ip_local_port_range",
            "4.1",
            "32768 61000",
            "4.2",
            "32768 60999",
        ),
        ("net.ipv4.tcp_tw_reuse", "4.17", "0", "4.18", "2"),
    ] {
        let (old, new) = (format!("{key} = {old}"), format!("{key} = {new}"));
        assert!(
            is_default(&old, before) && !is_default(&new, before),
            "{key}"
        );
        assert!(is_default(&new, from) && !is_default(&old, from), "{key}");
    }
}

#[test]
fn what_to_write_instead_is_stock_for_the_kernel_asked() {
    let line = "net.ipv4.tcp_rmem = 4096 30000000 30000000";
    for (version, stock) in [("4.19", "4096 87380"), ("4.20", "4096 131072")] {
        let objections = judge(line, on(version));
        let size = find(&objections, "net.ipv4.tcp_rmem", Kind::Size).unwrap();
        assert!(size.fix.contains(stock), "{version}: {}", size.fix);
    }
}

#[test]
fn keys_went_in_the_version_that_is_told() {
    for (key, before, from) in [
        ("kernel.sched_migration_cost_ns", "5.12", "5.13"),
        ("net.ipv4.ip_conntrack_max", "4.8", "4.9"),
        (
            "net.ipv4.netfilter.ip_conntrack_tcp_timeout_time_wait",
            "4.8",
            "4.9",
        ),
        ("net.ipv4.route.max_size", "3.5", "3.6"),
        ("net.ipv4.tcp_abc", "3.8", "3.9"),
        ("net.ipv4.tcp_fack", "4.14", "4.15"),
        ("net.ipv4.tcp_low_latency", "4.13", "4.14"),
        ("net.ipv4.tcp_max_ssthresh", "3.12", "3.13"),
        ("net.netfilter.nf_conntrack_helper", "5.19", "6.0"),
    ] {
        let line = format!("{key} = 1");
        assert_eq!(judge(&line, on(before)), [], "{key}");
        let later = judge(&line, on(from));
        assert!(find(&later, key, Kind::Removed).is_some(), "{key}");
        assert_eq!(later.len(), 1, "{later:#?}");
    }
}

#[test]
fn a_range_of_ports_below_the_privileged_is_refused_since_4_11() {
    let key = "net.ipv4.ip_local_port_range";
    let width = |range: &str, version: &str| {
        let objections = judge(&format!("{key} = {range}"), on(version));
        find(&objections, key, Kind::Width).map(|o| o.severity)
    };
    assert_eq!(width("1000 65535", "4.10"), None);
    assert_eq!(width("1000 65535", "4.11"), Some(Severity::Suspect));
    assert_eq!(width("1024 65535", "6.18"), None);
}

#[test]
fn the_unit_of_tcp_mem_is_pages_of_that_machine() {
    let line = "net.ipv4.tcp_mem = 100 200 312345";
    let mut machine = on("6.1");
    assert_eq!(judge(line, machine), []);
    machine.page = 65_536;
    let objections = judge(line, machine);
    let unit = find(&objections, "net.ipv4.tcp_mem", Kind::Unit).unwrap();
    assert!(unit.say.contains("pages of 65536 bytes"), "{}", unit.say);
}

#[test]
fn a_small_machine_keeps_few_connections_in_time_wait_by_default() {
    let judged = |value: u64, memory: u64| {
        let line = format!("net.ipv4.tcp_max_tw_buckets = {value}");
        let mut machine = on("6.1");
        machine.memory = Some(Bytes::new(memory << 30));
        judge(&line, machine)
    };
    // What the kernel itself chooses with 2 GiB and with 32.
    assert_eq!(judged(8_192, 2), []);
    assert_eq!(judged(131_072, 32), []);
    let key = "net.ipv4.tcp_max_tw_buckets";
    assert!(find(&judged(8_192, 32), key, Kind::Dangerous).is_some());
    assert!(find(&judged(1_000, 2), key, Kind::Dangerous).is_some());
}

#[test]
fn half_open_connections_are_limited_by_the_backlog_since_4_4() {
    let key = "net.ipv4.tcp_max_syn_backlog";
    let objections = judge("net.ipv4.tcp_max_syn_backlog = 12000", on("4.3"));
    assert!(find(&objections, key, Kind::Size).unwrap().holds);
    assert!(find(&objections, key, Kind::Irrelevant).is_none());
    let wide = judge("net.ipv4.tcp_max_syn_backlog = 3240000", on("4.3"));
    let width = find(&wide, key, Kind::Misunderstood).unwrap();
    assert!(width.say.contains("16-bit field"), "{}", width.say);
    let objections = judge("net.ipv4.tcp_max_syn_backlog = 12000", on("4.4"));
    let size = find(&objections, key, Kind::Size).unwrap();
    assert!(
        !size.holds && size.say.contains("No longer true since Linux 4.4"),
        "{}",
        size.say
    );
    assert!(find(&objections, key, Kind::Irrelevant).unwrap().holds);
}

#[test]
fn without_syn_cookies_drops_are_counted_and_not_silent() {
    let objections = judge("net.ipv4.tcp_syncookies = 0", on("6.1"));
    let off = find(&objections, "net.ipv4.tcp_syncookies", Kind::Dangerous).unwrap();
    assert!(off.say.contains("TCPReqQFullDrop"), "{}", off.say);
}

#[test]
fn without_timestamps_no_port_is_reused() {
    let (reuse, timestamps) = ("net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_timestamps");
    let judged = |text: &str| judge(text, on("6.1"));
    let both = judged("net.ipv4.tcp_tw_reuse = 2\nnet.ipv4.tcp_timestamps = 0");
    let off = find(&both, timestamps, Kind::Dangerous).unwrap();
    assert!(
        off.say.contains("tcp_tw_reuse has no effect"),
        "{}",
        off.say
    );
    assert!(off.say.contains("PAWS is off"), "{}", off.say);
    let told = find(&both, reuse, Kind::Misunderstood).unwrap();
    assert!(told.say.contains("Line 2 switches it off"), "{}", told.say);
    for text in [
        "net.ipv4.tcp_tw_reuse = 2\nnet.ipv4.tcp_timestamps = 1",
        "net.ipv4.tcp_tw_reuse = 0\nnet.ipv4.tcp_timestamps = 0",
        "net.ipv4.tcp_timestamps = 0\nnet.ipv4.tcp_tw_reuse = 2\nnet.ipv4.tcp_timestamps = 1",
    ] {
        let told = judged(text);
        assert_eq!(find(&told, reuse, Kind::Misunderstood), None, "{text}");
    }
}

#[test]
fn a_key_that_is_misspelt_is_close_to_the_right_one() {
    let objections = judge("net.ipv4.tcp_tw_resue = 1", on("6.1"));
    let slip = find(&objections, "net.ipv4.tcp_tw_resue", Kind::Unknown).unwrap();
    assert_eq!(slip.severity, Severity::Suspect);
    assert_eq!(slip.fix, "write net.ipv4.tcp_tw_reuse if that is meant");
}

#[test]
fn each_rule_is_silent_on_a_sane_value() {
    let sane = "net.ipv4.tcp_mem = 92160 122880 184320\n\
                net.ipv4.tcp_rmem = 4096 131072 33554432\n\
                net.ipv4.tcp_wmem = 4096 16384 4194304\n\
                net.core.somaxconn = 4096\n\
                net.ipv4.tcp_syncookies = 1\n\
                net.ipv4.tcp_tw_reuse = 2\n\
                net.ipv4.tcp_max_tw_buckets = 131072\n\
                net.core.netdev_max_backlog = 1000\n\
                net.ipv4.tcp_fin_timeout = 60\n\
                vm.max_map_count = 65530\n";
    for objection in judge(sane, on("6.1")) {
        assert!(objection.kind == Kind::AlreadyDefault, "{objection:#?}");
    }
    let sane = "net.ipv4.tcp_tw_recycle = 0\n\
                net.ipv4.tcp_fack = 1\n\
                net.ipv4.tcp_low_latency = 1\n\
                net.ipv4.tcp_max_syn_backlog = 4096\n";
    assert_eq!(judge(sane, on("3.10")), []);
}

#[test]
fn a_removed_key_is_told_whatever_its_value() {
    let objections = judge("net.ipv4.tcp_tw_recycle = 0", on("4.12"));
    assert_eq!(objections.len(), 1, "{objections:#?}");
    assert_eq!(objections[0].kind, Kind::Removed);
}

#[test]
fn files_are_read_as_sysctl_reads_them() {
    let text = "# a remark\n; another\n\n-net/core/somaxconn=512 # why\nnonsense\n\
                net.ipv4.tcp_fin_timeout =\nnet.core.somaxconn = 1024\n\
                net.ipv4.ip_local_reserved_ports =\nkernel.version = #1 SMP @0\n";
    let (settings, malformed) = parse(text);
    let read: Vec<(&str, &str)> = settings
        .iter()
        .map(|setting| (setting.key.as_str(), setting.value.as_str()))
        .collect();
    assert_eq!(
        read,
        [
            ("net.core.somaxconn", "512 # why"),
            ("net.ipv4.tcp_fin_timeout", ""),
            ("net.core.somaxconn", "1024"),
            ("net.ipv4.ip_local_reserved_ports", ""),
            ("kernel.version", "#1 SMP @0"),
        ]
    );
    assert_eq!(settings[0].numbers(), Some(vec![512]));
    assert_eq!(malformed.iter().map(|m| m.line).collect::<Vec<_>>(), [5]);
    let objections = judge(text, on("6.1"));
    assert!(find(&objections, "net.core.somaxconn", Kind::Repeated).is_some());
    let malformed: Vec<(u32, Severity)> = objections
        .iter()
        .filter(|o| o.kind == Kind::Malformed)
        .map(|o| (o.line, o.severity))
        .collect();
    // A remark is tolerated, a number that is missing is not.
    let (suspect, note) = (Severity::Suspect, Severity::Note);
    assert_eq!(malformed, [(4, note), (5, suspect), (6, suspect)]);
    assert!(find(&objections, "kernel.version", Kind::ReadOnly).is_some());
    assert!(objections.iter().all(|o| o.line != 8), "an empty list");
}

#[test]
fn a_dump_of_all_settings_gets_notes_only() {
    let objections = judge(DUMP, on("6.18"));
    let loud: Vec<&Objection> = objections
        .iter()
        .filter(|o| o.severity > Severity::Note)
        .collect();
    assert!(loud.is_empty(), "{loud:#?}");
    let told = |kind| objections.iter().filter(|o| o.kind == kind).count();
    assert!(told(Kind::Unknown) > 100 && told(Kind::ReadOnly) > 10);
    assert_eq!((told(Kind::Repeated), told(Kind::RoundNumber)), (0, 0));
}

#[test]
fn a_key_that_nobody_knows_is_said_to_be_unknown() {
    let objections = judge("net.ipv4.tcp_go_faster = 1", on("6.1"));
    assert_eq!(objections[0].kind, Kind::Unknown);
}

#[test]
fn a_source_speaks_of_what_it_is_quoted_for() {
    // Neither stands in the kernel's documentation.
    for (line, kind) in [
        ("net.ipv4.tcp_go_faster = 1", Kind::Unknown),
        ("net.core.netdev_max_backlog = 400000", Kind::RoundNumber),
    ] {
        let objections = judge(line, on("6.1"));
        let found = objections.iter().find(|o| o.kind == kind).unwrap();
        assert!(!found.source.contains("Documentation"), "{}", found.source);
    }
}

#[test]
fn kernel_versions_are_read_and_ordered() {
    let check = |text: &str, expected: Kernel| assert_eq!(text.parse(), Ok(expected), "{text}");
    check("3.10", Kernel::new(3, 10));
    check("Linux 6.18.44-fc-v657", Kernel::new(6, 18));
    check("3.10.0-327.10.1.el7.x86_64", Kernel::new(3, 10));
    check("v5.4-rc1", Kernel::new(5, 4));
    assert!("new".parse::<Kernel>().is_err());
    assert!(Kernel::new(4, 9) < Kernel::new(4, 10));
}

#[test]
fn a_value_that_the_kernel_refuses_is_told() {
    let check = |line: &str, expected: Option<(Kind, &str)>| {
        let objections = judge(line, on("6.1"));
        let refused = objections
            .iter()
            .find(|o| matches!(o.kind, Kind::Malformed | Kind::Width));
        match (refused, expected) {
            (None, None) => {}
            (Some(found), Some((kind, word))) => {
                assert_eq!(found.kind, kind, "{line}: {found:?}");
                assert_eq!(found.severity, Severity::Suspect, "{line}");
                assert!(found.say.contains(word), "{line}: {}", found.say);
            }
            other => panic!("{line}: {other:?}"),
        }
    };
    let backlog = |value: &str| format!("net.ipv4.tcp_max_syn_backlog = {value}");
    check(
        &backlog("lots"),
        Some((Kind::Malformed, "'lots' is not a number")),
    );
    check(
        &backlog("4k"),
        Some((Kind::Malformed, "'4k' is not a number")),
    );
    check(
        &backlog("4096.5"),
        Some((Kind::Malformed, "is not a number")),
    );
    check(
        &backlog("2147483648"),
        Some((Kind::Width, "between 0 and 2147483647")),
    );
    check(
        &backlog("99999999999999999999999"),
        Some((Kind::Width, "between 0")),
    );
    check(&backlog("-1"), Some((Kind::Width, "-1 is below zero")));
    check(&backlog("4096"), None);
    check(&backlog("0x1000"), None);
    check(
        "vm.overcommit_memory = 3",
        Some((Kind::Width, "between 0 and 2")),
    );
    check(
        "vm.swappiness = 201",
        Some((Kind::Width, "between 0 and 200")),
    );
    check("vm.swappiness = 0", None);
    check(
        "net.ipv4.tcp_rmem = 4096 many 6291456",
        Some((Kind::Malformed, "'many'")),
    );
    check("net.ipv4.tcp_rmem = 4096 131072 6291456", None);
    check("fs.file-max = 9223372036854775807", None);
    check("net.ipv4.tcp_notsent_lowat = 4294967295", None);
    check("net.ipv4.tcp_congestion_control = bbr", None);
}

#[test]
fn a_limit_of_open_files_matters_where_it_is_met() {
    let check = |value: &str, connections: u64, kind: Kind| {
        let line = format!("fs.file-max = {value}");
        let machine = Machine {
            connections,
            ..on("6.1")
        };
        let objections = judge(&line, machine);
        let matters = find(&objections, "fs.file-max", Kind::Size);
        let cannot = find(&objections, "fs.file-max", Kind::Irrelevant);
        assert_eq!(matters.is_some(), kind == Kind::Size, "{objections:#?}");
        assert_eq!(
            cannot.is_some(),
            kind == Kind::Irrelevant,
            "{objections:#?}"
        );
        assert!(matters.is_none_or(|o| o.severity == Severity::Suspect));
    };
    check("100", 1_000, Kind::Size);
    check("11999", 1_000, Kind::Size);
    check("12000", 1_000, Kind::Irrelevant);
    check("524288", 1_000, Kind::Irrelevant);
    check("524288", 1_000_000, Kind::Size);
}
