//! What was written by hand about a study, with its numbers filled in.
//!
//! A placeholder stands in two braces and names a number as `[[asked]]` of an experiment does:
//! `{{rate | server = nginx | workload = HTTP | connections = 64}}`; with `against` and its likes
//! it is a ratio. One that resolves to nothing, or to a number that is invalid, is an error: no
//! page rests on it.

use model::Status;
use model::experiment::Demand;
use serde_json::{Map, Value};
use verdict::analysis::Standing;

use crate::asked::{Told, told};
use crate::digests::Run;

/// A placeholder that cannot be filled.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}: {{{{{placeholder}}}}}: {why}")]
pub struct NoteError {
    /// Its line, from 1.
    pub line: usize,
    /// As it is written.
    pub placeholder: String,
    /// What is wrong.
    pub why: String,
}

/// The notes with their numbers.
pub(super) fn fill(
    notes: &str,
    number: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, NoteError> {
    let mut out = String::new();
    let mut rest = notes;
    while let Some((before, behind)) = rest.split_once("{{") {
        out.push_str(before);
        let line = 1 + notes[..notes.len() - behind.len()].matches('\n').count();
        let wrong = |placeholder: &str, why: String| NoteError {
            line,
            placeholder: placeholder.split_whitespace().collect::<Vec<_>>().join(" "),
            why,
        };
        let Some((placeholder, after)) = behind.split_once("}}") else {
            return Err(wrong("", "it has no end".to_owned()));
        };
        out.push_str(&number(placeholder).map_err(|why| wrong(placeholder, why))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The number of a run that a placeholder names.
pub(super) fn number(run: &Run, placeholder: &str) -> Result<String, String> {
    let demand = read(placeholder)?;
    let number = match told(run, &demand) {
        Told::Number(number) => number,
        Told::Not(why) => return Err(why),
    };
    if number.standing == Standing::Struck || number.status == Some(Status::Invalid) {
        return Err(format!("{} is invalid", number.value));
    }
    let bound = match number.standing {
        Standing::AtLeast => "at least ",
        _ => "",
    };
    let interval = number
        .interval
        .map_or_else(String::new, |text| format!(" {text}"));
    let doubt = match number.status {
        Some(Status::Suspect) => " (suspect)",
        Some(Status::Unknown) => " (unknown worth)",
        _ if number.standing == Standing::Doubtful => " (suspect)",
        _ => "",
    };
    Ok(format!("{bound}{}{interval}{doubt}", number.value))
}

/// What the placeholders of the notes name, in their order.
pub(super) fn named(notes: &str) -> Vec<Demand> {
    let behind = notes.split("{{").skip(1);
    let placeholders = behind.filter_map(|rest| Some(rest.split_once("}}")?.0));
    placeholders.filter_map(|one| read(one).ok()).collect()
}

fn read(placeholder: &str) -> Result<Demand, String> {
    let fields = fields(placeholder)?;
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

/// The words of a placeholder, by the keys of a demand.
pub(super) fn fields(placeholder: &str) -> Result<Map<String, Value>, String> {
    let mut parts = placeholder.split('|').map(str::trim);
    let mut fields = Map::new();
    for key in ["who", "demand"] {
        fields.insert(key.to_owned(), "".into());
    }
    fields.insert("show".to_owned(), parts.next().unwrap_or_default().into());
    for part in parts {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("'{part}' has no '='"))?;
        let (key, value) = (key.trim(), value.trim());
        let number = value.replace('_', "").parse::<u32>();
        let value = match number {
            Ok(number) if key.ends_with("connections") || key.ends_with("sources") => number.into(),
            _ => Value::from(value),
        };
        fields.insert(key.to_owned(), value);
    }
    Ok(fields)
}
