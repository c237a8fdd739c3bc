//! Which servers are installed, and what of them an experiment cannot know.

use std::collections::BTreeMap;

use model::{Experiment, Span};

use super::work::start_time;
use crate::sweep::Racer;

/// The servers of an experiment that are installed, by their indices.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Present {
    servers: BTreeMap<usize, Known>,
    /// How long a start of a ceiling took, where that was seen.
    ceiling: Option<Span>,
}

/// What is known of a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Known {
    /// How long it is warmed up at most until its rate is steady, if it gets faster while it runs.
    steady_within: Option<Span>,
    /// How long a start of it took, without its warm-up, where that was seen.
    start: Option<Span>,
}

impl FromIterator<(usize, Option<Span>)> for Present {
    fn from_iter<I: IntoIterator<Item = (usize, Option<Span>)>>(servers: I) -> Self {
        let known = |(index, steady_within)| {
            let start = None;
            (
                index,
                Known {
                    steady_within,
                    start,
                },
            )
        };
        Self {
            servers: servers.into_iter().map(known).collect(),
            ceiling: None,
        }
    }
}

impl FromIterator<usize> for Present {
    fn from_iter<I: IntoIterator<Item = usize>>(servers: I) -> Self {
        servers.into_iter().map(|index| (index, None)).collect()
    }
}

impl Present {
    /// The same where `start` says how long a start of the server of that index was seen to take,
    /// and `ceiling` how long one of a ceiling, without warm-up.
    #[must_use]
    pub fn with_starts(
        mut self,
        start: &dyn Fn(usize) -> Option<Span>,
        ceiling: Option<Span>,
    ) -> Self {
        for (index, known) in &mut self.servers {
            known.start = start(*index);
        }
        self.ceiling = ceiling;
        self
    }

    /// Those of them that `index` gives one, by that.
    pub(super) fn renumbered(&self, index: &dyn Fn(usize) -> Option<usize>) -> Self {
        let servers = self.servers.iter();
        let servers = servers.filter_map(|(old, known)| Some((index(*old)?, *known)));
        Self {
            servers: servers.collect(),
            ceiling: self.ceiling,
        }
    }

    /// Their indices.
    pub(super) fn indices(&self) -> impl Iterator<Item = usize> {
        self.servers.keys().copied()
    }

    /// Whether that server is.
    pub(in crate::sweep) fn has(&self, index: usize) -> bool {
        self.servers.contains_key(&index)
    }

    /// How long a start of `racer` takes, with its warm-up.
    pub(super) fn start_time(&self, experiment: &Experiment, racer: Racer) -> Span {
        let known = match racer {
            Racer::Ceiling { .. } => None,
            Racer::Server(index) => self.servers.get(&index),
        };
        let steady_within = known.and_then(|known| known.steady_within);
        start_time(experiment, self.bare_start(racer), steady_within)
    }

    /// The same without warm-up; none where no start was seen.
    pub(super) fn bare_start(&self, racer: Racer) -> Option<Span> {
        match racer {
            Racer::Ceiling { .. } => self.ceiling,
            Racer::Server(index) => self.servers.get(&index)?.start,
        }
    }
}
