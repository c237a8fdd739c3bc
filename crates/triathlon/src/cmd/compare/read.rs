//! Results as they lie in folders, packs and files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::probe::shelf;
use lab::store::pack::is_pack;
use lab::store::read_manifest;
use model::probe::ProbeResult;
use report::Run;
use verdict::TrialSet;
use verdict::compare::{Kind, Side};

use super::Args;
use crate::cmd::stored::{self, Opened};
use crate::exit::UsageError;
use crate::out;

/// Both sides, with what they are called.
pub(super) fn read_both(args: &Args) -> anyhow::Result<(Found, Found, [String; 2])> {
    if let Some((one, other)) = &args.servers {
        let nothing = &Opened::default();
        let [first, second] = read_servers(&args.first, [one, other], nothing)?;
        return Ok((first, second, [one.clone(), other.clone()]));
    }
    let path = args
        .second
        .as_ref()
        .expect("it is required without --servers");
    let nothing = &Opened::default();
    let (first, second) = (read(&args.first, nothing)?, read(path, nothing)?);
    let names = names([(&args.first, &first), (path, &second)]);
    Ok((first, second, names))
}

/// What two servers did in one result, which may lie in what was `opened`.
fn read_servers(path: &Path, labels: [&String; 2], opened: &Opened) -> anyhow::Result<[Found; 2]> {
    if is_pack(path) {
        let opened = Opened::of(&[path.to_owned()])?;
        let found = read_servers(&opened.paths[0], labels, &opened);
        return found.map_err(|error| opened.blamed(error));
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
    let (mut run, mut set) = (Run::of(&manifest, &[]), TrialSet::default());
    let mut there = BTreeSet::new();
    let is_complete = each_trial(&folder, opened, &mut |trial| {
        if let Some(point) = trial.point.as_ref().filter(|point| !point.ceiling) {
            there.insert(point.id.server.clone());
        }
        sides.iter_mut().for_each(|side| side.add(trial));
        run.add(trial);
        set.add(trial);
    })?;
    // As the report has it.
    run.judge(&set.verdicts());
    let floor = run.comparisons().into_iter().find_map(|one| one.floor);
    for side in &mut sides {
        side.stand_on(floor.clone());
    }
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

/// A result as it was found.
pub(super) enum Found {
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
    pub(super) fn side(&self, name: &str) -> Side {
        match self {
            Self::Trials { side, .. } => {
                let mut side = (**side).clone();
                name.clone_into(&mut side.name);
                side
            }
            Self::Probes(results) => Side::of_probes(name, results),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Trials { is_complete, .. } => *is_complete,
            Self::Probes(_) => true,
        }
    }

    pub(super) fn probes(&self) -> &[ProbeResult] {
        match self {
            Self::Trials { .. } => &[],
            Self::Probes(results) => results,
        }
    }
}

/// What lies there, which may be in what was `opened`.
fn read(path: &Path, opened: &Opened) -> anyhow::Result<Found> {
    if !path.exists() {
        anyhow::bail!("{} does not exist", path.display());
    }
    if is_pack(path) {
        let opened = Opened::of(&[path.to_owned()])?;
        let found = read(&opened.paths[0], &opened);
        return found.map_err(|error| opened.blamed(error));
    }
    if !path.is_dir() {
        return read_file(path);
    }
    let execution = one_execution(path)?;
    if execution.join("manifest.json").is_file() {
        return read_execution(&execution, opened);
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

fn read_execution(folder: &Path, opened: &Opened) -> anyhow::Result<Found> {
    let manifest = read_manifest(folder)?;
    let mut side = Side::new("", Kind::Lab);
    side.describe(&manifest);
    let is_complete = each_trial(folder, opened, &mut |trial| side.add(trial))?;
    if side.is_empty() {
        anyhow::bail!("{} holds no trial", folder.display());
    }
    let side = Box::new(side);
    Ok(Found::Trials { side, is_complete })
}

/// Hands over every trial of a results folder, and says whether all are there that were stored.
fn each_trial(
    folder: &Path,
    opened: &Opened,
    take: &mut dyn FnMut(&model::Trial),
) -> anyhow::Result<bool> {
    let trials = folder.join("trials");
    let differences = stored::differences(folder, opened)?;
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
                out::note(opened.named(&crate::sentence(&error)));
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
