//! `KEY=VALUE` on the command line: the file with one value changed.

use model::ExperimentFile;
use toml::{Table, Value};

use super::keys::{self, Kind};
use super::{Place, ReadError};

/// The experiment in `text` (which is known to be right) with all `overrides` applied in order.
pub(super) fn apply(text: &str, overrides: &[String]) -> Result<ExperimentFile, ReadError> {
    let mut table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| mistake("", "", error.message().to_owned(), None))?;
    let mut file = None;
    for written in overrides {
        apply_one(&mut table, written)?;
        let read = super::written(&table.to_string()).map_err(|error| {
            let key = written.split('=').next().unwrap_or_default().trim();
            let path = resolve(written, key).unwrap_or_default().join(".");
            let (why, nearest) = keys::explain_at(&path, error.message());
            mistake(written, key, why, nearest)
        })?;
        file = Some(read);
    }
    file.ok_or_else(|| mistake("", "", "no override".to_owned(), None))
}

/// The override that set `key` or something around it, if any.
pub(super) fn touching<'o>(overrides: &'o [String], key: &str) -> Option<&'o str> {
    overrides.iter().rev().map(String::as_str).find(|written| {
        let Some((name, _)) = written.split_once('=') else {
            return false;
        };
        let Ok(path) = resolve(written, name.trim()) else {
            return false;
        };
        let path = path.join(".");
        let plain: String = key.replace('[', ".").replace(']', "");
        plain == path || plain.starts_with(&format!("{path}."))
    })
}

fn mistake(written: &str, key: &str, why: String, nearest: Option<String>) -> ReadError {
    ReadError::Mistake {
        place: Place::Override(written.to_owned()),
        key: key.to_owned(),
        why,
        nearest,
    }
}

fn apply_one(table: &mut Table, written: &str) -> Result<(), ReadError> {
    let Some((name, value)) = written.split_once('=') else {
        return Err(mistake(
            written,
            "",
            "an override is KEY=VALUE, as in rounds=10".to_owned(),
            None,
        ));
    };
    let (name, value) = (name.trim(), value.trim());
    if name == "server" {
        table.insert("server".to_owned(), servers_named(value));
        return Ok(());
    }
    let path = resolve(written, name)?;
    let value = match keys::key(&path.join(".")) {
        Some(key) if key.kind.is_list() => read_list(key.kind, value),
        Some(key) if key.kind.is_text() => read_text(value),
        _ => read_value(value),
    };
    refuse_whole_table(written, name, &path, &value)?;
    let (last, parents) = path.split_last().expect("a path has a last part");
    if parents == ["tls"] {
        // It may be left out of a file, and is as good as written with nothing in it.
        let none = || Value::Table(Table::new());
        table.entry("tls".to_owned()).or_insert_with(none);
    }
    // A server that has no settings of its own may be given one.
    if keys::key(&parents.join(".")).is_some_and(|key| key.kind == Kind::Settings)
        && let Some((settings, home)) = parents.split_last()
        && let Some(home) = place(table, home)
    {
        home.entry(settings.clone())
            .or_insert_with(|| Value::Table(Table::new()));
    }
    let home = place(table, parents).ok_or_else(|| {
        let why = format!("the experiment has no '{}'", parents.join("."));
        mistake(written, name, why, None)
    })?;
    home.insert(last.clone(), value);
    Ok(())
}

/// `workload=small`: one value where there can only be tables.
fn refuse_whole_table(
    written: &str,
    name: &str,
    path: &[String],
    value: &Value,
) -> Result<(), ReadError> {
    let words = path.iter().filter(|part| part.parse::<usize>().is_err());
    let schema = words.map(String::as_str).collect::<Vec<_>>().join(".");
    if !keys::is_table(&schema) || matches!(value, Value::Array(_) | Value::Table(_)) {
        return Ok(());
    }
    let keys = keys::of(&schema).unwrap_or_default();
    let home = match path.last().map(String::as_str) {
        Some("server" | "workload") => format!("{name}[0]"),
        _ => name.to_owned(),
    };
    let why = format!(
        "this has keys of its own: {}; set one of them, as in {home}.{}=...",
        keys.join(", "),
        keys.first().copied().unwrap_or_default()
    );
    Err(mistake(written, name, why, None))
}

/// `server=nginx,origin`: those products with their defaults, and no others.
fn servers_named(names: &str) -> Value {
    names
        .split(',')
        .map(|name| {
            let mut server = Table::new();
            server.insert("product".to_owned(), Value::String(name.trim().to_owned()));
            Value::Table(server)
        })
        .collect::<Vec<_>>()
        .into()
}

/// `rounds`, `experiment.rounds`, `server.0.cores` or `server[0].cores` as a path. A single word is
/// looked up in the tables that there is one of.
fn resolve(written: &str, name: &str) -> Result<Vec<String>, ReadError> {
    let plain = name.replace('[', ".").replace(']', "");
    let mut path: Vec<String> = plain.split('.').map(str::to_owned).collect();
    if path.len() == 1 {
        let home = ["experiment", "load", "tls"]
            .into_iter()
            .find(|table| keys::of(table).is_some_and(|keys| keys.contains(&name)));
        if let Some(home) = home {
            path.insert(0, home.to_owned());
        }
    }
    let mut schema = String::new();
    for (place, part) in path.iter().enumerate() {
        if part.parse::<usize>().is_ok() {
            continue;
        }
        match keys::key(&schema).map(|key| key.kind) {
            Some(Kind::Steps | Kind::Variables) => return Ok(path),
            // The name of a directive, which may have dots.
            Some(Kind::Settings) => {
                let directive = path.split_off(place).join(".");
                path.push(directive);
                return Ok(path);
            }
            _ => {}
        }
        let known = keys::of(&schema).unwrap_or_default();
        if !known.contains(&part.as_str()) {
            if path.len() == 1
                && let Some(home) = home_of(part)
            {
                let value = written
                    .split_once('=')
                    .map_or("...", |(_, value)| value.trim());
                let why = format!("this is a key of each {home}: write {home}[0].{name}={value}");
                return Err(mistake(written, name, why, None));
            }
            let words = if path.len() == 1 {
                let tables = ["", "experiment", "load", "tls"]
                    .into_iter()
                    .filter_map(keys::of);
                tables.flatten().collect()
            } else {
                known
            };
            let nearest = keys::nearest(part, words.into_iter()).map(str::to_owned);
            return Err(mistake(written, name, "no such key".to_owned(), nearest));
        }
        if !schema.is_empty() {
            schema.push('.');
        }
        schema.push_str(part);
    }
    Ok(path)
}

/// The table of several to which a key belongs that was given alone.
fn home_of(key: &str) -> Option<&'static str> {
    ["server", "workload"]
        .into_iter()
        .find(|table| keys::of(table).is_some_and(|keys| keys.contains(&key)))
}

/// The values of an axis as people type them: `1,64` is `[1, 64]`.
fn read_list(kind: Kind, text: &str) -> Value {
    let is_toml = text.starts_with(['[', '{', '"', '\'']);
    let read = match kind {
        Kind::Texts => read_text,
        Kind::Axis(one) if one.is_text() => read_text,
        _ => read_value,
    };
    if is_toml {
        return read_value(text);
    }
    if !text.contains(',') && kind != Kind::Texts {
        return read(text);
    }
    text.split(',')
        .map(|part| read(part.trim()))
        .collect::<Vec<_>>()
        .into()
}

/// A text with or without its quotes, which may look like something else: `1.2`, `2026`, `true`.
fn read_text(text: &str) -> Value {
    match read_value(text) {
        Value::String(word) => Value::String(word),
        _ => Value::String(text.to_owned()),
    }
}

/// A TOML value where it is one, else text: `10`, `[1, 16]`, `5s`.
fn read_value(text: &str) -> Value {
    format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

fn place<'t>(root: &'t mut Table, parents: &[String]) -> Option<&'t mut Table> {
    let Some((first, rest)) = parents.split_first() else {
        return Some(root);
    };
    let mut value = root.get_mut(first)?;
    for part in rest {
        value = match value {
            Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?)?,
            Value::Table(table) => table.get_mut(part)?,
            _ => return None,
        };
    }
    value.as_table_mut()
}
