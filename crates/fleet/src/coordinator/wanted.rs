//! Which agents are wanted, and which of those that are there they are.

use std::fmt;
use std::str::FromStr;

use crate::error::FleetError;
use crate::message::{Announcement, Name};

/// Which agents are wanted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// All with this label.
    Labelled(String, String),
    /// The one of this name.
    Named(Name),
}

impl FromStr for Wanted {
    type Err = String;

    /// `NAME`, or `KEY=VALUE` for a label.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None => text.parse().map(Self::Named),
            Some((key, value)) if !key.is_empty() => {
                Ok(Self::Labelled(key.to_owned(), value.to_owned()))
            }
            Some(_) => Err(format!("'{text}': a label is KEY=VALUE")),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labelled(key, value) => write!(f, "with the label {key}={value}"),
            Self::Named(name) => write!(f, "'{name}'"),
        }
    }
}

/// Those of `found` that are wanted.
pub(super) fn select(
    found: Vec<Announcement>,
    wanted: &[Wanted],
) -> Result<Vec<Announcement>, FleetError> {
    let is = |one: &Announcement, wanted: &Wanted| match wanted {
        Wanted::Labelled(key, value) => one.labels.get(key) == Some(value),
        Wanted::Named(name) => one.name == *name,
    };
    let is_there = |wanted: &&Wanted| found.iter().any(|one| is(one, wanted));
    if let Some(missing) = wanted.iter().find(|wanted| !is_there(wanted)) {
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        let there = match names.is_empty() {
            true => "there is none at all".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        return Err(FleetError::Agents(format!(
            "there is no agent {missing} ({there}): start one \
             with triathlon agent --nats URL --targets ADDRESSES, and --name or --labels"
        )));
    }
    let is_wanted = |one: &Announcement| wanted.iter().any(|wanted| is(one, wanted));
    let chosen: Vec<Announcement> = found.into_iter().filter(is_wanted).collect();
    match chosen.iter().find(|one| has_namesake(one, &chosen)) {
        None => Ok(chosen),
        Some(one) => Err(FleetError::agent(
            one.name.as_str(),
            "two agents have this name: start one of them with another --name",
        )),
    }
}

/// Whether another one of `found` has its name.
pub(super) fn has_namesake(one: &Announcement, found: &[Announcement]) -> bool {
    found.iter().filter(|other| other.name == one.name).count() > 1
}
