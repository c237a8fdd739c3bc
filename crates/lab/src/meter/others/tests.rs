use super::*;

const NOBODY: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();

/// A group of this process alone.
fn only(pid: u32) -> BTreeMap<u32, BTreeSet<u32>> {
    [(pid, [pid].into())].into()
}

/// Processes as pid, parent, name, CPU milliseconds of their own and of those whom they reaped.
fn census(at_ms: u64, processes: &[(u32, u32, &str, u64, u64)]) -> Census {
    let member = |&(pid, parent, name, own, reaped): &(u32, u32, &str, u64, u64)| {
        let member = Member {
            name: name.to_owned(),
            parent,
            clock: Span::from_ms(own),
            reaped: Span::from_ms(reaped),
        };
        ((pid, 1), member)
    };
    Census {
        at: Instant::from_ns(at_ms * 1_000_000),
        processes: processes.iter().map(member).collect(),
        groups: BTreeMap::new(),
        tasks: None,
        begun: None,
    }
}

fn told(spenders: &[Spender]) -> Vec<String> {
    let one = |spender: &Spender| {
        let Spender {
            name,
            processes,
            short_lived,
            cpu,
        } = spender;
        let kind = if *short_lived { " children" } else { "" };
        format!("{processes} {name}{kind} {}", cpu.as_ns() / 1_000_000)
    };
    spenders.iter().map(one).collect()
}

#[test]
fn those_who_used_most_are_told_by_name() {
    let before = census(
        0,
        &[
            (1, 0, "init", 50, 0),
            (70, 1, "cc1", 10, 0),
            (71, 1, "cc1", 10, 0),
            (72, 1, "backup", 0, 0),
            (73, 1, "sshd", 5, 0),
            (90, 1, "nginx", 100, 0),
        ],
    );
    let after = census(
        350,
        &[
            (1, 0, "init", 51, 0),
            (70, 1, "cc1", 90, 0),
            (71, 1, "cc1", 40, 0),
            (72, 1, "backup", 60, 0),
            (73, 1, "sshd", 9, 0),
            (90, 1, "nginx", 400, 0),
            (91, 90, "nginx", 30, 0),
        ],
    );
    let others = between(&before, &after, &only(90), Way::Devices);
    assert_eq!(told(&others.top), ["2 cc1 110", "1 backup 60", "1 sshd 4"]);
    assert_eq!(others.cpu, Span::from_ms(175));
    assert_eq!(others.window, Span::from_ms(350));
    assert_eq!(others.serving, Span::ZERO);
}

#[test]
fn who_did_not_live_long_is_told_by_whom_it_was_started() {
    // The shell reaped children worth 130 ms; 40 of them had been used before.
    let before = census(0, &[(60, 1, "sh", 10, 500), (61, 60, "sed", 40, 0)]);
    let after = census(350, &[(60, 1, "sh", 30, 630)]);
    let others = between(&before, &after, &NOBODY, Way::Devices);
    assert_eq!(told(&others.top), ["1 sh children 90", "1 sh 20"]);
    assert_eq!(others.cpu, Span::from_ms(110));
}

/// What a compiler has used for minutes comes to a shell through whoever started the compiler, when
/// both end within the window.
#[test]
fn what_was_used_before_is_nobodys_by_whatever_way_it_comes() {
    let compiling = [
        (1, 0, "init", 10, 700),
        (60, 1, "bash", 10, 500),
        (61, 60, "cargo", 40, 300),
        (62, 61, "rustc", 90_000, 0),
    ];
    let before = census(0, &compiling);
    let after = census(350, &[(1, 0, "init", 10, 700), (60, 1, "bash", 10, 90_940)]);
    let others = between(&before, &after, &NOBODY, Way::Devices);
    assert_eq!(told(&others.top), ["1 bash children 100"]);
    // Whoever started it ended first, and it was left to init.
    let after = census(350, &[(1, 0, "init", 10, 90_720), (60, 1, "bash", 10, 840)]);
    let others = between(&before, &after, &NOBODY, Way::Devices);
    assert_eq!(told(&others.top), ["1 init children 20"]);
}

#[test]
fn the_kernel_and_the_log_daemons_are_counted_and_not_foreign() {
    let before = census(0, &[]);
    let after = census(
        350,
        &[
            (2, 0, "kthreadd", 1, 0),
            (15, 2, "ksoftirqd/0", 40, 0),
            (16, 2, "ksoftirqd/1", 30, 0),
            (17, 2, "kworker/u4:1-flush-8:0", 20, 0),
            (18, 2, "kworker/0:1H-wg-crypt-wg0", 5, 0),
            (23, 2, "kworker/u4:2+loop0", 60, 0),
            (24, 2, "kworker/1:1", 4, 0),
            (19, 2, "khugepaged", 25, 0),
            (20, 2, "md127_resync", 24, 0),
            (21, 2, "kpktgend_0", 12, 0),
            (22, 2, "kpktgend_1", 11, 0),
            (30, 1, "rsyslogd", 9, 0),
            (std::process::id(), 1, "triathlon", 3, 0),
        ],
    );
    let others = between(&before, &after, &NOBODY, Way::Devices);
    // As ps prints them: whoever reads the name looks for no program of it.
    assert_eq!(
        told(&others.top),
        ["1 [kworker, loop0] 60", "1 [khugepaged] 25", "1 [md127] 24"]
    );
    assert_eq!(others.cpu, Span::from_ms(60 + 25 + 24 + 12 + 11));
    assert_eq!(
        told(&others.serving_top),
        [
            "2 [ksoftirqd] 70",
            "1 [kworker, flush-8:0] 20",
            "1 rsyslogd 9"
        ]
    );
    assert_eq!(others.serving, Span::from_ms(112));
}

/// The kernel numbers these behind a point.
#[test]
fn a_thread_that_watches_memory_is_foreign() {
    let before = census(0, &[]);
    let threads = [(2, 0, "kthreadd", 1, 0), (77, 2, "kdamond.0", 25, 0)];
    let others = between(&before, &census(40, &threads), &NOBODY, Way::Devices);
    assert_eq!(told(&others.top), ["1 [kdamond] 25"]);
}

/// The loopback device has no thread: one that receives from a network works for somebody else,
/// unless the load comes that way.
#[test]
fn a_thread_that_receives_from_a_network_serves_a_load_over_networks_alone() {
    let before = census(0, &[]);
    let threads = [(2, 0, "kthreadd", 1, 0), (77, 2, "napi/eth0-8193", 25, 0)];
    let after = census(40, &threads);
    let others = between(&before, &after, &NOBODY, Way::Loopback);
    assert_eq!(told(&others.top), ["1 [napi] 25"]);
    assert_eq!(told(&others.serving_top), ["1 [kthreadd] 1"]);
    let others = between(&before, &after, &NOBODY, Way::Devices);
    assert!(others.top.is_empty(), "{others:?}");
    assert_eq!(told(&others.serving_top)[0], "1 [napi] 25");
}

/// A container that hides the kernel's threads gives their parent's number to a program.
#[test]
fn in_a_container_the_second_process_is_a_program() {
    let before = census(0, &[]);
    let processes = [
        (1, 0, "sh", 1, 0),
        (2, 1, "stress", 40, 0),
        (3, 2, "stress", 30, 0),
    ];
    let others = between(&before, &census(350, &processes), &NOBODY, Way::Devices);
    assert_eq!(told(&others.top), ["2 stress 70", "1 sh 1"]);
    assert_eq!(others.serving, Span::ZERO);
}

/// What /proc gives of threads of the kernel, where it shows them.
#[test]
fn threads_of_the_kernel_are_read_as_processes_are() {
    let root = Path::new("/proc");
    let census = look(root, &[]).unwrap();
    if !sees_kernel(&census) {
        return crate::testing::not_run("this container hides the threads of the kernel");
    }
    let threads = census.processes.values();
    let threads: Vec<&Member> = threads.filter(|one| one.parent == KERNEL_PARENT).collect();
    let named = |stem: &str| threads.iter().any(|one| common(&one.name) == stem);
    assert!(named("kworker") && named("ksoftirqd"), "{threads:?}");
    assert!(threads.iter().any(|one| !one.clock.is_zero()));
}

#[test]
fn nobody_reaps_more_than_the_cpus_had_to_give() {
    let check = |idle_ms: u64, expected: &[&str]| {
        let tasks = |idle_ms: u64| Tasks {
            idle: Span::from_ms(idle_ms),
            cpus: 2,
            error: Span::from_ms(40),
            ..Tasks::default()
        };
        let before = Census {
            tasks: Some(tasks(5_000)),
            ..census(0, &[(60, 1, "bash", 10, 0), (90, 1, "nginx", 0, 0)])
        };
        let after = Census {
            tasks: Some(tasks(5_000 + idle_ms)),
            ..census(
                400,
                &[
                    (60, 1, "bash", 10, 3_000),
                    (70, 1, "make", 0, 1_000),
                    (90, 1, "nginx", 200, 100),
                ],
            )
        };
        let others = between(&before, &after, &only(90), Way::Devices);
        assert_eq!(told(&others.top), expected, "{idle_ms}");
    };
    // Of 800 ms, 300 are nginx's.
    check(0, &["1 bash children 375", "1 make children 125"]);
    check(440, &["1 bash children 75", "1 make children 25"]);
    check(700, &[]);
}

#[test]
fn what_nobody_accounts_for_is_told_where_ticks_can_tell() {
    let check = |ticks_ms: u64, expected_ms: u64| {
        let tasks = |ms: u64| Tasks {
            sum: Span::from_ms(ms),
            error: Span::from_ms(40),
            ..Tasks::default()
        };
        let before = Census {
            tasks: Some(tasks(1_000)),
            ..census(0, &[(70, 1, "cc1", 10, 0)])
        };
        let after = Census {
            tasks: Some(tasks(1_000 + ticks_ms)),
            ..census(350, &[(70, 1, "cc1", 210, 0)])
        };
        let others = between(&before, &after, &NOBODY, Way::Devices);
        assert_eq!(
            others.unseen,
            Some(Span::from_ms(expected_ms)),
            "{ticks_ms}"
        );
    };
    check(180, 0);
    check(220, 0);
    check(400, 200);
}

/// What programs for CGI used that nobody reaped is the server's, where its control group counts.
#[test]
fn what_ended_in_a_control_group_of_ours_is_not_hidden() {
    let looked = |at_ms: u64, (server_ms, reaped_ms): (u64, u64), counted_ms: Option<u64>| Census {
        tasks: Some(Tasks {
            sum: Span::from_ms(1_000 + at_ms),
            cpus: 1,
            error: Span::from_ms(20),
            ..Tasks::default()
        }),
        groups: counted_ms
            .map(|ms| (90, Span::from_ms(ms)))
            .into_iter()
            .collect(),
        ..census(
            at_ms,
            &[
                (60, 1, "make", 0, reaped_ms),
                (90, 1, "apache2", server_ms, 0),
            ],
        )
    };
    let check = |reaped_ms: u64, counted_ms: Option<u64>, expected: (u64, u64)| {
        let before = looked(0, (30, 0), counted_ms.map(|_| 500));
        let after = looked(400, (80, reaped_ms), counted_ms.map(|ms| 500 + ms));
        let others = between(&before, &after, &only(90), Way::Devices);
        let ms = |span: Span| span.as_ns() / 1_000_000;
        let told = (others.unseen.map_or(0, ms), ms(others.cpu));
        assert_eq!(told, expected, "{reaped_ms} {counted_ms:?}");
    };
    // Of 400 ms, the server's process had 50.
    check(0, None, (350, 0));
    check(0, Some(50), (350, 0));
    check(0, Some(330), (70, 0));
    check(0, Some(390), (0, 0));
    check(0, Some(600), (0, 0));
    // What others reaped is at most what the server left of the CPU.
    check(6_000, None, (0, 350));
    check(6_000, Some(330), (0, 70));
    check(6_000, Some(600), (0, 0));
}

/// A shell burns in a child that it reaps, and this process sees it.
#[test]
fn a_process_that_burns_is_found() {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};
    let script = "read line; (i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); \
                  i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo ok; read line";
    let mut child = Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let root = Path::new("/proc");
    let before = look(root, &[]).unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    let mut answer = [0; 3];
    child
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut answer)
        .unwrap();
    let after = look(root, &[]).unwrap();
    // A child of this process serves it: as somebody else's it is found in the list itself.
    let pid = child.id();
    let spent = spent(&before, &after)
        .into_iter()
        .find(|spent| spent.pid == pid)
        .unwrap();
    assert_eq!(spent.name, "sh");
    assert!(spent.own >= Span::from_ms(5), "{:?}", spent.own);
    assert!(spent.reaped >= Span::from_ms(5), "{:?}", spent.reaped);
    let others = between(&before, &after, &NOBODY, Way::Devices);
    assert!(others.serving >= Span::from_ms(10), "{others:?}");
    assert!(others.begun.is_some_and(|begun| begun >= 1));
    drop(input);
    child.wait().unwrap();
}
