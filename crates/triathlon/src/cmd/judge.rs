//! `triathlon judge TRIAL...`: judges stored trials again.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use model::{Trial, Verdict};
use report::text::{self, Style};
use verdict::TrialSet;

use crate::exit::Exit;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon load http://127.0.0.1:8080/ --json trial.json; triathlon judge trial.json
      what one trial is worth
  triathlon judge results/first-heat/*/trials/*.json
      all trials of an experiment, by the rules of today";

/// Arguments of `triathlon judge`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Stored trials (JSON); those of one experiment are judged together
    #[arg(required = true, value_name = "TRIAL")]
    trials: Vec<PathBuf>,
    /// Print the verdicts as JSON, one line for each trial, instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut set = TrialSet::default();
    for path in &args.trials {
        set.add(&read(path)?);
    }
    super::stored::differences_around(&args.trials)?;
    let verdicts = set.verdicts();
    for (path, verdict) in args.trials.iter().zip(&verdicts) {
        print(path, verdict, args.json)?;
    }
    let nothing_left = verdicts.iter().all(Verdict::nothing_left);
    Ok(if nothing_left {
        Exit::Invalid
    } else {
        Exit::Done
    })
}

fn read(path: &Path) -> anyhow::Result<Trial> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    super::stored::trial(path, &text)
}

fn print(path: &Path, verdict: &Verdict, json: bool) -> anyhow::Result<()> {
    if json {
        out::line(format_args!("{}", serde_json::to_string(verdict)?))?;
        return Ok(());
    }
    let style = Style {
        colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    out::line(format_args!(
        "{}",
        text::judged(&path.display().to_string(), verdict, style)
    ))?;
    Ok(())
}
