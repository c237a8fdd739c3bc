//! `triathlon report PATH...`: the report of stored trials, made again from their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::probe::shelf;
use model::{Execution, Trial};
use report::Run;
use verdict::TrialSet;

use super::later::Later;
use super::printer::print;
use super::publish::publish;
use super::stored::{self, DEPTH_MAX, Opened, describe, find, is_among_trials, newest, was_trial};
use super::study;
use crate::exit::{Exit, UsageError};
use crate::out;
use crate::place;

const EXAMPLES: &str = "\
Examples:
  triathlon report results/first-heat/*
      the page of each of these results, in its folder
  triathlon load http://127.0.0.1:8080/ --json trial.json && triathlon report trial.json
      the page of one trial, here
  triathlon report results/first-heat/20* --csv trials.csv
      a row per trial, for a spreadsheet
  triathlon report first-heat.pack --markdown first-heat.md --notes notes.txt
      a page for a repository, with its charts
  triathlon report first-heat.pack --asked questions.toml
      the page, with the questions of another file answered from these trials
  triathlon report results/first-heat --publish handout
      a copy to hand out, without names of hosts and users

Exit codes: 0 written, 1 something failed (also if a stored trial is missing or cannot be read: the
page shows the others and says so), 2 wrong usage.";

/// Arguments of `triathlon report`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Results directories or packs of them, or trials (JSON); or one folder of 'triathlon probe'
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the page here, or to stdout (-) [default: report.html in each directory, or
    /// here]
    #[arg(long, value_name = "FILE|-")]
    html: Option<PathBuf>,
    /// Write a row per trial here, or to stdout (-), comma-separated, units in the headings
    #[arg(long, value_name = "FILE|-", long_help = columns())]
    csv: Option<PathBuf>,
    /// Print the page to a PDF here, with a headless Chromium
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// Write the page of a study as Markdown here, with its charts (SVG) beside it: the answer,
    /// figures of earlier studies, what their readers asked, and what is in doubt
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// With --markdown: end the page with this text, whose numbers are placeholders, as in {{rate
    /// | server = nginx | workload = HTTP}}, by the words of the tables "asked" in experiments
    #[arg(long, value_name = "FILE", requires = "markdown")]
    notes: Option<PathBuf>,
    /// With --markdown: a second run of the same experiment (a results directory or a pack); the
    /// page ends with each of its numbers held against that run
    #[arg(long, value_name = "PATH", requires = "markdown")]
    again: Option<PathBuf>,
    /// Answer the questions of this experiment (a file, or the name of a built-in one) in place of
    /// those that were stored, and hold the figures of earlier studies that it has against the
    /// results: its tables "asked" and "published"
    #[arg(long, value_name = "FILE|NAME")]
    asked: Option<String>,
    /// Write a bundle fit to hand out into this new folder: trials, configurations, logs and the
    /// page, in which host names, user names and paths below home folders are replaced; print what
    /// was replaced and how often
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["html", "csv", "pdf", "markdown", "asked"]
    )]
    publish: Option<PathBuf>,
    /// With --publish: replace this word, too; may be given several times
    #[arg(long, value_name = "WORD", requires = "publish")]
    hide: Vec<String>,
}

/// The help of `--csv`, with every column.
fn columns() -> String {
    let mut help =
        "Write a row per trial here, or to stdout (-), comma-separated (RFC 4180). The columns:\n"
            .to_owned();
    for (name, meaning) in report::csv::columns() {
        help.push_str(&format!("\n  {name}: {meaning}"));
    }
    help
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let opened = Opened::of(&args.paths)?;
    make(args, &opened).map_err(|error| opened.blamed(error))
}

fn make(args: &Args, opened: &Opened) -> anyhow::Result<Exit> {
    let given = &args.paths;
    let args = &Args {
        paths: opened.paths.clone(),
        ..args.clone()
    };
    if let Some(bundle) = &args.publish {
        return hand_out(args, bundle);
    }
    refuse_two_results(args)?;
    let later = args.asked.as_deref().map(Later::read).transpose()?;
    let (mut pages, exit) = read(opened)?;
    pages.retain(|page| !page.run.digests().is_empty());
    if pages.is_empty() {
        let record = given.first().map_or_else(PathBuf::new, Clone::clone);
        let is_packed = args.paths.iter().any(|path| opened.is_packed(path));
        return probes(args, later.as_ref(), &record, is_packed);
    }
    refuse_probes(opened, &pages)?;
    for page in &mut pages {
        if let Some(later) = &later {
            later.ask(&mut page.run)?;
        }
        // The page of a pack is not written into what is removed when this ends.
        page.folder.take_if(|folder| opened.is_packed(folder));
    }
    if let Some(file) = &args.csv {
        let runs: Vec<&Run> = pages.iter().map(|page| &page.run).collect();
        write(file, report::csv::rows(&runs).as_bytes())?;
    }
    if let Some(file) = &args.markdown {
        let [page] = pages.as_slice() else {
            return Err(several(&pages).into());
        };
        let record = given.first().map_or_else(PathBuf::new, Clone::clone);
        let again = args.again.as_deref();
        let again = again
            .map(|path| study::second_run(&page.run, path))
            .transpose()?;
        let second = again.as_ref().zip(args.again.as_deref());
        study::write(&page.run, file, &record, args.notes.as_deref(), second)?;
        tell(args, file)?;
    }
    let is_other = args.csv.is_some() || args.markdown.is_some();
    if !is_other || args.html.is_some() || args.pdf.is_some() {
        let is_one_file = args.html.is_some() || args.pdf.is_some();
        let folders: BTreeSet<&Path> = pages.iter().filter_map(|p| p.folder.as_deref()).collect();
        if pages.len() > 1 && (is_one_file || folders.len() < pages.len()) {
            return Err(several(&pages).into());
        }
        for page in &pages {
            put_page(args, page.folder.as_deref(), &report::html::page(&page.run))?;
        }
    }
    if let Some(file) = &args.csv {
        tell(args, file)?;
    }
    Ok(exit)
}

/// Probes have a page of their own: beside trials they would be on none.
fn refuse_probes(opened: &Opened, pages: &[Page]) -> Result<(), UsageError> {
    let is_shown = |path: &PathBuf| {
        let mut folders = pages.iter().filter_map(|page| page.folder.as_ref());
        folders.any(|folder| folder.starts_with(path))
    };
    let mut others = opened.paths.iter().filter(|path| !is_shown(path));
    match others.find(|path| path.is_dir() && shelf::read(path).is_ok()) {
        None => Ok(()),
        Some(path) => Err(UsageError(format!(
            "{} holds results of probes, which have a page of their own: give it alone, and the \
             trials in another command",
            path.display()
        ))),
    }
}

/// A page shows one execution: why there is none of these.
fn several(pages: &[Page]) -> UsageError {
    let begun: Vec<&str> = pages
        .iter()
        .filter_map(|page| Some(page.run.digests().first()?.id.execution.begun.as_str()))
        .collect();
    UsageError(format!(
        "these are {} executions (begun {}), and a page shows one: give one, or their results \
         directories without --html and --pdf for a page in each of them, or --csv for all trials \
         in one table",
        pages.len(),
        begun.join(", ")
    ))
}

/// Writes the page, and its print.
fn put_page(args: &Args, folder: Option<&Path>, html: &str) -> anyhow::Result<()> {
    let beside = || folder.unwrap_or_else(|| Path::new("")).join("report.html");
    let page = args.html.clone().unwrap_or_else(beside);
    write(&page, html.as_bytes())?;
    if let Some(pdf) = &args.pdf {
        print(&page, pdf)?;
        tell(args, pdf)?;
    }
    tell(args, &page)
}

/// Whether a file is standard output.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Standard output takes one result, and a browser prints a file.
fn refuse_two_results(args: &Args) -> Result<(), UsageError> {
    let is_html = args.html.as_deref().is_some_and(is_stdout);
    let is_csv = args.csv.as_deref().is_some_and(is_stdout);
    let has_page = args.html.is_some() || args.pdf.is_some() || args.markdown.is_some();
    let why = if args.asked.is_some() && args.csv.is_some() && !has_page {
        "--asked: a table of trials answers no questions; name a page, too, with --html, --pdf or \
         --markdown"
    } else if is_html && is_csv {
        "--html - and --csv -: stdout takes one of them; name a file for the other"
    } else if let Some((_, _, file)) = place::twice([
        ("--html", args.html.as_deref()),
        ("--csv", args.csv.as_deref()),
        ("--pdf", args.pdf.as_deref()),
        ("--markdown", args.markdown.as_deref()),
    ]) {
        return Err(UsageError(format!(
            "{} would be written twice: name a file for each of --html, --csv, --pdf and \
             --markdown",
            file.display()
        )));
    } else if is_html && args.pdf.is_some() {
        "--html -: the page is printed from a file; name one"
    } else if args.pdf.as_deref().is_some_and(is_stdout) {
        "--pdf -: the browser prints into a file; name one"
    } else if args.markdown.as_deref().is_some_and(is_stdout) {
        "--markdown -: its charts are files beside it; name one"
    } else {
        return Ok(());
    };
    Err(UsageError(why.to_owned()))
}

/// Says where a result is; beside one that is on standard output, on standard error.
fn tell(args: &Args, path: &Path) -> anyhow::Result<()> {
    if [&args.html, &args.csv]
        .into_iter()
        .flatten()
        .any(|file| is_stdout(file))
    {
        if !is_stdout(path) {
            out::note(path.display());
        }
        return Ok(());
    }
    out::line(path.display())
}

/// A bundle, and its page.
fn hand_out(args: &Args, bundle: &Path) -> anyhow::Result<Exit> {
    let paths = match args.paths.as_slice() {
        [folder] if folder.is_dir() => vec![newest(folder)?],
        paths => paths.to_vec(),
    };
    if let Some(empty) = args.hide.iter().find(|word| word.trim().is_empty()) {
        return Err(UsageError(format!("--hide: '{empty}' is not a word")).into());
    }
    let mut exit = Exit::Done;
    publish(&paths, bundle, &args.hide, |bundle, page| {
        let (mut pages, found) = read(&Opened::of(&[bundle.to_owned()])?)?;
        exit = found;
        pages.retain(|page| !page.run.digests().is_empty());
        let html = match pages.as_slice() {
            [] => {
                let question = super::probe::question_of(bundle)?;
                super::probe::page(&shelf::read(bundle)?, question.as_ref())
            }
            [one] => report::html::page(&one.run),
            pages => return Err(several(pages).into()),
        };
        write(page, html.as_bytes())
    })?;
    Ok(exit)
}

/// The page of what `triathlon probe` wrote, where there are no trials.
fn probes(
    args: &Args,
    later: Option<&Later>,
    record: &Path,
    is_packed: bool,
) -> anyhow::Result<Exit> {
    let found: Vec<_> = args.paths.iter().map(|path| shelf::read(path)).collect();
    let [Ok(results)] = found.as_slice() else {
        anyhow::bail!(
            "no trial found in {}; give a results directory, or files that `triathlon load --json` \
             or `triathlon lab` wrote, or one folder of `triathlon probe`",
            list(&args.paths)
        );
    };
    if args.csv.is_some() {
        anyhow::bail!("--csv has a row per trial; the points of probes are in their JSON files");
    }
    let path = args.paths[0].as_path();
    let mut question = super::probe::question_of(path)?;
    let needed = match (&args.markdown, later) {
        (Some(_), _) => Some("--markdown writes the page of a study"),
        (None, Some(_)) => Some("--asked asks what its file has in place of its own questions"),
        (None, None) => None,
    };
    if let (Some(why), None) = (needed, &question) {
        let place = record.display();
        anyhow::bail!("{place} does not hold an experiment: {why}, which needs one");
    }
    let said = match (later, &mut question) {
        (Some(later), Some(question)) => later.ask_probes(question)?,
        _ => None,
    };
    let said = said.as_deref();
    if let (Some(file), Some(question)) = (&args.markdown, &question) {
        let (notes, again) = (args.notes.as_deref(), args.again.as_deref());
        study::write_probes(&question.file, results, file, record, notes, again, said)?;
        tell(args, file)?;
    }
    if args.markdown.is_none() || args.html.is_some() || args.pdf.is_some() {
        let folder = path.is_dir().then_some(path).filter(|_| !is_packed);
        let html = match &question {
            Some(question) => report::html::probes_asked(&question.file, results, said),
            None => super::probe::page(results, None),
        };
        put_page(args, folder, &html)?;
    }
    Ok(Exit::Done)
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if is_stdout(path) {
        return out::write(&String::from_utf8_lossy(bytes));
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// What a page shows: one execution, or trials that belong to none.
pub(super) struct Page {
    /// The results directory, where one was given.
    folder: Option<PathBuf>,
    pub(super) run: Run,
    set: TrialSet,
}

impl Page {
    fn new(folder: Option<&Path>, known: &Run) -> Self {
        Self {
            folder: folder.map(Path::to_owned),
            run: known.clone(),
            set: TrialSet::default(),
        }
    }

    fn add(&mut self, trial: &Trial) {
        self.set.add(trial);
        self.run.add(trial);
    }
}

/// Reads all trials that were `opened`, boiled down one by one: those of a results directory for a
/// page of its own, those that were named for a page for each execution. The exit code says whether
/// all are there that were stored.
pub(super) fn read(opened: &Opened) -> anyhow::Result<(Vec<Page>, Exit)> {
    let mut folders = Vec::new();
    let mut named = Vec::new();
    for path in &opened.paths {
        if !path.exists() {
            anyhow::bail!("{} does not exist", path.display());
        }
        if path.is_dir() {
            folders.push(newest(path)?);
        } else {
            named.push(path.clone());
        }
    }
    folders.sort();
    folders.dedup();
    named.sort();
    named.dedup();
    let mut pages = Vec::new();
    let mut is_complete = true;
    for folder in folders {
        let mut run = Run::default();
        describe(&folder, &mut run)?;
        let differences = stored::differences(&folder, opened)?;
        is_complete &= differences.missing.is_empty();
        for said in differences.sentences() {
            run.notes
                .push(format!("The results are not as they were stored: {said}."));
        }
        let unfinished = differences.unfinished_sentence();
        run.notes.extend(unfinished.map(|said| format!("{said}.")));
        let mut files = Vec::new();
        find(&folder, DEPTH_MAX, &mut files)?;
        if folder.join("manifest.json").is_file() {
            // Beside its trials lie those of searches, and those that were measured again.
            files.retain(|file| is_among_trials(file));
        }
        files.sort();
        let (of_folder, are_read) = read_files(&files, Some(&folder), &run, opened)?;
        pages.extend(of_folder);
        is_complete &= are_read;
    }
    stored::differences_around(&named, opened)?;
    let (of_named, are_read) = read_files(&named, None, &Run::default(), opened)?;
    pages.extend(of_named);
    is_complete &= are_read;
    Ok(match is_complete {
        true => (pages, Exit::Done),
        false => (pages, Exit::World),
    })
}

/// A page for each execution that the files belong to. Trials that belong to none go to the page of
/// the only one. False if a file among trials is none.
fn read_files(
    files: &[PathBuf],
    folder: Option<&Path>,
    known: &Run,
    opened: &Opened,
) -> anyhow::Result<(Vec<Page>, bool)> {
    let mut pages: BTreeMap<Execution, Page> = BTreeMap::new();
    let mut notes = Vec::new();
    let mut alone = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        match stored::trial(path, &text) {
            Ok(mut trial) => {
                // Earlier versions stored more than may be shown.
                trial.redact();
                match &trial.point {
                    Some(point) => {
                        let execution = point.id.execution.clone();
                        let page = pages.entry(execution);
                        page.or_insert_with(|| match (folder, stored::manifest_of(path)) {
                            // What was asked decides how servers compare, however trials are given.
                            (None, Some(manifest)) => Page::new(folder, &Run::of(&manifest, &[])),
                            _ => Page::new(folder, known),
                        })
                        .add(&trial);
                    }
                    None => alone.push(trial),
                }
            }
            Err(error) if folder.is_none() && files.len() == 1 => return Err(error),
            // A file that was named is meant to be a trial.
            Err(error) if folder.is_none() || was_trial(path, &text) => {
                let said = format!("{error:#}");
                out::note(opened.named(&said));
                // The page may be handed out: it names no folder of this machine.
                let folder = path.parent().unwrap_or(path).display().to_string();
                notes.push(said.replace(&folder, "trials"));
            }
            Err(_) => {}
        }
    }
    let mut pages: Vec<Page> = pages.into_values().collect();
    if !alone.is_empty() && pages.len() != 1 {
        pages.push(Page::new(folder, known));
    }
    for trial in &alone {
        pages
            .last_mut()
            .expect("there is one, or one was added")
            .add(trial);
    }
    for page in &mut pages {
        page.run.notes.extend(notes.iter().cloned());
        // Judged again, together, by the rules of this program.
        page.run.judge(&page.set.verdicts());
        page.run.sort();
    }
    Ok((pages, notes.is_empty()))
}
