//! Trials as they were stored, by this version or by another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::LabError;
use lab::store::{digests, read_manifest};
use model::Trial;
use model::plan::{FORMAT, FORMAT_OLDEST};

use crate::out;

/// Reads a trial. One of another format is refused by name, before anything else in it is looked
/// at: its fields may mean something else. One that does not tell its execution belongs to that of
/// the results folder that it lies in.
pub(super) fn trial(path: &Path, text: &str) -> anyhow::Result<Trial> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u64,
    }
    if let Ok(Format { format }) = serde_json::from_str(text)
        && !(u64::from(FORMAT_OLDEST)..=u64::from(FORMAT)).contains(&format)
    {
        let path = path.to_owned();
        return Err(LabError::Format { path, format }.into());
    }
    let mut trial: Trial =
        serde_json::from_str(text).with_context(|| format!("{} is not a trial", path.display()))?;
    if let Some(point) = &mut trial.point
        && point.id.execution.begun.is_empty()
        && let Some(manifest) = manifest_of(path)
    {
        point.adopt(&manifest.execution());
    }
    Ok(trial)
}

/// Says what of a results folder is missing or not as it was stored.
pub(super) fn differences(folder: &Path) -> anyhow::Result<Vec<String>> {
    let said = digests::differences(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?;
    for sentence in &said {
        out::note(format_args!("{}: {sentence}", folder.display()));
    }
    Ok(said)
}

/// The same for each results folder that one of `trials` lies in.
pub(super) fn differences_around(trials: &[PathBuf]) -> anyhow::Result<()> {
    let folders: BTreeSet<&Path> = trials
        .iter()
        .filter(|path| {
            path.parent()
                .is_some_and(|folder| folder.ends_with("trials"))
        })
        .filter_map(|path| path.parent()?.parent())
        .collect();
    for folder in folders {
        differences(folder)?;
    }
    Ok(())
}

/// The manifest of the results folder that a trial lies in; none where it lies in none.
pub(super) fn manifest_of(trial: &Path) -> Option<model::Manifest> {
    read_manifest(trial.parent()?.parent()?).ok()
}
