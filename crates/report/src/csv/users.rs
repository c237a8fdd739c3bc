//! The columns of users: who came, and how long their whole pages took.

use model::Span;

use super::number;
use crate::digests::Digest;
use crate::users::facts;

/// Each with what it holds.
pub(super) const COLUMNS: [(&str, &str); 10] = [
    (
        "users_came",
        "users who came over the whole run; empty where all were there from its beginning",
    ),
    (
        "users_waited",
        "of those, how many found all places taken; empty where nobody counted",
    ),
    ("users_left", "who went through their script to its end"),
    ("users_there_most", "the most who had a place at once"),
    (
        "users_wait_p99_us",
        "how long they waited for a place, in microseconds; empty where the sample does not \
         support it",
    ),
    (
        "pages_complete",
        "whole pages whose parts were all answered right; empty where users ask for no parts, like \
         the columns after it",
    ),
    ("pages_failed", "those of which something failed"),
    (
        "page_time_p50_us",
        "time of a whole page in microseconds, a failed one counting as longer than any; empty \
         where the sample does not support it",
    ),
    ("page_time_p90_us", "the same"),
    ("page_time_p99_us", "the same"),
];

/// The quantiles of page times, by their places among all.
const PAGE_QUANTILES: [usize; 3] = [0, 2, 4];

pub(super) fn cells(digest: &Digest) -> Vec<String> {
    let mut cells = Vec::with_capacity(COLUMNS.len());
    match facts(&digest.users) {
        None => cells.resize(5, String::new()),
        Some(facts) => cells.extend([
            facts.came.to_string(),
            facts.waited.map_or_else(String::new, |n| n.to_string()),
            facts.left.to_string(),
            facts.there_most.to_string(),
            number(facts.wait[2].map(Span::as_us_f64)),
        ]),
    }
    match digest.pages_over_all {
        None => cells.resize(COLUMNS.len(), String::new()),
        Some((complete, failed, times)) => {
            cells.extend([complete.to_string(), failed.to_string()]);
            let value = |place: usize| times[place].filter(|time| !time.is_bound);
            cells.extend(PAGE_QUANTILES.map(|place| number(value(place).map(|time| time.us))));
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use model::fixture::closed;
    use model::record::{Page, UsersRecord};
    use model::{Distribution, Trial};

    use super::*;

    fn cells_of(trial: &Trial) -> Vec<String> {
        cells(&Digest::of(trial, 0))
    }

    #[test]
    fn users_and_their_pages_have_columns_and_others_leave_them_empty() {
        let mut trial = closed();
        assert_eq!(cells_of(&trial), [""; COLUMNS.len()]);
        let mut time = Distribution::default();
        time.record_n(Span::from_ms(20), 1_000);
        let page = |failed| Page {
            name: "front".to_owned(),
            failed,
            time: time.clone(),
        };
        trial.record.pages = vec![page(0), page(100)];
        let mut wait = Distribution::default();
        wait.record_n(Span::ZERO, 2_000);
        trial.record.users = Some(UsersRecord {
            came: 2_010,
            seated: 2_000,
            waited: Some(10),
            left: 1_990,
            there_most: 12,
            waiting_most: 10,
            wait,
        });
        let cells = cells_of(&trial);
        assert_eq!(cells[..5], ["2010", "10", "1990", "12", "0"]);
        assert_eq!(cells[5..7], ["2000", "100"]);
        let us: f64 = cells[7].parse().unwrap();
        assert!((us / 20_000.0 - 1.0).abs() < 0.001, "{us}");
        assert_eq!(cells[9], "", "more than one of a hundred failed");
    }
}
