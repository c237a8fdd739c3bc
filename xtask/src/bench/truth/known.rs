//! The server that notes how long each of its answers took: a program in C, compiled here.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::WARMUP_MS;

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
    /// Starts it on that CPU with a law of delays.
    pub(super) fn start(program: &Path, cpu: u32, law: &[String]) -> Result<Self> {
        let mut child = Command::new(program)
            .args([&cpu.to_string(), &WARMUP_MS.to_string()])
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

/// What it noted: how many answers it gave, and how long those that count took, in nanoseconds and
/// in order.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Noted {
    pub(super) answered: u64,
    /// All of them.
    pub(super) all: Vec<u32>,
    /// The first of each connection.
    pub(super) first: Vec<u32>,
    /// The others.
    pub(super) later: Vec<u32>,
}

impl Noted {
    fn read(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let answered = lines.next().context("the server told nothing")?.parse()?;
        let (mut first, mut later): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for line in lines {
            match line.strip_suffix(" first") {
                Some(time) => first.push(time.parse()?),
                None => later.push(line.parse()?),
            }
        }
        let mut all = [first.as_slice(), later.as_slice()].concat();
        for times in [&mut all, &mut first, &mut later] {
            times.sort_unstable();
        }
        Ok(Self {
            answered,
            all,
            first,
            later,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_noted_is_in_order_and_apart() {
        let noted = Noted::read("7\n30\n20 first\n10\n40 first\n").unwrap();
        let expected = Noted {
            answered: 7,
            all: vec![10, 20, 30, 40],
            first: vec![20, 40],
            later: vec![10, 30],
        };
        assert_eq!(noted, expected);
        assert!(Noted::read("").is_err());
        assert!(Noted::read("1\n2 last\n").is_err());
    }
}
