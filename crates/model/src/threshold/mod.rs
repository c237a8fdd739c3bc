//! Conditions that a run has to meet, in k6's grammar: `p(99)<5ms`, `errors<0.1%`, `rate>1000`.
//!
//! `[REQUEST:][TIME:]WHAT OPERATOR VALUE`. What: `avg`, `min`, `med`, `max` and `p(N)` of a time
//! (`response_time` unless `service_time`, `first_byte_time`, `transfer_time`, `blocked_time`,
//! `late_time`, `connect_time` or `page_time` stands before it); `rate` (right answers per second),
//! `count` (right answers), `errors` (the share of exchanges that got no right answer). A time
//! without a unit is in milliseconds, as in k6. `{NAME}:` before it means one request of several,
//! and with `page_time` the page that begins with it; a page of which something failed counts as
//! longer than any.

mod judged;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

pub use self::judged::{Few, Judged, Unit};
use crate::distribution::{Distribution, Support, support, values_needed};
use crate::outcome::{Outcome, OutcomeCounts};
use crate::record::{Class, Record, page_times};
use crate::units::{Rate, Span};

/// A condition that can be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    /// The name of a request; none: all of them together.
    request: Option<String>,
    what: What,
    operator: Operator,
    /// In microseconds, per second, as a share, or a count.
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Count,
    Errors,
    Rate,
    Time(Time, Statistic),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Time {
    Blocked,
    Connect,
    FirstByte,
    Late,
    Page,
    Response,
    Service,
    Transfer,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Statistic {
    Max,
    Mean,
    Min,
    /// From 0 to 1.
    Quantile(f64),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operator {
    Equal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    NotEqual,
}

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
    column: usize,
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
    let name = reader.until(|c| c == '}').to_owned();
    if !reader.take("}") {
        return Err(reader.error(start, "this brace is not closed: write {NAME}: ..."));
    }
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

impl Threshold {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the request it is about, if it is not about all.
    pub fn request(&self) -> Option<&str> {
        self.request.as_deref()
    }

    /// Whether it is about whole pages, which only users of a script ask for.
    pub const fn is_of_pages(&self) -> bool {
        matches!(self.what, What::Time(Time::Page, _))
    }

    /// Whether it holds for `record`.
    pub fn judge(&self, record: &Record) -> Judged {
        let value = self.value(record);
        Judged {
            threshold: self.text.clone(),
            value,
            unit: self.unit(),
            met: value.is_some_and(|value| self.operator.holds(value, self.bound)),
            few: value.and_then(|_| self.few(record)),
        }
    }

    /// Whether it asks for right answers, so many or more: a higher load gives these sooner, so it
    /// is no limit of a load.
    pub const fn asks_for_load(&self) -> bool {
        let is_of_answers = matches!(self.what, What::Count | What::Rate);
        let is_least = matches!(
            self.operator,
            Operator::Equal | Operator::More | Operator::MoreOrEqual
        );
        is_of_answers && is_least
    }

    /// What its quantile rests on, where that is too little.
    fn few(&self, record: &Record) -> Option<Few> {
        let What::Time(time, Statistic::Quantile(q)) = self.what else {
            return None;
        };
        let times = self.times(time, record)?;
        let values = times.count() + times.censored();
        let is_inner = q > 0.0 && q < 1.0;
        (is_inner && support(values, q) == Support::TooFew).then(|| Few {
            values,
            needed: values_needed(q),
        })
    }

    /// The times that it is about.
    fn times<'a>(&self, time: Time, record: &'a Record) -> Option<Cow<'a, Distribution>> {
        if time == Time::Page {
            let pages = record.pages.iter();
            let is_meant = |name: &str| self.request().is_none_or(|request| request == name);
            let times = page_times(pages.filter(|page| is_meant(&page.name)));
            return times.map(Cow::Owned);
        }
        let Some(name) = &self.request else {
            return Some(Cow::Borrowed(time.of(record)));
        };
        let class = record.classes.iter().find(|class| class.name == *name)?;
        let of_class = match time {
            Time::Response => {
                // What never began waited longer than anything that has a time.
                let mut times = class.response_time.clone();
                times.record_censored_n(never_begun(record, class));
                return Some(Cow::Owned(times));
            }
            Time::Service => &class.service_time,
            Time::FirstByte => &class.first_byte_time,
            // Before it is known which request it is; and transfer is known of all together alone.
            Time::Blocked | Time::Connect | Time::Late | Time::Page | Time::Transfer => {
                return None;
            }
        };
        Some(Cow::Borrowed(of_class))
    }

    const fn unit(&self) -> Unit {
        match self.what {
            What::Count => Unit::Count,
            What::Errors => Unit::Share,
            What::Rate => Unit::PerSecond,
            What::Time(..) => Unit::Us,
        }
    }

    fn value(&self, record: &Record) -> Option<f64> {
        if let What::Time(time, statistic) = self.what {
            let times = self.times(time, record)?;
            return statistic.of(&times).map(Span::as_us_f64);
        }
        let class = match &self.request {
            None => None,
            Some(name) => Some(record.classes.iter().find(|class| class.name == *name)?),
        };
        let seconds = record.window.as_s_f64();
        let right = match class {
            None => number(record.total.right_in_it()),
            Some(class) => number(class.right_in_it()),
        };
        match self.what {
            What::Count => Some(right),
            What::Rate => (seconds > 0.0).then(|| right / seconds),
            What::Errors => match class {
                None => errors(&record.total.outcomes, 0),
                Some(class) => errors(&class.outcomes, never_begun(record, class)),
            },
            What::Time(..) => None,
        }
    }
}

/// The share of exchanges that got no right answer, with so many that never began; those that the
/// end of the run cut short are none.
fn errors(outcomes: &OutcomeCounts, never_begun: u64) -> Option<f64> {
    let ended = outcomes.total() - outcomes[Outcome::Unfinished] + never_begun;
    (ended > 0).then(|| number(ended - outcomes[Outcome::Ok]) / number(ended))
}

/// How many arrivals of an open loop would have been that request and were given up before they
/// were any: its part of them, as large as its part of those that began.
fn never_begun(record: &Record, class: &Class) -> u64 {
    let begun: u64 = record.classes.iter().map(|one| one.outcomes.total()).sum();
    let never = record.total.outcomes.total().saturating_sub(begun);
    let classes = record.classes.len() as u64;
    let (part, whole) = match begun {
        0 => (1, classes),
        _ => (class.outcomes.total(), begun),
    };
    let here = u128::from(never) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(here).unwrap_or(u64::MAX)
}

impl Time {
    const fn of(self, record: &Record) -> &Distribution {
        match self {
            Self::Blocked => &record.blocked_time,
            Self::Connect => &record.connect_time,
            Self::FirstByte => &record.first_byte_time,
            Self::Late => &record.late_time,
            // Of whole pages there are times of their own.
            Self::Page | Self::Response => &record.response_time,
            Self::Service => &record.service_time,
            Self::Transfer => &record.transfer_time,
        }
    }
}

impl Statistic {
    fn of(self, distribution: &Distribution) -> Option<Span> {
        match self {
            Self::Max => distribution.quantile(1.0),
            // What had no answer has no time, and a mean of all has none then.
            Self::Mean if distribution.censored() > 0 => None,
            Self::Mean => distribution.mean(),
            Self::Min => distribution.min(),
            Self::Quantile(q) => distribution.quantile(q),
        }
    }
}

impl Operator {
    #[expect(clippy::float_cmp, reason = "whoever writes == means it")]
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Equal => value == bound,
            Self::Less => value < bound,
            Self::LessOrEqual => value <= bound,
            Self::More => value > bound,
            Self::MoreOrEqual => value >= bound,
            Self::NotEqual => value != bound,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
const fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
