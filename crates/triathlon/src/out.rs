//! Standard output: the result and only the result, and an error when nobody takes it. Standard
//! error: what happens meanwhile, and nothing is lost when nobody reads that.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;
use report::text::Style;

/// How to print for a person at a terminal: as wide as it is, and in colour unless that was
/// declined (NO_COLOR) or the terminal has none (TERM=dumb).
pub(crate) fn style() -> Style {
    let stdout = io::stdout();
    let columns = terminal_size::terminal_size_of(&stdout).map(|(columns, _)| columns.0);
    // An empty one declines nothing (no-color.org).
    let is_declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = stdout.is_terminal() && !is_dumb() && !is_declined;
    Style::new(colour, columns.map(usize::from))
}

/// Whether somebody watches standard error at a terminal on which lines can be written over.
pub(crate) fn draws() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

/// Whether the terminal has no more than lines.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// What cannot be written, in the words of an error.
pub(crate) const RESULT: &str = "cannot write the result to standard output";

/// Whether `error` says that whoever read the result has gone, as `head` does when it has enough.
pub(crate) fn is_unread(error: &anyhow::Error) -> bool {
    let of_system = error.root_cause().downcast_ref::<io::Error>();
    of_system.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
        && error.to_string() == RESULT
}

/// Writes `text` as it is.
pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context(RESULT)
}

/// Writes a value as JSON that a person can read, and a line feed.
pub(crate) fn write_json<T: serde::Serialize>(value: &T) -> anyhow::Result<()> {
    let mut text =
        serde_json::to_string_pretty(value).context("cannot write the result as JSON")?;
    text.push('\n');
    write(&text)
}

/// Tells whoever watches, on standard error, and ends the line.
pub(crate) fn note(text: impl std::fmt::Display) {
    progress(format_args!("{text}\n"));
}

/// Writes `text` to standard error as it is. A terminal or a pipe that is gone is no reason to stop
/// measuring.
pub(crate) fn progress(text: impl std::fmt::Display) {
    let mut stderr = io::stderr().lock();
    let _gone = stderr
        .write_all(text.to_string().as_bytes())
        .and_then(|()| stderr.flush());
}

/// Writes `text` and ends the line.
pub(crate) fn line(text: impl std::fmt::Display) -> anyhow::Result<()> {
    write(&format!("{text}\n"))
}
