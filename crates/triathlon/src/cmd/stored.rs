//! Trials as they were stored, by this version or by another.

use std::path::Path;

use anyhow::Context as _;
use model::Trial;
use model::experiment::Manifest;
use model::plan::{FORMAT, FORMAT_OLDEST};

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
        anyhow::bail!(
            "{} has format {format}, and this program reads formats {FORMAT_OLDEST} to {FORMAT}: \
             use the version that stored it",
            path.display()
        );
    }
    let mut trial: Trial =
        serde_json::from_str(text).with_context(|| format!("{} is not a trial", path.display()))?;
    if let Some(point) = &mut trial.point
        && point.id.execution.begun.is_empty()
        && let Some(folder) = path.parent().and_then(Path::parent)
        && let Ok(text) = std::fs::read_to_string(folder.join("manifest.json"))
        && let Ok(manifest) = serde_json::from_str::<Manifest>(&text)
    {
        point.adopt(&manifest.execution());
    }
    Ok(trial)
}
