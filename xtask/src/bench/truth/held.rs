//! Response times held against those that a server noted of the same exchanges: a table of medians
//! over several runs.

use anyhow::Result;

use super::joined::Joined;
use crate::bench::Setting;
use crate::bench::statistics::summary;

/// The quantiles that are compared: their names, the share that is below, and by how much they may
/// differ beside what a machine's clocks and wake-ups take.
const QUANTILES: [(&str, f64, f64); 4] = [
    ("p50", 0.5, 0.01),
    ("p90", 0.9, 0.01),
    ("p99", 0.99, 0.01),
    ("p99.9", 0.999, 0.05),
];

/// Which exchanges a row is of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Which {
    All,
    /// The first of each connection.
    First,
    /// The others.
    Later,
}

/// Since when a row counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Since {
    Due,
    Sent,
}

/// What a row of the table is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Compared {
    /// What the row is called.
    pub(super) name: &'static str,
    pub(super) which: Which,
    pub(super) from: Since,
    /// Whether both sides count from a request to its answer, so that they should say the same;
    /// else it is told how much is in one that is not in the other.
    pub(super) is_alike: bool,
}

/// What is told of some exchanges, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) count: usize,
    /// Quantiles as the server noted them.
    pub(super) noted: [f64; QUANTILES.len()],
    /// How far those of the generator are beyond.
    pub(super) beyond: [f64; QUANTILES.len()],
    /// By how much 99 of 100 single exchanges differ at most.
    single: f64,
}

impl Told {
    /// Of exchanges that took so long by the server and by the generator.
    pub(super) fn of(pairs: &[(i64, i64)]) -> Self {
        let sorted = |of: fn(&(i64, i64)) -> i64| {
            let mut values: Vec<i64> = pairs.iter().map(of).collect();
            values.sort_unstable();
            values
        };
        let (noted, measured) = (sorted(|pair| pair.0), sorted(|pair| pair.1));
        let apart = sorted(|pair| (pair.1 - pair.0).abs());
        let noted = QUANTILES.map(|(_, share, _)| quantile(&noted, share));
        let measured = QUANTILES.map(|(_, share, _)| quantile(&measured, share));
        Self {
            count: pairs.len(),
            noted,
            beyond: std::array::from_fn(|which| measured[which] - noted[which]),
            single: quantile(&apart, 0.99),
        }
    }
}

/// The runs of one row.
pub(super) struct Held {
    /// Of all exchanges of each run.
    all: Vec<Told>,
    /// Of those in whose time the generator was on time.
    on_time: Vec<Told>,
}

/// Runs once for each round, and holds each run against what the server noted: a row for each of
/// `rows`. On time is what left no later than `limit` microseconds.
pub(super) fn hold(
    setting: &Setting,
    rows: &[Compared],
    limit: f64,
    mut run: impl FnMut() -> Result<Joined>,
) -> Result<Vec<Held>> {
    let empty = |_| Held {
        all: Vec::new(),
        on_time: Vec::new(),
    };
    let mut held: Vec<Held> = rows.iter().map(empty).collect();
    for _ in 0..setting.rounds {
        let joined = run()?;
        #[expect(clippy::cast_possible_truncation, reason = "a hundred microseconds")]
        let on_time = joined.on_time((limit * 1e3) as i64);
        for (row, held) in rows.iter().zip(&mut held) {
            held.all.push(joined.told(row, &vec![true; on_time.len()]));
            held.on_time.push(joined.told(row, &on_time));
        }
    }
    Ok(held)
}

/// What is counted of the rows of a table: of all exchanges, and of those on time.
#[derive(Default)]
pub(super) struct Tally {
    all: Counted,
    on_time: Counted,
}

#[derive(Debug, Default, Eq, PartialEq)]
struct Counted {
    quantiles: u32,
    beyond: u32,
}

/// Prints the head of a table.
pub(super) fn begin(setting: &Setting) {
    println!(
        "  the server works on some requests at once: its capacity is their number by the mean of \
         its law, and shares of that are asked\n  each cell: what the server noted of the answers \
         of the window, in us, and what the generator measured beyond it, with the interval\n  \
         that holds the true median: medians of {} runs; single: by how much 99 of 100 answers \
         differ at most\n  on time: answers while which nothing left late, by more than 60 us \
         (spinning) or 120 us (asleep)",
        setting.rounds
    );
    print!(
        "  {:<28} {:>14} {:>7} {:>13}",
        "", "share", "--spin", "answers"
    );
    for (name, ..) in QUANTILES {
        print!(" {name:>26}");
    }
    println!(" {:>8}", "single");
}

impl Tally {
    /// Prints a row, after its `head`, for all exchanges and for those on time, and which of its
    /// quantiles differ by more than `floor` microseconds and by more than they may; of those
    /// without a floor none does.
    pub(super) fn print(&mut self, head: &str, held: &Held, floor: Option<f64>) {
        let count = |runs: &[Told]| runs.iter().map(|told| told.count).sum::<usize>();
        let share = 100 * count(&held.on_time) / count(&held.all).max(1);
        print_told(head, "all", &held.all, floor, &mut self.all);
        let kept = format!("on time {share} %");
        print_told("", &kept, &held.on_time, floor, &mut self.on_time);
    }

    /// Prints how many differ.
    pub(super) fn end(&self) {
        let told = |counted: &Counted| format!("{} of {}", counted.beyond, counted.quantiles);
        println!(
            "  beyond 1 % (5 % above p99) and beyond 60 us (spinning) or 120 us (asleep), with a \
             !: {} quantiles of the answers on time, {} of all",
            told(&self.on_time),
            told(&self.all)
        );
    }
}

fn print_told(head: &str, which: &str, runs: &[Told], floor: Option<f64>, counted: &mut Counted) {
    print!("  {head:<51} {which:>13}");
    let of = |value: &dyn Fn(&Told) -> f64| summary(&runs.iter().map(value).collect::<Vec<_>>());
    for (which, (.., part)) in QUANTILES.iter().enumerate() {
        let (noted, beyond) = (
            of(&|told| told.noted[which]),
            of(&|told| told.beyond[which]),
        );
        let (Some(noted), Some(beyond)) = (noted, beyond) else {
            continue;
        };
        let far = floor.is_some_and(|floor| is_beyond(noted.median, beyond.median, floor, *part));
        let mark = if far { "!" } else { " " };
        let (median, low, high) = (beyond.median, beyond.low, beyond.high);
        let cell = format!(
            "{:.0} {median:+.0} [{low:.0}, {high:.0}]{mark}",
            noted.median
        );
        print!(" {cell:>26}");
        if floor.is_some() {
            counted.quantiles += 1;
            counted.beyond += u32::from(far);
        }
    }
    let single = of(&|told| told.single).map_or(f64::NAN, |single| single.median);
    println!(" {single:>8.0}");
}

/// Whether what is `beyond` a quantile is more than so many microseconds and more than that part.
fn is_beyond(noted: f64, beyond: f64, floor: f64, part: f64) -> bool {
    beyond.abs() > floor && beyond.abs() > noted * part
}

/// The smallest of `sorted`, in nanoseconds, that at least that share of them does not exceed, in
/// microseconds.
fn quantile(sorted: &[i64], share: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "some million answers"
    )]
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let place = rank.clamp(1, sorted.len().max(1)) - 1;
    #[expect(clippy::cast_precision_loss, reason = "some seconds")]
    let value = sorted.get(place).copied().unwrap_or(0) as f64;
    value / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let sorted: Vec<i64> = (1..=1_000).map(|us| us * 1_000).collect();
        let check = |share: f64, expected: &str| {
            assert_eq!(quantile(&sorted, share).to_string(), expected);
        };
        check(0.5, "500");
        check(0.99, "990");
        check(0.999, "999");
        check(1.0, "1000");
        assert_eq!(quantile(&[7_000], 0.001).to_string(), "7");
        assert_eq!(quantile(&[], 0.5).to_string(), "0");
    }

    #[test]
    fn what_is_beyond_both_limits_is_beyond() {
        let check = |noted, beyond, expected| {
            let is = is_beyond(noted, beyond, 60.0, 0.01);
            assert_eq!(is, expected, "{noted} {beyond}");
        };
        check(1_000.0, 59.0, false);
        check(1_000.0, 61.0, true);
        check(1_000.0, -61.0, true);
        check(20_000.0, 199.0, false);
        check(20_000.0, 201.0, true);
    }

    #[test]
    fn quantiles_are_counted_where_they_have_a_limit() {
        let told = Told {
            count: 7,
            noted: [1_000.0; 4],
            beyond: [10.0, 50.0, 70.0, 70.0],
            single: 71.0,
        };
        let late = Told {
            beyond: [900.0; 4],
            ..told
        };
        let held = Held {
            all: vec![late; 3],
            on_time: vec![told; 3],
        };
        let mut tally = Tally::default();
        tally.print("a row", &held, None);
        assert_eq!(tally.all, Counted::default());
        tally.print("a row", &held, Some(60.0));
        let is = |quantiles, beyond| Counted { quantiles, beyond };
        assert_eq!((tally.all, tally.on_time), (is(4, 4), is(4, 2)));
    }
}
