//! SRV-02: the server ended or replaced its processes while it was measured.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{Invalid, Note};
use model::trial::Server;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "SRV-02",
    name: "server-died",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "Process ids and start times before and after the window",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.trial.point.is_none() {
        return Judgement::NotApplicable;
    }
    let Some(server) = facts.trial.context.server.as_ref() else {
        return Judgement::unknown("the server's processes");
    };
    let fix = "Read its error log, and mend what ended it before measuring";
    if let Some(exit) = &server.exit {
        return Found::all(
            CHECK.claims,
            Invalid,
            format!("{} ended by itself: {exit}.", server.product),
        )
        .evidence("exit", exit.clone())
        .fix(fix)
        .into();
    }
    let (Some(before), Some(after)) = (&server.processes_before, &server.processes_after) else {
        return Judgement::unknown("the server's processes before and after the window");
    };
    let gone: Vec<u32> = before
        .iter()
        .filter(|process| !after.contains(process))
        .map(|process| process.0)
        .collect();
    if gone.is_empty() {
        return Judgement::Silent;
    }
    // The oldest process is the one that was started; the others it may recycle as it likes.
    let main = before.iter().min_by_key(|process| process.1);
    let main_gone = main.is_some_and(|main| gone.contains(&main.0));
    let crash = crash_line(server);
    let severity = if main_gone || crash.is_some() {
        Invalid
    } else {
        Note
    };
    let pids: Vec<String> = gone.iter().map(u32::to_string).collect();
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "{} of {}'s {} ended during the window (pid {}){}.",
            if main_gone {
                "The main process"
            } else {
                "Some"
            },
            server.product,
            words::plural(before.len() as u64, "process"),
            pids.join(", "),
            crash.map_or_else(String::new, |line| format!("; its log says \"{line}\""))
        ),
    )
    .evidence("gone", gone)
    .evidence(
        "started",
        after.iter().filter(|p| !before.contains(p)).count(),
    )
    .fix(fix)
    .into()
}

/// What servers write when a worker crashes, not when it is recycled.
fn crash_line(server: &Server) -> Option<&str> {
    server.error_log.iter().map(String::as_str).find(|line| {
        let line = line.to_ascii_lowercase();
        [
            "exited on signal",
            "exit signal",
            "segfault",
            "core dumped",
            "panicked",
        ]
        .iter()
        .any(|words| line.contains(words))
    })
}
