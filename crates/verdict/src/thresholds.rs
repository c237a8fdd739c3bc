//! The limits that rules hold values against, each with its source: data, so that a page can list
//! them and a stored verdict can name the ones that were used.
//!
//! "Policy" marks a default of ours: a choice, not a measurement.

use model::finding::Severity;
use serde_json::{Value, json};

/// Levels above which a value is noted, suspect or invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The rule that uses it.
    pub rule: &'static str,
    /// What is measured, with its unit.
    pub name: &'static str,
    /// Noted above this.
    pub note: Option<f64>,
    /// Suspect above this.
    pub suspect: Option<f64>,
    /// Invalid above this.
    pub invalid: Option<f64>,
    /// Where the numbers come from.
    pub source: &'static str,
}

impl Limit {
    /// How bad `value` is; none if it is within all levels.
    pub fn severity(&self, value: f64) -> Option<Severity> {
        let above = |level: Option<f64>| level.is_some_and(|level| value > level);
        if above(self.invalid) {
            Some(Severity::Invalid)
        } else if above(self.suspect) {
            Some(Severity::Suspect)
        } else if above(self.note) {
            Some(Severity::Note)
        } else {
            None
        }
    }

    /// As it stands in a finding.
    pub(crate) fn as_value(&self) -> Value {
        let mut levels = serde_json::Map::new();
        for (name, level) in [
            ("note", self.note),
            ("suspect", self.suspect),
            ("invalid", self.invalid),
        ] {
            if let Some(level) = level {
                levels.insert(name.to_owned(), json!(level));
            }
        }
        Value::Object(levels)
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $ident:ident: $rule:literal, $name:literal, $note:expr, $suspect:expr,
        $invalid:expr, $source:literal;)*) => {
        $($(#[$doc])* pub const $ident: Limit = Limit {
            rule: $rule, name: $name, note: $note, suspect: $suspect, invalid: $invalid,
            source: $source,
        };)*

        /// All of them, in the order of the catalogue.
        pub const ALL: &[Limit] = &[$($ident),*];
    };
}

limits! {
    /// A worker's time outside waits and empty polls.
    BUSY_SHARE: "GEN-01", "busy_share", None, Some(0.80), Some(0.95),
        "Policy; queueing in a server at 80 % use already doubles its waits (M/D/1)";
}
