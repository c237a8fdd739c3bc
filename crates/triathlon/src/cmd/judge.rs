//! `triathlon judge TRIAL...`: judges stored trials again.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::exit::Exit;

/// Arguments of `triathlon judge`.
#[derive(clap::Args, Debug)]
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
        println!("{}: {}", path.display(), trial.verdict.status);
    }
    Ok(Exit::Done)
}
