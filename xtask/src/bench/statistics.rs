//! Medians of paired ratios, with intervals that assume nothing about the distribution.

/// What several rounds say about one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// The middle one.
    pub(crate) median: f64,
    /// The interval that holds the true median with at least 93 % confidence.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The smallest.
    pub(crate) least: f64,
    /// The largest.
    pub(crate) most: f64,
}

/// Sums up; none of nothing.
pub(crate) fn summary(values: &[f64]) -> Option<Summary> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let median = if count.is_multiple_of(2) {
        f64::midpoint(sorted[count / 2 - 1], sorted[count / 2])
    } else {
        sorted[count / 2]
    };
    let cut = cut(count);
    Some(Summary {
        median,
        low: sorted[cut],
        high: sorted[count - 1 - cut],
        least: first,
        most: last,
    })
}

/// How many values may be cut off at either end so that the true median lies between the rest with
/// at least 93 % confidence: the binomial tails of a fair coin. Five values allow none.
fn cut(count: usize) -> usize {
    let total = (0..count).fold(1.0, |total, _| total * 2.0);
    let (mut tail, mut term, mut cut): (f64, f64, usize) = (0.0, 1.0, 0);
    for k in 0..count / 2 {
        tail += term;
        if 2.0 * tail / total > 0.07 {
            break;
        }
        cut = k;
        term *= numeric(count - k) / numeric(k + 1);
    }
    cut
}

#[expect(clippy::cast_precision_loss, reason = "numbers of rounds are small")]
const fn numeric(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_cut_what_the_binomial_allows() {
        let expected = [
            (1, 0),
            (5, 0),
            (6, 0),
            (7, 0),
            (8, 0),
            (10, 1),
            (12, 2),
            (20, 5),
        ];
        for (count, most) in expected {
            assert_eq!(cut(count), most, "{count} rounds");
        }
    }

    #[test]
    fn a_summary_orders_its_values() {
        let summary = summary(&[3.0, 1.0, 2.0, f64::NAN]).unwrap();
        let numbers = (summary.median, summary.least, summary.most);
        assert_eq!(numbers, (2.0, 1.0, 3.0));
        assert_eq!(super::summary(&[]), None);
    }
}
