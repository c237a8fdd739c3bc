//! `triathlon pack DIR -o FILE`: a results folder as one small file, to be kept in a repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::probe::shelf;
use lab::scratch::Scratch;
use lab::store::digests::{self, Digests};
use lab::store::pack;
use model::Trial;
use model::distribution::Exact;
use report::digests::QUANTILES;
use verdict::{TrialSet, WAITED};

use super::publish::Cleaned;
use super::stored::{self, Opened, newest};
use crate::exit::{Exit, UsageError};
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon pack results/first-heat -o first-heat.pack
      the newest results of an experiment as one file
  triathlon report first-heat.pack --html page.html
      its report; judge and compare read it, too

What is kept: manifest, experiment, gaps, configurations, and of each trial all that its report, its
verdict and comparisons are made of. Distributions keep the quantiles of the report and their ends;
the values between are merged. Every trial is checked to be judged as before. Results of
probes keep every point. Host names, user names, paths below home folders and credentials are
replaced, as by report --publish.

Exit codes: 0 written, 1 something failed (also if a stored trial is missing: the pack holds the
others), 2 wrong usage.";

/// Arguments of `triathlon pack`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A results directory of 'triathlon lab', or a folder of results of 'triathlon probe'
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write the pack here
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace this word, too; may be given several times
    #[arg(long, value_name = "WORD")]
    hide: Vec<String>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if !args.folder.is_dir() {
        let why = format!("{} is no results directory", args.folder.display());
        return Err(UsageError(why).into());
    }
    let folder = newest(&args.folder)?;
    let place = folder.display().to_string();
    let has_trials = folder.join("manifest.json").is_file();
    if !has_trials && shelf::read(&folder).is_err() {
        let why = format!(
            "{} holds no manifest.json of a lab, and no result of a probe",
            folder.display()
        );
        return Err(UsageError(why).into());
    }
    let differences = stored::differences(&folder, &Opened::default())?;
    let scratch = Scratch::create().context("cannot make a folder for the pack")?;
    let bundle = scratch.path().join("bundle");
    let cleaned = Cleaned::write(&[folder], &bundle, &args.hide)?;
    let what = match has_trials {
        true => {
            let count = thin(&bundle).map_err(|error| {
                // Whoever reads this knows the results, not the copy that is made of them.
                let said = crate::sentence(&error);
                anyhow::Error::msg(said.replace(&bundle.display().to_string(), &place))
            });
            verdict::words::plural(count? as u64, "trial")
        }
        false => verdict::words::plural(shelf::read(&bundle)?.len() as u64, "probe"),
    };
    let bytes = pack::pack(&bundle)?;
    fs::write(&args.output, &bytes)
        .with_context(|| format!("cannot write {}", args.output.display()))?;
    cleaned.tell(&bundle)?;
    let size = model::Bytes::new(bytes.len() as u64);
    out::line(format_args!("{}: {what}, {size}", args.output.display()))?;
    Ok(match differences.missing.is_empty() {
        true => Exit::Done,
        false => Exit::World,
    })
}

/// Thins the trials of a folder, and returns how many there are: each as far as rules say the same
/// of it, numbers included.
fn thin(folder: &Path) -> anyhow::Result<usize> {
    let mut files = Vec::new();
    stored::find(&folder.join("trials"), 0, &mut files)?;
    files.sort();
    let mut known = Digests::read(folder).context("cannot read the digests")?;
    let mut whole = TrialSet::default();
    let mut thin = WAYS.map(|_| TrialSet::default());
    for path in &files {
        let trial = read(path)?;
        whole.add(&trial);
        for (way, set) in WAYS.iter().zip(&mut thin) {
            set.add(&thinned(&trial, way));
        }
    }
    let whole = whole.verdicts();
    let thin = thin.map(|set| set.verdicts());
    for (place, path) in files.iter().enumerate() {
        let mut ways = WAYS.iter().zip(&thin);
        let way = ways.find(|(_, verdicts)| verdicts[place] == whole[place]);
        let trial = read(path)?;
        let kept = way.map_or_else(|| trial.clone(), |(way, _)| thinned(&trial, way));
        let text = serde_json::to_value(&kept)?.to_string() + "\n";
        let name = path.strip_prefix(folder).unwrap_or(path);
        let name = name.to_string_lossy();
        if let Some(known) = &mut known
            && let Some(stored) = known.of(&name)
            && stored == digests::digest(&fs::read(path)?)
        {
            known.set(&name, digests::digest(text.as_bytes()));
        }
        write(path, &text)?;
    }
    if let Some(known) = known {
        write(&folder.join(digests::FILE), &known.text())?;
    }
    Ok(files.len())
}

fn read(path: &Path) -> anyhow::Result<Trial> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    stored::trial(path, &text)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// How far a trial is thinned: how many of its longest times are kept, by its plan. Rules may look
/// at as many as there are places for exchanges that straddle an edge of the window.
type Way = fn(&Trial) -> u64;

/// From the thinnest on.
const WAYS: [Way; 2] = [
    |_| 0,
    |trial| u64::from(trial.plan.connections) * u64::from(trial.plan.at_once()),
];

/// A trial with fewer buckets.
fn thinned(trial: &Trial, way: &Way) -> Trial {
    let quantiles = QUANTILES.map(|(q, _)| q);
    let mut thin = trial.clone();
    thin.record.thin(&Exact {
        quantiles: &quantiles,
        longest: way(trial),
        above: WAITED,
    });
    thin
}

#[cfg(test)]
mod tests;
