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

    /// Ends it: how many answers it gave, and how long each took, in nanoseconds and in order.
    pub(super) fn noted(mut self) -> Result<(u64, Vec<u32>)> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status();
        status.context("cannot start kill")?;
        let mut text = String::new();
        self.said.read_to_string(&mut text)?;
        let mut lines = text.lines();
        let answered = lines.next().context("the server told nothing")?.parse()?;
        let mut times = lines.map(str::parse).collect::<Result<Vec<u32>, _>>()?;
        times.sort_unstable();
        Ok((answered, times))
    }
}
