//! Least squares of the candidate curves, weighted by 1 / y squared, with what each is worth.

use model::probe::{Class, Curve};

use super::bins::as_f64;
use super::thresholds::STEP_BINS;

/// A typical cost at a population.
pub(super) type Point = (f64, f64);

/// One candidate, fitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// With its coefficients.
    pub(super) curve: Curve,
    /// Relative squared error, added up.
    pub(super) rss: f64,
    /// The same where each point is left out of the fit that predicts it.
    pub(super) cross_validation: f64,
    /// Its Akaike weight among all candidates.
    pub(super) weight: f64,
}

/// The shapes that are tried, without the constant.
#[derive(Clone, Copy)]
enum Shape {
    Logarithmic,
    Linear,
    LogLinear,
    Quadratic,
    Step,
}

const SHAPES: [Shape; 5] = [
    Shape::Logarithmic,
    Shape::Linear,
    Shape::LogLinear,
    Shape::Quadratic,
    Shape::Step,
];

/// Fits every shape and weighs them against each other (AICc).
pub(super) fn fits(points: &[Point]) -> Vec<Fit> {
    let mut fits = vec![fit(points, |points, _| constant(points))];
    fits.extend(
        SHAPES
            .iter()
            .map(|shape| fit(points, |points, whole| shaped(points, *shape, whole))),
    );
    let lowest = fits
        .iter()
        .map(|fit| aicc(fit, points.len()))
        .fold(f64::INFINITY, f64::min);
    let raw: Vec<f64> = fits
        .iter()
        .map(|fit| (-0.5 * (aicc(fit, points.len()) - lowest)).exp())
        .collect();
    let sum: f64 = raw.iter().sum();
    for (fit, raw) in fits.iter_mut().zip(raw) {
        fit.weight = raw / sum;
    }
    fits
}

/// One constant over all points.
fn constant(points: &[Point]) -> Curve {
    let (sum, weights) = points.iter().fold((0.0, 0.0), |(sum, weights), (_, y)| {
        let weight = 1.0 / (y * y);
        (weight.mul_add(*y, sum), weights + weight)
    });
    Curve::Constant { a: sum / weights }
}

/// `whole` is the curve through all points, where `points` lack one.
fn shaped(points: &[Point], shape: Shape, whole: Option<&Curve>) -> Curve {
    match shape {
        Shape::Logarithmic => {
            let (a, b) = line(points, f64::ln);
            Curve::Logarithmic { a, b }
        }
        Shape::Linear => {
            let (a, b) = line(points, |n| n);
            Curve::Linear { a, b }
        }
        Shape::LogLinear => {
            let (a, b) = line(points, |n| n * n.ln());
            Curve::LogLinear { a, b }
        }
        Shape::Quadratic => {
            let (a, b) = line(points, |n| n * n);
            Curve::Quadratic { a, b }
        }
        Shape::Step => match whole {
            // Where a step lies is known from both its neighbours; without one of them it would
            // be misplaced by a bin. Its place is paid for as a parameter instead.
            Some(Curve::Step { at, .. }) => levels(points, *at),
            _ => step(points),
        },
    }
}

/// a + b g(n) with a and b at least zero: no operation costs less than nothing, and a class is a
/// statement about growth.
fn line(points: &[Point], g: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (n, y) in points {
        let weight = 1.0 / (y * y);
        let x = g(*n);
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let determinant = w * wxx - wx * wx;
    let b = (w * wxy - wx * wy) / determinant;
    let a = (wy - b * wx) / w;
    if !b.is_finite() || b < 0.0 {
        (wy / w, 0.0)
    } else if a < 0.0 {
        (0.0, wxy / wxx)
    } else {
        (a, b)
    }
}

/// Two levels, the second one higher, at the place that leaves least.
fn step(points: &[Point]) -> Curve {
    let mut best = levels(points, points[0].0);
    let mut least = f64::INFINITY;
    for split in STEP_BINS..points.len().saturating_sub(STEP_BINS - 1) {
        let curve = levels(points, (points[split - 1].0 * points[split].0).sqrt());
        let rss = rss(&curve, points);
        if matches!(curve, Curve::Step { a, b, .. } if b >= a) && rss < least {
            least = rss;
            best = curve;
        }
    }
    best
}

/// The levels below and above `at`; one level where a side is empty.
fn levels(points: &[Point], at: f64) -> Curve {
    let level = |points: &[Point]| match constant(points) {
        Curve::Constant { a } => a,
        _ => unreachable!("a constant is fitted"),
    };
    let (below, above) = points.split_at(points.partition_point(|(n, _)| *n < at));
    match (below.is_empty(), above.is_empty()) {
        (false, false) => Curve::Step {
            a: level(below),
            b: level(above),
            at,
        },
        _ => Curve::Step {
            a: level(points),
            b: level(points),
            at,
        },
    }
}

fn rss(curve: &Curve, points: &[Point]) -> f64 {
    points.iter().map(|(n, y)| error(curve, *n, *y)).sum()
}

/// The relative error, squared.
fn error(curve: &Curve, n: f64, y: f64) -> f64 {
    let relative = (y - curve.value(n)) / y;
    relative * relative
}

fn fit(points: &[Point], shape: impl Fn(&[Point], Option<&Curve>) -> Curve) -> Fit {
    let curve = shape(points, None);
    let mut left = Vec::with_capacity(points.len());
    let cross_validation = (0..points.len())
        .map(|out| {
            left.clear();
            left.extend_from_slice(&points[..out]);
            left.extend_from_slice(&points[out + 1..]);
            let (n, y) = points[out];
            error(&shape(&left, Some(&curve)), n, y)
        })
        .sum();
    Fit {
        curve,
        rss: rss(&curve, points),
        cross_validation,
        weight: 0.0,
    }
}

/// Coefficients, and one for the variance.
const fn parameters(curve: &Curve) -> usize {
    match curve.class() {
        Class::Flat => 2,
        Class::Step => 4,
        _ => 3,
    }
}

/// Akaike's criterion, corrected for few points.
fn aicc(fit: &Fit, points: usize) -> f64 {
    let m = as_f64(points);
    let k = as_f64(parameters(&fit.curve));
    // Points that are fitted without any error still weigh alike among themselves.
    let rss = fit.rss.max(1e-12);
    m.mul_add((rss / m).ln(), 2.0 * k) + 2.0 * k * (k + 1.0) / (m - k - 1.0)
}
