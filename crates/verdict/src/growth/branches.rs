//! Two curves at once: within one pass, points jump between a cheap and a dear branch.
//!
//! Looked for before any fit, because every fit through both describes neither. It is asked within
//! passes, so that one slow pass is noise between replicates and not a branch.

use model::probe::Curve;

use super::bins::{Bin, as_f64, median, median_of_sorted};
use super::fit::{Point, fits};
use super::thresholds::{
    BRANCH_BINS, BRANCH_POINTS, BRANCH_RATIO, BRANCH_SEPARATION, BRANCH_SHARE,
};

/// What was found.
#[derive(Clone, Debug)]
pub(super) enum Branches {
    /// Nothing.
    No,
    /// Something like it: the answer must leave room for it.
    Perhaps,
    /// Both, with what they cost.
    Yes(Found),
}

/// The two branches.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The best curve through each, the cheap one first.
    pub(super) curves: [Curve; 2],
    /// The share of points on the dear one.
    pub(super) share: f64,
    /// The share of bins that show both.
    pub(super) bins: f64,
}

/// A cut of one pass's points in one bin.
struct Cut {
    low: f64,
    high: f64,
    share: f64,
    rarer: f64,
    separation: f64,
}

/// Looks for them.
pub(super) fn branches(bins: &[Bin]) -> Branches {
    let (mut looked, mut yes, mut perhaps) = (0_usize, 0_usize, 0_usize);
    let (mut low, mut high): (Vec<Point>, Vec<Point>) = (Vec::new(), Vec::new());
    let mut shares = Vec::new();
    for bin in bins {
        let cuts: Vec<Cut> = bin
            .passes
            .iter()
            .filter(|points| points.len() >= BRANCH_POINTS)
            .filter_map(|points| cut(points))
            .collect();
        if !bin
            .passes
            .iter()
            .any(|points| points.len() >= BRANCH_POINTS)
        {
            continue;
        }
        looked += 1;
        let count = |share: f64, separation: f64| {
            cuts.iter()
                .filter(|cut| {
                    cut.rarer >= share
                        && cut.separation >= separation
                        && cut.high / cut.low >= BRANCH_RATIO
                })
                .count()
        };
        let most = bin.passes.len().div_ceil(2);
        if count(BRANCH_SHARE.1, BRANCH_SEPARATION.1) >= most {
            perhaps += 1;
        }
        if count(BRANCH_SHARE.0, BRANCH_SEPARATION.0) >= most {
            yes += 1;
            low.push((bin.n, median(cuts.iter().map(|cut| cut.low).collect())));
            high.push((bin.n, median(cuts.iter().map(|cut| cut.high).collect())));
            shares.push(median(cuts.iter().map(|cut| cut.share).collect()));
        }
    }
    if looked == 0 {
        return Branches::No;
    }
    let share_of = |count: usize| as_f64(count) / as_f64(looked);
    if share_of(yes) >= BRANCH_BINS.0 && yes >= 4 {
        Branches::Yes(Found {
            curves: [best(&low), best(&high)],
            share: median(shares),
            bins: share_of(yes),
        })
    } else if share_of(perhaps) >= BRANCH_BINS.1 {
        Branches::Perhaps
    } else {
        Branches::No
    }
}

/// The curve with the highest weight.
fn best(points: &[Point]) -> Curve {
    fits(points)
        .into_iter()
        .max_by(|a, b| a.weight.total_cmp(&b.weight))
        .map_or(Curve::Constant { a: 0.0 }, |fit| fit.curve)
}

/// The cut of sorted points that leaves least variance of their logarithms within both parts.
fn cut(sorted: &[f64]) -> Option<Cut> {
    let logs: Vec<f64> = sorted.iter().map(|cost| cost.ln()).collect();
    let total: f64 = logs.iter().sum();
    let (mut before, mut at, mut most) = (0.0, 0, 0.0);
    for split in 1..logs.len() {
        before += logs[split - 1];
        let (left, right) = (as_f64(split), as_f64(logs.len() - split));
        let distance = before / left - (total - before) / right;
        let between = left * right * distance * distance;
        if between > most {
            most = between;
            at = split;
        }
    }
    if at == 0 {
        return None;
    }
    let (low, high) = logs.split_at(at);
    let share = as_f64(high.len()) / as_f64(logs.len());
    let distance = median_of_sorted(high) - median_of_sorted(low);
    Some(Cut {
        low: median_of_sorted(low).exp(),
        high: median_of_sorted(high).exp(),
        share,
        rarer: share.min(1.0 - share),
        // A branch without any width is as wide as a clock tick is coarse: one percent.
        separation: distance / (width(low) + width(high)).max(0.01),
    })
}

/// Half of the central half of sorted values: the robust counterpart of a standard deviation.
fn width(sorted: &[f64]) -> f64 {
    let quarter = sorted.len() / 4;
    (sorted[sorted.len() - 1 - quarter] - sorted[quarter]) / 2.0
}
