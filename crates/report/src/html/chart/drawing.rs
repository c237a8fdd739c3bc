//! The drawing that needs no script: an SVG, coloured by the style sheet, so that it follows dark
//! mode and prints as lines rather than as pixels.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::look;
use super::readout::colour;
use super::{MARKS_LARGE, dash, escape, panels, told};
use crate::chart::scale::{Placing, index, quantile_name};
use crate::chart::{Chart, Kind, Scale, Series, Standing};

/// How large a drawing is. Its text is 12 high, so it wants to be shown about this large.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    width: f64,
    height: f64,
    /// What the style sheet calls it.
    class: &'static str,
}

impl Size {
    pub(super) const fn width(self) -> f64 {
        self.width
    }

    const fn height(self) -> f64 {
        self.height
    }

    pub(super) const fn class(self) -> &'static str {
        self.class
    }

    /// The same with other measures.
    pub(super) const fn resized(self, width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            class: self.class,
        }
    }
}

/// Across the page.
pub(super) const FULL: Size = Size {
    width: 900.0,
    height: 400.0,
    class: "broad",
};
/// One of two beside each other.
pub(super) const HALF: Size = Size {
    width: 570.0,
    height: 330.0,
    class: "broad",
};
/// Across a telephone.
pub(super) const NARROW: Size = Size {
    width: 370.0,
    height: 300.0,
    class: "narrow",
};

/// In a file of its own.
pub(super) const ALONE: Size = Size {
    width: 760.0,
    height: 380.0,
    class: "broad",
};

pub(super) const RIGHT: f64 = 28.0;
pub(super) const TOP: f64 = 30.0;
/// Below the axis, without what is written at its marks.
const BELOW: f64 = 38.0;
/// From line to line.
pub(super) const LINE: f64 = 14.0;
/// The mean width of a character of that text.
const CHARACTER: f64 = 6.4;

/// The plot area and what stands where in it.
pub(super) struct Plot<'a> {
    pub(super) chart: &'a Chart,
    pub(super) size: Size,
    pub(super) x: Placing<'a>,
    pub(super) y: Placing<'a>,
    /// Left of the axis.
    pub(super) left: f64,
    /// The marks across, with the lines written there.
    pub(super) marks: Vec<(f64, Vec<String>)>,
    pub(super) stacks: usize,
}

/// The whole drawing, and how high it is.
pub(super) fn svg(chart: &Chart, size: Size) -> (String, f64) {
    match panels::names(chart) {
        Some(names) => panels::svg(chart, &names, size),
        None => (one_plot(chart, size), size.height()),
    }
}

fn one_plot(chart: &Chart, size: Size) -> String {
    let (x, y) = chart.placings();
    let left = left_of(&y);
    let plot = Plot {
        chart,
        size,
        marks: marks(chart, &x, size.width() - left - RIGHT),
        left,
        x,
        y,
        stacks: chart
            .series
            .iter()
            .filter_map(|series| match series.kind {
                Kind::Bar { stack } => Some(stack + 1),
                _ => None,
            })
            .max()
            .unwrap_or(0),
    };
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg class=\"still {}\" viewBox=\"0 0 {} {}\" data-left=\"{left:.0}\" \
         data-right=\"{}\" role=\"img\" aria-label=\"{}\">",
        size.class,
        size.width(),
        size.height(),
        size.width() - RIGHT,
        escape(&description(chart))
    );
    plot.axes(&mut svg);
    let mut base = std::collections::BTreeMap::new();
    for series in &chart.series {
        let _ = write!(
            svg,
            "<g data-name=\"{}\" style=\"--c:{}\">",
            escape(&series.name),
            colour(series)
        );
        match series.kind {
            Kind::Bar { stack } => plot.bars(&mut svg, series, stack, &mut base),
            Kind::Sum { stack } => plot.sums(&mut svg, series, stack),
            Kind::Shade => plot.shade(&mut svg, series),
            _ => plot.line(&mut svg, series),
        }
        svg.push_str("</g>");
    }
    let _ = write!(
        svg,
        "<path class=\"cursor\" d=\"M0 {TOP}V{}\"/></svg>",
        plot.floor()
    );
    svg
}

/// What stands left of the axis: what is written at its marks.
pub(super) fn left_of(y: &Placing<'_>) -> f64 {
    let label = y.ticks().into_iter().map(|tick| long(&y.label(tick)));
    label.fold(24.0, f64::max) + 16.0
}

/// What stands below the axis, with so many lines at its marks.
pub(super) fn floor_height(lines: usize) -> f64 {
    BELOW + LINE * index(lines)
}

/// About how wide a text is.
fn long(text: &str) -> f64 {
    index(text.chars().count()) * CHARACTER
}

/// The marks across, as many as have room in `width`, with what is written there. Names are broken
/// into lines; none is left out.
pub(super) fn marks(chart: &Chart, placing: &Placing<'_>, width: f64) -> Vec<(f64, Vec<String>)> {
    let ticks = x_ticks(chart, placing);
    if let Scale::Category(names) = &chart.x.scale {
        let room = width / index(names.len().max(1));
        let named = ticks.into_iter().zip(names);
        return named
            .map(|(tick, name)| (tick, broken(name, room)))
            .collect();
    }
    let labels: Vec<String> = ticks.iter().map(|tick| placing.label(*tick)).collect();
    let widest = labels.iter().map(|label| long(label)).fold(0.0, f64::max) + 10.0;
    let fits = |every: &usize| index(labels.len().div_ceil(*every)) * widest <= width;
    let every = (1..labels.len().max(2)).find(fits).unwrap_or(labels.len());
    let kept = ticks.into_iter().zip(labels).step_by(every.max(1));
    kept.map(|(tick, label)| (tick, vec![label])).collect()
}

/// `name` in lines that are no wider than `room`, where its words allow it.
pub(super) fn broken(name: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(line) if long(line) + long(word) + CHARACTER <= room - 4.0 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// What the drawing shows, in words, for those who do not see it.
pub(super) fn description(chart: &Chart) -> String {
    let mut text = format!(
        "{}. {} against {}.",
        chart.title, chart.y.name, chart.x.name
    );
    for series in told(chart).take(12) {
        let (Some(first), Some(last)) = (series.points.first(), series.points.last()) else {
            continue;
        };
        let at = |x: f64| x_text(chart, x);
        let _ = write!(
            text,
            " {}{}: {} at {}",
            series.name,
            series
                .part
                .as_ref()
                .map_or(String::new(), |part| format!(" {part}")),
            chart.y.unit.show(first.y),
            at(first.x)
        );
        if series.points.len() > 1 {
            let _ = write!(text, " to {} at {}", chart.y.unit.show(last.y), at(last.x));
        }
        text.push('.');
    }
    text.push_str(" All numbers are in the table below.");
    text
}

/// A value across, as a reader names it.
pub(super) fn x_text(chart: &Chart, x: f64) -> String {
    match &chart.x.scale {
        Scale::Category(names) => names
            .iter()
            .enumerate()
            .find(|(position, _)| (index(*position) - x).abs() < 0.5)
            .map_or_else(String::new, |(_, name)| name.clone()),
        Scale::Quantile => quantile_name(x),
        Scale::Linear | Scale::Log => chart.x.unit.show(x),
    }
}

impl Plot<'_> {
    pub(super) fn across(&self, x: f64) -> f64 {
        self.left + self.x.place(x) * (self.size.width() - self.left - RIGHT)
    }

    pub(super) fn up(&self, y: f64) -> f64 {
        let floor = self.floor();
        floor - self.y.place(y).clamp(0.0, 1.0) * (floor - TOP)
    }

    /// Where the axis across is.
    pub(super) fn floor(&self) -> f64 {
        let lines = self.marks.iter().map(|(_, lines)| lines.len()).max();
        self.size.height() - floor_height(lines.unwrap_or(1))
    }

    fn axes(&self, svg: &mut String) {
        let (floor, left, right) = (self.floor(), self.left, self.size.width() - RIGHT);
        for tick in self.y.ticks() {
            let y = self.up(tick);
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right}\"/><text class=\"y\" \
                 x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 8.0,
                y + 4.0,
                escape(&self.y.label(tick))
            );
        }
        for (tick, lines) in &self.marks {
            let x = self.across(*tick);
            let _ = write!(svg, "<path class=\"axis\" d=\"M{x:.1} {floor}v5\"/>");
            for (number, line) in lines.iter().enumerate() {
                let _ = write!(
                    svg,
                    "<text class=\"x\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                    floor + 6.0 + LINE * index(number + 1),
                    escape(line)
                );
            }
        }
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{left:.1} {floor}H{right}\"/>\
             <text class=\"name\" x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <text class=\"name\" x=\"8\" y=\"16\">{}</text>",
            self.size.height() - 8.0,
            escape(&self.chart.x.name),
            escape(&self.chart.y.name)
        );
    }

    /// The line of a series; struck points break it.
    pub(super) fn path(&self, series: &Series) -> String {
        let mut path = String::new();
        let mut pen_down = false;
        for point in &series.points {
            if point.standing == Standing::Struck {
                pen_down = false;
                continue;
            }
            let letter = if pen_down { 'L' } else { 'M' };
            let (x, y) = (self.across(point.x), self.up(point.y));
            let _ = write!(path, "{letter}{x:.1} {y:.1}");
            pen_down = true;
        }
        path
    }

    pub(super) fn line(&self, svg: &mut String, series: &Series) {
        self.band(svg, series);
        self.dots(svg, series);
        if !matches!(series.kind, Kind::Marks | Kind::Scatter) {
            let path = self.path(series);
            let thin = if series.kind == Kind::Trace {
                " thin"
            } else {
                ""
            };
            let _ = write!(
                svg,
                "<path class=\"line{thin}\"{} d=\"{path}\"/>",
                dash(series)
            );
        }
        if matches!(series.kind, Kind::Line | Kind::Marks) {
            let scale = if series.points.len() > MARKS_LARGE {
                0.45
            } else {
                0.8
            };
            for point in &series.points {
                let _ = write!(
                    svg,
                    "<path class=\"mark\" transform=\"translate({:.1} {:.1}) scale({scale})\" d=\"{}\"/>",
                    self.across(point.x) - 5.0 * scale,
                    self.up(point.y) - 5.0 * scale,
                    look::symbol_of(series.look, point.standing)
                );
            }
        }
    }

    /// Each measurement by itself.
    fn dots(&self, svg: &mut String, series: &Series) {
        self.dots_beside(svg, series, 0.0);
    }

    /// The dots of a series, so far right of where they stand across.
    pub(super) fn dots_beside(&self, svg: &mut String, series: &Series, right: f64) {
        let fine = match series.kind {
            Kind::Scatter => " fine",
            Kind::Bar { .. } | Kind::Sum { .. } => " sum",
            _ => "",
        };
        if series.cloud.is_empty() {
            return;
        }
        let mut dots = String::new();
        let mut struck = String::new();
        let mut drawn = BTreeSet::new();
        for dot in &series.cloud {
            let (x, y) = (self.across(dot.x) + right, self.up(dot.y));
            if dot.standing == Standing::Struck {
                let _ = write!(struck, "M{:.1} {:.1}l7 7m0 -7l-7 7", x - 3.5, y - 3.5);
            } else if series.kind == Kind::Scatter {
                // Whole pixels, each once: half the bytes.
                let dot = format!("M{x:.0} {y:.0}h0");
                if !drawn.contains(&dot) {
                    dots.push_str(&dot);
                    drawn.insert(dot);
                }
            } else {
                // A line of no length with round ends is a dot: a quarter of a circle's bytes.
                let _ = write!(dots, "M{x:.1} {y:.1}h0");
            }
        }
        let _ = write!(
            svg,
            "<path class=\"dots{fine}\" d=\"{dots}\"/><path class=\"crosses\" d=\"{struck}\"/>"
        );
    }

    fn band(&self, svg: &mut String, series: &Series) {
        self.arrows(svg, series);
        let sides: Vec<(f64, f64, f64)> = series
            .points
            .iter()
            .filter(|point| point.standing != Standing::Struck)
            .filter_map(|point| {
                let (low, high) = point.interval?;
                Some((self.across(point.x), self.up(low), self.up(high)))
            })
            .collect();
        if series.kind == Kind::Marks || sides.len() < 2 {
            for (x, low, high) in sides {
                let _ = write!(
                    svg,
                    "<path class=\"line thin\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>"
                );
            }
            return;
        }
        let mut path = String::new();
        for (position, (x, _, high)) in sides.iter().enumerate() {
            let _ = write!(
                path,
                "{}{x:.1} {high:.1}",
                if position == 0 { 'M' } else { 'L' }
            );
        }
        for (x, low, _) in sides.iter().rev() {
            let _ = write!(path, "L{x:.1} {low:.1}");
        }
        let _ = write!(svg, "<path class=\"band\" d=\"{path}Z\"/>");
    }

    /// An arrow at the upper end of each interval that has none.
    fn arrows(&self, svg: &mut String, series: &Series) {
        let mut path = String::new();
        for point in &series.points {
            let is_open = point.is_open_above && point.standing != Standing::Struck;
            if let Some((_, high)) = point.interval.filter(|_| is_open) {
                let (x, y) = (self.across(point.x), self.up(high));
                let _ = write!(path, "M{:.1} {:.1}l4 -6l4 6", x - 4.0, y + 3.0);
            }
        }
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"line thin\" d=\"{path}\"/>");
        }
    }
}

/// The marks across: the values that were measured where they are few, round ones otherwise.
pub(super) fn x_ticks(chart: &Chart, placing: &Placing<'_>) -> Vec<f64> {
    if matches!(chart.x.scale, Scale::Log) {
        let mut values: Vec<f64> = chart
            .series
            .iter()
            .flat_map(|series| series.points.iter().map(|point| point.x))
            .collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if (1..=10).contains(&values.len()) {
            return values;
        }
    }
    placing.ticks()
}
