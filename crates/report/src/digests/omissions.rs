//! Why a run has no trial of a point: it left it out to fit its budget or its machine.

use model::Manifest;
use model::experiment::{LeftOut, PointName, Why};
use verdict::words;

use super::Run;

/// What a run tells of what it left out.
#[derive(Clone, Debug)]
pub(super) enum Omissions {
    /// Each part of its experiment that it left out.
    Listed(Vec<LeftOut>),
    /// What earlier versions told: sentences alone.
    Sentences {
        /// Of the budget.
        scaled: Vec<String>,
        /// Whether there are sentences of any kind.
        are_any: bool,
    },
}

impl Default for Omissions {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Omissions {
    pub(super) fn of(manifest: &Manifest) -> Self {
        match &manifest.left_out {
            Some(parts) => Self::Listed(parts.clone()),
            None => Self::Sentences {
                scaled: manifest.scaled.clone(),
                are_any: !manifest.scaled.is_empty() || !manifest.notes.is_empty(),
            },
        }
    }
}

/// That a budget had no time to measure so many spoilt cells again, a sentence.
pub(super) fn not_repeated(cells: u32) -> Option<String> {
    let (were, they) = match cells {
        0 => return None,
        1 => ("was", "it stays as it was"),
        _ => ("were", "they stay as they were"),
    };
    let cells = words::plural(u64::from(cells), "spoilt cell");
    Some(format!(
        "Scaled to the budget: {cells} {were} not measured again, and {they} measured. triathlon \
         lab --resume makes up for that."
    ))
}

impl Run {
    /// Why it left out a point, if it did. A server or a workload of which it has trials is not
    /// left out as a whole. `is_asked` says whether its own experiment asks for that point.
    pub(crate) fn why_left_out(
        &self,
        point: PointName<'_>,
        is_asked: bool,
    ) -> Option<&'static str> {
        let is_here = |name: &&str| {
            let mut names = self.server_order.iter().chain(&self.workload_order);
            names.any(|one| one == name)
        };
        let absent = PointName {
            server: point.server.filter(|name| !is_here(name)),
            workload: point.workload.filter(|name| !is_here(name)),
            ..point
        };
        match &self.omissions {
            Omissions::Listed(parts) => {
                let part = parts.iter().find(|part| part.has(absent))?;
                Some(match part.why {
                    Why::Budget { .. } => "left out to fit the budget",
                    Why::Machine => "left out to fit this machine",
                })
            }
            Omissions::Sentences { scaled, are_any } => {
                let names = [absent.server, absent.workload].into_iter().flatten();
                let is_told = names.into_iter().any(|name| sentences_name(scaled, name));
                (is_told || (*are_any && is_asked))
                    .then_some("left out to fit this machine or the budget")
            }
        }
    }
}

/// What stands behind the names of what was left out in a sentence.
const LEFT_OUT: &str = " left out (priority ";

/// What was scaled, with what was left out of one priority in one list, where the first of it
/// stands.
pub(super) fn told_together(scaled: &[String]) -> Vec<String> {
    let mut told: Vec<(Vec<&str>, Option<&str>)> = Vec::new();
    for said in scaled {
        let (what, priority) = match said.split_once(LEFT_OUT) {
            Some((what, priority)) => (what, Some(priority)),
            None => (said.as_str(), None),
        };
        let mut known = told.iter_mut();
        match known.find(|(_, other)| priority.is_some() && *other == priority) {
            Some((list, _)) => list.push(what),
            None => told.push((vec![what], priority)),
        }
    }
    let sentence = |(what, priority): (Vec<&str>, Option<&str>)| match priority {
        Some(priority) => format!("{}{LEFT_OUT}{priority}", words::list(&what)),
        None => what.concat(),
    };
    told.into_iter().map(sentence).collect()
}

/// Whether sentences of earlier versions say of a server or a workload that it was left out.
fn sentences_name(scaled: &[String], name: &str) -> bool {
    let lists = scaled.iter().filter_map(|said| said.split_once(LEFT_OUT));
    // Names may have commas themselves: a name is there if nothing but the joints of a list stands
    // around it.
    let is_in = |list: &str| {
        list.match_indices(name).any(|(at, _)| {
            let (before, after) = (&list[..at], &list[at + name.len()..]);
            let is_begin =
                |rest: &str| rest.is_empty() || rest.starts_with(", ") || rest.starts_with(" and ");
            let is_end =
                |rest: &str| rest.is_empty() || rest.ends_with(", ") || rest.ends_with(" and ");
            is_end(before) && is_begin(after)
        })
    };
    lists.map(|(names, _)| names).any(is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_one_priority_is_left_out_in_one_sentence() {
        let scaled = [
            "lwan left out (priority 3)",
            "3 of 103 points on the axis of connections",
            "4 KB and jetty left out (priority 3)",
            "haproxy left out (priority 2)",
            "each window lasts 400 ms instead of 1.00 s",
        ];
        let told = told_together(&scaled.map(str::to_owned));
        assert_eq!(
            told,
            [
                "lwan and 4 KB and jetty left out (priority 3)",
                scaled[1],
                scaled[3],
                scaled[4],
            ]
        );
    }
}
