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

fn stat_line(pid: u32, name: &str, state: char, parent: u32, session: u32) -> String {
    format!(
        "{pid} ({name}) {state} {parent} {session} {session} 0 -1 4194560 1 2 3 4 \
         150 50 20 10 20 0 3 0 98765 1000 200 18446744073709551615\n"
    )
}

#[test]
fn the_name_may_hold_brackets_and_blanks() {
    let stat = parse_stat(&stat_line(12, "a) R (b", 'S', 1, 12)).unwrap();
    assert_eq!(
        (stat.name.as_str(), stat.pid, stat.state),
        ("a) R (b", 12, 'S')
    );
    assert_eq!(stat.user, Span::from_ms(1_500));
    assert_eq!(stat.system, Span::from_ms(500));
    assert_eq!(stat.children_user, Span::from_ms(200));
    assert_eq!(stat.children_system, Span::from_ms(100));
    assert_eq!((stat.threads, stat.start_time), (3, 98_765));
    assert_eq!(parse_stat("nonsense"), None);
}

#[test]
fn a_tree_is_descendants_and_session_without_zombies() {
    let root = fixture(&[
        ("10/stat", &stat_line(10, "main", 'S', 1, 10)),
        ("11/stat", &stat_line(11, "worker", 'S', 10, 10)),
        ("12/stat", &stat_line(12, "escaped", 'S', 11, 12)),
        ("13/stat", &stat_line(13, "orphan", 'S', 1, 10)),
        ("14/stat", &stat_line(14, "gone", 'Z', 10, 10)),
        ("15/stat", &stat_line(15, "other", 'S', 1, 15)),
        ("self/stat", ""),
    ]);
    let pids: Vec<u32> = tree(root.path(), 10).iter().map(|s| s.pid).collect();
    assert_eq!(pids, [10, 11, 12, 13]);
    let mut session = session_members(root.path(), 10);
    session.sort_unstable();
    assert_eq!(session, [10, 11, 13]);
}

#[test]
fn readings_of_a_fixture() {
    let root = fixture(&[
        ("7/task/7/schedstat", "1000 200 3\n"),
        ("7/task/8/schedstat", "broken\n"),
        (
            "7/status",
            "Name:\tx\nTracerPid:\t0\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n\
             Cpus_allowed_list:\t0,2-3\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n",
        ),
        (
            "7/smaps_rollup",
            "00400000-7ff ---p 0 00:00 0 [rollup]\nRss:  100 kB\nPss:  40 kB\nPss_Dirty: 3 kB\n",
        ),
        (
            "7/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024     4096     files\n",
        ),
    ]);
    let root = root.path();
    let mut ids = tasks(root, 7);
    ids.sort_unstable();
    assert_eq!(ids, [7, 8]);
    assert_eq!(
        schedule(root, 7, 7).unwrap(),
        Schedule {
            run: Span::from_us(1),
            wait: Span::from_ns(200),
            turns: 3
        }
    );
    assert!(schedule(root, 7, 8).is_err());
    let status = status(root, 7).unwrap();
    assert_eq!(status.resident, Some(Bytes::new(1 << 20)));
    assert_eq!(status.cpus_allowed, Some(vec![0, 2, 3]));
    assert_eq!(status.tracer, Some(0));
    assert!(status.seccomp.is_none_or(|mode| mode <= 2));
    assert_eq!(status.switches_voluntary, Some(5));
    assert_eq!(status.switches_involuntary, Some(6));
    let memory = memory(root, 7).unwrap();
    assert_eq!(memory.proportional, Bytes::new(40 * 1024));
    assert_eq!(memory.resident, Bytes::new(100 * 1024));
    assert_eq!(open_files_limit(root, 7).unwrap(), Some(1024));
    assert!(open_files_limit(root, 8).is_err());
}

#[test]
fn calls_that_write_are_counted_and_sends_are_not() {
    use std::io::Write as _;
    let (root, own) = (Path::new("/proc"), std::process::id());
    let (_reader, mut writer) = io::pipe().unwrap();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    // Other tests write, too: a thread of its own is counted alone.
    let task = fs::read_link("/proc/thread-self").unwrap();
    let task = root.join(task);
    let of_this_thread = || write_calls(task.parent().unwrap(), thread_of(&task)).unwrap();
    let before = of_this_thread();
    for _ in 0..5 {
        writer.write_all(b"x").unwrap();
    }
    let written = of_this_thread();
    socket.send_to(b"x", to).unwrap();
    assert_eq!((written - before, of_this_thread() - written), (5, 0));
    assert!(write_calls(root, own).unwrap() >= 5);
    assert!(write_calls(root, u32::MAX).is_err());
}

/// The number at the end of `/proc/PID/task/TID`.
fn thread_of(task: &Path) -> u32 {
    let name = task.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.parse().ok()).expect("a thread")
}

#[test]
fn our_own_clock_and_sockets_can_be_read() {
    let root = Path::new("/proc");
    let own = std::process::id();
    let before = cpu_clock(own).unwrap();
    let mut sum = 0_u64;
    while cpu_clock(own).unwrap() < before + Span::from_ms(5) {
        sum = sum.wrapping_add(1);
    }
    assert!(sum > 0);
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let found = sockets(root, own).unwrap();
    assert!(!found.is_empty());
    drop(socket);
    assert_eq!(stat(root, own).unwrap().pid, own);
}
