//! `triathlon load`: makes load and says what came of it.

mod agents;
mod arguments;
mod capacity;
mod conditions;
mod credentials;
mod expected;
mod exports;
mod form;
mod limit;
mod lines;
mod lists;
mod lua;
mod meter;
mod metrics;
mod output;
mod pace;
mod places;
mod planned;
mod renewal;
mod series;
mod server;
mod slow;
mod sources;
mod targets;
mod tls;
mod view;

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use load::{LoadError, Notice, Part};
use model::event::Event;
use model::finding::Status;
use model::plan::{Plan, PlanFile};
use model::record::{Record, Recovery};
use model::units::{Instant, Span};
use model::{Json as _, Trial, trial};
use sys::clock;
use sys::process::Interrupt;

use self::agents::Elsewhere;
pub(crate) use self::arguments::Args;
use self::arguments::Chosen;
use self::limit::{Gone, Limit};
use self::meter::Meter;
use self::metrics::Metrics;
use self::output::Output;
pub(crate) use self::output::path_of;
pub(crate) use self::server::is_ours;
use crate::exit::{Exit, UsageError};
use crate::lua::{Ended, Script};
use crate::{out, tools};

/// A lab on this machine measures us, and we measure it.
fn tell_of_lab() {
    if let Some(holder) = lab::lock::holder(Path::new(lab::lock::PLACE)) {
        out::note(format_args!(
            "a lab is measuring on this machine (process {}, since {}): it disturbs this run, and \
             this run disturbs it",
            holder.pid, holder.since
        ));
    }
}

/// Measures what the flags say, for at most `most`, and leaves the telling to whoever asked, with
/// the script that wants to tell something too.
pub(crate) fn measured(args: &Args, most: Option<Span>) -> anyhow::Result<(Trial, Option<Ended>)> {
    let interrupt = Interrupt::arm().context("cannot catch SIGINT")?;
    sys::process::raise_open_files(u64::MAX).context("cannot raise the limit of open files")?;
    tell_of_lab();
    let mut chosen = arguments::choose(args, None)?;
    let script = chosen.script.take();
    let output = Output::of_another(args);
    let trial = measure(chosen, script.as_ref(), &interrupt, &output, args, most);
    let script = script.map(Script::ended);
    Ok((trial?, script))
}

/// Nothing was said of what to ask.
const NOTHING: &str = "load needs to know what to ask: a URL, as in

  triathlon load http://127.0.0.1:8080/

or a file: --urls, --raw, --script, --har or --plan. 'triathlon load --help' has examples of each.";

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.asks_nothing() && !args.fleet.is_resumed() {
        return Err(UsageError(NOTHING.to_owned()).into());
    }
    let interrupt = Interrupt::arm().context("cannot catch SIGINT")?;
    // Before the machine is read, so that the record tells the limit that the run has.
    sys::process::raise_open_files(u64::MAX).context("cannot raise the limit of open files")?;
    Output::try_out(args)?;
    let mut output = Output::new(args);
    if args.fleet.is_resumed() {
        return tell(args.fleet.resume(args, &interrupt)?, args, &output);
    }
    if let Some(agents) = args.fleet.gather()? {
        let chosen = choose(args, Some(agents.cpus()))?;
        output.begin(args, &chosen.plan)?;
        return tell(agents.measure(&chosen, args, &interrupt)?, args, &output);
    }
    let mut chosen = match &args.plan {
        Some(path) => Chosen {
            plan: read_plan(path, args.part.is_some())?,
            context: trial::Context::default(),
            server: None,
            script: None,
        },
        None => {
            tell_of_lab();
            choose(args, None)?
        }
    };
    if !args.pace.capacity.is_empty() {
        return capacity::search(args, &chosen, &interrupt);
    }
    output.begin(args, &chosen.plan)?;
    let script = chosen.script.take();
    let made = measure(chosen, script.as_ref(), &interrupt, &output, args, None);
    let script = script.map(Script::ended);
    match made {
        Ok(trial) => {
            let exit = exit_of(&trial);
            let finished = script.as_ref().map(|_| tools::finished(&trial));
            match output.finish(args, trial) {
                // Whoever interrupts it by closing the terminal takes no result.
                Err(error) if exit == Exit::Interrupted => out::note(format_args!("{error:#}")),
                told => told?,
            }
            match (script, finished) {
                (Some(script), Some(finished)) => script.finish(finished, exit),
                _ => Ok(exit),
            }
        }
        Err(error) if args.plan.is_some() => {
            output::write_event(&Event::Failed {
                error: format!("{error:#}"),
            })?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// The plan that the flags mean, which are those of this command itself.
fn choose(args: &Args, elsewhere: Option<usize>) -> anyhow::Result<Chosen> {
    arguments::choose(args, elsewhere).map_err(credentials::by_flag)
}

/// Tells what agents made.
fn tell(made: Elsewhere, args: &Args, output: &Output) -> anyhow::Result<Exit> {
    let exit = exit_of(made.trial());
    made.told(|trial| output.finish(args, trial))?;
    Ok(exit)
}

/// From a line of standard input where more lines follow, as with a part.
fn read_plan(path: &Path, is_line: bool) -> anyhow::Result<Plan> {
    let text = if path == Path::new("-") {
        let mut line = String::new();
        let read = if is_line {
            std::io::stdin().read_line(&mut line).map(|_| line)
        } else {
            std::io::read_to_string(std::io::stdin())
        };
        read.context("cannot read the plan from stdin")?
    } else {
        std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the plan {}", path.display()))?
    };
    let file = PlanFile::from_json(text.as_bytes()).map_err(|error| {
        let hint = match Trial::from_json(text.as_bytes()) {
            Ok(_) => "; it is a result, and its plan is the value of its key plan",
            Err(_) => "",
        };
        UsageError(format!("{} is not a plan: {error}{hint}", path.display()))
    })?;
    Ok(Plan::try_from(file).map_err(|error| UsageError(error.to_string()))?)
}

/// Makes the load and puts the trial together.
fn measure(
    chosen: Chosen,
    script: Option<&Script>,
    interrupt: &Interrupt,
    output: &Output,
    args: &Args,
    most: Option<Span>,
) -> anyhow::Result<Trial> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut environment = output::environment(output.is_for_programs());
    let mut metrics = args.exports.metrics.map(Metrics::listen).transpose()?;
    // Started with a plan, it is metered by whoever started it.
    let plan = chosen.plan.file();
    let mut meter = (!output.is_for_programs()).then(|| Meter::new(chosen.server, plan));
    let mut shown = output.shown(&chosen.plan);
    let mut failed = None;
    let (mut limit, mut gone) = (Limit::new(most), Gone::new(plan));
    let made = make_load(&chosen.plan, script, args, &stop, &mut |notice| {
        if interrupt.is_raised() {
            stop.store(true, Ordering::Relaxed);
        }
        if limit.is_over(notice.as_ref()) | gone.is_over(notice.as_ref()) {
            stop.store(true, Ordering::Relaxed);
        }
        let Some(notice) = notice else { return };
        if let (Some(meter), Notice::Phase(phase, at)) = (&mut meter, &notice) {
            meter.enter(*phase, *at);
        }
        if let Some(metrics) = &mut metrics {
            metrics.notice(&notice);
        }
        if let Some(shown) = &mut shown {
            shown.notice(&notice);
        }
        if let Err(error) = output.notice(&notice) {
            failed.get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
        }
    });
    if let (Err(_), Some(shown)) = (&made, &mut shown) {
        shown.end();
    }
    let mut record = made?;
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(note) = gone.note() {
        // Where lines or another tool's text are printed, nobody reads the record's notes.
        out::note(format_args!("triathlon: {note}"));
        record.notes.push(note);
    }
    // Whoever gave a limit was not interrupted by it.
    record.interrupted &= interrupt.is_raised() || !limit.is_over(None);
    if !output.is_for_programs() {
        let asked = chosen.plan.file().addresses.first();
        environment.path = path_of(asked.map(SocketAddr::ip), &record);
    }
    let recovery = Recovery::of(&record.intervals);
    let mut trial = Trial {
        format: model::plan::FORMAT,
        point: None,
        plan: chosen.plan.file().clone(),
        environment,
        record,
        usage: meter.map(Meter::usage).unwrap_or_default(),
        context: chosen.context,
        verdict: model::Verdict::default(),
        void: None,
        thresholds: Vec::new(),
        recovery,
        agents: Vec::new(),
        servers_clock: None,
    };
    // Before anything else reads it: no finding can repeat what is not there.
    if !args.keep_secrets {
        trial.redact();
    }
    trial.verdict = verdict::judge(&trial);
    let thresholds = args.thresholds.iter();
    trial.thresholds = thresholds.map(|one| one.judge(&trial.record)).collect();
    Ok(trial)
}

/// Makes the load here, or in as many processes as it needs.
fn make_load(
    plan: &Plan,
    script: Option<&Script>,
    args: &Args,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> anyhow::Result<Record> {
    if let Some(script) = script {
        let made = load::run_led(plan, script.seats(), stop, notice);
        return made.map_err(|error| match error {
            LoadError::Author(why) => UsageError(format!("the Lua script: {why}")).into(),
            error => error.into(),
        });
    }
    if let Some(workers) = &args.part {
        let mut begin = || begin(stop);
        let part = Part::new(workers.clone(), &mut begin);
        return Ok(load::run_part(plan, part, stop, notice)?);
    }
    let parts = load::divide(plan)?;
    if parts.len() == 1 {
        return Ok(load::run(plan, stop, notice)?);
    }
    Ok(load::run_divided(
        plan,
        &parts,
        &mut command_of,
        stop,
        notice,
    )?)
}

/// This program, for a part of the workers. Its examples are redacted where those of the whole run
/// are.
fn command_of(workers: &Range<u32>) -> Command {
    let program = std::env::current_exe().unwrap_or_else(|_| "triathlon".into());
    let mut command = Command::new(program);
    command.args(["load", "--plan", "-", "--keep-secrets", "--part"]);
    command.arg(format!("{}..{}", workers.start, workers.end));
    command
}

/// Says that the workers of this part are ready, and waits to be told when all parts begin. Where
/// nobody tells, nobody takes the result.
fn begin(stop: &AtomicBool) -> Instant {
    let told = output::write_event(&Event::Ready).and_then(|()| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        Ok(Instant::from_ns(line.trim().parse()?))
    });
    told.unwrap_or_else(|_| {
        stop.store(true, Ordering::Relaxed);
        clock::monotonic()
    })
}

/// What the exit code says of a measured trial.
pub(crate) fn exit_of(trial: &Trial) -> Exit {
    if trial.record.interrupted {
        Exit::Interrupted
    } else if trial.verdict.status == Status::Invalid && trial.verdict.nothing_left() {
        Exit::Invalid
    } else if trial.thresholds.iter().any(|one| !one.met) {
        Exit::Threshold
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use model::finding::Claim;
    use model::threshold::Threshold;

    use super::*;

    /// What was measured is worth something, and a condition of it was missed: 4. Where nothing is
    /// left of it, that is said first, and a run that was cut short says so before all else.
    #[test]
    fn the_exit_code_says_what_became_of_a_run() {
        let mut trial = model::fixture::open();
        trial.verdict = verdict::judge(&trial);
        assert!(!trial.verdict.nothing_left());
        let judged = |condition: &str, trial: &Trial| {
            let threshold: Threshold = condition.parse().unwrap();
            vec![threshold.judge(&trial.record)]
        };
        trial.thresholds = judged("errors<100%", &trial);
        assert_eq!(exit_of(&trial), Exit::Done);
        trial.thresholds = judged("rate>100M", &trial);
        assert_eq!(exit_of(&trial), Exit::Threshold);
        trial.verdict.status = Status::Invalid;
        assert_eq!(exit_of(&trial), Exit::Threshold, "one claim is left");
        for worth in trial.verdict.claims.values_mut() {
            worth.status = Status::Invalid;
        }
        assert!(trial.verdict.claims.contains_key(&Claim::Latency));
        assert_eq!(exit_of(&trial), Exit::Invalid);
        trial.record.interrupted = true;
        assert_eq!(exit_of(&trial), Exit::Interrupted);
    }
}
