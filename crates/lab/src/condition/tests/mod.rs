use super::*;
use std::net::TcpListener;

mod rules;

/// Files of a small machine under a folder of their own.
fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let at = |name: &str| folder.path().join(name);
    let roots = Roots {
        proc: at("proc"),
        sys: at("sys"),
        dev: at("dev"),
    };
    (folder, roots)
}

#[test]
fn a_machine_is_read_from_its_files() {
    let (folder, roots) = machine(&[
        (
            "proc/meminfo",
            "MemTotal: 4000 kB\nMemAvailable: 3000 kB\nSwapTotal: 900 kB\nSwapFree: 400 kB\n",
        ),
        (
            "proc/net/sockstat",
            "sockets: used 9\nTCP: inuse 2 orphan 0 tw 17 alloc 3 mem 5\n",
        ),
        ("proc/stat", "cpu  0 0\ncpu0 10 0 10 70 0 0 0 10 0 0\n"),
        ("proc/sys/net/netfilter/nf_conntrack_count", "3\n"),
        ("proc/sys/net/netfilter/nf_conntrack_max", "100\n"),
        ("sys/class/net/lo/mtu", "65536\n"),
        ("sys/class/net/eth0/mtu", "1500\n"),
        ("sys/class/net/eth0/speed", "-1\n"),
        ("sys/class/power_supply/AC/online", "0\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/cpu_capacity", "1024\n"),
        ("sys/devices/system/cpu/cpu1/cpu_capacity", "512\n"),
        (
            "dev/kmsg",
            "4,1,2,-;TCP: out of memory -- consider tuning tcp_mem\n6,2,3,-;all well\n",
        ),
    ]);
    let condition = read(&roots, Environment::default(), folder.path(), None);
    assert_eq!(condition.memory_available, Some(Bytes::new(3000 * 1024)));
    assert_eq!(condition.swap_used, Some(Bytes::new(500 * 1024)));
    assert_eq!(condition.sockets.get("TCP.tw"), Some(&17));
    assert_eq!(
        condition
            .tracked_connections
            .zip(condition.tracked_connections_max),
        Some((3, 100))
    );
    assert!(
        condition
            .steal
            .is_some_and(|share| (share - 0.1).abs() < 1e-9)
    );
    assert_eq!(condition.links.len(), 2);
    assert_eq!(
        (condition.links[0].speed_mbit, condition.links[1].mtu),
        (None, Some(65_536))
    );
    assert_eq!(condition.mains, Some(vec![false]));
    let kinds = [
        ("capacity 1024".to_owned(), vec![0]),
        ("capacity 512".to_owned(), vec![1]),
    ];
    assert_eq!(condition.core_kinds, Some(kinds.into()));
    assert_eq!(condition.kernel_log.unwrap().len(), 1);
    assert!(condition.disk.is_some_and(|disk| disk.size.count() > 0));
}

#[test]
fn what_is_not_there_is_none() {
    let (folder, roots) = machine(&[]);
    let condition = read(&roots, Environment::default(), folder.path(), None);
    let expected = Condition {
        // Neither is told by a file.
        disk: condition.disk.clone(),
        page_size: condition.page_size,
        ..Condition::default()
    };
    assert_eq!(condition, expected);
}

#[test]
fn sockets_that_nobody_can_see_are_none() {
    let stat = "42 (nginx) S 1 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 \
                0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    let check = |namespace: &str, fd: bool, expected: Option<usize>| {
        let (folder, roots) = machine(&[("proc/42/stat", stat)]);
        for (of, name) in [("42", namespace), ("self", "net:[1]")] {
            let ns = roots.proc.join(of).join("ns");
            fs::create_dir_all(&ns).unwrap();
            std::os::unix::fs::symlink(name, ns.join("net")).unwrap();
        }
        if fd {
            fs::create_dir_all(roots.proc.join("42/fd")).unwrap();
        }
        let condition = read(&roots, Environment::default(), folder.path(), Some(42));
        let listeners = condition.server.unwrap().listeners;
        assert_eq!(
            listeners.map(|all| all.len()),
            expected,
            "{namespace}, {fd}"
        );
    };
    check("net:[1]", true, Some(0));
    check("net:[1]", false, None);
    check("net:[2]", true, None);
}

#[test]
fn a_listener_leads_to_its_process() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let roots = Roots::default();
    let ours = Some(std::process::id());
    assert_eq!(owner_of(&roots.proc, port), ours);
    assert_eq!(owner_at(&roots.proc, ([127, 0, 0, 1], port).into()), ours);
    assert_eq!(owner_at(&roots.proc, ([127, 0, 0, 2], port).into()), None);
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let datagrams = receiver.local_addr().unwrap().port();
    let at = |host: u8| owner_of_datagrams_at(&roots.proc, ([127, 0, 0, host], datagrams).into());
    assert_eq!((at(1), at(2)), (ours, None));
    let condition = read(
        &roots,
        Environment::default(),
        Path::new("."),
        Some(std::process::id()),
    );
    let server = condition.server.unwrap();
    let ours = SocketAddr::from(([127, 0, 0, 1], port));
    assert!(
        server
            .listeners
            .as_ref()
            .is_some_and(|all| all.iter().any(|one| one.address == ours)),
        "{server:?}"
    );
    assert!(server.cpus_allowed.is_some() && !server.open_files.is_empty());
    drop(listener);
}

#[test]
fn what_a_server_appends_to_is_its_log() {
    let stat = "42 (nginx) S 1 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 \
                0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    let (folder, roots) = machine(&[
        ("proc/42/stat", stat),
        ("proc/42/fdinfo/1", "pos:\t0\nflags:\t0100001\n"),
        ("proc/42/fdinfo/2", "pos:\t0\nflags:\t0102001\n"),
        ("proc/42/fdinfo/3", "pos:\t0\nflags:\t0102001\n"),
        ("page.html", ""),
        ("access.log", ""),
    ]);
    let at = |name: &str| folder.path().join(name);
    let logs = || of_server(&roots.proc, 42).logs;
    assert_eq!(logs(), None);
    fs::create_dir_all(at("proc/42/fd")).unwrap();
    let link = |name: &str, fd: &str| {
        std::os::unix::fs::symlink(at(name), at("proc/42/fd").join(fd)).unwrap();
    };
    link("page.html", "1");
    assert_eq!(logs(), Some(Vec::new()));
    link("access.log", "2");
    link("proc", "3");
    let logs = logs().unwrap();
    assert_eq!(logs.len(), 1);
    assert!(logs[0].path.ends_with("access.log") && logs[0].size.count() > 0);
}
