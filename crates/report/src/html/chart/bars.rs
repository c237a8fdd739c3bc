//! Bars, what stands on them, and stretches that are shaded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::drawing::{Plot, TOP};
use crate::chart::scale::index;
use crate::chart::{Point, Series, Standing};

/// From the middle of a bar to its dots, and to its stroke, as a share of its width.
const APART: f64 = 0.2;

/// How high each stack is by now, by its number and its place across.
pub(super) type Heights = BTreeMap<(usize, u64), f64>;

impl Plot<'_> {
    /// What each measurement of a stack of bars had in all, in the middle of the stack.
    pub(super) fn sums(&self, svg: &mut String, series: &Series, stack: usize) {
        self.dots_beside(svg, series, self.middle_of(stack));
    }

    /// How far right of the middle of its group a stack begins, and how wide it may be.
    fn room_of(&self, stack: usize) -> (f64, f64) {
        let room = (self.across(1.0) - self.across(0.0)) * 0.8;
        let width = room / index(self.stacks.max(1));
        (width * index(stack) - room / 2.0, width)
    }

    /// How far right of the middle of its group the middle of a stack is.
    fn middle_of(&self, stack: usize) -> f64 {
        let (left, width) = self.room_of(stack);
        left + (width - 1.5) / 2.0
    }

    /// Bars, each with its interval and with its measurements as dots.
    pub(super) fn bars(&self, svg: &mut String, series: &Series, stack: usize, base: &mut Heights) {
        let (right, width) = self.room_of(stack);
        for point in &series.points {
            let bottom = base.entry((stack, point.x.to_bits())).or_default();
            let (from, to) = (self.up(*bottom), self.up(*bottom + point.y));
            *bottom += point.y;
            let left = self.across(point.x) + right;
            let class = match (point.standing, series.light) {
                (Standing::Struck, _) => "bar struck",
                (_, true) => "bar light",
                (_, false) => "bar",
            };
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{to:.1}\" width=\"{:.1}\" \
                 height=\"{:.1}\"/>",
                (width - 1.5).max(0.8),
                (from - to).max(0.0)
            );
        }
        // Side by side, so that neither hides the other.
        let (middle, apart) = (self.middle_of(stack), width * APART);
        self.dots_beside(svg, series, middle - apart);
        let mut strokes = String::new();
        for point in &series.points {
            self.whisker(&mut strokes, point, middle + apart);
        }
        if !strokes.is_empty() {
            let _ = write!(svg, "<path class=\"whisker\" d=\"{strokes}\"/>");
        }
    }

    /// The interval of a bar's height, with an arrow where it has no end above, or where the height
    /// is at least that.
    fn whisker(&self, strokes: &mut String, point: &Point, right: f64) {
        if point.standing == Standing::Struck {
            return;
        }
        let x = self.across(point.x) + right;
        let mut top = point.y;
        if let Some((low, high)) = point.interval {
            top = high;
            let (low, high) = (self.up(low), self.up(high));
            let _ = write!(strokes, "M{x:.1} {low:.1}V{high:.1}");
        }
        let is_open = point.is_open_above || point.standing == Standing::AtLeast;
        if is_open {
            let _ = write!(
                strokes,
                "M{:.1} {:.1}l4 -6l4 6",
                x - 4.0,
                self.up(top) + 3.0
            );
        }
    }

    /// A stretch across, over all of the height.
    pub(super) fn shade(&self, svg: &mut String, series: &Series) {
        if let (Some(first), Some(last)) = (series.points.first(), series.points.last()) {
            let (from, to) = (self.across(first.x), self.across(last.x));
            let floor = self.floor();
            let _ = write!(
                svg,
                "<path class=\"shade\" d=\"M{from:.1} {TOP}H{to:.1}V{floor:.1}H{from:.1}Z\"/>"
            );
        }
    }
}
