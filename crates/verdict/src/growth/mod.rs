//! How a cost grows with a population: flat, logarithmic, linear, worse, a step, two branches, not
//! at all but falling, or honestly between two of those.
//!
//! The order of the questions matters. Two branches first, because any one curve through both is
//! wrong. Then whether it grows at all, as an equivalence test with the passes as replicates: a
//! slope that is significant and tiny is flat, and what becomes cheaper is falling, without a model
//! of how. Only then which curve describes the growth, by
//! Akaike's weight among models that all have an intercept, confirmed by leaving bins out.

mod bins;
mod branches;
mod fit;
mod say;
mod thresholds;

use model::probe::{Class, Growth, ProbeResult};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use bins::{Bin, as_f64};
use branches::Branches;
use fit::{Fit, Point};
use thresholds::{
    AKAIKE_NEGLIGIBLE, AKAIKE_WEIGHT, BUSY_ELSEWHERE, CONFIDENCE, CROSS_VALIDATION_MARGIN,
    FALLING_RATIO, FLAT_FALL, FLAT_RATIO, GROWING_RATIO, LAST_OCTAVE, MISFIT, MISFIT_OF_GROWTH,
    NOT_EXCLUDED, PASSES,
};

/// Groups of neighbouring bins that the equivalence test compares with the first of them.
const GROUPS: usize = 6;

/// The growth of every operation that a probe timed.
pub fn of_result(result: &ProbeResult) -> Vec<Growth> {
    result
        .series_names()
        .into_iter()
        .map(|series| {
            let mut growth = classify(series, &result.points(series));
            if let Some(share) = result
                .busy_elsewhere
                .filter(|share| *share > BUSY_ELSEWHERE)
            {
                doubt(&mut growth, share);
            }
            growth
        })
        .collect()
}

/// Takes back the name of a growth that strangers may have caused.
fn doubt(growth: &mut Growth, share: f64) {
    if growth.classes.is_empty() || growth.classes.contains(&Class::Flat) {
        return;
    }
    growth.classes.push(Class::Flat);
    growth.classes.sort_unstable();
    let why = format!(
        "other programs used {:.0} % of the probe's CPUs meanwhile, so no growth is named",
        share * 100.0
    );
    growth.sentence = say::between(growth, &why);
}

/// The growth of one operation: for each pass its points, as population and cost in nanoseconds.
pub fn classify(series: &str, passes: &[Vec<(u32, f64)>]) -> Growth {
    let Some(bins) = bins::bins(passes) else {
        return Growth {
            series: series.to_owned(),
            sentence: say::too_little(passes),
            ..Growth::default()
        };
    };
    let points: Vec<Point> = bins.iter().map(|bin| (bin.n, bin.typical)).collect();
    let ratio = ratio(&bins);
    let mut growth = Growth {
        series: series.to_owned(),
        from: bins[0].n,
        to: bins[bins.len() - 1].n,
        typical_ns: ratio.levels,
        ratio: (ratio.end, ratio.low, ratio.high),
        bins: points.clone(),
        ..Growth::default()
    };
    let branches = branches::branches(&bins);
    if let Branches::Yes(found) = branches {
        growth.classes = vec![Class::TwoBranches];
        growth.confidence = found.bins;
        growth.sentence = say::branches(&growth, &found);
        growth.curves = found.curves.to_vec();
        return growth;
    }
    single_curve(&mut growth, &ratio, &points, passes.len());
    if matches!(branches, Branches::Perhaps) {
        growth.classes.push(Class::TwoBranches);
        growth.sentence = say::between(&growth, "some bins show two branches");
    }
    growth
}

/// The answer where all points are on one curve.
fn single_curve(growth: &mut Growth, ratio: &Ratio, points: &[Point], passes: usize) {
    let fits = fit::fits(points);
    if passes >= PASSES && ratio.highest <= FLAT_RATIO {
        growth.curves = fits[..1].iter().map(|fit| fit.curve).collect();
        if ratio.least >= FLAT_FALL {
            growth.classes = vec![Class::Flat];
            growth.confidence = CONFIDENCE;
            growth.sentence = say::flat(growth, ratio);
            return;
        }
        if ratio.rise < GROWING_RATIO {
            does_not_grow(growth, ratio);
            return;
        }
    }
    let growing: Vec<Fit> = fits
        .into_iter()
        .filter(|fit| fit.curve.class() != Class::Flat)
        .collect();
    let Choice { mut classes, best } = choose(&growing, points);
    growth.curves = vec![best.curve];
    growth.confidence = weight(&growing, best.curve.class());
    let grows = passes >= PASSES && ratio.lowest >= GROWING_RATIO;
    if !grows {
        classes.insert(0, Class::Flat);
        if ratio.least < FLAT_FALL {
            classes.insert(0, Class::Falling);
        }
    }
    growth.classes = classes;
    growth.sentence = match growth.classes.as_slice() {
        [_] => say::named(growth, &best.curve),
        _ if grows => say::between(growth, "no model fits clearly better"),
        _ if passes < PASSES => say::between(growth, "too few passes to name a class"),
        _ if ratio.rise >= GROWING_RATIO => say::between(growth, "it falls and grows again"),
        _ => say::between(growth, "the bounds straddle what counts as flat"),
    };
}

/// The answer where it grows nowhere and is not flat: every model is one of growth, so none is
/// fitted to a fall.
fn does_not_grow(growth: &mut Growth, ratio: &Ratio) {
    if ratio.high <= FALLING_RATIO {
        growth.classes = vec![Class::Falling];
        growth.confidence = CONFIDENCE;
        growth.curves.clear();
        growth.sentence = say::falling(growth);
    } else {
        growth.classes = vec![Class::Falling, Class::Flat];
        growth.sentence = say::between(growth, "the bounds straddle what counts as flat");
    }
}

/// What the fits leave over.
struct Choice {
    /// One, or those between which the answer lies, in the order of the classes.
    classes: Vec<Class>,
    /// The curve to draw.
    best: Fit,
}

/// The weight of a class among the growing ones: that of all its curves.
fn weight(fits: &[Fit], class: Class) -> f64 {
    let sum: f64 = fits.iter().map(|fit| fit.weight).sum();
    let of_class: f64 = fits
        .iter()
        .filter(|fit| fit.curve.class() == class)
        .map(|fit| fit.weight)
        .sum();
    if sum > 0.0 { of_class / sum } else { 0.0 }
}

/// Which classes the fits allow.
fn choose(fits: &[Fit], points: &[Point]) -> Choice {
    let all = [Class::Logarithmic, Class::Linear, Class::Worse, Class::Step];
    let error = |class: Class| {
        fits.iter()
            .filter(|fit| fit.curve.class() == class)
            .map(|fit| fit.cross_validation)
            .fold(f64::INFINITY, f64::min)
    };
    let best = *fits
        .iter()
        .max_by(|a, b| a.weight.total_cmp(&b.weight))
        .expect("five curves were fitted");
    let least = all.map(error).into_iter().fold(f64::INFINITY, f64::min);
    let class = best.curve.class();
    let rival =
        |other: &Class| *other != class && error(*other) <= error(class) * CROSS_VALIDATION_MARGIN;
    if weight(fits, class) >= AKAIKE_WEIGHT && !all.iter().any(rival) && describes(&best, points) {
        return Choice {
            classes: vec![class],
            best,
        };
    }
    let possible = |other: &Class| {
        weight(fits, *other) >= AKAIKE_NEGLIGIBLE || error(*other) <= least * NOT_EXCLUDED
    };
    let mut classes: Vec<Class> = all.into_iter().filter(possible).collect();
    if classes.len() < 2 {
        classes = all.to_vec();
    }
    Choice { classes, best }
}

/// Whether a curve is near what it was fitted to, everywhere and over the last octave.
fn describes(fit: &Fit, points: &[Point]) -> bool {
    let (first, last) = (points[0], points[points.len() - 1]);
    let error = (fit.rss / as_f64(points.len())).sqrt();
    let grown = (fit.curve.value(last.0) / fit.curve.value(first.0)).ln();
    let bound = MISFIT.max(MISFIT_OF_GROWTH * grown);
    let half = points.partition_point(|(n, _)| *n < last.0 / 2.0);
    let (n, y) = points[half.min(points.len() - 1)];
    let seen = last.1 / y;
    let fitted = fit.curve.value(last.0) / fit.curve.value(n);
    let octave = (seen / fitted).ln().abs() <= LAST_OCTAVE.ln();
    error <= bound && octave
}

/// How many times dearer the rest of the axis is than its beginning.
struct Ratio {
    /// What one call costs at the beginning and at the end, in nanoseconds: their ratio is `end`.
    levels: (f64, f64),
    /// The end over the beginning: estimate, and 95 % bounds.
    end: f64,
    low: f64,
    high: f64,
    /// The highest upper bound, and the highest lower bound, of any part over the beginning.
    highest: f64,
    lowest: f64,
    /// The lowest lower bound of any part over the beginning.
    least: f64,
    /// The highest lower bound of any part over any one before it.
    rise: f64,
}

/// What one call costs at the beginning of the axis and at its end, in nanoseconds, in each pass:
/// what the ratio of [`classify`] is made of. None where there are too few points.
pub fn ends(passes: &[Vec<(u32, f64)>]) -> Option<Vec<(f64, f64)>> {
    let bins = bins::bins(passes)?;
    let passes = 0..bins[0].medians.len();
    let at = |pass, group| level(&bins, pass, group).exp();
    Some(
        passes
            .map(|pass| (at(pass, 0), at(pass, GROUPS - 1)))
            .collect(),
    )
}

/// The logarithm of what one call costs in a group of bins, in one pass.
fn level(bins: &[Bin], pass: usize, group: usize) -> f64 {
    let size = bins.len() / GROUPS;
    let values = &bins[group * size..(group + 1) * size];
    values.iter().map(|bin| bin.medians[pass].ln()).sum::<f64>() / as_f64(size)
}

/// With the passes as replicates: the mean of logarithms and a t interval.
fn ratio(bins: &[Bin]) -> Ratio {
    let passes = bins[0].medians.len();
    let level = |pass: usize, group: usize| level(bins, pass, group);
    let t = if passes < 2 {
        f64::INFINITY
    } else {
        StudentsT::new(0.0, 1.0, as_f64(passes - 1))
            .map_or(f64::INFINITY, |t| t.inverse_cdf(CONFIDENCE))
    };
    let typical = |group: usize| {
        let sum: f64 = (0..passes).map(|pass| level(pass, group)).sum();
        (sum / as_f64(passes)).exp()
    };
    // The mean of logarithms of one group over another, and half the width of its interval.
    let over = |group: usize, other: usize| {
        let logs: Vec<f64> = (0..passes)
            .map(|pass| level(pass, group) - level(pass, other))
            .collect();
        let mean = logs.iter().sum::<f64>() / as_f64(passes);
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        let half = if passes < 2 {
            f64::INFINITY
        } else {
            t * (squares / as_f64(passes - 1) / as_f64(passes)).sqrt()
        };
        (mean, half)
    };
    let mut ratio = Ratio {
        levels: (typical(0), typical(GROUPS - 1)),
        end: 1.0,
        low: 1.0,
        high: 1.0,
        highest: 0.0,
        lowest: 0.0,
        least: f64::INFINITY,
        rise: 0.0,
    };
    for group in 1..GROUPS {
        let (mean, half) = over(group, 0);
        ratio.highest = ratio.highest.max((mean + half).exp());
        ratio.lowest = ratio.lowest.max((mean - half).exp());
        ratio.least = ratio.least.min((mean - half).exp());
        for other in 0..group {
            let (mean, half) = over(group, other);
            ratio.rise = ratio.rise.max((mean - half).exp());
        }
        if group == GROUPS - 1 {
            (ratio.end, ratio.low, ratio.high) = (
                mean.exp(),
                (mean - half).exp(),
                (mean + half).exp().min(f64::MAX),
            );
        }
    }
    ratio
}

#[cfg(test)]
mod tests;
