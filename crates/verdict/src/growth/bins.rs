//! Points into geometric bins, one typical cost for each bin and pass.

use super::thresholds::{BINS, POINTS_PER_BIN, SPAN};

/// No population above this is advised.
const POPULATION_MAX: u32 = 1_000_000;

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
    let ordered: Vec<Vec<(u32, f64)>> = passes
        .iter()
        .map(|points| {
            let mut points = points.clone();
            points.sort_by_key(|(n, _)| *n);
            points
        })
        .collect();
    let first = ordered
        .iter()
        .filter_map(|points| points.first())
        .min_by_key(|(n, _)| *n)?;
    let last = ordered
        .iter()
        .map(|points| points.last().map(|(n, _)| *n))
        .min()??;
    let last = f64::from(last);
    let mut start = f64::from(first.0.max(1));
    while last / start >= SPAN {
        let edges = edges(start, last);
        let enough = |pair: &[f64]| {
            ordered
                .iter()
                .all(|points| between(points, pair).len() >= POINTS_PER_BIN)
        };
        if edges.windows(2).all(enough) {
            return Some(edges.windows(2).map(|pair| bin(&ordered, pair)).collect());
        }
        start *= 1.1;
    }
    None
}

/// The least population that gives enough points, if they lie as far apart as these do; none where
/// that cannot be seen.
pub(super) fn enough(passes: &[Vec<(u32, f64)>]) -> Option<u32> {
    let sparsest = passes.iter().min_by_key(|points| points.len())?;
    let mut at: Vec<u32> = sparsest.iter().map(|(n, _)| *n).collect();
    at.sort_unstable();
    at.dedup();
    let (first, last) = (*at.first()?, *at.last()?);
    let steps = u32::try_from(at.len() - 1).ok()?;
    let distance = (last - first).checked_div(steps)?.max(1);
    let times = sparsest.len() / at.len();
    let mut population = last.max(10);
    while population < POPULATION_MAX {
        // Upwards by what people type: numbers of two digits and zeros.
        let unit = 10_u32.pow(population.ilog10() - 1);
        population = (population / unit + 1) * unit;
        let step = usize::try_from(distance).ok()?;
        let points = (first..=population)
            .step_by(step)
            .flat_map(|n| std::iter::repeat_n((n, 1.0), times));
        if bins(&[points.collect()]).is_some() {
            return Some(population);
        }
    }
    None
}

/// The points from one edge up to the next.
fn between<'a>(ordered: &'a [(u32, f64)], pair: &[f64]) -> &'a [(u32, f64)] {
    let below = |edge: f64| ordered.partition_point(|(n, _)| f64::from(*n) < edge);
    &ordered[below(pair[0])..below(pair[1])]
}

fn bin(ordered: &[Vec<(u32, f64)>], pair: &[f64]) -> Bin {
    let passes: Vec<Vec<f64>> = ordered
        .iter()
        .map(|points| {
            let mut costs: Vec<f64> = between(points, pair)
                .iter()
                .map(|(_, cost)| *cost)
                .collect();
            costs.sort_unstable_by(f64::total_cmp);
            costs
        })
        .collect();
    let medians: Vec<f64> = passes.iter().map(|costs| median_of_sorted(costs)).collect();
    Bin {
        n: (pair[0] * pair[1]).sqrt(),
        passes,
        typical: median(medians.clone()),
        medians,
    }
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
