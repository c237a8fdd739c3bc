//! A product: what its folder says, read once, with every mistake told by file and line.

mod check;
mod directives;
mod launch;
mod offers;
mod read;
mod reload;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use minijinja::Environment;
use minijinja::value::Value;
use model::Span;
use sys::process::Signal;
use toml::Spanned;

use super::file::ServerToml;
use super::{Setup, template};
use crate::experiment::ReadError;
use check::Check;
use directives::Directives;
pub(super) use offers::{of_access_log, of_preset};
use read::Reader;
use reload::Reload;

/// A server that the lab can run, if it is installed.
pub struct Product {
    name: String,
    install: String,
    foreground: String,
    bears_freezing: bool,
    steady_within: Option<Span>,
    access_log_file: String,
    processes: Vec<Process>,
    kinds: Kinds,
    /// How an experiment's own directives are written, if its folder says so.
    directives: Option<Directives>,
    /// The text of each file of the folder, by name.
    files: BTreeMap<String, Text>,
    engine: Environment<'static>,
    /// What it is to offer whatever is asked: the null responder.
    always: Option<&'static str>,
}

/// What can be chosen, by kind.
#[derive(Clone)]
struct Kinds {
    access_log: BTreeMap<String, Setting>,
    handler: BTreeMap<String, Setting>,
    preset: BTreeMap<String, Setting>,
    protocol: BTreeMap<String, Setting>,
    /// Why it does not speak the others, as far as its folder says so.
    without: BTreeMap<String, String>,
    variant: BTreeMap<String, Setting>,
    /// The variant that holds where none is asked for.
    variant_default: Option<String>,
}

/// What a choice sets.
#[derive(Clone)]
struct Setting {
    text: Option<Text>,
    arguments: Vec<Text>,
    /// Programs, or files by their whole paths, of which one must be there.
    requires: Vec<String>,
    install: Option<String>,
    versions: Vec<Maker>,
}

/// What takes part in the answers of a choice beside the server, and how it tells its version.
#[derive(Clone)]
pub(super) struct Maker {
    /// Programs to ask, the likeliest first.
    pub(super) programs: Vec<String>,
    pub(super) version: Version,
}

/// One process of the rig.
#[derive(Clone)]
pub(super) struct Process {
    name: String,
    pub(super) programs: Vec<String>,
    /// Handlers, protocols and variants that need it; none: it always takes part.
    pub(super) only_for: Vec<String>,
    pub(super) requires: Vec<String>,
    pub(super) version: Option<Version>,
    check: Option<Check>,
    arguments: Vec<Text>,
    arguments_place: String,
    environment: Vec<(String, Text)>,
    folders: Vec<String>,
    files: Vec<(String, Text)>,
    count: Text,
    /// Threads that serve that there must be at least, if they can be counted.
    threads: Option<Text>,
    listens: bool,
    within: Duration,
    ready_place: String,
    stop: Signal,
    patience: Duration,
    /// What makes it read its configuration again while it serves, if anything does.
    reload: Option<Reload>,
}

impl Process {
    /// Whether a server that is to be so has it.
    fn takes_part(&self, setup: &Setup<'_>) -> bool {
        self.only_for.is_empty() || self.wanted(setup).next().is_some()
    }

    /// What needs it of what was chosen.
    fn wanted<'p>(&'p self, setup: &'p Setup<'_>) -> impl Iterator<Item = &'p String> {
        self.only_for.iter().filter(|name| {
            let needed = setup.needs.contains(name);
            needed || *name == setup.variant || *name == setup.protocol.name()
        })
    }
}

/// How a program tells its version.
#[derive(Clone)]
pub(super) struct Version {
    pub(super) arguments: Vec<String>,
    pub(super) pattern: regex_lite::Regex,
    /// Where the pattern stands.
    pub(super) place: String,
}

/// A text with the place that it stands at.
#[derive(Clone, Debug)]
pub(super) struct Text {
    text: String,
    file: String,
    /// The line of its first character.
    line: usize,
    /// Its key; empty where it is a whole file.
    key: String,
}

impl Text {
    /// A whole file.
    pub(super) fn file(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            file: file.into(),
            line: 1,
            key: String::new(),
        }
    }

    fn render(&self, engine: &Environment<'_>, values: &Value) -> Result<String, String> {
        template::render(engine, &self.text, values).map_err(|broken| self.tell(&broken))
    }

    /// What is wrong with it, and where.
    fn tell(&self, broken: &template::Broken) -> String {
        let line = self.line + broken.line - 1;
        let key = if self.key.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.key)
        };
        format!("{}:{line}: {key}{}", self.file, broken.why)
    }
}

impl Product {
    /// Reads the folder of the server `name`: `place` is its path in errors, `files` are its texts.
    pub(super) fn read(
        name: &str,
        place: &str,
        files: &BTreeMap<String, String>,
    ) -> Result<Self, ServerError> {
        let path = format!("{place}/server.toml");
        let text = files.get("server.toml").ok_or_else(|| {
            ServerError(format!(
                "{path} is missing: a server is a folder with this file"
            ))
        })?;
        let reader = Reader::new(&path, text)?;
        let written: ServerToml = toml::from_str(text)
            .map_err(|error| reader.page.toml_mistake(&error, Some(&reader.table)))?;
        let files: BTreeMap<String, Text> = files
            .iter()
            .filter(|(name, _)| *name != "server.toml")
            .map(|(name, text)| (name.clone(), Text::file(format!("{place}/{name}"), text)))
            .collect();
        let engine = template::engine();
        for text in files.values() {
            template::check(&engine, &text.text)
                .map_err(|broken| ServerError(text.tell(&broken)))?;
        }
        let kinds = Kinds {
            access_log: reader.settings(&engine, written.access_log)?,
            handler: reader.settings(&engine, written.handler)?,
            preset: reader.settings(&engine, written.preset)?,
            protocol: reader.settings(&engine, written.protocol)?,
            without: written.without,
            variant: reader.settings(&engine, written.variant)?,
            variant_default: written.variant_default.map(Spanned::into_inner),
        };
        reader.check_names(&kinds)?;
        if written.process.is_empty() {
            return Err(ServerError(format!(
                "{path}:1: process: give at least one [[process]]"
            )));
        }
        let steady_within = written
            .steady_within
            .map(|within| reader.span(within))
            .transpose()?;
        let mut processes = Vec::new();
        for (index, process) in written.process.into_iter().enumerate() {
            processes.push(reader.process(&engine, name, index, process.into_inner(), &files)?);
        }
        reader.check_parts(&kinds, &processes)?;
        let (settings, keep_alive) = (written.settings, written.keep_alive);
        let directives = Directives::read(&reader, settings, keep_alive, &processes)?;
        Ok(Self {
            name: name.to_owned(),
            install: written.install,
            foreground: written.foreground,
            bears_freezing: written.bears_freezing,
            steady_within,
            access_log_file: written.access_log_file,
            processes,
            kinds,
            directives,
            files,
            engine,
            always: None,
        })
    }

    /// One that already runs and is not the lab's to start.
    pub(super) fn running(name: &str) -> Self {
        let none = BTreeMap::new;
        Self {
            name: name.to_owned(),
            install: String::new(),
            foreground: String::new(),
            // Whoever froze it would stop it for others, too.
            bears_freezing: false,
            steady_within: None,
            access_log_file: String::new(),
            processes: Vec::new(),
            kinds: Kinds {
                access_log: none(),
                handler: none(),
                preset: none(),
                protocol: none(),
                without: BTreeMap::new(),
                variant: none(),
                variant_default: None,
            },
            directives: None,
            files: BTreeMap::new(),
            engine: template::engine(),
            always: None,
        }
    }

    /// This product under another name, always with that handler.
    pub(super) fn always(&self, name: &str, handler: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            always: Some(handler),
            install: self.install.clone(),
            foreground: self.foreground.clone(),
            access_log_file: self.access_log_file.clone(),
            processes: self.processes.clone(),
            kinds: self.kinds.clone(),
            directives: self.directives.clone(),
            files: self.files.clone(),
            engine: template::engine(),
            bears_freezing: self.bears_freezing,
            steady_within: self.steady_within,
        }
    }

    /// Its name in experiments.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How to install it, by system.
    pub fn install(&self) -> &str {
        &self.install
    }

    /// What keeps it from putting itself into the background, where nobody can watch it.
    pub fn foreground(&self) -> &str {
        &self.foreground
    }

    /// Whether it can be stopped for a while (SIGSTOP) and go on as if nothing had been.
    pub const fn bears_freezing(&self) -> bool {
        self.bears_freezing
    }

    /// How long it is loaded at most until its rate is steady, if it gets faster while it runs.
    pub const fn steady_within(&self) -> Option<Span> {
        self.steady_within
    }

    /// Where it logs requests, below its private folder.
    pub fn access_log_file(&self) -> &str {
        &self.access_log_file
    }

    pub(super) fn processes(&self) -> &[Process] {
        &self.processes
    }

    fn offer(&self, need: &str) -> Option<&Setting> {
        let handler = self.kinds.handler.get(need);
        handler.or_else(|| self.kinds.protocol.get(need))
    }
}

impl Product {
    /// Why a user's template cannot take the place of the file that `source` names: that file says
    /// where the server listens, and the template does not. With the line that does.
    fn lacks_port(&self, source: &Text, template: &str) -> Option<String> {
        let uses = |text: &str| template::uses(&self.engine, text, &["port", "ports"]);
        let file = template::render(&self.engine, &source.text, &read::preset_alone("stock"));
        let file = file.ok()?;
        let own = self.files.get(&file).filter(|own| uses(&own.text))?;
        if uses(template) || template.contains("{port}") {
            return None;
        }
        let mut lines = own.text.lines().map(str::trim);
        let line = lines.find(|line| line.contains("{{ port") && !line.contains('#'));
        let example = line.map_or_else(String::new, |line| {
            format!(", as {file} of {} does ({line})", self.name)
        });
        Some(format!(
            "it does not use {{{{ port }}}}, and each start has another port: write that in place \
             of its own{example}"
        ))
    }
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Product").field(&self.name).finish()
    }
}

/// The handler that is no server's own: it answers from memory, whatever is asked.
pub(super) const NULL: &str = "null";

/// Whether a user's template takes the place of the file that `source` names.
fn depends_on_preset(source: &Text) -> bool {
    source.text.contains("preset")
}

/// Why a server's folder cannot be understood: a sentence with file and line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ServerError(pub(super) String);

impl From<ReadError> for ServerError {
    fn from(error: ReadError) -> Self {
        Self(error.to_string())
    }
}
