//! `triathlon judge TRIAL|DIR...`: judges stored trials again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use model::point::Execution;
use model::{Trial, Verdict};
use report::Run;
use report::text;
use verdict::TrialSet;

use super::stored::Opened;
use crate::exit::Exit;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon load http://127.0.0.1:8080/ --json trial.json; triathlon judge trial.json
      what one trial is worth
  triathlon judge results/first-heat
      all trials of an experiment, by the rules of today, with the answers of its report

Exit codes: 0 judged, 1 a trial is missing or cannot be read (the others are judged), 2 wrong usage,
3 every claim of every trial is invalid.";

/// Arguments of `triathlon judge`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Stored trials (JSON), results directories or packs of them; those of one experiment are
    /// judged together
    #[arg(required = true, value_name = "TRIAL|DIR")]
    trials: Vec<PathBuf>,
    /// Print the verdicts as JSON, one line for each trial with the name of its file, instead of
    /// text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut set = TrialSet::default();
    let mut executions: BTreeMap<Execution, Judged> = BTreeMap::new();
    let opened = Opened::of(&args.trials)?;
    let stored = super::stored::trials(&opened)?;
    let mut is_complete = stored.is_complete;
    let mut paths = Vec::new();
    for path in stored.paths {
        let trial = match read(&path) {
            Ok(trial) => trial,
            // One that cannot be read takes nothing from the others.
            Err(error) => {
                let said = opened.named(&crate::sentence(&error));
                out::note(format_args!("triathlon: {said}"));
                is_complete = false;
                continue;
            }
        };
        set.add(&trial);
        if let Some(point) = &trial.point {
            let of_it = executions.entry(point.id.execution.clone());
            let judged = of_it.or_insert_with(|| Judged::beside(&path));
            judged.run.add(&trial);
            judged.positions.push(paths.len());
        }
        paths.push(path);
    }
    let verdicts = set.verdicts();
    if !args.json {
        for judged in executions.values_mut() {
            judged.tell(&verdicts)?;
        }
    }
    for (path, verdict) in paths.iter().zip(&verdicts) {
        print(&opened.shown(path), verdict, args.json)?;
    }
    let nothing_left = verdicts.iter().all(Verdict::nothing_left);
    Ok(if !is_complete {
        Exit::World
    } else if nothing_left {
        Exit::Invalid
    } else {
        Exit::Done
    })
}

/// The trials of one execution, put together.
struct Judged {
    run: Run,
    /// Where they stand among all that were given.
    positions: Vec<usize>,
}

impl Judged {
    /// Nothing yet, but what the manifest says of a trial that lies in `path`: how the servers
    /// compare depends on what was asked.
    fn beside(path: &Path) -> Self {
        let manifest = super::stored::manifest_of(path);
        Self {
            run: manifest.map_or_else(Run::default, |manifest| Run::of(&manifest, &[])),
            positions: Vec::new(),
        }
    }

    /// The answers and the numbers that they rest on, as the report has them.
    fn tell(&mut self, verdicts: &[Verdict]) -> anyhow::Result<()> {
        if self.positions.len() < 2 {
            return Ok(());
        }
        let of_it = self.positions.iter().map(|position| &verdicts[*position]);
        self.run.judge(&of_it.cloned().collect::<Vec<_>>());
        self.run.sort();
        out::line(text::analysis(&self.run, out::style()))
    }
}

fn read(path: &Path) -> anyhow::Result<Trial> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    super::stored::trial(path, &text)
}

/// A verdict as one of many.
#[derive(serde::Serialize)]
struct Line<'a> {
    /// Where its trial lies.
    file: String,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

fn print(path: &Path, verdict: &Verdict, json: bool) -> anyhow::Result<()> {
    let file = path.display().to_string();
    if json {
        let line = Line { file, verdict };
        return out::line(format_args!("{}", serde_json::to_string(&line)?));
    }
    out::line(text::judged(&file, verdict, out::style()))
}
