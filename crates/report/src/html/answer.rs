//! The answer: how the servers compare, how certain that is, and a picture of it, before all else.

use std::fmt::Write as _;

use verdict::analysis::{Comparison, Rival};
use verdict::pairs::Answer;

use super::escape;

/// The picture's width and the height of a row, in its own units.
const WIDTH: f64 = 640.0;
const ROW: f64 = 26.0;
/// Where the axis begins: names stand before it.
const LEFT: f64 = 150.0;
/// Room after the axis.
const RIGHT: f64 = 20.0;

/// Everything that is said of one workload.
pub(super) fn answer(comparison: &Comparison) -> String {
    let mut html = format!("<p class=\"lead\">{}</p>\n", escape(&comparison.sentence()));
    html.push_str("<ul class=\"note\">\n");
    for said in comparison.certainty().into_iter().chain(comparison.cost()) {
        let _ = writeln!(html, "<li>{}</li>", escape(&said));
    }
    html.push_str("</ul>\n");
    html.push_str(&picture(comparison));
    html
}

/// Ratios with their intervals on a logarithmic axis, the reference at 1.
fn picture(comparison: &Comparison) -> String {
    let drawn: Vec<(&Rival, f64, (f64, f64))> = comparison
        .rivals
        .iter()
        .filter_map(|rival| {
            let estimate = rival.estimate.as_ref()?;
            let ratio = estimate.ratio;
            let ends = estimate
                .interval
                .map_or((ratio, ratio), |i| (i.low, i.high));
            let is_drawable = ratio.is_finite() && ends.0 > 1e-6 && ends.1 < 1e6;
            is_drawable.then_some((rival, ratio, ends))
        })
        .collect();
    if drawn.is_empty() {
        return String::new();
    }
    let low = drawn.iter().map(|(_, _, ends)| ends.0).fold(0.5, f64::min) / 1.1;
    let high = drawn.iter().map(|(_, _, ends)| ends.1).fold(2.0, f64::max) * 1.1;
    let x = |ratio: f64| LEFT + (ratio / low).ln() / (high / low).ln() * (WIDTH - LEFT - RIGHT);
    let rows = crate::chart::scale::index(drawn.len());
    let height = (rows + 1.5) * ROW;
    let mut svg = format!(
        "<svg class=\"answer\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
         style=\"width:100%;max-width:{WIDTH}px;height:auto\" fill=\"currentColor\" \
         font-size=\"13\"><title>{}</title>\n<path d=\"M{1:.1} 0V{2:.1}\" \
         stroke=\"currentColor\" stroke-dasharray=\"3 3\"/><text x=\"{1:.1}\" \
         y=\"{3:.1}\" text-anchor=\"middle\">{4} = 1</text>\n",
        escape(&comparison.sentence()),
        x(1.0),
        rows * ROW,
        (rows + 0.8) * ROW,
        escape(&comparison.reference.server)
    );
    for (place, (rival, ratio, ends)) in drawn.into_iter().enumerate() {
        let y = (crate::chart::scale::index(place) + 0.5) * ROW;
        // Filled is told apart or equivalent; hollow is no answer.
        let is_answer = matches!(
            rival.answer,
            Some(Answer::More | Answer::Less | Answer::Equivalent)
        );
        let fill = if is_answer { "currentColor" } else { "none" };
        let _ = writeln!(
            svg,
            "<g><title>{}: {}</title><text x=\"0\" y=\"{:.1}\">{}</text><path d=\"M{:.1} \
             {y:.1}H{:.1}\" stroke=\"currentColor\" stroke-width=\"2\"/><circle cx=\"{:.1}\" \
             cy=\"{y:.1}\" r=\"5\" fill=\"{fill}\" stroke=\"currentColor\" \
             stroke-width=\"2\"/></g>",
            escape(&rival.racer.server),
            escape(&comparison.answer(rival)),
            y + 4.0,
            escape(&rival.racer.server),
            x(ends.0),
            x(ends.1),
            x(ratio)
        );
    }
    svg + "</svg>\n<p class=\"note\">Ratios within rounds with their 95 % intervals, on a \
           logarithmic axis. A full circle is an answer, a hollow one is none.</p>\n"
}
