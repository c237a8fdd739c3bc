//! The generator of this machine: `triathlon load --plan -`, a child process on CPUs of its own.
//!
//! It leads a session of its own, so that Ctrl-C at the terminal reaches the lab alone, which then
//! ends it.

mod lines;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use model::plan::Stop;
use model::{Event, Json as _, PlanFile, Trial};
use sys::process::{Child, Confinement, Interrupt, Leaf, Readiness, Signal, wait_readable};

use self::lines::{LOOK, Lines, Next};
use super::{Generator, Part, Told, Watch};
use crate::error::LabError;
use crate::meter::Group;
use crate::pair::Pair;
use crate::scratch::Scratch;

/// How long a generator may take beyond its plan before it is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one that was told to stop may take.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// Starts a child process for each plan.
#[derive(Debug)]
pub struct Local<'a> {
    program: PathBuf,
    arguments: Vec<String>,
    cpus: Vec<u32>,
    interrupt: Option<Interrupt>,
    scratch: &'a Scratch,
    pair: Option<&'a Pair>,
}

impl<'a> Local<'a> {
    /// `program` is this program; `cpus` are those of its children, whose control groups are noted
    /// in `scratch`.
    pub fn new(
        program: PathBuf,
        cpus: Vec<u32>,
        interrupt: Option<Interrupt>,
        scratch: &'a Scratch,
    ) -> Self {
        Self {
            program,
            arguments: ["load", "--plan", "-"].map(str::to_owned).to_vec(),
            cpus,
            interrupt,
            scratch,
            pair: None,
        }
    }

    /// The same where servers are reached by way of a pair of devices, too.
    #[must_use]
    pub const fn by_way_of(mut self, pair: Option<&'a Pair>) -> Self {
        self.pair = pair;
        self
    }

    /// The same with another command line: for tests, and for wrappers.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Vec<String>) -> Self {
        self.arguments = arguments;
        self
    }

    /// Runs a part of `plan`, of which others have the rest: it begins when `part` is told to, and
    /// where that is told to stop, what was measured until then is kept.
    ///
    /// # Errors
    ///
    /// As [`Generator::run`].
    pub fn run_part(
        &mut self,
        plan: &PlanFile,
        part: Part<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Trial, LabError> {
        self.make(plan, Some(part), watch)
    }

    fn start(
        &self,
        plan: &PlanFile,
        workers: Option<&Range<u32>>,
        leaf: Option<&Leaf>,
    ) -> Result<Child, LabError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(workers) = workers {
            command.arg("--part");
            command.arg(format!("{}..{}", workers.start, workers.end));
        }
        let confinement = Confinement {
            // A plan may want it on the server's.
            cpus: match plan.cpus.as_slice() {
                [] => &self.cpus,
                wanted => wanted,
            },
            leaf,
            // Nobody would be left to read its record.
            orphaned: Signal::Kill,
            is_alone: false,
        };
        let asked = plan.addresses.first().map(SocketAddr::ip);
        let asked = asked.and_then(|ip| match ip {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        });
        let _there = self.pair.map(|pair| pair.enter_to_ask(asked)).transpose()?;
        sys::process::start(&mut command, confinement).map_err(|error| {
            failed(format!(
                "{} does not start: {error}",
                self.program.display()
            ))
        })
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(Interrupt::is_raised)
    }

    /// Makes the load of `plan`, or a part of it.
    fn make(
        &self,
        plan: &PlanFile,
        part: Option<Part<'_>>,
        watch: &mut Watch<'_>,
    ) -> Result<Trial, LabError> {
        let leaf = self.scratch.leaf();
        let workers = part.as_ref().map(|part| part.workers.clone());
        let mut child = self.start(plan, workers.as_ref(), leaf.as_ref())?;
        let stdin = child.take_stdin().expect("its standard input is a pipe");
        let stdin = hand_in(plan, stdin)?;
        // Whoever has the whole plan reads to the end of it, which comes when nobody holds this.
        let mut baton = part.map(|part| Baton::new(part, stdin));
        let group = Group {
            pid: child.pid(),
            leaf: leaf.as_ref(),
            idle: &[],
        };
        let output = child.take_stdout().expect("its standard output is a pipe");
        let mut until = Instant::now() + longest(plan);
        let mut lines = Lines::new(output);
        loop {
            if self.is_interrupted() {
                child.stop(Signal::Terminate, STOP_LIMIT, leaf.as_ref());
                return Err(LabError::Interrupted);
            }
            if let Some(longer) = baton
                .as_mut()
                .and_then(|baton| baton.pass(plan, &mut child))
            {
                until = Instant::now() + longer;
            }
            match lines
                .next(until)
                .map_err(|error| failed(error.to_string()))?
            {
                Next::Line(line) => match read_event(&line)? {
                    Event::Trial(trial) => {
                        // It has nothing left to do; its exit is collected when it is dropped.
                        child.wait(STOP_LIMIT);
                        return Ok(*trial);
                    }
                    Event::Failed { error } => return Err(failed(error)),
                    event => {
                        if let (Event::Ready, Some(baton)) = (&event, &mut baton) {
                            baton.is_ready = true;
                        }
                        watch(&event, Some(group));
                    }
                },
                Next::Silence => {}
                Next::End => {
                    let how = child.wait(STOP_LIMIT);
                    let how =
                        how.map_or_else(|| "it fell silent".to_owned(), |end| end.to_string());
                    let said = child.complaint();
                    return Err(failed(format!("it ended without a result ({how}): {said}")));
                }
                Next::TooLate => {
                    child.stop(Signal::Kill, STOP_LIMIT, leaf.as_ref());
                    return Err(failed(format!(
                        "it was still busy {} s after its plan should have ended",
                        PATIENCE.as_secs()
                    )));
                }
            }
        }
    }
}

impl Generator for Local<'_> {
    fn run(&mut self, plan: &PlanFile, watch: &mut Watch<'_>) -> Result<Trial, LabError> {
        self.make(plan, None, watch)
    }
}

/// Hands `plan` in while this goes on: one with thousands of addresses is more than a pipe holds,
/// and who never reads it must be given up like any other. Who is gone before it has read all of it
/// is noticed by its silence.
fn hand_in(plan: &PlanFile, mut stdin: ChildStdin) -> Result<JoinHandle<ChildStdin>, LabError> {
    let text = plan.to_json().map_err(|error| failed(error.to_string()))? + "\n";
    let write = move || {
        drop(stdin.write_all(text.as_bytes()));
        stdin
    };
    let thread = thread::Builder::new().name("plan".to_owned());
    thread
        .spawn(write)
        .map_err(|error| failed(format!("no thread could hand it its plan: {error}")))
}

/// What is between a part of a load and whoever says when all parts begin.
struct Baton<'a> {
    part: Part<'a>,
    /// What its plan is written to, by a thread; none once there is nothing left to say.
    stdin: Option<JoinHandle<ChildStdin>>,
    is_ready: bool,
    is_stopped: bool,
}

impl<'a> Baton<'a> {
    const fn new(part: Part<'a>, stdin: JoinHandle<ChildStdin>) -> Self {
        Self {
            part,
            stdin: Some(stdin),
            is_ready: false,
            is_stopped: false,
        }
    }

    /// Passes on what the part is told; how long it may take from now, where that changes.
    fn pass(&mut self, plan: &PlanFile, child: &mut Child) -> Option<Duration> {
        match (self.part.told)(self.is_ready) {
            Told::Nothing => None,
            Told::Begin(start) => {
                let thread = self.stdin.take_if(|_| self.is_ready)?;
                // Whoever is ready has read its plan, so this waits for nobody.
                let mut stdin = thread.join().expect("writing does not panic");
                // One that is gone is noticed by its silence.
                drop(writeln!(stdin, "{}", start.as_ns()));
                Some(longest(plan))
            }
            Told::Stop if self.is_stopped => None,
            Told::Stop => {
                self.is_stopped = true;
                // A signal that could not be sent is noticed by the time that it takes.
                drop(child.signal(Signal::Terminate));
                // It waits for its start no longer.
                self.stdin = None;
                Some(span(plan.timeout) + PATIENCE)
            }
        }
    }
}

fn failed(why: String) -> LabError {
    LabError::Generator { why }
}

fn read_event(line: &[u8]) -> Result<Event, LabError> {
    Event::from_json(line).map_err(|error| {
        let start = String::from_utf8_lossy(&line[..line.len().min(120)]).into_owned();
        failed(format!(
            "it wrote something that is not an event ({error}): {start}"
        ))
    })
}

const fn span(span: model::Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

/// How long a run may take in all.
fn longest(plan: &PlanFile) -> Duration {
    span(plan.warmup) + window(plan) + span(plan.timeout) + PATIENCE
}

/// How long the measured part may take. A count at an unknown rate may take its time.
fn window(plan: &PlanFile) -> Duration {
    match plan.stop {
        Stop::Count(count) => span(plan.timeout) * u32::try_from(count.min(1_000)).unwrap_or(1_000),
        Stop::DurationNs(length) => span(length),
    }
}

/// Why a child ended, by what it wrote to its standard error; read after it has ended.
trait Complaint {
    fn complaint(&mut self) -> String;
}

impl Complaint for Child {
    fn complaint(&mut self) -> String {
        let Some(mut stderr) = self.take_stderr() else {
            return String::new();
        };
        let mut text = Vec::new();
        // The child has ended: what it wrote is in the pipe, and then comes the end.
        if wait_readable(stderr.as_raw_fd(), LOOK).is_ok_and(|ready| ready == Readiness::Readable) {
            let mut chunk = [0; 16 * 1024];
            if let Ok(count) = stderr.read(&mut chunk) {
                text.extend_from_slice(&chunk[..count]);
            }
        }
        last_words(&String::from_utf8_lossy(&text))
    }
}

/// The sentence of a panic, whatever follows it; otherwise the last three lines.
fn last_words(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let is_trace = |line: &&&str| line.starts_with("stack backtrace:") || line.starts_with("note:");
    let panic = lines.iter().position(|line| line.contains(" panicked at "));
    let words = match panic.map(|begin| &lines[begin..]) {
        Some(rest) => {
            &rest[..rest
                .iter()
                .take_while(|line| !is_trace(line))
                .take(3)
                .count()]
        }
        None => &lines[lines.len().saturating_sub(3)..],
    };
    words.join(" | ")
}

#[cfg(test)]
mod tests;
