//! Then and now: what was published of an earlier study, beside what a run has at the same place.

use model::experiment::Published;
use verdict::analysis::Measure;

use crate::asked::beside;
use crate::digests::{Cell, Run};

/// What must be said before such figures stand side by side.
pub const WARNING: &str = "Other hardware, other software, another generator: compare shapes and \
    ratios within a column.";

/// What the ratio of the two numbers of a row is good for.
pub const RATIO: &str = "Of the numbers of a row nothing follows but this: now / then is mostly \
    how much faster this machine is in all; where it differs from row to row, it is more.";

/// A figure, and the best point of its server and workload in the run.
#[derive(Clone, Debug)]
pub struct Row<'r> {
    /// What it is a figure of.
    pub what: &'r str,
    /// Right answers per second, then.
    pub then: f64,
    /// The point of this run with the highest rate of those that it may be.
    pub now: Option<(Cell<'r>, Measure)>,
    /// Where the figure stands.
    pub source: &'r str,
}

/// All figures, in their order.
pub fn rows(run: &Run) -> Vec<Row<'_>> {
    let row = |published| row(run, published);
    run.published.iter().map(row).collect()
}

fn row<'r>(run: &'r Run, published: &'r Published) -> Row<'r> {
    Row {
        what: &published.what,
        then: published.rate.0.as_per_second_f64(),
        now: now(run, published),
        source: published.source.as_deref().unwrap_or_default(),
    }
}

fn now<'r>(run: &'r Run, published: &Published) -> Option<(Cell<'r>, Measure)> {
    let cell = beside(run, published)?;
    let rate = cell.rate()?;
    Some((cell, rate))
}
