//! A chart as a file of its own: the drawing of the page with its colours and its legend in it.

use std::fmt::Write as _;

use super::super::escape;
use super::{drawing, halves, keys, swatch};
use crate::chart::scale::index;
use crate::chart::{Chart, Series};

/// What a line of the legend takes.
const LINE: f64 = 20.0;
/// Names side by side, and how long those may be; longer ones stand in fewer columns.
const COLUMNS: usize = 3;
const NAME_MAX: usize = 34;

/// What the style sheet of the page says of drawings, for light paper.
const STYLE: &str = "\
svg{--paper:#fdfdfb;--soft:#43484d;--muted:#6a7077;--rule:#d9dad4;--grid:#e9e9e4;\
--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#b5548d;--s4:#b27d00;--s5:#3a9bd6;--s6:#5b4fa2;\
--s7:#4a4f54}\
.paper{fill:var(--paper)}\
text{fill:var(--muted);font:12px system-ui,sans-serif}\
text.y{text-anchor:end}text.x{text-anchor:middle}text.name{fill:var(--soft)}\
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--rule);fill:none}\
.line{stroke:var(--c);stroke-width:2;fill:none;stroke-linejoin:round}\
.line.thin{stroke-width:1.1;opacity:.8}.band{fill:var(--c);opacity:.15}\
.dots{stroke:var(--c);stroke-width:4;stroke-linecap:round;opacity:.45;fill:none}\
.dots.fine{stroke-width:2.8}\
.dots.sum{stroke:#1d1f21;stroke-width:2.8;opacity:.6}\
.crosses{stroke:var(--c);stroke-width:1.4;fill:none;opacity:.7}\
.dots.sum+.crosses{stroke:#1d1f21}\
.other{stroke:var(--muted);opacity:.3}.other.line{stroke-width:1}\
.mark{fill:var(--c);stroke:var(--paper);stroke-width:.8}\
.bar{fill:var(--c)}.bar.light{opacity:.4}\
.bar.struck{fill:none;stroke:var(--c);stroke-dasharray:2 2}\
.whisker{stroke:#1d1f21;stroke-width:1.6;fill:none}\
.shade{fill:var(--muted);opacity:.16}.cursor{visibility:hidden}";

/// The file.
pub(in super::super) fn file(chart: &Chart) -> String {
    let mut thin = chart.clone();
    thin.thin();
    let legend = keys(chart);
    let is_long = |series: &&Series| series.name.chars().count() > NAME_MAX;
    let columns = COLUMNS - usize::from(legend.iter().any(is_long));
    let lines = legend.len().div_ceil(columns);
    let (drawn, drawn_height) = drawing::svg(&thin, drawing::ALONE);
    let width = drawing::ALONE.width();
    let halves = halves(chart);
    let lines_of_all = lines + usize::from(halves.is_some());
    let height = drawn_height + index(lines_of_all) * LINE + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n",
        escape(&chart.title)
    );
    // Inside another one it needs a size.
    let sized = format!("<svg width=\"{width}\" height=\"{drawn_height}\" class=\"still ");
    svg.push_str(
        &drawn
            .replacen("<svg class=\"still ", &sized, 1)
            .replace("><", ">\n<"),
    );
    for (number, series) in legend.into_iter().enumerate() {
        let x = 8.0 + index(number % columns) * (width / index(columns)).floor();
        let y = drawn_height + index(number / columns) * LINE;
        let _ = write!(
            svg,
            "\n<g transform=\"translate({x} {y})\">{}<text class=\"name\" x=\"34\" \
             y=\"10\">{}</text></g>",
            swatch(series),
            escape(&series.name)
        );
    }
    if let Some(said) = halves {
        let y = drawn_height + index(lines) * LINE + 10.0;
        let _ = write!(
            svg,
            "\n<text class=\"name\" x=\"8\" y=\"{y}\">{}</text>",
            escape(&said)
        );
    }
    svg + "\n</svg>\n"
}
