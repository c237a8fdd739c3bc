//! The ranks of servers at the declared load, as rows that pages and texts render.

use std::ops::RangeInclusive;

use verdict::analysis::{Comparison, Measure, Ranked, Standing};

use crate::digests::{Cell, Run};
use crate::number::Unit;

/// The median response time in the list of quantiles.
const P50: usize = 0;

/// A server in the list.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// `2`, `2 to 4`, or a dash where the server could be compared with nobody.
    pub(crate) ranks: String,
    /// Its label.
    pub(crate) server: String,
    /// The median of what is compared; none where there is none.
    pub(crate) value: Option<(String, Standing)>,
    /// The servers that it cannot be told from, or a dash.
    pub(crate) not_told_from: String,
}

/// The rows, the best server first; empty where no ranks can be given.
pub(crate) fn rows(run: &Run, comparison: &Comparison) -> Vec<Row> {
    let Some(ranks) = comparison.ranks.as_ref().filter(|ranks| ranks.can_tell()) else {
        return Vec::new();
    };
    let cells = run.cells(&comparison.workload);
    let row = |ranked: &Ranked| {
        let mut cells = cells.iter().filter(|cell| cell.server() == ranked.server);
        let cell = cells.find(|cell| cell.rounds[0].id.load == comparison.load);
        let or_dash = |text: String| match text.is_empty() {
            true => "–".to_owned(),
            false => text,
        };
        Row {
            ranks: or_dash(ranked.ranks.as_ref().map(span).unwrap_or_default()),
            server: ranked.server.clone(),
            value: cell.and_then(|cell| value(comparison, cell)),
            not_told_from: or_dash(ranked.not_told_from.join(", ")),
        }
    };
    ranks.servers.iter().map(row).collect()
}

/// What is compared, at a point.
fn value(comparison: &Comparison, cell: &Cell<'_>) -> Option<(String, Standing)> {
    let show = |unit: Unit, measure: Measure| (unit.show(measure.median), measure.standing);
    match comparison.quantity() {
        "rate" => Some(show(Unit::PerSecond, cell.rate()?)),
        _ => Some(show(Unit::Microseconds, cell.response(P50)?.measure)),
    }
}

/// `2`, or `2 to 4`.
fn span(ranks: &RangeInclusive<usize>) -> String {
    match (ranks.start(), ranks.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    }
}

/// The ranks in a sentence: `Ranks: 1 origin; 2 to 3 lighttpd, nginx; 4 apache.`
pub(crate) fn sentence(comparison: &Comparison) -> Option<String> {
    let ranks = comparison.ranks.as_ref()?;
    if !ranks.can_tell() {
        return Some(ranks.sentence("faster"));
    }
    let ranked = ranks.servers.iter();
    let ranked: Vec<(&RangeInclusive<usize>, &str)> = ranked
        .filter_map(|one| Some((one.ranks.as_ref()?, one.server.as_str())))
        .collect();
    let groups = ranked.chunk_by(|(one, _), (other, _)| one == other);
    let each = groups.map(|group| {
        let names: Vec<&str> = group.iter().map(|(_, name)| *name).collect();
        format!("{} {}", span(group[0].0), names.join(", "))
    });
    let each: Vec<String> = each.collect();
    Some(format!("Ranks: {}.", each.join("; ")))
}
