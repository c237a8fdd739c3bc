//! The drawing that needs no script: an SVG, coloured by the style sheet, so that it follows dark
//! mode and prints as lines rather than as pixels.

use std::fmt::Write as _;

use super::look;
use super::{MARKS_LARGE, dash, escape};
use crate::chart::scale::{Placing, index, quantile_name};
use crate::chart::{Chart, Kind, Scale, Series, Standing};

/// The drawing's own size; the page scales it.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 52.0;

/// The plot area and what stands where in it.
struct Plot<'a> {
    chart: &'a Chart,
    x: Placing<'a>,
    y: Placing<'a>,
    stacks: usize,
}

/// The whole drawing.
pub(super) fn svg(chart: &Chart) -> String {
    let (x, y) = chart.placings();
    let plot = Plot {
        chart,
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
        "<svg class=\"still\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&description(chart))
    );
    plot.axes(&mut svg);
    let mut base = std::collections::BTreeMap::new();
    for series in &chart.series {
        let _ = write!(
            svg,
            "<g data-name=\"{}\" style=\"--c:{}\">",
            escape(&series.name),
            if series.kind == Kind::Reference {
                "var(--muted)".to_owned()
            } else {
                look::colour(series.look)
            }
        );
        match series.kind {
            Kind::Bar { stack } => plot.bars(&mut svg, series, stack, &mut base),
            _ => plot.line(&mut svg, series),
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    svg
}

/// What the drawing shows, in words, for those who do not see it.
fn description(chart: &Chart) -> String {
    let mut text = format!(
        "{}. {} against {}.",
        chart.title, chart.y.name, chart.x.name
    );
    for series in chart.series.iter().take(12) {
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
    fn across(&self, x: f64) -> f64 {
        LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT)
    }

    fn up(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(y).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn axes(&self, svg: &mut String) {
        let floor = HEIGHT - BOTTOM;
        for tick in self.y.ticks() {
            let y = self.up(tick);
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{}\"/><text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0,
                escape(&self.y.label(tick))
            );
        }
        let ticks = x_ticks(self.chart, &self.x);
        let every = ticks.len().div_ceil(14).max(1);
        for tick in ticks.iter().step_by(every) {
            let x = self.across(*tick);
            let _ = write!(
                svg,
                "<path class=\"axis\" d=\"M{x:.1} {floor}v5\"/><text class=\"x\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                floor + 20.0,
                escape(&self.x.label(*tick))
            );
        }
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{LEFT} {floor}H{}\"/>\
             <text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <text class=\"name\" x=\"8\" y=\"16\">{}</text>",
            WIDTH - RIGHT,
            WIDTH - RIGHT,
            HEIGHT - 8.0,
            escape(&self.chart.x.name),
            escape(&self.chart.y.name)
        );
    }

    fn line(&self, svg: &mut String, series: &Series) {
        self.band(svg, series);
        let fine = match series.kind {
            Kind::Scatter => " fine",
            _ => "",
        };
        if !series.cloud.is_empty() {
            let mut dots = String::new();
            let mut struck = String::new();
            for dot in &series.cloud {
                let (x, y) = (self.across(dot.x), self.up(dot.y));
                if dot.standing == Standing::Struck {
                    let _ = write!(struck, "M{:.1} {:.1}l7 7m0 -7l-7 7", x - 3.5, y - 3.5);
                } else if series.kind == Kind::Scatter {
                    // As many as there are: whole pixels, half the bytes.
                    let _ = write!(dots, "M{x:.0} {y:.0}h0");
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
        if series.kind != Kind::Scatter {
            let mut path = String::new();
            let mut pen_down = false;
            for point in &series.points {
                if point.standing == Standing::Struck {
                    pen_down = false;
                    continue;
                }
                let letter = if pen_down { 'L' } else { 'M' };
                let _ = write!(
                    path,
                    "{letter}{:.1} {:.1}",
                    self.across(point.x),
                    self.up(point.y)
                );
                pen_down = true;
            }
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
        if series.kind == Kind::Line {
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

    fn band(&self, svg: &mut String, series: &Series) {
        let sides: Vec<(f64, f64, f64)> = series
            .points
            .iter()
            .filter(|point| point.standing != Standing::Struck)
            .filter_map(|point| {
                let (low, high) = point.interval?;
                Some((self.across(point.x), self.up(low), self.up(high)))
            })
            .collect();
        if sides.len() == 1 {
            let (x, low, high) = sides[0];
            let _ = write!(
                svg,
                "<path class=\"line thin\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>"
            );
        }
        if sides.len() < 2 {
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

    fn bars(
        &self,
        svg: &mut String,
        series: &Series,
        stack: usize,
        base: &mut std::collections::BTreeMap<(usize, u64), f64>,
    ) {
        let room = (self.across(1.0) - self.across(0.0)) * 0.8;
        let width = room / index(self.stacks.max(1));
        for point in &series.points {
            let bottom = base.entry((stack, point.x.to_bits())).or_default();
            let (from, to) = (self.up(*bottom), self.up(*bottom + point.y));
            *bottom += point.y;
            let left = self.across(point.x) - room / 2.0 + width * index(stack);
            let class = match (point.standing, series.light) {
                (Standing::Struck, _) => "bar struck",
                (_, true) => "bar light",
                (_, false) => "bar",
            };
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{to:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                (width - 1.5).max(0.8),
                (from - to).max(0.0)
            );
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
