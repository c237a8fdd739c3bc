//! Trials as they were stored, by this version or by another, and what is missing of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::LabError;
use lab::scratch::Scratch;
use lab::store::digests::{self, Differences};
use lab::store::{pack, read_manifest};
use model::experiment::Gap;
use model::plan::{FORMAT, FORMAT_OLDEST};
use model::{Json as _, Trial};
use report::Run;

use crate::exit::{Exit, UsageError};
use crate::out;

/// Folders within folders that are looked through.
pub(super) const DEPTH_MAX: u32 = 4;

/// Paths that were given, with a folder in the place of each pack: it is there as long as this is.
#[derive(Default)]
pub(super) struct Opened {
    /// What is to be read, in the order in which it was given.
    pub(super) paths: Vec<PathBuf>,
    packs: Vec<(Scratch, PathBuf)>,
}

impl Opened {
    /// Unpacks what is packed.
    pub(super) fn of(given: &[PathBuf]) -> anyhow::Result<Self> {
        let mut opened = Self::default();
        for path in given {
            if !pack::is_pack(path) {
                opened.paths.push(path.clone());
                continue;
            }
            let scratch =
                Scratch::create().with_context(|| format!("cannot unpack {}", path.display()))?;
            let folder = scratch.path().join("results");
            pack::unpack(path, &folder)?;
            opened.paths.push(folder);
            opened.packs.push((scratch, path.clone()));
        }
        Ok(opened)
    }

    /// Whether `path` lies in a pack.
    pub(super) fn is_packed(&self, path: &Path) -> bool {
        self.packs
            .iter()
            .any(|(scratch, _)| path.starts_with(scratch.path()))
    }

    /// A path as people know it: what lies in a pack, below that.
    pub(super) fn shown(&self, path: &Path) -> PathBuf {
        let of_pack = self.packs.iter().find_map(|(scratch, pack)| {
            let below = path.strip_prefix(scratch.path().join("results")).ok()?;
            Some(match below == Path::new("") {
                true => pack.clone(),
                false => pack.join(below),
            })
        });
        of_pack.unwrap_or_else(|| path.to_owned())
    }

    /// What is said of these paths, by the names that people know.
    pub(super) fn named(&self, said: &str) -> String {
        let mut said = said.to_owned();
        for (scratch, pack) in &self.packs {
            let folder = scratch.path().join("results").display().to_string();
            said = said.replace(&folder, &pack.display().to_string());
        }
        said
    }

    /// An error about these paths, by the names that people know.
    pub(super) fn blamed(&self, error: anyhow::Error) -> anyhow::Error {
        let said = crate::sentence(&error);
        let named = self.named(&said);
        match Exit::of(&error) {
            _ if named == said => error,
            Exit::Usage => UsageError(named).into(),
            _ => anyhow::Error::msg(named),
        }
    }
}

/// The files of trials that were asked for.
pub(super) struct Files {
    /// In the order in which they were given, those of a folder by their names.
    pub(super) paths: Vec<PathBuf>,
    /// Whether every trial that was stored in a folder that was given is there.
    pub(super) is_complete: bool,
}

/// Files as they are, and the trials of each results directory; says what of these is missing.
pub(super) fn trials(opened: &Opened) -> anyhow::Result<Files> {
    let mut paths = Vec::new();
    let mut named = Vec::new();
    let mut is_complete = true;
    for path in &opened.paths {
        if !path.is_dir() {
            named.push(path.clone());
            paths.push(path.clone());
            continue;
        }
        let folder = newest(path)?;
        let mut files = Vec::new();
        find(&folder, DEPTH_MAX, &mut files)?;
        files.retain(|file| is_among_trials(file));
        files.sort();
        let mut folders = around(&files);
        folders.insert(&folder);
        for folder in folders {
            is_complete &= differences(folder, opened)?.missing.is_empty();
        }
        if files.is_empty() {
            let place = opened.shown(path);
            out::note(format_args!(
                "triathlon: no trial found in {}",
                place.display()
            ));
            is_complete = false;
        }
        paths.extend(files);
    }
    differences_around(&named, opened)?;
    Ok(Files { paths, is_complete })
}

/// Whoever compares a result with itself is told so.
pub(super) fn note_if_same(first: &Path, second: Option<&Path>) {
    let places = (first.canonicalize(), second.map(Path::canonicalize));
    if let (Ok(first), Some(Ok(second))) = &places
        && first == second
    {
        let place = second.display();
        out::note(format_args!(
            "A and B are the same result, {place}: what is compared cannot differ"
        ));
    }
}

fn not_a_trial(path: &Path) -> String {
    let is_of_lab = path
        .parent()
        .is_some_and(|folder| folder.ends_with("trials"));
    let path = path.display();
    match is_of_lab {
        true => format!(
            "{path} is not a trial (where it was damaged, delete it: triathlon lab --resume \
             measures it again)"
        ),
        false => format!("{path} is not a trial"),
    }
}

/// Reads a trial. One of another format is refused by name, whether it can be read or not: its
/// fields may mean something else. One that does not tell its execution belongs to that of the
/// results folder that it lies in.
pub(super) fn trial(path: &Path, text: &str) -> anyhow::Result<Trial> {
    let read = Trial::from_json(text.as_bytes());
    // What can be read tells its format; only of what cannot, it is looked for.
    let format = match &read {
        Ok(trial) => Some(u64::from(trial.format)),
        Err(_) => format_of(text),
    };
    let readable = u64::from(FORMAT_OLDEST)..=u64::from(FORMAT);
    if let Some(format) = format.filter(|format| !readable.contains(format)) {
        let path = path.to_owned();
        return Err(LabError::Format { path, format }.into());
    }
    if read.is_err() && is_search(text) {
        anyhow::bail!(
            "{} is the result of a search for the capacity, which was printed when it was made: \
             trials of searches have pages and are compared where a lab made them (mode = \
             \"capacity\")",
            path.display()
        );
    }
    let mut trial: Trial = read.with_context(|| not_a_trial(path))?;
    if let Some(point) = &mut trial.point
        && point.id.execution.begun.is_empty()
        && let Some(manifest) = manifest_of(path)
    {
        point.adopt(&manifest.execution());
    }
    Ok(trial)
}

/// The format that a document tells.
fn format_of(text: &str) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u64,
    }
    let told: Result<Format, _> = serde_json::from_str(text);
    told.ok().map(|told| told.format)
}

/// Whether that is what `triathlon load --capacity --json` writes.
fn is_search(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Search {
        #[serde(rename = "objective")]
        _objective: Vec<serde::de::IgnoredAny>,
        #[serde(rename = "answer")]
        _answer: serde::de::IgnoredAny,
    }
    serde_json::from_str::<Search>(text).is_ok()
}

/// Says what of a results folder is missing or not as it was stored, with the name of every trial
/// that is missing.
pub(super) fn differences(folder: &Path, opened: &Opened) -> anyhow::Result<Differences> {
    let found = digests::differences(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?;
    let place = opened.shown(folder);
    for sentence in found
        .sentences()
        .into_iter()
        .chain(found.unfinished_sentence())
    {
        out::note(format_args!("{}: {sentence}", place.display()));
    }
    for name in found.missing_unnamed() {
        out::note(format_args!("  missing, too: {name}"));
    }
    Ok(found)
}

/// The same for each results folder that one of `trials` lies in.
pub(super) fn differences_around(trials: &[PathBuf], opened: &Opened) -> anyhow::Result<()> {
    for folder in around(trials) {
        differences(folder, opened)?;
    }
    Ok(())
}

/// The results folders that trials lie in.
fn around(trials: &[PathBuf]) -> BTreeSet<&Path> {
    let among = trials.iter().filter(|path| is_among_trials(path));
    among.filter_map(|path| path.parent()?.parent()).collect()
}

/// The manifest of the results folder that a trial lies in; none where it lies in none.
pub(super) fn manifest_of(trial: &Path) -> Option<model::Manifest> {
    read_manifest(trial.parent()?.parent()?).ok()
}

/// Whether a file that is no trial was one: where trials lie, whatever is none was. Elsewhere lie
/// other documents too, but none that is no JSON at all.
pub(super) fn was_trial(path: &Path, text: &str) -> bool {
    is_among_trials(path) || serde_json::from_str::<serde::de::IgnoredAny>(text).is_err()
}

/// Whether a file lies where a lab stores trials.
pub(super) fn is_among_trials(path: &Path) -> bool {
    path.parent()
        .is_some_and(|folder| folder.ends_with("trials"))
}

/// The newest execution in a folder that holds several of an experiment, or the folder itself.
pub(super) fn newest(folder: &Path) -> anyhow::Result<PathBuf> {
    // That of a lab, or of an experiment of probes.
    let files = ["manifest.json", "experiment.toml"];
    let is_results = |path: &Path| files.iter().any(|file| path.join(file).is_file());
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
                    "{} holds {count} executions; this is about the newest, {}",
                    folder.display(),
                    newest.display()
                ));
            }
            Ok(newest)
        }
        None => Ok(folder.to_owned()),
    }
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot read {}", folder.display()))
}

/// The JSON files below a folder, so many folders deep.
pub(super) fn find(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            if depth > 0 {
                find(&path, depth - 1, files)?;
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Takes the question and the gaps from a results directory, where it has them.
pub(super) fn describe(folder: &Path, run: &mut Run) -> anyhow::Result<()> {
    let manifest = folder.join("manifest.json");
    if !manifest.is_file() {
        return Ok(());
    }
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let written = read_manifest(folder)?;
    let mut files = Vec::new();
    let gaps = folder.join("gaps");
    if gaps.is_dir() {
        find(&gaps, 0, &mut files)?;
    }
    files.sort();
    let gaps = files
        .iter()
        .map(|path| {
            Gap::from_json(read(path)?.as_bytes())
                .with_context(|| format!("{} does not describe a gap", path.display()))
        })
        .collect::<anyhow::Result<Vec<Gap>>>()?;
    *run = Run::of(&written, &gaps);
    let experiment = folder.join("experiment.toml");
    if experiment.is_file() {
        run.experiment = Some(model::redact::written(&read(&experiment)?));
    }
    Ok(())
}
