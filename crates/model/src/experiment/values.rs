//! Values as experiments write them: one or several, rates, quantities, times.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{IntoDeserializer as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::{Rate, Span};

/// One value, or several: an axis.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// No axis.
    One(T),
    /// An axis.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

/// Not derived: an untagged enum would swallow what is wrong with the value itself.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value or a list of values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = items.next_element()? {
                    values.push(value);
                }
                Ok(OneOrMany::Many(values))
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// A rate as people write it: `2000` or `"2k"`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RateText(pub Rate);

impl<'de> Deserialize<'de> for RateText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        quantity(deserializer).map(Self)
    }
}

impl Serialize for RateText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_per_second_f64())
    }
}

/// A quantity written as text with its unit, or as a bare number.
pub(super) fn quantity<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "write a number, or text with its unit")]
    enum Written {
        Whole(u64),
        Fraction(f64),
        Text(String),
    }
    let text = match Written::deserialize(deserializer)? {
        Written::Whole(number) => number.to_string(),
        Written::Fraction(number) => number.to_string(),
        Written::Text(text) => text,
    };
    text.parse().map_err(serde::de::Error::custom)
}

/// A time written as text with its unit: `"350ms"`.
pub(super) mod span {
    use super::{Deserializer, Serializer, Span};

    pub(in crate::experiment) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Span, D::Error> {
        super::quantity(from)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(in crate::experiment) fn serialize<S: Serializer>(
        span: &Span,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let ns = span.as_ns();
        to.serialize_str(&match ns {
            _ if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
            _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
            _ => format!("{ns}ns"),
        })
    }
}

/// The same where it may be left out.
pub(super) mod maybe_span {
    use super::{Deserializer, Serializer, Span, span};

    pub(in crate::experiment) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Span>, D::Error> {
        span::deserialize(from).map(Some)
    }

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(in crate::experiment) fn serialize<S: Serializer>(
        span: &Option<Span>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => span::serialize(span, to),
            None => to.serialize_none(),
        }
    }
}
