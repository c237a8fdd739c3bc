//! Other people's tools: their command lines are taken, and what they print is printed, from a
//! record of ours. What the run is worth stands on standard error.
//!
//! A tool is a table of its flags, each done or refused, and a renderer of its output. Everything
//! is measured as `triathlon load` does it: a tool only says with which flags.

mod ab;
mod abc;
mod figures;
mod finished;
mod flag;
mod given;
mod h2load;
mod hey;
mod oha;
mod spread;
mod typed;
mod weighttp;
mod wrk;
mod wrk2;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Parser as _;
use model::{Span, Trial};
use report::text::Style;

pub(crate) use self::finished::finished;
use self::flag::{Flag, Here};
use self::given::{Given, Grammar};
use crate::cmd::load;
use crate::exit::{Exit, UsageError};
use crate::lua::Ended;
use crate::out;

/// Another tool.
#[derive(Debug)]
pub(crate) struct Tool {
    /// The name of the program.
    pub(crate) name: &'static str,
    /// The form of its command line.
    pub(crate) usage: &'static str,
    /// The flag that prints the help.
    pub(crate) help: &'static str,
    /// How it reads its command line.
    pub(crate) grammar: Grammar,
    /// Each of its flags.
    pub(crate) flags: &'static [Flag],
    /// Command lines, each with what it does.
    pub(crate) examples: &'static [(&'static str, &'static str)],
    /// What is not as it is there, a sentence each.
    pub(crate) differs: &'static [&'static str],
    /// What it does with a command line that was understood.
    pub(crate) work: Work,
}

/// What a tool does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// One run of `triathlon load`.
    Load {
        /// The run that is asked for.
        asked: fn(&Given, &str) -> Result<Asked, UsageError>,
        /// What the tool prints of it.
        told: fn(&Given, &str, &Trial) -> anyhow::Result<String>,
    },
    /// Runs of its own.
    Own(fn(&Given) -> anyhow::Result<Exit>),
}

/// A run of `triathlon load`.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Its flags beside those that the table has.
    pub(crate) words: Vec<String>,
    /// It ends after so long, whatever is left to do.
    pub(crate) most: Option<Span>,
}

/// All of them.
pub(crate) const ALL: &[&Tool] = &[
    &ab::TOOL,
    &abc::TOOL,
    &h2load::TOOL,
    &hey::TOOL,
    &oha::TOOL,
    &weighttp::TOOL,
    &wrk::TOOL,
    &wrk2::TOOL,
];

/// The words behind the name of a tool.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Words {
    /// What the tool of this name takes
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// The flags of `triathlon load`, as a command line of their own.
#[derive(clap::Parser, Debug)]
struct Native {
    #[command(flatten)]
    args: load::Args,
}

/// The tool whose command line this is: by the name of the program, as with a link, or by the
/// first argument.
pub(crate) fn of_command_line(words: &[OsString]) -> Option<&'static Tool> {
    let by_link = of_program(words);
    by_link.or_else(|| words.get(1).and_then(|word| named(word)))
}

/// The tool that the program is named like.
pub(crate) fn of_program(words: &[OsString]) -> Option<&'static Tool> {
    let program = words.first().map(Path::new).and_then(Path::file_name);
    program.and_then(named)
}

fn named(name: &OsStr) -> Option<&'static Tool> {
    ALL.iter().copied().find(|tool| name == tool.name)
}

/// Runs the tool of this name.
pub(crate) fn run(name: &str, words: &Words) -> anyhow::Result<Exit> {
    let tool = named(name.as_ref()).expect("each subcommand of a tool names one");
    let is_help = words.words == ["--help"];
    let given = match is_help {
        true => Given::default(),
        false => Given::read(tool, &words.words)?,
    };
    if is_help || given.asks(Here::Help) {
        out::write(&tool.help_text())?;
        return Ok(Exit::Done);
    }
    if given.asks(Here::Version) {
        let build = crate::tool::BUILD;
        out::line(format_args!("{name} as triathlon {build} has it"))?;
        return Ok(Exit::Done);
    }
    match tool.work {
        Work::Load { asked, told } => {
            let url = given.url(tool)?;
            let (trial, script) = measured(tool, &given, url, asked(&given, url)?)?;
            tell_worth(&trial);
            out::write(&told(&given, url, &trial)?)?;
            let exit = load::exit_of(&trial);
            match script {
                Some(script) => script.finish(finished(&trial), exit),
                None => Ok(exit),
            }
        }
        Work::Own(run) => run(&given),
    }
}

/// What the trial is worth, on standard error.
fn tell_worth(trial: &Trial) {
    let verdict = report::text::verdict(&trial.verdict, Style::default());
    out::note(verdict.trim_end());
}

/// Makes the run.
fn measured(
    tool: &Tool,
    given: &Given,
    url: &str,
    asked: Asked,
) -> anyhow::Result<(Trial, Option<Ended>)> {
    let mut words = vec!["load".to_owned(), url.to_owned()];
    words.extend(given.load());
    words.extend(asked.words);
    let native = Native::try_parse_from(words).map_err(|error| {
        let said = error.to_string();
        let said = given.in_flags_of(tool, typed::of_reader(&said));
        UsageError(format!("{}: {said}", tool.name))
    })?;
    load::measured(&native.args, asked.most).map_err(|error| typed::retold(tool, given, error))
}

/// The method and the type of the content, as ab and weighttp have flags for them.
fn method_and_kind(given: &Given) -> Vec<String> {
    let mut words = Vec::new();
    if given.is("-p") || given.is("-u") {
        let kind = given.value("-T").unwrap_or("text/plain");
        words.push(format!("--header=Content-Type: {kind}"));
    }
    let method = if given.is("-i") {
        Some("HEAD")
    } else if given.is("-u") {
        Some("PUT")
    } else {
        given.value("-m")
    };
    words.extend(method.map(|method| format!("--request={method}")));
    words
}

/// A field that a tool sends unless another one of its name is given.
fn usual(given: &Given, name: &str, value: &str) -> Option<String> {
    (!given.has_field(name)).then(|| format!("--header={name}: {value}"))
}

fn is_secure(url: &str) -> bool {
    let scheme = url.get(..8);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

/// These tools take any certificate.
fn unverified(url: &str) -> Option<String> {
    is_secure(url).then(|| "--insecure".to_owned())
}

/// HTTP/2 as it is had from such a URL: by ALPN, or by prior knowledge.
fn http2(url: &str) -> String {
    let flag = match is_secure(url) {
        true => "--http2",
        false => "--http2-prior-knowledge",
    };
    flag.to_owned()
}

impl Tool {
    /// Flags whose values are secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &'static str> {
        let those = self.flags.iter().filter(|flag| flag.is_secret);
        those.flat_map(|flag| flag.names.iter().copied())
    }

    /// The flag of this name.
    fn named(&self, name: &str) -> Option<&'static Flag> {
        self.flags.iter().find(|flag| flag.names.contains(&name))
    }

    /// The one flag whose long name begins so.
    fn cut_short(&self, name: &str) -> Option<&'static Flag> {
        let begins = |flag: &&Flag| flag.names.iter().any(|long| long.starts_with(name));
        let mut those = self.flags.iter().filter(begins);
        those.next().filter(|_| those.next().is_none())
    }

    /// What its help says.
    fn help_text(&self) -> String {
        let mut text = format!("Usage: {}\n\n", self.usage);
        for flag in self.flags {
            let value = flag.value.map_or("", |(name, _)| name);
            let typed = format!("{} {value}", flag.names.join(", "));
            let refused = if let Here::Refused(_) = flag.here {
                " (refused)"
            } else {
                ""
            };
            text += &format!("  {:<30} {}{refused}\n", typed.trim_end(), flag.about);
        }
        text += "\nExamples:\n";
        for (line, does) in self.examples {
            text += &format!("  {line}\n      {does}\n");
        }
        text += &format!("\nDifferent from {}:\n", self.name);
        for sentence in self.differs {
            text += &format!("  {sentence}\n");
        }
        text += &format!(
            "\nTriathlon measures, and prints what {} prints; the verdict goes to \
             standard\nerror. docs/tools.md says what each flag does.\n",
            self.name
        );
        text
    }
}

#[cfg(test)]
mod page;

#[cfg(test)]
mod tests;
