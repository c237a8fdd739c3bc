//! What `triathlon load` writes: events for programs, and a report for people.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use load::Notice;
use model::environment::PathEnd;
use model::event::{Event, Phase};
use model::plan::Plan;
use model::record::Sample;
use model::units::Span;
use model::{Environment, Json as _, Record, Trial};

use super::Args;
use super::lines::Lines;
use super::series::Series;
use super::view::View;
use crate::exit::UsageError;
use crate::out;
use crate::place;
use crate::tool;

/// Where it all goes.
pub(super) struct Output {
    /// Events go to stdout, one line of JSON each.
    events: bool,
    /// The run is shown as it goes on.
    shows: bool,
    /// Whether it may be drawn at a terminal, which erases what was drawn before.
    draws: bool,
    /// A line is written for each interval.
    series: Option<Series>,
}

impl Output {
    pub(super) fn new(args: &Args) -> Self {
        Self {
            events: args.plan.is_some(),
            shows: args.plan.is_none(),
            draws: !is_stdout(&args.exports.series) || !std::io::stdout().is_terminal(),
            series: None,
        }
    }

    /// For whoever prints the result in another way, with nothing before it.
    pub(super) fn of_another(args: &Args) -> Self {
        Self {
            shows: false,
            ..Self::new(args)
        }
    }

    /// A run of `plan` is about to begin.
    pub(super) fn begin(&mut self, args: &Args, plan: &Plan) -> anyhow::Result<()> {
        let path = args.exports.series.as_deref();
        self.series = path
            .map(|path| Series::begin(path, Some(plan)))
            .transpose()?;
        Ok(())
    }

    /// What is shown of a run of `plan` while it goes on, if anything is.
    pub(super) fn shown(&self, plan: &Plan) -> Option<Shown> {
        let view = self.draws.then(|| View::new(plan)).flatten();
        let shown = || match view {
            Some(view) => Shown::Drawn(view),
            None => Shown::Said(Lines::new(plan.file())),
        };
        self.shows.then(shown)
    }

    /// Whether a program reads it, which meters and looks at the machine itself.
    pub(super) const fn is_for_programs(&self) -> bool {
        self.events
    }

    /// Something happened during the run.
    pub(super) fn notice(&self, notice: &Notice) -> anyhow::Result<()> {
        if self.events {
            write_event(&event_of(notice))?;
        }
        match &self.series {
            None => Ok(()),
            Some(series) => series.notice(notice),
        }
    }

    /// Finds out before the run whether what was asked for can be written at its end.
    pub(super) fn try_out(args: &Args) -> anyhow::Result<()> {
        let is_series = is_stdout(&args.exports.series);
        if is_series && (is_stdout(&args.json) || is_stdout(&args.samples)) {
            let why = "--series -: --json - or --samples - writes to stdout already; name a file";
            return Err(UsageError(why.to_owned()).into());
        }
        if is_stdout(&args.samples) && (is_stdout(&args.json) || args.plan.is_some()) {
            let other = if args.plan.is_some() {
                "--plan"
            } else {
                "--json -"
            };
            let why = format!("--samples -: {other} writes to stdout already; name a file");
            return Err(UsageError(why).into());
        }
        let first = [("--json", &args.json), ("--samples", &args.samples)];
        let named = || first.into_iter().chain(args.exports.named());
        let mut files = named().filter(|(flag, _)| ["--csv", "--hgrm", "--hlog"].contains(flag));
        if let Some((flag, _)) = files.find(|(_, path)| is_stdout(path)) {
            let why = format!("{flag} -: it writes a file alone; name one");
            return Err(UsageError(why).into());
        }
        let paths = named().map(|(flag, path)| (flag, path.as_deref()));
        if let Some((one, other, path)) = place::twice(paths) {
            let path = path.display();
            let why = format!("{one} and {other} both write {path}; give each its own file");
            return Err(UsageError(why).into());
        }
        let files = [&args.json, &args.samples];
        for path in files.into_iter().flatten().chain(args.exports.files()) {
            if path.as_path() != Path::new("-") {
                try_out(path).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// The run is over.
    pub(super) fn finish(&self, args: &Args, mut trial: Trial) -> anyhow::Result<()> {
        // The text first: where a file cannot be written, what was measured has been said; and
        // where nobody takes the text, the files are written all the same.
        let to_stdout = args.json.as_deref() == Some(Path::new("-"));
        let is_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        let are_others = is_stdout(&args.samples) || is_stdout(&args.exports.series);
        let told = if self.events || to_stdout || are_others {
            Ok(())
        } else {
            print_report(args, &trial)
        };
        args.exports.write(&trial)?;
        let intervals = &trial.record.intervals;
        match (&self.series, &args.exports.series) {
            (Some(series), _) => series.finish(intervals)?,
            // The run was over before this began.
            (None, Some(path)) => Series::begin(path, None)?.finish(intervals)?,
            (None, None) => {}
        }
        if let Some(path) = &args.samples {
            write_samples(path, &mut trial)?;
        }
        if self.events {
            return write_event(&Event::Trial(Box::new(trial)));
        }
        if let Some(path) = &args.json {
            let text = trial.to_json().context("cannot write the trial as JSON")?;
            if to_stdout {
                return out::line(text);
            }
            std::fs::write(path, text + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        told
    }
}

/// Whether that stands for stdout.
fn is_stdout(path: &Option<PathBuf>) -> bool {
    path.as_deref() == Some(Path::new("-"))
}

/// A run as it goes on: drawn at a terminal, and said line by line elsewhere.
pub(super) enum Shown {
    Drawn(View),
    Said(Lines),
}

impl Shown {
    /// Something happened during the run.
    pub(super) fn notice(&mut self, notice: &Notice) {
        match self {
            Self::Drawn(view) => view.notice(notice),
            Self::Said(lines) => lines.notice(notice),
        }
    }

    /// It is over, whatever became of it: nothing is left drawn.
    pub(super) fn end(&mut self) {
        if let Self::Drawn(view) = self {
            view.enter(Phase::Done);
        }
    }
}

/// Writes one line of JSON to stdout.
pub(super) fn write_event(event: &Event) -> anyhow::Result<()> {
    let line = event.to_json().context("cannot write an event as JSON")? + "\n";
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(line.as_bytes())
        .and_then(|()| stdout.flush())
        .context("cannot write to stdout")
}

/// Opens `path` as if to write it; what is there stays as it is.
fn try_out(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    match path.metadata() {
        Ok(facts) if facts.is_file() || facts.is_dir() => options.append(true).open(path).map(drop),
        // Who reads a pipe takes the first to close it for the end.
        Ok(_) => Ok(()),
        Err(_) => match options.write(true).create_new(true).open(path) {
            Ok(_) => std::fs::remove_file(path),
            // A link to a file that is not there yet.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        },
    }
}

/// The report for people.
fn print_report(args: &Args, trial: &Trial) -> anyhow::Result<()> {
    let style = out::style();
    let mut text = report::text::trial(trial, style);
    if args.latency {
        text += &report::text::latency(trial, style);
    }
    out::line(text.trim_end())
}

/// Raw exchanges go to their own file, a line each, and not into the trial.
fn write_samples(path: &Path, trial: &mut Trial) -> anyhow::Result<()> {
    let samples = std::mem::take(&mut trial.record.samples);
    if path == Path::new("-") {
        return write_lines(std::io::stdout().lock(), &samples).context("cannot write to stdout");
    }
    std::fs::File::create(path)
        .and_then(|file| write_lines(file, &samples))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn write_lines(file: impl std::io::Write, samples: &[Sample]) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(file);
    for sample in samples {
        serde_json::to_writer(&mut file, sample)?;
        file.write_all(b"\n")?;
    }
    file.flush()
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
            right: interval.ok,
            failures: interval.failures,
            connections: interval.connections,
            bytes_received: interval
                .counts
                .as_ref()
                .map(|counts| counts.bytes_received.count()),
            response_time_p50_us: interval.response_time.quantile(0.5).map(Span::as_us_f64),
            response_time_p99_us: interval.response_time.quantile(0.99).map(Span::as_us_f64),
        },
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
pub(super) fn rate(count: u64, length: Span) -> f64 {
    if length.is_zero() {
        0.0
    } else {
        count as f64 / length.as_s_f64()
    }
}

/// This program, and unless whoever started it reads that, the machine.
pub(super) fn environment(only_tool: bool) -> Environment {
    let tool = tool::this();
    if only_tool {
        Environment {
            tool,
            ..Environment::default()
        }
    } else {
        lab::environment::of_this_machine(tool)
    }
}

/// This machine's end of the way to the address that was asked, with what connections say of it.
pub(crate) fn path_of(asked: Option<IpAddr>, record: &Record) -> Option<PathEnd> {
    let quic = record.quic.as_ref().and_then(|quic| quic.rtt_least);
    Some(PathEnd {
        round_trip_at_most: record.connect_time.min().into_iter().chain(quic).min(),
        ..lab::environment::path::towards(asked?)?
    })
}
