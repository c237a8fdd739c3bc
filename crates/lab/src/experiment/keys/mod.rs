//! The keys that an experiment may have, what each takes, and the nearest one to a misspelt one.

mod agents;
mod asked;
mod more;
pub mod pages;
mod point;
mod published;
mod table;
mod tls;
mod users;

use model::misread;
use toml::de::{DeTable, DeValue};

use super::{Page, ReadError};

pub use table::SECTIONS;

/// A table of an experiment file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its path from the top: `workload.request`.
    pub path: &'static str,
    /// As it is written: `[[workload.request]]`.
    pub written: &'static str,
    /// What it is, a sentence or two.
    pub meaning: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of an experiment file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What may be written for it.
    pub kind: Kind,
    /// What holds where it is left out; empty where it must be given.
    pub default: &'static str,
    /// A line of TOML.
    pub example: &'static str,
    /// What it does, a sentence or two.
    pub meaning: &'static str,
}

/// What may be written for a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// One of something, or a list of it.
    Axis(&'static Self),
    /// A whole number, so much or more.
    Count(u64),
    /// A list of pairs of texts.
    Fields,
    /// A whole number, a list of them, or from, to and step.
    Numbers,
    /// Requests per second.
    Rate,
    /// A table whose keys are a server's own words.
    Settings,
    /// A number of bytes.
    Size,
    /// Several tables of another grammar, that of steps.
    Steps,
    /// A table.
    Table,
    /// Several tables, each in two brackets.
    Tables,
    /// Any text.
    Text,
    /// A list of texts.
    Texts,
    /// A time with its unit.
    Time,
    /// Yes or no.
    Truth,
    /// A number, or text with its unit.
    Value,
    /// A table of another grammar, that of variables.
    Variables,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Kind {
    /// For people: `"off", "on" or "buffered", or a list of these`.
    pub fn words(self) -> String {
        match self {
            Self::Axis(one) => format!("{}, or a list of these", one.words()),
            Self::Count(least) => format!("a whole number, {least} or more"),
            Self::Fields => "a list of [\"Name\", \"value\"]".to_owned(),
            Self::Numbers => {
                "a number, a list of numbers, or { from = 10, to = 1000, step = 10 }".to_owned()
            }
            Self::Rate => "a number per second: 500, \"2k\" or 0.5".to_owned(),
            Self::Settings => {
                "a table of text, numbers, true or false, or lists of these".to_owned()
            }
            Self::Size => "a number of bytes: 100, \"64k\" or \"1M\"".to_owned(),
            Self::Table | Self::Variables => "a table".to_owned(),
            Self::Steps | Self::Tables => "tables, each in two brackets".to_owned(),
            Self::Text => "text in quotes".to_owned(),
            Self::Truth => "true or false".to_owned(),
            Self::Texts => "a list of texts in quotes".to_owned(),
            Self::Time => "a time in quotes: \"500us\", \"20ms\", \"10s\" or \"2m\"".to_owned(),
            Self::Value => {
                "a number, or text with its unit: 7.5, \"64k\", \"95us\" or \"21 %\"".to_owned()
            }
            Self::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match quoted.split_last() {
                    Some((last, rest)) if !rest.is_empty() => {
                        format!("{} or {last}", rest.join(", "))
                    }
                    _ => quoted.concat(),
                }
            }
        }
    }

    /// Whether a number is what it takes, and this one is beyond what is counted.
    fn is_too_large(self, given: &str) -> bool {
        let is_number = matches!(self, Self::Count(_) | Self::Numbers);
        is_number
            && given
                .parse::<u128>()
                .is_ok_and(|number| number > u128::from(u32::MAX))
    }

    /// Whether it takes text and nothing else.
    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Word(_))
    }

    /// Whether a list of values may be written for it.
    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Axis(_) | Self::Numbers | Self::Texts)
    }
}

fn section(table: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.path == table)
}

/// The names of the keys of the table of that path.
pub(super) fn of(table: &str) -> Option<Vec<&'static str>> {
    section(table).map(|section| section.keys.iter().map(|key| key.name).collect())
}

/// The key of that path, whose positions in lists may be written in either way.
pub(super) fn key(path: &str) -> Option<&'static Key> {
    let plain = path.replace('[', ".").replace(']', "");
    let parts = plain
        .split('.')
        .filter(|part| part.parse::<usize>().is_err());
    let parts: Vec<&str> = parts.collect();
    let (name, table) = parts.split_last()?;
    section(&table.join("."))?
        .keys
        .iter()
        .find(|key| key.name == *name)
}

/// Whether `table` can be written as tables alone, and not as one value too.
pub(super) fn is_table(table: &str) -> bool {
    table != "load.connections" && section(table).is_some()
}

/// The most similar of `words`, if any is near enough to be meant.
pub fn nearest<'w>(given: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    words
        .map(|word| {
            let (given, lower) = (given.to_lowercase(), word.to_lowercase());
            (strsim::jaro_winkler(&given, &lower), word)
        })
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, word)| word)
}

/// Refuses the first key that no table knows, and a table in one bracket where there may be
/// several.
pub(super) fn check(page: &Page<'_>, table: &DeTable<'_>) -> Result<(), ReadError> {
    check_table(page, table, "", "")
}

fn check_table(
    page: &Page<'_>,
    table: &DeTable<'_>,
    schema: &str,
    path: &str,
) -> Result<(), ReadError> {
    let Some(known) = of(schema) else {
        return Ok(());
    };
    for (key, value) in table {
        let name: &str = key.get_ref();
        let below = |parent: &str| {
            if parent.is_empty() {
                name.to_owned()
            } else {
                format!("{parent}.{name}")
            }
        };
        let mistake = |why: String, nearest: Option<&str>| ReadError::Mistake {
            place: page.place(key.span()),
            key: below(path),
            why,
            nearest: nearest.map(str::to_owned),
        };
        if !known.contains(&name) {
            let why = format!("no such key here; there are {}", known.join(", "));
            return Err(mistake(why, nearest(name, known.iter().copied())));
        }
        let kind = self::key(&below(schema)).map(|key| key.kind);
        match value.get_ref() {
            DeValue::Table(_) if matches!(kind, Some(Kind::Steps | Kind::Tables)) => {
                let why = format!(
                    "write [[{}]], in two brackets: there may be several",
                    below(schema)
                );
                return Err(mistake(why, None));
            }
            DeValue::Table(inner) => check_table(page, inner, &below(schema), &below(path))?,
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let DeValue::Table(inner) = item.get_ref() {
                        let path = format!("{}[{index}]", below(path));
                        check_table(page, inner, &below(schema), &path)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes a sentence of serde's message about the value of the key of that path, and finds the word
/// that was meant among those it expected.
pub(super) fn explain_at(path: &str, message: &str) -> (String, Option<String>) {
    let (why, nearest) = explain(message);
    let Some(key) = key(path) else {
        return (why, nearest);
    };
    let given = misread::given(message);
    match (given, message.trim().starts_with("unknown variant")) {
        (Some(given), true) => {
            let given = format!("\"{given}\"");
            (format!("write {}, not {given}", key.kind.words()), nearest)
        }
        (Some(given), false) if key.kind.is_too_large(&given) => {
            let most = u32::MAX;
            (
                format!("{given} is too large: {most} is the most that can be written"),
                nearest,
            )
        }
        (Some(given), false) => (format!("write {}, not {given}", key.kind.words()), nearest),
        (None, _) => (why, nearest),
    }
}

/// The same where the key is not known, or none of an experiment.
pub(crate) fn explain(message: &str) -> (String, Option<String>) {
    let why = misread::in_words(message);
    let nearest = ["unknown variant ", "unknown field "]
        .into_iter()
        .find_map(|start| message.strip_prefix(start))
        .and_then(|rest| {
            let mut words = rest.split('`').skip(1).step_by(2);
            let given = words.next()?;
            nearest(given, words)
        })
        .map(str::to_owned);
    (why, nearest)
}
