//! The one table of axes: what points of an experiment can differ in beside server and workload.
//!
//! An axis is a row here and nothing more: files, labels, file names, columns, charts and rules
//! read the table. What a file of another version names and this table lacks is carried along as a
//! word.

use std::fmt;

use crate::units::Rate;

/// One axis.
#[derive(Debug)]
pub struct Axis {
    /// Its name in files.
    pub name: &'static str,
    /// The heading of its column, unit last.
    pub column: &'static str,
    /// What its column holds.
    pub meaning: &'static str,
    /// Where it is set.
    pub set: Set,
    /// Whether rivals may differ in it.
    pub rivals: Rivals,
    /// Reads a value as it is written in files.
    pub read: fn(&str) -> Result<Value, String>,
    /// A value as a heading or a label says it.
    pub show: fn(&Value) -> String,
}

/// What sets an axis.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Set {
    /// The load: what the generator does.
    Load,
    /// The server's configuration; its label says so where it has several values.
    Server,
}

/// Whether servers that differ in an axis are compared at all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rivals {
    /// They may differ: a rule says so where that is unfair.
    MayDiffer,
    /// They have the same value.
    MustAgree,
    /// They have the same value, where it is known of both: of a server that somebody else started
    /// it is not.
    MustAgreeWhereKnown,
}

/// A value of an axis.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Value {
    /// So many.
    Count(u32),
    /// So many per second.
    Rate(Rate),
    /// One of several.
    Word(String),
}

impl Value {
    /// As a place on an axis of a chart; none for a word.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(f64::from(*count)),
            Self::Rate(rate) => Some(rate.as_per_second_f64()),
            Self::Word(_) => None,
        }
    }
}

/// As files have it; [`Axis::read`] reads it back.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// The axis of intended load.
pub const RATE: &str = "rate";
/// The axis of connections.
pub const CONNECTIONS: &str = "connections";
/// The axis of the server's cores.
pub const CORES: &str = "cores";
/// The axis of the server's access log.
pub const ACCESS_LOG: &str = "access_log";
/// The axis of the protocol that connections speak.
pub const PROTOCOL: &str = "protocol";
/// The axis of the key in the server's certificate.
pub const CERTIFICATE: &str = "certificate";
/// The axis of what connections begin with.
pub const HANDSHAKE: &str = "handshake";
/// The axis of source addresses.
pub const SOURCES: &str = "sources";
/// The axis of the generator's place.
pub const PLACEMENT: &str = "placement";

/// The axis of the path between generator and server.
pub const NETWORK: &str = "network";

/// Every axis. Points are put in the order of its rows, so what a chart is drawn along last comes
/// first.
pub static AXES: &[Axis] = &[
    Axis {
        name: RATE,
        column: "intended_rate_per_s",
        meaning: "intended load; empty in a closed loop",
        set: Set::Load,
        rivals: Rivals::MustAgree,
        read: rate,
        show: |value| match value {
            Value::Rate(rate) => format!("{}/s", grouped(&rate.as_per_second_f64().to_string())),
            other => other.to_string(),
        },
    },
    Axis {
        name: CONNECTIONS,
        column: "connections",
        meaning: "connections",
        set: Set::Load,
        rivals: Rivals::MustAgree,
        read: count,
        show: |value| counted(value, "connection"),
    },
    Axis {
        name: CORES,
        column: "cores",
        meaning: "cores of the server; empty where that is unknown",
        set: Set::Server,
        rivals: Rivals::MustAgreeWhereKnown,
        read: count,
        show: |value| counted(value, "core"),
    },
    Axis {
        name: ACCESS_LOG,
        column: "access_log",
        meaning: "off, on or buffered; empty where that is unknown",
        set: Set::Server,
        rivals: Rivals::MayDiffer,
        read: word,
        show: |value| format!("log {value}"),
    },
    Axis {
        name: PROTOCOL,
        column: "protocol",
        meaning: "http1, http2, http1-tls, http2-tls or http3; empty in trials of earlier versions",
        set: Set::Server,
        rivals: Rivals::MustAgree,
        read: word,
        show: Value::to_string,
    },
    Axis {
        name: CERTIFICATE,
        column: "certificate_key",
        meaning: "the kind of key in the server's certificate; empty without TLS",
        set: Set::Server,
        rivals: Rivals::MustAgree,
        read: word,
        show: Value::to_string,
    },
    Axis {
        name: HANDSHAKE,
        column: "handshake",
        meaning: "full or resumed, as it was asked for; empty without TLS",
        set: Set::Server,
        rivals: Rivals::MustAgree,
        read: word,
        show: Value::to_string,
    },
    Axis {
        name: SOURCES,
        column: "sources",
        meaning: "source addresses, where the experiment says how many",
        set: Set::Load,
        rivals: Rivals::MustAgree,
        read: count,
        show: |value| counted(value, "source address"),
    },
    Axis {
        name: PLACEMENT,
        column: "placement",
        meaning: "generator on CPUs of its own (apart) or on the server's (shared), where the \
                  experiment says so",
        set: Set::Load,
        rivals: Rivals::MustAgree,
        read: word,
        show: |value| format!("CPUs {value}"),
    },
    Axis {
        name: NETWORK,
        column: "network",
        meaning: "what lies between generator and server (loopback or veth), where the experiment \
                  says so",
        set: Set::Load,
        rivals: Rivals::MustAgree,
        read: word,
        show: |value| format!("over {value}"),
    },
];

/// What an axis is like that the table lacks.
static UNKNOWN: Axis = Axis {
    name: "",
    column: "",
    meaning: "an axis that this version does not know",
    set: Set::Server,
    rivals: Rivals::MustAgree,
    read: word,
    show: Value::to_string,
};

/// The row of that name; what stands for one where there is none.
pub fn axis(name: &str) -> &'static Axis {
    AXES.iter()
        .find(|axis| axis.name == name)
        .unwrap_or(&UNKNOWN)
}

fn count(text: &str) -> Result<Value, String> {
    let number = text
        .parse()
        .map_err(|_| format!("'{text}' is not a count"))?;
    Ok(Value::Count(number))
}

fn rate(text: &str) -> Result<Value, String> {
    let rate = text.parse().map_err(|error| format!("{error}"))?;
    Ok(Value::Rate(rate))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "one of several readers in a table"
)]
fn word(text: &str) -> Result<Value, String> {
    Ok(Value::Word(text.to_owned()))
}

/// `64 connections`, `1 core`.
fn counted(value: &Value, what: &str) -> String {
    let plural = match value {
        Value::Count(1) => "",
        _ if what.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", grouped(&value.to_string()))
}

/// Thousands apart: `2,000.5`.
fn grouped(number: &str) -> String {
    let whole = number.find('.').unwrap_or(number.len());
    let mut text = String::new();
    for (position, digit) in number[..whole].chars().enumerate() {
        if position > 0 && (whole - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + &number[whole..]
}
