//! Gaps on disk: a file for each, by what it names.

use std::path::PathBuf;

use model::Gap;

use super::{Store, read_json, slug};
use crate::error::LabError;

impl Store {
    /// Stores a gap. The same gap found twice is one.
    pub fn put_gap(&self, gap: &Gap) -> Result<PathBuf, LabError> {
        let stem = stem_of(gap);
        let there = self.names("gaps");
        let folder = self.directory.join("gaps");
        let is_same = |name: &&String| {
            let known = read_json::<Gap>(&folder.join(name), "a gap");
            known.is_ok_and(|known| is_of_the_same(&known, gap))
        };
        let mut alike = there.iter().filter(|name| name.starts_with(&stem));
        let name = match alike.find(is_same) {
            Some(name) => name.clone(),
            None => {
                let more = (2_u32..).map(|number| format!("{stem}-{number}.json"));
                let mut names = std::iter::once(format!("{stem}.json")).chain(more);
                let free = names.find(|name| !there.contains(name));
                free.expect("some number is free")
            }
        };
        self.write_json(&format!("gaps/{name}"), gap)
    }

    /// Every gap.
    pub fn gaps(&self) -> Result<Vec<Gap>, LabError> {
        self.read_all("gaps", "a gap", &|_| true).collect()
    }
}

/// Whether two gaps are about the same, whatever went wrong.
fn is_of_the_same(one: &Gap, other: &Gap) -> bool {
    let place = |gap: &Gap| {
        (
            gap.server.clone(),
            gap.workload.clone(),
            gap.load.clone(),
            gap.round,
        )
    };
    place(one) == place(other)
}

/// What the name of the file of a gap begins with: that of a server, of a server in a round, or of
/// one trial. Different gaps may have the same.
fn stem_of(gap: &Gap) -> String {
    let mut name = slug(&gap.server);
    for part in [
        gap.round.map(|round| format!("-round-{round}")),
        gap.workload
            .as_deref()
            .map(|name| format!("-{}", slug(name))),
        (!gap.load.is_empty()).then(|| format!("-{}", gap.load.slug())),
    ]
    .into_iter()
    .flatten()
    {
        name.push_str(&part);
    }
    name
}
