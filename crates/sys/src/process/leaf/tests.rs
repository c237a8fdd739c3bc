use super::*;

const HYBRID: &str = "\
30 24 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:4 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";

#[test]
fn our_own_group_is_found_in_either_hierarchy() {
    let own = "3:cpu,cpuacct:/user/me\n0::/user.slice/me.scope";
    let check = |version, expected: &str| {
        assert_eq!(
            parent_group(version, HYBRID, own),
            Some(PathBuf::from(expected))
        );
    };
    check(Version::One, "/sys/fs/cgroup/cpu,cpuacct/user/me");
    check(Version::Two, "/sys/fs/cgroup/unified/user.slice/me.scope");
}

#[test]
fn a_bind_mounted_group_is_seen_from_its_root() {
    let mounts = "9 8 0:2 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
    assert_eq!(
        parent_group(Version::Two, mounts, "0::/docker/abc/x"),
        Some(PathBuf::from("/sys/fs/cgroup/x"))
    );
    assert_eq!(parent_group(Version::Two, mounts, "0::/elsewhere"), None);
    assert_eq!(parent_group(Version::One, mounts, "0::/"), None);
}

#[test]
fn cpu_stat_is_in_microseconds() {
    let cpu = parse_cpu_stat("usage_usec 30\nuser_usec 10\nsystem_usec 20\nnice_usec 0\n");
    assert_eq!(
        cpu,
        Some(LeafCpu {
            total: Span::from_us(30),
            user: Span::from_us(10),
            system: Span::from_us(20),
        })
    );
    assert_eq!(parse_cpu_stat("nr_periods 0\n"), None);
}
