use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use model::Bytes;
use model::usage::MemoryPart;
use sys::process::{Child, Confinement};

use super::*;

const PROC: &str = "/proc";

fn process(clock_ms: u64, user_ms: u64, system_ms: u64, reaped_ms: u64) -> ProcessReading {
    ProcessReading {
        clock: Span::from_ms(clock_ms),
        user: Span::from_ms(user_ms),
        system: Span::from_ms(system_ms),
        reaped_user: Span::from_ms(reaped_ms),
        reaped_system: Span::ZERO,
        threads: 1,
    }
}

fn group(at_ms: u64, processes: &[(u32, ProcessReading)], leaf: Option<[u64; 3]>) -> GroupReading {
    GroupReading {
        at: Instant::from_ns(at_ms * 1_000_000),
        processes: processes.iter().map(|(pid, p)| ((*pid, 1), *p)).collect(),
        leaf: leaf.map(|[total, user, system]| {
            let cpu = LeafCpu {
                total: Span::from_ms(total),
                user: Span::from_ms(user),
                system: Span::from_ms(system),
            };
            (cpu, "cgroup")
        }),
        schedule: None,
        write_calls: None,
    }
}

#[test]
fn write_calls_are_counted_where_the_same_processes_lived_all_the_time() {
    let with = |at_ms: u64, pids: &[u32], calls: Option<u64>| {
        let processes: Vec<_> = pids.iter().map(|pid| (*pid, process(1, 0, 0, 0))).collect();
        GroupReading {
            write_calls: calls,
            ..group(at_ms, &processes, None)
        }
    };
    let calls =
        |before: &GroupReading, after: &GroupReading| group_between(before, after).write_calls;
    let before = with(0, &[1, 2], Some(40));
    assert_eq!(calls(&before, &with(9, &[1, 2], Some(100))), Some(60));
    assert_eq!(calls(&before, &with(9, &[1, 3], Some(100))), None);
    assert_eq!(calls(&before, &with(9, &[1, 2], None)), None);
}

#[test]
fn below_a_second_the_split_is_unknown_and_never_zero() {
    let usage = group_between(
        &group(0, &[(1, process(100, 50, 50, 0))], None),
        &group(350, &[(1, process(301, 150, 150, 0))], None),
    );
    assert_eq!(usage.cpu, Some(Span::from_ms(201)));
    assert_eq!((usage.user, usage.system), (None, None));
    assert_eq!(usage.cpu_source, "proc");
    assert_eq!(usage.window, Span::from_ms(350));
}

#[test]
fn from_a_second_on_ticks_divide_the_exact_whole() {
    let usage = group_between(
        &group(0, &[(1, process(0, 0, 0, 0))], None),
        &group(1_000, &[(1, process(401, 100, 300, 0))], None),
    );
    assert_eq!(usage.cpu, Some(Span::from_ms(401)));
    assert_eq!(usage.user, Some(Span::from_ns(100_250_000)));
    assert_eq!(
        usage.user.unwrap() + usage.system.unwrap(),
        usage.cpu.unwrap()
    );
}

#[test]
fn a_few_ticks_divide_nothing() {
    let usage = group_between(
        &group(0, &[(1, process(0, 0, 0, 0))], None),
        &group(1_000, &[(1, process(9, 10, 0, 0))], None),
    );
    assert_eq!(usage.cpu, Some(Span::from_ms(9)));
    assert_eq!((usage.user, usage.system), (None, None));
}

#[test]
fn a_control_group_divides_any_window() {
    let usage = group_between(
        &group(0, &[(1, process(0, 0, 0, 0))], Some([10, 5, 5])),
        &group(300, &[(1, process(200, 0, 0, 0))], Some([212, 55, 155])),
    );
    assert_eq!(usage.cpu, Some(Span::from_ms(200)), "the clock is exact");
    assert_eq!(usage.user, Some(Span::from_ms(50)));
    assert_eq!(usage.cpu_source, "proc, split by cgroup");
}

#[test]
fn where_processes_came_or_went_the_control_group_counts() {
    let before = group(0, &[(1, process(0, 0, 0, 0))], Some([0, 0, 0]));
    let usage = group_between(
        &before,
        &group(
            300,
            &[(1, process(10, 0, 0, 0)), (2, process(5, 0, 0, 0))],
            Some([90, 30, 60]),
        ),
    );
    assert_eq!(usage.cpu, Some(Span::from_ms(90)));
    assert_eq!(usage.cpu_source, "cgroup");
    let usage = group_between(
        &before,
        &group(300, &[(1, process(10, 0, 0, 40))], Some([90, 30, 60])),
    );
    assert_eq!(usage.cpu, Some(Span::from_ms(90)), "a child was reaped");
}

#[test]
fn what_the_control_group_counts_beyond_the_clocks_is_no_error_of_ticks() {
    let check = |counted_ms: u64, expected_ms: u64, source: &str| {
        let usage = group_between(
            &group(0, &[(1, process(0, 0, 0, 0))], Some([0, 0, 0])),
            &group(
                300,
                &[(1, process(90, 0, 0, 0))],
                Some([counted_ms, 20, 80]),
            ),
        );
        assert_eq!(usage.cpu, Some(Span::from_ms(expected_ms)), "{counted_ms}");
        assert_eq!(usage.cpu_source, source, "{counted_ms}");
    };
    check(85, 90, "proc, split by cgroup");
    check(100, 90, "proc, split by cgroup");
    check(290, 290, "cgroup");
}

#[test]
fn without_a_control_group_reaped_children_count_all_the_same() {
    let usage = group_between(
        &group(
            0,
            &[(1, process(0, 0, 0, 0)), (2, process(30, 0, 0, 0))],
            None,
        ),
        &group(300, &[(1, process(10, 0, 0, 50))], None),
    );
    assert_eq!(usage.cpu, Some(Span::from_ms(30)), "10 + 50 - 30");
}

#[test]
fn counters_that_rules_read_are_there_even_at_zero() {
    let map = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
        pairs.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect()
    };
    let before = map(&[
        ("TcpExt.ListenOverflows", 5),
        ("Tcp.InSegs", 1),
        ("Udp.InDatagrams", 3),
        ("Udp.RcvbufErrors", 2),
    ]);
    let after = map(&[
        ("TcpExt.ListenOverflows", 5),
        ("Tcp.InSegs", 9),
        ("Udp.InDatagrams", 3),
        ("Udp.RcvbufErrors", 2),
        ("Tcp.RetransSegs", 3),
    ]);
    let went = moved(&before, &after);
    assert_eq!(
        went,
        map(&[
            ("TcpExt.ListenOverflows", 0),
            ("Tcp.InSegs", 8),
            ("Udp.RcvbufErrors", 0)
        ])
    );
}

/// A shell that does what it reads: `b` burns in a child of its own, then it answers `ok`.
fn burner(leaf: Option<&Leaf>) -> Child {
    let script = "while read line; do (i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); \
                  echo ok; done";
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    sys::process::start(
        &mut command,
        Confinement {
            leaf,
            ..Confinement::default()
        },
    )
    .unwrap()
}

/// CPU time of the children that a burning child reaped is in the account, with a control group
/// and without.
#[test]
fn a_burning_child_is_metered_with_the_children_it_reaped() {
    for leaf in [None, Leaf::create(&|_| Ok(())).ok()] {
        let mut child = burner(leaf.as_ref());
        let mut input = child.take_stdin().unwrap();
        let mut output = child.take_stdout().unwrap();
        let group = Group {
            pid: child.pid(),
            leaf: leaf.as_ref(),
            idle: &[],
        };
        let before = read(Path::new(PROC), monotonic(), None, Some(group));
        input.write_all(b"b\n").unwrap();
        output.read_exact(&mut [0; 3]).unwrap();
        let after = read(Path::new(PROC), monotonic(), None, Some(group));
        let mut usage = between(&before, &after).server.unwrap();
        assert!(usage.cpu.unwrap() >= Span::from_ms(10), "{usage:?}");
        assert!(
            usage.cpu.unwrap() <= usage.window + Span::from_ms(20),
            "{usage:?}"
        );
        memory(Path::new(PROC), group, &mut usage);
        assert!(usage.memory_pss.unwrap() > Bytes::ZERO);
        assert!(usage.memory_pss <= usage.memory_rss);
        // Where it waits for others' loads, nothing of it is read.
        let idle = [child.pid()];
        let beside = Group {
            idle: &idle,
            ..group
        };
        assert!(clocks(Path::new(PROC), beside).is_none());
        let mut nobody = GroupUsage::default();
        memory(Path::new(PROC), beside, &mut nobody);
        assert_eq!((nobody.memory_pss, nobody.memory_rss), (None, None));
        drop(input);
        assert!(child.wait(Duration::from_secs(20)).unwrap().is_success());
    }
}

/// Of a server that is several, what those behind the one that is asked used is told apart.
#[test]
fn what_stands_behind_is_metered_apart() {
    use model::event::Phase;
    let script = "while read line; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; \
                  echo ok; done";
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = sys::process::start(&mut command, Confinement::default()).unwrap();
    let mut input = child.take_stdin().unwrap();
    let mut output = child.take_stdout().unwrap();
    let plan = model::fixture::closed().plan;
    let server = Group::alone(std::process::id());
    let mut usage_of = |behind: Vec<u32>| {
        let mut meters = Meters::of(&plan).and_behind(behind);
        let mut enter = |phase| {
            let event = model::Event::Phase {
                phase,
                monotonic_ns: monotonic(),
            };
            meters.see(&event, None, Some(server));
        };
        enter(Phase::Measurement);
        input.write_all(b"b\n").unwrap();
        output.read_exact(&mut [0; 3]).unwrap();
        enter(Phase::Drain);
        meters.usage().server.unwrap().behind_cpu
    };
    let burnt = usage_of(vec![child.pid()]).unwrap();
    assert!(burnt >= Span::from_ms(10), "{burnt:?}");
    assert_eq!(usage_of(Vec::new()), None);
    drop(input);
    assert!(child.wait(Duration::from_secs(20)).unwrap().is_success());
}

/// One that ignores the end of its children, as Apache's daemon for CGI programs does: their time
/// is in no account of /proc.
#[test]
fn children_that_nobody_reaps_are_counted_by_the_control_group() {
    let Ok(leaf) = Leaf::create(&|_| Ok(())) else {
        return crate::testing::not_run("no control group can be made here");
    };
    let script = "$| = 1; $SIG{CHLD} = 'IGNORE'; while (<STDIN>) { my $child = fork; \
                  if (!$child) { my $i = 0; $i++ while $i < 6e6; exit } \
                  waitpid $child, 0; print \"ok\\n\" }";
    let mut command = Command::new("perl");
    command
        .args(["-e", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let confinement = Confinement {
        leaf: Some(&leaf),
        ..Confinement::default()
    };
    let Ok(mut child) = sys::process::start(&mut command, confinement) else {
        return crate::testing::not_run("there is no perl");
    };
    let mut input = child.take_stdin().unwrap();
    let mut output = child.take_stdout().unwrap();
    let mut answer = || {
        input.write_all(b"b\n").unwrap();
        output.read_exact(&mut [0; 3]).unwrap();
    };
    let group = Group {
        pid: child.pid(),
        leaf: Some(&leaf),
        idle: &[],
    };
    let root = Path::new(PROC);
    // It has started by now, and is what it will be.
    answer();
    let first = Before::look(root, &[group], Way::Loopback);
    let before = read(root, monotonic(), None, Some(group));
    answer();
    let after = read(root, monotonic(), None, Some(group));
    let last = Before::look(root, &[group], Way::Loopback);
    let usage = between(&before, &after).server.unwrap();
    assert_eq!(usage.cpu_source, leaf.source(), "{usage:?}");
    assert!(usage.cpu.unwrap() >= Span::from_ms(20), "{usage:?}");
    let without = |reading: Reading| {
        let mut server = reading.server.unwrap();
        server.leaf = None;
        server
    };
    let by_clocks = group_between(&without(before), &without(after))
        .cpu
        .unwrap();
    assert!(by_clocks < Span::from_ms(20), "{by_clocks}");
    let (first, last) = (first.census.unwrap(), last.census.unwrap());
    let unreaped = others::unreaped(&first, &last, child.pid());
    assert!(unreaped >= Span::from_ms(20), "{unreaped}");
    drop(input);
    assert!(child.wait(Duration::from_secs(20)).unwrap().is_success());
}

/// A generator may end before the lab gets to read its meters: until it is reaped, its clock tells.
#[test]
fn one_that_has_ended_and_is_not_reaped_still_has_its_clock() {
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo ok";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    let mut child = sys::process::start(&mut command, Confinement::default()).unwrap();
    let mut output = child.take_stdout().unwrap();
    let group = Group::alone(child.pid());
    let before = read(Path::new(PROC), monotonic(), Some(group), None);
    output.read_to_end(&mut Vec::new()).unwrap();
    // The end of its output comes while it ends; nobody has reaped it yet.
    let after = read(Path::new(PROC), monotonic(), Some(group), None);
    assert!(between(&before, &after).generator.is_some());
    assert!(child.wait(Duration::from_secs(20)).unwrap().is_success());
}

#[test]
fn readings_that_come_late_tell_how_much_they_cover() {
    let at = |edge_ms: u64, at_ms: u64| {
        let reading = group(at_ms, &[(1, process(at_ms, 0, 0, 0))], None);
        Reading {
            edge: Instant::from_ns(edge_ms * 1_000_000),
            generator: None,
            server: Some(reading),
            at: Instant::from_ns(at_ms * 1_000_000),
            cpus: Vec::new(),
            counters: BTreeMap::new(),
            networks: Arc::default(),
            tracked_connections: None,
        }
    };
    let usage = between(&at(100, 107), &at(450, 459)).server.unwrap();
    assert_eq!(usage.window, Span::from_ms(352));
    assert_eq!(usage.covered, Some(Span::from_ms(343)));
}

#[test]
fn a_tree_that_is_gone_has_no_usage() {
    let reading = read(
        Path::new(PROC),
        monotonic(),
        Some(Group::alone(u32::MAX >> 2)),
        None,
    );
    let usage = between(&reading, &reading);
    assert_eq!(usage.generator, None);
    assert_eq!(usage.server, None);
}

/// A process of a made-up `/proc`, and what its memory file says.
fn invent(root: &Path, pid: u32, memory: &str) {
    let folder = root.join(pid.to_string());
    std::fs::create_dir(&folder).unwrap();
    let rest = "0 ".repeat(13);
    let stat = format!("{pid} (server) S 1 {GROUP} {GROUP} 0 -1 0 {rest}1 0 5 0 0\n");
    std::fs::write(folder.join("stat"), stat).unwrap();
    std::fs::write(folder.join("smaps_rollup"), memory).unwrap();
}

/// The first process of the made-up ones.
const GROUP: u32 = 70_001;

#[test]
fn memory_of_a_part_is_no_figure_of_the_whole() {
    let root = tempfile::tempdir().unwrap();
    let group = Group::alone(GROUP);
    let read = || {
        let mut usage = group_between(
            &self::group(0, &[(1, process(0, 0, 0, 0))], None),
            &self::group(100, &[(1, process(10, 0, 0, 0))], None),
        );
        memory(root.path(), group, &mut usage);
        usage
    };
    invent(root.path(), GROUP, "Rss: 8 kB\nPss: 6 kB\n");
    assert_eq!(read().memory_pss, Some(Bytes::new(6 << 10)));
    assert_eq!(read().memory_part, None);
    // What we may not read of another user's process is neither nothing nor the whole.
    invent(root.path(), GROUP + 1, "refused");
    let part = MemoryPart {
        read: 1,
        unread: 1,
        pss: Bytes::new(6 << 10),
    };
    assert_eq!(read().memory_part, Some(part));
    assert_eq!((read().memory_pss, read().memory_rss), (None, None));
    // One that ended in between has none.
    std::fs::remove_file(
        root.path()
            .join((GROUP + 1).to_string())
            .join("smaps_rollup"),
    )
    .unwrap();
    assert_eq!(read().memory_pss, Some(Bytes::new(6 << 10)));
}
