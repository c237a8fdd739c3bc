//! What other tools print, read from a trial of ours.

use model::plan::Url;
use model::record::{Record, Reference};
use model::{Distribution, Outcome, Span, Trial};

use super::spread::of_sample;
use crate::exit::UsageError;

/// Of a trial, what tools count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures<'a> {
    pub(super) trial: &'a Trial,
}

/// What differs of the bytes that tools print.
pub(super) const BYTES: &str = "Over TLS, bytes of answers over HTTP/1.1 are reckoned: of each, \
                                as long a head as that of the answer before the run, and its \
                                content without the lengths of its chunks.";

/// What differs of the times of connecting that tools print.
pub(super) const CONNECTING: &str = "Times of connecting include the TLS handshake, as there; as \
                                     each of both is recorded by itself, the slowest handshake is \
                                     added to the slowest connect.";

/// A distribution in one row. In milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

impl<'a> Figures<'a> {
    pub(super) const fn new(trial: &'a Trial) -> Self {
        Self { trial }
    }

    pub(super) fn of(self, outcome: Outcome) -> u64 {
        self.trial.record.total.outcomes[outcome]
    }

    /// Complete answers with another status or content than expected.
    pub(super) fn wrong(self) -> u64 {
        self.of(Outcome::Status) + self.of(Outcome::Content)
    }

    /// Complete answers.
    pub(super) fn complete(self) -> u64 {
        self.of(Outcome::Ok) + self.wrong()
    }

    pub(super) fn connect(self) -> u64 {
        self.of(Outcome::Connect) + self.of(Outcome::Tls)
    }

    pub(super) fn read(self) -> u64 {
        self.of(Outcome::Read) + self.of(Outcome::Protocol)
    }

    /// The length of the window.
    pub(super) fn seconds(self) -> f64 {
        self.trial.record.window.as_s_f64().max(1e-9)
    }

    /// Bytes of answers. What came is counted with what TLS adds; of HTTP/1.1 what it holds is
    /// reckoned then: heads as long as that of the answer before the run, and contents.
    pub(super) fn received(self) -> u64 {
        match self.reference_of_http1() {
            Some(reference) if self.is_secure() => {
                self.complete() * reference.head_bytes + self.content()
            }
            _ => self.came(),
        }
    }

    /// Bytes that came.
    fn came(self) -> u64 {
        self.trial.record.total.bytes_received.count()
    }

    fn is_secure(self) -> bool {
        self.trial.record.tls.is_some()
    }

    /// The answer before the run, if it came over HTTP/1.1.
    pub(super) fn reference_of_http1(self) -> Option<&'a Reference> {
        let reference = self.reference();
        reference.filter(|reference| reference.version.starts_with("HTTP/1"))
    }

    /// Content of complete answers. What wrong ones have of it is not counted as it comes: of
    /// HTTP/1.1 in clear it is what came besides heads as long as that of the answer before the
    /// run, otherwise as much as that answer had.
    pub(super) fn content(self) -> u64 {
        let right = self.trial.record.total.bytes_content.count();
        let Some(reference) = self.reference().filter(|_| self.wrong() > 0) else {
            return right;
        };
        if self.reference_of_http1().is_some() && !self.is_secure() {
            let heads = self.complete() * reference.head_bytes;
            return self.came().saturating_sub(heads).max(right);
        }
        right + self.wrong() * reference.length
    }

    /// The answer before the run.
    pub(super) fn reference(self) -> Option<&'a Reference> {
        self.trial.record.reference.as_ref()
    }

    /// Complete answers by their status.
    pub(super) fn statuses(self) -> Vec<(u16, u64)> {
        let usual = self.reference().map_or(200, |reference| reference.status);
        let mut all = self.trial.record.wrong_statuses.clone();
        *all.entry(usual).or_default() += self.of(Outcome::Ok) + self.of(Outcome::Content);
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Right answers whose status says so too.
    pub(super) fn succeeded(self) -> u64 {
        self.hundred(2).min(self.of(Outcome::Ok))
    }

    /// Complete answers whose status is of this hundred.
    pub(super) fn hundred(self, hundred: u16) -> u64 {
        let those = self.statuses();
        let those = those.iter().filter(|(status, _)| status / 100 == hundred);
        those.map(|(_, count)| count).sum()
    }
}

impl Row {
    /// Of `times`, and of as many more that took none.
    pub(super) fn of(times: &Distribution, zeros: u64) -> Self {
        let all = number((times.count() + zeros).max(1));
        let values = || {
            let buckets = times.buckets();
            buckets.map(|(lowest, width, count)| {
                ((lowest + width / 2).as_us_f64() / 1e3, number(count))
            })
        };
        let mean = times.mean().unwrap_or_default().as_us_f64() / 1e3;
        let mean = mean * number(times.count()) / all;
        let squares: f64 = values()
            .map(|(value, count)| (value - mean).powi(2) * count)
            .sum();
        let squares = squares + mean.powi(2) * number(zeros);
        let rank = (times.count() + zeros).div_ceil(2);
        let median = rank.checked_sub(zeros).filter(|rank| *rank > 0);
        let median = median.and_then(|rank| times.value_at_rank(rank));
        let ms = |span: Option<Span>| span.unwrap_or_default().as_us_f64() / 1e3;
        Self {
            min: if zeros > 0 { 0.0 } else { ms(times.min()) },
            mean,
            deviation: of_sample((squares / all).sqrt(), times.count() + zeros),
            median: ms(median),
            max: ms(times.max()),
        }
    }
}

/// From the connect call to a connection over which requests can go, the TLS handshake included.
/// Each is recorded by itself: the longest of one goes with the longest of the other.
pub(super) fn connecting(record: &Record) -> Distribution {
    let (connect, tls) = (&record.connect_time, &record.tls_time);
    if tls.is_empty() || connect.is_empty() {
        return if tls.is_empty() { connect } else { tls }.clone();
    }
    let middle = |(lowest, width, count): (Span, Span, u64)| (lowest + width / 2, count);
    let (mut connects, mut handshakes) = (connect.buckets().map(middle), tls.buckets().map(middle));
    let mut both = Distribution::default();
    let (mut one, mut other) = (connects.next(), handshakes.next());
    while let (Some((connect, many)), Some((tls, more))) = (one, other) {
        let count = many.min(more);
        both.record_n(connect + tls, count);
        let rest = |time, left: u64| (left > 0).then_some((time, left));
        one = rest(connect, many - count).or_else(|| connects.next());
        other = rest(tls, more - count).or_else(|| handshakes.next());
    }
    both
}

/// A quantile of the answers that came, as these tools count no others. In microseconds.
pub(super) fn quantile(times: &Distribution, q: f64) -> f64 {
    let rank = (number(times.count()) * q).ceil().max(1.0);
    let value = times.value_at_rank(whole(rank).min(times.count()));
    value.unwrap_or_default().as_us_f64()
}

/// The parts of a URL.
pub(super) fn parts(url: &str) -> Result<Url, UsageError> {
    Url::parse(url).map_err(|error| UsageError(error.to_string()))
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
pub(super) const fn number(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number from 0 and below 2^53"
)]
pub(super) const fn whole(rank: f64) -> u64 {
    rank as u64
}

#[cfg(test)]
mod tests {
    use model::tls::TlsRecord;
    use model::units::Bytes;

    use super::*;

    #[test]
    fn each_status_has_its_own_count() {
        let mut trial = model::fixture::closed();
        let record = &mut trial.record;
        record.total.outcomes = model::OutcomeCounts::default();
        record.total.outcomes[Outcome::Ok] = 150;
        record.total.outcomes[Outcome::Content] = 3;
        record.total.outcomes[Outcome::Status] = 7;
        record.wrong_statuses = [(404, 2), (503, 5)].into();
        let figures = Figures::new(&trial);
        assert_eq!(figures.statuses(), [(200, 153), (404, 2), (503, 5)]);
        let hundreds = [2, 3, 4, 5].map(|hundred| figures.hundred(hundred));
        assert_eq!(hundreds, [153, 0, 2, 5]);
    }

    #[test]
    fn wrong_answers_have_the_content_that_came() {
        let mut trial = model::fixture::closed();
        let record = &mut trial.record;
        record.total.outcomes = model::OutcomeCounts::default();
        record.total.outcomes[Outcome::Ok] = 150;
        record.total.bytes_content = Bytes::new(150 * 5);
        let reference = record.reference.as_mut().expect("a reference");
        (reference.head_bytes, reference.length) = (70, 5);
        record.total.bytes_received = Bytes::new(150 * 75);
        assert_eq!(Figures::new(&trial).content(), 750);
        // 50 answers of 5,000 bytes more, whose heads are 3 bytes longer.
        trial.record.total.outcomes[Outcome::Status] = 50;
        trial.record.total.bytes_received = Bytes::new(150 * 75 + 50 * 5_073);
        assert_eq!(Figures::new(&trial).content(), 250_750 + 50 * 3);
        // Over TLS nobody knows what of it is theirs.
        trial.record.tls = Some(TlsRecord::default());
        assert_eq!(Figures::new(&trial).content(), 200 * 5);
        assert_eq!(Figures::new(&trial).received(), 200 * 75);
    }

    #[test]
    fn connecting_includes_the_handshake() {
        let mut record = Record::default();
        let times = |record: &Record| {
            let both = connecting(record);
            [both.min(), both.mean(), both.max()].map(|time| time.unwrap_or_default().as_ns())
        };
        for ms in [3, 1, 2, 2] {
            record.connect_time.record(Span::from_ms(ms));
        }
        assert_eq!(times(&record), [1_000_000, 2_000_000, 3_000_000]);
        for ms in [40, 10, 22] {
            record.tls_time.record(Span::from_ms(ms));
        }
        let expected = [11_000_000.0, 25_666_667.0, 42_000_000.0];
        for (is, should) in times(&record).map(number).into_iter().zip(expected) {
            assert!((is / should - 1.0).abs() < 0.005, "{is} {should}");
        }
    }
}
