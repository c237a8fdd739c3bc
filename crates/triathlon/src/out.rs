//! Standard output: the result and only the result, and an error when nobody takes it.

use std::io::{self, Write as _};

use anyhow::Context as _;

/// Writes `text` as it is.
pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("cannot write the result to standard output")
}

/// Writes a value as JSON that a person can read, and a line feed.
pub(crate) fn write_json<T: serde::Serialize>(value: &T) -> anyhow::Result<()> {
    let mut text =
        serde_json::to_string_pretty(value).context("cannot write the result as JSON")?;
    text.push('\n');
    write(&text)
}

/// Writes `text` and ends the line.
pub(crate) fn line(text: impl std::fmt::Display) -> anyhow::Result<()> {
    write(&format!("{text}\n"))
}
