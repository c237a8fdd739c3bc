//! Trials as they were stored, by this version or by another.

use std::path::Path;

use anyhow::Context as _;
use model::Trial;
use model::plan::{FORMAT, FORMAT_OLDEST};

/// Reads a trial. One of another format is refused by name, before anything else in it is looked
/// at: its fields may mean something else.
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
    serde_json::from_str(text).with_context(|| format!("{} is not a trial", path.display()))
}
