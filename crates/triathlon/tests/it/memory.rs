//! How much memory an idle connection inside TLS costs server and generator: what both processes
//! have in memory with many connections, less what they have with few.

use crate::support::process::{MEASURED, Running, command};
use crate::support::{need, wait_until};
use crate::tls::{Files, https};

/// What one more idle connection may cost either side, in bytes.
const MOST: u64 = 64 * 1_024;
const FEW: u64 = 50;
const MANY: u64 = 550;

/// What of a process is in memory, in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.expect("its memory").parse::<u64>().expect("a number") * 1_024
}

/// What server and generator have in memory once all of so many connections are there and as many
/// requests were answered: few of them have one under way.
fn held(files: &Files, count: u64, speaks: &str) -> [u64; 2] {
    let served = files.serve("site", &[("small", b"seven!\n")], "--access-log log");
    let url = https(&served.url("/small"));
    let words = format!(
        "load {url} -c {count} -t 1 -R 200 -d 600s --warmup 0s {speaks} {}",
        files.trust()
    );
    let load = Running::start(&mut command(words.split_whitespace()));
    let (log, server) = (served.path().join("log"), served.running().pid());
    wait_until("each connection has its turn", || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        let open = std::fs::read_dir(format!("/proc/{server}/fd")).expect("a process");
        // Two connections are made to see what a right answer is.
        log.lines().count() as u64 >= count + 2 && open.count() as u64 >= count
    });
    let held = [server, load.pid()].map(resident);
    load.signal("INT");
    load.finish().expect_one_of(&[MEASURED, &[130]].concat());
    held
}

#[test]
fn an_idle_connection_inside_tls_costs_little() {
    let name = "memory::an_idle_connection_inside_tls_costs_little";
    if need(name, []).is_none() {
        return;
    }
    let files = Files::new();
    files.sign("site", |_| {});
    for (speaks, protocol) in [("", "HTTP/1.1"), ("--http2", "HTTP/2")] {
        let few = held(&files, FEW, speaks);
        let many = held(&files, MANY, speaks);
        for ((side, few), many) in ["origin", "load"].into_iter().zip(few).zip(many) {
            let each = many.saturating_sub(few) / (MANY - FEW);
            eprintln!("{side}, {protocol}: {each} bytes per idle connection inside TLS");
            assert!(each <= MOST, "{side}, {protocol}: {each} bytes");
        }
    }
}
