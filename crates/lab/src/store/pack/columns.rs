//! JSON documents of one kind, put down value by value: what stands at the same place in all of
//! them stands together, and what repeats costs a byte.
//!
//! A place is the path of a value without the positions in lists. Each place has a column with a
//! line for each value, in the order in which they are met: a scalar as JSON has it, `{N` for an
//! object with the Nth set of keys, `[N` for a list of N. An empty line is the line before it
//! again. A column that is as another one is has that one's place, after `=`.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

/// Values within values; results of a lab have a dozen.
const DEPTH_MAX: usize = 64;

/// What documents are put down in.
#[derive(Debug, Default)]
pub(super) struct Writer {
    columns: HashMap<String, Column>,
    keys: Vec<Vec<String>>,
    known: BTreeMap<Vec<String>, usize>,
}

#[derive(Debug, Default)]
struct Column {
    text: String,
    last: String,
}

impl Column {
    fn push(&mut self, line: String) {
        if line != self.last {
            self.text.push_str(&line);
            self.last = line;
        }
        self.text.push('\n');
    }
}

impl Writer {
    /// Puts down a document. One that is nested too deep is refused.
    pub(super) fn put(&mut self, document: &Value) -> Result<(), String> {
        self.value(document, &mut String::new(), 0)
    }

    fn value(&mut self, value: &Value, path: &mut String, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("it has more than {DEPTH_MAX} levels"));
        }
        let line = match value {
            Value::Object(fields) => format!("{{{}", self.keys_of(fields)),
            Value::Array(items) => format!("[{}", items.len()),
            scalar => scalar.to_string(),
        };
        match self.columns.get_mut(path.as_str()) {
            Some(column) => column.push(line),
            None => self.columns.entry(path.clone()).or_default().push(line),
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

    /// The columns by their places, and the sets of keys.
    pub(super) fn finish(self) -> (BTreeMap<String, String>, Vec<Vec<String>>) {
        let mut places: BTreeMap<String, String> = BTreeMap::new();
        let mut columns = BTreeMap::new();
        let sorted: BTreeMap<String, Column> = self.columns.into_iter().collect();
        for (path, Column { text, .. }) in sorted {
            let text = match places.get(&text) {
                Some(place) => format!("={place}"),
                None => {
                    places.insert(text.clone(), path.clone());
                    text
                }
            };
            columns.insert(path, text);
        }
        (columns, self.keys)
    }
}

/// What documents are read from.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    columns: HashMap<&'a str, Lines<'a>>,
    keys: &'a [Vec<String>],
    /// Bytes that may still be made.
    left: usize,
}

#[derive(Debug)]
struct Lines<'a> {
    rest: std::str::Lines<'a>,
    last: &'a str,
}

impl<'a> Reader<'a> {
    /// Reads from these columns, and makes `most` bytes at most.
    pub(super) fn new(
        columns: &'a BTreeMap<String, String>,
        keys: &'a [Vec<String>],
        most: usize,
    ) -> Self {
        let lines = |text: &'a String| {
            let other = text.strip_prefix('=').and_then(|place| columns.get(place));
            Lines {
                rest: other.unwrap_or(text).lines(),
                last: "",
            }
        };
        let columns = columns.iter();
        Self {
            columns: columns
                .map(|(path, text)| (path.as_str(), lines(text)))
                .collect(),
            keys,
            left: most,
        }
    }

    /// The next document.
    pub(super) fn take(&mut self) -> Result<Value, String> {
        self.value(&mut String::new(), 0)
    }

    fn value(&mut self, path: &mut String, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("'{path}' has more than {DEPTH_MAX} levels"));
        }
        let line = self.line(path)?;
        self.spend(line.len() + 1)?;
        let length = path.len();
        let number = |text: &str| {
            text.parse::<usize>()
                .map_err(|_| format!("'{path}' has '{line}', which is not a value"))
        };
        if let Some(text) = line.strip_prefix('{') {
            let all = self.keys;
            let keys = all.get(number(text)?);
            let keys = keys.ok_or_else(|| format!("'{path}' has keys that are not there"))?;
            let mut fields = Map::new();
            for key in keys {
                self.spend(key.len() + 4)?;
                path.push('.');
                path.push_str(key);
                let field = self.value(path, depth + 1)?;
                fields.insert(key.clone(), field);
                path.truncate(length);
            }
            return Ok(Value::Object(fields));
        }
        if let Some(text) = line.strip_prefix('[') {
            let count = number(text)?;
            path.push_str("[]");
            let mut items = Vec::new();
            for _ in 0..count {
                items.push(self.value(path, depth + 1)?);
            }
            path.truncate(length);
            return Ok(Value::Array(items));
        }
        serde_json::from_str(line).map_err(|error| format!("'{path}': {error}"))
    }

    fn line(&mut self, path: &str) -> Result<&'a str, String> {
        let column = self.columns.get_mut(path);
        let column = column.ok_or_else(|| format!("'{path}' is not there"))?;
        match column.rest.next() {
            Some("") if column.last.is_empty() => Err(format!("'{path}' begins with nothing")),
            Some("") => Ok(column.last),
            Some(line) => {
                column.last = line;
                Ok(line)
            }
            None => Err(format!("'{path}' ends too early")),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or("it holds more than a pack may hold")?;
        Ok(())
    }
}
