//! The report as one HTML file that opens from disk without a network.
//!
//! Everything is in it: style, script, drawings and numbers. Without script the drawings are
//! static and the numbers are in tables; with it the charts answer to the hand.

mod answer;
mod asked;
mod chart;
mod clocks;
mod compare;
mod configuration;
mod connections;
mod failures;
mod frame;
mod gains;
mod knee;
mod links;
mod logs;
mod look;
mod page;
mod path;
mod phases;
mod probe;
mod published;
mod ranks;
mod resources;
mod results;
mod scaling;
mod searches;
mod setting;
mod sources;
mod split;
mod stages;
mod steps;
mod table;
mod trials;
mod users;
mod verdicts;

pub use compare::comparison;
pub use page::page;
pub use probe::{probes, probes_asked};

/// A chart as a drawing in a file of its own (SVG).
pub fn drawing(chart: &crate::chart::Chart) -> String {
    chart::file(chart)
}

/// `text` as HTML shows it: nothing in it is ever markup.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Controls have no place in HTML; what a server sent is shown as it would be escaped.
            c if c.is_control() && c != '\n' && c != '\t' => {
                out.extend(c.escape_default());
            }
            c => out.push(c),
        }
    }
    out
}

/// JSON as it may stand inside a script element: no `</script>`, no `<!--`, no line ends that
/// old parsers know.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value)
        .expect("a tree of strings and numbers is JSON")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests;
