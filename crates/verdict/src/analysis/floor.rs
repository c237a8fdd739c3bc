//! What servers that are alike differ by: no smaller difference between others is told.
//!
//! An interval covers what changes from round to round. What does not, such as where in memory a
//! process happens to lie or which of two was started first, moves all rounds of a server together,
//! and two servers that are the same show how much that is.

use std::collections::BTreeMap;

use model::PointId;

use super::{Field, Racer};
use crate::pairs::{Family, rounds_needed};
use crate::words;

/// The most that two servers which are alike differ by.
#[derive(Clone, Debug, PartialEq)]
pub enum Floor {
    /// It is known.
    Known(Differ),
    /// Twins stood in the experiment, and these two have no interval: nobody knows it.
    Unknown {
        /// The label of the one.
        one: String,
        /// That of the other.
        other: String,
    },
}

/// Two servers that are alike, and what they differ by.
#[derive(Clone, Debug, PartialEq)]
pub struct Differ {
    /// The label of the one.
    pub one: String,
    /// That of the other.
    pub other: String,
    /// The workload at which they differ most.
    pub workload: String,
    /// The end of the interval of their ratio that is further from 1, as a share: 0.03 where one
    /// may have 1.03 times the rate of the other.
    pub differ: f64,
}

impl Floor {
    /// The largest of those that `twins` name, over all workloads; none without twins.
    pub(super) fn among(
        fields: &[Field<'_>],
        racers: &BTreeMap<&PointId, Racer>,
        twins: &[(String, String)],
        family: Family,
    ) -> Option<Self> {
        let needed = rounds_needed(family.comparisons, family.alpha);
        let differ = |field: &Field<'_>, (one, other): &(String, String)| {
            let find = |server: &String| {
                let is_it = |id: &&PointId| {
                    (&id.server, id.workload.as_str()) == (server, field.workload)
                        && id.load == field.load
                };
                let found = racers.iter().find(|(id, _)| is_it(id));
                found.map(|(_, racer)| racer)
            };
            let rival = find(other)?.rival_of(find(one)?, needed);
            let interval = rival.estimate?.interval?;
            Some(Differ {
                one: one.clone(),
                other: other.clone(),
                workload: field.workload.to_owned(),
                differ: (interval.high - 1.0).max(1.0 / interval.low - 1.0),
            })
        };
        let all = fields.iter().flat_map(|field| {
            let of_field = twins.iter().filter_map(|pair| differ(field, pair));
            of_field.collect::<Vec<Differ>>()
        });
        let most = all.max_by(|one, other| one.differ.total_cmp(&other.differ));
        let (one, other) = twins.first()?.clone();
        Some(most.map_or(Self::Unknown { one, other }, Self::Known))
    }

    /// What they differ by, where that is known.
    pub(crate) const fn differ(&self) -> Option<f64> {
        match self {
            Self::Known(found) => Some(found.differ),
            Self::Unknown { .. } => None,
        }
    }

    /// What a reader must know of it.
    pub fn sentence(&self, family: &Family) -> String {
        let found = match self {
            Self::Known(found) => found,
            Self::Unknown { one, other } => {
                return format!(
                    "{one} and {other} are the same server twice, and their ratio has no \
                     interval: nobody knows by how much equal servers may differ here, and what is \
                     told about others is held against the margin alone."
                );
            }
        };
        let differ = format!(
            "{} and {} are the same server twice, and may differ by {} here (at {})",
            found.one,
            found.other,
            words::share(found.differ),
            found.workload
        );
        match found.differ >= family.margin {
            true => format!("{differ}: no smaller difference is reported."),
            false => format!("{differ}, which is less than the margin."),
        }
    }
}
