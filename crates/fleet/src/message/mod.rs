//! What a coordinator and its agents say to each other: JSON, with plans, trials and environments
//! as their files have them.
//!
//! Each message names the version of this language first, so that one of another version is refused
//! by a sentence, whatever else stands in it. A message larger than [`LARGEST`] lies in the object
//! store of the broker, and a small one says where.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use model::{Bytes, Environment, Span, Trial};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of this language.
pub const PROTOCOL: u32 = 2;

/// The largest message in bytes: what a NATS server takes unless it is told otherwise.
pub const LARGEST: usize = 1 << 20;

/// What all agents listen to.
pub const EVERYONE: &str = "triathlon.agents";

/// What the agent of this name listens to.
pub fn subject_of(agent: &Name) -> String {
    format!("triathlon.agent.{agent}")
}

/// The name of an agent: a part of the subject that it listens to.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// The name that is nearest to `text`, as of a machine.
    pub fn like(text: &str) -> Self {
        let letters = text.trim().chars().take(NAME_MOST);
        let fit = |c: char| if is_of_names(c) { c } else { '-' };
        let name: String = letters.map(fit).collect();
        match name.is_empty() {
            true => Self("agent".to_owned()),
            false => Self(name),
        }
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The longest name.
const NAME_MOST: usize = 64;

const fn is_of_names(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.len() > NAME_MOST || !text.chars().all(is_of_names) {
            return Err(format!(
                "'{text}' is not the name of an agent: write 1 to {NAME_MOST} letters, digits, - \
                 and _"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What an agent is for.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It makes load, and starts servers.
    Both,
    /// It makes load.
    Load,
    /// It starts servers.
    Server,
}

impl Role {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Load => "load",
            Self::Server => "server",
        }
    }
}

/// What is said to an agent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// What time is it?
    Clock,
    /// Who are you?
    Hello,
    /// Make this part of a load.
    Order(Box<Order>),
    /// The load begins at this time of the agent's own clock.
    Begin {
        /// Which order.
        order: String,
        /// In nanoseconds since 1970.
        at_unix_ns: u64,
    },
    /// End it now; what was measured is kept.
    Stop {
        /// Which order.
        order: String,
    },
    /// Start what has the servers of a lab. From then on lines go to and fro.
    Lab(Box<LabOrder>),
    /// A line for that.
    Line {
        /// Which order.
        order: String,
        /// Its number, from 0: none may be missing.
        number: u64,
        /// The line.
        text: String,
        /// Whoever says it has nothing else to say for so long: it need not be asked whether it is
        /// there.
        silence: Span,
    },
}

/// The servers of a lab.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LabOrder {
    /// What it is called in all that follows: no two orders have one name.
    pub id: String,
    /// The version of the program that asks.
    pub version: String,
}

/// A part of a load.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Order {
    /// What it is called in all that follows: no two orders have one name.
    pub id: String,
    /// The version of the program that asks.
    pub version: String,
    /// Which of the plan's workers.
    pub workers: Range<u32>,
    /// Whether somebody watches: then the agent tells each interval that is over.
    pub is_watched: bool,
    /// The whole plan, as its file has it. Read once the version is known to be the same.
    pub plan: serde_json::Value,
}

/// What an agent says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// It works on the order.
    Accepted {
        /// Which.
        order: String,
    },
    /// What time it is.
    Clock {
        /// In nanoseconds since 1970.
        unix_ns: u64,
    },
    /// The order came to nothing.
    Failed {
        /// Which.
        order: String,
        /// One sentence.
        why: String,
    },
    /// Who it is.
    Hello(Box<Announcement>),
    /// An interval of the load is over, for whoever watches. It is said once and kept nowhere.
    Interval {
        /// Of which order.
        order: String,
        /// What passed in it.
        passed: Passed,
    },
    /// What has the servers of a lab says a line.
    Line {
        /// Which order.
        order: String,
        /// Its number, from 0: none may be missing.
        number: u64,
        /// The line.
        text: String,
    },
    /// What had the servers of a lab has ended. Nothing follows.
    Closed {
        /// Which order.
        order: String,
        /// Why it ended before it was done, one sentence; none where it was done.
        why: Option<String>,
    },
    /// Its workers have all they need, and wait for the time to begin.
    Ready {
        /// Which order.
        order: String,
    },
    /// It does not work on the order.
    Refused {
        /// Which.
        order: String,
        /// One sentence.
        why: String,
    },
    /// What it measured. Nothing follows.
    Trial {
        /// Which order.
        order: String,
        /// Of its part.
        #[serde(with = "model::json::inside")]
        trial: Box<Trial>,
    },
}

/// What passed in an interval, as far as one agent's generator has seen it. It is of a fixed size,
/// and no part of a result.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Passed {
    /// Which interval of the window, from 0.
    pub number: u64,
    /// How long it was.
    pub length: Span,
    /// Right answers.
    pub right: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Connections open at its end.
    pub connections: u64,
    /// Bytes that came.
    pub bytes_received: Bytes,
    /// 99th percentile of the response times; none where nothing was right.
    pub response_time_p99: Option<Span>,
}

/// What one thread of an agent's generator reached against a responder on the other CPUs of its
/// machine, by HTTP/1.1 in clear: a thread with more to do for each answer reaches less.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Ceiling {
    /// Right answers per second.
    pub rate: f64,
    /// Whether the responder was the limit: then the thread can do more.
    pub at_least: bool,
    /// When that was, RFC 3339 in UTC.
    pub time: String,
}

/// Who an agent is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Announcement {
    /// Its name.
    pub name: Name,
    /// The version of its program.
    pub version: String,
    /// What it is for.
    pub role: Role,
    /// What its owner says of it.
    pub labels: BTreeMap<String, String>,
    /// The addresses that it may load.
    pub targets: Vec<String>,
    /// Whether it may start servers.
    pub may_start_servers: bool,
    /// CPUs for its workers.
    pub cpus: Vec<u32>,
    /// What a thread of its generator reached when that was last measured; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// The order that it works on.
    pub busy: Option<String>,
    /// Its machine when it began, with what the doctor found, and with its clock as it is kept now.
    pub environment: Environment,
}

impl Tell {
    /// The order that has ended with this, whatever came of it.
    pub fn ended(&self) -> Option<&str> {
        match self {
            Self::Failed { order, .. } | Self::Trial { order, .. } => Some(order),
            _ => None,
        }
    }
}

/// The name under which the broker keeps how `order` ended for `agent`.
pub fn kept_as(order: &str, agent: &Name) -> String {
    format!("{order}.{agent}")
}

/// What goes over the wire.
#[derive(Deserialize, Serialize)]
struct Envelope<T> {
    protocol: u32,
    message: T,
}

/// What stands for a message that is too large.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Elsewhere {
    protocol: u32,
    /// Its name in the object store.
    pub object: String,
    /// Whether it stays there after it has been read.
    #[serde(default)]
    pub is_kept: bool,
}

/// Why a message cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unreadable {
    /// Another version.
    #[error(
        "it speaks version {0} of the agents' language, this program version {PROTOCOL}: install \
         the same version of triathlon on both"
    )]
    Protocol(u32),
    /// Not of this language.
    #[error("it is not a message of an agent: {0}")]
    Nonsense(String),
}

/// A message as it goes over the wire.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    let envelope = Envelope {
        protocol: PROTOCOL,
        message,
    };
    serde_json::to_vec(&envelope).expect("messages have no maps with other keys than text")
}

/// Reads one.
///
/// # Errors
///
/// It is of another version, or none at all.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        protocol: u32,
    }
    let nonsense = |error: serde_json::Error| Unreadable::Nonsense(error.to_string());
    let text = str::from_utf8(bytes).map_err(|error| Unreadable::Nonsense(error.to_string()))?;
    let Version { protocol } = serde_json::from_str(text).map_err(nonsense)?;
    if protocol != PROTOCOL {
        return Err(Unreadable::Protocol(protocol));
    }
    let envelope: Envelope<T> = serde_json::from_str(text).map_err(nonsense)?;
    Ok(envelope.message)
}

/// What stands for a message that lies in the object store under this name, and stays there or not.
pub fn encode_elsewhere(object: &str, is_kept: bool) -> Vec<u8> {
    let elsewhere = Elsewhere {
        protocol: PROTOCOL,
        object: object.to_owned(),
        is_kept,
    };
    serde_json::to_vec(&elsewhere).expect("it is a number, a text and a truth")
}

/// Where the message is; none where this is the message.
pub fn elsewhere(bytes: &[u8]) -> Option<Elsewhere> {
    const LONGEST: usize = 1_024;
    let bytes = Some(bytes).filter(|bytes| bytes.len() <= LONGEST)?;
    let elsewhere: Elsewhere = serde_json::from_slice(bytes).ok()?;
    (elsewhere.protocol == PROTOCOL).then_some(elsewhere)
}

#[cfg(test)]
mod tests;
