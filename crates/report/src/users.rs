//! What became of users who came at a rate: the facts that text and page tell, of one trial or of
//! several.

use model::record::UsersRecord;
use model::units::Span;
use verdict::summary::{Reading, read};

/// The quantiles of the wait for a place, with their names.
pub(crate) const WAIT_QUANTILES: [(f64, &str); 3] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")];

/// What became of them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Facts {
    /// Who came.
    pub(crate) came: u64,
    /// Who found a place when they came; none where nobody counted.
    pub(crate) at_once: Option<u64>,
    /// Who found all taken; the same.
    pub(crate) waited: Option<u64>,
    /// Who had found none by the end.
    pub(crate) still_waited: u64,
    /// Who went through the script.
    pub(crate) left: u64,
    /// Who had a place at the end.
    pub(crate) still_there: u64,
    /// The most who had one at once.
    pub(crate) there_most: u64,
    /// How long those waited for a place who found one, at each of [`WAIT_QUANTILES`] that they are
    /// enough for.
    pub(crate) wait: [Option<Span>; WAIT_QUANTILES.len()],
    /// The longest of that.
    pub(crate) longest: Option<Span>,
}

/// Those of all these records together; none where no users came to any.
pub(crate) fn facts<'a>(records: impl IntoIterator<Item = &'a UsersRecord>) -> Option<Facts> {
    let mut all: Option<UsersRecord> = None;
    let (mut there_most, mut is_counted) = (0, true);
    for record in records {
        there_most = there_most.max(record.there_most);
        is_counted &= record.found_no_place().is_some();
        all.get_or_insert_default().merge(record.clone());
    }
    let all = all?;
    let waited = all.waited.unwrap_or(0);
    Some(Facts {
        came: all.came,
        at_once: is_counted.then_some(all.came - waited.min(all.came)),
        waited: is_counted.then_some(waited),
        still_waited: all.came.saturating_sub(all.seated),
        left: all.left,
        still_there: all.seated.saturating_sub(all.left),
        there_most,
        wait: WAIT_QUANTILES.map(|(q, _)| match read(&all.wait, q) {
            Reading::Value(wait) => Some(wait),
            Reading::Censored | Reading::TooFew => None,
        }),
        longest: all.wait.max(),
    })
}

#[cfg(test)]
mod tests {
    use model::Distribution;

    use super::*;

    fn record(waited: Option<u64>, there_most: u64) -> UsersRecord {
        let mut wait = Distribution::default();
        wait.record_n(Span::ZERO, 80);
        wait.record_n(Span::from_ms(70), 10);
        UsersRecord {
            came: 100,
            seated: 90,
            waited,
            left: 60,
            there_most,
            waiting_most: 12,
            wait,
        }
    }

    #[test]
    fn rounds_are_taken_together() {
        assert_eq!(facts([]), None);
        let both = facts([&record(Some(20), 31), &record(Some(20), 33)]).unwrap();
        let one = Facts {
            came: 200,
            at_once: Some(160),
            waited: Some(40),
            still_waited: 20,
            left: 120,
            still_there: 60,
            there_most: 33,
            ..both
        };
        assert_eq!(both, one);
        assert_eq!(both.wait[0], Some(Span::ZERO));
        assert_eq!(both.wait[1], both.longest);
        assert_eq!(both.wait[2], None, "180 are too few");
    }

    #[test]
    fn of_records_without_it_nobody_knows_who_waited() {
        let told = facts([&record(Some(20), 31), &record(None, 33)]).unwrap();
        assert_eq!((told.at_once, told.waited), (None, None));
        let nobody = UsersRecord {
            waiting_most: 0,
            ..record(None, 3)
        };
        assert_eq!(facts([&nobody]).unwrap().at_once, Some(100));
    }
}
