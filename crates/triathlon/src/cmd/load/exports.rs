//! What a run writes for other programs, all of it from one record: a row of a table,
//! HdrHistogram's files, a line of JSON for each interval (`series`), and metrics while it goes on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use model::Trial;
use report::Run;

/// What to write, and where.
#[derive(clap::Args, Debug)]
pub(super) struct Exports {
    /// Write the trial to FILE as a row of a table, comma-separated, below its headings;
    /// 'triathlon report --help' says what each column is
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write the percentiles of response times to FILE, as HdrHistogram's plotters read them
    #[arg(long, value_name = "FILE")]
    hgrm: Option<PathBuf>,

    /// Write the response times of each interval to FILE, in HdrHistogram's log format
    #[arg(long, value_name = "FILE")]
    hlog: Option<PathBuf>,

    /// Write each second as a line of JSON, as soon as it is over: rates, failures, response times.
    /// To FILE, or to stdout (-) instead of the report. With --agents at the end. What was sent,
    /// right answers and bytes are of the second, and outcomes and times are of what ended in it;
    /// what was never sent is in the last line
    #[arg(long, value_name = "FILE|-")]
    pub(super) series: Option<PathBuf>,

    /// Tell what is measured at http://ADDRESS/metrics while the run goes on, as Prometheus reads
    /// it. With --agents, by what they tell once a second
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) metrics: Option<SocketAddr>,
}

impl Exports {
    /// The files that will be written.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.named()
            .into_iter()
            .filter_map(|(_, path)| path.as_ref())
    }

    /// What is written when the run is over, and by which flag.
    pub(super) fn named(&self) -> [(&'static str, &Option<PathBuf>); 4] {
        [
            ("--csv", &self.csv),
            ("--hgrm", &self.hgrm),
            ("--hlog", &self.hlog),
            ("--series", &self.series),
        ]
    }

    /// Writes them.
    pub(super) fn write(&self, trial: &Trial) -> anyhow::Result<()> {
        if let Some(path) = &self.csv {
            let mut run = Run::default();
            run.add(trial);
            put(path, &report::csv::rows(&[&run]))?;
        }
        if let Some(path) = &self.hgrm {
            put(path, &report::hdr::hgrm(&trial.record.response_time))?;
        }
        if let Some(path) = &self.hlog {
            put(path, &report::hdr::hlog(trial))?;
        }
        Ok(())
    }
}

fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
