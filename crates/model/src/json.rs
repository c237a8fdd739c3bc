//! JSON of the large values, read and written in one place.
//!
//! Code that reads or writes a value is made anew by each crate that asks `serde_json` for it, and
//! for these values that was half of what some crates had to compile. Whoever asks here compiles
//! none of it.

use serde::de::Error as _;
use serde_json::Error;

use crate::event::Event;
use crate::experiment::{Gap, Manifest};
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

json!(Event, Gap, Manifest, PlanFile, ProbeResult, Trial);
