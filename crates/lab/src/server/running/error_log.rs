//! What a server says: its standard output, standard error and error log, in one file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use crate::error::LabError;
use crate::site::open_to_all;

/// What of a line is more than this is not looked at.
const LINE_MAX: u64 = 64 << 10;

/// Lines of an error log that are kept for the record.
const ERROR_LINES_MAX: usize = 20;

/// Standard output, standard error and error log of a server in one file.
#[derive(Debug)]
pub(super) struct ErrorLog {
    pub(super) path: PathBuf,
    seen: u64,
    /// Whether what comes next goes on with a line that was seen.
    is_within: bool,
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
            is_within: false,
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
        self.is_within = false;
    }

    /// Lines since the last look, the first few of them, and how many in all: a server that floods
    /// its log is told by the count, not by a gigabyte in memory. A line of which only a part was
    /// there is told by that part, once.
    pub(super) fn gained(&mut self) -> (Vec<String>, u64) {
        self.gained_of(|line| !line.trim().is_empty())
    }

    /// The same of those lines that are wanted.
    fn gained_of(&mut self, is_wanted: impl Fn(&str) -> bool) -> (Vec<String>, u64) {
        let (mut first, mut count) = (Vec::new(), 0);
        // What could not be read is not counted.
        let _unread = self.each_line(|line| {
            if is_wanted(line) {
                count += 1;
                if first.len() < ERROR_LINES_MAX {
                    first.push(line.to_owned());
                }
            }
        });
        (first, count)
    }

    /// Takes each line that has come up to now.
    fn each_line(&mut self, mut take: impl FnMut(&str)) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        self.seen = self.seen.min(length);
        file.seek(SeekFrom::Start(self.seen))?;
        let mut log = BufReader::new(file.take(length - self.seen));
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut log).take(LINE_MAX).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            self.seen += read as u64;
            let goes_on = line.last() != Some(&b'\n');
            if !std::mem::replace(&mut self.is_within, goes_on) {
                let text = String::from_utf8_lossy(&line);
                take(text.trim_end_matches(['\r', '\n']));
            }
        }
    }
}

/// The last of its lines that are not blank, as one.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let last = lines.len().saturating_sub(count);
    lines[last..].join(" | ")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn every_line_of_a_flood_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = ErrorLog::create(folder.path().join("error.log")).unwrap();
        let mut writer = log.writer().unwrap();
        let line = format!("{}\n", "x".repeat(1_023));
        let chunk = line.repeat(1_024);
        for _ in 0..17 {
            writer.write_all(chunk.as_bytes()).unwrap();
        }
        let (first, count) = log.gained();
        assert_eq!((first.len(), count), (ERROR_LINES_MAX, 17 * 1_024));
        assert_eq!(log.gained(), (Vec::new(), 0));
        writer.write_all(b"one more\n").unwrap();
        assert_eq!(log.gained(), (vec!["one more".to_owned()], 1));
    }

    /// What a server says with its last breath may have no end.
    #[test]
    fn a_line_that_comes_in_two_pieces_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = ErrorLog::create(folder.path().join("error.log")).unwrap();
        let mut writer = log.writer().unwrap();
        writer.write_all(b"first\nse").unwrap();
        assert_eq!(log.gained(), (vec!["first".to_owned(), "se".to_owned()], 2));
        writer.write_all(b"cond\nthird\n").unwrap();
        assert_eq!(log.gained(), (vec!["third".to_owned()], 1));
    }
}
