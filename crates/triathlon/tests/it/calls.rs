//! How many system calls an exchange costs the generator, counted by strace from outside.
//!
//! A traced program is slow, and a slow one finds more done at each look: these are bounds, not
//! what an untraced run makes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::serve::Served;
use crate::support::process::{Running, program};
use crate::support::{need, not_run};

/// A closed loop on 64 connections: enough that one call may serve many of them.
const CONNECTIONS: &str = "64";

/// What moves bytes and waits for them. The start reads much of /proc, which is not counted here.
const TRACED: &str = "trace=%network,io_uring_enter,epoll_wait,epoll_pwait,epoll_pwait2,poll,ppoll";

/// System calls of the generator and all its threads for so many exchanges; none where tracing is
/// not permitted.
fn calls(strace: &Path, url: &str, backend: &str, exchanges: u64) -> Option<u64> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let counts = folder.path().join("counts");
    let mut command = Command::new(strace);
    command.args(["-f", "-c", "-e", TRACED, "-o"]).arg(&counts);
    command.args([program(), "load", url, "-c", CONNECTIONS, "-t", "1"]);
    command.args(["--warmup", "0s", "--backend", backend, "-n"]);
    command.arg(exchanges.to_string());
    let run = Running::start(&mut command).finish();
    if run.stderr.contains("ptrace") || run.stderr.contains("io_uring") {
        return None;
    }
    // No claim is made of what was measured while a tracer held the generator.
    assert_eq!(run.code, Some(3), "{run:#?}");
    assert!(run.stdout.contains("GEN-14"), "{run:#?}");
    let table = fs::read_to_string(counts).expect("strace writes its counts");
    // share, seconds, time for each, calls, perhaps errors, name
    let rows = table.lines().filter(|line| !line.ends_with(" total"));
    let calls = rows.filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    Some(calls.sum())
}

#[test]
fn an_exchange_costs_few_system_calls() {
    let name = "an_exchange_costs_few_system_calls";
    let Some([strace]) = need(name, ["strace"]) else {
        return;
    };
    // It answers all that have asked before it looks again, as the generator does; a server that
    // answers one by one wakes the generator for every few (nginx: 0.2 calls per exchange).
    let server = Served::start(&[("seven", b"7 bytes")], "--workers 1");
    let url = server.url("/seven");
    // With io_uring one call submits and collects for all connections; without it an exchange is
    // a send and a receive, and waiting is shared by those that are ready together.
    for (backend, expected) in [("uring", 0.005..0.1), ("readiness", 1.95..2.5)] {
        let few = calls(&strace, &url, backend, 2_000);
        let many = calls(&strace, &url, backend, 10_000);
        let (Some(few), Some(many)) = (few, many) else {
            not_run(name, &format!("tracing or {backend} is not permitted"));
            continue;
        };
        // The start and the end cost the same in both.
        #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
        let each = many.saturating_sub(few) as f64 / 8_000.0;
        eprintln!("{backend}: {each:.3} system calls per exchange");
        assert!(expected.contains(&each), "{backend}: {each} per exchange");
    }
}
