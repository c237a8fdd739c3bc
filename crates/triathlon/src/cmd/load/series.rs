//! `--series`: a line of JSON for each interval of the window, written as soon as it is over.
//!
//! What happens is counted in the interval in which it happens, so a line that was written stands.
//! The last interval takes what still ends after the window: its line comes with the result, and so
//! do those that nobody told of while the run went on.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Stdout, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use load::Notice;
use load::progress::Published;
use model::plan::{Plan, Stop};
use model::record::Interval;
use model::units::{Rate, Span};
use model::{Distribution, OutcomeCounts};

/// One interval, as a line.
#[derive(serde::Serialize)]
struct Line<'a> {
    /// When it ended, in seconds from the start of the window.
    second: f64,
    length_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled_rate: Option<f64>,
    rate: f64,
    due: u64,
    sent: u64,
    right: u64,
    failed: u64,
    bytes_received: u64,
    bytes_sent: u64,
    outcomes: &'a OutcomeCounts,
    response_time_p50_us: Option<f64>,
    response_time_p90_us: Option<f64>,
    response_time_p99_us: Option<f64>,
    response_time_max_us: Option<f64>,
}

/// Where lines go.
enum Sink {
    File(File, PathBuf),
    Stdout(Stdout),
}

/// The lines of one run.
pub(super) struct Series {
    state: RefCell<State>,
}

struct State {
    sink: Sink,
    /// What is run; none where it was run before.
    plan: Option<Plan>,
    /// Where the last line ended.
    told: Span,
    /// A line is missing among those that were written.
    has_gap: bool,
}

impl Series {
    /// To the file at `path` or to standard output (-), of a run of `plan` that is about to begin,
    /// or without one, of a run that is over.
    pub(super) fn begin(path: &Path, plan: Option<&Plan>) -> anyhow::Result<Self> {
        let sink = if path == Path::new("-") {
            Sink::Stdout(std::io::stdout())
        } else {
            let file = File::create(path);
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            Sink::File(file, path.to_owned())
        };
        let state = RefCell::new(State {
            sink,
            plan: plan.cloned(),
            told: Span::ZERO,
            has_gap: false,
        });
        Ok(Self { state })
    }

    /// Something happened: an interval that is over is a line.
    pub(super) fn notice(&self, notice: &Notice) -> anyhow::Result<()> {
        match notice {
            Notice::Interval(interval) => self.state.borrow_mut().hear(interval),
            Notice::Phase(..) => Ok(()),
        }
    }

    /// The run is over: what was not told yet is.
    pub(super) fn finish(&self, intervals: &[Interval]) -> anyhow::Result<()> {
        self.state.borrow_mut().finish(intervals)
    }
}

impl State {
    fn hear(&mut self, interval: &Published) -> anyhow::Result<()> {
        let (Some(plan), Some(counts)) = (&self.plan, &interval.counts) else {
            return Ok(());
        };
        let end = interval.start + interval.length;
        let file = plan.file();
        let is_last = match file.stop {
            Stop::DurationNs(window) => end >= window,
            Stop::Count(_) => false,
        };
        // One that was cut short is the last, too.
        if is_last || interval.length < file.interval {
            return Ok(());
        }
        let scheduled = plan.scheduled(interval.start, interval.length);
        self.has_gap |= interval.start != self.told;
        self.told = end;
        let line = Line {
            due: counts.due,
            sent: counts.sent,
            right: interval.ok,
            failed: interval.failures,
            bytes_received: counts.bytes_received.count(),
            bytes_sent: counts.bytes_sent.count(),
            ..Line::of(
                (interval.start, interval.length),
                (interval.ok, &counts.outcomes),
                &interval.response_time,
                scheduled,
            )
        };
        let text = line.text()?;
        self.put(&text)
    }

    fn finish(&mut self, intervals: &[Interval]) -> anyhow::Result<()> {
        if self.has_gap && self.begins_anew()? {
            self.told = Span::ZERO;
        }
        let mut text = String::new();
        for interval in intervals.iter().filter(|one| one.start >= self.told) {
            text += &of_record(interval).text()?;
        }
        self.put(&text)
    }

    /// Takes back what was written, where that can be.
    fn begins_anew(&mut self) -> anyhow::Result<bool> {
        let Sink::File(file, path) = &mut self.sink else {
            return Ok(false);
        };
        let is_plain = file.metadata().is_ok_and(|facts| facts.is_file());
        if is_plain {
            *file =
                File::create(&*path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(is_plain)
    }

    fn put(&mut self, text: &str) -> anyhow::Result<()> {
        match &mut self.sink {
            Sink::File(file, path) => file
                .write_all(text.as_bytes())
                .with_context(|| format!("cannot write {}", path.display())),
            Sink::Stdout(stdout) => stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush())
                .context(crate::out::RESULT),
        }
    }
}

/// An interval of a record.
fn of_record(interval: &Interval) -> Line<'_> {
    let tally = &interval.tally;
    Line {
        due: tally.due,
        sent: tally.sent_in_it(),
        failed: tally.outcomes.lost(),
        bytes_received: tally.bytes_received.count(),
        bytes_sent: tally.bytes_sent.count(),
        ..Line::of(
            (interval.start, interval.length),
            (tally.right_in_it(), &tally.outcomes),
            &interval.response_time,
            interval.scheduled,
        )
    }
}

impl<'a> Line<'a> {
    /// What both forms of an interval have alike; the other numbers are 0.
    fn of(
        (start, length): (Span, Span),
        (right, outcomes): (u64, &'a OutcomeCounts),
        response_time: &Distribution,
        scheduled: Option<Rate>,
    ) -> Self {
        let quantile = |q| response_time.quantile(q).map(Span::as_us_f64);
        Self {
            second: (start + length).as_s_f64(),
            length_s: length.as_s_f64(),
            scheduled_rate: scheduled.map(Rate::as_per_second_f64),
            rate: super::output::rate(right, length),
            due: 0,
            sent: 0,
            right,
            failed: 0,
            bytes_received: 0,
            bytes_sent: 0,
            outcomes,
            response_time_p50_us: quantile(0.5),
            response_time_p90_us: quantile(0.9),
            response_time_p99_us: quantile(0.99),
            response_time_max_us: quantile(1.0),
        }
    }

    fn text(&self) -> anyhow::Result<String> {
        let text = serde_json::to_string(self).context("cannot write an interval as JSON")?;
        Ok(text + "\n")
    }
}
