//! The command line: one table from which parsing, help, man pages and completions are made.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::cmd;
use crate::exit::Exit;
use crate::tools;

/// Web-server benchmarks that can be defended.
#[derive(Debug, Parser)]
#[command(name = "triathlon", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The legs of the race.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take the command line of ab, ApacheBench, and print what it prints.
    Ab(tools::Words),
    /// Lay two results over each other.
    Compare(cmd::compare::Args),
    /// Examine this machine, or a file of kernel settings, before anyone believes a number.
    Doctor(cmd::doctor::Args),
    /// Write man pages and shell completions.
    Generate(cmd::generate::Args),
    /// Judge stored trials again, by the rules of this program.
    Judge(cmd::judge::Args),
    /// Run an experiment: real servers, randomised rounds, a report.
    Lab(cmd::lab::Args),
    /// Make load on a web server and measure how it answers.
    Load(Box<cmd::load::Args>),
    /// Time what the kernel does against how much of it there is already.
    Probe(cmd::probe::Args),
    /// Make the report of stored trials: one HTML file, CSV, PDF.
    Report(cmd::report::Args),
    /// Serve the files of a folder: origin, the embedded web server.
    Serve(cmd::serve::Args),
    /// Take the command line of wrk, and print what it prints.
    Wrk(tools::Words),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Ab(words) => tools::run("ab", &words),
            Self::Compare(args) => cmd::compare::run(&args),
            Self::Doctor(args) => cmd::doctor::run(&args),
            Self::Generate(args) => cmd::generate::run(&args, &Cli::command()),
            Self::Judge(args) => cmd::judge::run(&args),
            Self::Lab(args) => cmd::lab::run(&args),
            Self::Load(args) => cmd::load::run(&args),
            Self::Probe(args) => cmd::probe::run(&args),
            Self::Report(args) => cmd::report::run(&args),
            Self::Serve(args) => cmd::serve::run(args),
            Self::Wrk(words) => tools::run("wrk", &words),
        }
    }
}
