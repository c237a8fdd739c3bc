//! The generator of this machine: `triathlon load --plan -`, a child process on CPUs of its own.
//!
//! It leads a session of its own, so that Ctrl-C at the terminal reaches the lab alone, which then
//! ends it.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use model::plan::Stop;
use model::{Event, PlanFile, Trial};
use sys::process::{Child, Confinement, Interrupt, Leaf, Readiness, Signal, wait_readable};

use super::{Generator, Watch};
use crate::error::LabError;
use crate::meter::Group;
use crate::pair::Pair;
use crate::scratch::Scratch;

/// How long a generator may take beyond its plan before it is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one that was told to stop may take.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// A line longer than this is not from our generator.
const LINE_MAX: usize = 1 << 30;
/// Waits end this often to look whether a person wants to stop.
const LOOK: Duration = Duration::from_millis(100);

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

    fn start(&self, plan: &PlanFile, leaf: Option<&Leaf>) -> Result<Child, LabError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
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
}

impl Generator for Local<'_> {
    fn run(&mut self, plan: &PlanFile, watch: &mut Watch<'_>) -> Result<Trial, LabError> {
        let leaf = self.scratch.leaf();
        let mut child = self.start(plan, leaf.as_ref())?;
        let mut text = serde_json::to_vec(plan).map_err(|error| failed(error.to_string()))?;
        text.push(b'\n');
        let written = child
            .take_stdin()
            .expect("its standard input is a pipe")
            .write_all(&text);
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(failed(format!("it does not take its plan: {error}")));
        }
        let group = Group {
            pid: child.pid(),
            leaf: leaf.as_ref(),
        };
        let output = child.take_stdout().expect("its standard output is a pipe");
        let until =
            Instant::now() + span(plan.warmup) + window(plan) + span(plan.timeout) + PATIENCE;
        let mut lines = Lines::new(output);
        loop {
            if self.is_interrupted() {
                child.stop(Signal::Terminate, STOP_LIMIT, leaf.as_ref());
                return Err(LabError::Interrupted);
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
                    event => watch(&event, Some(group)),
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

fn failed(why: String) -> LabError {
    LabError::Generator { why }
}

fn read_event(line: &[u8]) -> Result<Event, LabError> {
    serde_json::from_slice(line).map_err(|error| {
        let start = String::from_utf8_lossy(&line[..line.len().min(120)]).into_owned();
        failed(format!("it wrote what is no event ({error}): {start}"))
    })
}

const fn span(span: model::Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

/// How long the measured part may take. A count at an unknown rate may take its time.
fn window(plan: &PlanFile) -> Duration {
    match plan.stop {
        Stop::Count(count) => span(plan.timeout) * u32::try_from(count.min(1_000)).unwrap_or(1_000),
        Stop::DurationNs(length) => span(length),
    }
}

/// What came next.
enum Next {
    Line(Vec<u8>),
    Silence,
    End,
    TooLate,
}

/// Lines of a pipe, read without ever waiting longer than a look.
struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold no line end.
    searched: usize,
}

impl<R: io::Read + std::os::fd::AsRawFd> Lines<R> {
    const fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            searched: 0,
        }
    }

    fn next(&mut self, until: Instant) -> io::Result<Next> {
        let mut chunk = [0; 64 * 1024];
        loop {
            let fresh = &self.buffer[self.searched..];
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                let line = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                return Ok(Next::Line(line));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > LINE_MAX {
                return Err(io::Error::other("it wrote a line without an end"));
            }
            if Instant::now() > until {
                return Ok(Next::TooLate);
            }
            if wait_readable(self.input.as_raw_fd(), LOOK)? == Readiness::NotYet {
                return Ok(Next::Silence);
            }
            match self.input.read(&mut chunk) {
                Ok(0) => return Ok(Next::End),
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The end of what a child wrote to its standard error, read after it has ended.
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
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(3)..].join(" | ")
    }
}

#[cfg(test)]
mod tests;
