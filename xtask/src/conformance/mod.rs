//! `cargo xtask conformance`: origin against suites that other people wrote for what it speaks, and
//! what came of it in `docs/conformance.md`.
//!
//! h2spec asks for the rules of HTTP/2, in clear and inside TLS; testssl.sh looks at TLS. Both run
//! against an origin of this folder, on the loopback device, for a limited time. What does not pass
//! is explained in `known`, or the task fails.

mod h2spec;
mod known;
mod page;
mod served;
#[cfg(test)]
mod tests;
mod testssl;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use self::served::Served;
use crate::command::{cargo, command, step};

/// What is written.
const PAGE: &str = "docs/conformance.md";

/// Runs it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask conformance");
    }
    step("origin", &mut cargo(&["build", "--package=triathlon"]))?;
    let folder = crate::root().join("target/conformance");
    fs::create_dir_all(folder.join("www")).context("cannot make target/conformance")?;
    // Long enough that the windows of tests hold it back.
    fs::write(folder.join("www/index.html"), "x".repeat(4_096))?;
    served::certify(&folder)?;
    let spec = h2spec::bring()?;
    let clear = {
        let served = Served::start(&folder, &[])?;
        h2spec::run(&spec, &served, false)?
    };
    let served = Served::start(&folder, &served::SECURE)?;
    let secure = h2spec::run(&spec, &served, true)?;
    let tls = testssl::run(&served)?;
    drop(served);
    let page = page::write(&clear, &secure, &tls);
    fs::write(crate::root().join(PAGE), &page.text)
        .with_context(|| format!("cannot write {PAGE}"))?;
    println!("{}", page.summary);
    if page.unexplained > 0 {
        bail!("{} results are not explained: see {PAGE}", page.unexplained);
    }
    Ok(())
}

/// A command that is ended when so many seconds have passed.
fn limited(seconds: u32, program: &PathBuf) -> Command {
    let mut limited = command("timeout");
    limited
        .args(["--kill-after=10", &seconds.to_string()])
        .arg(program);
    limited
}
