//! Reads `server.toml`: what was written becomes what it means, or a mistake with file and line.

use std::collections::BTreeMap;
use std::time::Duration;

use minijinja::Environment;
use minijinja::value::Value;
use model::Span;
use model::experiment::Spoken;
use toml::Spanned;
use toml::de::DeTable;

use super::super::file::{Choice, Choices, MakerToml, ProcessToml};
use super::{Check, Kinds, Maker, Process, ServerError, Setting, Text, Version, template};
use crate::experiment::Page;

/// Reads one `server.toml`.
pub(super) struct Reader<'t> {
    pub(super) page: Page<'t>,
    pub(super) table: DeTable<'t>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(path: &'t str, text: &'t str) -> Result<Self, ServerError> {
        let page = Page::new(path, text);
        let table = DeTable::parse(text).map_err(|error| page.toml_mistake(&error, None))?;
        Ok(Self {
            page,
            table: table.into_inner(),
        })
    }

    fn text(&self, written: Spanned<String>) -> Text {
        let span = written.span();
        // The quote, and the line break behind three of them, are not part of the text.
        let quoted = self.page.text(&span);
        let skipped = usize::from(["\"\"\"\n", "'''\n"].iter().any(|q| quoted.starts_with(q)));
        Text {
            text: written.into_inner(),
            file: self.page.file().to_owned(),
            line: self.page.line(&span) + skipped,
            key: self.page.key(&self.table, &span),
        }
    }

    fn template(
        &self,
        engine: &Environment<'_>,
        written: Spanned<String>,
    ) -> Result<Text, ServerError> {
        let text = self.text(written);
        template::check(engine, &text.text).map_err(|broken| ServerError(text.tell(&broken)))?;
        Ok(text)
    }

    /// A text that comes to a number.
    fn expression(
        &self,
        engine: &Environment<'_>,
        written: Spanned<String>,
    ) -> Result<Text, ServerError> {
        let text = self.text(written);
        template::check_expression(engine, &text.text)
            .map_err(|broken| ServerError(text.tell(&broken)))?;
        Ok(text)
    }

    pub(super) fn templates(
        &self,
        engine: &Environment<'_>,
        written: Vec<Spanned<String>>,
    ) -> Result<Vec<Text>, ServerError> {
        let texts = written.into_iter();
        texts.map(|text| self.template(engine, text)).collect()
    }

    pub(super) fn settings(
        &self,
        engine: &Environment<'_>,
        choices: Choices,
    ) -> Result<BTreeMap<String, Setting>, ServerError> {
        let read = |choice: Choice| -> Result<Setting, ServerError> {
            Ok(Setting {
                text: choice
                    .text
                    .map(|text| self.template(engine, text))
                    .transpose()?,
                arguments: self.templates(engine, choice.arguments)?,
                requires: choice.requires,
                install: choice.install,
                versions: self.makers(choice.versions)?,
            })
        };
        let choices = choices.into_iter();
        choices
            .map(|(name, choice)| Ok((name, read(choice)?)))
            .collect()
    }

    fn makers(&self, written: Vec<MakerToml>) -> Result<Vec<Maker>, ServerError> {
        let read = |maker: MakerToml| {
            let place = self.told(&self.text(maker.pattern.clone()));
            let pattern = regex_lite::Regex::new(maker.pattern.get_ref())
                .map_err(|error| ServerError(format!("{place}: {error}")))?;
            Ok(Maker {
                programs: maker.programs,
                version: Version {
                    arguments: maker.arguments,
                    pattern,
                    place,
                },
            })
        };
        written.into_iter().map(read).collect()
    }

    /// Presets, log states and protocols have fixed names; a handler is not called like a protocol.
    pub(super) fn check_names(&self, kinds: &Kinds) -> Result<(), ServerError> {
        let logs = ["off", "on", "buffered"];
        let protocols: Vec<&str> = Spoken::ALL.iter().map(|one| one.name()).collect();
        let fixed: [(&str, &BTreeMap<String, Setting>, &[&str]); 3] = [
            ("access_log", &kinds.access_log, &logs),
            ("preset", &kinds.preset, &["stock", "tuned"]),
            ("protocol", &kinds.protocol, &protocols),
        ];
        for (kind, settings, known) in fixed {
            if let Some(stranger) = settings.keys().find(|name| !known.contains(&name.as_str())) {
                let near = crate::experiment::nearest(stranger, known.iter().copied());
                return Err(self.wrong(
                    &format!("{kind}.{stranger}"),
                    format!("no such key here; there are {}", known.join(", ")),
                    near,
                ));
            }
        }
        if kinds.access_log.is_empty() {
            let why = format!("give at least one of {}", logs.join(", "));
            return Err(self.wrong("access_log", why, None));
        }
        self.check_variants(kinds)?;
        self.check_without(kinds)?;
        let mut handlers = kinds.handler.keys();
        let twice = handlers.find(|name| kinds.protocol.contains_key(*name));
        twice.map_or(Ok(()), |name| {
            let why = "a handler and a protocol have the same name".to_owned();
            Err(self.wrong(&format!("protocol.{name}"), why, None))
        })
    }

    /// What it does not speak is a protocol, and none that it offers.
    fn check_without(&self, kinds: &Kinds) -> Result<(), ServerError> {
        let offered = &kinds.protocol;
        let left = Spoken::ALL.iter().map(|one| one.name());
        let left: Vec<&str> = left.filter(|name| !offered.contains_key(*name)).collect();
        let mut written = kinds.without.keys();
        let strange = written.find(|name| !left.contains(&name.as_str()));
        strange.map_or(Ok(()), |name| {
            let near = crate::experiment::nearest(name, left.iter().copied());
            let why = format!("no protocol that it lacks; these are {}", left.join(", "));
            Err(self.wrong(&format!("without.{name}"), why, near))
        })
    }

    /// Where there are variants, one of them is taken unless another is asked for.
    fn check_variants(&self, kinds: &Kinds) -> Result<(), ServerError> {
        let words: Vec<&str> = kinds.variant.keys().map(String::as_str).collect();
        match &kinds.variant_default {
            None if words.is_empty() => Ok(()),
            None => {
                let why = format!(
                    "say which is the default: variant_default = \"{}\"",
                    words[0]
                );
                Err(self.wrong("variant", why, None))
            }
            Some(default) if words.contains(&default.as_str()) => Ok(()),
            Some(default) => {
                let near = crate::experiment::nearest(default, words.iter().copied());
                let why = format!(
                    "there is no variant '{default}'; there are {}",
                    words.join(", ")
                );
                Err(self.wrong("variant_default", why, near))
            }
        }
    }

    /// A process that not every server has is there for something that can be chosen, and is not
    /// the one that is asked, which alone is told to read its configuration again.
    pub(super) fn check_parts(
        &self,
        kinds: &Kinds,
        processes: &[Process],
    ) -> Result<(), ServerError> {
        let choices = [&kinds.handler, &kinds.protocol, &kinds.variant];
        let words = || {
            choices
                .into_iter()
                .flat_map(BTreeMap::keys)
                .map(String::as_str)
        };
        for (index, process) in processes.iter().enumerate() {
            let name = &process.name;
            if processes[..index].iter().any(|other| other.name == *name) {
                let key = format!("process[{index}].name");
                let why = format!("two processes are called '{name}': give each a name of its own");
                return Err(self.wrong(&key, why, None));
            }
            if index + 1 < processes.len() && process.reload.is_some() {
                let key = format!("process[{index}].reload");
                let why = "only the last process, the one that is asked, is told to read its \
                           configuration again";
                return Err(self.wrong(&key, why.to_owned(), None));
            }
            let key = format!("process[{index}].only_for");
            if index + 1 == processes.len() && !process.only_for.is_empty() {
                let why = "the last process is the one that is asked: it always takes part";
                return Err(self.wrong(&key, why.to_owned(), None));
            }
            let mut names = process.only_for.iter();
            if let Some(stranger) = names.find(|name| !words().any(|word| word == *name)) {
                let near = crate::experiment::nearest(stranger, words());
                let why = format!(
                    "there is no handler, protocol or variant '{stranger}'; there are {}",
                    words().collect::<Vec<_>>().join(", ")
                );
                return Err(self.wrong(&key, why, near));
            }
        }
        Ok(())
    }

    pub(super) fn wrong(&self, key: &str, why: String, nearest: Option<&str>) -> ServerError {
        self.page.mistake(&self.table, key, why, nearest).into()
    }

    pub(super) fn process(
        &self,
        engine: &Environment<'_>,
        server: &str,
        index: usize,
        written: ProcessToml,
        folder: &BTreeMap<String, Text>,
    ) -> Result<Process, ServerError> {
        let at = |key: &str| format!("process[{index}].{key}");
        if written.programs.get_ref().is_empty() {
            let why = "give at least one name of a program".to_owned();
            return Err(self.wrong(&at("programs"), why, None));
        }
        let version = match written.version {
            None => None,
            Some(version) => Some(Version {
                arguments: version.arguments,
                place: self.told(&self.text(version.pattern.clone())),
                pattern: regex_lite::Regex::new(version.pattern.get_ref())
                    .map_err(|error| self.wrong(&at("version.pattern"), error.to_string(), None))?,
            }),
        };
        let check = match written.check {
            None => None,
            Some(check) => Some(Check {
                arguments: self.templates(engine, check.arguments)?,
                place: self.place_of(&at("check")),
                within: self.time(check.within)?,
            }),
        };
        let mut files = Vec::new();
        for (name, source) in written.files {
            let source = self.template(engine, source)?;
            for preset in ["stock", "tuned"] {
                let wanted = template::render(engine, &source.text, &preset_alone(preset));
                if let Ok(wanted) = wanted
                    && !folder.contains_key(&wanted)
                {
                    let why = format!("there is no file '{wanted}' beside server.toml");
                    return Err(ServerError(format!("{}: {why}", self.told(&source))));
                }
            }
            files.push((name, source));
        }
        let mut environment = Vec::new();
        for (name, text) in written.environment {
            environment.push((name, self.template(engine, text)?));
        }
        let expression = |written| self.expression(engine, written);
        Ok(Process {
            name: written.name.unwrap_or_else(|| server.to_owned()),
            programs: written.programs.into_inner(),
            only_for: written.only_for,
            requires: written.requires,
            version,
            check,
            arguments_place: self.place_of(&at("arguments")),
            arguments: self.templates(engine, written.arguments)?,
            environment,
            folders: written.folders,
            files,
            count: expression(written.ready.processes)?,
            threads: written.ready.threads.map(expression).transpose()?,
            listens: written.ready.listens,
            ready_place: self.place_of(&at("ready.within")),
            within: self.time(written.ready.within)?,
            stop: written.stop.signal.into(),
            patience: self.time(written.stop.within)?,
            reload: self.reload(engine, written.reload, &at("reload"))?,
        })
    }

    pub(super) fn time(&self, written: Spanned<String>) -> Result<Duration, ServerError> {
        Ok(Duration::from_nanos(self.span(written)?.as_ns()))
    }

    pub(super) fn span(&self, written: Spanned<String>) -> Result<Span, ServerError> {
        let text = self.text(written);
        text.text
            .parse()
            .map_err(|error| ServerError(format!("{}: {error}", self.told(&text))))
    }

    /// File and line of a key, or of the nearest that is written.
    pub(super) fn place_of(&self, key: &str) -> String {
        let line = self.page.line_of_key(&self.table, key);
        format!("{}:{line}: {key}", self.page.file())
    }

    /// File, line and key of a text.
    fn told(&self, text: &Text) -> String {
        format!("{}:{}: {}", text.file, text.line, text.key)
    }
}

/// What the names of files may depend on.
pub(super) fn preset_alone(preset: &str) -> Value {
    BTreeMap::from([("preset", Value::from(preset))]).into()
}
