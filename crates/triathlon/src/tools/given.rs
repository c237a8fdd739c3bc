//! What was typed, by the table of flags of the tool that it was typed for.

use std::ffi::OsString;

use super::Tool;
use super::flag::{Flag, Here};
use crate::exit::UsageError;

/// How a tool reads its command line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Grammar {
    /// Letters that can be joined (`-kc10`), and long names that can be cut short (`--dur=1`), as
    /// getopt has it.
    Getopt,
    /// Words behind one or two dashes (`-disable-keepalive`, `-n=10`), as Go has it.
    Go,
}

/// A command line that was understood: each flag in it is one that is done.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Each flag with its value as read; empty where it has none.
    pub(super) flags: Vec<(&'static Flag, String)>,
    /// What is no flag: URLs.
    pub(crate) operands: Vec<String>,
    /// What stands behind `--`.
    pub(crate) rest: Vec<String>,
}

impl Given {
    /// Reads the words that follow the name of `tool`.
    pub(crate) fn read(tool: &Tool, words: &[OsString]) -> Result<Self, UsageError> {
        let mut given = Self::default();
        let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            if word == "--" {
                given.rest.extend(words.by_ref());
            } else if word.len() < 2 || !word.starts_with('-') {
                given.operands.push(word);
            } else {
                given.take(tool, &word, &mut words)?;
            }
        }
        Ok(given)
    }

    /// Takes a word that begins with a dash, and the value behind it.
    fn take(
        &mut self,
        tool: &Tool,
        word: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<(), UsageError> {
        if tool.grammar == Grammar::Getopt && !word.starts_with("--") {
            return self.take_letters(tool, word, words);
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let flag = match tool.grammar {
            Grammar::Go => tool.named(&name.replacen("--", "-", 1)),
            Grammar::Getopt => tool.named(name).or_else(|| tool.cut_short(name)),
        };
        let flag = flag.ok_or_else(|| unknown(tool, name))?;
        let value = match (flag.value, value) {
            (None, Some(value)) if tool.grammar == Grammar::Go && value == "false" => return Ok(()),
            (None, Some(value)) if tool.grammar == Grammar::Getopt || value != "true" => {
                return Err(wrong(tool, flag, "it takes no value"));
            }
            (None, _) => String::new(),
            (Some(_), Some(value)) => value,
            (Some(_), None) => words.next().ok_or_else(|| lacks(tool, flag))?,
        };
        self.put(tool, flag, &value)
    }

    /// Letters that are joined; the last one may have its value behind it.
    fn take_letters(
        &mut self,
        tool: &Tool,
        word: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<(), UsageError> {
        for (at, letter) in word.char_indices().skip(1) {
            let name = format!("-{letter}");
            let flag = tool.named(&name).ok_or_else(|| unknown(tool, &name))?;
            if flag.value.is_none() {
                self.put(tool, flag, "")?;
                continue;
            }
            let behind = &word[at + letter.len_utf8()..];
            let value = if behind.is_empty() {
                words.next().ok_or_else(|| lacks(tool, flag))?
            } else {
                behind.to_owned()
            };
            return self.put(tool, flag, &value);
        }
        Ok(())
    }

    fn put(&mut self, tool: &Tool, flag: &'static Flag, value: &str) -> Result<(), UsageError> {
        if let Here::Refused(why) = flag.here {
            return Err(wrong(tool, flag, why));
        }
        let value = match flag.value {
            None => String::new(),
            Some((_, read)) => read(value).map_err(|why| {
                let why = if flag.is_secret {
                    why
                } else {
                    format!("'{value}': {why}")
                };
                wrong(tool, flag, &why)
            })?,
        };
        self.flags.push((flag, value));
        Ok(())
    }

    /// Whether the flag of this name was given.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Whether a flag that does this was given.
    pub(crate) fn asks(&self, here: Here) -> bool {
        self.flags.iter().any(|(flag, _)| flag.here == here)
    }

    /// Whether a field of that name is given with `-H`, which stands in the place of a usual one.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        let mut fields = self
            .flags
            .iter()
            .filter(|(flag, _)| flag.names.contains(&"-H"));
        fields.any(|(_, value)| {
            let field = value.split(':').next().unwrap_or_default();
            field.trim().eq_ignore_ascii_case(name)
        })
    }

    /// The last value of the flag of this name, as read.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let mut backwards = self.flags.iter().rev();
        let last = backwards.find(|(flag, _)| flag.names.contains(&name));
        last.map(|(_, value)| value.as_str())
    }

    /// Whether this flag was given, and not that one after it.
    pub(crate) fn is_last(&self, this: &str, that: &str) -> bool {
        let mut backwards = self.flags.iter().rev();
        let last =
            backwards.find(|(flag, _)| flag.names.contains(&this) || flag.names.contains(&that));
        last.is_some_and(|(flag, _)| flag.names.contains(&this))
    }

    /// The last value of the flag of this name as a number, or `usual` where there is none.
    pub(crate) fn number(&self, name: &str, usual: u64) -> u64 {
        let value = self.value(name);
        value.and_then(|text| text.parse().ok()).unwrap_or(usual)
    }

    /// The one URL.
    pub(crate) fn url(&self, tool: &Tool) -> Result<&str, UsageError> {
        match self.operands.as_slice() {
            [url] => Ok(url),
            [] => Err(UsageError(format!(
                "{}: there is no URL: write '{}'",
                tool.name, tool.usage
            ))),
            [_, more, ..] => Err(UsageError(format!(
                "{}: '{more}': give one URL; triathlon load takes several",
                tool.name
            ))),
        }
    }

    /// The flags of `triathlon load` that the table has for what was given.
    pub(crate) fn load(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (index, (flag, value)) in self.flags.iter().enumerate() {
            let is_last = || {
                let mut after = self.flags[index + 1..].iter();
                !after.any(|(later, _)| later.names == flag.names)
            };
            if let Here::Load(template) = flag.here
                && (flag.is_many || is_last())
            {
                let template = template.split(' ');
                words.extend(template.map(|word| word.replace("{}", value)));
            }
        }
        words
    }
}

fn unknown(tool: &Tool, name: &str) -> UsageError {
    UsageError(format!(
        "{0}: {name} is not a flag of {0}: 'triathlon {0} {1}' lists them",
        tool.name, tool.help
    ))
}

fn lacks(tool: &Tool, flag: &Flag) -> UsageError {
    wrong(tool, flag, "it needs a value after it")
}

fn wrong(tool: &Tool, flag: &Flag, why: &str) -> UsageError {
    UsageError(format!("{}: {}: {why}", tool.name, flag.shown()))
}
