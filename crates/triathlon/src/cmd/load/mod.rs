//! `triathlon load`: makes load and says what came of it.

mod arguments;
mod meter;
mod output;
mod server;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use load::Notice;
use model::event::Event;
use model::finding::Status;
use model::plan::{Plan, PlanFile};
use model::{Trial, trial};
use sys::process::Interrupt;

pub(crate) use self::arguments::Args;
use self::arguments::Chosen;
use self::meter::Meter;
use self::output::Output;
use crate::exit::{Exit, UsageError};
use crate::out;

/// A lab on this machine measures us, and we measure it.
fn tell_of_lab() {
    if let Some(holder) = lab::lock::holder(Path::new(lab::lock::PLACE)) {
        out::note(format_args!(
            "a lab measures on this machine (process {}, since {}): it disturbs this run, and this \
             run disturbs it",
            holder.pid, holder.since
        ));
    }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let interrupt = Interrupt::arm().context("cannot catch SIGINT")?;
    // Before the machine is read, so that the record tells the limit that the run has.
    sys::process::raise_open_files(u64::MAX).context("cannot raise the limit of open files")?;
    Output::try_out(args)?;
    let output = Output::new(args);
    let chosen = match &args.plan {
        Some(path) => Chosen {
            plan: read_plan(path)?,
            context: trial::Context::default(),
            server: None,
        },
        None => {
            tell_of_lab();
            arguments::choose(args)?
        }
    };
    match measure(chosen, interrupt, &output, args.keep_secrets) {
        Ok(trial) => {
            let exit = exit_of(&trial);
            match output.finish(args, trial) {
                // Whoever interrupts it by closing the terminal takes no result.
                Err(error) if exit == Exit::Interrupted => out::note(format_args!("{error:#}")),
                told => told?,
            }
            Ok(exit)
        }
        Err(error) if args.plan.is_some() => {
            output.event(&Event::Failed {
                error: format!("{error:#}"),
            })?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

fn read_plan(path: &Path) -> anyhow::Result<Plan> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).context("cannot read the plan from stdin")?
    } else {
        std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the plan {}", path.display()))?
    };
    let file: PlanFile = serde_json::from_str(&text)
        .map_err(|error| UsageError(format!("{} is not a plan: {error}", path.display())))?;
    Ok(Plan::try_from(file).map_err(|error| UsageError(error.to_string()))?)
}

/// Makes the load and puts the trial together.
fn measure(
    chosen: Chosen,
    interrupt: Interrupt,
    output: &Output,
    keeps_secrets: bool,
) -> anyhow::Result<Trial> {
    let stop = Arc::new(AtomicBool::new(false));
    // Started with a plan, it is metered by whoever started it.
    let mut meter = (!output.is_for_programs()).then(|| Meter::new(chosen.server));
    let environment = output::environment(output.is_for_programs());
    let mut failed = None;
    let record = load::run(&chosen.plan, &stop, &mut |notice| {
        if interrupt.is_raised() {
            stop.store(true, Ordering::Relaxed);
        }
        let Some(notice) = notice else { return };
        if let (Some(meter), Notice::Phase(phase, at)) = (&mut meter, &notice) {
            meter.enter(*phase, *at);
        }
        if let Err(error) = output.notice(&notice) {
            failed.get_or_insert(error);
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
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
    };
    // Before anything else reads it: no finding can repeat what is not there.
    if !keeps_secrets {
        trial.redact();
    }
    trial.verdict = verdict::judge(&trial);
    Ok(trial)
}

/// What the exit code says of a measured trial.
fn exit_of(trial: &Trial) -> Exit {
    if trial.record.interrupted {
        Exit::Interrupted
    } else if trial.verdict.status == Status::Invalid && trial.verdict.nothing_left() {
        Exit::Invalid
    } else {
        Exit::Done
    }
}
