//! `triathlon judge TRIAL...`: judges stored trials again.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::exit::Exit;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon load http://127.0.0.1:8080/ --json trial.json && triathlon judge trial.json
      what one trial is worth
  triathlon judge results/first-heat/*/trials/*.json
      all trials of an experiment, by the rules of today";

/// Arguments of `triathlon judge`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Stored trials (JSON).
    #[arg(required = true)]
    trials: Vec<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    for path in &args.trials {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let trial: model::Trial = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a trial", path.display()))?;
        out::line(format_args!("{}: {}", path.display(), trial.verdict.status))?;
    }
    Ok(Exit::Done)
}
