//! Directives that an experiment sets in a server's own words, and its limits of connections that
//! last: how its folder says that they are written, and their way into its configuration.

use model::experiment::{KeepAlive, ServerFile, ServerVariant};

use super::super::file::{KeepAliveToml, SettingsToml};
use super::read::Reader;
use super::{Process, Product};
use crate::server::ServerError;

/// How directives of one file are written.
#[derive(Clone, Debug)]
pub(super) struct Directives {
    /// The file, as it is called below the private folder.
    file: String,
    /// A line, with `{name}` and `{value}`.
    line: String,
    /// The line behind which those stand that the file does not have; empty: at its end.
    after: String,
    /// Where its folder says so.
    after_place: String,
    /// What limits the requests of a connection: the directive, and its value for no limit.
    requests: Option<(String, String)>,
    /// What limits the time of a connection on which nothing comes, in seconds.
    idle: Option<String>,
}

impl Directives {
    /// Whether they are written into that file.
    pub(super) fn are_in(&self, file: &str) -> bool {
        self.file == file
    }

    /// What a folder says of them, if it says anything; its `processes` write the files.
    pub(super) fn read(
        reader: &Reader<'_>,
        settings: Option<SettingsToml>,
        keep_alive: Option<KeepAliveToml>,
        processes: &[Process],
    ) -> Result<Option<Self>, ServerError> {
        let wrong = |key: &str, why: String| Err(reader.wrong(key, why, None));
        let Some(settings) = settings else {
            return match keep_alive {
                Some(_) => wrong(
                    "keep_alive",
                    "[settings] must say how its directives are written".to_owned(),
                ),
                None => Ok(None),
            };
        };
        let files = processes.iter().flat_map(|process| &process.files);
        let files: Vec<&str> = files.map(|(name, _)| name.as_str()).collect();
        if !files.contains(&settings.file.as_str()) {
            let why = format!("no process has this file; there are {}", files.join(", "));
            return wrong("settings.file", why);
        }
        if let Some(part) = ["{name}", "{value}"]
            .into_iter()
            .find(|part| !settings.line.contains(part))
        {
            return wrong("settings.line", format!("the line lacks {part}"));
        }
        let keep_alive = keep_alive.unwrap_or_default();
        if keep_alive.requests.is_some() != keep_alive.unlimited.is_some() {
            let why = "give both requests and unlimited, its value for no limit, or neither";
            return wrong("keep_alive", why.to_owned());
        }
        Ok(Some(Self {
            file: settings.file,
            line: settings.line,
            after: settings.after.trim().to_owned(),
            after_place: reader.place_of("settings.after"),
            requests: keep_alive.requests.zip(keep_alive.unlimited),
            idle: keep_alive.idle,
        }))
    }

    /// `text` with each directive set. One that it has is replaced; one that it has only within
    /// a section of its own is taken out there, for it is to hold everywhere. `source` is what the
    /// text was made of.
    fn set(
        &self,
        text: &str,
        source: &str,
        directives: &[(String, String)],
    ) -> Result<String, String> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (name, value) in directives {
            let set = self.set_one(&mut lines, name, value);
            set.map_err(|Nowhere| {
                format!(
                    "{}: {source} has no line '{}', behind which '{name}' is to stand",
                    self.after_place, self.after
                )
            })?;
        }
        let mut text = lines.join("\n");
        text.push('\n');
        Ok(text)
    }

    fn set_one(&self, lines: &mut Vec<String>, name: &str, value: &str) -> Result<(), Nowhere> {
        let line = self.line.replace("{name}", name).replace("{value}", value);
        let behind = lines.iter().position(|line| line.trim() == self.after);
        let behind = behind.filter(|_| !self.after.is_empty());
        // Deeper than this is a section of its own.
        let deepest = behind.map_or(0, |index| indent(&lines[index]) + INDENT);
        let is_it = |line: &String| first_word(line).eq_ignore_ascii_case(name);
        let place = lines
            .iter()
            .position(|line| is_it(line) && indent(line) <= deepest);
        let (index, blanks) = match (place, behind) {
            (Some(index), _) => (index, blanks(&lines[index]).to_owned()),
            (None, Some(index)) => (index + 1, blanks_within(lines, index)),
            (None, None) if self.after.is_empty() => (lines.len(), String::new()),
            (None, None) => return Err(Nowhere),
        };
        lines.insert(index, format!("{blanks}{line}"));
        let mut number = 0;
        lines.retain(|line| {
            number += 1;
            number == index + 1 || !is_it(line)
        });
        Ok(())
    }
}

/// There is no place for a directive: the line is missing behind which it is to stand.
struct Nowhere;

/// By how much the lines of a section are indented in the folders of the program.
const INDENT: usize = 4;

/// How far a line is indented: a tab leads to the next multiple of [`INDENT`].
fn indent(line: &str) -> usize {
    blanks(line).chars().fold(0, |column, blank| match blank {
        '\t' => (column / INDENT + 1) * INDENT,
        _ => column + 1,
    })
}

/// What a line is indented by.
fn blanks(line: &str) -> &str {
    let text = line.trim_start_matches([' ', '\t']);
    &line[..line.len() - text.len()]
}

/// What a line of the section is indented by that begins with line `index`: as much as the line
/// behind it, where that is such a one.
fn blanks_within(lines: &[String], index: usize) -> String {
    let deepest = indent(&lines[index]) + INDENT;
    let next = lines.get(index + 1).filter(|next| indent(next) == deepest);
    next.map_or_else(|| " ".repeat(deepest), |next| blanks(next).to_owned())
}

fn first_word(line: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || "=;".contains(c);
    line.trim_start().split(ends).next().unwrap_or_default()
}

impl Product {
    /// What `written` sets that this product's folder does not say how to write: its key, and why.
    pub fn cannot_set(&self, written: &ServerFile) -> Option<(String, String)> {
        let name = self.name();
        let directives = self.directives.as_ref();
        if directives.is_none() && !written.settings.is_empty() {
            let why = format!(
                "the folder of {name} does not say how its directives are written, so it takes \
                 no settings; a server that reads a configuration file takes one of your own with \
                 preset = \"PATH\""
            );
            return Some(("settings".to_owned(), why));
        }
        let limits = written.keep_alive.as_ref()?;
        let lacks = |what: &str| format!("{name} has no limit of {what} that could be set");
        if limits.requests.is_some() && directives.is_none_or(|one| one.requests.is_none()) {
            let why = lacks("requests on a connection");
            return Some(("keep_alive.requests".to_owned(), why));
        }
        if limits.idle.is_some() && directives.is_none_or(|one| one.idle.is_none()) {
            let why = lacks("idle time on a connection");
            return Some(("keep_alive.idle".to_owned(), why));
        }
        None
    }

    /// Every directive that `variant` sets, its limits of connections that last first.
    pub fn directives_of(&self, variant: &ServerVariant) -> Vec<(String, String)> {
        let KeepAlive { requests, idle_s } = variant.keep_alive;
        let mut all = Vec::new();
        if let Some(directives) = &self.directives {
            if let (Some(limit), Some((name, unlimited))) = (requests, &directives.requests) {
                let value = match limit {
                    0 => unlimited.clone(),
                    limit => limit.to_string(),
                };
                all.push((name.clone(), value));
            }
            if let (Some(idle), Some(name)) = (idle_s, &directives.idle) {
                all.push((name.clone(), idle.to_string()));
            }
        }
        let own = variant.settings.iter();
        all.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        all
    }

    /// The text of that file with these directives, if it is the one that has them; it was made of
    /// `source`.
    pub(super) fn with_directives(
        &self,
        file: &str,
        (source, text): (&str, String),
        directives: &[(String, String)],
    ) -> Result<String, String> {
        match &self.directives {
            Some(own) if own.file == file && !directives.is_empty() => {
                own.set(&text, source, directives)
            }
            _ => Ok(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directives(after: &str) -> Directives {
        Directives {
            file: "x.conf".to_owned(),
            line: "{name} {value};".to_owned(),
            after: after.to_owned(),
            after_place: "x/server.toml:7: settings.after".to_owned(),
            requests: None,
            idle: None,
        }
    }

    #[test]
    fn a_directive_replaces_what_the_preset_says() {
        let check = |after: &str, text: &str, name: &str, expected: &str| {
            let set = [(name.to_owned(), "5".to_owned())];
            let set = directives(after).set(text, "x.conf", &set);
            assert_eq!(set.as_deref(), Ok(expected));
        };
        check("", "a 1;\nb 2;\n", "b", "a 1;\nb 5;\n");
        check("", "a 1;\nA 2;\n", "a", "a 5;\n");
        check("", "a 1;\n", "c", "a 1;\nc 5;\n");
        // `ab` is another word than `a`, and a section is no place for what holds everywhere.
        check(
            "",
            "ab 1;\n<X>\n    a 2;\n</X>\n",
            "a",
            "ab 1;\n<X>\n</X>\na 5;\n",
        );
        let nested = "u 1;\nhttp {\n    k 1;\n    location {\n        s 1;\n    }\n}\n";
        check("http {", nested, "k", &nested.replace("k 1", "k 5"));
        check("http {", nested, "u", &nested.replace("u 1", "u 5"));
        let moved = nested
            .replace("        s 1;\n", "")
            .replace("http {\n", "http {\n    s 5;\n");
        check("http {", nested, "s", &moved);
        // The same where sections are indented by tabs.
        let tabs = |text: &str| text.replace("    ", "\t");
        for name in ["k", "u"] {
            let set = format!("{name} 5");
            let expected = tabs(nested).replace(&format!("{name} 1"), &set);
            check("http {", &tabs(nested), name, &expected);
        }
        check("http {", &tabs(nested), "s", &tabs(&moved));
    }

    #[test]
    fn a_directive_that_has_no_place_is_refused() {
        let check = |text: &str, name: &str, expected: Result<&str, &str>| {
            let set = [(name.to_owned(), "5".to_owned())];
            let set = directives("http {").set(text, "mine.conf", &set);
            assert_eq!(set.as_deref().map_err(String::as_str), expected);
        };
        let why = "x/server.toml:7: settings.after: mine.conf has no line 'http {', behind which \
                   'k' is to stand";
        check("http  {\n    k 1;\n}\n", "k", Err(why));
        check("", "k", Err(why));
        // One that is there needs no other line.
        check("k 1;\n", "k", Ok("k 5;\n"));
    }

    #[test]
    fn words_are_told_from_what_stands_behind_them() {
        for (line, word) in [("a.b = 3", "a.b"), ("  x on;", "x"), ("y;", "y"), ("", "")] {
            assert_eq!(first_word(line), word);
        }
    }
}
