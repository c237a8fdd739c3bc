//! What users know by name, and where each value comes from.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::{Around, Wrong};
use crate::plan::{FromFile, SourceFile, VariableFile};

/// The longest text that a variable may hold.
const VALUE_MAX: usize = 4_096;

/// A variable as it is written: one of the first five says where its value comes from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    list: Option<Vec<String>>,
    csv: Option<String>,
    counter: Option<u64>,
    random: Option<(u64, u64)>,
    environment: Option<String>,
    pick: Option<String>,
    #[serde(default)]
    once: bool,
    #[serde(default)]
    secret: bool,
}

/// What a step takes from its answer, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TakeWritten {
    header: Option<String>,
    json: Option<String>,
    pattern: Option<String>,
}

impl TakeWritten {
    /// Where in the answer the value stands.
    pub(super) fn read(&self) -> Result<FromFile, String> {
        match (&self.header, &self.json, &self.pattern) {
            (Some(name), None, None) => Ok(FromFile::Header(name.clone())),
            (None, Some(pointer), None) => {
                if !pointer.is_empty() && !pointer.starts_with('/') {
                    return Err(format!(
                        "'{pointer}' is not a JSON pointer: begin it with '/'"
                    ));
                }
                Ok(FromFile::Json(pointer.clone()))
            }
            (None, None, Some(pattern)) => match regex_lite::Regex::new(pattern) {
                Ok(_) => Ok(FromFile::Pattern(pattern.clone())),
                Err(error) => Err(format!("'{pattern}' is not a regular expression: {error}")),
            },
            _ => Err("say where the value stands: give one of header, json, pattern".to_owned()),
        }
    }
}

/// The variables of a script.
#[derive(Default)]
pub(super) struct Variables {
    files: Vec<VariableFile>,
    names: BTreeSet<String>,
}

impl Variables {
    /// Those that the script declares.
    pub(super) fn declare(
        &mut self,
        written: &BTreeMap<Spanned<String>, Spanned<Written>>,
        around: &dyn Around,
    ) -> Result<(), Wrong> {
        for ((name, written), draw) in written.iter().zip(0..) {
            check_name(name)?;
            let wrong = |why: String| (name.span(), why);
            let sources = sources(name.get_ref(), written.get_ref(), draw, around);
            for (name, source) in sources.map_err(wrong)? {
                self.names.insert(name.clone());
                self.files.push(VariableFile {
                    name,
                    once: written.get_ref().once,
                    secret: written.get_ref().secret || written.get_ref().environment.is_some(),
                    source,
                });
            }
        }
        Ok(())
    }

    /// One that a step takes from an answer.
    pub(super) fn take(&mut self, name: &Spanned<String>) -> Result<(), Wrong> {
        check_name(name)?;
        if self.names.insert(name.get_ref().clone()) {
            self.files.push(VariableFile {
                name: name.get_ref().clone(),
                once: false,
                secret: false,
                source: SourceFile::Answer,
            });
        }
        Ok(())
    }

    /// `text` as the plan holds it. Each variable in it is one of these; `$${` stays only where it
    /// would be one without its first sign.
    pub(super) fn read_text(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let mut read = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.windows(2).position(|two| two == b"${") {
            let name = rest[at + 2..].split(|byte| *byte == b'}').next();
            let name = String::from_utf8_lossy(name.unwrap_or_default());
            let is_known = self.names.contains(name.as_ref());
            read.extend_from_slice(&rest[..at]);
            if read.last() == Some(&b'$') && at > 0 {
                if !is_known {
                    read.pop();
                }
            } else if !is_known {
                return Err(format!(
                    "there is no variable '{name}': declare it under [variables], let a step take \
                     it, or write $${{ where no variable is meant"
                ));
            }
            read.extend_from_slice(b"${");
            rest = &rest[at + 2..];
        }
        read.extend_from_slice(rest);
        Ok(read)
    }

    pub(super) fn into_files(self) -> Vec<VariableFile> {
        self.files
    }
}

fn check_name(name: &Spanned<String>) -> Result<(), Wrong> {
    let text = name.get_ref();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if text.is_empty() || !text.chars().all(is_letter) {
        let why = format!("'{text}' cannot be a name: use letters, digits, '_' and '-'");
        return Err((name.span(), why));
    }
    Ok(())
}

/// Names and sources: several where a file has several columns.
fn sources(
    name: &str,
    written: &Written,
    draw: u32,
    around: &dyn Around,
) -> Result<Vec<(String, SourceFile)>, String> {
    let holds_texts =
        written.list.is_some() || written.csv.is_some() || written.environment.is_some();
    if written.secret && !holds_texts {
        return Err("secret belongs to list, csv and environment".to_owned());
    }
    let picks = written.list.is_some() || written.csv.is_some();
    let random = match written.pick.as_deref() {
        Some(_) if !picks => return Err("pick belongs to list and csv".to_owned()),
        None | Some("in turn") => false,
        Some("random") => true,
        Some(other) => {
            return Err(format!(
                "pick: '{other}' is neither \"in turn\" nor \"random\""
            ));
        }
    };
    let list = |values: Vec<String>| {
        if let Some(long) = values.iter().find(|value| value.len() > VALUE_MAX) {
            let length = long.len();
            return Err(format!(
                "a value of {length} bytes: at most {VALUE_MAX} fit"
            ));
        }
        if values.is_empty() {
            return Err("give at least one value".to_owned());
        }
        Ok(SourceFile::List {
            values,
            random,
            draw,
        })
    };
    let Written {
        list: texts,
        csv,
        counter,
        random: numbers,
        environment,
        ..
    } = written;
    let one = |source| Ok(vec![(name.to_owned(), source)]);
    match (texts, csv, counter, numbers, environment) {
        (Some(texts), None, None, None, None) => one(list(texts.clone())?),
        (None, Some(file), None, None, None) => {
            let bytes = around.file(file)?;
            let text = String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8"))?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let columns = columns(text).map_err(|why| format!("{file}: {why}"))?;
            let columns = columns.into_iter();
            columns
                .map(|(column, values)| Ok((format!("{name}.{column}"), list(values)?)))
                .collect()
        }
        (None, None, Some(from), None, None) => one(SourceFile::Counter { from: *from }),
        (None, None, None, Some((from, to)), None) => {
            if from > to {
                return Err("random: the smallest number comes first: [1, 6]".to_owned());
            }
            let (from, to) = (*from, *to);
            one(SourceFile::Random { from, to, draw })
        }
        (None, None, None, None, Some(variable)) => {
            let value = around.environment(variable);
            let missing = || format!("the environment has no variable {variable}: set it");
            one(list(vec![value.ok_or_else(missing)?])?)
        }
        _ => Err("give one source: list, csv, counter, random or environment".to_owned()),
    }
}

/// The columns of comma-separated values (RFC 4180), by the names in the first row.
fn columns(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut rows = rows(text).into_iter();
    let names = rows.next().ok_or("there is no first row with names")?;
    let mut columns: Vec<(String, Vec<String>)> =
        names.into_iter().map(|name| (name, Vec::new())).collect();
    for (row, number) in rows.zip(2..) {
        if row.len() != columns.len() {
            let (have, need) = (row.len(), columns.len());
            return Err(format!(
                "row {number} has {have} values, the first has {need}"
            ));
        }
        for (value, (_, values)) in row.into_iter().zip(&mut columns) {
            values.push(value);
        }
    }
    Ok(columns)
}

/// Rows of values; empty lines are none.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut value) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut rest = text.chars().filter(|c| *c != '\r').peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => {
                rest.next();
                value.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut value)),
            '\n' if !is_quoted => {
                if !row.is_empty() || !value.is_empty() {
                    row.push(std::mem::take(&mut value));
                    rows.push(std::mem::take(&mut row));
                }
            }
            c => value.push(c),
        }
    }
    if !row.is_empty() || !value.is_empty() {
        row.push(value);
        rows.push(row);
    }
    rows
}
