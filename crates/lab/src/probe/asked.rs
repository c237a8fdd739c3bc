//! A server of the lab that a probe asks in the place of our own, as an experiment writes it.

use std::collections::BTreeMap;
use std::path::Path;

use model::experiment::ServerFile;
use model::{Bytes, Experiment};
use sys::counters::process::{self, Waiting};

use super::server::FILE_BYTES;
use super::{Probe, ProbeError, neighbours};
use crate::cpus::Division;
use crate::error::LabError;
use crate::execution::present;
use crate::experiment::of_one_server;
use crate::host::OWN;
use crate::scratch::Scratch;
use crate::server::{Installed, Preset, Running, Search, Start};
use crate::site::Site;

/// The fact of a result that says how its server waits.
pub(super) const WAITS_BY: &str = "waits by";

/// Connections that a server must have room for beside the population.
const SPARE: u32 = 64;

/// What a probe asks a server for: the smallest experiment with it.
#[derive(Clone, Debug)]
pub struct Asked {
    experiment: Experiment,
}

impl Asked {
    /// Checks what was written.
    ///
    /// # Errors
    ///
    /// What is wrong, in a sentence.
    pub(super) fn new(
        probe: &Probe,
        server: &ServerFile,
        population: u32,
    ) -> Result<Self, ProbeError> {
        let wrong = |why: String| ProbeError::Unknown(format!("server: {why}"));
        if !probe.asks_requests() {
            return Err(wrong(format!(
                "the probe '{}' asks no server; connect and request do",
                probe.name
            )));
        }
        let connections = population.saturating_add(SPARE);
        let experiment = of_one_server(server, FILE_BYTES, connections).map_err(wrong)?;
        let [one] = experiment.servers() else {
            let why = "a probe asks one server: write no list and no twin";
            return Err(wrong(why.to_owned()));
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !one.label.bytes().all(is_plain) {
            return Err(wrong(format!(
                "its name '{}' is part of the name of a file here: write a label of letters, \
                 digits, '-', '_' and '.'",
                one.label
            )));
        }
        if !matches!(one.preset.as_str(), "stock" | "tuned") {
            return Err(wrong("a probe's preset is stock or tuned".to_owned()));
        }
        Ok(Self { experiment })
    }

    /// The server's name.
    pub fn label(&self) -> &str {
        &self.experiment.servers()[0].label
    }

    /// Starts it on the CPU of servers, in a folder of its own below `scratch`.
    ///
    /// # Errors
    ///
    /// What is missing, or why it does not start, and what to do about it.
    pub(super) fn start(&self, search: &Search, scratch: &Scratch) -> Result<Standing, LabError> {
        let cpus = &cpu_of_servers();
        let failed = |why: String| LabError::Server {
            server: self.label().to_owned(),
            why,
        };
        let installed = self.find(search, cpus).map_err(failed)?;
        let one = &self.experiment.servers()[0];
        // Inherited by the server: a descriptor for each connection, and one for what it sends.
        let most = self.experiment.connections_most();
        let _as_far_as_it_goes = sys::process::raise_open_files(u64::from(most) * 2 + 1_024);
        let site = Site::build(&scratch.path().join("www"), &self.experiment)?;
        let directives = installed.product.directives_of(one);
        let running = Running::start(&Start {
            label: &one.label,
            installed: &installed,
            preset: match one.preset.as_str() {
                "stock" => Preset::Stock,
                _ => Preset::Tuned,
            },
            preset_name: &one.preset,
            access_log: one.access_log,
            protocol: one.speech.protocol,
            certificate: None,
            tls: None,
            cpus,
            address: OWN,
            connections: most,
            needs: &[],
            variant: match &one.variant {
                Some(variant) => variant,
                None => installed.product.variant_default(),
            },
            reload: false,
            directives: &directives,
            pin: one.pin,
            is_checked: true,
            site: &site,
            scratch,
        })?;
        let path = &site.document(Bytes::new(FILE_BYTES)).path;
        Ok(Standing {
            url: format!("{}{path}", running.place().url),
            name: self.name(&installed),
            running,
        })
    }

    /// What is installed, or what is missing.
    fn find(&self, search: &Search, cpus: &[u32]) -> Result<Installed, String> {
        let division = Division {
            server: cpus.to_vec(),
            generator: Vec::new(),
            words: String::new(),
        };
        let (mut found, missing) = present(&self.experiment, search, &division);
        if let Some(gap) = missing.into_iter().next().map(|missing| missing.gap) {
            let remedy = gap
                .remedy
                .map_or_else(String::new, |remedy| format!("; {remedy}"));
            return Err(format!("{}{remedy}", gap.error));
        }
        found
            .pop()
            .flatten()
            .ok_or_else(|| "it is not installed".to_owned())
    }

    /// What was asked, for the record: `lighttpd/1.4.69, tuned, server.event-handler = poll`.
    fn name(&self, installed: &Installed) -> String {
        let one = &self.experiment.servers()[0];
        let settings = one.settings.iter();
        let settings = settings.map(|(name, value)| format!("{name} = {value}"));
        let variant = one.variant.iter().cloned();
        let mut words = vec![installed.version.clone(), one.preset.clone()];
        words.extend(variant.chain(settings));
        words.join(", ")
    }
}

/// A server that is asked by a pass; it ends with this.
#[derive(Debug)]
pub(super) struct Standing {
    /// What it is asked for.
    pub(super) url: String,
    name: String,
    running: Running,
}

impl Standing {
    /// Its first process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.running.pid()
    }

    /// What it is and how it waits, for the record.
    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let processes = self.running.processes().into_iter();
        let way = waits_by(processes.map(|(pid, _)| pid));
        let way = way.map(|way| (WAITS_BY.to_owned(), way.to_owned()));
        let name = ("server".to_owned(), self.name.clone());
        [name].into_iter().chain(way).collect()
    }

    /// What it has said, in brackets, if it did.
    pub(super) fn complaint(&mut self) -> String {
        match self.running.complaint().as_str() {
            "" => String::new(),
            said => format!(" (it said: {said})"),
        }
    }
}

/// The CPU of servers; where the machine has only one, that one.
fn cpu_of_servers() -> Vec<u32> {
    let (_, cpu) = neighbours::cpus();
    let allowed = sys::cpu::allowed().unwrap_or_default();
    cpu.into_iter().chain(allowed).take(1).collect()
}

/// A server of the lab by the name of its product alone: one core, tuned.
///
/// # Errors
///
/// That there can be no product of that name.
pub fn of_product(name: &str) -> Result<ServerFile, ProbeError> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let wrong = || ProbeError::Unknown(format!("'{name}' is not the name of a server"));
    if !name.bytes().all(is_word) {
        return Err(wrong());
    }
    toml::from_str(&format!("product = \"{name}\"")).map_err(|_| wrong())
}

/// How a server waits for its connections, seen from outside, by what its processes have open; none
/// where that cannot be read of one of them, which may be the one that waits.
pub(super) fn waits_by(processes: impl IntoIterator<Item = u32>) -> Option<&'static str> {
    let root = Path::new("/proc");
    let ways = processes.into_iter();
    let ways: Vec<Option<Waiting>> = ways.map(|pid| process::waits_by(root, pid).ok()).collect();
    let way = ways.iter().flatten().max()?;
    let is_known = *way != Waiting::Poll || ways.iter().all(Option::is_some);
    is_known.then(|| way.name())
}
