//! Fifteen thousand connections at once to `triathlon serve`, requests over all of them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use model::event::Event;
use model::plan::{PlanFile, Stop};
use model::record::{ConnectionCounts, Interval};
use model::{Outcome, Span, Trial};

use crate::serve::Served;
use crate::support::process::{Running, program};
use crate::support::{need, not_run, plan, wait_until};

const CONNECTIONS: u32 = 15_000;
/// What each side opens besides: listeners, rings, room for half-closed sockets.
const FILES_BESIDE: u64 = 2_000;
/// A wait of five milliseconds that took so long: the machine was away, and a silent interval says
/// nothing about the programs.
const AWAY: Duration = Duration::from_millis(250);

/// A process's memory in bytes.
fn resident(running: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or_default() * 1_024
}

fn wanted(url: &str) -> PlanFile {
    PlanFile {
        // It is ended earlier, once requests went over all connections.
        stop: Stop::DurationNs(Span::from_s(55)),
        connections: CONNECTIONS,
        timeout: Span::from_s(50),
        workers: 1,
        // No address has to have ports for all of them.
        sources: (2..6)
            .map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)))
            .collect(),
        ..plan::paced(url, 4_000, 1)
    }
}

/// Right answers in the intervals told so far at whose end every connection was open.
fn answers_over_all(running: &Running) -> f64 {
    let text = running.stdout();
    // The last line may be cut in two, the others are whole.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let of_all = plan::events(whole)
        .into_iter()
        .filter_map(|event| match event {
            Event::Interval {
                achieved_rate,
                connections,
                ..
            } if connections == u64::from(CONNECTIONS) => Some(achieved_rate),
            _ => None,
        });
    // Each is a second long. The first one began with fewer of them.
    of_all.skip(1).sum()
}

/// The intervals that began with every connection open; the last one was cut short.
fn with_all(intervals: &[Interval]) -> Vec<&Interval> {
    let mut established = 0;
    let all = intervals.iter().take(intervals.len().saturating_sub(1));
    all.filter(|interval| {
        let before = established;
        established += interval.tally.connections.established;
        before == u64::from(CONNECTIONS)
    })
    .collect()
}

#[test]
fn fifteen_thousand_connections_at_once() {
    let name = "fifteen_thousand_connections_at_once";
    let Some([]) = need(name, []) else {
        return;
    };
    let needed = u64::from(CONNECTIONS) + FILES_BESIDE;
    match sys::process::raise_open_files(needed) {
        Ok(limit) if limit >= needed => {}
        other => return not_run(name, &format!("{needed} files may not be open: {other:?}")),
    }
    let files: [(&str, &[u8]); 1] = [("file", b"seven!\n")];
    let server = Served::start(&files, &format!("--connections {needed}"));
    let server_before = resident(server.running());
    let mut running = plan::start(&wanted(&server.url("/file")));
    let (mut latest, mut longest) = (Instant::now(), Duration::ZERO);
    let mut memory = [0; 2];
    wait_until("requests went over all connections", || {
        assert!(!running.ended(), "it ended: {}", running.stderr());
        longest = longest.max(latest.elapsed());
        latest = Instant::now();
        memory = [resident(&running), resident(server.running())];
        answers_over_all(&running) >= f64::from(CONNECTIONS)
    });
    running.signal("INT");
    let (run, trial) = plan::finish(running);
    let record = &trial.record;
    let context = format!("{:#?} {}", record.total, run.stderr);
    let connections = record.total.connections;
    let all = u64::from(CONNECTIONS);
    // As many as were ever asked for are established, and none of them ended before the end.
    assert_eq!(connections.asked, all, "{context}");
    assert_eq!(connections.established, all, "{context}");
    assert_eq!(connections.failed, 0, "{context}");
    assert_eq!(connections.broken, 0, "{context}");
    assert_eq!(connections.closed_by_server, 0, "{context}");
    let outcomes = record.total.outcomes;
    assert_eq!(outcomes.total(), record.total.due, "{context}");
    // What was under way when it was told to end is unfinished, what waited then was shed.
    let fair = [Outcome::Ok, Outcome::Unfinished, Outcome::Shed];
    let fair: u64 = fair.into_iter().map(|outcome| outcomes[outcome]).sum();
    assert_eq!(fair, outcomes.total(), "{context}");
    let intervals = with_all(&record.intervals);
    assert!(!intervals.is_empty(), "{context}");
    for interval in intervals {
        let right = interval
            .tally
            .passed
            .as_ref()
            .map_or(0, |passed| passed.right);
        assert!(right > 0 || longest > AWAY, "{interval:#?} {context}");
    }
    eprintln!(
        "{name}: {} bytes per connection here, {} at the server ({} before)",
        memory[0] / all,
        memory[1].saturating_sub(server_before) / all,
        server_before
    );
}

fn stored(name: &str) -> Trial {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("record/crowd").join(name));
    serde_json::from_str(&text.expect("a stored trial")).expect("a trial")
}

/// What docs/performance.md says of a load that was made by hand.
#[test]
fn a_million_connections_were_open_at_once() {
    let trial = stored("1000000-connections.json");
    let record = &trial.record;
    let before = record.warmup_phase.connections;
    assert_eq!(trial.plan.connections, 1_000_000);
    assert_eq!((before.asked, before.established), (1_000_000, 1_000_000));
    assert_eq!(before.broken + before.closed_by_server, 0);
    // Five were killed from outside within the window: each was noticed, and made anew.
    let killed = record.total.connections;
    let expected = ConnectionCounts {
        asked: 5,
        established: 5,
        closed_by_server: 5,
        ..ConnectionCounts::default()
    };
    assert_eq!(killed, expected);
    let outcomes = &record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], 1_240_000);
    assert_eq!(outcomes.total(), record.total.due);
    assert_eq!(record.warmup_phase.outcomes.failures(), 0);
    // Each worker asks its connections in turn, and had right answers from more than all of them.
    assert_eq!(record.workers.len(), 54);
    for worker in &record.workers {
        assert!(worker.ok >= u64::from(worker.connections), "{worker:?}");
    }
    let held = record.workers.iter().map(|worker| worker.connections);
    assert_eq!(held.sum::<u32>(), 1_000_000);
    let right = record.workers.iter().map(|worker| worker.ok);
    assert_eq!(right.sum::<u64>(), 1_240_000);
    assert_eq!(record.sources_used(), Some(4_094));
    assert_eq!(record.intervals.len(), 62);
    for interval in &record.intervals {
        let passed = interval.tally.passed.as_ref().expect("what passed");
        assert!(passed.right >= 19_960, "{interval:?}");
    }
}

/// What docs/performance.md says of another one.
#[test]
fn a_hundred_thousand_connections_were_open_at_once() {
    let trial = stored("100000-connections.json");
    let record = &trial.record;
    let before = record.warmup_phase.connections;
    assert_eq!(trial.plan.connections, 100_000);
    assert_eq!((before.asked, before.established), (100_000, 100_000));
    assert_eq!(before.broken + before.closed_by_server, 0);
    assert_eq!(record.total.connections, ConnectionCounts::default());
    let outcomes = &record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], 600_000);
    assert_eq!(outcomes.total(), record.total.due);
    assert_eq!(record.intervals.len(), 30);
    for interval in &record.intervals {
        let passed = interval.tally.passed.as_ref().expect("what passed");
        assert!(passed.right >= 19_759, "{interval:?}");
    }
}

/// One worker cannot be divided among processes: what stands in the way is told before the start.
#[test]
fn too_many_connections_for_a_process_are_refused_with_the_limit() {
    let name = "too_many_connections_for_a_process_are_refused_with_the_limit";
    let Some([_]) = need(name, ["setpriv"]) else {
        return;
    };
    let served = Served::start(&[("a", b"1234567")], "");
    let script = "ulimit -n 500; if (ulimit -Hn 501) 2>/dev/null; then \
        exec setpriv --bounding-set -sys_resource \"$@\"; fi; exec \"$@\"";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh", program(), "load", &served.url("/a")]);
    command.args(["-c", "4000", "-t", "1", "-n", "20000"]);
    let run = Running::start(&mut command).finish().expect_code(1);
    run.expect_complaint(&["may have 500 files open and needs", "ulimit -n", "-t"]);
}

/// A soft limit below what a load needs is raised as far as the hard one allows, and one process
/// makes the load.
#[test]
fn a_soft_limit_of_open_files_is_raised() {
    let name = "a_soft_limit_of_open_files_is_raised";
    let Some([]) = need(name, []) else {
        return;
    };
    match sys::process::raise_open_files(FILES_BESIDE) {
        Ok(limit) if limit >= FILES_BESIDE => {}
        other => return not_run(name, &format!("{FILES_BESIDE} files may not be: {other:?}")),
    }
    let served = Served::start(&[("a", b"1234567")], "--connections 1500");
    let script = "ulimit -S -n 200; exec \"$@\"";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh", program(), "load", &served.url("/a")]);
    let flags = "-c 1000 -t 1 -n 5000 --timeout 30s --json -";
    command.args(flags.split(' '));
    let run = Running::start(&mut command).finish().expect_measured();
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 5_000, "{run:#?}");
    let before = record.warmup_phase.connections.established;
    let during = record.total.connections.established;
    assert_eq!(before + during, 1_000, "{run:#?}");
    let notes = &record.notes;
    assert!(
        !notes.iter().any(|note| note.contains("processes made")),
        "{notes:?}"
    );
}

/// A process may hold 1,500 files here, and the load wants 4,000 connections: several processes
/// make it, and it is one load.
#[test]
fn more_connections_than_a_process_may_hold() {
    let name = "more_connections_than_a_process_may_hold";
    let Some([_]) = need(name, ["setpriv"]) else {
        return;
    };
    let served = Served::start(&[("a", b"1234567")], "--connections 5000");
    // Whoever may raise the limit gives that up.
    let script = "ulimit -n 1500; if (ulimit -Hn 1501) 2>/dev/null; then \
        exec setpriv --bounding-set -sys_resource \"$@\"; fi; exec \"$@\"";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh", program(), "load", &served.url("/a")]);
    command.args([
        "-c",
        "4000",
        "-n",
        "20000",
        "--timeout",
        "30s",
        "--json",
        "-",
    ]);
    let run = Running::start(&mut command).finish().expect_measured();
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 20_000, "{run:#?}");
    assert_eq!(record.total.connections.established, 4_000, "{run:#?}");
    let numbers: Vec<u32> = record.workers.iter().map(|worker| worker.index).collect();
    let wanted: Vec<u32> = (0..run.trial().plan.workers).collect();
    assert_eq!(numbers, wanted, "each worker once");
    assert!(
        record
            .notes
            .iter()
            .any(|note| note.contains("processes made this load")),
        "{:?}",
        record.notes
    );
}
