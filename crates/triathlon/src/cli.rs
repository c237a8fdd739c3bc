//! The command line: one table from which parsing, help, man pages and completions are made.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::cmd;
use crate::exit::Exit;
use crate::tools;

/// Web-server benchmarks that can be defended.
#[derive(Debug, Parser)]
#[command(name = "triathlon", version = crate::tool::BUILD, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the words of a command line, the first of which names the program.
pub(crate) fn read(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let command = with_negative_numbers(Cli::command());
    Cli::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Takes `-1` behind a flag for its value, so that the message is about the value and not about a
/// flag `-1`, which there is none of.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    command.mut_subcommands(with_negative_numbers)
}

/// The legs of the race.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take the command line of ab, ApacheBench, and print what it prints.
    Ab(tools::Words),
    /// Measure over a range of connections, as the wrapper abc does, and print what it prints.
    Abc(tools::Words),
    /// Make a range of addresses this machine's own, for load from many sources, and take it back.
    Addresses(cmd::addresses::Args),
    /// Make load for others: an agent on this machine takes orders over NATS.
    Agent(cmd::agent::Args),
    /// Compare two results: ratios with intervals, and answers.
    Compare(cmd::compare::Args),
    /// Examine this machine, or a file of kernel settings, before anyone believes a number.
    Doctor(cmd::doctor::Args),
    /// Write man pages and shell completions.
    Generate(cmd::generate::Args),
    /// Judge stored trials again, by the rules of this program.
    Judge(cmd::judge::Args),
    /// Take the command line of h2load, and print what it prints.
    H2load(tools::Words),
    /// Take the command line of hey, and print what it prints.
    Hey(tools::Words),
    /// Run an experiment: real servers, randomised rounds, a report.
    Lab(cmd::lab::Args),
    /// Load a web server and measure how it answers.
    Load(Box<cmd::load::Args>),
    /// Take the command line of oha, and print what it prints.
    Oha(tools::Words),
    /// Make one small file of a results directory, to be kept in a repository.
    Pack(cmd::pack::Args),
    /// Time what operations of the kernel cost against how many there are already.
    Probe(cmd::probe::Args),
    /// Make the report of stored trials: one HTML file, CSV, PDF.
    Report(cmd::report::Args),
    /// Serve the files of a folder: origin, the embedded web server.
    Serve(cmd::serve::Args),
    /// Take the command line of weighttp, and print what it prints.
    Weighttp(tools::Words),
    /// Take the command line of wrk, and print what it prints.
    Wrk(tools::Words),
    /// Take the command line of wrk2, and print what it prints.
    Wrk2(tools::Words),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Ab(words) => tools::run("ab", &words),
            Self::Abc(words) => tools::run("abc", &words),
            Self::Addresses(args) => cmd::addresses::run(&args),
            Self::Agent(args) => cmd::agent::run(&args),
            Self::Compare(args) => cmd::compare::run(&args),
            Self::Doctor(args) => cmd::doctor::run(&args),
            Self::Generate(args) => cmd::generate::run(&args, &Cli::command()),
            Self::Judge(args) => cmd::judge::run(&args),
            Self::Lab(args) => cmd::lab::run(&args),
            Self::Load(args) => cmd::load::run(&args),
            Self::Pack(args) => cmd::pack::run(&args),
            Self::Probe(args) => cmd::probe::run(&args),
            Self::Report(args) => cmd::report::run(&args),
            Self::Serve(args) => cmd::serve::run(args),
            Self::H2load(words) => tools::run("h2load", &words),
            Self::Hey(words) => tools::run("hey", &words),
            Self::Oha(words) => tools::run("oha", &words),
            Self::Weighttp(words) => tools::run("weighttp", &words),
            Self::Wrk2(words) => tools::run("wrk2", &words),
            Self::Wrk(words) => tools::run("wrk", &words),
        }
    }
}
