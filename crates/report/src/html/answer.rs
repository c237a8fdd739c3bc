//! The answer: how the servers compare, how certain that is, and a picture of it, before all else.
//!
//! The picture is a row for each server: names, verdicts and numbers are text of the page, and only
//! the interval is drawn, stretched to the room that is left. So letters have their size on every
//! screen, and it shows without script.

use std::fmt::Write as _;

use model::Status;
use verdict::analysis::{Comparison, Racer, Rival, rests_on_all};
use verdict::pairs::Answer;

use super::{escape, verdicts};
use crate::digests::Cell;

/// The width of the drawing in its own units; the page stretches it.
const WIDTH: f64 = 100.0;

/// What the marks in the pictures mean, said once below all of them.
pub(super) const HOW_TO_READ: &str = "<p class=\"note\">Each dot is what is compared (the rate, \
                                      or where that was asked for the median response time) \
                                      relative to the reference, taken within rounds, with its \
                                      95 % interval, on a logarithmic axis; the broken line is \
                                      the reference. A full dot is an answer; a hollow one means \
                                      that there is no answer.</p>\n";

/// Everything that is said of one workload; `spoilt` is what its spoilt trials would change.
pub(super) fn answer(comparison: &Comparison, spoilt: Option<&str>) -> String {
    let mut html = format!("<p class=\"lead\">{}</p>\n", escape(&comparison.sentence()));
    html.push_str("<ul class=\"note\">\n");
    let certainty = comparison.certainty().into_iter();
    let said = certainty.chain(comparison.cost());
    for said in said.chain(spoilt.map(str::to_owned)) {
        let _ = writeln!(html, "<li>{}</li>", escape(&said));
    }
    html + "</ul>\n"
}

/// Ratios with their intervals on a logarithmic axis, the reference at 1, each with the verdict of
/// its point, which is one of `cells`; none where nothing can be drawn.
pub(super) fn picture(comparison: &Comparison, cells: &[Cell<'_>]) -> Option<String> {
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
        return None;
    }
    let low = drawn.iter().map(|(_, _, ends)| ends.0).fold(0.5, f64::min) / 1.1;
    let high = drawn.iter().map(|(_, _, ends)| ends.1).fold(2.0, f64::max) * 1.1;
    let axis = Axis { low, high };
    let mut html = "<div class=\"answer\">\n".to_owned();
    for (rival, ratio, ends) in drawn {
        // Filled is told apart or equivalent; hollow is no answer.
        let is_answer = matches!(
            rival.answer,
            Some(Answer::More | Answer::Less | Answer::Equivalent)
        );
        let mut shown = rival.ratio().unwrap_or_default();
        shown.push_str(" ×");
        if let Some(interval) = rival.interval() {
            let _ = write!(shown, " <small>{}</small>", escape(&interval));
        }
        html.push_str(&row(
            &head(comparison, rival, cells),
            &axis.drawing(Some((ratio, ends, is_answer))),
            &shown,
            &comparison.answer(rival),
        ));
    }
    let reference = &comparison.reference;
    html.push_str(&row(
        &point(comparison, reference, cells),
        &axis.drawing(None),
        "1",
        "the server that the others are compared with",
    ));
    Some(html + "</div>\n")
}

fn row(head: &str, drawing: &str, shown: &str, title: &str) -> String {
    format!(
        "<div class=\"row\" title=\"{}\"><span>{head}</span>{drawing}<span \
         class=\"ratio\">{shown}</span></div>\n",
        escape(title)
    )
}

/// A server's name with the verdict of what the row says about it. Rounds that were measured again
/// may be worth more than the answer, which rests on all of them as they were first measured.
fn head(comparison: &Comparison, rival: &Rival, cells: &[Cell<'_>]) -> String {
    let of_point = status(comparison, &rival.racer, cells);
    let is_worse = rival.is_spoilt() && of_point.is_none_or(|status| status < Status::Suspect);
    if !is_worse {
        return point(comparison, &rival.racer, cells);
    }
    format!(
        "{} <span class=\"v suspect\" title=\"suspect, because it {}\">suspect \
         <small>comparison</small></span>",
        escape(&rival.racer.server),
        rests_on_all(rival.unspoilt, rival.rounds()),
    )
}

/// A server's name with the verdict of its point.
fn point(comparison: &Comparison, racer: &Racer, cells: &[Cell<'_>]) -> String {
    let cell = cell(comparison, racer, cells);
    let mark = cell.map_or_else(String::new, |cell| verdicts::mark(cell, true));
    format!("{} {mark}", escape(&racer.server))
}

fn status(comparison: &Comparison, racer: &Racer, cells: &[Cell<'_>]) -> Option<Status> {
    cell(comparison, racer, cells).map(Cell::status)
}

fn cell<'a>(comparison: &Comparison, racer: &Racer, cells: &'a [Cell<'a>]) -> Option<&'a Cell<'a>> {
    let mut of_it = cells.iter().filter(|cell| cell.server() == racer.server);
    of_it.find(|cell| cell.rounds[0].id.load == comparison.load)
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn x(&self, ratio: f64) -> f64 {
        (ratio / self.low).ln() / (self.high / self.low).ln() * WIDTH
    }

    /// A ratio with its ends, and whether it is an answer. Strokes keep their width however far the
    /// drawing is stretched, and one of no length with round ends is a dot.
    fn drawing(&self, ratio: Option<(f64, (f64, f64), bool)>) -> String {
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} 10\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\"><path class=\"one\" d=\"M{:.2} 0V10\"/>",
            self.x(1.0)
        );
        if let Some((ratio, (low, high), is_answer)) = ratio {
            let (low, middle, high) = (self.x(low), self.x(ratio), self.x(high));
            let _ = write!(
                svg,
                "<path class=\"reach\" d=\"M{low:.2} 5H{high:.2}\"/><path class=\"dot\" \
                 d=\"M{middle:.2} 5h0\"/>"
            );
            if !is_answer {
                let _ = write!(svg, "<path class=\"hole\" d=\"M{middle:.2} 5h0\"/>");
            }
        }
        svg + "</svg>"
    }
}
