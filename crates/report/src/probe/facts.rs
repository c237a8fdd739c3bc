//! Facts that were read in each pass: one value, or which value in which passes.

use model::probe::ProbeResult;
use verdict::words;

/// A fact as the passes have it, where they differ: `1580 kB (passes 1 and 3), 1504 kB (pass 2)`;
/// else the one that is known of the result.
pub(crate) fn of_each_pass(result: &ProbeResult, name: &str, known: &str) -> String {
    let mut values: Vec<(&str, Vec<String>)> = Vec::new();
    for pass in &result.passes {
        let Some(value) = pass.facts.get(name) else {
            continue;
        };
        let number = pass.number.to_string();
        match values.iter_mut().find(|(other, _)| other == value) {
            Some((_, passes)) => passes.push(number),
            None => values.push((value, vec![number])),
        }
    }
    if values.len() < 2 {
        return known.to_owned();
    }
    let each = values.iter().map(|(value, passes)| {
        let noun = if passes.len() == 1 { "pass" } else { "passes" };
        format!("{value} ({noun} {})", words::list(passes))
    });
    each.collect::<Vec<String>>().join(", ")
}
