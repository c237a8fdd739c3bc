//! A run in several processes, for more connections than one may hold (ADR 0019): each has a part
//! of the plan's workers, all begin at one instant of the clock that a machine's processes share,
//! and their records merge.
//!
//! What passes between: the plan as a line, `Ready` as an event, the start as a line, then the
//! events of a run with the trial last.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::ops::Range;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use model::distribution::{Distribution, Shape};
use model::event::Phase;
use model::plan::Plan;
use model::record::Record;
use model::units::{Instant, Span};
use model::{Event, Json as _};
use sys::clock;
use sys::process::{Child, Confinement, Signal};

use crate::limits;
use crate::lookup::look_up;
use crate::observer::{LOOK, Observer};
use crate::progress::Published;
use crate::run::{LoadError, Notice};

/// From the moment when all parts are ready to the first exchange: all of them have read it by
/// then.
const LEAD: Span = Span::from_ms(50);
/// How long a part that was told to stop may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The workers of as few processes as the open files of `plan` need; one that has them all, most
/// often.
///
/// # Errors
///
/// A limit stands in the way however the plan is divided, or its host is unknown.
pub fn divide(plan: &Plan) -> Result<Vec<Range<u32>>, LoadError> {
    limits::divide(plan, &look_up(plan)?.all())
}

/// Makes the load of `plan` in a process for each of `parts`, which `command` starts: one that
/// reads the plan and the start from its standard input and calls [`run_part`](crate::run_part).
/// Otherwise as [`run`](crate::run()); progress is told without quantiles.
///
/// # Errors
///
/// Nothing could be measured, or one of the processes failed.
pub fn run_divided(
    plan: &Plan,
    parts: &[Range<u32>],
    command: &mut dyn FnMut(&Range<u32>) -> Command,
    stop: &AtomicBool,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    notice(Some(Notice::Phase(Phase::Reference, clock::monotonic())));
    let (news, received) = channel();
    let started = parts.iter().enumerate().map(|(index, workers)| {
        Process::start(plan, workers, command(workers), index, &news)
            .map_err(|reason| part_error(workers, reason.to_string()))
    });
    let processes = started.collect::<Result<Vec<_>, _>>()?;
    // The last sender is that of the last process.
    drop(news);
    let mut parts = Parts {
        processes,
        received,
        stop,
        is_told_to_stop: false,
    };
    while !parts.processes.iter().all(Process::can_begin) {
        notice(None);
        parts.listen()?;
    }
    let start = clock::monotonic() + LEAD;
    for process in &mut parts.processes {
        process.begin(start);
    }
    let mut observer = Observer::new(plan, start, &[]);
    while !parts.processes.iter().all(|one| one.record.is_some()) {
        notice(None);
        observer.tell_phases(clock::monotonic(), notice);
        parts.listen()?;
        parts.tell_intervals(notice);
    }
    observer.tell_phases(clock::monotonic(), notice);
    notice(Some(Notice::Phase(Phase::Done, clock::monotonic())));
    let mut record = Record::default();
    for process in &mut parts.processes {
        record.merge(process.record.take().expect("all have one"));
        process.child.wait(PATIENCE);
    }
    if parts.processes.len() > 1 {
        record.notes.push(format!(
            "{} processes made this load, because one process may not hold so many connections",
            parts.processes.len()
        ));
    }
    Ok(record)
}

fn part_error(workers: &Range<u32>, reason: String) -> LoadError {
    LoadError::Part {
        first: workers.start,
        last: workers.end.saturating_sub(1),
        reason,
    }
}

/// What a part says.
enum News {
    Event(Box<Event>),
    /// It will say no more; a reason where what it said made no sense.
    End(Option<String>),
}

/// One process. Dropped, it is ended.
struct Process {
    workers: Range<u32>,
    child: Child,
    stdin: ChildStdin,
    is_ready: bool,
    record: Option<Record>,
    /// The intervals that it has told and others have not.
    intervals: VecDeque<Published>,
    /// Where the latest of them ends, from the start of the window.
    told_until: Span,
}

impl Process {
    fn start(
        plan: &Plan,
        workers: &Range<u32>,
        mut command: Command,
        index: usize,
        news: &Sender<(usize, News)>,
    ) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let confinement = Confinement {
            // Nobody would be left to read its record.
            orphaned: Signal::Kill,
            ..Confinement::default()
        };
        let mut child = sys::process::start(&mut command, confinement)?;
        let stdout = child.take_stdout().expect("its standard output is a pipe");
        let news = news.clone();
        thread::Builder::new()
            .name(format!("part {index}"))
            .spawn(move || read(stdout, index, &news))?;
        let mut stdin = child.take_stdin().expect("its standard input is a pipe");
        let text = plan.file().to_json()? + "\n";
        heard(stdin.write_all(text.as_bytes()))?;
        Ok(Self {
            workers: workers.clone(),
            child,
            stdin,
            is_ready: false,
            record: None,
            intervals: VecDeque::new(),
            told_until: Span::ZERO,
        })
    }

    /// It is ready, or has been stopped before.
    fn can_begin(&self) -> bool {
        self.is_ready || self.record.is_some()
    }

    fn begin(&mut self, start: Instant) {
        // One that is gone is noticed by its silence.
        drop(writeln!(self.stdin, "{}", start.as_ns()));
    }

    fn hear_interval(&mut self, second: f64, right: u64, failures: u64, connections: u64) {
        let start = self.told_until;
        self.told_until = Span::from_ns(whole(second * 1e9));
        let length = self.told_until.saturating_sub(start);
        self.intervals.push_back(Published {
            start,
            length,
            ok: right,
            failures,
            connections,
            response_time: Distribution::new(Shape::INTERVAL),
            counts: None,
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.stop(Signal::Terminate, PATIENCE, None);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count for people; what is negative or too large is cut off"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Whoever does not listen says why, or ends.
fn heard(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Hands on what a part says, until it ends.
fn read(stdout: ChildStdout, index: usize, news: &Sender<(usize, News)>) {
    let mut why = None;
    for line in BufReader::new(stdout).split(b'\n') {
        let event = line.and_then(|line| Ok(Box::new(Event::from_json(&line)?)));
        match event {
            Ok(event) => drop(news.send((index, News::Event(event)))),
            Err(error) => {
                why = Some(error.to_string());
                break;
            }
        }
    }
    drop(news.send((index, News::End(why))));
}

/// All processes of a run.
struct Parts<'a> {
    processes: Vec<Process>,
    received: Receiver<(usize, News)>,
    stop: &'a AtomicBool,
    is_told_to_stop: bool,
}

impl Parts<'_> {
    /// Listens for a moment, and passes on that the run is to end.
    fn listen(&mut self) -> Result<(), LoadError> {
        if self.stop.load(Ordering::Relaxed) && !self.is_told_to_stop {
            self.is_told_to_stop = true;
            for process in &mut self.processes {
                // One that is gone needs no telling. A shell that starts us in the background has
                // SIGINT ignored by all of us: this signal is heard all the same.
                drop(process.child.signal(Signal::Terminate));
            }
        }
        match self.received.recv_timeout(LOOK) {
            Ok((index, news)) => self.hear(index, news),
            // The last one's end was heard before.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(()),
        }
    }

    fn hear(&mut self, index: usize, news: News) -> Result<(), LoadError> {
        let process = &mut self.processes[index];
        let event = match news {
            News::Event(event) => *event,
            News::End(None) if process.record.is_some() => return Ok(()),
            // It was stopped before it could take notice of that.
            News::End(None) if self.is_told_to_stop => {
                process.record = Some(Record {
                    interrupted: true,
                    ..Record::default()
                });
                return Ok(());
            }
            News::End(why) => {
                let how = process.child.wait(PATIENCE);
                let how = how.map_or_else(|| "it fell silent".to_owned(), |end| end.to_string());
                let why = why.map_or_else(String::new, |why| {
                    format!(", after a line that is not an event: {why}")
                });
                let reason = format!("it ended without a result ({how}{why})");
                return Err(part_error(&process.workers, reason));
            }
        };
        match event {
            Event::Ready => process.is_ready = true,
            Event::Trial(trial) => process.record = Some(trial.record),
            Event::Failed { error } => return Err(part_error(&process.workers, error)),
            Event::Interval {
                second,
                right,
                failures,
                connections,
                ..
            } => process.hear_interval(second, right, failures, connections),
            // They have the same clock as we.
            Event::Phase { .. } => {}
        }
        Ok(())
    }

    /// Tells the intervals that all parts have told.
    fn tell_intervals(&mut self, notice: &mut dyn FnMut(Option<Notice>)) {
        while self.processes.iter().all(|one| !one.intervals.is_empty()) {
            let fronts = self.processes.iter_mut();
            let mut fronts = fronts.filter_map(|one| one.intervals.pop_front());
            let Some(mut whole) = fronts.next() else {
                return;
            };
            fronts.for_each(|part| whole.merge(&part));
            notice(Some(Notice::Interval(whole)));
        }
    }
}

#[cfg(test)]
mod tests;
