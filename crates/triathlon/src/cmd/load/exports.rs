//! What a run writes for other programs, all of it from one record: HdrHistogram's files, a line
//! of JSON for each interval, and metrics while it goes on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use model::units::{Rate, Span};
use model::{OutcomeCounts, Trial};

/// What to write, and where.
#[derive(clap::Args, Debug)]
pub(super) struct Exports {
    /// Write the percentiles of response times to FILE, as HdrHistogram's plotters read them
    #[arg(long, value_name = "FILE")]
    hgrm: Option<PathBuf>,

    /// Write the response times of each interval to FILE, in HdrHistogram's log format
    #[arg(long, value_name = "FILE")]
    hlog: Option<PathBuf>,

    /// Write each second as a line of JSON to FILE: rates, failures, response times
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,

    /// Tell what is measured at http://ADDRESS/metrics while the run goes on, as Prometheus reads
    /// it
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) metrics: Option<SocketAddr>,
}

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

impl Exports {
    /// The files that will be written.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.hgrm, &self.hlog, &self.series].into_iter().flatten()
    }

    /// Writes them.
    pub(super) fn write(&self, trial: &Trial) -> anyhow::Result<()> {
        if let Some(path) = &self.hgrm {
            put(path, &report::hdr::hgrm(&trial.record.response_time))?;
        }
        if let Some(path) = &self.hlog {
            put(path, &report::hdr::hlog(trial))?;
        }
        if let Some(path) = &self.series {
            put(path, &series(trial)?)?;
        }
        Ok(())
    }
}

fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn series(trial: &Trial) -> anyhow::Result<String> {
    let mut out = String::new();
    for interval in &trial.record.intervals {
        let tally = &interval.tally;
        let quantile = |q| interval.response_time.quantile(q).map(Span::as_us_f64);
        let line = Line {
            second: (interval.start + interval.length).as_s_f64(),
            length_s: interval.length.as_s_f64(),
            scheduled_rate: interval.scheduled.map(Rate::as_per_second_f64),
            rate: super::output::rate(tally.right_in_it(), interval.length),
            due: tally.due,
            sent: tally.sent_in_it(),
            right: tally.right_in_it(),
            failed: tally.outcomes.failures(),
            bytes_received: tally.bytes_received.count(),
            bytes_sent: tally.bytes_sent.count(),
            outcomes: &tally.outcomes,
            response_time_p50_us: quantile(0.5),
            response_time_p90_us: quantile(0.9),
            response_time_p99_us: quantile(0.99),
            response_time_max_us: quantile(1.0),
        };
        out += &serde_json::to_string(&line).context("cannot write an interval as JSON")?;
        out.push('\n');
    }
    Ok(out)
}
