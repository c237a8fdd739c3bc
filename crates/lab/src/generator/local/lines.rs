//! Lines of a pipe, read without ever waiting longer than a look.

use std::io;
use std::time::{Duration, Instant};

use sys::process::{Readiness, wait_readable};

/// A line longer than this is not from our generator.
const LINE_MAX: usize = 1 << 30;
/// Waits end this often to look whether a person wants to stop.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// What came next.
pub(super) enum Next {
    Line(Vec<u8>),
    Silence,
    End,
    TooLate,
}

/// Lines of a pipe.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold no line end.
    searched: usize,
}

impl<R: io::Read + std::os::fd::AsRawFd> Lines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            searched: 0,
        }
    }

    /// The next line, if it comes before the next look.
    pub(super) fn next(&mut self, until: Instant) -> io::Result<Next> {
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
