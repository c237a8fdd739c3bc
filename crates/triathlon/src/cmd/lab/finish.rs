//! After the last trial: the report, the summary, and what to do next.

use lab::LabError;
use lab::store::Store;
use model::Status;
use report::Run;

use crate::exit::Exit;

/// Writes the report of what there is, prints the summary, says how it went on.
pub(super) fn finish(store: &Store, outcome: Result<(), LabError>) -> anyhow::Result<Exit> {
    let mut run = Run::of(&store.manifest()?, &store.gaps()?);
    let mut all_invalid = true;
    let mut count = 0_u32;
    for trial in store.trials() {
        let trial = trial?;
        run.add(&trial);
        let is_ceiling = trial.point.as_ref().is_some_and(|point| point.ceiling);
        if !is_ceiling {
            count += 1;
            let verdict = &trial.verdict;
            all_invalid &= verdict.status == Status::Invalid && verdict.nothing_left();
        }
    }
    run.sort();
    if count > 0 {
        let page = store.put_file("report.html", report::html::page(&run).as_bytes())?;
        println!("report: {}", page.display());
    }
    let directory = store.directory().display();
    match outcome {
        Ok(()) if count > 0 && all_invalid => Ok(Exit::Invalid),
        Ok(()) => Ok(Exit::Done),
        Err(LabError::Interrupted) => {
            eprintln!(
                "interrupted: {count} trials are kept in {directory}; go on with: \
                 triathlon lab --resume {directory}"
            );
            Ok(Exit::Interrupted)
        }
        Err(error) => {
            eprintln!("{count} trials are kept in {directory}");
            Err(error.into())
        }
    }
}
