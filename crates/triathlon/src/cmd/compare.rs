//! `triathlon compare A B`: two results laid over each other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::probe::shelf;
use lab::store::pack::is_pack;
use lab::store::read_manifest;
use model::probe::ProbeResult;
use report::probe::Side as ProbeSide;
use serde::Serialize;
use verdict::compare::{Compared, Crossed, Kind, Limit, Side, compare};

use super::stored::{self, Opened};
use crate::exit::{Exit, UsageError};
use crate::out;

const AFTER: &str = "\
Examples:
  triathlon compare results/first-heat/2026-11-20T10-00-00Z results/first-heat/2026-11-21T10-00-00Z
      the same experiment on two days
  triathlon compare before.json after.json --fail-on 'rate:-3%' --fail-on 'p99:+10%'
      two files of 'triathlon load --json': exit code 4 if it became worse beyond doubt
  triathlon compare results/probe/2026-11-20T10-00-00Z results/probe/2026-11-20T11-00-00Z
      two kernels, with their curves in --html FILE
  triathlon compare results/proxy --servers before,after --fail-on 'rate:-3%'
      two servers of one lab, round by round
  triathlon compare A B --markdown - >> \"$GITHUB_STEP_SUMMARY\"
      tables for a review

Metrics: rate, cpu (server CPU time per request), p50 and p99 (response time), page_p50 and page_p99
(time of a whole page), memory; of probes: beginning and end (cost of an operation), course (time
per step of a download).

Exit codes: 0 compared, and no limit failed (what is inconclusive is reported and does not fail), 1
something failed (a result that is missing or cannot be read), 2 wrong usage, 4 a limit of --fail-on
failed: the whole interval lies beyond it.";

/// Compares two results of 'triathlon lab', 'load' or 'probe'.
///
/// It prints what differs in environment and configuration, then each metric at each place that
/// both have: the ratio (B relative to A), its interval, and the answer. One comparison for each
/// server and workload is declared; only these are ever called faster or slower.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// The first: a results folder of one execution or its pack, or a file that --json wrote; or a
    /// folder of such files, each a round.
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The second.
    #[arg(
        value_name = "B",
        required_unless_present = "servers",
        conflicts_with = "servers"
    )]
    second: Option<PathBuf>,
    /// Compare two servers of A, by their labels, within its rounds: the first is A, the second B.
    #[arg(long, value_name = "LABEL,LABEL", value_parser = two_labels)]
    servers: Option<(String, String)>,
    /// Write the page here, or to stdout (-).
    #[arg(long, value_name = "FILE|-")]
    html: Option<PathBuf>,
    /// Write everything as JSON here, or to stdout (-).
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write tables of Markdown here, or to stdout (-).
    #[arg(long, value_name = "FILE|-")]
    markdown: Option<PathBuf>,
    /// Exit with code 4 if a metric changed by more than this, at any place: METRIC:CHANGE% with
    /// its sign, as in rate:-3% or p99:+10%; may be given several times. It fails only where the
    /// whole interval lies beyond the change.
    #[arg(long, value_name = "METRIC:CHANGE%", allow_hyphen_values = true)]
    fail_on: Vec<Limit>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let is_taken = stdout_is_taken(args)?;
    stored::note_if_same(&args.first, args.second.as_deref());
    let (first, second, names) = read_both(args)?;
    let [a, b] = [(&first, &names[0]), (&second, &names[1])].map(|(read, name)| read.side(name));
    if a.kind() != b.kind() {
        let (a, b) = (a.kind().command(), b.kind().command());
        let why = format!("A is a result of '{a}', B of '{b}': give two of the same command");
        return Err(UsageError(why).into());
    }
    let compared = compare(&a, &b);
    if compared.rows.is_empty() && compared.kind != Kind::Probe {
        anyhow::bail!(
            "the two have nothing in common to compare: {}",
            compared.only.join("; ")
        );
    }
    let limits = judge(&args.fail_on, &compared)?;
    let probes = [(&first, &names[0]), (&second, &names[1])].map(|(read, name)| ProbeSide {
        name,
        results: read.probes(),
    });
    let is_probe = compared.kind == Kind::Probe;
    if let Some(file) = &args.html {
        let probes = if is_probe { &probes[..] } else { &[] };
        put(file, &report::html::comparison(&compared, probes))?;
    }
    if let Some(file) = &args.markdown {
        put(file, &report::compare::markdown(&compared))?;
    }
    if let Some(file) = &args.json {
        put(file, &json(&compared, &limits)?)?;
    }
    if is_taken {
        limits.iter().for_each(|judged| out::note(&judged.text));
    } else {
        out::write(&report::compare::text(&compared))?;
        if is_probe {
            out::line("")?;
            out::write(&report::probe::comparison(&probes))?;
        }
        tell(args, &limits)?;
    }
    let has_failed = limits.iter().any(|judged| judged.has_failed);
    Ok(if has_failed {
        Exit::Threshold
    } else if first.is_complete() && second.is_complete() {
        Exit::Done
    } else {
        Exit::World
    })
}

fn two_labels(text: &str) -> Result<(String, String), String> {
    match text.split_once(',') {
        Some((one, other)) if !one.is_empty() && !other.is_empty() && one != other => {
            Ok((one.trim().to_owned(), other.trim().to_owned()))
        }
        _ => Err("give the labels of two servers: --servers before,after".to_owned()),
    }
}

/// Both sides, with what they are called.
fn read_both(args: &Args) -> anyhow::Result<(Found, Found, [String; 2])> {
    if let Some((one, other)) = &args.servers {
        let [first, second] = read_servers(&args.first, [one, other])?;
        return Ok((first, second, [one.clone(), other.clone()]));
    }
    let path = args
        .second
        .as_ref()
        .expect("it is required without --servers");
    let (first, second) = (read(&args.first)?, read(path)?);
    let names = names([(&args.first, &first), (path, &second)]);
    Ok((first, second, names))
}

/// What two servers did in one result.
fn read_servers(path: &Path, labels: [&String; 2]) -> anyhow::Result<[Found; 2]> {
    if is_pack(path) {
        let opened = Opened::of(&[path.to_owned()])?;
        return read_servers(&opened.paths[0], labels);
    }
    let folder = if path.is_dir() {
        one_execution(path)?
    } else {
        path.to_owned()
    };
    if !folder.join("manifest.json").is_file() {
        let why = format!(
            "--servers: {} is not a results folder of triathlon lab",
            path.display()
        );
        return Err(UsageError(why).into());
    }
    let place = format!("{} against {}", labels[1], labels[0]);
    let mut sides = labels.map(|label| Side::of_server(label, &place));
    let manifest = read_manifest(&folder)?;
    let mut there = BTreeSet::new();
    let is_complete = each_trial(&folder, &mut |trial| {
        if let Some(point) = trial.point.as_ref().filter(|point| !point.ceiling) {
            there.insert(point.id.server.clone());
        }
        sides.iter_mut().for_each(|side| side.add(trial));
    })?;
    for label in labels {
        if !there.contains(label) {
            let there: Vec<String> = there.into_iter().collect();
            let why = format!(
                "--servers: {} has no trial of a server '{label}'; there are {}",
                manifest.experiment.experiment.name,
                there.join(", ")
            );
            return Err(UsageError(why).into());
        }
    }
    Ok(sides.map(|side| Found::Trials {
        side: Box::new(side),
        is_complete,
    }))
}

/// Whether one of the documents goes to standard output, in the place of the text.
fn stdout_is_taken(args: &Args) -> Result<bool, UsageError> {
    let documents = [
        ("--html", &args.html),
        ("--json", &args.json),
        ("--markdown", &args.markdown),
    ];
    let taking: Vec<&str> = documents
        .iter()
        .filter(|(_, file)| file.as_deref().is_some_and(|file| file == Path::new("-")))
        .map(|(name, _)| *name)
        .collect();
    match taking.as_slice() {
        [] => Ok(false),
        [_] => Ok(true),
        [one, other, ..] => Err(UsageError(format!(
            "{one} - and {other} -: stdout takes one of them; name a file for the other"
        ))),
    }
}

/// A result as it was found.
enum Found {
    /// One execution of an experiment, or trials that were made one by one.
    Trials {
        side: Box<Side>,
        /// Whether all are there that were stored.
        is_complete: bool,
    },
    /// Results of probes.
    Probes(Vec<ProbeResult>),
}

impl Found {
    fn side(&self, name: &str) -> Side {
        match self {
            Self::Trials { side, .. } => {
                let mut side = (**side).clone();
                name.clone_into(&mut side.name);
                side
            }
            Self::Probes(results) => Side::of_probes(name, results),
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Trials { is_complete, .. } => *is_complete,
            Self::Probes(_) => true,
        }
    }

    fn probes(&self) -> &[ProbeResult] {
        match self {
            Self::Trials { .. } => &[],
            Self::Probes(results) => results,
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Found> {
    if !path.exists() {
        anyhow::bail!("{} does not exist", path.display());
    }
    if is_pack(path) {
        let opened = Opened::of(&[path.to_owned()])?;
        return read(&opened.paths[0]);
    }
    if !path.is_dir() {
        return read_file(path);
    }
    let execution = one_execution(path)?;
    if execution.join("manifest.json").is_file() {
        return read_execution(&execution);
    }
    if let Ok(results) = shelf::read(path) {
        return Ok(Found::Probes(results));
    }
    let mut side = Side::new("", Kind::Load);
    for file in json_files(path)? {
        let trial = read_trial(&file)?;
        if trial.point.is_some() {
            anyhow::bail!(
                "{} belongs to an experiment: give the folder of its results, which holds \
                 manifest.json",
                file.display()
            );
        }
        side.add(&trial);
    }
    if side.is_empty() {
        anyhow::bail!(
            "{} holds no result: give a folder that 'triathlon lab' or 'triathlon probe' wrote, or \
             a file that --json wrote",
            path.display()
        );
    }
    Ok(Found::Trials {
        side: Box::new(side),
        is_complete: true,
    })
}

/// A folder of one execution, or the only one in it.
fn one_execution(folder: &Path) -> anyhow::Result<PathBuf> {
    let is_execution = |path: &Path| path.join("manifest.json").is_file();
    if is_execution(folder) {
        return Ok(folder.to_owned());
    }
    let mut executions = entries(folder)?;
    executions.retain(|path| is_execution(path));
    match executions.as_slice() {
        [] => Ok(folder.to_owned()),
        [one] => Ok(one.clone()),
        [.., newest] => Err(UsageError(format!(
            "{} holds {} executions; give one of them: the newest is {}",
            folder.display(),
            executions.len(),
            newest.display()
        ))
        .into()),
    }
}

fn read_execution(folder: &Path) -> anyhow::Result<Found> {
    let manifest = read_manifest(folder)?;
    let mut side = Side::new("", Kind::Lab);
    side.describe(&manifest);
    let is_complete = each_trial(folder, &mut |trial| side.add(trial))?;
    if side.is_empty() {
        anyhow::bail!("{} holds no trial", folder.display());
    }
    let side = Box::new(side);
    Ok(Found::Trials { side, is_complete })
}

/// Hands over every trial of a results folder, and says whether all are there that were stored.
fn each_trial(folder: &Path, take: &mut dyn FnMut(&model::Trial)) -> anyhow::Result<bool> {
    let trials = folder.join("trials");
    let differences = stored::differences(folder)?;
    let mut is_complete = differences.missing.is_empty();
    let files = if trials.is_dir() {
        json_files(&trials)?
    } else {
        Vec::new()
    };
    for file in files {
        match read_trial(&file) {
            Ok(trial) => take(&trial),
            // One that cannot be read takes nothing from the others.
            Err(error) => {
                out::note(crate::sentence(&error));
                is_complete = false;
            }
        }
    }
    Ok(is_complete)
}

fn read_file(path: &Path) -> anyhow::Result<Found> {
    #[derive(serde::Deserialize)]
    struct Form {
        #[expect(dead_code, reason = "only whether it is there counts")]
        probe_format: u32,
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if serde_json::from_str::<Form>(&text).is_ok() {
        return Ok(Found::Probes(shelf::read(path)?));
    }
    let mut trial = stored::trial(path, &text)?;
    trial.redact();
    let kind = if trial.point.is_some() {
        Kind::Lab
    } else {
        Kind::Load
    };
    let mut side = Side::new("", kind);
    side.add(&trial);
    Ok(Found::Trials {
        side: Box::new(side),
        is_complete: true,
    })
}

fn read_trial(file: &Path) -> anyhow::Result<model::Trial> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut trial = stored::trial(file, &text)?;
    // Earlier versions stored more than may be shown.
    trial.redact();
    Ok(trial)
}

/// The files of a folder that hold JSON, in the order of their names.
fn json_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = entries(folder)?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    Ok(files)
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut entries: Vec<PathBuf> =
        read.with_context(|| format!("cannot read {}", folder.display()))?;
    entries.sort();
    Ok(entries)
}

/// A limit at a place.
#[derive(Debug, Serialize)]
struct Judged {
    limit: String,
    place: String,
    has_failed: bool,
    text: String,
}

/// What the limits say. One for a metric that is not there is a mistake of whoever asked.
fn judge(limits: &[Limit], compared: &Compared) -> Result<Vec<Judged>, UsageError> {
    let mut judged = Vec::new();
    for limit in limits {
        let rows = limit.of_all(compared);
        if rows.is_empty() {
            let mut there: Vec<&str> = compared.rows.iter().map(|row| row.metric.name).collect();
            there.sort_unstable();
            there.dedup();
            return Err(UsageError(format!(
                "--fail-on {limit}: these results have no {}; they have {}",
                limit.metric.name,
                there.join(", ")
            )));
        }
        judged.extend(rows.into_iter().map(|(row, crossed)| Judged {
            limit: limit.to_string(),
            place: row.place.clone(),
            has_failed: crossed == Crossed::Beyond,
            text: limit.text(row, crossed),
        }));
    }
    Ok(judged)
}

fn json(compared: &Compared, limits: &[Judged]) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        #[serde(flatten)]
        compared: &'a Compared,
        limits: &'a [Judged],
    }
    let text = serde_json::to_string_pretty(&Document { compared, limits })
        .context("cannot write the comparison as JSON")?;
    Ok(text + "\n")
}

fn put(file: &Path, text: &str) -> anyhow::Result<()> {
    if file == Path::new("-") {
        return out::write(text);
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// What the limits said, and where the documents are.
fn tell(args: &Args, limits: &[Judged]) -> anyhow::Result<()> {
    if !limits.is_empty() {
        out::line("")?;
    }
    for judged in limits {
        out::line(&judged.text)?;
    }
    for file in [&args.html, &args.markdown, &args.json]
        .into_iter()
        .flatten()
    {
        out::line(format_args!("\n{}", file.display()))?;
    }
    Ok(())
}

/// What tells two results apart, in as few words as do: the kernel of probes, else the place.
fn names(sides: [(&PathBuf, &Found); 2]) -> [String; 2] {
    let kernels = sides.map(|(_, found)| {
        found
            .probes()
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
