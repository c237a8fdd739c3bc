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

#[test]
fn time_of_each_cpu_and_its_shares() {
    let before = fixture(&[(
        "stat",
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\n\
         intr 5\nctxt 7\n",
    )]);
    let after = fixture(&[(
        "stat",
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 120 10 130 810 5 1 14 10 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\n",
    )]);
    let before = cpu_times(before.path()).unwrap();
    assert_eq!(before.len(), 2);
    assert_eq!(before[0].user, Span::from_s(1));
    let shares = cpu_shares(&before, &cpu_times(after.path()).unwrap());
    let [cpu] = shares.as_slice() else {
        panic!("a CPU without any time has no shares: {shares:?}");
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
    near(cpu.user, 0.3);
    near(cpu.system, 0.3);
    near(cpu.interrupt, 0.15);
    near(cpu.steal, 0.1);
    near(cpu.busy, 0.85);
}

#[test]
fn counters_have_their_protocols_name() {
    let root = fixture(&[
        (
            "net/snmp",
            "Tcp: MaxConn RetransSegs\nTcp: -1 7\nUdp: InDatagrams\nUdp: 3\n",
        ),
        (
            "net/netstat",
            "TcpExt: ListenOverflows ListenDrops\nTcpExt: 1 2\n",
        ),
        (
            "net/snmp6",
            "Ip6InReceives                   \t9\nUdp6RcvbufErrors                \t5\n\
             UdpLite6InErrors                \t1\n",
        ),
        ("vmstat", "pswpin 0\npswpout 4\n"),
        (
            "net/softnet_stat",
            "0000000a 00000001 00000002\n00000010 00000000 00000001\n",
        ),
        (
            "net/dev",
            "Inter-| Receive\n face |bytes\n  eth0: 900 9 0 0 0 0 0 0 700 7 0 0 0 0 0 0\n",
        ),
    ]);
    let all = counters(root.path(), &Networks::of(root.path(), &[]));
    assert_eq!(all.get("Tcp.RetransSegs"), Some(&7));
    assert_eq!(all.get("Tcp.MaxConn"), None);
    assert_eq!(all.get("TcpExt.ListenDrops"), Some(&2));
    assert_eq!(all.get("Udp6.RcvbufErrors"), Some(&5));
    assert!(
        all.keys()
            .all(|name| !name.starts_with("Ip6") && !name.starts_with("UdpLite6"))
    );
    assert_eq!(all.get("vmstat.pswpout"), Some(&4));
    let softnet = ["processed", "dropped", "squeezed"].map(|name| all[&format!("softnet.{name}")]);
    assert_eq!(softnet, [26, 1, 3]);
    let link = ["rx_bytes", "rx_packets", "tx_bytes", "tx_packets"];
    assert_eq!(
        link.map(|name| all[&format!("link.eth0.{name}")]),
        [900, 9, 700, 7]
    );
    let missing = root.path().join("missing");
    let none = counters(&missing, &Networks::of(&missing, &[]));
    assert_eq!(none, BTreeMap::new());
}

#[test]
fn socket_levels_are_by_kind() {
    let root = fixture(&[(
        "net/sockstat",
        "sockets: used 290\nTCP: inuse 5 orphan 0 tw 12 alloc 8 mem 3\n",
    )]);
    let levels = socket_levels(root.path()).unwrap();
    assert_eq!(levels.get("TCP.tw"), Some(&12));
    assert_eq!(levels.get("sockets.used"), Some(&290));
}

#[test]
fn counters_are_summed_over_the_namespaces_of_processes() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let snmp = |opens: u32| format!("Tcp: MaxConn ActiveOpens\nTcp: -1 {opens}\n");
    let dev = |link: &str| format!("a | b\nc | d\n  {link}: 10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0\n");
    write("net/snmp", &snmp(1_000));
    for (pid, namespace, opens, link) in [
        (7, "net:[1]", 5, "asks"),
        (8, "net:[2]", 30, "answers"),
        (9, "net:[2]", 30, "answers"),
    ] {
        write(&format!("{pid}/net/snmp"), &snmp(opens));
        write(
            &format!("{pid}/net/dev"),
            &format!("{}{}", dev(link), dev("lo")),
        );
        fs::create_dir(root.path().join(format!("{pid}/ns"))).unwrap();
        let place = root.path().join(format!("{pid}/ns/net"));
        std::os::unix::fs::symlink(namespace, place).unwrap();
    }
    let of = |processes: &[u32], name: &str| {
        let networks = Networks::of(root.path(), processes);
        counters(root.path(), &networks).get(name).copied()
    };
    for (processes, opens) in [(&[][..], 1_000), (&[7], 5), (&[8, 9], 30), (&[7, 8, 9], 35)] {
        assert_eq!(
            of(processes, "Tcp.ActiveOpens"),
            Some(opens),
            "{processes:?}"
        );
    }
    // One that is gone is not asked, and does not keep the others from being read.
    assert_eq!(of(&[7, 10], "Tcp.ActiveOpens"), Some(5));
    assert_eq!(of(&[10], "Tcp.ActiveOpens"), Some(1_000));
    assert_eq!(of(&[7, 8], "link.asks.tx_packets"), Some(2));
    assert_eq!(of(&[7, 8], "link.lo.rx_bytes"), Some(20));

    // What was found once is read again, as it is then, also when its process has ended.
    let both = Networks::of(root.path(), &[7, 8]);
    write("7/net/snmp", &snmp(6));
    fs::rename(root.path().join("7"), root.path().join("ended")).unwrap();
    let later = counters(root.path(), &both);
    assert_eq!(later.get("Tcp.ActiveOpens").copied(), Some(36));
}
