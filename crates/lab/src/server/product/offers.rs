//! What a product offers: its log states, handlers, protocols and variants, and what is missing.

use std::collections::BTreeMap;

use model::experiment::{AccessLog, Spoken};

use super::super::Absent;
use super::{Maker, NULL, Product, Setting};

impl Product {
    /// What can be chosen: each kind with its words.
    pub fn supports(&self) -> [(&'static str, Vec<&str>); 4] {
        let kinds = &self.kinds;
        let handlers = kinds.handler.keys().map(String::as_str);
        [
            ("access log", names(&kinds.access_log)),
            ("answers", handlers.filter(|name| *name != NULL).collect()),
            ("protocols", names(&kinds.protocol)),
            ("variants", names(&kinds.variant)),
        ]
    }

    /// The variant that holds where none is asked for; empty where there are none.
    pub fn variant_default(&self) -> &str {
        self.kinds.variant_default.as_deref().unwrap_or_default()
    }

    /// Every choice, by the name that it goes by among all: that of a handler, protocol or variant
    /// is its own, as workloads and servers name it.
    fn choices(&self) -> impl Iterator<Item = (String, &Setting)> {
        let kinds = &self.kinds;
        let own = [&kinds.handler, &kinds.protocol, &kinds.variant];
        let own = own.into_iter().flatten();
        let own = own.map(|(name, choice)| (name.clone(), choice));
        let presets = kinds.preset.iter();
        let presets = presets.map(|(name, choice)| (of_preset(name), choice));
        let logs = kinds.access_log.iter();
        let logs = logs.map(|(name, choice)| (of_access_log(name), choice));
        own.chain(presets).chain(logs)
    }

    /// What of its choices cannot be had here, because `is_there` says of all programs that each
    /// requires that they are missing, or because a process that it needs is `gone`, with a
    /// sentence.
    pub(in crate::server) fn lacking(
        &self,
        is_there: &dyn Fn(&[String]) -> bool,
        gone: &BTreeMap<usize, String>,
    ) -> BTreeMap<String, Absent> {
        let missing = self
            .choices()
            .filter(|(_, choice)| !choice.requires.is_empty() && !is_there(&choice.requires));
        let absent = |choice: &Setting, name: &str| Absent {
            why: format!(
                "{} does not offer '{name}' here: there is no {}",
                self.name,
                choice.requires.join(" or ")
            ),
            remedy: choice.install.clone(),
        };
        let mut lacking: BTreeMap<String, Absent> = missing
            .map(|(name, choice)| (name.clone(), absent(choice, &name)))
            .collect();
        for (index, why) in gone {
            for name in &self.processes[*index].only_for {
                let mut found = self.choices().filter(|(other, _)| other == name);
                lacking.entry(name.clone()).or_insert_with(|| Absent {
                    why: format!("{} does not offer '{name}' here: {why}", self.name),
                    remedy: found.find_map(|(_, choice)| choice.install.clone()),
                });
            }
        }
        lacking
    }

    /// What takes part in answers beside it, by the choice that it is for.
    pub(in crate::server) fn makers(&self) -> impl Iterator<Item = (String, &Maker)> {
        self.choices().flat_map(|(name, choice)| {
            let versions = choice.versions.iter();
            versions.map(move |maker| (name.clone(), maker))
        })
    }

    /// The first of `needs` that it does not offer, in a sentence.
    pub fn lacks<'n>(&self, mut needs: impl Iterator<Item = &'n str>) -> Option<String> {
        if self.processes.is_empty() {
            // Whoever runs it knows what else it offers.
            let wants_files = needs.any(|need| need == "static");
            return wants_files.then(|| {
                format!(
                    "{} already runs: the lab cannot give it files; ask it for a path \
                     ([[workload.request]] path = \"/...\")",
                    self.name
                )
            });
        }
        let missing = needs.find(|need| self.offer(need).is_none())?;
        let [_, (_, handlers), (_, protocols), _] = self.supports();
        let offers: Vec<&str> = handlers.into_iter().chain(protocols).collect();
        Some(format!(
            "{} does not offer '{missing}', which the workload needs; it offers {}",
            self.name,
            offers.join(", ")
        ))
    }

    /// Why it cannot be measured with that protocol, if it cannot. HTTP/1.1 in clear needs no word.
    pub fn cannot_speak(&self, protocol: &str) -> Option<String> {
        if protocol == Spoken::Http1.name() || self.kinds.protocol.contains_key(protocol) {
            return None;
        }
        let why = self.kinds.without.get(protocol);
        Some(format!(
            "{} does not speak {protocol} here; it speaks {}{}",
            self.name,
            match names(&self.kinds.protocol).as_slice() {
                [] => Spoken::Http1.name().to_owned(),
                some => some.join(", "),
            },
            why.map_or_else(String::new, |why| format!(": {why}"))
        ))
    }

    /// Why it does not speak protocols, as far as its folder says so: each reason with those that
    /// it is of.
    pub fn without(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (protocol, why) in &self.kinds.without {
            reasons.entry(why).or_default().push(protocol);
        }
        reasons
    }

    /// Why it cannot log requests in that way, if it cannot.
    pub fn cannot_log(&self, access_log: AccessLog) -> Option<String> {
        if self.kinds.access_log.contains_key(access_log.name()) {
            return None;
        }
        Some(format!(
            "{} has no access log '{}'; there are {}",
            self.name,
            access_log.name(),
            names(&self.kinds.access_log).join(", ")
        ))
    }
}

/// The name of a preset among all choices of a product.
pub(in crate::server) fn of_preset(name: &str) -> String {
    format!("preset.{name}")
}

/// The name of a way to log requests among all choices of a product.
pub(in crate::server) fn of_access_log(name: &str) -> String {
    format!("access_log.{name}")
}

fn names(settings: &BTreeMap<String, Setting>) -> Vec<&str> {
    settings.keys().map(String::as_str).collect()
}
