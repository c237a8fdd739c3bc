//! `triathlon compare A B`: two results laid over each other.

mod read;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use report::probe::Side as ProbeSide;
use serde::Serialize;
use verdict::compare::{Compared, Crossed, Kind, Limit, SINGLE, compare};

use self::read::read_both;
use super::stored;
use crate::exit::{Exit, UsageError};
use crate::out;
use crate::place;

const AFTER: &str = "\
Examples:
  triathlon compare results/first-heat/2026-11-20T10-00-00Z results/first-heat/2026-11-21T10-00-00Z
      the same experiment on two days
  triathlon compare before after --fail-on 'rate:-3%' --fail-on 'p99:+10%'
      two folders of files of 'triathlon load --json', each file a round: exit code 4 if it became
      worse beyond doubt
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

/// Whether one of the documents goes to standard output, in the place of the text. Each file takes
/// one of them.
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
    let paths = documents.map(|(name, file)| (name, file.as_deref()));
    if let Some((one, other, file)) = place::twice(paths) {
        let file = file.display();
        let why = format!("{one} and {other} both write {file}; give each its own file");
        return Err(UsageError(why));
    }
    match taking.as_slice() {
        [] => Ok(false),
        [_] => Ok(true),
        [one, other, ..] => Err(UsageError(format!(
            "{one} - and {other} -: stdout takes one of them; name a file for the other"
        ))),
    }
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
    if compared.caveat == SINGLE
        && let Some(limit) = limits.first()
    {
        return Err(UsageError(format!(
            "--fail-on {limit} could never fail: it asks for a whole interval, and a single trial \
             has none. Measure each several times ('triathlon load --json before/1.json' and so \
             on) and compare the folders"
        )));
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
