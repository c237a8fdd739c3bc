//! The answers as sentences.

use model::Span;
use model::probe::{Class, Curve, Growth};

use super::Ratio;
use super::bins;
use super::branches::Found;
use super::thresholds::{FALLING_RATIO, GROWING_RATIO, PASSES, POINTS_PER_BIN, SPAN};

/// Nanoseconds with a unit that fits.
fn time(ns: f64) -> String {
    if ns < 100.0 {
        format!("{ns:.1} ns")
    } else {
        Span::from_ns(whole(ns)).to_string()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of nanoseconds, below 104 days"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

/// A whole number with its thousands apart.
fn count(n: f64) -> String {
    let digits = whole(n).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn range(growth: &Growth) -> String {
    format!("from {} to {}", count(growth.from), count(growth.to))
}

/// Why there is no answer.
pub(super) fn too_little(passes: &[Vec<(u32, f64)>]) -> String {
    if passes.iter().any(Vec::is_empty) || passes.is_empty() {
        return "nothing was measured".to_owned();
    }
    let enough = bins::enough(passes).map_or_else(String::new, |population| {
        format!("; --population {population} would suffice")
    });
    format!(
        "too few points for a class: each pass needs {POINTS_PER_BIN} in every bin over a span \
         of {SPAN:.0}{enough}"
    )
}

/// Flat.
pub(super) fn flat(growth: &Growth, ratio: &Ratio) -> String {
    let decades = (growth.to / growth.from).log10();
    let highest = ratio.highest;
    let more = if highest <= 1.0 {
        "nowhere more than at the beginning".to_owned()
    } else {
        format!(
            "at most {:.0} % more anywhere, {:.0} % per decade",
            (highest - 1.0) * 100.0,
            ((highest.ln() / decades).exp() - 1.0) * 100.0
        )
    };
    let less = (1.0 - ratio.least.min(1.0)) * 100.0;
    format!(
        "flat: {} about {}; {more}, and at most {less:.0} % less (95 % bounds)",
        range(growth),
        time(growth.typical_ns.0),
    )
}

/// Cheaper the more there are.
pub(super) fn falling(growth: &Growth) -> String {
    let (estimate, low, high) = growth.ratio;
    format!(
        "falling: {} it grows nowhere, and falls from {} to {}, {:.0} % of it (95 % bounds {:.0} \
         and {:.0}); no model is fitted to a fall",
        range(growth),
        time(growth.typical_ns.0),
        time(growth.typical_ns.1),
        estimate * 100.0,
        low * 100.0,
        high * 100.0
    )
}

/// A class by its name.
pub(super) fn named(growth: &Growth, curve: &Curve) -> String {
    let times = format!(
        "{:.2} times the cost at the end (95 % bounds {:.2} and {:.2}), Akaike weight {:.2}",
        growth.ratio.0, growth.ratio.1, growth.ratio.2, growth.confidence
    );
    let shape = match *curve {
        Curve::Constant { a } => format!("flat at {}", time(a)),
        Curve::Logarithmic { a, b } => format!(
            "logarithmic: {} and {} more for each doubling",
            time(a),
            time(b * std::f64::consts::LN_2)
        ),
        Curve::Linear { a, b } => format!(
            "linear: {} and {} more for each thousand",
            time(a),
            time(b * 1e3)
        ),
        Curve::LogLinear { a, b } => format!(
            "worse than linear: {} and {} times n log n",
            time(a),
            time(b)
        ),
        Curve::Quadratic { a, b } => format!(
            "worse than linear: {} and {} times the square of n in thousands",
            time(a),
            time(b * 1e6)
        ),
        Curve::Step { a, b, at } => format!(
            "a step at about {}: {} before, {} after",
            count(at),
            time(a),
            time(b)
        ),
    };
    format!("{shape}; {}, {times}", range(growth))
}

/// More than one class.
pub(super) fn between(growth: &Growth, why: &str) -> String {
    if !growth.ratio.1.is_finite() || growth.ratio.1 == 0.0 {
        return format!(
            "{}: {why}; at least {PASSES} passes are needed",
            growth.word()
        );
    }
    let named = if growth.classes.contains(&Class::Falling) {
        format!("a fall is named up to {FALLING_RATIO:.2}, growth from {GROWING_RATIO} on")
    } else {
        format!("growth is named from {GROWING_RATIO} on")
    };
    format!(
        "{}: {why}; {} {:.2} times the cost at the end (95 % bounds {:.2} and {:.2}; {named})",
        growth.word(),
        range(growth),
        growth.ratio.0,
        growth.ratio.1,
        growth.ratio.2
    )
}

/// Two branches.
pub(super) fn branches(growth: &Growth, found: &Found) -> String {
    let [cheap, dear] = &found.curves;
    format!(
        "two branches: {:.0} % of the points are on the slow one, in {:.0} % of the bins; {} the \
         fast one ({}) ends at {}, the slow one ({}) at {}",
        found.share * 100.0,
        found.bins * 100.0,
        range(growth),
        cheap.class().word(),
        time(cheap.value(growth.to)),
        dear.class().word(),
        time(dear.value(growth.to))
    )
}
