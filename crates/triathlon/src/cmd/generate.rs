//! `triathlon generate DIR`: man pages and shell completions, from the table that reads the
//! command line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Command;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon generate help-files
      Write triathlon.1 and a page for each subcommand to help-files/man1, and completions for
      bash, zsh and fish beside it.
  triathlon generate ~/.local/share/triathlon; man -M ~/.local/share/triathlon triathlon-load
      Read one.";

/// The shells that have completions, and the file name that each looks for.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "triathlon.bash"),
    (Shell::Zsh, "_triathlon"),
    (Shell::Fish, "triathlon.fish"),
];

/// Arguments of `triathlon generate`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder to write to; it is made where it is missing
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

/// Runs it for the whole program, `all`.
pub(crate) fn run(args: &Args, all: &Command) -> anyhow::Result<Exit> {
    let pages = args.to.join("man1");
    fs::create_dir_all(&pages).with_context(|| format!("cannot make {}", pages.display()))?;
    clap_mangen::generate_to(all.clone(), &pages)
        .with_context(|| format!("cannot write to {}", pages.display()))?;
    for (shell, name) in SHELLS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut all.clone(), "triathlon", &mut text);
        write(&args.to.join(name), &text)?;
    }
    out::note(format_args!("Wrote {}.", args.to.display()));
    Ok(Exit::Done)
}

fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
