//! Which point of which execution a trial belongs to: the one identity that files, rules, tables
//! and charts go by.

mod axis;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Rate;

pub use axis::{
    ACCESS_LOG, AXES, Axis, CERTIFICATE, CONNECTIONS, CORES, HANDSHAKE, NETWORK, PLACEMENT,
    PROTOCOL, RATE, Rivals, SOURCES, Set, Value, axis,
};

/// One run of one experiment, a resumed one included. Two runs of the same experiment are two.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Execution {
    /// The experiment's name.
    pub experiment: String,
    /// When it began, RFC 3339 in UTC; empty in trials of earlier versions.
    pub begun: String,
    /// The seed that the order came from.
    pub order_seed: u64,
}

/// What makes trials rounds of one point: all but the round.
///
/// Points in order stand by execution, workload and server, then by axes in the order of the table.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PointId {
    /// The run.
    pub execution: Execution,
    /// The workload's name.
    pub workload: String,
    /// The server's label: unique in the experiment, `nginx` or `nginx 2 cores log on`.
    pub server: String,
    /// Values of the axes that are not of the load.
    pub axes: Values,
    /// Values of the axes of the load.
    pub load: Values,
}

/// Values by axis, in the order of the table.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Values(BTreeMap<Key, Value>);

/// Its row in the table first.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
struct Key(usize, String);

impl Key {
    fn of(name: &str) -> Self {
        let row = AXES.iter().position(|axis| axis.name == name);
        Self(row.unwrap_or(usize::MAX), name.to_owned())
    }
}

impl Values {
    /// The value of an axis.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(&Key::of(name))
    }

    /// Sets the value of an axis.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(Key::of(name), value);
    }

    /// Without an axis.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut rest = self.clone();
        rest.0.remove(&Key::of(name));
        rest
    }

    /// Each axis that has a value, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.1.as_str(), value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether each of these values is one of `others`, too.
    pub fn are_among(&self, others: &Self) -> bool {
        self.iter()
            .all(|(name, value)| others.get(name) == Some(value))
    }

    /// Connections; 0 where they are not known.
    pub fn connections(&self) -> u32 {
        match self.get(CONNECTIONS) {
            Some(Value::Count(count)) => *count,
            _ => 0,
        }
    }

    /// The intended load; none in a closed loop.
    pub fn rate(&self) -> Option<Rate> {
        match self.get(RATE) {
            Some(Value::Rate(rate)) => Some(*rate),
            _ => None,
        }
    }

    /// As a heading says them: `64 connections`, `2,000/s over 64 connections`.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut before = "";
        for (name, value) in self.iter() {
            if !text.is_empty() {
                text.push_str(if before == RATE { " over " } else { ", " });
            }
            text.push_str(&(axis(name).show)(value));
            before = name;
        }
        text
    }

    /// As a part of a file name or an id: `64`, `64-2000`, `64-sources-12000`.
    pub fn slug(&self) -> String {
        let mut parts = vec![self.connections().to_string()];
        parts.extend(self.rate().map(|rate| rate.as_per_second_f64().to_string()));
        for (name, value) in self.iter() {
            if ![CONNECTIONS, RATE].contains(&name) {
                parts.push(name.to_owned());
                parts.push(value.to_string());
            }
        }
        parts.join("-")
    }
}

impl PointId {
    /// The same with `value` on an axis, which belongs to the load or not as the table says.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        match axis(name).set {
            Set::Load => self.load.set(name, value),
            Set::Server => self.axes.set(name, value),
        }
        self
    }

    /// The value of an axis.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.load.get(name).or_else(|| self.axes.get(name))
    }

    /// Every axis that has a value.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.load.iter().chain(self.axes.iter())
    }

    /// Connections; 0 where they are not known.
    pub fn connections(&self) -> u32 {
        self.load.connections()
    }

    /// The intended load; none in a closed loop.
    pub fn rate(&self) -> Option<Rate> {
        self.load.rate()
    }

    /// Whether the two are other servers with the same to do: in one execution, with the same
    /// workload, alike in all axes in which the table wants it.
    pub fn is_rival_of(&self, other: &Self) -> bool {
        let agree = |one: &Self, other: &Self| {
            one.values().all(|(name, value)| {
                let is_same = |other: &Value| other == value;
                match axis(name).rivals {
                    Rivals::MayDiffer => true,
                    Rivals::MustAgree => other.value(name).is_some_and(is_same),
                    Rivals::MustAgreeWhereKnown => other.value(name).is_none_or(is_same),
                }
            })
        };
        self.server != other.server
            && (&self.execution, &self.workload) == (&other.execution, &other.workload)
            && agree(self, other)
            && agree(other, self)
    }

    /// Whether the two differ in nothing but the number of connections.
    pub fn is_on_line_of(&self, other: &Self) -> bool {
        let rest = |id: &Self| id.load.without(CONNECTIONS);
        (&self.execution, &self.workload, &self.server, &self.axes)
            == (
                &other.execution,
                &other.workload,
                &other.server,
                &other.axes,
            )
            && rest(self) == rest(other)
    }
}

/// The point of a trial, and its place in the order of execution.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(with = "PointFile"))]
#[serde(try_from = "PointFile", into = "PointFile")]
pub struct Point {
    /// Which.
    pub id: PointId,
    /// The round (block), from 1.
    pub round: u32,
    /// Position in the order of execution of the whole experiment, from 1.
    pub sequence: u32,
    /// How often this trial's cell had been measured in this round before, and something that was
    /// neither server nor generator had spoilt one of its trials: 0 for the first time. A pair of
    /// rivals is one of equal attempts, and the last attempt that all of them have counts.
    pub attempt: u32,
    /// Which of several groups of servers it stood among, where there was no room for all beside
    /// each other: the reference is in each, and others are compared within their own.
    pub group: u32,
    /// Whether this measures the ceiling: origin's null responder in the server's place.
    pub ceiling: bool,
}

impl Point {
    /// Makes it known which execution this belongs to, where it was stored before trials told. The
    /// seed of the order says whether it can.
    pub fn adopt(&mut self, execution: &Execution) {
        let ours = &mut self.id.execution;
        if ours.begun.is_empty()
            && (&ours.experiment, ours.order_seed) == (&execution.experiment, execution.order_seed)
        {
            ours.begun.clone_from(&execution.begun);
        }
    }
}

/// A point as files have it: connections apart, as they were before there were axes.
#[derive(Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Point"))]
struct PointFile {
    /// The experiment's name.
    experiment: String,
    /// When its execution began, RFC 3339 in UTC: with the seed, that tells executions apart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    begun: String,
    /// The server's label: unique in the experiment, `nginx` or `nginx 2 cores log on`.
    server: String,
    /// The workload's name.
    workload: String,
    /// Values of the axes.
    #[serde(flatten)]
    values: ValuesFile,
    /// The round (block), from 1.
    round: u32,
    /// Position in the order of execution of the whole experiment, from 1.
    sequence: u32,
    /// The seed that the order came from.
    order_seed: u64,
    /// How often its cell had been measured in this round before.
    #[serde(default, skip_serializing_if = "is_zero")]
    attempt: u32,
    /// Which of several groups of servers it stood among; the reference is in each.
    #[serde(default, skip_serializing_if = "is_zero")]
    group: u32,
    /// Whether this measures the ceiling: origin's null responder in the server's place.
    #[serde(default)]
    ceiling: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Values of axes as files have them.
#[derive(Clone, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValuesFile {
    /// Connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connections: Option<u32>,
    /// Values of all other axes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    axes: BTreeMap<String, String>,
}

impl ValuesFile {
    pub(crate) fn of<'a>(values: impl Iterator<Item = (&'a str, &'a Value)>) -> Self {
        let mut file = Self::default();
        for (name, value) in values {
            match (name, value) {
                (CONNECTIONS, Value::Count(count)) => file.connections = Some(*count),
                _ => {
                    file.axes.insert(name.to_owned(), value.to_string());
                }
            }
        }
        file
    }

    /// Each value, read by the row of its axis.
    pub(crate) fn read(&self) -> Result<Vec<(&str, Value)>, String> {
        let connections = self
            .connections
            .map(|count| (CONNECTIONS, Value::Count(count)));
        let mut values: Vec<(&str, Value)> = connections.into_iter().collect();
        for (name, text) in &self.axes {
            let value = (axis(name).read)(text).map_err(|why| format!("axes.{name}: {why}"))?;
            values.push((name, value));
        }
        Ok(values)
    }
}

impl TryFrom<PointFile> for Point {
    type Error = String;

    fn try_from(file: PointFile) -> Result<Self, String> {
        let mut id = PointId {
            execution: Execution {
                experiment: file.experiment,
                begun: file.begun,
                order_seed: file.order_seed,
            },
            workload: file.workload,
            server: file.server,
            ..PointId::default()
        };
        for (name, value) in file.values.read()? {
            id = id.with(name, value);
        }
        Ok(Self {
            id,
            round: file.round,
            sequence: file.sequence,
            attempt: file.attempt,
            group: file.group,
            ceiling: file.ceiling,
        })
    }
}

impl From<Point> for PointFile {
    fn from(point: Point) -> Self {
        let values = ValuesFile::of(point.id.values());
        Self {
            experiment: point.id.execution.experiment,
            begun: point.id.execution.begun,
            server: point.id.server,
            workload: point.id.workload,
            values,
            round: point.round,
            sequence: point.sequence,
            order_seed: point.id.execution.order_seed,
            attempt: point.attempt,
            group: point.group,
            ceiling: point.ceiling,
        }
    }
}

#[cfg(test)]
mod tests;
