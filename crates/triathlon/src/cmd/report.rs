//! `triathlon report PATH...`: the report of stored trials, made again from their files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use lab::probe::shelf;
use lab::scratch::Scratch;
use model::experiment::{Gap, Manifest};
use report::Run;
use report::probe::Side;
use verdict::TrialSet;

use super::publish::publish;
use super::stored;
use crate::exit::{Exit, UsageError};
use crate::out;

/// Folders within folders that are looked through.
const DEPTH_MAX: u32 = 4;

/// Browsers that print, in the order in which they are tried.
const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

const EXAMPLES: &str = "\
Examples:
  triathlon report results/first-heat/*
      the page of each of these results, in its folder
  triathlon load http://127.0.0.1:8080/ --json trial.json && triathlon report trial.json
      the page of one trial, here
  triathlon report results/first-heat/20* --csv trials.csv
      a row per trial, for a spreadsheet
  triathlon report results/first-heat --publish handout
      a copy to hand out, without names of hosts and users";

/// Arguments of `triathlon report`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Results directories, or trials (JSON); or one folder of 'triathlon probe'
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the page here, or to stdout (-) [default: report.html in the first directory, or
    /// here]
    #[arg(long, value_name = "FILE|-")]
    html: Option<PathBuf>,
    /// Write a row per trial here, or to stdout (-), comma-separated, units in the headings
    #[arg(long, value_name = "FILE|-", long_help = columns())]
    csv: Option<PathBuf>,
    /// Print the page to a PDF here, by a headless Chromium
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// Write a bundle fit to hand out into this new folder: trials, configurations, logs and the
    /// page, in which host names, user names and paths below home folders are replaced; print what
    /// was replaced and how often
    #[arg(long, value_name = "DIR", conflicts_with_all = ["html", "csv", "pdf"])]
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
    for (name, meaning) in report::csv::COLUMNS {
        help.push_str(&format!("\n  {name}: {meaning}"));
    }
    help
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(bundle) = &args.publish {
        return hand_out(args, bundle);
    }
    refuse_two_results(args)?;
    let run = read(&args.paths)?;
    if run.digests().is_empty() {
        return probes(args);
    }
    if let Some(file) = &args.csv {
        write(file, report::csv::rows(&run).as_bytes())?;
    }
    let only_csv = args.csv.is_some() && args.html.is_none() && args.pdf.is_none();
    if !only_csv {
        put_page(args, &report::html::page(&run))?;
    }
    if let Some(file) = &args.csv {
        tell(args, file)?;
    }
    Ok(Exit::Done)
}

/// Writes the page, and its print.
fn put_page(args: &Args, html: &str) -> anyhow::Result<()> {
    let page = args.html.clone().unwrap_or_else(|| beside(&args.paths));
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
    let why = if is_html && is_csv {
        "--html - and --csv -: stdout takes one of them; name a file for the other"
    } else if is_html && args.pdf.is_some() {
        "--html -: the page is printed from a file; name one"
    } else if args.pdf.as_deref().is_some_and(is_stdout) {
        "--pdf -: the browser prints into a file; name one"
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
    publish(&paths, bundle, &args.hide, |bundle, page| {
        let run = read(&[bundle.to_owned()])?;
        let html = if run.digests().is_empty() {
            let results = &shelf::read(bundle)?;
            report::html::probes(super::probe::TITLE, &[Side { name: "", results }])
        } else {
            report::html::page(&run)
        };
        write(page, html.as_bytes())
    })?;
    Ok(Exit::Done)
}

/// The page of what `triathlon probe` wrote, where there are no trials.
fn probes(args: &Args) -> anyhow::Result<Exit> {
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
    let side = Side { name: "", results };
    put_page(args, &report::html::probes(super::probe::TITLE, &[side]))?;
    Ok(Exit::Done)
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

/// The page's place where none is given.
fn beside(paths: &[PathBuf]) -> PathBuf {
    match paths.first() {
        Some(first) if first.is_dir() => newest(first)
            .unwrap_or_else(|_| first.clone())
            .join("report.html"),
        _ => PathBuf::from("report.html"),
    }
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if is_stdout(path) {
        return out::write(&String::from_utf8_lossy(bytes));
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads all trials below `paths`, boiled down one by one.
fn read(paths: &[PathBuf]) -> anyhow::Result<Run> {
    let mut files = Vec::new();
    let mut run = Run::default();
    for path in paths {
        if !path.exists() {
            anyhow::bail!("{} does not exist", path.display());
        }
        if path.is_dir() {
            let folder = newest(path)?;
            describe(&folder, &mut run)?;
            find(&folder, DEPTH_MAX, &mut files)?;
        } else {
            files.push((path.clone(), true));
        }
    }
    files.sort();
    files.dedup();
    let mut set = TrialSet::default();
    for (path, named) in &files {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        match stored::trial(path, &text) {
            Ok(mut trial) => {
                // Earlier versions stored more than may be shown.
                trial.redact();
                set.add(&trial);
                run.add(&trial);
            }
            // A folder holds other documents too; a file that was named is meant to be a trial.
            Err(error) if *named => return Err(error),
            // Where trials lie, whatever is none was one.
            Err(error) if is_among_trials(path) => {
                let said = format!("{error:#}");
                out::note(&said);
                // The page may be handed out: it names no folder of this machine.
                let folder = path.parent().unwrap_or(path).display().to_string();
                run.notes.push(said.replace(&folder, "trials"));
            }
            Err(_) => {}
        }
    }
    // Judged again, together, by the rules of this program.
    run.judge(&set.verdicts());
    run.sort();
    Ok(run)
}

/// Whether a file lies where a lab stores trials.
fn is_among_trials(path: &Path) -> bool {
    path.parent()
        .is_some_and(|folder| folder.ends_with("trials"))
}

/// The newest execution in a folder that holds several of an experiment, or the folder itself.
fn newest(folder: &Path) -> anyhow::Result<PathBuf> {
    let is_results = |path: &Path| path.join("manifest.json").is_file();
    if is_results(folder) {
        return Ok(folder.to_owned());
    }
    let mut executions = entries(folder)?;
    executions.retain(|path| is_results(path));
    executions.sort();
    let count = executions.len();
    match executions.pop() {
        Some(newest) => {
            if count > 1 {
                out::note(format_args!(
                    "{} holds {count} executions; this is the report of the newest, {}",
                    folder.display(),
                    newest.display()
                ));
            }
            Ok(newest)
        }
        None => Ok(folder.to_owned()),
    }
}

/// Takes the question and the gaps from a results directory, where it has them.
fn describe(folder: &Path, run: &mut Run) -> anyhow::Result<()> {
    let manifest = folder.join("manifest.json");
    if !manifest.is_file() || !run.name.is_empty() {
        return Ok(());
    }
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let written: Manifest = serde_json::from_str(&read(&manifest)?)
        .with_context(|| format!("{} is not a manifest", manifest.display()))?;
    let mut files = Vec::new();
    let gaps = folder.join("gaps");
    if gaps.is_dir() {
        find(&gaps, 0, &mut files)?;
    }
    files.sort();
    let gaps = files
        .iter()
        .map(|(path, _)| {
            serde_json::from_str(&read(path)?)
                .with_context(|| format!("{} does not describe a gap", path.display()))
        })
        .collect::<anyhow::Result<Vec<Gap>>>()?;
    *run = Run::of(&written, &gaps);
    let experiment = folder.join("experiment.toml");
    if experiment.is_file() {
        run.experiment = Some(read(&experiment)?);
    }
    Ok(())
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot read {}", folder.display()))
}

fn find(folder: &Path, depth: u32, files: &mut Vec<(PathBuf, bool)>) -> anyhow::Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            if depth > 0 {
                find(&path, depth - 1, files)?;
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push((path, false));
        }
    }
    Ok(())
}

/// Prints `page` to `pdf` by the first browser found.
fn print(page: &Path, pdf: &Path) -> anyhow::Result<()> {
    let page = page
        .canonicalize()
        .with_context(|| format!("cannot find {}", page.display()))?;
    let profile = Scratch::create().context("cannot make a folder for the browser's profile")?;
    for browser in BROWSERS {
        let mut command = Command::new(browser);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-pdf-header-footer",
                "--virtual-time-budget=5000",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--print-to-pdf={}", pdf.display()))
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() && pdf.is_file() => return Ok(()),
            Ok(status) => anyhow::bail!("{browser} could not print {}: {status}", page.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot start {browser}")),
        }
    }
    anyhow::bail!(
        "no browser to print with: none of {} is installed. On Debian: apt-get install chromium. \
         The page itself is in {}; any browser can print it",
        BROWSERS.join(", "),
        page.display()
    )
}
