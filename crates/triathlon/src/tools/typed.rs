//! What `triathlon load` says of its own flags, in those that were typed for another tool.

use super::Tool;
use super::flag::{Flag, Here};
use super::given::Given;
use crate::exit::{Exit, UsageError};

/// The error of a run that `given` asks for, in the flags of `tool`.
pub(super) fn retold(tool: &Tool, given: &Given, error: anyhow::Error) -> anyhow::Error {
    let said = crate::sentence(&error);
    let told = given.in_flags_of(tool, &said);
    if told == said {
        return error;
    }
    let told = format!("{}: {told}", tool.name);
    match Exit::of(&error) {
        Exit::Usage => UsageError(told).into(),
        _ => anyhow::Error::msg(told),
    }
}

/// What the reader of our flags says of one, without what it says of all.
pub(super) fn of_reader(said: &str) -> &str {
    let said = said.trim_start_matches("error: ");
    let ends = ["\n\nUsage:", "\n\nFor more information"];
    let end = ends.iter().filter_map(|end| said.find(end)).min();
    said[..end.unwrap_or(said.len())].trim()
}

impl Given {
    /// `said` with the flags of `tool` in the place of those of `triathlon load`.
    pub(super) fn in_flags_of(&self, tool: &Tool, said: &str) -> String {
        let mut told = String::new();
        let mut rest = said;
        while let Some(at) = rest.find("--") {
            let (before, from) = rest.split_at(at);
            let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
            let (native, behind) = from.split_at(end);
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
            match self.typed_for(tool, native, said).filter(|_| begins) {
                Some(typed) => {
                    told.push_str(without_letter(before));
                    told.push_str(&typed);
                }
                None => {
                    told.push_str(before);
                    told.push_str(native);
                }
            }
            rest = behind;
        }
        told + rest
    }

    /// What was typed for a flag of `triathlon load`: of several, those whose value is spoken of.
    /// Where nothing was typed it is the flag that `tool` has for it.
    fn typed_for(&self, tool: &Tool, native: &str, said: &str) -> Option<String> {
        let is_for = |flag: &Flag| natives(flag).any(|one| one == native);
        let typed: Vec<_> = self.flags.iter().filter(|(flag, _)| is_for(flag)).collect();
        let is_told = |value: &str| {
            let value = value.trim_start_matches('@');
            !value.is_empty() && said.contains(value)
        };
        let told: Vec<_> = typed.iter().filter(|(_, value)| is_told(value)).collect();
        let mut names: Vec<String> = match told.is_empty() {
            true => typed.iter().map(|(flag, _)| flag.shown()).collect(),
            false => told.iter().map(|(flag, _)| flag.shown()).collect(),
        };
        names.dedup();
        if names.is_empty() {
            return tool.flags.iter().find(|flag| is_for(flag)).map(Flag::shown);
        }
        Some(names.join(" or "))
    }
}

/// `-H/` before `--header` is the same flag.
fn without_letter(before: &str) -> &str {
    let letter = before.strip_suffix('/').and_then(|rest| {
        let rest = rest.strip_suffix(|c: char| c.is_ascii_alphabetic())?;
        rest.strip_suffix('-')
    });
    letter.unwrap_or(before)
}

/// The flags of `triathlon load` that a flag comes to.
fn natives(flag: &Flag) -> impl Iterator<Item = &'static str> {
    let text = match flag.here {
        Here::Load(template) => template,
        Here::Done(how) if how.starts_with("--") => how,
        _ => "",
    };
    let words = text.split(' ').filter(|word| word.starts_with("--"));
    words.map(|word| {
        let end = word.find(['=', ',', ';', ':']);
        &word[..end.unwrap_or(word.len())]
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::given;
    use super::super::{ab, hey, oha, wrk};
    use super::*;

    #[test]
    fn errors_name_the_flag_that_was_typed() {
        let check = |tool: &Tool, line: &str, said: &str, expected: &str| {
            let given = given(tool, &format!("{line} http://h/"));
            assert_eq!(given.in_flags_of(tool, said), expected, "{line}");
        };
        let said = "--data: cannot read nofile";
        check(&ab::TOOL, "-p nofile", said, "-p: cannot read nofile");
        check(&ab::TOOL, "-u nofile", said, "-u: cannot read nofile");
        check(&hey::TOOL, "-d x -D nofile", said, "-D: cannot read nofile");
        let said = "-H/--header: 'X' has no colon";
        check(&wrk::TOOL, "-H X", said, "-H/--header: 'X' has no colon");
        check(&ab::TOOL, "-C a=1 -H X", said, "-H: 'X' has no colon");
        let said = "--lua: cannot read x.lua";
        check(
            &wrk::TOOL,
            "-s x.lua",
            said,
            "-s/--script: cannot read x.lua",
        );
        let said = "--threads are more than --connections";
        let told = "-t/--threads are more than -c/--connections";
        check(&wrk::TOOL, "-t 3 -c 2", said, told);
        check(&wrk::TOOL, "", said, told);
        check(&oha::TOOL, "-n 3", "more than --requests", "more than -n");
        let said = "say --resolve, or a--data";
        check(&ab::TOOL, "-p f", said, said);
    }

    #[test]
    fn of_what_our_reader_says_the_first_part_is_told() {
        let said = "error: invalid value 'x' for '--cpus <LIST>'\n\nUsage: load [OPTIONS]\n\nFor \
                    more information, try '--help'.\n";
        assert_eq!(of_reader(said), "invalid value 'x' for '--cpus <LIST>'");
    }
}
