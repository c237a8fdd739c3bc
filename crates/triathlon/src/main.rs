//! The door: reads the command line, calls the room that does the work, prints, exits.

#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the only crate that speaks to the person at the terminal; results go by `out`"
)]

mod cli;
mod cmd;
mod exit;
mod out;
mod tool;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.command.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("triathlon: {}", sentence(&error));
            exit::Exit::of(&error).into()
        }
    }
}

/// The error and its causes, of which some are words of the error already.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}
