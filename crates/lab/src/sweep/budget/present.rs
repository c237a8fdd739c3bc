//! Which servers are installed, and what of them an experiment cannot know.

use std::collections::BTreeMap;

use model::Span;

use crate::sweep::Racer;

/// The servers of an experiment that are installed, by their indices.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Present {
    /// How long one is warmed up at most until its rate is steady, if it gets faster while it runs.
    servers: BTreeMap<usize, Option<Span>>,
}

impl FromIterator<(usize, Option<Span>)> for Present {
    fn from_iter<I: IntoIterator<Item = (usize, Option<Span>)>>(servers: I) -> Self {
        let servers = servers.into_iter().collect();
        Self { servers }
    }
}

impl FromIterator<usize> for Present {
    fn from_iter<I: IntoIterator<Item = usize>>(servers: I) -> Self {
        servers.into_iter().map(|index| (index, None)).collect()
    }
}

impl Present {
    /// Each of them, and how long it is warmed up at most until its rate is steady, if it gets
    /// faster while it runs.
    pub(super) fn servers(&self) -> impl Iterator<Item = (usize, Option<Span>)> {
        let servers = self.servers.iter();
        servers.map(|(&index, &steady_within)| (index, steady_within))
    }

    /// Whether that server is.
    pub(in crate::sweep) fn has(&self, index: usize) -> bool {
        self.servers.contains_key(&index)
    }

    /// How long `racer` is warmed up at most until its rate is steady, if it gets faster while it
    /// runs.
    pub(super) fn steady_within(&self, racer: Racer) -> Option<Span> {
        match racer {
            Racer::Ceiling { .. } => None,
            Racer::Server(index) => *self.servers.get(&index)?,
        }
    }
}
