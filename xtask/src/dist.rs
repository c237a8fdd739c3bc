//! `cargo xtask dist`: the release binary, its licences and its documents in one archive.

use anyhow::{Context as _, Result};

use crate::command::{cargo, command, output, step};

/// Runs it.
pub(crate) fn run(_: &[String]) -> Result<()> {
    step(
        "release binary",
        &mut cargo(&["build", "--release", "--locked", "--package=triathlon"]),
    )?;
    let rustc = output(command("rustc").arg("-vV")).context("cannot ask rustc for its host")?;
    let host = rustc
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc names no host")?;
    let archive = format!("target/triathlon-{host}.tar.gz");
    let mut tar = command("tar");
    tar.args(["--create", "--gzip", "--file", &archive])
        .args([
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "README.md",
            "METHODOLOGY.md",
        ])
        .args(["experiments", "--directory=target/release", "triathlon"]);
    step("archive", &mut tar)?;
    println!("{archive}");
    Ok(())
}
