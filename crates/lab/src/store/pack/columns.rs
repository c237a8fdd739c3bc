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
    columns: HashMap<String, Lines>,
    keys: Vec<Vec<String>>,
    known: BTreeMap<Vec<String>, usize>,
}

#[derive(Debug, Default)]
struct Lines {
    text: String,
    last: String,
}

impl Lines {
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
        let sorted: BTreeMap<String, Lines> = self.columns.into_iter().collect();
        for (path, Lines { text, .. }) in sorted {
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
    columns: Vec<Column<'a>>,
    /// Where each place has its column.
    places: HashMap<&'a str, usize>,
    keys: &'a [Vec<String>],
    /// Bytes that may still be made.
    left: usize,
}

/// The lines of a place that are still to be read, and where what stands inside of its values has
/// its own: no path is put together for each value.
#[derive(Debug)]
struct Column<'a> {
    path: &'a str,
    rest: std::str::Lines<'a>,
    last: &'a str,
    /// Of what stands in its lists.
    items: Option<Place>,
    /// Of the fields of its last object, with the number of their keys.
    fields: Option<(usize, Vec<Place>)>,
}

/// The position of a column; none where there is no such column.
type Place = Option<usize>;

impl<'a> Reader<'a> {
    /// Reads from these columns, and makes `most` bytes at most.
    pub(super) fn new(
        columns: &'a BTreeMap<String, String>,
        keys: &'a [Vec<String>],
        most: usize,
    ) -> Self {
        let places = columns.keys().enumerate();
        let column = |(path, text): (&'a String, &'a String)| {
            let other = text.strip_prefix('=').and_then(|place| columns.get(place));
            Column {
                path,
                rest: other.unwrap_or(text).lines(),
                last: "",
                items: None,
                fields: None,
            }
        };
        Self {
            places: places.map(|(at, path)| (path.as_str(), at)).collect(),
            columns: columns.iter().map(column).collect(),
            keys,
            left: most,
        }
    }

    /// The next document.
    pub(super) fn take(&mut self) -> Result<Value, String> {
        match self.places.get("") {
            Some(&root) => self.value(root, 0),
            None => Err(not_there("")),
        }
    }

    fn value(&mut self, at: usize, depth: usize) -> Result<Value, String> {
        let path = self.columns[at].path;
        if depth > DEPTH_MAX {
            return Err(format!("'{path}' has more than {DEPTH_MAX} levels"));
        }
        let line = self.line(at)?;
        self.spend(line.len() + 1)?;
        let number = |text: &str| {
            text.parse::<usize>()
                .map_err(|_| format!("'{path}' has '{line}', which is not a value"))
        };
        if let Some(text) = line.strip_prefix('{') {
            return self.object(at, number(text)?, depth);
        }
        if let Some(text) = line.strip_prefix('[') {
            let count = number(text)?;
            let mut items = Vec::new();
            for _ in 0..count {
                let place = self.place_of_items(at);
                let place = place.ok_or_else(|| not_there(&format!("{path}[]")))?;
                items.push(self.value(place, depth + 1)?);
            }
            return Ok(Value::Array(items));
        }
        // Not `from_str` of `serde_json`, of which each crate compiles its own.
        line.parse().map_err(|error| format!("'{path}': {error}"))
    }

    /// An object of that column, with the keys of that number.
    fn object(&mut self, at: usize, number: usize, depth: usize) -> Result<Value, String> {
        let path = self.columns[at].path;
        let all = self.keys;
        let keys = all.get(number);
        let keys = keys.ok_or_else(|| format!("'{path}' has keys that are not there"))?;
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

    fn place_of_items(&mut self, at: usize) -> Place {
        let Column { path, items, .. } = &mut self.columns[at];
        let places = &self.places;
        *items.get_or_insert_with(|| places.get(format!("{path}[]").as_str()).copied())
    }

    fn place_of_field(&mut self, at: usize, number: usize, position: usize) -> Place {
        let column = &mut self.columns[at];
        let is_other = |(known, _): &mut (usize, Vec<Place>)| *known != number;
        drop(column.fields.take_if(is_other));
        let (path, places, keys) = (column.path, &self.places, &self.keys[number]);
        let of_key = |key: &String| places.get(format!("{path}.{key}").as_str()).copied();
        let known = &mut column.fields;
        let (_, fields) = known.get_or_insert_with(|| (number, keys.iter().map(of_key).collect()));
        fields[position]
    }

    fn line(&mut self, at: usize) -> Result<&'a str, String> {
        let column = &mut self.columns[at];
        let path = column.path;
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

fn not_there(path: &str) -> String {
    format!("'{path}' is not there")
}
