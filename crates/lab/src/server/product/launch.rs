//! How a server is started: its configuration and its command lines, from the templates of its
//! folder and from what was chosen.

use std::collections::BTreeMap;
use std::ffi::OsString;

use minijinja::value::Value;

use super::super::{Launch, LaunchProcess, Preset, Setup};
use super::{Process, Product, Setting, Text, depends_on_preset, template};

impl Product {
    /// Its configuration and command lines.
    pub(in crate::server) fn launch(&self, setup: &Setup<'_>) -> Result<Launch, String> {
        if let Some(why) = self.cannot_log(setup.access_log) {
            return Err(why);
        }
        let ports: BTreeMap<String, u16> = self
            .processes
            .iter()
            .map(|process| process.name.clone())
            .zip(setup.ports.iter().copied())
            .collect();
        let chosen = self.chosen(setup)?;
        let port = setup.ports.last().copied().unwrap_or_default();
        let plain = template::values(setup, &ports, port, &BTreeMap::new());
        let mut setting = BTreeMap::new();
        for (kind, choice) in &chosen {
            let text = match &choice.text {
                Some(text) => text.render(&self.engine, &plain)?,
                None => String::new(),
            };
            setting.insert(*kind, text);
        }
        let mut launch = Launch::default();
        for (index, process) in self.processes.iter().enumerate() {
            if !process.takes_part(setup) {
                continue;
            }
            let port = setup.ports.get(index).copied().unwrap_or_default();
            let values = template::values(setup, &ports, port, &setting);
            let more: Vec<&Text> = if index + 1 == self.processes.len() {
                chosen.iter().flat_map(|(_, c)| &c.arguments).collect()
            } else {
                Vec::new()
            };
            self.launch_process(index, port, &more, &values, setup, &mut launch)?;
        }
        if matches!(setup.preset, Preset::Template { .. }) && !launch.takes_template {
            return Err(format!(
                "{} has no configuration file that depends on the preset, so no template either",
                self.name
            ));
        }
        Ok(launch)
    }

    /// What was chosen of each kind.
    fn chosen(&self, setup: &Setup<'_>) -> Result<Vec<(&'static str, &Setting)>, String> {
        let mut chosen = Vec::new();
        let preset = match setup.preset {
            Preset::Stock => self.kinds.preset.get("stock"),
            Preset::Tuned => self.kinds.preset.get("tuned"),
            Preset::Template { .. } => None,
        };
        chosen.extend(preset.map(|setting| ("preset", setting)));
        let needs = setup.needs.iter().map(String::as_str);
        for need in needs.chain(self.always) {
            let Some(offer) = self.offer(need) else {
                return Err(self.lacks([need].into_iter()).unwrap_or_default());
            };
            let is_handler = self.kinds.handler.contains_key(need);
            chosen.push((if is_handler { "handler" } else { "protocol" }, offer));
        }
        let protocol = setup.protocol.name();
        if let Some(why) = self.cannot_speak(protocol) {
            return Err(why);
        }
        if !setup.needs.iter().any(|need| need == protocol) {
            let spoken = self.kinds.protocol.get(protocol);
            chosen.extend(spoken.map(|setting| ("protocol", setting)));
        }
        let variant = self.kinds.variant.get(setup.variant);
        chosen.extend(variant.map(|setting| ("variant", setting)));
        let log = self.kinds.access_log.get(setup.access_log.name());
        chosen.extend(log.map(|setting| ("access_log", setting)));
        Ok(chosen)
    }

    fn launch_process(
        &self,
        index: usize,
        port: u16,
        more: &[&Text],
        values: &Value,
        setup: &Setup<'_>,
        launch: &mut Launch,
    ) -> Result<(), String> {
        let process = &self.processes[index];
        let render = |text: &Text| text.render(&self.engine, values);
        let arguments = process.arguments.iter().chain(more.iter().copied());
        let arguments = self.arguments(arguments, values)?;
        let mut environment = Vec::new();
        for (name, text) in &process.environment {
            environment.push((name.clone(), render(text)?));
        }
        for (name, source) in &process.files {
            let wanted = render(source)?;
            let (made_of, text) = match setup.preset {
                Preset::Template { path, text } if depends_on_preset(source) => {
                    launch.takes_template = true;
                    let filled = render(&Text::file(path, text))?;
                    if let Some(why) = self.lacks_port(source, text) {
                        return Err(format!("{path}: {why}"));
                    }
                    (path, super::super::fill(&filled, setup, port))
                }
                _ => {
                    let text = self.files.get(&wanted).ok_or_else(|| {
                        format!(
                            "{}:{}: there is no file '{wanted}'",
                            source.file, source.line
                        )
                    })?;
                    (text.file.as_str(), render(text)?)
                }
            };
            let text = self.with_directives(name, (made_of, text), setup.directives)?;
            launch.files.push((name.clone(), text));
        }
        let count = |text: &Text| {
            let count = template::count(&self.engine, &text.text, values);
            count.map_err(|broken| text.tell(&broken))
        };
        launch.folders.extend(process.folders.iter().cloned());
        launch.processes.push(LaunchProcess {
            index,
            name: process.name.clone(),
            handlers: self.handlers(process, setup),
            port,
            check: self.launch_check(process, values, setup)?,
            arguments,
            arguments_place: process.arguments_place.clone(),
            environment,
            processes: count(&process.count)?,
            threads: process.threads.as_ref().map(count).transpose()?,
            listens: process.listens,
            within: process.within,
            ready_place: process.ready_place.clone(),
            stop: process.stop,
            patience: process.patience,
            reload: self.launch_reload(process, values)?,
        });
        Ok(())
    }

    /// The handlers without which the process takes no part in an answer; none: it takes part in
    /// all.
    fn handlers(&self, process: &Process, setup: &Setup<'_>) -> Vec<String> {
        let is_handler = |name: &String| self.kinds.handler.contains_key(name);
        let mut wanted = process.wanted(setup);
        match wanted.all(is_handler) {
            true => process.only_for.clone(),
            false => Vec::new(),
        }
    }

    /// A command line; an argument that comes out empty is left out.
    pub(super) fn arguments<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t Text>,
        values: &Value,
    ) -> Result<Vec<OsString>, String> {
        let mut arguments = Vec::new();
        for text in texts {
            let argument = text.render(&self.engine, values)?;
            if !argument.is_empty() {
                arguments.push(OsString::from(argument));
            }
        }
        Ok(arguments)
    }
}
