//! What a server says: its standard output, standard error and error log, in one file.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use crate::error::LabError;
use crate::site::open_to_all;

/// Lines of an error log that are kept for the record.
const ERROR_LINES_MAX: usize = 20;

/// Standard output, standard error and error log of a server in one file.
#[derive(Debug)]
pub(super) struct ErrorLog {
    pub(super) path: PathBuf,
    seen: u64,
    /// Whether somebody has looked at it.
    was_seen: bool,
}

impl ErrorLog {
    pub(super) fn create(path: PathBuf) -> Result<Self, LabError> {
        File::create(&path).map_err(LabError::file("create", &path))?;
        open_to_all(&path, 0o666)?;
        Ok(Self {
            path,
            seen: 0,
            was_seen: false,
        })
    }

    pub(super) fn writer(&self) -> Result<File, LabError> {
        OpenOptions::new()
            .append(true)
            .open(&self.path)
            .map_err(LabError::file("write", &self.path))
    }

    /// Warnings from before the first look: what else a server says when it starts names machines
    /// and people, and says nothing of its settings.
    pub(super) fn warnings_at_start(&mut self) -> Option<Vec<String>> {
        let is_first = !std::mem::replace(&mut self.was_seen, true);
        is_first.then(|| {
            let all = self.gained_of(|line| line.to_ascii_lowercase().contains("warn"));
            all.0
        })
    }

    pub(super) fn skip(&mut self) {
        self.seen = fs::metadata(&self.path).map_or(self.seen, |meta| meta.len());
    }

    /// Lines since the last look, the first few of them, and how many in all.
    pub(super) fn gained(&mut self) -> (Vec<String>, u64) {
        self.gained_of(|line| !line.trim().is_empty())
    }

    /// The same of those lines that are wanted.
    fn gained_of(&mut self, is_wanted: impl Fn(&str) -> bool) -> (Vec<String>, u64) {
        let mut text = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.seen))?;
            // A server that floods its log is told by the count, not by a gigabyte in memory.
            file.take(16 << 20).read_to_end(&mut text)
        });
        if read.is_err() {
            return (Vec::new(), 0);
        }
        self.skip();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| is_wanted(line)).collect();
        let first = lines.iter().take(ERROR_LINES_MAX);
        let count = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        (first.map(|line| (*line).to_owned()).collect(), count)
    }
}

/// The last of its lines that are not blank, as one.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let last = lines.len().saturating_sub(count);
    lines[last..].join(" | ")
}
