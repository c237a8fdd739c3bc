//! A figure that an earlier study published: of which number, how much it was, and the place of
//! this experiment that it belongs beside.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::demand::{PointName, Shown};
use super::values::RateText;
use super::{ExperimentError, Network, Placement, wrong};
use crate::units::{Bytes, Rate, Span};

/// `[[published]]`: a figure of an earlier study, and the place of this experiment that it belongs
/// beside.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What it is a figure of, in the words of the study.
    pub what: String,
    /// Right answers per second: short for that number to `show`, and this `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateText>,
    /// Which number of the point it stands beside, where that is no rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<Shown>,
    /// How much that was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueText>,
    /// Where the study gives it, and what of it was derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The label of a server of this experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of a workload of this experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// At so many connections; where none are given, at those with the highest rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// From so many source addresses; where none are given, from those with the highest rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<u32>,
    /// Where its generator runs; where nothing is said, on CPUs of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Its network; where nothing is said, loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

impl Published {
    /// The point that it belongs beside.
    pub fn point(&self) -> PointName<'_> {
        PointName {
            server: self.server.as_deref(),
            workload: self.workload.as_deref(),
            connections: self.connections,
            // That of the figure is what was reached, not what was asked for.
            rate: None,
            sources: self.sources,
            placement: self.placement,
            network: self.network,
        }
    }

    /// Which number it is a figure of, and how much it was: of a time in seconds, of a share as a
    /// part of 1.
    ///
    /// # Errors
    ///
    /// The key that is missing or wrong, none where it is the whole table, and what to write.
    pub fn figure(&self) -> Result<(Shown, f64), ExperimentError> {
        let (key, why) = match (self.rate, self.show, &self.value) {
            (Some(rate), None, None) => {
                return Ok((Shown::Rate, rate.0.as_per_second_f64()));
            }
            (None, Some(shown), Some(value)) => {
                let read = value.read(shown.quantity());
                return read
                    .map(|value| (shown, value))
                    .map_err(|why| wrong("value", why));
            }
            (Some(_), ..) => (
                "rate",
                "it is short for show = \"rate\" and a value: give either rate, or show and value"
                    .to_owned(),
            ),
            (None, Some(shown), None) => (
                "show",
                format!(
                    "say with value how much it was: {}",
                    shown.quantity().words()
                ),
            ),
            (None, None, Some(_)) => (
                "value",
                "say with show which number it is, as in show = \"user\"".to_owned(),
            ),
            (None, None, None) => (
                "",
                "give the figure: rate (right answers per second), or show and value (which \
                 number it is, and how much)"
                    .to_owned(),
            ),
        };
        Err(wrong(key, why))
    }
}

/// Refuses the first figure that does not say which number it is, or how much.
pub(super) fn check(figures: &[Published]) -> Result<(), ExperimentError> {
    for (index, figure) in figures.iter().enumerate() {
        figure.figure().map_err(|found| {
            let key = match found.key.as_str() {
                "" => format!("published[{index}]"),
                key => format!("published[{index}].{key}"),
            };
            wrong(key, found.why)
        })?;
    }
    Ok(())
}

/// How much something was, as people write it: `7.5`, `"95us"`, `"21 %"`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged, expecting = "write a number, or text with its unit")]
pub enum ValueText {
    /// A number alone.
    Number(f64),
    /// A number with its unit.
    Text(String),
}

impl ValueText {
    /// How much it is; where that cannot be told, what to write instead.
    fn read(&self, quantity: Quantity) -> Result<f64, String> {
        let value = match self {
            Self::Number(value) => Some(*value).filter(|_| !quantity.needs_unit()),
            Self::Text(text) => quantity.read(text.trim()),
        };
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| format!("write {}, not {self}", quantity.words()))
    }
}

impl fmt::Display for ValueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

/// In what a number of a point is counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Quantity {
    /// Bytes, or bytes per second.
    Bytes,
    /// A plain number.
    Count,
    /// So many per second.
    Rate,
    /// A part of a whole.
    Share,
    /// A time.
    Time,
}

impl Quantity {
    /// Whether a number of it means nothing without its unit.
    const fn needs_unit(self) -> bool {
        matches!(self, Self::Share | Self::Time)
    }

    /// What may be written for it.
    const fn words(self) -> &'static str {
        match self {
            Self::Bytes => "a number of bytes, as in value = 15_600 or value = \"64k\"",
            Self::Count => "a number, as in value = 7.5",
            Self::Rate => "a number per second, as in value = 500 or value = \"2k\"",
            Self::Share => "a share in per cent, as in value = \"21 %\"",
            Self::Time => "a time with its unit, as in value = \"95us\"",
        }
    }

    /// How much `text` is of it.
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Bytes => {
                let text = text.strip_suffix("/s").unwrap_or(text);
                let bytes: Bytes = text.parse().ok()?;
                Some(as_f64(bytes.count()))
            }
            Self::Count => text.parse().ok(),
            Self::Rate => {
                let rate: Rate = text.parse().ok()?;
                Some(rate.as_per_second_f64())
            }
            Self::Share => {
                let percent: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
                Some(percent / 100.0).filter(|share| *share <= 1.0)
            }
            Self::Time => {
                let has_unit = text.ends_with(char::is_alphabetic);
                let span: Span = text.parse().ok().filter(|_| has_unit)?;
                Some(span.as_s_f64())
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 8 million GiB")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn figure(keys: &Value) -> Result<(Shown, f64), ExperimentError> {
        let mut figure = json!({ "what": "w" });
        let fields = keys.as_object().unwrap().clone();
        figure.as_object_mut().unwrap().extend(fields);
        let figure: Published = serde_json::from_value(figure).unwrap();
        // What is stored says the same.
        let stored = serde_json::to_value(&figure).unwrap();
        assert_eq!(serde_json::from_value::<Published>(stored).unwrap(), figure);
        figure.figure()
    }

    #[test]
    fn a_figure_is_a_rate_or_another_number_with_its_unit() {
        let check = |keys: Value, shown: Shown, value: f64| {
            let (found, then) = figure(&keys).unwrap();
            assert_eq!(found, shown, "{keys}");
            assert!((then / value - 1.0).abs() < 1e-9, "{then}, not {value}");
        };
        let other = |show: &str, value: Value| json!({ "show": show, "value": value });
        check(json!({ "rate": 2_997.1 }), Shown::Rate, 2_997.1);
        check(json!({ "rate": "2k" }), Shown::Rate, 2_000.0);
        check(other("rate", json!(8_800)), Shown::Rate, 8_800.0);
        check(other("rate", json!("8.8k")), Shown::Rate, 8_800.0);
        check(other("user", json!("95us")), Shown::User, 95e-6);
        check(other("p99", json!("1.5 ms")), Shown::P99, 1.5e-3);
        check(other("recovery", json!("2m")), Shown::Recovery, 120.0);
        check(other("failures", json!("2.5 %")), Shown::Failures, 0.025);
        check(other("kept_alive", json!("87.5%")), Shown::KeptAlive, 0.875);
        check(other("received", json!(15_600)), Shown::Received, 15_600.0);
        check(other("memory", json!("1.5M")), Shown::Memory, 1_572_864.0);
        check(other("goodput", json!("4k/s")), Shown::Goodput, 4_096.0);
        check(
            other("per_connection", json!(7.5)),
            Shown::PerConnection,
            7.5,
        );
        check(
            other("per_connection", json!("7.5")),
            Shown::PerConnection,
            7.5,
        );
    }

    #[test]
    fn a_figure_that_is_none_is_told_with_its_key_and_what_to_write() {
        let check = |keys: Value, key: &str, said: &str| {
            let error = figure(&keys).unwrap_err();
            assert_eq!(error.key, key, "{keys}");
            assert!(error.why.contains(said), "{keys}: {}", error.why);
        };
        check(json!({}), "", "rate (right answers per second), or show");
        check(json!({ "rate": 1, "value": 1 }), "rate", "give either rate");
        check(
            json!({ "rate": 1, "show": "user" }),
            "rate",
            "show = \"rate\"",
        );
        check(json!({ "value": 1 }), "value", "say with show");
        check(
            json!({ "show": "user" }),
            "show",
            "say with value how much it was: a time with its unit",
        );
        let value = |show: &str, value: Value, said: &str| {
            check(json!({ "show": show, "value": value }), "value", said);
        };
        let time = "write a time with its unit, as in value = \"95us\", not ";
        value("user", json!(95), &format!("{time}95"));
        value("user", json!("95"), &format!("{time}\"95\""));
        value("user", json!("21 %"), time);
        value("failures", json!(0.5), "write a share in per cent");
        value("failures", json!("50"), "write a share in per cent");
        value("failures", json!("101 %"), "write a share in per cent");
        value("threads", json!("many"), "write a number, as in value");
        value("threads", json!(-1), "write a number, as in value");
        value("threads", json!("inf"), "write a number, as in value");
        value("rate", json!("2 ms"), "write a number per second");
        value("memory", json!("2 ms"), "write a number of bytes");
    }
}
