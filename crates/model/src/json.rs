//! JSON of the large values, read and written in one place.
//!
//! Code that reads or writes a value is made anew by each crate that asks `serde_json` for it, and
//! for these values that is much to compile. Whoever asks here compiles none of it.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Error;

use crate::event::Event;
use crate::experiment::{ExperimentFile, Gap, Manifest};
use crate::plan::PlanFile;
use crate::probe::ProbeResult;
use crate::trial::Trial;

/// A large value that is stored or sent as JSON.
pub trait Json: Sized {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// It is something else.
    fn from_json(text: &[u8]) -> Result<Self, Error>;

    /// In one line, without its end.
    ///
    /// # Errors
    ///
    /// None that is known: all of it is text, numbers and lists, and maps with text for keys.
    fn to_json(&self) -> Result<String, Error>;
}

macro_rules! json {
    ($($value:ty),+) => {
        $(impl Json for $value {
            fn from_json(text: &[u8]) -> Result<Self, Error> {
                serde_json::from_str(str::from_utf8(text).map_err(Error::custom)?)
            }

            fn to_json(&self) -> Result<String, Error> {
                serde_json::to_string(self)
            }
        })+
    };
}

json!(ExperimentFile, Gap, Manifest, PlanFile, ProbeResult, Trial);

/// How the line of a trial begins: it has the fields of the trial and this one.
const TRIAL: &str = r#"{"event":"trial","#;

/// What a line is.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
}

impl Json for Event {
    fn from_json(text: &[u8]) -> Result<Self, Error> {
        let text = str::from_utf8(text).map_err(Error::custom)?;
        let kind: Kind<'_> = serde_json::from_str(text)?;
        match &*kind.event {
            "trial" => Trial::from_json(text.as_bytes()).map(|trial| Self::Trial(Box::new(trial))),
            _ => serde_json::from_str(text),
        }
    }

    fn to_json(&self) -> Result<String, Error> {
        match self {
            Self::Trial(trial) => {
                let text = trial.to_json()?;
                Ok(format!("{TRIAL}{}", &text[1..]))
            }
            told => serde_json::to_string(told),
        }
    }
}

impl<T: Json> Json for Box<T> {
    fn from_json(text: &[u8]) -> Result<Self, Error> {
        T::from_json(text).map(Self::new)
    }

    fn to_json(&self) -> Result<String, Error> {
        T::to_json(self)
    }
}

/// For `#[serde(with = "...")]` of a field in JSON that has such a value.
pub mod inside {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use serde_json::value::RawValue;

    use super::Json;

    /// Writes it.
    ///
    /// # Errors
    ///
    /// The serializer's.
    pub fn serialize<T: Json, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        let text = value.to_json().map_err(S::Error::custom)?;
        RawValue::from_string(text)
            .map_err(S::Error::custom)?
            .serialize(to)
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub fn deserialize<'de, T: Json, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let text = Box::<RawValue>::deserialize(from)?;
        T::from_json(text.get().as_bytes()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Phase;
    use crate::fixture;
    use crate::units::Instant;

    #[test]
    fn each_line_is_one_object_that_says_what_it_is() {
        let phase = Event::Phase {
            phase: Phase::Drain,
            monotonic_ns: Instant::from_ns(7),
        };
        let said = r#"{"event":"phase","phase":"drain","monotonic_ns":7}"#;
        assert_eq!(phase.to_json().unwrap(), said);
        let trial = Event::Trial(Box::new(fixture::closed()));
        let text = trial.to_json().unwrap();
        assert!(text.starts_with(r#"{"event":"trial","format":"#), "{text}");
        for event in [phase, trial, Event::Ready] {
            let text = event.to_json().unwrap();
            assert_eq!(Event::from_json(text.as_bytes()).unwrap(), event);
            // Wherever it says so.
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(
                Event::from_json(value.to_string().as_bytes()).unwrap(),
                event
            );
        }
        let error = Event::from_json(br#"{"event":"dance"}"#).unwrap_err();
        assert!(error.to_string().contains("dance"), "{error}");
        assert!(Event::from_json(b"{}").is_err());
    }

    #[test]
    fn a_value_may_stand_inside_of_another() {
        #[derive(Debug, Deserialize, PartialEq, serde::Serialize)]
        struct Letter {
            #[serde(with = "inside")]
            trial: Box<Trial>,
            to: String,
        }
        let letter = Letter {
            trial: Box::new(fixture::closed()),
            to: "you".to_owned(),
        };
        let text = serde_json::to_string(&letter).unwrap();
        assert_eq!(serde_json::from_str::<Letter>(&text).unwrap(), letter);
        let error = serde_json::from_str::<Letter>(r#"{"trial":{"format":"two"},"to":""}"#);
        assert!(error.unwrap_err().to_string().contains("two"));
    }
}
