//! The keys that an experiment may have, and the nearest one to a misspelt one.

use toml::de::{DeTable, DeValue};

use super::{Page, ReadError};

/// Each table by its path, with its keys. A test holds this against the types in `model`.
pub(super) const KEYS: &[(&str, &[&str])] = &[
    ("", &["experiment", "server", "workload", "load"]),
    (
        "experiment",
        &[
            "name", "question", "rounds", "order", "restart", "warmup", "duration", "seed",
        ],
    ),
    (
        "server",
        &[
            "product",
            "label",
            "preset",
            "cores",
            "access_log",
            "restart",
        ],
    ),
    (
        "workload",
        &[
            "name",
            "body",
            "request",
            "needs",
            "requests_per_connection",
        ],
    ),
    ("workload.body", &["bytes"]),
    (
        "workload.request",
        &["body", "path", "method", "headers", "weight", "expect"],
    ),
    ("workload.request.body", &["bytes"]),
    (
        "workload.request.expect",
        &["level", "status", "length", "sha256"],
    ),
    (
        "load",
        &["mode", "connections", "rate", "arrivals", "timeout"],
    ),
    ("load.connections", &["from", "to", "step"]),
];

/// The keys of the table of that path.
pub(super) fn of(table: &str) -> Option<&'static [&'static str]> {
    KEYS.iter()
        .find(|(path, _)| *path == table)
        .map(|(_, keys)| *keys)
}

/// Whether `table` can be written as tables alone, and not as one value too.
pub(super) fn is_table(table: &str) -> bool {
    table != "load.connections" && of(table).is_some()
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

/// Refuses the first key that no table knows.
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
        if !known.contains(&name) {
            return Err(ReadError::Mistake {
                place: page.place(key.span()),
                key: below(path),
                why: format!("no such key here; there are {}", known.join(", ")),
                nearest: nearest(name, known.iter().copied()).map(str::to_owned),
            });
        }
        match value.get_ref() {
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

/// Makes a sentence of serde's message, and finds the word that was meant among those it expected.
pub(super) fn explain(message: &str) -> (String, Option<String>) {
    let why = wrong_type(message)
        .or_else(|| missing_key(message))
        .unwrap_or_else(|| message.trim().replace('`', "'"));
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

/// `missing field `install`` and `unknown field `x`, expected ...` in words of people.
fn missing_key(message: &str) -> Option<String> {
    let message = message.trim().replace('`', "'");
    if let Some(key) = message.strip_prefix("missing field ") {
        return Some(format!("the key {key} is missing"));
    }
    let rest = message.strip_prefix("unknown field ")?;
    let (_, expected) = rest.split_once(", expected ")?;
    let known = expected.trim_start_matches("one of ").replace('\'', "");
    Some(format!("no such key here; there are {known}"))
}

/// `invalid type: string "six", expected u32` in words of people.
fn wrong_type(message: &str) -> Option<String> {
    let rest = ["invalid type: ", "invalid value: "]
        .into_iter()
        .find_map(|start| message.trim().strip_prefix(start))?;
    let (given, expected) = rest.split_once(", expected ")?;
    let wanted = match expected {
        "a sequence" => "a list",
        "a string" => "text in quotes",
        "u16" | "u32" | "u64" => "a whole number, 0 or more",
        _ if expected.starts_with("struct ") => "a table",
        other => other,
    };
    let given = match given.split_once(' ') {
        Some((_, value)) => value.trim_matches('`'),
        None => given,
    };
    Some(format!("write {wanted}, not {given}"))
}
