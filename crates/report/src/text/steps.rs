//! The steps of users that ask, or the requests of a mix, each apart, and whole pages, of all
//! servers of a place.

use verdict::analysis::{Measure, Standing};
use verdict::words;

use super::Style;
use super::lab::{NAME, named};
use crate::digests::{Cell, STEP_QUANTILES, StepOver};
use crate::number::time_us;

/// Columns of one value.
const COLUMN: usize = 10;

/// A line for each request and server; nothing where there is one request.
pub(super) fn steps(cells: &[Cell<'_>], style: Style) -> String {
    let all = cells.iter().map(|cell| (cell, cell.steps())).collect();
    lines("  each request", "right", all, style)
}

/// The same of whole pages; nothing where users ask for no parts.
pub(super) fn pages(cells: &[Cell<'_>], style: Style) -> String {
    let all = cells.iter().map(|cell| (cell, cell.pages())).collect();
    lines("  whole pages", "complete", all, style)
}

fn lines(title: &str, right: &str, all: Vec<(&Cell<'_>, Vec<StepOver>)>, style: Style) -> String {
    let most = all.iter().map(|(_, steps)| steps.len()).max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let quantiles = STEP_QUANTILES.map(|(_, name)| format!("{name:>COLUMN$}"));
    let heads = format!("{title:NAME$}{}", quantiles.concat());
    let mut out = style.faint(&heads) + "\n";
    for place in 0..most {
        let mut name = None;
        for (cell, steps) in &all {
            let Some(step) = steps.get(place) else {
                continue;
            };
            if name.replace(&step.name) != Some(&step.name) {
                out.push_str(&format!("  {}\n", step.name));
            }
            let times: String = step.response.iter().map(|one| time(one.as_ref())).collect();
            let mut line = format!("{times}  {} {right}", words::count(step.right));
            if step.failed > 0 {
                line.push_str(&format!(", {} failed", words::count(step.failed)));
            }
            out.push_str(&named(cell, &line));
        }
    }
    out
}

fn time(measure: Option<&Measure>) -> String {
    let shown = match measure {
        None => "-".to_owned(),
        Some(one) if one.standing == Standing::Struck => format!("({})", time_us(one.median)),
        Some(one) => time_us(one.median),
    };
    format!("{shown:>COLUMN$}")
}
