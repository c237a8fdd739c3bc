//! What an experiment sets of a server beyond its preset: directives in the server's own words,
//! its limits of connections that last, and which threads run on which CPUs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::file::{AccessLog, ServerFile};
use super::values::OneOrMany;
use super::{ExperimentError, wrong};
use crate::units::Span;

/// The value of a directive: text, a number, true or false in the file, and text from then on.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SettingText(pub String);

impl<'de> Deserialize<'de> for SettingText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl serde::de::Visitor<'_> for Scalar {
            type Value = SettingText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, a number, true or false, or a list of these")
            }

            fn visit_bool<E>(self, value: bool) -> Result<SettingText, E> {
                Ok(SettingText(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<SettingText, E> {
                Ok(SettingText(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<SettingText, E> {
                Ok(SettingText(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<SettingText, E> {
                Ok(SettingText(value.to_string()))
            }

            fn visit_str<E>(self, value: &str) -> Result<SettingText, E> {
                Ok(SettingText(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// `keep_alive`: the server's own limits of connections that last.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KeepAliveFile {
    /// Requests on a connection before the server closes it, 0 for no limit: one number or an axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<OneOrMany<u32>>,
    /// How long the server keeps a connection on which nothing comes.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "super::values::maybe_span"
    )]
    pub idle: Option<Span>,
}

/// The server's own limits of connections that last; none: those of its preset.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct KeepAlive {
    /// Requests before it closes a connection, in its own counting; 0 for no limit.
    pub requests: Option<u32>,
    /// Whole seconds before it closes a connection on which nothing comes.
    pub idle_s: Option<u64>,
}

/// Where the threads of a server run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// Wherever the kernel likes among the server's CPUs.
    #[default]
    Mask,
    /// Each on one of the server's CPUs, in turn.
    Thread,
}

impl Pin {
    /// The word in files, labels and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mask => "mask",
            Self::Thread => "thread",
        }
    }
}

/// One of the configurations that the axes of a `[[server]]` make.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub(super) variant: Option<String>,
    pub(super) cores: u32,
    pub(super) access_log: AccessLog,
    pub(super) settings: BTreeMap<String, String>,
    pub(super) keep_alive: KeepAlive,
    pub(super) pin: Pin,
}

/// Every variant, with every number of cores, with every log state, and so on: the last changes
/// first.
pub(super) fn configurations(file: &ServerFile) -> Vec<Configuration> {
    let first = Configuration {
        variant: None,
        cores: 0,
        access_log: AccessLog::Off,
        settings: BTreeMap::new(),
        keep_alive: KeepAlive {
            requests: None,
            idle_s: idle_s(file),
        },
        pin: Pin::Mask,
    };
    let mut all = vec![first];
    let variants = file.variant.as_ref().map_or(&[][..], OneOrMany::as_slice);
    all = times(all, variants, |one, value| {
        one.variant = Some(value.clone());
    });
    all = times(all, file.cores.as_slice(), |one, &value| one.cores = value);
    let logs = file.access_log.as_slice();
    all = times(all, logs, |one, &value| one.access_log = value);
    for (name, values) in &file.settings {
        all = times(all, values.as_slice(), |one, value| {
            one.settings.insert(name.clone(), value.0.clone());
        });
    }
    let limits = file.keep_alive.as_ref();
    let limits = limits.and_then(|limits| limits.requests.as_ref());
    let limits = limits.map_or(&[][..], OneOrMany::as_slice);
    all = times(all, limits, |one, &value| {
        one.keep_alive.requests = Some(value);
    });
    let pins = file.pin.as_ref().map_or(&[][..], OneOrMany::as_slice);
    times(all, pins, |one, &value| one.pin = value)
}

fn idle_s(file: &ServerFile) -> Option<u64> {
    let idle = file.keep_alive.as_ref()?.idle?;
    Some(idle.as_ns() / 1_000_000_000)
}

/// Each of `all` with each of `values`; as it is where there are none.
fn times<T>(
    all: Vec<Configuration>,
    values: &[T],
    set: impl Fn(&mut Configuration, &T),
) -> Vec<Configuration> {
    if values.is_empty() {
        return all;
    }
    let with_each = |one: Configuration| values.iter().map(move |value| (one.clone(), value));
    all.into_iter()
        .flat_map(with_each)
        .map(|(mut one, value)| {
            set(&mut one, value);
            one
        })
        .collect()
}

/// The longest label.
const LABEL_MOST: usize = 100;
/// What trials of the ceiling have in the place of a label.
const CEILING: &str = "ceiling";

/// Whether that axis is written, without a value.
fn has_none<T>(axis: Option<&OneOrMany<T>>) -> bool {
    axis.is_some_and(|axis| axis.as_slice().is_empty())
}

/// Refuses axes without values, and what no server can be told.
pub(super) fn check(
    file: &ServerFile,
    key: &dyn Fn(&str) -> String,
) -> Result<(), ExperimentError> {
    if let Some(label) = &file.label
        && let Some(why) = wrong_label(label)
    {
        return Err(wrong(key("label"), why));
    }
    let is_whole = |path: &String| path.starts_with('/');
    if !file.program.as_ref().is_none_or(is_whole) {
        return Err(wrong(key("program"), "give its whole path, from the root"));
    }
    let cores = file.cores.as_slice();
    if cores.is_empty() || cores.contains(&0) {
        return Err(wrong(key("cores"), "give at least 1"));
    }
    if file.priority == Some(0) {
        return Err(wrong(key("priority"), "give 1 or more"));
    }
    if file.access_log.as_slice().is_empty() {
        let why = "give at least one of off, on, buffered";
        return Err(wrong(key("access_log"), why));
    }
    if has_none(file.pin.as_ref()) {
        return Err(wrong(key("pin"), "give at least one of mask, thread"));
    }
    if has_none(file.variant.as_ref()) {
        return Err(wrong(key("variant"), "give at least one, or leave it out"));
    }
    for (name, values) in &file.settings {
        let place = key(&format!("settings.{name}"));
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(is_word) {
            let why = "the name of a setting has letters, digits, '-', '_' and '.'";
            return Err(wrong(place, why));
        }
        if values.as_slice().is_empty() {
            return Err(wrong(place, "give at least one value"));
        }
        let has_line = |value: &SettingText| value.0.contains(['\n', '\r']);
        if values.as_slice().iter().any(has_line) {
            return Err(wrong(place, "give a value of one line"));
        }
    }
    let Some(limits) = &file.keep_alive else {
        return Ok(());
    };
    if limits
        .requests
        .as_ref()
        .is_some_and(|axis| axis.as_slice().is_empty())
    {
        return Err(wrong(
            key("keep_alive.requests"),
            "give at least one number",
        ));
    }
    let is_whole = |idle: Span| !idle.is_zero() && idle.as_ns().is_multiple_of(1_000_000_000);
    if !limits.idle.is_none_or(is_whole) {
        let why = "servers count whole seconds: give 1s or more";
        return Err(wrong(key("keep_alive.idle"), why));
    }
    Ok(())
}

/// Why nobody can be called so in tables, files and sentences; none where one can.
fn wrong_label(label: &str) -> Option<String> {
    let count = label.chars().count();
    if label.trim().is_empty() || count > LABEL_MOST {
        return Some(format!("give 1 to {LABEL_MOST} characters, not {count}"));
    }
    if label.chars().any(char::is_control) {
        return Some("give one line without control characters".to_owned());
    }
    let is_taken = label == CEILING;
    is_taken.then(|| "what shows the generator's limit is called so: give another".to_owned())
}

/// What tells this configuration from its siblings, and nothing else.
pub(super) fn label_of(file: &ServerFile, product: &str, one: &Configuration) -> String {
    let mut label = match &file.label {
        Some(label) => label.clone(),
        None if file.preset == "tuned" => product.to_owned(),
        None => {
            let preset = file.preset.rsplit('/').next().unwrap_or_default();
            format!("{product} {preset}")
        }
    };
    let is_one = matches!(file.variant, Some(OneOrMany::One(_)));
    let variant = one.variant.as_ref();
    if let Some(variant) = variant.filter(|_| !is_one || file.label.is_none()) {
        label.push_str(&format!(" {variant}"));
    }
    if file.cores.as_slice().len() > 1 {
        let unit = if one.cores == 1 { "core" } else { "cores" };
        label.push_str(&format!(" {} {unit}", one.cores));
    }
    if file.access_log.as_slice().len() > 1 {
        label.push_str(&format!(" log {}", one.access_log.name()));
    }
    for (name, value) in &one.settings {
        if file.settings[name].as_slice().len() > 1 {
            label.push_str(&format!(" {name} {value}"));
        }
    }
    let limits = file.keep_alive.as_ref();
    let limits = limits.and_then(|limits| limits.requests.as_ref());
    if limits.is_some_and(|axis| axis.as_slice().len() > 1) {
        label.push_str(&match one.keep_alive.requests {
            None | Some(0) => " keep-alive without limit".to_owned(),
            Some(limit) => format!(" keep-alive {limit}"),
        });
    }
    if file
        .pin
        .as_ref()
        .is_some_and(|pin| pin.as_slice().len() > 1)
    {
        label.push_str(&format!(" pin {}", one.pin.name()));
    }
    label
}
