//! What went wrong at each point, as rows that pages render: 0 is an answer, too.

use crate::digests::Cell;
use crate::number::{Unit, count, plain};

/// A point.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Requests that failed or were never sent, over all rounds.
    pub(crate) lost: String,
    /// Their share of all.
    pub(crate) share: String,
    /// Stalled connections: the median of the rounds that count, and the most of a round where it
    /// has more.
    pub(crate) stalled: (String, Option<String>),
}

/// What is known of a point.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
pub(crate) fn row(cell: &Cell<'_>) -> Row {
    let (lost, ok) = (cell.lost(), cell.ok());
    let share = match lost + ok {
        0 => "–".to_owned(),
        all => Unit::Share.show(lost as f64 / all as f64),
    };
    let told = |number: f64, is_at_most: bool| {
        let bound = if is_at_most { "at most " } else { "" };
        format!("{bound}{}", plain(number))
    };
    let stalled = cell.stalled().map(|found| {
        let (median, (most, is_bound)) = (found.measure.median, found.most);
        let of_round = (most > median).then(|| format!("in a round {}", told(most, is_bound)));
        (told(median, found.is_at_most), of_round)
    });
    Row {
        lost: count(lost),
        share,
        stalled: stalled.unwrap_or_else(|| ("not recorded".to_owned(), None)),
    }
}
