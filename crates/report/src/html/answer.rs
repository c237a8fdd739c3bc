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
                                      95 % interval, on a logarithmic axis, with an arrow where \
                                      it has no known end; the broken line is the reference. A \
                                      full dot is an answer; a hollow one means that there is no \
                                      answer.</p>\n";

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
    let drawn: Vec<(&Rival, Reach)> = comparison
        .rivals
        .iter()
        .filter_map(|rival| Some((rival, Reach::of(rival)?)))
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let low = drawn.iter().map(|(_, reach)| reach.ends.0);
    let high = drawn.iter().map(|(_, reach)| reach.ends.1);
    let (low, high) = (
        low.fold(0.5, f64::min) / 1.1,
        high.fold(2.0, f64::max) * 1.1,
    );
    let axis = Axis { low, high };
    let mut html = "<div class=\"answer\">\n".to_owned();
    for (rival, reach) in drawn {
        let mut shown = rival.ratio().unwrap_or_default();
        shown.push_str(" ×");
        if let Some(interval) = rival.interval() {
            let _ = write!(shown, " <small>{}</small>", escape(&interval));
        }
        html.push_str(&row(
            &head(comparison, rival, cells),
            &axis.drawing(Some(reach)),
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

/// A ratio as it is drawn.
#[derive(Clone, Copy)]
struct Reach {
    ratio: f64,
    ends: (f64, f64),
    /// Where the interval goes on, nobody knows how far: below, above.
    is_open: (bool, bool),
    /// Told apart or equivalent.
    is_answer: bool,
}

impl Reach {
    /// None where it cannot be drawn.
    fn of(rival: &Rival) -> Option<Self> {
        let estimate = rival.estimate.as_ref()?;
        let ratio = estimate.ratio;
        let interval = estimate
            .interval
            .map(|interval| (interval.low, interval.high));
        let (low, high) = rival.ends();
        let reach = Self {
            ratio,
            ends: interval.unwrap_or((ratio, ratio)),
            is_open: match interval {
                Some(_) => (low.is_none(), high.is_none()),
                None => (false, false),
            },
            is_answer: matches!(
                rival.answer,
                Some(Answer::More | Answer::Less | Answer::Equivalent)
            ),
        };
        (ratio.is_finite() && reach.ends.0 > 1e-6 && reach.ends.1 < 1e6).then_some(reach)
    }
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

    /// A ratio with its ends. Strokes keep their width however far the drawing is stretched, and
    /// one of no length with round ends is a dot.
    fn drawing(&self, reach: Option<Reach>) -> String {
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} 10\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\"><path class=\"one\" d=\"M{:.2} 0V10\"/>",
            self.x(1.0)
        );
        if let Some(reach) = reach {
            let (low, high) = (self.x(reach.ends.0), self.x(reach.ends.1));
            let middle = self.x(reach.ratio);
            let _ = write!(svg, "<path class=\"reach\" d=\"M{low:.2} 5H{high:.2}");
            let tips = [(reach.is_open.0, low, 1.0), (reach.is_open.1, high, -1.0)];
            for (_, tip, back) in tips.into_iter().filter(|(is_open, ..)| *is_open) {
                let _ = write!(
                    svg,
                    "M{:.2} 2.5L{tip:.2} 5L{:.2} 7.5",
                    tip + back,
                    tip + back
                );
            }
            let _ = write!(svg, "\"/><path class=\"dot\" d=\"M{middle:.2} 5h0\"/>");
            if !reach.is_answer {
                let _ = write!(svg, "<path class=\"hole\" d=\"M{middle:.2} 5h0\"/>");
            }
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The picture says no more than the words beside it, which are `at least 1.80 [1.53, …]`.
    #[test]
    fn an_interval_without_a_known_end_is_drawn_with_an_arrow() {
        let axis = Axis {
            low: 0.5,
            high: 2.0,
        };
        let drawing = |is_open| {
            axis.drawing(Some(Reach {
                ratio: 1.0,
                ends: (0.5, 2.0),
                is_open,
                is_answer: true,
            }))
        };
        let closed = drawing((false, false));
        assert!(closed.contains("d=\"M0.00 5H100.00\""), "{closed}");
        let above = drawing((false, true));
        let expected = "d=\"M0.00 5H100.00M99.00 2.5L100.00 5L99.00 7.5\"";
        assert!(above.contains(expected), "{above}");
        let below = drawing((true, false));
        let expected = "d=\"M0.00 5H100.00M1.00 2.5L0.00 5L1.00 7.5\"";
        assert!(below.contains(expected), "{below}");
    }
}
