//! A condition is read, and what is wrong with it is told.

use std::fmt;
use std::str::FromStr;

use super::{Operator, Statistic, Threshold, Time, What};
use crate::units::{Rate, Span};

/// Each operator as it is written; the longer ones first.
const OPERATORS: [(&str, Operator); 7] = [
    ("===", Operator::Equal),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::MoreOrEqual),
    ("<", Operator::Less),
    (">", Operator::More),
];

const TIMES: [(&str, Time); 8] = [
    ("blocked_time", Time::Blocked),
    ("connect_time", Time::Connect),
    ("first_byte_time", Time::FirstByte),
    ("late_time", Time::Late),
    ("page_time", Time::Page),
    ("response_time", Time::Response),
    ("service_time", Time::Service),
    ("transfer_time", Time::Transfer),
];

/// What is wrong with a condition, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseThresholdError {
    text: String,
    /// In characters, from 0.
    pub(super) column: usize,
    why: String,
}

impl std::error::Error for ParseThresholdError {}

impl fmt::Display for ParseThresholdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, column, why } = self;
        write!(f, "column {}: {why}\n\n    {text}\n    ", column + 1)?;
        write!(f, "{:column$}^", "")
    }
}

/// A text that is read from the left.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, words: &str) -> bool {
        let is_next = self.rest().starts_with(words);
        self.at += if is_next { words.len() } else { 0 };
        is_next
    }

    /// What comes before the first character that `ends` it.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn error(&self, at: usize, why: impl Into<String>) -> ParseThresholdError {
        ParseThresholdError {
            text: self.text.to_owned(),
            column: self.text[..at].chars().count(),
            why: why.into(),
        }
    }
}

impl FromStr for Threshold {
    type Err = ParseThresholdError;

    fn from_str(text: &str) -> Result<Self, ParseThresholdError> {
        let mut reader = Reader { text, at: 0 };
        reader.skip_blanks();
        let request = read_request(&mut reader)?;
        let what = read_what(&mut reader)?;
        reader.skip_blanks();
        let found = OPERATORS
            .iter()
            .find(|(written, _)| reader.take(written))
            .map(|(_, operator)| *operator);
        let operator = found
            .ok_or_else(|| reader.error(reader.at, "an operator is missing: < <= > >= == or !="))?;
        reader.skip_blanks();
        let at = reader.at;
        let value = reader.rest().trim_end();
        let bound = match what {
            What::Time(..) => read_time(value),
            // No plan has a rate of 0, and an answer may have.
            What::Rate if value == "0" => Ok(0.0),
            What::Rate => read_number::<Rate>(value, |rate| rate.as_per_second_f64()),
            What::Count => read_plain(value),
            What::Errors => read_share(value),
        };
        Ok(Self {
            text: text.trim().to_owned(),
            request,
            what,
            operator,
            bound: bound.map_err(|why| reader.error(at, why))?,
        })
    }
}

/// `{NAME}:`, if it stands there.
fn read_request(reader: &mut Reader<'_>) -> Result<Option<String>, ParseThresholdError> {
    let start = reader.at;
    if !reader.take("{") {
        return Ok(None);
    }
    // A name may have braces, as those of steps with variables have; what follows has none.
    let Some(length) = reader.rest().rfind('}') else {
        return Err(reader.error(start, "this brace is not closed: write {NAME}: ..."));
    };
    let name = reader.rest()[..length].to_owned();
    reader.at += length + 1;
    if !reader.take(":") {
        return Err(reader.error(reader.at, "a colon is missing after the name of a request"));
    }
    reader.skip_blanks();
    Ok(Some(name))
}

fn read_what(reader: &mut Reader<'_>) -> Result<What, ParseThresholdError> {
    let mut time = None;
    loop {
        let start = reader.at;
        let name = reader.until(|c| !(c.is_ascii_alphanumeric() || c == '_'));
        let statistic = match name {
            "count" if time.is_none() => return Ok(What::Count),
            "errors" if time.is_none() => return Ok(What::Errors),
            "rate" if time.is_none() => return Ok(What::Rate),
            "avg" => Statistic::Mean,
            "max" => Statistic::Max,
            "med" => Statistic::Quantile(0.5),
            "min" => Statistic::Min,
            "p" => Statistic::Quantile(read_quantile(reader)?),
            // `p99` and `p99.9` are read as what they mean.
            _ if name.len() > 1 && name.starts_with('p') && is_number(&name[1..]) => {
                reader.at = start + 1;
                let digits = reader.until(|c| !(c.is_ascii_digit() || c == '.'));
                Statistic::Quantile(quantile(reader, start + 1, digits)?)
            }
            _ => match TIMES.iter().find(|(written, _)| *written == name) {
                Some((_, found)) if time.is_none() => {
                    time = Some(*found);
                    if !reader.take(":") {
                        return Err(reader.error(reader.at, "a colon is missing after the time"));
                    }
                    reader.skip_blanks();
                    continue;
                }
                _ => return Err(reader.error(start, unknown(name, time.is_some()))),
            },
        };
        return Ok(What::Time(time.unwrap_or(Time::Response), statistic));
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn unknown(name: &str, in_time: bool) -> String {
    let what = if name.is_empty() {
        "something to judge is missing".to_owned()
    } else {
        format!("'{name}' cannot be judged")
    };
    let more = if in_time { "" } else { ", rate, count, errors" };
    format!("{what}: write avg, min, med, max, p(99){more}")
}

/// `(99.9)`.
fn read_quantile(reader: &mut Reader<'_>) -> Result<f64, ParseThresholdError> {
    if !reader.take("(") {
        return Err(reader.error(reader.at, "a quantile is p(N), as in p(99)"));
    }
    let at = reader.at;
    let digits = reader.until(|c| c == ')');
    if !reader.take(")") {
        return Err(reader.error(at - 1, "this bracket is not closed: write p(99)"));
    }
    quantile(reader, at, digits)
}

fn quantile(reader: &Reader<'_>, at: usize, digits: &str) -> Result<f64, ParseThresholdError> {
    let percent: Option<f64> = digits.trim().parse().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| reader.error(at, format!("'{digits}' is not a percentage from 0 to 100")))
}

/// In microseconds; a bare number is milliseconds.
fn read_time(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(ms) if ms.is_finite() && ms >= 0.0 => Ok(ms * 1e3),
        _ => read_number::<Span>(value, |span| span.as_us_f64()),
    }
}

fn read_number<T: FromStr<Err: ToString>>(
    value: &str,
    as_number: impl Fn(T) -> f64,
) -> Result<f64, String> {
    value
        .parse::<T>()
        .map(as_number)
        .map_err(|error| error.to_string())
}

fn read_plain(value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok();
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| format!("'{value}' is not a number"))
}

fn read_share(value: &str) -> Result<f64, String> {
    let (number, whole) = match value.strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (value, 1.0),
    };
    read_plain(number)
        .ok()
        .map(|number| number / whole)
        .filter(|share| *share <= 1.0)
        .ok_or_else(|| format!("'{value}' is not a share: write 0.1% or 0.001"))
}
