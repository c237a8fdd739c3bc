//! The ranks of servers at the declared load, as rows that pages and texts render.

use verdict::analysis::{Comparison, Measure, Ranked, Standing};

use crate::digests::{Cell, Run};
use crate::number::Unit;

/// The median response time in the list of quantiles.
const P50: usize = 0;

/// A server in the list.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// `2`, or a dash where the server could be compared with nobody.
    pub(crate) rank: String,
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
        let rank = ranked.rank.map(|rank| rank.to_string());
        Row {
            rank: or_dash(rank.unwrap_or_default()),
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

/// The ranks in a sentence: `Ranks: 1 origin; 2 lighttpd, nginx; 4 apache.`
pub(crate) fn sentence(comparison: &Comparison) -> Option<String> {
    let ranks = comparison.ranks.as_ref()?;
    if !ranks.can_tell() {
        return Some(ranks.sentence("faster"));
    }
    let mut groups: Vec<(usize, Vec<&str>)> = Vec::new();
    for one in &ranks.servers {
        match (one.rank, groups.last_mut()) {
            (Some(rank), Some((of_group, names))) if *of_group == rank => names.push(&one.server),
            (Some(rank), _) => groups.push((rank, vec![&one.server])),
            (None, _) => {}
        }
    }
    let each = groups.iter();
    let each = each.map(|(rank, names)| format!("{rank} {}", names.join(", ")));
    let each: Vec<String> = each.collect();
    Some(format!("Ranks: {}.", each.join("; ")))
}
