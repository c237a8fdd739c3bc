use super::*;

fn fixture(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn read_fixture(root: &tempfile::TempDir) -> Environment {
    let at = |name: &str| root.path().join(name);
    let (proc, sys, etc) = (at("proc"), at("sys"), at("etc"));
    let roots = Roots {
        proc: &proc,
        sys: &sys,
        etc: &etc,
    };
    read(roots, Tool::default())
}

/// A machine with everything.
const MACHINE: &[(&str, &str)] = &[
    (
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast 9000\nflags\t\t: fpu hypervisor\n",
    ),
    ("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n"),
    ("proc/cmdline", "quiet mitigations=off\n"),
    ("proc/loadavg", "0.10 0.20 0.30 1/100 4711\n"),
    (
        "proc/self/status",
        "TracerPid:\t12\nCpus_allowed_list:\t0-1\n",
    ),
    (
        "proc/self/limits",
        "Max open files            20000                20000                files\n\
         Max locked memory         8388608              8388608              bytes\n",
    ),
    ("proc/self/cgroup", "0::/a/b\n"),
    ("proc/sys/kernel/ostype", "Linux\n"),
    ("proc/sys/kernel/osrelease", "6.18.0\n"),
    ("proc/sys/kernel/pid_max", "32768\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
    ("proc/sys/net/ipv4/conf/all/rp_filter", "1\n"),
    ("sys/devices/system/cpu/online", "0-1\n"),
    (
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        "0-1\n",
    ),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "powersave\n",
    ),
    (
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        "powersave\n",
    ),
    (
        "sys/devices/system/cpu/vulnerabilities/meltdown",
        "Not affected\n",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc\n",
    ),
    ("sys/class/dmi/id/product_name", "PowerEdge\n"),
    ("sys/class/net/lo/mtu", "65536\n"),
    ("sys/class/net/eth0/speed", "10000\n"),
    ("sys/class/net/eth1/speed", "-1\n"),
    ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
    ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian 12\"\n"),
];

#[test]
fn a_machine_is_read_from_its_files() {
    let root = fixture(MACHINE);
    let environment = read_fixture(&root);
    assert_eq!(environment.kernel.as_deref(), Some("Linux 6.18.0"));
    assert_eq!(environment.system.as_deref(), Some("Debian 12"));
    assert_eq!(environment.cpu_model.as_deref(), Some("Fast 9000"));
    assert_eq!(environment.cpus_online, [0, 1]);
    assert_eq!(environment.cpus_allowed, [0, 1]);
    assert_eq!(environment.thread_siblings[&0], [0, 1]);
    assert_eq!(environment.memory, Some(Bytes::new(1 << 20)));
    assert_eq!(environment.virtualised, Some(true));
    assert_eq!(environment.governor.as_deref(), Some("powersave"));
    assert_eq!(
        environment.command_line.as_deref(),
        Some("quiet mitigations=off")
    );
    assert_eq!(environment.mitigations["meltdown"], "Not affected");
    assert_eq!(environment.clocksource.as_deref(), Some("tsc"));
    assert_eq!(environment.sysctls["net.core.somaxconn"], "4096");
    assert_eq!(
        environment.sysctls["net.ipv4.tcp_rmem"],
        "4096 131072 6291456"
    );
    assert_eq!(environment.sysctls["kernel.pid_max"], "32768");
    assert_eq!(environment.setting("net.core.somaxconn"), Some("4096"));
    assert!(
        !environment
            .sysctls
            .keys()
            .any(|key| key.contains("rp_filter"))
    );
    assert_eq!(environment.open_files_limit, Some(20_000));
    assert_eq!(environment.locked_memory_limit, Some(Bytes::new(8 << 20)));
    assert!((environment.cpu_quota.unwrap() - 1.5).abs() < 1e-9);
    assert_eq!(environment.facts["loopback.mtu"], "65536");
    assert_eq!(environment.facts["link.eth0.speed_mbit"], "10000");
    assert!(!environment.facts.contains_key("link.eth1.speed_mbit"));
    assert!(environment.tool.traced);
}

#[test]
fn a_limit_that_is_none_is_told_from_one_that_cannot_be_read() {
    let limits = "Max locked memory         unlimited            unlimited            bytes\n";
    let environment = read_fixture(&fixture(&[("proc/self/limits", limits)]));
    assert_eq!(environment.locked_memory_limit, Some(Bytes::new(u64::MAX)));
    assert_eq!(environment.open_files_limit, None);
}

#[test]
fn whether_the_kernel_has_tls_of_its_own() {
    let check = |list: &str, expected| {
        let files = [("proc/sys/net/ipv4/tcp_available_ulp", list)];
        assert_eq!(read_fixture(&fixture(&files)).kernel_tls, expected);
    };
    check("espintcp mptcp tls\n", Some(true));
    check("tls\n", Some(true));
    check("espintcp mptcp\n", Some(false));
    check("mptcp smc-tls\n", Some(false));
    check("\n", Some(false));
    assert_eq!(read_fixture(&fixture(&[])).kernel_tls, None);
}

#[test]
fn secrets_of_the_kernel_are_not_read() {
    let secret = "2c0d1a6f-8a6c4c1b-51a7b5a2-6f0e0f3c";
    let root = fixture(&[
        ("proc/sys/net/ipv4/tcp_fastopen_key", secret),
        ("proc/sys/net/ipv4/tcp_fastopen", "1\n"),
        ("proc/sys/net/core/netdev_rss_key", secret),
        ("proc/sys/kernel/hostname", secret),
        ("proc/sys/kernel/random/boot_id", secret),
        ("proc/sys/vm/a_setting_of_tomorrow", secret),
        (
            "proc/cmdline",
            "root=UUID=2c0d1a6f-8a6c4c1b-51a7b5a2-6f0e0f3c quiet\n",
        ),
    ]);
    let environment = read_fixture(&root);
    assert_eq!(environment.sysctls.len(), 1, "{:?}", environment.sysctls);
    assert_eq!(environment.setting("net.ipv4.tcp_fastopen"), Some("1"));
    let text = format!("{environment:?}");
    assert!(!text.contains(secret), "{text}");
    assert_eq!(environment.command_line.as_deref(), Some("root=... quiet"));
}

#[test]
fn what_is_missing_is_unknown_and_never_invented() {
    let environment = read_fixture(&fixture(&[("proc/x", "")]));
    assert_eq!(environment, Environment::default());
}

#[test]
fn cores_that_disagree_have_no_common_governor() {
    let root = fixture(&[
        ("sys/devices/system/cpu/online", "0-1\n"),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        ),
        (
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "performance\n",
        ),
    ]);
    assert_eq!(read_fixture(&root).governor, None);
}

#[test]
fn a_quota_of_the_old_kind_is_read_too() {
    let root = fixture(&[
        ("proc/self/cgroup", "4:cpu,cpuacct:/x\n"),
        ("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ]);
    assert!((read_fixture(&root).cpu_quota.unwrap() - 0.5).abs() < 1e-9);
}

#[test]
fn times_are_those_of_the_calendar() {
    let check = |seconds: u64, expected: &str| {
        assert_eq!(rfc3339(Span::from_s(seconds)), expected);
    };
    check(0, "1970-01-01T00:00:00Z");
    check(951_782_400, "2000-02-29T00:00:00Z");
    check(1_709_251_199, "2024-02-29T23:59:59Z");
    check(1_795_170_778, "2026-11-20T10:32:58Z");
    check(4_102_444_800, "2100-01-01T00:00:00Z");
}

#[test]
fn this_machine_can_be_read() {
    let environment = of_this_machine(Tool::default());
    assert!(
        environment
            .kernel
            .is_some_and(|kernel| kernel.starts_with("Linux "))
    );
    assert!(!environment.cpus_allowed.is_empty());
    assert!(environment.time.is_some_and(|time| time.starts_with("20")));
    assert!(environment.io_uring.is_some());
}
