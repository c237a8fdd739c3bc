//! From which addresses the connections of one trial came.

use model::Record;

/// Source addresses of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sources {
    /// Those that the plan names.
    pub all: f64,
    /// Those from which connections were established.
    pub used: f64,
    /// The share of all connections that came from the one with the fewest, of those that were
    /// used.
    pub least: f64,
    /// The share that came from the one with the most.
    pub most: f64,
}

/// Those of `record`; none where the kernel chose them or no connection was established.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of addresses and connections"
)]
pub(super) fn sources(record: &Record) -> Option<Sources> {
    let used = record.sources_used().filter(|used| *used > 0)?;
    let counts = || record.connections_from.iter().filter(|count| **count > 0);
    let connections = counts().sum::<u64>() as f64;
    Some(Sources {
        all: record.connections_from.len() as f64,
        used: used as f64,
        least: *counts().min()? as f64 / connections,
        most: *counts().max()? as f64 / connections,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_addresses_that_were_used() {
        let of = |counts: &[u64]| {
            sources(&Record {
                connections_from: counts.to_vec(),
                ..Record::default()
            })
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0, 0]), None);
        let expected = Sources {
            all: 4.0,
            used: 3.0,
            least: 0.125,
            most: 0.5,
        };
        assert_eq!(of(&[4, 0, 1, 3]), Some(expected));
    }
}
