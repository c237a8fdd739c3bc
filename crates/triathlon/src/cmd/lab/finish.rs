//! After the last trial: the report, the summary, and what to do next.

use std::path::Path;

use lab::LabError;
use lab::execution::Short;
use lab::store::Store;
use model::experiment::Gap;
use model::{Experiment, Manifest};
use report::Run;
use verdict::analysis::Comparison;
use verdict::{TrialSet, words};

use super::missed::{Done, missed};
use crate::exit::Exit;
use crate::out;

/// Writes the report of what there is, prints the summary, says how it went on. A new folder
/// without a trial is removed after a failure, which has said all that is in it.
pub(super) fn finish(
    store: &Store,
    outcome: Result<(), LabError>,
    is_new: bool,
) -> anyhow::Result<Exit> {
    let outcome = match outcome {
        Err(LabError::Interrupted) => Err(LabError::Interrupted),
        Err(error) if is_new && store.remove_without_trials() => return Err(error.into()),
        outcome => outcome,
    };
    let (manifest, gaps) = (store.manifest()?, store.gaps()?);
    let mut run = read(store, &manifest, &gaps)?;
    let written = std::fs::read_to_string(store.directory().join("experiment.toml")).ok();
    run.experiment = written.map(|written| model::redact::written(&written));
    run.sort();
    let measured = || run.digests().iter().filter(|digest| !digest.ceiling);
    let count = measured().count();
    let all_invalid = measured().all(report::digests::Digest::nothing_left);
    // The page first: where nobody takes the summary, what was measured has its report.
    let page = (count > 0)
        .then(|| store.put_file("report.html", &report::html::page(&run)))
        .transpose();
    let place = page.as_ref().ok().and_then(Option::as_deref);
    let told = tell(&run, count > 0, place);
    let directory = store.directory().display();
    // Those of ceilings, too: each has its file.
    let kept = words::plural(run.digests().len() as u64, "trial");
    // What went wrong elsewhere may be right the next time.
    let ended = matches!(outcome, Err(LabError::Interrupted | LabError::Host { .. }));
    let go_on = if count > 0 || ended {
        let word = crate::shell::word(store.directory());
        format!("; go on with: triathlon lab --resume {word}")
    } else {
        String::new()
    };
    let failure = match (outcome, page) {
        (Err(LabError::Interrupted), page) => {
            out::note(format_args!(
                "interrupted: {kept} kept in {directory}{go_on}"
            ));
            if let Err(error) = page {
                out::note(format_args!("there is no report: {error}"));
            }
            return Ok(Exit::Interrupted);
        }
        (Err(error), _) | (Ok(()), Err(error)) => Some(error.into()),
        (Ok(()), Ok(_)) => told.err(),
    };
    if let Some(error) = failure {
        out::note(format_args!("{kept} kept in {directory}{go_on}"));
        return Err(error);
    }
    let unmeasured = unmeasured(&manifest, &gaps, &run);
    if count == 0 {
        out::note(format_args!(
            "nothing was measured; {kept} kept in {directory}"
        ));
        Ok(Exit::World)
    } else if !unmeasured.is_empty() {
        let unmeasured = unmeasured.join(", ");
        out::note(format_args!("asked for, but not measured: {unmeasured}"));
        Ok(Exit::World)
    } else if all_invalid {
        Ok(Exit::Invalid)
    } else {
        Ok(Exit::Done)
    }
}

/// What is stored, judged.
fn read(store: &Store, manifest: &Manifest, gaps: &[Gap]) -> Result<Run, LabError> {
    let mut run = Run::of(manifest, gaps);
    let mut set = TrialSet::default();
    for trial in store.trials() {
        let mut trial = trial?;
        // Earlier versions stored more than may be shown.
        trial.redact();
        run.add(&trial);
        set.add(&trial);
    }
    run.judge(&set.verdicts());
    Ok(run)
}

/// The comparisons that so many spare rounds can save.
pub(super) fn short(store: &Store, spares: usize) -> Result<Vec<Short>, LabError> {
    let manifest = store.manifest()?;
    let run = read(store, &manifest, &store.gaps()?)?;
    let planned = Experiment::try_from(manifest.experiment).map(|e| e.rounds() as usize);
    let asked = planned.unwrap_or(0);
    let is_short = |comparison: &Comparison| comparison.is_short(asked, spares);
    let comparisons = run.comparisons().into_iter().filter(is_short);
    let short = comparisons.map(|comparison| Short {
        connections: comparison.load.connections(),
        rate: comparison.load.rate().filter(|rate| !rate.is_zero()),
        workload: comparison.workload,
    });
    Ok(short.collect())
}

/// Whether a server that is not installed is missed. A built-in experiment runs those that there
/// are, unless the command line names some.
pub(super) fn names_its_servers(manifest: &Manifest) -> bool {
    let named = |word: &String| word.starts_with("server=");
    manifest.source != "built-in" || manifest.command.iter().any(named)
}

/// Servers, and points of one, that were asked for and of which there is not one trial.
fn unmeasured(manifest: &Manifest, gaps: &[Gap], run: &Run) -> Vec<String> {
    let Ok(experiment) = Experiment::try_from(manifest.experiment.clone()) else {
        return Vec::new();
    };
    let digests = || run.digests().iter().filter(|digest| !digest.ceiling);
    let done = digests().map(|digest| Done {
        server: digest.id.server.clone(),
        workload: digest.id.workload.clone(),
    });
    let done: Vec<Done> = done.collect();
    let is_measured = |gap: &Gap| digests().any(|digest| gap.is_of(&digest.id));
    let named = names_its_servers(manifest);
    let missed = missed(&experiment, gaps, named, &done, &is_measured);
    let mut names: Vec<String> = missed
        .into_iter()
        .map(|gap| match &gap.workload {
            Some(workload) if gap.load.text().is_empty() => {
                format!("{} ({workload})", gap.server)
            }
            Some(workload) => format!("{} ({workload}, {})", gap.server, gap.load.text()),
            None => gap.server.clone(),
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Prints the summary of what was measured and the place of its page.
fn tell(run: &Run, is_measured: bool, page: Option<&Path>) -> anyhow::Result<()> {
    if is_measured {
        out::write(&report::text::lab(run, out::style()))?;
    }
    if let Some(page) = page {
        out::line(format_args!("\nreport: {}", page.display()))?;
    }
    Ok(())
}
