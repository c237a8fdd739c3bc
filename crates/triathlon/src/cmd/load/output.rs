//! What `triathlon load` writes: events for programs, a live line and a report for people.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use load::Notice;
use model::event::{Event, Phase};
use model::units::{Instant, Span};
use model::usage::{GroupUsage, Usage};
use model::{Environment, Trial};

use super::Args;
use crate::out;

/// Where it all goes.
pub(super) struct Output {
    /// Events go to stdout, one line of JSON each.
    events: bool,
    /// A line on stderr is rewritten as the run goes on.
    live: bool,
}

impl Output {
    pub(super) fn new(args: &Args) -> Self {
        Self {
            events: args.plan.is_some(),
            live: args.plan.is_none() && std::io::stderr().is_terminal(),
        }
    }

    /// Something happened during the run.
    pub(super) fn notice(&self, notice: &Notice) -> anyhow::Result<()> {
        if self.events {
            self.event(&event_of(notice))?;
        }
        if self.live {
            live_line(notice);
        }
        Ok(())
    }

    /// Writes one line of JSON.
    pub(super) fn event(&self, event: &Event) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(event).context("cannot write an event as JSON")?;
        line.push(b'\n');
        let mut stdout = std::io::stdout().lock();
        stdout
            .write_all(&line)
            .and_then(|()| stdout.flush())
            .context("cannot write to stdout")
    }

    /// The run is over.
    pub(super) fn finish(&self, args: &Args, mut trial: Trial) -> anyhow::Result<()> {
        // The text first: where a file cannot be written, what was measured has been said.
        let to_stdout = args.json.as_deref() == Some(Path::new("-"));
        if !self.events && !to_stdout {
            summary(&trial)?;
        }
        if let Some(path) = &args.samples {
            write_samples(path, &mut trial)?;
        }
        if self.events {
            return self.event(&Event::Trial(Box::new(trial)));
        }
        if let Some(path) = &args.json {
            let text = serde_json::to_string(&trial).context("cannot write the trial as JSON")?;
            if to_stdout {
                return out::line(text);
            }
            std::fs::write(path, text + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Raw exchanges go to their own file, a line each, and not into the trial.
fn write_samples(path: &Path, trial: &mut Trial) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let file = std::fs::File::create(path).with_context(cannot)?;
    let mut file = std::io::BufWriter::new(file);
    for sample in std::mem::take(&mut trial.record.samples) {
        serde_json::to_writer(&mut file, &sample).with_context(cannot)?;
        file.write_all(b"\n").with_context(cannot)?;
    }
    file.flush().with_context(cannot)
}

fn event_of(notice: &Notice) -> Event {
    match notice {
        Notice::Phase(phase, at) => Event::Phase {
            phase: *phase,
            monotonic_ns: *at,
        },
        Notice::Interval(interval) => Event::Interval {
            second: (interval.start + interval.length).as_s_f64(),
            achieved_rate: rate(interval.ok, interval.length),
            failures: interval.failures,
            connections: interval.connections,
            response_time_p50_us: interval.response_time.quantile(0.5).map(Span::as_us_f64),
            response_time_p99_us: interval.response_time.quantile(0.99).map(Span::as_us_f64),
        },
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn rate(count: u64, length: Span) -> f64 {
    if length.is_zero() {
        0.0
    } else {
        count as f64 / length.as_s_f64()
    }
}

fn live_line(notice: &Notice) {
    let text = match notice {
        Notice::Phase(Phase::Done, _) => String::new(),
        Notice::Phase(phase, _) => format!("{phase:?} ..."),
        Notice::Interval(interval) => {
            let quantile = |q| {
                interval
                    .response_time
                    .quantile(q)
                    .map_or_else(|| "-".to_owned(), |span| span.to_string())
            };
            format!(
                "{:>6} {:>10.0}/s  median {}  p99 {}  failed {}  connections {}",
                (interval.start + interval.length).to_string(),
                rate(interval.ok, interval.length),
                quantile(0.5),
                quantile(0.99),
                interval.failures,
                interval.connections,
            )
        }
    };
    eprint!("\r\x1b[K{text}");
}

/// The generator's own consumption over the window.
#[derive(Debug, Default)]
pub(super) struct Meter {
    start: Option<(Instant, Option<Span>)>,
    end: Option<(Instant, Option<Span>)>,
}

impl Meter {
    pub(super) fn notice(&mut self, notice: &Notice) {
        let reading = || (sys::clock::monotonic(), sys::clock::process_cpu());
        match notice {
            Notice::Phase(Phase::Measurement, _) => self.start = Some(reading()),
            Notice::Phase(Phase::Drain | Phase::Done, _) => {
                self.end.get_or_insert_with(reading);
            }
            Notice::Phase(..) | Notice::Interval(_) => {}
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let (Some((start, cpu_start)), Some((end, cpu_end))) = (self.start, self.end) else {
            return Usage::default();
        };
        Usage {
            generator: Some(GroupUsage {
                window: end.saturating_since(start),
                cpu: cpu_end.and_then(|end| Some(end.saturating_sub(cpu_start?))),
                cpu_source: "rusage".to_owned(),
                ..GroupUsage::default()
            }),
            ..Usage::default()
        }
    }
}

/// What is known of this program and machine without reading much.
pub(super) fn environment() -> Environment {
    Environment {
        tool: model::environment::Tool {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            debug_build: cfg!(debug_assertions),
            ..model::environment::Tool::default()
        },
        ..Environment::default()
    }
}

/// The essence of a trial for people.
fn summary(trial: &Trial) -> anyhow::Result<()> {
    let record = &trial.record;
    out::line(format_args!("verdict: {}", trial.verdict.status))?;
    out::line(format_args!(
        "{:.0} right answers/s, {:.1} MB/s of content, over {}",
        record.achieved_rate,
        record.goodput / 1e6,
        record.window
    ))?;
    for (name, distribution) in [
        ("response", &record.response_time),
        ("service", &record.service_time),
        ("blocked", &record.blocked_time),
        ("late", &record.late_time),
        ("connect", &record.connect_time),
        ("first byte", &record.first_byte_time),
    ] {
        let q = |q| {
            distribution
                .quantile(q)
                .map_or_else(|| "-".to_owned(), |s| s.to_string())
        };
        out::line(format_args!(
            "{name:>10}: p50 {:>9} p90 {:>9} p99 {:>9} p99.9 {:>9} count {} censored {}",
            q(0.5),
            q(0.9),
            q(0.99),
            q(0.999),
            distribution.count(),
            distribution.censored()
        ))?;
    }
    for (outcome, count) in record.total.outcomes.iter().filter(|(_, count)| *count > 0) {
        out::line(format_args!("{:>10}: {count}", outcome.name()))?;
    }
    for example in &record.examples {
        out::line(format_args!(
            "first {}: {}",
            example.outcome.name(),
            example.text
        ))?;
    }
    out::line(format_args!("connections: {:?}", record.total.connections))?;
    for worker in &record.workers {
        out::line(format_args!(
            "worker {}: cpu {:?} busy {} of {} spin {} cpu time {:?}, {:.1} events per batch",
            worker.index,
            worker.cpu,
            worker.busy,
            worker.window,
            worker.spin,
            worker.cpu_time.map(|span| span.to_string()),
            rate(worker.events, Span::from_s(worker.batches.max(1))),
        ))?;
    }
    for note in &record.notes {
        out::line(format_args!("note: {note}"))?;
    }
    Ok(())
}
