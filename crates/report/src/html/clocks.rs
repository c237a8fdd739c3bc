//! How far the clocks of machines that made a load together were apart, and their windows with
//! them.

use std::fmt::Write as _;

use model::Span;

use super::escape;
use super::table::Table;
use crate::digests::{Clock, Run};

const COLUMNS: [&str; 3] = ["clock", "ahead by", "which may be wrong by"];

/// A row for each clock; nothing where one machine made the load.
pub(super) fn apart(run: &Run) -> String {
    let caption = "How far clocks were ahead of that of whoever asked for the load";
    let mut table = Table::stacked(caption, &COLUMNS);
    for (whose, clock) in run.clocks() {
        let within = clock.within.to_string();
        table.row().head(&escape(whose)).text(&ahead(clock));
        table.text(&within);
    }
    if table.is_empty() {
        return String::new();
    }
    let mut html = table.finish();
    if let Some(apart) = run.windows_apart() {
        let _ = writeln!(
            html,
            "<p class=\"note\">The windows of two agents may be up to {} apart: each began when \
             its own clock said so, and how far that was ahead was allowed for, as well as it is \
             known.</p>",
            escape(&apart.to_string())
        );
    }
    html
}

/// An offset, or the range of those of several trials.
fn ahead(clock: Clock) -> String {
    let text = |ns: i64| {
        let sign = if ns < 0 { '-' } else { '+' };
        format!("{sign}{}", Span::from_ns(ns.unsigned_abs()))
    };
    let [least, most] = clock.offset_ns.map(text);
    match least == most {
        true => least,
        false => format!("{least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;

    #[test]
    fn each_clock_has_a_row() {
        let mut run = Run::default();
        let mut trial = fixture::closed();
        run.add(&trial);
        assert_eq!(apart(&run), "");
        for (offset, within) in [(1_500, 40), (-2_000, 90)] {
            let mut first = fixture::share("gen<1>", 0..1, fixture::closed());
            first.clock_offset_ns = offset;
            first.clock_offset_within = Span::from_us(within);
            trial.agents = vec![first, fixture::share("gen2", 1..2, fixture::closed())];
            run.add(&trial);
        }
        let html = apart(&run);
        for words in [
            "agent gen&lt;1&gt;",
            "-2.00 µs to +1.50 µs",
            "90.0 µs",
            "agent gen2",
            "100 µs",
            "up to 190 µs apart",
        ] {
            assert!(html.contains(words), "no '{words}' in {html}");
        }
        assert!(!html.contains("the servers"), "{html}");
    }
}
