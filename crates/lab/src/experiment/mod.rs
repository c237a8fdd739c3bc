//! Reads experiment files: an error names the file, the line, the key and the nearest valid key.
//!
//! Four passes, each with its own kind of mistake: the shape (TOML), the keys (against one table),
//! the values (serde, then [`Experiment::try_from`]), the names of servers (against their table).

mod demands;
mod files;
pub mod keys;
mod known;
mod overrides;

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use model::experiment::{OneOrMany, ServerFile};
use model::{Experiment, ExperimentFile};
use toml::de::{DeTable, DeValue};

use crate::server::Catalogue;
use crate::sweep::rounds_needed;

pub use keys::nearest;

/// Experiments that the program brings along, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "first-heat",
        include_str!("../../../../experiments/first-heat.toml"),
    ),
    (
        "handshakes",
        include_str!("../../../../experiments/handshakes.toml"),
    ),
    (
        "real-load-2022",
        include_str!("../../../../experiments/real-load-2022.toml"),
    ),
    (
        "revisited-2005",
        include_str!("../../../../experiments/revisited-2005.toml"),
    ),
    (
        "rootusers-2016",
        include_str!("../../../../experiments/rootusers-2016.toml"),
    ),
    (
        "slashdotting",
        include_str!("../../../../experiments/slashdotting.toml"),
    ),
    (
        "yitian-2023",
        include_str!("../../../../experiments/yitian-2023.toml"),
    ),
];

/// A commented experiment to begin with.
pub const NEW: &str = include_str!("new.toml");

/// Why an experiment cannot be understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// Neither a file nor a built-in.
    #[error(
        "there is no file and no built-in experiment '{name}'{}; built in: {built_in}",
        did_you_mean(.nearest.as_deref())
    )]
    Unknown {
        /// As given.
        name: String,
        /// The nearest built-in.
        nearest: Option<String>,
        /// All of them.
        built_in: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// A mistake in the file or in an override.
    #[error("{place}: {}{why}{}", key_prefix(.key), did_you_mean(.nearest.as_deref()))]
    Mistake {
        /// The file and line, or the override.
        place: Place,
        /// The key by its path, empty where none can be named.
        key: String,
        /// What is wrong.
        why: String,
        /// The nearest valid key or value.
        nearest: Option<String>,
    },
}

/// Where a mistake stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// In a file.
    Line {
        /// Its name as given.
        file: String,
        /// From 1.
        line: usize,
    },
    /// On the command line.
    Override(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Override(text) => write!(f, "'{text}'"),
        }
    }
}

fn key_prefix(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!("{key}: ")
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean '{word}'?"))
}

/// An experiment with the text it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// A path, or `built-in`.
    pub name: String,
    /// As read, before overrides.
    pub text: String,
    /// What it means, after overrides.
    pub experiment: Experiment,
    /// What it means without them, where that can be understood.
    pub as_written: Option<Experiment>,
    /// What a reader must know of it: a sentence for each folder of which something is not served.
    pub notes: Vec<String>,
}

/// Reads the experiment of that path or built-in name, and applies `KEY=VALUE` overrides.
pub fn read(name: &str, overrides: &[String]) -> Result<Source, ReadError> {
    read_with(name, overrides, &Catalogue::built_in())
}

/// The same where other servers are known than those that the program brings along.
pub fn read_with(
    name: &str,
    overrides: &[String],
    servers: &Catalogue,
) -> Result<Source, ReadError> {
    let (place, text) = text_of(name)?;
    let (experiment, notes) = parse_with(name, &text, overrides, Some(servers))?;
    let as_written = parse_with(name, &text, &[], Some(servers));
    Ok(Source {
        name: place,
        text,
        experiment,
        as_written: as_written.ok().map(|(experiment, _)| experiment),
        notes,
    })
}

/// The same where none of its servers is meant to be started: whether they are known does not
/// matter.
pub fn read_to_ask(name: &str) -> Result<Experiment, ReadError> {
    let (_, text) = text_of(name)?;
    parse_with(name, &text, &[], None).map(|(experiment, _)| experiment)
}

/// Where the experiment of that path or built-in name was read, and its text.
fn text_of(name: &str) -> Result<(String, String), ReadError> {
    match std::fs::read_to_string(name) {
        Ok(text) => Ok((name.to_owned(), text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_a_path(name) => {
            let found = BUILT_IN.iter().find(|(built_in, _)| *built_in == name);
            let (_, text) = found.ok_or_else(|| unknown(name))?;
            Ok(("built-in".to_owned(), (*text).to_owned()))
        }
        Err(error) => Err(ReadError::Unreadable {
            path: name.into(),
            why: error.to_string(),
        }),
    }
}

/// Refuses servers that are not in the catalogue, or not as the experiment has them: to be asked of
/// what was not read from a text.
///
/// # Errors
///
/// What is wrong, in a sentence.
pub fn check_servers(experiment: &Experiment, servers: &Catalogue) -> Result<(), String> {
    let checked = known::check(experiment, servers);
    checked.map_err(|found| format!("{}: {}", found.key, found.why))
}

/// The smallest experiment with `server`: it is asked for a document of `bytes` over so many
/// connections.
///
/// # Errors
///
/// What is wrong with it, in a sentence that begins with the key below the server.
pub(crate) fn of_one_server(
    server: &ServerFile,
    bytes: u64,
    connections: u32,
) -> Result<Experiment, String> {
    let text = format!(
        "experiment = {{ name = \"one\", question = \"\", rounds = 1, duration = \"1s\" }}\n\
         workload = [{{ name = \"file\", body = {{ bytes = {bytes} }} }}]\n\
         load = {{ connections = {connections} }}\n"
    );
    let mut file = written(&text).map_err(|error| error.to_string())?;
    file.server = vec![server.clone()];
    let said = |key: &str, why: &str| {
        let key = key.trim_start_matches("server[0]").trim_start_matches('.');
        match key {
            "" => why.to_owned(),
            key => format!("{key}: {why}"),
        }
    };
    let experiment = Experiment::try_from(file).map_err(|wrong| said(&wrong.key, &wrong.why))?;
    known::check(&experiment, &Catalogue::built_in()).map_err(|found| {
        let hint = did_you_mean(found.nearest.as_deref());
        said(&found.key, &format!("{}{hint}", found.why))
    })?;
    Ok(experiment)
}

/// Whether `name` can only be that of a file: no built-in experiment is called so.
fn is_a_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

fn unknown(name: &str) -> ReadError {
    let of_probes = crate::probe::question::BUILT_IN;
    let names: Vec<&str> = BUILT_IN
        .iter()
        .chain(of_probes)
        .map(|(name, _)| *name)
        .collect();
    ReadError::Unknown {
        name: name.to_owned(),
        nearest: nearest(name, names.iter().copied()).map(str::to_owned),
        built_in: names.join(", "),
    }
}

/// Reads an experiment from `text`; `file` is its name in errors.
pub fn parse(file: &str, text: &str, overrides: &[String]) -> Result<Experiment, ReadError> {
    let read = parse_with(file, text, overrides, Some(&Catalogue::built_in()));
    read.map(|(experiment, _)| experiment)
}

/// An experiment, and what a reader must know of it. Its servers are those that are known, if that
/// is to be seen.
fn parse_with(
    file: &str,
    text: &str,
    overrides: &[String],
    servers: Option<&Catalogue>,
) -> Result<(Experiment, Vec<String>), ReadError> {
    let page = Page { file, text };
    let table = DeTable::parse(text).map_err(|error| page.toml_mistake(&error, None))?;
    let table = table.into_inner();
    keys::check(&page, &table)?;
    let written = written(text).map_err(|error| page.toml_mistake(&error, Some(&table)))?;
    let mut written = if overrides.is_empty() {
        written
    } else {
        overrides::apply(text, overrides)?
    };
    let is_in_file = span_of(&table, "experiment")
        .is_some_and(|section| span_of(&table, "experiment.rounds") != Some(section));
    if !is_in_file && overrides::touching(overrides, "experiment.rounds").is_none() {
        written.experiment.rounds = rounds_needed_by(&written);
    }
    let mistake = |key: &str, why: String, nearest: Option<String>| ReadError::Mistake {
        place: match overrides::touching(overrides, key) {
            Some(text) => Place::Override(text.to_owned()),
            None => page.place(span_of(&table, key).unwrap_or(0..0)),
        },
        key: key.trim_end_matches(".bytes").to_owned(),
        why,
        nearest,
    };
    files::read_contents(&mut written).map_err(|(key, why)| mistake(&key, why, None))?;
    let notes = files::list_sites(&mut written).map_err(|(key, why)| mistake(&key, why, None))?;
    let experiment =
        Experiment::try_from(written).map_err(|error| mistake(&error.key, error.why, None))?;
    if overrides.is_empty() {
        // What is cut on the command line may leave a demand without its point.
        demands::check(&experiment)
            .map_err(|found| mistake(&found.key, found.why, found.nearest))?;
    }
    if let Some(servers) = servers {
        known::check(&experiment, servers)
            .map_err(|found| mistake(&found.key, found.why, found.nearest))?;
    }
    Ok((experiment, notes))
}

/// An experiment as it is written: the only place that compiles the reading of one from TOML.
fn written(text: &str) -> Result<ExperimentFile, toml::de::Error> {
    toml::from_str(text)
}

/// As many rounds as the comparisons of `written` need.
fn rounds_needed_by(written: &ExperimentFile) -> u32 {
    fn values<T>(axis: Option<&OneOrMany<T>>) -> usize {
        axis.map_or(1, |axis| axis.as_slice().len())
    }
    let configurations = |server: &ServerFile| {
        let alike = 1 + usize::from(server.twin);
        let (cores, logs) = (server.cores.as_slice(), server.access_log.as_slice());
        let settings: usize = server
            .settings
            .values()
            .map(|one| values(Some(one)))
            .product();
        let limits = server.keep_alive.as_ref();
        let limits = values(limits.and_then(|limits| limits.requests.as_ref()));
        let own = settings * limits * values(server.pin.as_ref());
        cores.len() * logs.len() * values(server.variant.as_ref()) * own * alike
    };
    let kinds = written.tls.as_ref().map_or(1, |tls| {
        tls.certificate.as_slice().len() * tls.handshake.as_slice().len()
    });
    let servers: usize = written.server.iter().map(configurations).sum();
    let comparisons = written.workload.iter().map(|workload| {
        let own = workload.protocol.as_ref();
        let protocols = own.unwrap_or(&written.load.protocol).as_slice().iter();
        let speeches = protocols.map(|one| if one.is_secure() { kinds } else { 1 });
        let speeches: usize = speeches.sum();
        let rivals = (servers * speeches).saturating_sub(1);
        rivals * values(workload.handler.as_ref())
    });
    rounds_needed(comparisons.sum())
}

/// A text that errors point into.
pub(crate) struct Page<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Page<'a> {
    /// `file` is the name of `text` in errors.
    pub(crate) const fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text }
    }

    /// Its name.
    pub(crate) const fn file(&self) -> &str {
        self.file
    }

    /// What stands at `span`.
    pub(crate) fn text(&self, span: &Range<usize>) -> &str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The line at which `span` begins, from 1.
    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        let before = &self.text[..span.start.min(self.text.len())];
        before.matches('\n').count() + 1
    }

    /// The path of the value at `span`.
    pub(crate) fn key(&self, table: &DeTable<'_>, span: &Range<usize>) -> String {
        key_at(table, span).unwrap_or_default()
    }

    /// The line of the value of that key, or of the nearest part of its path that exists.
    pub(crate) fn line_of_key(&self, table: &DeTable<'_>, key: &str) -> usize {
        self.line(&span_of(table, key).unwrap_or(0..0))
    }

    fn place(&self, span: Range<usize>) -> Place {
        Place::Line {
            file: self.file.to_owned(),
            line: self.line(&span),
        }
    }

    /// A mistake at the value of that key.
    pub(crate) fn mistake(
        &self,
        table: &DeTable<'_>,
        key: &str,
        why: String,
        nearest: Option<&str>,
    ) -> ReadError {
        ReadError::Mistake {
            place: self.place(span_of(table, key).unwrap_or(0..0)),
            key: key.to_owned(),
            why,
            nearest: nearest.map(str::to_owned),
        }
    }

    /// What the reader of TOML found.
    pub(crate) fn toml_mistake(
        &self,
        error: &toml::de::Error,
        table: Option<&DeTable<'_>>,
    ) -> ReadError {
        let span = error.span().unwrap_or(0..0);
        let key = table
            .and_then(|table| key_at(table, &span))
            .unwrap_or_default();
        let (why, nearest) = keys::explain_at(&key, error.message());
        ReadError::Mistake {
            place: self.place(span),
            key,
            why,
            nearest,
        }
    }
}

/// The path of the innermost value that encloses `span`.
fn key_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<String> {
    let encloses = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
    for (key, value) in table {
        let name = key.get_ref().to_string();
        if !encloses(value.span()) && !encloses(key.span()) {
            // A table's span is its header; its children lie outside of it.
            if let Some(inner) = inner_key(value.get_ref(), span) {
                return Some(format!("{name}{inner}"));
            }
            continue;
        }
        let inner = inner_key(value.get_ref(), span).unwrap_or_default();
        return Some(format!("{name}{inner}"));
    }
    None
}

fn inner_key(value: &DeValue<'_>, span: &Range<usize>) -> Option<String> {
    match value {
        DeValue::Table(table) => key_at(table, span).map(|key| format!(".{key}")),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            inner_key(item.get_ref(), span).map(|inner| format!("[{index}]{inner}"))
        }),
        _ => None,
    }
}

/// Where the value of that key, or the nearest part of its path that exists, stands.
fn span_of(table: &DeTable<'_>, path: &str) -> Option<Range<usize>> {
    let mut span = None;
    let mut table = table;
    for part in path.split('.') {
        let (name, index) = match part.split_once('[') {
            Some((name, index)) => (name, index.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == name) else {
            break;
        };
        span = Some(key.span());
        let value = match (value.get_ref(), index) {
            (DeValue::Array(items), Some(index)) => items.get(index).map(|item| {
                span = Some(item.span());
                item.get_ref()
            }),
            (value, _) => Some(value),
        };
        let Some(DeValue::Table(inner)) = value else {
            break;
        };
        table = inner;
    }
    span
}

#[cfg(test)]
mod tests;
