//! The server that notes how long each of its answers took: a program in C, compiled here.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Compiles it into `folder`: its path.
pub(super) fn compile(folder: &Path) -> Result<PathBuf> {
    let source = crate::root().join("xtask/src/bench/truth/known.c");
    let program = folder.join("known");
    let status = Command::new("cc")
        .args(["-O2", "-o"])
        .args([&program, &source])
        .arg("-lm")
        .status()
        .context("cannot start cc (apt-get install gcc libc6-dev)")?;
    if !status.success() {
        bail!("{} does not compile", source.display());
    }
    Ok(program)
}

/// One that runs until this value is dropped.
pub(super) struct Known {
    pub(super) address: SocketAddr,
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Drop for Known {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Known {
    /// Starts it on that CPU with a law of delays. Its first stall is told by how long a load warms
    /// up.
    pub(super) fn start(program: &Path, cpu: u32, warmup_ms: u32, law: &[String]) -> Result<Self> {
        let mut child = Command::new(program)
            .args([&cpu.to_string(), &warmup_ms.to_string()])
            .args(law)
            // Each law has as many words as the longest.
            .args(["0", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut said = BufReader::new(child.stdout.take().context("stdout was piped")?);
        let mut line = String::new();
        said.read_line(&mut line)?;
        let port: Option<u16> = line.rsplit(' ').next().and_then(|p| p.trim().parse().ok());
        let Some(port) = port else {
            bail!("the server did not say where it listens but: {line}");
        };
        Ok(Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            child,
            said,
        })
    }

    /// Ends it: what it noted.
    pub(super) fn noted(mut self) -> Result<Noted> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status();
        status.context("cannot start kill")?;
        let mut text = String::new();
        self.said.read_to_string(&mut text)?;
        Noted::read(&text)
    }
}

/// What it knows of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Note {
    /// When its request was received, in nanoseconds of the clock of the day.
    pub(super) received: i64,
    /// How long it took from then, in nanoseconds.
    pub(super) took: u32,
    /// Whether it was the first on its connection.
    pub(super) is_first: bool,
}

/// What it noted: how many answers it gave, and what it knows of them, in the order in which it was
/// asked.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Noted {
    pub(super) answered: u64,
    notes: Vec<Note>,
}

impl Noted {
    pub(super) fn read(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let answered = lines.next().context("the server told nothing")?.parse()?;
        let mut notes: Vec<Note> = lines.map(Note::read).collect::<Result<_>>()?;
        notes.sort_by_key(|note| note.received);
        Ok(Self { answered, notes })
    }

    /// `count` in a row that it was asked for before the last `after`, where there are so many.
    pub(super) fn before(&self, after: usize, count: usize) -> Option<&[Note]> {
        let to = self.notes.len().checked_sub(after)?;
        self.notes.get(to.checked_sub(count)?..to)
    }
}

impl Note {
    fn read(line: &str) -> Result<Self> {
        let wrong = || format!("the server noted: {line}");
        let (line, is_first) = match line.strip_suffix(" first") {
            Some(line) => (line, true),
            None => (line, false),
        };
        let (received, took) = line.split_once(' ').with_context(wrong)?;
        Ok(Self {
            received: received.parse().with_context(wrong)?,
            took: took.parse().with_context(wrong)?,
            is_first,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_noted_is_in_the_order_in_which_it_was_asked() {
        let noted = Noted::read("7\n30 5\n20 9 first\n10 6\n40 8 first\n").unwrap();
        assert_eq!(noted.answered, 7);
        let before = |after, count| {
            let found = noted.before(after, count)?.iter();
            Some(
                found
                    .map(|note| (note.took, note.is_first))
                    .collect::<Vec<_>>(),
            )
        };
        let all = [(6, false), (9, true), (5, false), (8, true)];
        assert_eq!(before(0, 4), Some(all.to_vec()));
        assert_eq!(before(1, 2), Some(all[1..3].to_vec()));
        assert_eq!((before(0, 5), before(5, 0)), (None, None));
        assert!(Noted::read("").is_err());
        assert!(Noted::read("1\n2\n").is_err());
        assert!(Noted::read("1\n2 3 last\n").is_err());
    }
}
