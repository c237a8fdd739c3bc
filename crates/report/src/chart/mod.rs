//! A chart as a value: series, points, intervals, reference lines, axes with units.
//!
//! It knows nothing of a page. The same value becomes a drawing, what is read out under the
//! pointer, and a table; so what a reader sees is the same in all three.

pub mod scale;

pub use scale::Scale;
pub use verdict::analysis::Standing;

use crate::number::Unit;

/// How many looks (colour, symbol, dash) there are before they repeat.
pub const LOOKS: usize = 8;

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Unique on the page; letters, digits and hyphens.
    pub id: String,
    /// What is shown.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub caption: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// What is drawn, the first below.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it counts: "connections".
    pub name: String,
    /// In what.
    pub unit: Unit,
    /// How values become places.
    pub scale: Scale,
}

impl Axis {
    /// Where values between `low` and `high` stand.
    pub fn placing(&self, low: f64, high: f64) -> scale::Placing<'_> {
        self.scale.placing(self.unit, low, high)
    }
}

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Bars on a category axis; series of one stack stand on each other.
    Bar {
        /// Which stack.
        stack: usize,
    },
    /// A line through the points, its interval as a band, its cloud around it.
    Line,
    /// Marks that no line joins, each with its interval as a stroke, its cloud around it.
    Marks,
    /// A line without marks.
    Curve,
    /// A dashed grey line: something to hold the others against.
    Reference,
    /// Points alone: as many as there are.
    Scatter,
    /// A stretch across, from its first point to its last: all of the height is shaded.
    Shade,
    /// What the bars of a stack are together: a dot for each measurement, where its top would be.
    Sum {
        /// Which stack.
        stack: usize,
    },
    /// A thin line without marks.
    Trace,
}

/// One thing that is compared with others.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name; series of one name are hidden and shown together.
    pub name: String,
    /// What tells its points apart from those of another series of the same name.
    pub part: Option<String>,
    /// Its colour, symbol and dash; the same for the same thing in all charts of a page.
    pub look: usize,
    /// Whether it is the lighter, hatched or dashed half of a pair.
    pub light: bool,
    /// How many lines of its look stand before it: those of one thing in several ways, which a dash
    /// tells apart.
    pub strand: usize,
    /// How its points are joined.
    pub kind: Kind,
    /// From left to right.
    pub points: Vec<Point>,
    /// What the points stand for: each measurement by itself.
    pub cloud: Vec<Dot>,
}

impl Series {
    /// One without points yet.
    pub fn new(name: impl Into<String>, look: usize, kind: Kind) -> Self {
        Self {
            name: name.into(),
            part: None,
            look,
            light: false,
            strand: 0,
            kind,
            points: Vec::new(),
            cloud: Vec::new(),
        }
    }

    /// Whether there is nothing to see.
    pub const fn is_empty(&self) -> bool {
        self.points.is_empty() && self.cloud.is_empty()
    }
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Across; the position of the category on a category axis.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The interval it may lie in.
    pub interval: Option<(f64, f64)>,
    /// Whether nobody knows how far up that goes.
    pub is_open_above: bool,
    /// How far it may be believed.
    pub standing: Standing,
}

impl Point {
    /// A value alone.
    pub const fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            interval: None,
            is_open_above: false,
            standing: Standing::Sound,
        }
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// How far it may be believed.
    pub standing: Standing,
}

/// Pixels that a dense cloud is thinned to: what falls on one is drawn once.
const PIXELS: (f64, f64) = (900.0, 450.0);

impl Chart {
    /// Whether there is anything to see.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(Series::is_empty)
    }

    /// The names in the legend, each once, with its look and kind, in order.
    pub fn legend(&self) -> Vec<&Series> {
        let mut seen: Vec<&Series> = Vec::new();
        for series in &self.series {
            if !seen.iter().any(|other| other.name == series.name) {
                seen.push(series);
            }
        }
        seen
    }

    /// The lowest and highest value on each axis, intervals and clouds included.
    pub fn extent(&self) -> ((f64, f64), (f64, f64)) {
        let mut x = (f64::INFINITY, f64::NEG_INFINITY);
        let mut y = (f64::INFINITY, f64::NEG_INFINITY);
        let widen = |range: &mut (f64, f64), value: f64| {
            if value.is_finite() {
                range.0 = range.0.min(value);
                range.1 = range.1.max(value);
            }
        };
        for series in &self.series {
            for point in &series.points {
                widen(&mut x, point.x);
                if series.kind == Kind::Shade {
                    continue;
                }
                widen(&mut y, point.y);
                if let Some((low, high)) = point.interval {
                    widen(&mut y, low);
                    widen(&mut y, high);
                }
            }
            for dot in &series.cloud {
                widen(&mut x, dot.x);
                widen(&mut y, dot.y);
            }
        }
        for height in self.stacks() {
            widen(&mut y, height);
        }
        (x, y)
    }

    /// Where values stand on either axis: across from the first to the last, up from mark to mark.
    pub fn placings(&self) -> (scale::Placing<'_>, scale::Placing<'_>) {
        let ((x_low, x_high), (y_low, y_high)) = self.extent();
        let across = self.x.placing(x_low, x_high);
        (across, self.y.placing(y_low, y_high).to_marks())
    }

    /// The heights of all stacks of bars.
    fn stacks(&self) -> Vec<f64> {
        let mut heights: std::collections::BTreeMap<(usize, u64), f64> =
            std::collections::BTreeMap::new();
        for series in &self.series {
            if let Kind::Bar { stack } = series.kind {
                for point in &series.points {
                    *heights.entry((stack, point.x.to_bits())).or_default() += point.y;
                }
            }
        }
        heights.into_values().collect()
    }

    /// How many single measurements there are.
    pub fn dots(&self) -> usize {
        self.series.iter().map(|series| series.cloud.len()).sum()
    }

    /// Thins each cloud to the pixel, so that fifty thousand points draw and ship like a few
    /// thousand. The picture stays the same; all points are in the data beside it.
    pub fn thin(&mut self) {
        let ((x_low, x_high), (y_low, y_high)) = self.extent();
        let across = self.x.placing(x_low, x_high);
        let up = self.y.placing(y_low, y_high);
        for series in &mut self.series {
            let mut taken = std::collections::BTreeSet::new();
            series.cloud.retain(|dot| {
                let place = (
                    pixel(across.place(dot.x), PIXELS.0),
                    pixel(up.place(dot.y), PIXELS.1),
                );
                taken.insert((place, dot.standing))
            });
        }
    }
}

/// Which of `pixels` a place from 0 to 1 falls on.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a pixel of a screen; what is off it saturates"
)]
fn pixel(place: f64, pixels: f64) -> i32 {
    (place * pixels).round() as i32
}

#[cfg(test)]
mod tests;
