//! The ranks of the servers of a comparison, as a table of Markdown.

use std::fmt::Write as _;

use verdict::analysis::Comparison;

use super::{standing, text};
use crate::digests::Run;
use crate::ranks::rows;

/// The table, below what ranks are; a sentence alone where there are no ranks.
pub(super) fn table(run: &Run, comparison: &Comparison) -> String {
    let Some(said) = comparison.of_ranks() else {
        return String::new();
    };
    let mut out = format!("\n{}\n", text(&said));
    let rows = rows(run, comparison);
    if rows.is_empty() {
        return out;
    }
    let _ = write!(
        out,
        "\n| ranks | server | {} | not told apart from |\n|--:|---|--:|---|\n",
        comparison.quantity()
    );
    for row in rows {
        let value = row.value.as_ref();
        let value = value.map(|(value, worth)| standing(value, *worth));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            row.ranks,
            text(&row.server),
            value.unwrap_or_else(|| "–".to_owned()),
            text(&row.not_told_from)
        );
    }
    out
}
