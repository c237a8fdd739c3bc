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
mod read;

use std::borrow::Cow;

pub use self::judged::{Few, Judged, Unit};
pub use self::read::ParseThresholdError;
use crate::distribution::{Distribution, Support, support, values_needed};
use crate::outcome::{Outcome, OutcomeCounts};
use crate::record::{Class, Record, page_times};
use crate::units::Span;

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

    /// Whether wrong answers alone miss it, whatever became of the other exchanges: nobody who was
    /// late made an answer wrong.
    pub fn is_missed_by_wrong_answers(&self, record: &Record) -> bool {
        if self.what != What::Errors {
            return false;
        }
        let (outcomes, never) = self.outcomes(record);
        let ended = outcomes.total() - outcomes[Outcome::Unfinished] + never;
        let wrong = [Outcome::Protocol, Outcome::Status, Outcome::Content];
        let wrong: u64 = wrong.iter().map(|outcome| outcomes[*outcome]).sum();
        ended > 0
            && !self
                .operator
                .holds(number(wrong) / number(ended), self.bound)
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
        let of_class = |class: &Class| match time {
            Time::Response => Some(class.response_time.clone()),
            Time::Service => Some(class.service_time.clone()),
            Time::FirstByte => Some(class.first_byte_time.clone()),
            // Before it is known which request it is; and transfer is known of all together alone.
            Time::Blocked | Time::Connect | Time::Late | Time::Page | Time::Transfer => None,
        };
        let mut classes = of_name(record, name);
        let mut times = of_class(classes.next()?)?;
        for other in classes {
            times.merge(&of_class(other)?);
        }
        if time == Time::Response {
            // What never began waited longer than anything that has a time.
            times.record_censored_n(never_begun(record, name));
        }
        Some(Cow::Owned(times))
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
        let mut right = record.total.right_in_it();
        if let Some(name) = &self.request {
            let classes = of_name(record, name);
            classes.clone().next()?;
            right = classes.map(Class::right_in_it).sum();
        }
        let (outcomes, never) = self.outcomes(record);
        let seconds = record.window.as_s_f64();
        match self.what {
            What::Count => Some(number(right)),
            What::Rate => (seconds > 0.0).then(|| number(right) / seconds),
            What::Errors => errors(&outcomes, never),
            What::Time(..) => None,
        }
    }

    /// How the exchanges ended that it is about, and how many of them never began.
    fn outcomes(&self, record: &Record) -> (OutcomeCounts, u64) {
        let Some(name) = &self.request else {
            return (record.total.outcomes, 0);
        };
        let mut outcomes = OutcomeCounts::default();
        of_name(record, name).for_each(|class| outcomes.merge(&class.outcomes));
        (outcomes, never_begun(record, name))
    }
}

/// The requests of that name: those of a list may have it in common.
fn of_name<'a>(record: &'a Record, name: &'a str) -> impl Iterator<Item = &'a Class> + Clone {
    let classes = record.classes.iter();
    classes.filter(move |class| class.name == name)
}

/// The share of exchanges that got no right answer, with so many that never began; those that the
/// end of the run cut short are none.
fn errors(outcomes: &OutcomeCounts, never_begun: u64) -> Option<f64> {
    let ended = outcomes.total() - outcomes[Outcome::Unfinished] + never_begun;
    (ended > 0).then(|| number(ended - outcomes[Outcome::Ok]) / number(ended))
}

/// How many arrivals of an open loop would have been that request and were given up before they
/// were any: its part of them, as large as its part of those that began.
fn never_begun(record: &Record, name: &str) -> u64 {
    let of_it: u64 = of_name(record, name).map(|one| one.outcomes.total()).sum();
    let begun: u64 = record.classes.iter().map(|one| one.outcomes.total()).sum();
    let never = record.total.outcomes.total().saturating_sub(begun);
    let classes = record.classes.len() as u64;
    let (part, whole) = match begun {
        0 => (of_name(record, name).count() as u64, classes),
        _ => (of_it, begun),
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
