//! `cargo xtask bless`: changed snapshots are looked at, or accepted as they are.

use anyhow::{Result, bail};

use crate::command::{cargo, output, step};

/// Runs it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let tests = ["test", "--workspace", "--no-fail-fast", "--quiet"];
    match arguments {
        [] => {
            if output(&mut cargo(&["insta", "--version"])).is_none() {
                bail!(
                    "reviewing needs cargo-insta: cargo install --locked cargo-insta; \
                     or accept all changes with `cargo xtask bless --accept` and read `git diff`"
                );
            }
            // A snapshot that differs fails its test; the review below is what decides.
            if let Err(error) = step("tests", cargo(&tests).env("INSTA_UPDATE", "new")) {
                println!("{error:#}: that is what the review is for");
            }
            step("review", &mut cargo(&["insta", "review"]))
        }
        [flag] if flag == "--accept" => {
            step("tests", cargo(&tests).env("INSTA_UPDATE", "always"))?;
            println!("accepted; read `git diff` before committing");
            Ok(())
        }
        _ => bail!("usage: cargo xtask bless [--accept]"),
    }
}
