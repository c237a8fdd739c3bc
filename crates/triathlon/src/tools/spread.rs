//! Mean, deviation and the share of values within it, as wrk, h2load and ab print them: the
//! deviation is that of a sample, and a value at the edge is within.

use model::Distribution;
use report::hdr::mean_and_deviation;

use super::figures::number;

/// How values lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// How many values are within a deviation of the mean, in per cent.
    pub(super) within: f64,
}

/// What is lost where a mean is rounded to nanoseconds, in microseconds.
const ROUNDING: f64 = 1e-3;

impl Spread {
    /// Of times, in microseconds.
    pub(super) fn of(times: &Distribution) -> Self {
        let (mean, deviation) = mean_and_deviation(times);
        let mean = mean * 1e3;
        // Of equal values the middle of their bucket would differ from their mean.
        let deviation = match times.min() == times.max() {
            true => 0.0,
            false => of_sample(deviation * 1e3, times.count()),
        };
        let buckets = times.buckets().map(|(lowest, width, count)| {
            let half = (width / 2).as_us_f64();
            (lowest.as_us_f64() + half, half, count)
        });
        // Where in its bucket a value lies is not known: at the edge it counts as within.
        let inside = buckets
            .filter(|(middle, half, _)| (middle - mean).abs() <= deviation + half + ROUNDING)
            .map(|(_, _, count)| count)
            .sum();
        Self {
            mean,
            deviation,
            within: 100.0 * number(inside) / number(times.count().max(1)),
        }
    }

    /// Of numbers.
    pub(super) fn of_numbers(numbers: &[f64]) -> Self {
        let count = numbers.len() as u64;
        let of_all = number(count.max(1));
        let mean = numbers.iter().sum::<f64>() / of_all;
        let squares: f64 = numbers.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = of_sample((squares / of_all).sqrt(), count);
        let edge = deviation + mean.abs() * 1e-9;
        let inside = numbers
            .iter()
            .filter(|value| (**value - mean).abs() <= edge);
        Self {
            mean,
            deviation,
            within: 100.0 * number(inside.count() as u64) / of_all,
        }
    }
}

/// The deviation of a sample of so many values whose own deviation is known: 0 of a single one.
pub(super) fn of_sample(deviation: f64, count: u64) -> f64 {
    match count {
        0 | 1 => 0.0,
        _ => deviation.abs() * (number(count) / number(count - 1)).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use model::Span;

    use super::*;

    #[track_caller]
    fn near(is: f64, should: f64) {
        assert!((is - should).abs() <= 0.002 * should, "{is} {should}");
    }

    fn times(values: &[u64]) -> Distribution {
        let mut times = Distribution::default();
        for ns in values {
            times.record(Span::from_ns(*ns));
        }
        times
    }

    #[test]
    fn equal_values_have_no_deviation_and_are_all_within() {
        for ns in (1..400).map(|step| step * 7_919) {
            for count in [1, 2, 3, 7] {
                let spread = Spread::of(&times(&vec![ns; count]));
                assert!(spread.deviation <= 0.0, "{ns} {spread:?}");
                assert!(spread.within >= 100.0, "{ns} {spread:?}");
            }
        }
    }

    /// As h2load 1.52 printed it of two connections: 67, 267, 167 and 141 us, and 100 %.
    #[test]
    fn two_values_are_at_the_edge() {
        let check = |spread: Spread| {
            near(spread.mean, 167.0);
            near(spread.deviation, 141.4);
            assert!(spread.within >= 100.0, "{spread:?}");
        };
        check(Spread::of(&times(&[67_000, 267_000])));
        check(Spread::of_numbers(&[67.0, 267.0]));
    }

    #[test]
    fn a_share_is_that_of_the_values_themselves() {
        // Three are within 2,201 us of 2,200 us, one is not.
        let values = [1_000_000, 1_100_000, 1_200_000, 5_500_000];
        let spread = Spread::of(&times(&values));
        let numbers = values.map(|ns| number(ns) / 1e3);
        let of_numbers = Spread::of_numbers(&numbers);
        near(spread.mean, 2_200.0);
        near(spread.deviation, of_numbers.deviation);
        near(of_numbers.deviation, 2_201.5);
        near(spread.within, 75.0);
        near(of_numbers.within, 75.0);
    }

    #[test]
    fn of_nothing_there_is_nothing() {
        for spread in [Spread::of(&times(&[])), Spread::of_numbers(&[])] {
            assert!(
                spread.deviation <= 0.0 && spread.within <= 0.0,
                "{spread:?}"
            );
        }
    }
}
