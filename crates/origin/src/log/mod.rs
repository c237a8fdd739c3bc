//! The access log, in Apache's combined form, written by whole lines.
//!
//! Each worker has its own buffer and its own handle, opened to append, so that lines never mix. A
//! pipe takes only so much whole: the buffer of a log that was open already is no larger than that.
//! Without a buffer each line is one write, as Apache and nginx do it; with one, lines are written
//! when it is full and at least once a second.
//!
//! Cost: some formatting per request; per-second text is made once a second.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use model::calendar::Calendar;

use crate::head::number;
use crate::settings::LogTarget;

/// A write of so many bytes to a pipe is never torn (pipe(7), `PIPE_BUF`).
const PIPE_WHOLE: usize = 4_096;

/// Where one worker's lines go.
#[derive(Debug)]
pub(crate) struct AccessLog {
    /// Where to open it anew; none where it was open already.
    path: Option<PathBuf>,
    file: File,
    buffer: Vec<u8>,
    capacity: usize,
    second: u64,
    /// ` - - [10/Oct/2000:13:55:36 +0000] `
    time: Vec<u8>,
    failures: u64,
    /// Hears why the first write failed.
    hears: fn(&io::Error),
}

/// What a line says after the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The request line as it came.
    pub(crate) request: &'a [u8],
    /// Of the answer.
    pub(crate) status: u16,
    /// Of the answer's content, without its head.
    pub(crate) bytes: u64,
    /// The `Referer` field.
    pub(crate) referer: Option<&'a [u8]>,
    /// The `User-Agent` field.
    pub(crate) agent: Option<&'a [u8]>,
}

impl AccessLog {
    /// Appends to the file, which is made if need be, or writes to what is open.
    pub(crate) fn open(target: &LogTarget, capacity: usize) -> io::Result<Self> {
        let (path, file, capacity) = match target {
            LogTarget::File(path) => (Some(path.clone()), append_to(path)?, capacity),
            LogTarget::Handle(file) => (None, file.try_clone()?, capacity.min(PIPE_WHOLE)),
        };
        Ok(Self {
            path,
            file,
            buffer: Vec::with_capacity(capacity.clamp(512, 1 << 20)),
            capacity,
            second: u64::MAX,
            time: Vec::new(),
            failures: 0,
            hears: |_| {},
        })
    }

    /// The same log, of which `hears` is told why its first write failed.
    pub(crate) fn heard_by(self, hears: fn(&io::Error)) -> Self {
        Self { hears, ..self }
    }

    /// Writes what is buffered and opens the file anew, for it may have been moved away. Where that
    /// fails, the old file is kept. What was open already stays open.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        self.flush();
        if let Some(path) = &self.path {
            self.file = append_to(path)?;
        }
        Ok(())
    }

    /// Appends a line; `tail` is what [`tail`] makes.
    pub(crate) fn write(&mut self, peer: IpAddr, second: u64, tail: &[u8]) {
        if second != self.second {
            self.second = second;
            self.time = time_text(second);
        }
        if !self.buffer.is_empty() && self.buffer.len() + tail.len() + 96 > self.capacity {
            self.flush();
        }
        address(&mut self.buffer, peer);
        self.buffer.extend_from_slice(&self.time);
        self.buffer.extend_from_slice(tail);
        if self.buffer.len() >= self.capacity {
            self.flush();
        }
    }

    /// Whether lines wait.
    pub(crate) fn is_pending(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Writes what is buffered. What the disk does not take is lost, and counted.
    pub(crate) fn flush(&mut self) {
        if !self.buffer.is_empty() {
            if let Err(error) = self.file.write_all(&self.buffer) {
                if self.failures == 0 {
                    (self.hears)(&error);
                }
                self.failures += 1;
            }
            self.buffer.clear();
        }
    }

    /// How many writes failed.
    pub(crate) const fn failures(&self) -> u64 {
        self.failures
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// `"GET / HTTP/1.1" 200 7 "-" "curl/8"` and a line end.
pub(crate) fn tail(line: &Line<'_>) -> Vec<u8> {
    let mut text = Vec::with_capacity(128);
    quoted(&mut text, Some(line.request));
    text.push(b' ');
    number(&mut text, u64::from(line.status));
    text.push(b' ');
    if line.bytes == 0 {
        text.push(b'-');
    } else {
        number(&mut text, line.bytes);
    }
    text.push(b' ');
    quoted(&mut text, line.referer);
    text.push(b' ');
    quoted(&mut text, line.agent);
    text.push(b'\n');
    text
}

/// In quotes; what could end the quotes or the line, or is not ASCII, is escaped as Apache does it.
fn quoted(out: &mut Vec<u8>, text: Option<&[u8]>) {
    out.push(b'"');
    for &byte in text.filter(|text| !text.is_empty()).unwrap_or(b"-") {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x20..=0x7e => out.push(byte),
            _ => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
                out.extend_from_slice(&[b'\\', b'x', hex(byte >> 4), hex(byte & 15)]);
            }
        }
    }
    out.push(b'"');
}

fn address(out: &mut Vec<u8>, peer: IpAddr) {
    match peer {
        IpAddr::V4(v4) => {
            for (at, octet) in v4.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                number(out, u64::from(octet));
            }
        }
        IpAddr::V6(v6) => out.extend_from_slice(v6.to_string().as_bytes()),
    }
}

fn time_text(second: u64) -> Vec<u8> {
    let at = Calendar::of(second);
    format!(
        " - - [{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000] ",
        at.day,
        at.month_name(),
        at.year,
        at.hour,
        at.minute,
        at.second
    )
    .into_bytes()
}

#[cfg(test)]
mod tests;
