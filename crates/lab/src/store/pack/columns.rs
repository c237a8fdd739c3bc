//! JSON documents, put down value by value: what stands at the same place in all of those of one
//! folder stands together, and what repeats costs next to nothing.
//!
//! A place is the path of a value without the positions in lists. Each place has a column with a
//! line for each value, in the order in which they are met: a scalar as JSON has it, `{N` for an
//! object with the Nth set of keys, `[N` for a list of N, `&N` for the Nth list of its place again
//! (of those whose first item is no object). How lines become bytes, `streams` says.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::histogram;
use super::streams::{self, Form, Values};

/// Values within values; results of a lab have a dozen.
const DEPTH_MAX: usize = 64;

/// What documents are put down in.
#[derive(Debug, Default)]
pub(super) struct Writer {
    columns: HashMap<String, Column>,
    keys: Vec<Vec<String>>,
    known: BTreeMap<Vec<String>, usize>,
}

/// The lines of a place, and its lists.
#[derive(Debug, Default)]
struct Column {
    lines: Vec<String>,
    lists: HashMap<String, usize>,
}

/// Whether a list may be told by its number later.
fn is_numbered(items: &[Value]) -> bool {
    items.first().is_some_and(|first| !first.is_object())
}

impl Writer {
    /// Puts down a document of that folder. One that is nested too deep is refused.
    pub(super) fn put(&mut self, folder: &str, document: &Value) -> Result<(), String> {
        self.value(document, &mut folder.to_owned(), 0)
    }

    fn value(&mut self, value: &Value, path: &mut String, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("it has more than {DEPTH_MAX} levels"));
        }
        let mut line = match value {
            Value::Object(fields) => format!("{{{}", self.keys_of(fields)),
            Value::Array(items) => format!("[{}", items.len()),
            scalar => scalar.to_string(),
        };
        if !self.columns.contains_key(path.as_str()) {
            self.columns.insert(path.clone(), Column::default());
        }
        let column = self.columns.get_mut(path.as_str());
        let column = column.expect("it was just put there");
        let mut is_again = false;
        if let Value::Array(items) = value
            && is_numbered(items)
        {
            let next = column.lists.len();
            let number = *column.lists.entry(value.to_string()).or_insert(next);
            is_again = number < next;
            if is_again {
                line = format!("&{number}");
            }
        }
        column.lines.push(line);
        if is_again {
            return Ok(());
        }
        let length = path.len();
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    path.push('.');
                    path.push_str(key);
                    self.value(field, path, depth + 1)?;
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                path.push_str("[]");
                for item in items {
                    self.value(item, path, depth + 1)?;
                }
                path.truncate(length);
            }
            _ => {}
        }
        Ok(())
    }

    fn keys_of(&mut self, fields: &Map<String, Value>) -> usize {
        let keys: Vec<String> = fields.keys().cloned().collect();
        let next = self.keys.len();
        let number = *self.known.entry(keys.clone()).or_insert(next);
        if number == next {
            self.keys.push(keys);
        }
        number
    }

    /// What is said of each place, the sets of keys, and the numbers of all places.
    pub(super) fn finish(self) -> (BTreeMap<String, Form>, Vec<Vec<String>>, Vec<u8>) {
        let sorted: BTreeMap<String, Column> = self.columns.into_iter().collect();
        let (paths, lines): (Vec<String>, Vec<Vec<String>>) = sorted
            .into_iter()
            .map(|(path, column)| (path, column.lines))
            .unzip();
        let (forms, numbers) = streams::write(&lines);
        (paths.into_iter().zip(forms).collect(), self.keys, numbers)
    }
}

/// What documents are read from.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    places: Vec<Place<'a>>,
    /// The positions of places.
    known: HashMap<&'a str, usize>,
    values: Vec<Values>,
    keys: &'a [Vec<String>],
    /// Bytes that may still be made.
    left: usize,
}

/// Which line of a place is read next, and where what stands inside of its values has its own: no
/// path is put together for each value.
#[derive(Debug)]
struct Place<'a> {
    path: &'a str,
    /// Where its values are: its own position, or that of a place that has the same.
    source: usize,
    next: usize,
    /// Its lists so far, where one of them comes again, and the bytes that each was taken for.
    lists: Option<Vec<(Value, usize)>>,
    /// Of what stands in its lists.
    items: Option<Option<usize>>,
    /// Of the fields of its last object, with the number of their keys.
    fields: Option<(usize, Vec<Option<usize>>)>,
}

/// What begins with one of these is no scalar.
enum Line {
    Scalar(Value, usize),
    Object(usize),
    List(usize),
    Again(usize),
}

impl<'a> Reader<'a> {
    /// Reads from these columns, and makes `most` bytes at most.
    pub(super) fn new(
        columns: &'a BTreeMap<String, Form>,
        keys: &'a [Vec<String>],
        numbers: &[u8],
        most: usize,
    ) -> Result<Self, String> {
        let forms: Vec<&Form> = columns.values().collect();
        let values = streams::read(&forms, numbers)?;
        let place = |(at, path): (usize, &'a String)| {
            let source = match values[at] {
                Values::Same(other) => other,
                _ => at,
            };
            let has_again = match &values[source] {
                Values::Texts { lines, .. } => lines.iter().any(|line| line.starts_with('&')),
                _ => false,
            };
            Place {
                path,
                source,
                next: 0,
                lists: has_again.then(Vec::new),
                items: None,
                fields: None,
            }
        };
        Ok(Self {
            places: columns.keys().enumerate().map(place).collect(),
            known: columns
                .keys()
                .enumerate()
                .map(|(at, path)| (path.as_str(), at))
                .collect(),
            values,
            keys,
            left: most,
        })
    }

    /// The next document of that folder.
    pub(super) fn take(&mut self, folder: &str) -> Result<Value, String> {
        match self.known.get(folder) {
            Some(&root) => self.value(root, 0),
            None => Err(not_there(folder)),
        }
    }

    fn value(&mut self, at: usize, depth: usize) -> Result<Value, String> {
        let path = self.places[at].path;
        if depth > DEPTH_MAX {
            return Err(format!("'{path}' has more than {DEPTH_MAX} levels"));
        }
        match self.line(at)? {
            Line::Scalar(value, bytes) => {
                self.spend(bytes)?;
                Ok(value)
            }
            Line::Object(number) => self.object(at, number, depth),
            Line::List(count) => self.list(at, count, depth),
            Line::Again(number) => {
                let lists = self.places[at].lists.as_ref();
                let list = lists.and_then(|lists| lists.get(number)).cloned();
                let (list, bytes) =
                    list.ok_or_else(|| format!("'{path}' has a list that is not there"))?;
                self.spend(bytes)?;
                Ok(list)
            }
        }
    }

    fn list(&mut self, at: usize, count: usize, depth: usize) -> Result<Value, String> {
        let path = self.places[at].path;
        let before = self.left;
        self.spend(2)?;
        let mut items = Vec::new();
        for _ in 0..count {
            let place = self.place_of_items(at);
            let place = place.ok_or_else(|| not_there(&format!("{path}[]")))?;
            items.push(self.value(place, depth + 1)?);
        }
        let bytes = before - self.left;
        if is_numbered(&items)
            && let Some(lists) = &mut self.places[at].lists
        {
            lists.push((Value::Array(items.clone()), bytes));
            self.spend(bytes)?;
        }
        Ok(Value::Array(items))
    }

    /// An object of that place, with the keys of that number.
    fn object(&mut self, at: usize, number: usize, depth: usize) -> Result<Value, String> {
        let path = self.places[at].path;
        let all = self.keys;
        let keys = all.get(number);
        let keys = keys.ok_or_else(|| format!("'{path}' has keys that are not there"))?;
        self.spend(2)?;
        let mut fields = Map::new();
        for (position, key) in keys.iter().enumerate() {
            self.spend(key.len() + 4)?;
            let place = self.place_of_field(at, number, position);
            let place = place.ok_or_else(|| not_there(&format!("{path}.{key}")))?;
            let field = self.value(place, depth + 1)?;
            fields.insert(key.clone(), field);
        }
        Ok(Value::Object(fields))
    }

    fn place_of_items(&mut self, at: usize) -> Option<usize> {
        let Place { path, items, .. } = &mut self.places[at];
        let known = &self.known;
        *items.get_or_insert_with(|| known.get(format!("{path}[]").as_str()).copied())
    }

    fn place_of_field(&mut self, at: usize, number: usize, position: usize) -> Option<usize> {
        let place = &mut self.places[at];
        let is_other = |(known, _): &mut (usize, Vec<Option<usize>>)| *known != number;
        drop(place.fields.take_if(is_other));
        let (path, known, keys) = (place.path, &self.known, &self.keys[number]);
        let of_key = |key: &String| known.get(format!("{path}.{key}").as_str()).copied();
        let (_, fields) = place
            .fields
            .get_or_insert_with(|| (number, keys.iter().map(of_key).collect()));
        fields[position]
    }

    fn line(&mut self, at: usize) -> Result<Line, String> {
        let Place {
            path, source, next, ..
        } = &mut self.places[at];
        let (path, line) = (*path, *next);
        let values = &self.values[*source];
        if line >= values.len() {
            return Err(format!("'{path}' ends too early"));
        }
        *next += 1;
        match values {
            Values::Numbers(all) => Ok(Line::Scalar(Value::from(all[line]), 21)),
            Values::Histograms { heads, all } => {
                let (head, counts) = &all[line];
                let head = BASE64.decode(&heads[*head]);
                let head = head.map_err(|error| format!("'{path}': {error}"))?;
                let text = histogram::write(&head, counts);
                let bytes = text.len() + 3;
                Ok(Line::Scalar(Value::String(text), bytes))
            }
            Values::Texts { lines, all } => {
                let text = &lines[all[line]];
                let number = |text: &str| {
                    let number = text.parse::<usize>();
                    number.map_err(|_| format!("'{path}' has '{text}', which is no number"))
                };
                match text.as_bytes().first() {
                    Some(b'{') => Ok(Line::Object(number(&text[1..])?)),
                    Some(b'[') => Ok(Line::List(number(&text[1..])?)),
                    Some(b'&') => Ok(Line::Again(number(&text[1..])?)),
                    // Not `from_str` of `serde_json`, of which each crate compiles its own.
                    _ => match text.parse() {
                        Ok(value) => Ok(Line::Scalar(value, text.len() + 1)),
                        Err(error) => Err(format!("'{path}': {error}")),
                    },
                }
            }
            Values::Same(_) => Err(not_there(path)),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or("it holds more than a pack may hold")?;
        Ok(())
    }
}

fn not_there(path: &str) -> String {
    format!("'{path}' is not there")
}
