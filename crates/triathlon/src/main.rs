//! The door: reads the command line, calls the room that does the work, prints, exits.

#![forbid(unsafe_code)]

mod cli;
mod cmd;
mod exit;
mod lua;
mod out;
mod place;
mod secrets;
mod shell;
mod tool;
mod tools;
mod whole;

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;

use self::secrets::Secrets;

fn main() -> ExitCode {
    // Where it cannot be asked for, a file that grows too large ends this program, as before.
    let _outlived = sys::process::outlive_file_limits();
    let mut words: Vec<_> = std::env::args_os().collect();
    let secrets = Secrets::hide(&words);
    if let Some(tool) = tools::of_program(&words) {
        words.insert(1, tool.name.into());
    }
    let ended = match cli::read(words) {
        Ok(cli) => cli.command.run(),
        Err(said) if said.use_stderr() && !secrets.is_empty() => {
            let said = secrets.without(&said.render().to_string());
            out::note(said.trim_end());
            return exit::Exit::Usage.into();
        }
        Err(said) if said.use_stderr() => said.exit(),
        Err(help) => tell(&help),
    };
    match ended {
        Ok(exit) => exit.into(),
        // Whoever took enough of the result needs no word about the rest.
        Err(error) if out::is_unread(&error) => exit::Exit::of(&error).into(),
        Err(error) => {
            let said = secrets.without(&sentence(&error));
            out::note(format_args!("triathlon: {said}"));
            exit::Exit::of(&error).into()
        }
    }
}

/// Prints what was asked of the command line itself: help, a version.
fn tell(help: &clap::Error) -> anyhow::Result<exit::Exit> {
    help.print()
        .and_then(|()| io::stdout().flush())
        .context(out::RESULT)?;
    Ok(exit::Exit::Done)
}

/// The error and its causes, of which some are words of the error already.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(|cause| without_code(&cause.to_string())) {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

/// What the system says of an error, without the number that only programs read.
fn without_code(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        said.push_str(rest.strip_prefix(')').unwrap_or(rest));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_not_for_people() {
        let error = io::Error::from_raw_os_error(2);
        let said = sentence(&anyhow::Error::new(error).context("cannot read a.toml"));
        assert_eq!(said, "cannot read a.toml: No such file or directory");
        assert_eq!(without_code("a (os error 13); b (os error 2)"), "a; b");
        assert_eq!(without_code("plain"), "plain");
    }
}
