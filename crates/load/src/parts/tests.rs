use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use model::event::{Event, Phase};
use model::fixture;
use model::plan::{Plan, PlanFile};
use model::record::Record;
use model::{Environment, Json as _};

use super::run_divided;
use crate::run::{LoadError, Notice};

const PARTS: [Range<u32>; 2] = [0..2, 2..4];

fn plan() -> Plan {
    let nobody = ([127, 0, 0, 1], 9).into();
    let file = PlanFile {
        workers: 4,
        connections: 8,
        ..fixture::plan("http://127.0.0.1:9/", &[nobody])
    };
    Plan::try_from(file).expect("a plan")
}

/// A part that does what `script` says: `plan` and `start` are what it reads, `$trial` is the line
/// that ends a run, `$here` a folder of the test's.
///
/// With `is_stopped`, the run is stopped once an interval was told.
fn run(script: &str, here: &Path, is_stopped: bool) -> (Result<Record, LoadError>, Vec<Notice>) {
    let mut notices = Vec::new();
    let stop = AtomicBool::new(false);
    let mut trial = fixture::closed();
    // The machine is looked at by whoever starts the parts.
    trial.environment = Environment::default();
    let trial = Event::Trial(Box::new(trial));
    let trial = trial.to_json().expect("JSON");
    let result = run_divided(
        &plan(),
        &PARTS,
        &mut |workers| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command.env("trial", &trial).env("here", here);
            command.env("first", workers.start.to_string());
            command
        },
        &stop,
        &mut |notice| {
            let is_interval = matches!(notice, Some(Notice::Interval(_)));
            stop.fetch_or(is_stopped && is_interval, Ordering::Relaxed);
            notices.extend(notice);
        },
    );
    (result, notices)
}

const READY: &str = "read plan; echo '{\"event\":\"ready\"}'; read start; ";
const INTERVAL: &str = "echo '{\"event\":\"interval\",\"second\":1.0,\"achieved_rate\":100.0,\
    \"right\":100,\"failures\":1,\"connections\":4,\"response_time_p50_us\":null,\
    \"response_time_p99_us\":null}'; ";

#[test]
fn parts_get_the_plan_and_one_start_and_their_records_merge() {
    let here = tempfile::tempdir().expect("a folder");
    let told = "printf '%s\\n%s' \"$plan\" \"$start\" >\"$here/$first\"; ";
    let script = format!("{READY}{told}{INTERVAL}printf '%s\\n' \"$trial\"");
    let (record, notices) = run(&script, here.path(), false);
    let record = record.expect("a record");
    let one = fixture::closed().record;
    assert_eq!(record.total.sent, 2 * one.total.sent);
    assert_eq!(record.workers.len(), 2 * one.workers.len());
    let read = |first: &str| std::fs::read_to_string(here.path().join(first)).expect("told");
    assert_eq!(read("0"), read("2"), "the same plan, the same start");
    let (text, start) = read("0")
        .split_once('\n')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("two");
    let file: PlanFile = serde_json::from_str(&text).expect("a plan");
    assert_eq!(&file, plan().file());
    assert!(start.parse::<u64>().is_ok_and(|start| start > 0), "{start}");
    let intervals: Vec<_> = notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Interval(interval) => Some(interval),
            Notice::Phase(..) => None,
        })
        .collect();
    assert_eq!(intervals.len(), 1, "one of each part, told together");
    assert_eq!((intervals[0].ok, intervals[0].failures), (200, 2));
    assert_eq!(intervals[0].connections, 8);
    let phases = |wanted| {
        let is = |notice: &&Notice| matches!(notice, Notice::Phase(phase, _) if *phase == wanted);
        notices.iter().filter(is).count()
    };
    assert_eq!((phases(Phase::Reference), phases(Phase::Done)), (1, 1));
    let note = record
        .notes
        .iter()
        .find(|note| note.contains("2 processes"));
    assert!(note.is_some(), "{:?}", record.notes);
}

#[test]
fn a_part_that_fails_ends_the_run_and_says_why() {
    let here = tempfile::tempdir().expect("a folder");
    for (end, expected) in [
        (
            "echo '{\"event\":\"failed\",\"error\":\"no server\"}'; read never",
            "the process with workers 2 to 3: no server",
        ),
        ("exit 9", "it ended without a result (exit code 9)"),
        (
            "kill -9 $$",
            "it ended without a result (ended by signal 9)",
        ),
        ("echo nonsense; exit 0", "after a line that is not an event"),
    ] {
        // The other one would go on for ever.
        let script = format!("read plan; [ $first = 0 ] && exec sleep 1000; {end}");
        let (result, _) = run(&script, here.path(), false);
        let error = result.expect_err("a part failed").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn who_wants_to_stop_stops_the_parts() {
    let here = tempfile::tempdir().expect("a folder");
    let end = "trap 'printf \"%s\\\\n\" \"$trial\"; exit 130' TERM; ";
    let script = format!("{end}{READY}{INTERVAL}while :; do sleep 0.01; done");
    let (record, _) = run(&script, here.path(), true);
    let record = record.expect("what was measured");
    assert_eq!(record.total.sent, 2 * fixture::closed().record.total.sent);
    // Before they know what a signal means, there is nothing that they have measured.
    let script = format!("{READY}{INTERVAL}exec sleep 1000");
    let (record, _) = run(&script, here.path(), true);
    assert!(record.expect("a record").interrupted);
}
