//! `--capacity`: makes the trials that a search asks for, and tells its answer. What is searched is
//! a rate, or a number of connections of a closed loop.

use std::cmp::Ordering;
use std::path::Path;

use anyhow::Context as _;
use lab::capacity::{self, Connections, Ending, Level, Search, Settings, Weighed};
use model::plan::{Arrivals, Plan, PlanFile, Stop};
use model::units::{Rate, Span};
use model::{Trial, Verdict};
use report::text::Style;
use serde_json::{Value, json};
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
    answer: Value,
    /// What the last trial is worth that was made for the answer.
    verdict: &'a Verdict,
    trials: Vec<Value>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(super) enum Of {
    /// The rate of an open loop
    #[default]
    Rate,
    /// The connections of a closed loop, or its users, up to -c
    Connections,
}

/// A load that is searched.
trait Searched: Level {
    /// How results call it.
    const KEY: &'static str;

    /// For whoever watches: `1,000/s`.
    fn words(self) -> String;

    /// As a number in results.
    fn number(self) -> u64;

    /// The plan `file` with this load.
    fn put(self, args: &Args, file: PlanFile) -> PlanFile;

    /// What to do where the generator or the machine is the limit.
    const REMEDY: &'static str;
}

impl Searched for Rate {
    const KEY: &'static str = "rate_per_1000_s";
    const REMEDY: &'static str = "give the generator more CPUs (-t, --cpus) or more connections \
                                  (-c), and let nothing else run";

    fn words(self) -> String {
        format!("{}/s", words::rate(self.as_per_second_f64()))
    }

    fn number(self) -> u64 {
        self.as_per_1000_s()
    }

    fn put(self, args: &Args, file: PlanFile) -> PlanFile {
        PlanFile {
            arrivals: args.pace.arrivals_at(self),
            deadline: args.pace.deadline,
            ..file
        }
    }
}

impl Searched for Connections {
    const KEY: &'static str = "connections";
    const REMEDY: &'static str =
        "give the generator more CPUs (-t, --cpus), and let nothing else run";

    fn words(self) -> String {
        words::plural(u64::from(self.0), "connection")
    }

    fn number(self) -> u64 {
        u64::from(self.0)
    }

    fn put(self, _: &Args, file: PlanFile) -> PlanFile {
        PlanFile {
            connections: self.0.saturating_mul(file.user_connections()),
            workers: file.workers.min(self.0),
            ..file
        }
    }
}

/// Searches the capacity of what `chosen` asks.
pub(super) fn search(args: &Args, chosen: &Chosen, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    refuse(args, chosen)?;
    let full = args.duration.unwrap_or(FULL);
    let output = Output::new(args);
    let mut maker = Maker {
        args,
        chosen,
        interrupt,
        output: &output,
        made: 0,
    };
    match args.pace.capacity_of {
        Of::Rate => {
            let Some(trial) = maker.closed(full / 4)? else {
                return Ok(Exit::Interrupted);
            };
            let rate = trial.record.achieved_rate;
            out::note(format_args!("closed loop: {}/s", words::rate(rate)));
            let settings = Settings::new(capacity::start_at(rate), full);
            maker.follow(settings, Some(rate))
        }
        Of::Connections if args.pace.poisson || args.pace.uniform => Err(UsageError(
            "--capacity-of connections: a closed loop has no arrivals at random; leave out \
             --poisson and --uniform"
                .to_owned(),
        )
        .into()),
        Of::Connections => {
            let most = args.connections.max(1);
            let settings = Settings {
                most: Some(Connections(most)),
                ..Settings::new(Connections(1), full)
            };
            maker.follow(settings, None)
        }
    }
}

/// Refuses what does not go together with a search.
fn refuse(args: &Args, chosen: &Chosen) -> Result<(), UsageError> {
    let exports = &args.exports;
    let is_of_one = exports.files().next().is_some() || exports.metrics.is_some();
    if is_of_one
        || args.samples.is_some()
        || args.latency
        || chosen.plan.file().split_one_in.is_some()
    {
        return Err(UsageError(
            "--capacity makes many trials: --csv, --hgrm, --hlog, --latency, --metrics, \
             --samples, --series and --split are about one; give --rate or --connections with \
             what was found"
                .to_owned(),
        ));
    }
    let objective = &args.pace.capacity;
    if let Some(one) = objective.iter().find(|one| one.asks_for_load()) {
        return Err(UsageError(format!(
            "--capacity: '{}' is met by a higher load, so it is no limit of one: say how long \
             answers may take and how many may fail, as in 'p(99)<5ms,errors<0.1%'",
            one.text()
        )));
    }
    let has_users = chosen.plan.file().script.is_some();
    if has_users && args.pace.capacity_of == Of::Rate {
        return Err(UsageError(
            "--capacity searches a rate, and users ask when their steps say: give \
             --capacity-of connections, too, which searches how many users there may be"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Makes trials.
struct Maker<'a> {
    args: &'a Args,
    chosen: &'a Chosen,
    interrupt: &'a Interrupt,
    output: &'a Output,
    made: u32,
}

impl Maker<'_> {
    /// A trial of that plan; none if it was interrupted.
    fn make(&mut self, file: PlanFile, duration: Span) -> anyhow::Result<Option<Trial>> {
        let file = PlanFile {
            stop: Stop::DurationNs(duration),
            seed: self.args.seed.wrapping_add(u64::from(self.made)),
            ..file
        };
        self.made += 1;
        let plan = Plan::try_from(file).map_err(|error| UsageError(error.to_string()))?;
        let chosen = Chosen {
            plan,
            context: self.chosen.context.clone(),
            server: self.chosen.server,
            script: None,
        };
        let trial = measure(chosen, None, self.interrupt, self.output, self.args, None)?;
        Ok((!trial.record.interrupted).then_some(trial))
    }

    /// A closed loop, by which a search for a rate begins.
    fn closed(&mut self, duration: Span) -> anyhow::Result<Option<Trial>> {
        let file = PlanFile {
            arrivals: Arrivals::Closed,
            deadline: None,
            ..self.chosen.plan.file().clone()
        };
        self.make(file, duration)
    }

    /// Makes the trials that the search asks for.
    fn follow<L: Searched>(
        &mut self,
        settings: Settings<L>,
        closed_loop_rate: Option<f64>,
    ) -> anyhow::Result<Exit> {
        let objective = &self.args.pace.capacity;
        let mut search = Search::new(settings);
        let mut trials = Vec::new();
        let mut last = None;
        // Of the longest trials: within the short ones that find where to look, the first answers
        // of connections come as often as many later ones.
        let mut fastest = (Span::ZERO, 0.0_f64);
        let mut is_interrupted = false;
        let ending = loop {
            let step = match search.step() {
                Ok(step) => step,
                Err(ending) => break ending,
            };
            let file = step.load.put(self.args, self.chosen.plan.file().clone());
            let Some(trial) = self.make(file, step.duration)? else {
                is_interrupted = true;
                break search.so_far();
            };
            let weighed = capacity::weigh(&trial, objective);
            let afresh = if step.fresh { " afresh" } else { "" };
            out::note(format_args!(
                "{} for {}{afresh}: {}",
                step.load.words(),
                step.duration,
                weighed.came.words()
            ));
            search.tell(weighed.came);
            fastest = match step.duration.cmp(&fastest.0) {
                Ordering::Less => fastest,
                Ordering::Equal => (fastest.0, fastest.1.max(weighed.achieved_rate)),
                Ordering::Greater => (step.duration, weighed.achieved_rate),
            };
            trials.push(written(step, &weighed));
            last = Some(trial);
        };
        let Some(last) = last else {
            // Nothing was measured that an answer could be made of.
            return Ok(Exit::Interrupted);
        };
        let closed_loop_rate = closed_loop_rate.unwrap_or(fastest.1);
        let found = Found {
            format: 1,
            plan: self.chosen.plan.file(),
            objective: objective.iter().map(|one| one.text().to_owned()).collect(),
            closed_loop_rate,
            answer: answer(ending, is_interrupted),
            verdict: &last.verdict,
            trials,
        };
        tell(self.args, &found, (ending, is_interrupted))?;
        Ok(match is_interrupted {
            true => Exit::Interrupted,
            false => exit_of(ending, found.verdict),
        })
    }
}

/// A trial as it is written.
fn written<L: Searched>(step: capacity::Step<L>, weighed: &Weighed) -> Value {
    let Weighed {
        came,
        achieved_rate,
        thresholds,
        status,
    } = weighed;
    json!({
        L::KEY: step.load.number(),
        "duration_ns": step.duration,
        "fresh": step.fresh,
        "came": came,
        "achieved_rate": achieved_rate,
        "thresholds": thresholds,
        "status": status,
    })
}

/// The answer as it is written: its loads are numbers of what was searched.
fn answer<L: Searched>(ending: Ending<L>, is_interrupted: bool) -> Value {
    let key = |which: &str| format!("{which}_{}", L::KEY.trim_start_matches("rate_"));
    let number = |load: Option<L>| json!(load.map(L::number));
    match ending {
        Ending::Between {
            lower,
            upper,
            fresh_met,
            fresh,
        } => json!({
            "kind": "between", key("lower"): lower.number(), key("upper"): upper.number(),
            "fresh_met": fresh_met, "fresh": fresh,
        }),
        Ending::Enough { lower } => json!({ "kind": "enough", key("lower"): lower.number() }),
        Ending::GeneratorLimit { lower, failed } => json!({
            "kind": "generator_limit", key("lower"): number(lower), key("failed"): failed.number(),
        }),
        Ending::Nothing { lowest } => {
            json!({ "kind": "nothing", key("lowest"): lowest.number() })
        }
        Ending::Undecided { lower, upper } => json!({
            "kind": if is_interrupted { "interrupted" } else { "undecided" },
            key("lower"): number(lower), key("upper"): number(upper),
        }),
    }
}

fn tell<L: Searched>(
    args: &Args,
    found: &Found<'_>,
    (ending, is_interrupted): (Ending<L>, bool),
) -> anyhow::Result<()> {
    if let Some(path) = &args.json {
        let text = serde_json::to_string(found).context("cannot write the search as JSON")?;
        if path == Path::new("-") {
            return out::line(text);
        }
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let verdict = report::text::verdict(found.verdict, Style::default());
    let (count, rate) = (found.trials.len(), words::rate(found.closed_loop_rate));
    let reached = match args.pace.capacity_of {
        Of::Rate => format!("a closed loop reached {rate}/s"),
        Of::Connections => format!("the fastest reached {rate}/s"),
    };
    let mut answer = said(ending, &found.objective.join(" and "), count);
    if is_interrupted {
        answer = answer.replacen("not found within", "interrupted after", 1);
    }
    out::line(format_args!(
        "{verdict}\ncapacity    {answer}\n{:12}{}; {reached}",
        "",
        words::plural(count as u64, "trial"),
    ))
}

/// The answer in words, of a search for that objective in so many trials.
fn said<L: Searched>(ending: Ending<L>, objective: &str, count: usize) -> String {
    let seen = |load: Option<L>| load.map_or_else(|| "nothing".to_owned(), L::words);
    let pad = format!("\n{:12}", "");
    match ending {
        Ending::Between {
            lower,
            upper,
            fresh_met,
            fresh,
        } => format!(
            "{} to {} while {objective}{pad}{fresh_met} of {fresh} fresh trials held at the lower \
             one",
            lower.words(),
            upper.words(),
        ),
        Ending::Enough { lower } => format!(
            "at least {}, the most that was asked for, while {objective}{pad}give a larger -c",
            lower.words()
        ),
        Ending::GeneratorLimit { lower, failed } => format!(
            "not found: the generator or the machine was the limit at {}; {} met \
             {objective}{pad}{}",
            failed.words(),
            seen(lower),
            L::REMEDY
        ),
        Ending::Nothing { lowest } => {
            format!("none: not even {} meets {objective}", lowest.words())
        }
        Ending::Undecided { lower, upper } => format!(
            "not found within {}: {} met {objective}, {} did not",
            words::plural(count as u64, "trial"),
            seen(lower),
            seen(upper)
        ),
    }
}

fn exit_of<L>(ending: Ending<L>, verdict: &Verdict) -> Exit {
    match ending {
        _ if verdict.nothing_left() => Exit::Invalid,
        Ending::Between { .. } | Ending::Enough { .. } => Exit::Done,
        Ending::Nothing { .. } => Exit::Threshold,
        Ending::GeneratorLimit { .. } | Ending::Undecided { .. } => Exit::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use model::finding::{Claim, ClaimVerdict, Status};

    use super::*;

    /// A verdict of which the claim of a search is worth that.
    fn worth(status: Status) -> Verdict {
        let claim = ClaimVerdict {
            status,
            ..ClaimVerdict::default()
        };
        Verdict {
            status,
            claims: [(Claim::Latency, claim)].into(),
            ..Verdict::default()
        }
    }

    #[test]
    fn a_search_that_the_generator_ends_says_so_and_is_no_answer() {
        let rate = Rate::per_second;
        let check = |lower: Option<Rate>, seen: &str| {
            let ending = Ending::GeneratorLimit {
                lower,
                failed: rate(32_000),
            };
            let text = said(ending, "p(99)<5ms", 8);
            let expected = format!(
                "not found: the generator or the machine was the limit at 32,000/s; {seen} met \
                 p(99)<5ms\n            give the generator more CPUs (-t, --cpus) or more \
                 connections (-c), and let nothing else run"
            );
            assert_eq!(text, expected);
            assert_eq!(exit_of(ending, &worth(Status::Valid)), Exit::Invalid);
            let written = answer(ending, false);
            assert_eq!(written["kind"], "generator_limit");
            assert_eq!(written["failed_per_1000_s"], 32_000_000);
            assert_eq!(
                written["lower_per_1000_s"].as_u64(),
                lower.map(Rate::as_per_1000_s)
            );
        };
        check(Some(rate(16_000)), "16,000/s");
        check(None, "nothing");
        let ending = Ending::GeneratorLimit {
            lower: Some(Connections(8)),
            failed: Connections(16),
        };
        let text = said(ending, "errors<1%", 8);
        assert!(
            text.starts_with(
                "not found: the generator or the machine was the limit at 16 connections; 8 \
                 connections met errors<1%"
            ) && !text.contains("(-c)"),
            "{text}"
        );
        assert_eq!(exit_of(ending, &worth(Status::Valid)), Exit::Invalid);
    }

    #[test]
    fn an_answer_counts_unless_its_verdict_leaves_nothing_of_it() {
        let found = Ending::Between {
            lower: Connections(8),
            upper: Connections(9),
            fresh_met: 5,
            fresh: 5,
        };
        let lowest = Connections(1);
        for (status, exits) in [
            (Status::Valid, [Exit::Done, Exit::Threshold]),
            (Status::Invalid, [Exit::Invalid, Exit::Invalid]),
        ] {
            assert_eq!(exit_of(found, &worth(status)), exits[0]);
            let nothing = Ending::Nothing { lowest };
            assert_eq!(exit_of(nothing, &worth(status)), exits[1]);
        }
    }
}
