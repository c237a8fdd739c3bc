//! A run as it goes on, where nobody watches at a terminal: a line now and then, as a log has it.
//!
//! The result has all of it, and more exactly. The lines are on standard error, so that what is
//! measured can go elsewhere. Runs of up to ten seconds have none.

use load::Notice;
use load::progress::Published;
use model::distribution::{Distribution, Shape};
use model::plan::{PlanFile, Stop};
use model::units::Span;

use super::output::rate;
use crate::out;

/// No line comes sooner after the one before.
const EVERY: Span = Span::from_s(10);
/// A run of known length has no more lines than this.
const LINES_MAX: u64 = 20;

/// The lines, and what has happened since the last one.
#[derive(Debug)]
pub(super) struct Lines {
    stop: Stop,
    every: Span,
    /// When the last line was due, from the start of the window.
    told: Span,
    right: u64,
    failed: u64,
    response_time: Distribution,
}

impl Lines {
    /// Of a run of `plan`.
    pub(super) fn new(plan: &PlanFile) -> Self {
        let every = match plan.stop {
            Stop::DurationNs(window) => EVERY.max(window / LINES_MAX),
            Stop::Count(_) => EVERY,
        };
        Self {
            stop: plan.stop,
            every,
            told: Span::ZERO,
            right: 0,
            failed: 0,
            response_time: Distribution::new(Shape::INTERVAL),
        }
    }

    /// Something happened during the run.
    pub(super) fn notice(&mut self, notice: &Notice) {
        if let Notice::Interval(interval) = notice
            && let Some(line) = self.hear(interval)
        {
            out::note(line);
        }
    }

    /// What is said of an interval and those before it, if it is time for that. Nothing is said of
    /// the last one: the result follows.
    fn hear(&mut self, interval: &Published) -> Option<String> {
        self.right += interval.ok;
        self.failed += interval.failures;
        self.response_time.merge(&interval.response_time);
        let end = interval.start + interval.length;
        let is_last = matches!(self.stop, Stop::DurationNs(window) if end >= window);
        let since = end.saturating_sub(self.told);
        if is_last || since < self.every {
            return None;
        }
        let done = match self.stop {
            Stop::DurationNs(window) => format!("{end} of {window}"),
            Stop::Count(count) => format!("{end}, of {count} exchanges"),
        };
        let quantile = |q: f64| {
            let value = self.response_time.quantile(q);
            value.map_or_else(|| "-".to_owned(), |value| value.to_string())
        };
        let line = format!(
            "{done}: {:.0} right per s, median {}, p99 {}, {} failed, {} connections (the last \
             {since})",
            rate(self.right, since),
            quantile(0.5),
            quantile(0.99),
            self.failed,
            interval.connections,
        );
        self.told = end;
        self.right = 0;
        self.failed = 0;
        self.response_time = Distribution::new(Shape::INTERVAL);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of so many seconds, in each of which 100 answers took 2 ms and one failed.
    fn said(stop: Stop, seconds: u64) -> Vec<String> {
        let plan = PlanFile {
            stop,
            ..model::fixture::plan("http://127.0.0.1:1/", &[])
        };
        let mut lines = Lines::new(&plan);
        let mut response_time = Distribution::new(Shape::INTERVAL);
        response_time.record_n(Span::from_ms(2), 100);
        let hear = |second| {
            lines.hear(&Published {
                start: Span::from_s(second),
                length: Span::from_s(1),
                ok: 100,
                failures: 1,
                connections: 8,
                response_time: response_time.clone(),
                counts: None,
            })
        };
        (0..seconds).filter_map(hear).collect()
    }

    #[test]
    fn a_line_is_said_every_ten_seconds_but_not_at_the_end() {
        let said = said(Stop::DurationNs(Span::from_s(30)), 30);
        let [first, second] = said.as_slice() else {
            panic!("{said:#?}");
        };
        let what = "100 right per s, median 2.00 ms, p99 2.00 ms, 10 failed, 8 connections";
        assert_eq!(
            *first,
            format!("10.0 s of 30.0 s: {what} (the last 10.0 s)")
        );
        assert_eq!(
            *second,
            format!("20.0 s of 30.0 s: {what} (the last 10.0 s)")
        );
    }

    #[test]
    fn a_short_run_says_nothing_and_a_long_one_no_more_than_twenty_lines() {
        assert!(said(Stop::DurationNs(Span::from_s(10)), 10).is_empty());
        assert_eq!(said(Stop::DurationNs(Span::from_s(3_600)), 3_600).len(), 19);
        let counted = said(Stop::Count(5_000), 25);
        assert_eq!(counted.len(), 2);
        assert!(counted[0].starts_with("10.0 s, of 5000 exchanges: 100 right per s"));
    }
}
