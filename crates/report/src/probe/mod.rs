//! Results of probes as charts and text: every point of every pass, and what was fitted to them.
//!
//! One side is a set of results of one machine; with two sides the charts lay one over the other.

mod answer;
pub mod asked;
mod facts;
mod plots;
mod scatter;
mod text;

use model::probe::{Growth, ProbeResult};

pub use answer::{HOW, answer};
pub(crate) use facts::of_each_pass;
pub use plots::chart;
pub(crate) use plots::mark_seconds;
pub use scatter::scatter;
pub(crate) use text::shared;
pub use text::{comparison, table};

/// The results of one machine, under the name that charts give it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its name; empty where there is only one.
    pub name: &'a str,
    /// What was measured, in the order in which it is shown.
    pub results: &'a [ProbeResult],
}

/// One operation of one probe, on each side that has it.
#[derive(Clone, Debug)]
pub struct Operation<'a> {
    /// The probe's name with its variant.
    pub label: String,
    /// The operation.
    pub series: String,
    /// The results that have it, with the name of their side.
    pub sides: Vec<(&'a str, &'a ProbeResult)>,
}

impl<'a> Operation<'a> {
    /// What its curve looks like, on each side.
    pub fn growth(&self) -> Vec<(&'a str, &'a Growth)> {
        self.sides
            .iter()
            .filter_map(|(side, result)| {
                let growth = result.growth.iter().find(|one| one.series == self.series)?;
                Some((*side, growth))
            })
            .collect()
    }

    /// Both names, as one: a probe that is named after its only operation is not named twice.
    pub fn name(&self) -> String {
        if self.label == self.series {
            self.label.clone()
        } else {
            format!("{} {}", self.label, self.series)
        }
    }
}

/// Where on the axis of a download a second reader begins, and what it is: once a third has come.
/// None of a result without one. The record says that there was one, in its facts.
pub(crate) fn second_of(result: &ProbeResult) -> Option<(u32, &'static str)> {
    let what = match result.variant.as_deref()? {
        "second-download" => "the second download",
        "second-reader" => "the second reader",
        _ => return None,
    };
    let is_download = result.probe == "download";
    let begins = result.population / 3;
    (is_download && begins > 0).then_some((begins, what))
}

/// All operations, in the order of the first side; what only another side has comes last.
pub fn operations<'a>(sides: &[Side<'a>]) -> Vec<Operation<'a>> {
    let mut operations: Vec<Operation<'a>> = Vec::new();
    for side in sides {
        for result in side.results {
            let label = result.label();
            for series in result.series_names() {
                let known = operations
                    .iter_mut()
                    .find(|one| one.label == label && one.series == series);
                match known {
                    Some(operation) => operation.sides.push((side.name, result)),
                    None => operations.push(Operation {
                        label: label.clone(),
                        series: series.to_owned(),
                        sides: vec![(side.name, result)],
                    }),
                }
            }
        }
    }
    operations
}

#[cfg(test)]
mod tests;
