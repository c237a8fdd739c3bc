//! A chart on the page: heading, how to read it, legend, drawing, the options of the interactive
//! one that takes its place, and the numbers.

mod drawing;
mod numbers;
mod options;

use std::fmt::Write as _;

pub(super) use numbers::standing;

use super::look;
use super::{escape, json};
use crate::chart::{Chart, Kind, Series};

/// More single measurements than this are thinned to the pixel before they are drawn.
const DOTS_AS_THEY_ARE: usize = 4_000;

/// The figure, under a heading of that level.
pub(super) fn figure(chart: &Chart, level: u8) -> String {
    figure_with(chart, level, &numbers::table(chart))
}

/// The same, with other numbers below it.
pub(super) fn figure_with(chart: &Chart, level: u8, numbers: &str) -> String {
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
    let _ = write!(
        html,
        "<figure class=\"chart\" id=\"{id}\">\n<div class=\"plate\"><figcaption><h{level}>{}</h{level}><p>{}</p></figcaption>\n",
        escape(&chart.title),
        escape(&chart.caption)
    );
    html.push_str(&legend(chart));
    let _ = write!(
        html,
        "<div class=\"stage\"><p class=\"up\" aria-hidden=\"true\">{}</p><div class=\"live\" hidden></div>",
        escape(&chart.y.name)
    );
    html.push_str(&drawing::svg(drawn));
    html.push_str("</div></div>\n");
    let _ = writeln!(
        html,
        "<script type=\"application/json\">{}</script>",
        json(&options::options(drawn))
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
    for series in chart.legend() {
        let _ = write!(
            html,
            "<li><button type=\"button\" aria-pressed=\"true\" data-name=\"{0}\">{1}<span>{0}</span></button></li>",
            escape(&series.name),
            swatch(series)
        );
    }
    let halves: Vec<&Series> = chart.series.iter().filter(|series| series.light).collect();
    if let Some(light) = halves.first()
        && let Some(dark) = chart
            .series
            .iter()
            .find(|series| !series.light && series.name == light.name)
        && let (paleness, Some(light), Some(dark)) = (how_light(light), &light.part, &dark.part)
    {
        let _ = write!(
            html,
            "<li class=\"halves\">solid: {} · {}: {}</li>",
            escape(dark),
            paleness,
            escape(light)
        );
    }
    html.push_str("</ul>\n");
    html
}

/// What makes the light half of a pair light.
const fn how_light(series: &Series) -> &'static str {
    match series.kind {
        Kind::Bar { .. } => "pale",
        Kind::Curve | Kind::Line | Kind::Reference | Kind::Scatter | Kind::Trace => "dotted",
    }
}

/// A little picture of a series' look.
fn swatch(series: &Series) -> String {
    let (colour, symbol) = match series.kind {
        Kind::Reference => ("var(--muted)".to_owned(), None),
        Kind::Bar { .. } => (look::colour(series.look), Some("M0 0H10V10H0Z")),
        Kind::Curve | Kind::Trace => (look::colour(series.look), None),
        // Single points are round, whosoever they are.
        Kind::Scatter => (look::colour(series.look), Some(look::symbol(0))),
        Kind::Line => (look::colour(series.look), Some(look::symbol(series.look))),
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 28 12\" width=\"28\" height=\"12\" aria-hidden=\"true\" style=\"--c:{colour}\">"
    );
    if !matches!(series.kind, Kind::Bar { .. } | Kind::Scatter) {
        let dash = dash(series);
        let _ = write!(svg, "<path class=\"line\"{dash} d=\"M1 6H27\"/>");
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

/// The dash attribute of a series' line, if it has one.
fn dash(series: &Series) -> &'static str {
    match series.kind {
        Kind::Reference => " stroke-dasharray=\"2 4\"",
        _ if series.light => " stroke-dasharray=\"3 3\"",
        Kind::Line if look::dashed(series.look) => " stroke-dasharray=\"7 4\"",
        _ => "",
    }
}
