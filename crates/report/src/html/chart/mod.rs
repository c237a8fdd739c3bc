//! A chart on the page: heading, how to read it, legend, drawing, what the script reads out of it,
//! and the numbers.

mod alone;
mod bars;
mod drawing;
mod numbers;
mod panels;
mod readout;

use std::fmt::Write as _;

pub(super) use alone::file;
pub(super) use numbers::standing;

use super::look;
use super::{escape, json};
use crate::chart::{Chart, Kind, Series};

/// More single measurements than this are thinned to the pixel before they are drawn.
const DOTS_AS_THEY_ARE: usize = 4_000;

/// How much of the page's width a figure has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Room {
    /// All of it.
    Full,
    /// It stands beside another.
    Half,
}

/// The two ends of an interval in words; the upper one only where it is known.
fn range(chart: &Chart, (low, high): (f64, f64), is_open_above: bool) -> String {
    let unit = chart.y.unit;
    match is_open_above {
        true => format!("from {}", unit.show(low)),
        false => format!("{} – {}", unit.show(low), unit.show(high)),
    }
}

/// The figure, under a heading of that level.
pub(super) fn figure(chart: &Chart, level: u8, room: Room) -> String {
    figure_with(chart, level, room, &numbers::table(chart))
}

/// The same, with other numbers below it.
pub(super) fn figure_with(chart: &Chart, level: u8, room: Room, numbers: &str) -> String {
    if chart.is_empty() {
        return String::new();
    }
    let mut thinned = None;
    let drawn = if chart.dots() > DOTS_AS_THEY_ARE {
        let chart = thinned.insert(chart.clone());
        chart.thin();
        chart
    } else {
        chart
    };
    let mut html = String::new();
    let id = escape(&chart.id);
    let (class, size) = match room {
        _ if panels::names(chart).is_some() => ("chart full many", drawing::FULL),
        Room::Full => ("chart full", drawing::FULL),
        Room::Half => ("chart", drawing::HALF),
    };
    let _ = write!(
        html,
        "<figure class=\"{class}\" id=\"{id}\">\n<div class=\"plate\"><figcaption><h{level}>{}</h{level}><p>{}</p></figcaption>\n",
        escape(&chart.title),
        escape(&chart.caption)
    );
    html.push_str(&legend(chart));
    let _ = write!(
        html,
        "<div class=\"stage\">{}{}</div></div>\n<script type=\"application/json\">{}</script>\n",
        drawing::svg(drawn, size).0,
        drawing::svg(drawn, drawing::NARROW).0,
        json(&readout::readout(chart))
    );
    let _ = write!(
        html,
        "<details class=\"numbers\"><summary>Numbers of this chart</summary>\n{numbers}</details>\n</figure>\n"
    );
    html
}

/// Buttons that hide and show; without script they are the plain legend.
fn legend(chart: &Chart) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for series in keys(chart) {
        let _ = write!(
            html,
            "<li><button type=\"button\" aria-pressed=\"true\" data-name=\"{0}\">{1}<span>{0}</span></button></li>",
            escape(&series.name),
            swatch(series)
        );
    }
    if let Some(said) = halves(chart) {
        let _ = write!(html, "<li class=\"halves\">{}</li>", escape(&said));
    }
    if panels::names(chart).is_some() {
        html.push_str("<li class=\"halves\">grey: all others</li>");
    }
    html.push_str("</ul>\n");
    html
}

/// What tells the halves of pairs apart, where there are some: `solid: user · pale: system`.
fn halves(chart: &Chart) -> Option<String> {
    let light = chart.series.iter().find(|series| series.light)?;
    let mut dark = chart.series.iter();
    let dark = dark.find(|series| !series.light && series.name == light.name)?;
    let (of_light, of_dark) = (half(light.part.as_ref()?), half(dark.part.as_ref()?));
    let paleness = how_light(light);
    Some(format!("solid: {of_dark} · {paleness}: {of_light}"))
}

/// Which half a part is, without its round: `failed` of `failed, round 3`.
fn half(part: &str) -> &str {
    part.split(", ").next().unwrap_or(part)
}

/// What the legend explains: all series, or those that are in each panel, where panels name theirs.
fn keys(chart: &Chart) -> Vec<&Series> {
    let mut keys = chart.legend();
    if panels::names(chart).is_some() {
        keys.retain(|series| !panels::is_own(series));
    }
    keys
}

/// The series that have values: what is shaded has none.
fn told(chart: &Chart) -> impl Iterator<Item = &Series> {
    let series = chart.series.iter();
    series.filter(|series| series.kind != Kind::Shade)
}

/// What makes the light half of a pair light.
const fn how_light(series: &Series) -> &'static str {
    match series.kind {
        Kind::Bar { .. } => "pale",
        Kind::Curve
        | Kind::Line
        | Kind::Marks
        | Kind::Reference
        | Kind::Scatter
        | Kind::Shade
        | Kind::Sum { .. }
        | Kind::Trace => "dotted",
    }
}

/// A little picture of a series' look.
fn swatch(series: &Series) -> String {
    let symbol = match series.kind {
        Kind::Bar { .. } | Kind::Sum { .. } => Some("M0 0H10V10H0Z"),
        Kind::Curve | Kind::Reference | Kind::Shade | Kind::Trace => None,
        // Single points are round, whosoever they are.
        Kind::Scatter => Some(look::symbol(0)),
        Kind::Line | Kind::Marks => Some(look::symbol(series.look)),
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 28 12\" width=\"28\" height=\"12\" aria-hidden=\"true\" style=\"--c:{}\">",
        readout::colour(series)
    );
    let is_joined = !matches!(
        series.kind,
        Kind::Bar { .. } | Kind::Marks | Kind::Scatter | Kind::Shade | Kind::Sum { .. }
    );
    if is_joined {
        let dash = dash(series);
        let _ = write!(svg, "<path class=\"line\"{dash} d=\"M1 6H27\"/>");
    }
    if series.kind == Kind::Shade {
        svg.push_str("<path class=\"shade\" d=\"M1 0H27V12H1Z\"/>");
    }
    if let Some(symbol) = symbol {
        let _ = write!(
            svg,
            "<path class=\"mark\" transform=\"translate(9.5 1.5) scale(.9)\" d=\"{symbol}\"/>"
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Marks of a line with more points than this are small, so that the line is seen.
const MARKS_LARGE: usize = 20;

/// Dashes of the second, third and fourth line of one look.
const STRANDS: [&str; 3] = [
    " stroke-dasharray=\"10 4\"",
    " stroke-dasharray=\"2 3\"",
    " stroke-dasharray=\"10 3 2 3\"",
];

/// Dashes of references beside the dotted first one.
const REFERENCES: [&str; 3] = [
    " stroke-dasharray=\"10 5\"",
    " stroke-dasharray=\"18 5\"",
    " stroke-dasharray=\"10 4 2 4\"",
];

/// The dash attribute of a series' line, if it has one.
fn dash(series: &Series) -> &'static str {
    match series.kind {
        Kind::Reference if series.strand > 0 => REFERENCES[(series.strand - 1) % REFERENCES.len()],
        Kind::Reference => " stroke-dasharray=\"2 4\"",
        _ if series.light => " stroke-dasharray=\"3 3\"",
        Kind::Line if series.strand > 0 => STRANDS[(series.strand - 1) % STRANDS.len()],
        Kind::Line if look::dashed(series.look) => " stroke-dasharray=\"7 4\"",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::scale::Scale;
    use crate::chart::{Axis, Point};
    use crate::number::Unit;

    #[test]
    fn an_interval_without_an_upper_end_is_drawn_and_told_as_one() {
        let axis = |name: &str, unit| Axis {
            name: name.to_owned(),
            unit,
            scale: Scale::Linear,
        };
        let page = |is_open_above: bool, kind: Kind| {
            let mut line = Series::new("a", 0, kind);
            for x in [1.0, 2.0] {
                line.points.push(Point {
                    interval: Some((40.0, 60.0)),
                    is_open_above,
                    ..Point::new(x, 50.0)
                });
            }
            let chart = Chart {
                id: "a".to_owned(),
                title: "a".to_owned(),
                caption: String::new(),
                x: axis("x", Unit::Count),
                y: axis("y", Unit::PerSecond),
                series: vec![line],
            };
            figure(&chart, 4, Room::Half) + &readout::readout(&chart).to_string()
        };
        for kind in [Kind::Line, Kind::Marks] {
            let (open, closed) = (page(true, kind), page(false, kind));
            let arrows = |page: &str| page.matches("l4 -6l4 6").count();
            assert!(arrows(&open) >= 2 && arrows(&closed) == 0, "{open}");
            let said = |page: &str, words: &str| page.matches(words).count();
            // In the numbers and under the pointer.
            assert!(
                said(&open, "from 40/s") >= 4 && said(&open, "60/s") == 0,
                "{open}"
            );
            assert!(said(&closed, "40/s – 60/s") >= 4, "{closed}");
        }
    }
}
