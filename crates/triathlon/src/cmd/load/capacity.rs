//! `--capacity`: makes the trials that a search asks for, and tells its answer.

use std::path::Path;

use anyhow::Context as _;
use lab::capacity::{self, Answer, Made, Search, Settings};
use model::Verdict;
use model::plan::{Arrivals, Plan, PlanFile, Stop};
use model::units::{Rate, Span};
use report::text::Style;
use sys::process::Interrupt;
use verdict::words;

use super::output::Output;
use super::{Args, Chosen, measure};
use crate::exit::{Exit, UsageError};
use crate::out;

/// How long a trial that counts in full measures by default.
const FULL: Span = Span::from_s(20);

/// The whole search, as it is written.
#[derive(serde::Serialize)]
struct Found<'a> {
    format: u32,
    plan: &'a PlanFile,
    objective: Vec<String>,
    closed_loop_rate: f64,
    answer: Answer,
    /// What the last trial is worth that was made for the answer.
    verdict: &'a Verdict,
    trials: Vec<Made>,
}

/// Searches the capacity of what `chosen` asks.
pub(super) fn search(args: &Args, chosen: &Chosen, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    if args.exports.files().next().is_some() || args.samples.is_some() {
        return Err(UsageError(
            "--capacity makes many trials: --hgrm, --hlog, --series and --samples are about one; \
             give --rate with what was found"
                .to_owned(),
        )
        .into());
    }
    let objective = &args.pace.capacity;
    let output = Output::new(args);
    let full = args.duration.unwrap_or(FULL);
    let make = |arrivals: Arrivals, duration: Span, number: u32| {
        let mut file = PlanFile {
            arrivals,
            stop: Stop::DurationNs(duration),
            seed: args.seed.wrapping_add(u64::from(number)),
            ..chosen.plan.file().clone()
        };
        file.deadline = args.pace.deadline.filter(|_| arrivals.rate().is_some());
        let plan = Plan::try_from(file).map_err(|error| UsageError(error.to_string()))?;
        let chosen = Chosen {
            plan,
            context: chosen.context.clone(),
            server: chosen.server,
            script: None,
        };
        measure(chosen, None, interrupt, &output, args, None)
    };
    let mut trial = make(Arrivals::Closed, full / 4, 0)?;
    let closed_loop_rate = trial.record.achieved_rate;
    out::note(format_args!(
        "closed loop: {}/s",
        words::rate(closed_loop_rate)
    ));
    let mut search = Search::new(Settings::new(capacity::start_at(closed_loop_rate), full));
    let mut trials = Vec::new();
    let answer = loop {
        if trial.record.interrupted {
            return Ok(Exit::Interrupted);
        }
        let step = match search.step() {
            Ok(step) => step,
            Err(answer) => break answer,
        };
        let arrivals = args.pace.arrivals_at(step.rate);
        trial = make(arrivals, step.duration, search.trials() + 1)?;
        let made = capacity::judged(step, &trial, objective);
        out::note(line(&made));
        search.tell(made.came);
        trials.push(made);
    };
    let count = trials.len();
    let found = Found {
        format: 1,
        plan: chosen.plan.file(),
        objective: trials
            .first()
            .map(|made: &Made| made.thresholds.iter().map(|one| one.threshold.clone()))
            .map_or_else(Vec::new, Iterator::collect),
        closed_loop_rate,
        answer,
        verdict: &trial.verdict,
        trials,
    };
    tell(args, &found, count)?;
    Ok(exit_of(&found))
}

/// A trial, for whoever watches.
fn line(made: &Made) -> String {
    let came = made.came.words();
    let fresh = if made.fresh { " afresh" } else { "" };
    let rate = words::rate(made.rate.as_per_second_f64());
    format!("{rate}/s for {}{fresh}: {came}", made.duration)
}

fn tell(args: &Args, found: &Found<'_>, count: usize) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        let text = serde_json::to_string(found).context("cannot write the search as JSON")?;
        if path == Path::new("-") {
            return out::line(text);
        }
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let objective = found.objective.join(" and ");
    let of = |rate: Rate| format!("{}/s", words::rate(rate.as_per_second_f64()));
    let seen = |rate: Option<Rate>| rate.map_or_else(|| "no rate".to_owned(), of);
    let answer = match found.answer {
        Answer::Between {
            lower,
            upper,
            fresh_met,
            fresh,
        } => format!(
            "{} to {} while {objective}\n{:12}{fresh_met} of {fresh} fresh trials held at the \
             lower one",
            of(lower),
            of(upper),
            ""
        ),
        Answer::GeneratorLimit { lower, failed } => format!(
            "not found: the generator could not send {}; {} met {objective}\n{:12}give it more \
             CPUs (-t, --cpus) or more connections (-c)",
            of(failed),
            seen(lower),
            ""
        ),
        Answer::Nothing { lowest } => {
            format!("none: not even {} meets {objective}", of(lowest))
        }
        Answer::Undecided { lower, upper } => format!(
            "not found within {count} trials: {} met {objective}, {} did not",
            seen(lower),
            seen(upper)
        ),
    };
    let verdict = report::text::verdict(found.verdict, Style::default());
    out::line(format_args!(
        "{verdict}\ncapacity    {answer}\n{:12}{count} trials; a closed loop reached {}/s",
        "",
        words::rate(found.closed_loop_rate)
    ))
}

fn exit_of(found: &Found<'_>) -> Exit {
    match found.answer {
        _ if found.verdict.nothing_left() => Exit::Invalid,
        Answer::Between { .. } => Exit::Done,
        Answer::Nothing { .. } => Exit::Threshold,
        Answer::GeneratorLimit { .. } | Answer::Undecided { .. } => Exit::Invalid,
    }
}
