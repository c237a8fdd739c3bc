//! Points into geometric bins, one typical cost for each bin and pass.

use super::thresholds::{BINS, POINTS_PER_BIN, SPAN};

/// One bin: every pass's points in it.
#[derive(Clone, Debug)]
pub(super) struct Bin {
    /// The population that stands for it: the geometric middle of its edges.
    pub(super) n: f64,
    /// For each pass its points, sorted.
    pub(super) passes: Vec<Vec<f64>>,
    /// For each pass its median.
    pub(super) medians: Vec<f64>,
    /// The median of those.
    pub(super) typical: f64,
}

/// The middle of sorted values.
pub(super) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// The middle of values in any order.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    median_of_sorted(&values)
}

/// The bins from the lowest population at which each pass has enough points in every one of them;
/// none where that leaves too short a span.
pub(super) fn bins(passes: &[Vec<(u32, f64)>]) -> Option<Vec<Bin>> {
    let last = passes
        .iter()
        .map(|points| points.iter().map(|(n, _)| *n).max())
        .min()??;
    let first = passes
        .iter()
        .flat_map(|points| points.iter().map(|(n, _)| *n))
        .min()?
        .max(1);
    let last = f64::from(last);
    let mut start = f64::from(first);
    while last / start >= SPAN {
        let edges = edges(start, last);
        if let Some(bins) = fill(&edges, passes) {
            return Some(bins);
        }
        start *= 1.1;
    }
    None
}

/// The `BINS + 1` edges from `start` to just beyond `last`.
fn edges(start: f64, last: f64) -> Vec<f64> {
    let step = ((last + 1.0) / start).ln() / as_f64(BINS);
    (0..=BINS)
        .map(|index| start * (step * as_f64(index)).exp())
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of points and bins")]
pub(super) fn as_f64(count: usize) -> f64 {
    count as f64
}

/// Sorts the points into the bins; none if a pass has too few in one.
fn fill(edges: &[f64], passes: &[Vec<(u32, f64)>]) -> Option<Vec<Bin>> {
    let mut bins: Vec<Bin> = edges
        .windows(2)
        .map(|pair| Bin {
            n: (pair[0] * pair[1]).sqrt(),
            passes: vec![Vec::new(); passes.len()],
            medians: Vec::new(),
            typical: 0.0,
        })
        .collect();
    for (pass, points) in passes.iter().enumerate() {
        for (n, cost) in points {
            let above = edges.partition_point(|edge| *edge <= f64::from(*n));
            if above > 0 && above < edges.len() {
                bins[above - 1].passes[pass].push(*cost);
            }
        }
    }
    for bin in &mut bins {
        for points in &mut bin.passes {
            if points.len() < POINTS_PER_BIN {
                return None;
            }
            points.sort_by(f64::total_cmp);
        }
        bin.medians = bin.passes.iter().map(|p| median_of_sorted(p)).collect();
        bin.typical = median(bin.medians.clone());
    }
    Some(bins)
}
