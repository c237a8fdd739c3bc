//! Every way an exchange can end. A failed exchange is data, not an error (ADR 0006).

use std::ops::{Index, IndexMut};

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How one exchange ended, in the order in which an exchange can go wrong.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// A right answer: complete, with the expected status, length and body.
    Ok,
    /// No connection could be made.
    Connect,
    /// TLS failed: the certificate is not trusted, nothing is in common, an alert came.
    Tls,
    /// The request could not be sent whole.
    Write,
    /// The connection ended or broke before the answer was complete.
    Read,
    /// No complete answer within the plan's timeout, counted when it expires.
    Timeout,
    /// The answer was not HTTP, or not the protocol that was agreed.
    Protocol,
    /// A complete answer with another status than expected.
    Status,
    /// A complete answer with another length or body than expected.
    Content,
    /// Given up before it was sent.
    Shed,
    /// Still under way when the run ended.
    Unfinished,
}

impl Outcome {
    /// All of them, in order.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::Connect,
        Self::Tls,
        Self::Write,
        Self::Read,
        Self::Timeout,
        Self::Protocol,
        Self::Status,
        Self::Content,
        Self::Shed,
        Self::Unfinished,
    ];

    /// The name used in flags, files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Write => "write",
            Self::Read => "read",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::Content => "content",
            Self::Shed => "shed",
            Self::Unfinished => "unfinished",
        }
    }

    /// Whether it counts against the server or the path to it. What we shed or left
    /// unfinished at the end of the run does not.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Shed | Self::Unfinished)
    }
}

/// How many exchanges ended in each way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    /// Of all outcomes together.
    pub fn total(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Of all that [`Outcome::is_failure`].
    pub fn failures(&self) -> u64 {
        self.iter()
            .filter(|(outcome, _)| outcome.is_failure())
            .fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Of all that got no right answer: failures, and what was given up unsent.
    pub fn lost(&self) -> u64 {
        self.failures().saturating_add(self[Outcome::Shed])
    }

    /// Each outcome with its count, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL.into_iter().zip(self.0)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }
}

impl Index<Outcome> for OutcomeCounts {
    type Output = u64;

    fn index(&self, outcome: Outcome) -> &u64 {
        &self.0[outcome as usize]
    }
}

impl IndexMut<Outcome> for OutcomeCounts {
    fn index_mut(&mut self, outcome: Outcome) -> &mut u64 {
        &mut self.0[outcome as usize]
    }
}

#[cfg(test)]
impl schemars::JsonSchema for OutcomeCounts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OutcomeCounts".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let count = |outcome: Outcome| {
            let schema = serde_json::json!({"type": "integer", "minimum": 0});
            (outcome.name().to_owned(), schema)
        };
        schemars::json_schema!({
            "description": "How many exchanges ended in each way.",
            "type": "object",
            "properties": Outcome::ALL.map(count).into_iter().collect::<serde_json::Map<_, _>>(),
            "required": Outcome::ALL.map(Outcome::name),
        })
    }
}

impl Serialize for OutcomeCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (outcome, count) in self.iter() {
            map.serialize_entry(outcome.name(), &count)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for OutcomeCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counts;
        impl<'de> Visitor<'de> for Counts {
            type Value = OutcomeCounts;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a count for each outcome")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OutcomeCounts, A::Error> {
                let mut counts = OutcomeCounts::default();
                while let Some((outcome, count)) = map.next_entry::<Outcome, u64>()? {
                    counts[outcome] = count;
                }
                Ok(counts)
            }
        }
        deserializer.deserialize_map(Counts)
    }
}

#[cfg(test)]
mod tests;
