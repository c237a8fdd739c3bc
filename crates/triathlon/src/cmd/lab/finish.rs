//! After the last trial: the report, the summary, and what to do next.

use std::io::IsTerminal as _;

use lab::LabError;
use lab::store::Store;
use report::Run;
use report::text::Style;
use verdict::{TrialSet, words};

use crate::exit::Exit;
use crate::out;

/// Writes the report of what there is, prints the summary, says how it went on.
pub(super) fn finish(store: &Store, outcome: Result<(), LabError>) -> anyhow::Result<Exit> {
    let mut run = Run::of(&store.manifest()?, &store.gaps()?);
    let mut set = TrialSet::default();
    for trial in store.trials() {
        let trial = trial?;
        run.add(&trial);
        set.add(&trial);
    }
    run.judge(&set.verdicts());
    run.sort();
    let measured = || run.digests().iter().filter(|digest| !digest.ceiling);
    let count = measured().count();
    let all_invalid = measured().all(report::run::Digest::nothing_left);
    let mut page = Ok(());
    if count > 0 {
        out::write(&report::text::lab(&run, style()))?;
        match store.put_file("report.html", report::html::page(&run).as_bytes()) {
            Ok(path) => out::line(format_args!("\nreport: {}", path.display()))?,
            Err(error) => page = Err(error),
        }
    }
    let directory = store.directory().display();
    let kept = words::plural(count as u64, "trial");
    let go_on = if count > 0 || matches!(outcome, Err(LabError::Interrupted)) {
        format!("; go on with: triathlon lab --resume {directory}")
    } else {
        String::new()
    };
    match (outcome, page) {
        (Ok(()), Ok(())) if count > 0 && all_invalid => Ok(Exit::Invalid),
        (Ok(()), Ok(())) => Ok(Exit::Done),
        (Err(LabError::Interrupted), page) => {
            eprintln!("interrupted: {kept} kept in {directory}{go_on}");
            if let Err(error) = page {
                eprintln!("there is no report: {error}");
            }
            Ok(Exit::Interrupted)
        }
        (Err(error), _) | (Ok(()), Err(error)) => {
            eprintln!("{kept} kept in {directory}{go_on}");
            Err(error.into())
        }
    }
}

/// Colours for a person at a terminal who has not declined them.
fn style() -> Style {
    Style {
        colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    }
}
