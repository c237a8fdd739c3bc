//! Where curves of rate against connections bend, as a table of Markdown.

use std::fmt::Write as _;

use super::{standing, text};
use crate::digests::{Run, definition_of_knee, knees};
use crate::number::plain;

/// The section; nothing where there is no curve.
pub(super) fn section(run: &Run) -> String {
    let mut out = String::new();
    for workload in run.workloads() {
        for knee in knees(&run.cells(&workload)) {
            let rate = knee.rate.as_ref();
            let rate = rate.map_or_else(
                || "–".to_owned(),
                |rate| standing(&format!("{}/s", plain(rate.median)), rate.standing),
            );
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {rate} | {} |",
                text(&workload),
                text(&knee.curve()),
                text(&knee.counted()),
                text(&knee.bend()),
                text(&knee.limited_by())
            );
        }
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\n## Where the curves bend\n\n{}\n\n\
         | workload | server | connections | knee | rate there | limit there |\n\
         |---|---|---|---|--:|---|\n{out}",
        text(&definition_of_knee())
    )
}
