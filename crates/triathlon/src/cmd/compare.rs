//! `triathlon compare A B`: two results laid over each other.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::probe::shelf;
use model::probe::ProbeResult;
use report::probe::Side;

use crate::exit::{Exit, UsageError};
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon compare results/probe/2026-11-20T10-00-00Z results/probe/2026-11-20T11-00-00Z
  triathlon compare old/bind-2003-10.json new/bind-2003-10.json --html bind.html";

/// Arguments of `triathlon compare`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The first: a folder that 'triathlon probe' wrote, or one file of it.
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The second.
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Write the page here.
    #[arg(long, value_name = "FILE", default_value = "compare.html")]
    html: PathBuf,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.html == Path::new("-") {
        let why = "--html -: stdout takes the comparison as text; name a file for the page";
        return Err(UsageError(why.to_owned()).into());
    }
    let read = |path: &Path| -> anyhow::Result<Vec<ProbeResult>> {
        if !path.exists() {
            anyhow::bail!("{} does not exist", path.display());
        }
        Ok(shelf::read(path)?)
    };
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    let [a, b] = names([(&args.first, &first), (&args.second, &second)]);
    let sides = [
        Side {
            name: &a,
            results: &first,
        },
        Side {
            name: &b,
            results: &second,
        },
    ];
    let page = report::html::probes("Two results of probes", &sides);
    std::fs::write(&args.html, page)
        .with_context(|| format!("cannot write {}", args.html.display()))?;
    out::write(&report::probe::comparison(&sides))?;
    out::line(format_args!("\n{}", args.html.display()))?;
    Ok(Exit::Done)
}

/// What tells two results apart, in as few words as do: the kernel, else the place.
fn names(sides: [(&PathBuf, &Vec<ProbeResult>); 2]) -> [String; 2] {
    let kernels = sides.map(|(_, results)| {
        results
            .first()
            .and_then(|result| result.environment.kernel.clone())
            .unwrap_or_default()
    });
    if kernels[0] != kernels[1] && kernels.iter().all(|kernel| !kernel.is_empty()) {
        return kernels;
    }
    let places = sides.map(|(path, _)| path.components().as_path().display().to_string());
    if places[0] == places[1] {
        // The same one twice is still two sides.
        return ["A", "B"].map(str::to_owned);
    }
    places
}
