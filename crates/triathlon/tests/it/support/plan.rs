//! Plans as other programs hand them to `triathlon load --plan -`, and the lines that come back.

use std::net::SocketAddr;
use std::process::Stdio;

use model::event::{Event, Phase};
use model::plan::{Arrivals, PlanFile, Stop};
use model::{Json as _, Rate, Span, Trial, fixture};

use super::process::{Run, Running, command};

/// A plan of `count` exchanges in closed loop on 4 connections and 2 workers.
pub(crate) fn counted(url: &str, count: u64) -> PlanFile {
    PlanFile {
        stop: Stop::Count(count),
        connections: 4,
        timeout: Span::from_ms(1_000),
        workers: 2,
        ..fixture::plan(url, &[])
    }
}

/// The same, `rate` exchanges per second in open loop for some seconds.
pub(crate) fn paced(url: &str, rate: u64, seconds: u64) -> PlanFile {
    PlanFile {
        arrivals: Arrivals::Fixed {
            rate_per_1000_s: Rate::per_1000_s(rate * 1000),
        },
        stop: Stop::DurationNs(Span::from_s(seconds)),
        ..counted(url, 1)
    }
}

/// The same plan over these addresses.
pub(crate) fn over(mut plan: PlanFile, addresses: &[SocketAddr]) -> PlanFile {
    plan.addresses = addresses.to_vec();
    plan
}

/// A generator at work on a plan.
pub(crate) fn start(plan: &PlanFile) -> Running {
    let text = serde_json::to_string(plan).expect("a plan can be written");
    let mut running = Running::start(command(["load", "--plan", "-"]).stdin(Stdio::piped()));
    running.feed(&text);
    running
}

/// Runs a plan to its end.
pub(crate) fn run(plan: &PlanFile) -> (Run, Trial) {
    finish(start(plan))
}

/// Waits for the end and takes the trial from the last line.
pub(crate) fn finish(running: Running) -> (Run, Trial) {
    let run = running.finish();
    match events(&run.stdout).pop() {
        Some(Event::Trial(trial)) => (run, *trial),
        other => panic!("the last line is no trial but {other:?}: {run:#?}"),
    }
}

/// Whether a phase has begun, by what was printed so far.
pub(crate) fn reached(running: &Running, wanted: Phase) -> bool {
    // The last line may be cut in two, the others are whole.
    let text = running.stdout();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    events(whole)
        .iter()
        .any(|event| matches!(event, Event::Phase { phase, .. } if *phase == wanted))
}

/// The lines, each an event.
pub(crate) fn events(text: &str) -> Vec<Event> {
    text.lines()
        .map(|line| {
            Event::from_json(line.as_bytes())
                .unwrap_or_else(|error| panic!("not an event ({error}): {line}"))
        })
        .collect()
}
