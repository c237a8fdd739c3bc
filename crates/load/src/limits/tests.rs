use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use super::{Need, ranges, split};

/// A machine with 20,000 files per process, 100,000 in all, 28,232 ports and 2 GiB.
fn machine(folder: &Path) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("sys/fs/file-nr", "1000\t0\t100000\n");
    write("sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    write("sys/net/ipv4/ip_local_reserved_ports", "40000-40009,1024\n");
    write(
        "meminfo",
        "MemTotal: 4194304 kB\nMemAvailable:    2097152 kB\n",
    );
}

fn need(connections: u64, targets: &[SocketAddr]) -> Need<'_> {
    Need {
        connections,
        sockets: connections + 1_024,
        in_one_table: connections + 1_024,
        workers: 1,
        targets,
        sources: &[],
    }
}

#[track_caller]
fn check(need: &Need<'_>, files: u64, expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    machine(folder.path());
    let found = need.obstacles(Some(files), folder.path());
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn each_limit_is_told_with_what_is_needed_and_what_to_do() {
    let here: [SocketAddr; 1] = [([127, 0, 0, 1], 80).into()];
    let there: [SocketAddr; 1] = [([10, 0, 0, 1], 80).into()];
    check(&need(15_000, &here), 20_000, &[]);
    check(
        &need(19_500, &here),
        20_000,
        &["may have 20000 files open and needs 20564 (raise the limit: ulimit -n 20564;"],
    );
    check(&need(28_222, &here), 50_000, &[]);
    check(
        &need(28_223, &here),
        50_000,
        &["has 28222 ports for each of 1 targets and needs 28223 (give 2 addresses"],
    );
    check(
        &need(99_000, &there),
        1_000_000,
        &["all programs together may have 100000", "has 28222 ports"],
    );
    check(
        &need(1_100_000, &here),
        2_000_000,
        &[
            "fs.file-max=1102064",
            "room for 1048576 files in the table of one worker",
            "(give 39 addresses",
            "2048 MiB of memory are available and about 12890 MiB are needed",
        ],
    );
}

#[test]
fn sources_and_targets_multiply_the_ports() {
    let targets: [SocketAddr; 2] = [([127, 0, 0, 1], 80).into(), ([127, 0, 0, 1], 81).into()];
    let sources = [
        [127, 0, 0, 2].into(),
        [127, 0, 0, 3].into(),
        [0u16; 8].into(),
    ];
    let need = Need {
        sources: &sources,
        ..need(90_000, &targets)
    };
    check(&need, 1_000_000, &[]);
}

#[test]
fn what_cannot_be_read_is_no_limit() {
    let nowhere = tempfile::tempdir().unwrap();
    let here: [SocketAddr; 1] = [([127, 0, 0, 1], 80).into()];
    let found = need(90_000, &here).obstacles(None, nowhere.path());
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn lists_of_ports_are_read() {
    assert_eq!(
        ranges("1-3,8\n").into_iter().collect::<Vec<_>>(),
        [1, 2, 3, 8]
    );
    assert!(ranges("\n").is_empty());
}

#[test]
fn workers_are_split_without_gap_or_overlap() {
    for workers in 1..40 {
        for parts in 1..=workers {
            let ranges = split(workers, parts);
            assert_eq!(ranges.len(), parts as usize);
            let all: Vec<u32> = ranges.iter().cloned().flatten().collect();
            assert_eq!(all, (0..workers).collect::<Vec<u32>>());
            let most = workers.div_ceil(parts) as usize;
            assert!(ranges.iter().all(|range| (1..=most).contains(&range.len())));
        }
    }
}
