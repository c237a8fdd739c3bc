//! How long whole pages took.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;

/// A page of a script: a request with the parts that are asked for right after it, or parts alone.
/// Pages whose last request ended within the window.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Page {
    /// What reports call its first request.
    pub name: String,
    /// Pages of which something failed, whatever it was. They are not in the distribution.
    pub failed: u64,
    /// From when the first request was due to the end of the last one, of pages whose requests were
    /// all answered right.
    pub time: Distribution,
}

impl Page {
    /// Pages whose requests were all answered right.
    pub const fn complete(&self) -> u64 {
        self.time.count()
    }

    /// Adds what another worker measured of the same page.
    fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.name, other.name, "pages of one script merge in order");
        self.failed += other.failed;
        self.time.merge(&other.time);
    }
}

/// The times of all these pages together, those of which something failed counting as longer than
/// any; none where users ask for no pages.
pub fn page_times<'a>(pages: impl IntoIterator<Item = &'a Page>) -> Option<Distribution> {
    let mut times: Option<Distribution> = None;
    for page in pages {
        let times = times.get_or_insert_with(|| Distribution::new(page.time.shape()));
        times.merge(&page.time);
        times.record_censored_n(page.failed);
    }
    times
}

/// Adds those of another worker.
pub(super) fn merge(mine: &mut Vec<Page>, theirs: Vec<Page>) {
    if mine.is_empty() {
        *mine = theirs;
    } else {
        for (mine, theirs) in mine.iter_mut().zip(&theirs) {
            mine.merge(theirs);
        }
    }
}
