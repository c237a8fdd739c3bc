//! A server while it runs: its processes started one after the other in a private folder, each in a
//! session of its own and all in one control group; looked at before and after each window; ended
//! for certain, in reverse order.

mod access_log;
mod check;
mod ears;
mod error_log;
mod look;
mod metered;
mod place;
mod ready;
mod reload;
mod rest;

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use model::condition::ServerCondition;
use model::experiment::{AccessLog, Pin, Spoken};
use model::tls::TlsFile;
use model::trial::Server;
use sys::counters::process;
use sys::process::{Child, Confinement, Ended, Leaf, Signal};

use super::{External, Installed, Launch, LaunchProcess, Preset, Setup, check_path};
use crate::certificate::CertificateFiles;
use crate::error::LabError;
use crate::scratch::Scratch;
use crate::site::{Site, open_to_all};
use crate::trial::Speaks;
use error_log::ErrorLog;
use reload::Reloading;

/// When a server ended that was not yet asked for anything.
const AT_ONCE: &str = "at once";

/// What to start, and how.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// Its name in the experiment.
    pub label: &'a str,
    /// What is installed.
    pub installed: &'a Installed,
    /// How it is configured.
    pub preset: Preset<'a>,
    /// The preset's name for the record.
    pub preset_name: &'a str,
    /// Whether and how it logs.
    pub access_log: AccessLog,
    /// What connections to it speak.
    pub protocol: Spoken,
    /// The certificate that it shows; none in clear.
    pub certificate: Option<&'a CertificateFiles>,
    /// What is wanted of TLS when it is asked; none in clear.
    pub tls: Option<&'a TlsFile>,
    /// Where it listens.
    pub address: Ipv4Addr,
    /// CPUs it gets.
    pub cpus: &'a [u32],
    /// The most connections it will have to hold.
    pub connections: u32,
    /// What the workloads need of it: handlers and protocols.
    pub needs: &'a [String],
    /// Which way it runs; empty where it has no ways to choose from.
    pub variant: &'a str,
    /// Whether it will be told to read its configuration again while it serves.
    pub reload: bool,
    /// Directives in its own words, by name.
    pub directives: &'a [(String, String)],
    /// Where its threads run.
    pub pin: Pin,
    /// Whether its processes test their configuration before they start, where they can.
    pub is_checked: bool,
    /// The documents.
    pub site: &'a Site,
    /// Where its private folder and its control group are made.
    pub scratch: &'a Scratch,
}

/// A server that runs.
#[derive(Debug)]
pub struct Running {
    label: String,
    /// In the order in which they were started: the last one is asked.
    processes: Vec<Process>,
    leaf: Option<Leaf>,
    installed: Installed,
    facts: Server,
    speaks: Speaks,
    /// Where it listens.
    address: Ipv4Addr,
    pin: Pin,
    /// What the doctor looks at, once somebody has asked for it.
    condition: Option<ServerCondition>,
    error_log: ErrorLog,
    /// The command that makes it read its configuration again, while that may run.
    reloading: Option<Reloading>,
    /// What the load asks for, by what a server must offer for it; none: for anything it has.
    asked_for: Option<Vec<String>>,
    /// Its processes that the load does not need, as they were before the window.
    idle: Vec<u32>,
    /// While it is frozen, its processes: pid and start time.
    frozen: Option<Vec<(u32, u64)>>,
    /// Where it is, if somebody else started it: then it has no processes of ours.
    external: Option<External>,
    /// Removed with everything in it when the server has ended: fields are dropped in this order.
    directory: tempfile::TempDir,
}

/// A process that we started, with whatever it started itself.
#[derive(Debug)]
struct Process {
    launch: LaunchProcess,
    child: Child,
    /// Who was left when its first process had ended, and was ended too.
    left: Option<String>,
}

impl Process {
    /// Ends it and all that descends from it: by its own signal, then by force.
    fn stop(&mut self, leaf: Option<&Leaf>) -> Ended {
        self.child
            .stop(self.launch.stop, self.launch.patience, leaf)
    }
}

impl Running {
    /// Starts it and waits until it listens with all its processes. Whether it answers correctly is
    /// for the generator to find out.
    pub fn start(start: &Start<'_>) -> Result<Self, LabError> {
        let failed = |why: String| LabError::Server {
            server: start.label.to_owned(),
            why,
        };
        let directory = tempfile::Builder::new()
            .prefix("server-")
            .tempdir_in(start.scratch.path())
            .map_err(LabError::file("create a folder in", start.scratch.path()))?;
        check_path(directory.path())?;
        // A server that root starts gives up its rights and must still read what is here.
        open_to_all(directory.path(), 0o755)?;
        if let Some(external) = &start.installed.external {
            return Self::already(start, external, directory);
        }
        let mut ports = Vec::new();
        let mut kept = Vec::new();
        for _ in start.installed.product.processes() {
            let (port, reserved) = ears::port(start.protocol.http())
                .map_err(LabError::server(start.label, "find a free port"))?;
            ports.push(port);
            kept.push(reserved);
        }
        let setup = Setup {
            directory: directory.path(),
            site: start.site.root(),
            documents: start.site.made(),
            programs: start.site.programs(),
            variant: start.variant,
            reload: start.reload,
            directives: start.directives,
            address: start.address,
            ports: &ports,
            cpus: start.cpus,
            access_log: start.access_log,
            protocol: start.protocol,
            certificate: start.certificate,
            connections: start.connections,
            preset: start.preset,
            needs: start.needs,
        };
        let launch = start.installed.product.launch(&setup).map_err(failed)?;
        furnish(directory.path(), &launch)?;
        let error_log = ErrorLog::create(directory.path().join("error.log"))?;
        let mut running = Self {
            label: start.label.to_owned(),
            processes: Vec::new(),
            leaf: start.scratch.leaf(),
            installed: start.installed.clone(),
            facts: look::facts_of(start, &launch.processes, launch.files),
            speaks: Speaks::of(start),
            address: start.address,
            pin: start.pin,
            condition: None,
            error_log,
            reloading: None,
            asked_for: None,
            idle: Vec::new(),
            frozen: None,
            external: None,
            directory,
        };
        running.check(start, &launch.processes)?;
        for process in launch.processes {
            running.start_process(process, start.cpus)?;
        }
        drop(kept);
        Ok(running)
    }

    /// One that somebody else started: there is nothing to do but to ask it.
    fn already(
        start: &Start<'_>,
        external: &External,
        directory: tempfile::TempDir,
    ) -> Result<Self, LabError> {
        Ok(Self {
            label: start.label.to_owned(),
            processes: Vec::new(),
            leaf: None,
            installed: start.installed.clone(),
            facts: Server {
                product: start.installed.product.name().to_owned(),
                preset: "as it runs".to_owned(),
                protocol: start.protocol.name().to_owned(),
                ..Server::default()
            },
            speaks: Speaks::of(start),
            address: start.address,
            pin: Pin::Mask,
            condition: None,
            error_log: ErrorLog::create(directory.path().join("error.log"))?,
            reloading: None,
            asked_for: None,
            idle: Vec::new(),
            frozen: None,
            external: Some(external.clone()),
            directory,
        })
    }

    /// The program of `launch` in its environment and in the private folder, without arguments.
    fn command(&self, launch: &LaunchProcess) -> Command {
        let program = self.installed.programs[launch.index].as_ref();
        let program = program.expect("what it lacks is a row before it is started");
        self.command_of(program, launch)
    }

    /// Another program in the same environment.
    fn command_of(&self, program: &Path, launch: &LaunchProcess) -> Command {
        let mut command = Command::new(program);
        command
            .envs(launch.environment.iter().cloned())
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        command
    }

    fn start_process(&mut self, launch: LaunchProcess, cpus: &[u32]) -> Result<(), LabError> {
        let mut command = self.command(&launch);
        command
            .args(&launch.arguments)
            .stdout(self.error_log.writer()?)
            .stderr(self.error_log.writer()?);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        // The record has the command of the one that is asked.
        self.facts.command = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let confinement = Confinement {
            cpus,
            leaf: self.leaf.as_ref(),
            orphaned: Signal::Terminate,
            is_alone: true,
        };
        let before = self.processes().len();
        let child = sys::process::start(&mut command, confinement)
            .map_err(LabError::server(&self.label, "start it"))?;
        self.processes.push(Process {
            launch,
            child,
            left: None,
        });
        self.wait_until_it_listens(before)
    }

    /// Its first process: of a rig, that of the part that is asked. None where nobody told it.
    pub fn pid(&self) -> Option<u32> {
        match &self.external {
            Some(external) => external.process.map(|(pid, _)| pid),
            None => Some(self.front().child.pid()),
        }
    }

    /// The CPUs that it was given.
    pub fn cpus(&self) -> &[u32] {
        &self.facts.cpus
    }

    fn front(&self) -> &Process {
        let last = self.processes.last();
        last.expect("a server that started has a process")
    }

    /// What was started, or found.
    pub const fn installed(&self) -> &Installed {
        &self.installed
    }

    /// Its control group, if it has one.
    pub const fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }

    /// Its configuration files by name, exactly as used.
    pub const fn configuration(&self) -> &BTreeMap<String, String> {
        &self.facts.configuration
    }

    /// Its living processes: pid and start time.
    pub fn processes(&self) -> Vec<(u32, u64)> {
        let root = Path::new("/proc");
        let mut found: Vec<(u32, u64)> = match &self.leaf {
            Some(leaf) => leaf
                .members()
                .into_iter()
                .filter_map(|pid| Some((pid, process::stat(root, pid).ok()?.start_time)))
                .collect(),
            None => Vec::new(),
        };
        if found.is_empty() {
            let ours = self.processes.iter().map(|ours| ours.child.pid());
            let theirs = self.external.as_ref().and_then(|_| self.pid());
            let trees = ours.chain(theirs).flat_map(|pid| process::tree(root, pid));
            found = trees.map(|stat| (stat.pid, stat.start_time)).collect();
        }
        found.sort_unstable();
        found
    }

    /// Ends what is left of it if a first process of it has ended unasked: workers without their
    /// master would go on answering, and nobody would know what was measured.
    pub fn end_if_headless(&mut self) {
        let headless = |process: &mut Process| process.child.ended().is_some();
        if !self.processes.iter_mut().any(headless) {
            return;
        }
        for (index, process) in self.processes.iter_mut().enumerate().rev() {
            let leaf = shared(self.leaf.as_ref(), index);
            if process.child.ended().is_some() && process.left.is_none() {
                let family = process.child.family(leaf);
                process.left = family.iter().find_map(|&pid| {
                    let name = process::stat(Path::new("/proc"), pid).ok()?.name;
                    Some(format!("{name} (process {pid})"))
                });
            }
            process.stop(leaf);
        }
    }

    /// That it ended unasked, if it has, what it said and what to do about it. `when` is `AT_ONCE`
    /// or "by itself". What it left is ended, too.
    pub fn ended(&mut self, when: &str) -> Option<String> {
        if let Some(external) = &self.external {
            return external.ended();
        }
        let ended = self
            .processes
            .iter_mut()
            .position(|one| one.child.ended().is_some())?;
        self.end_if_headless();
        let said = self.complaint();
        let is_rig = self.processes.len() > 1;
        let foreground = self.installed.product.foreground().to_owned();
        let process = &mut self.processes[ended];
        let ended = process.child.ended()?;
        let who = match is_rig {
            true => format!("its {}", process.launch.name),
            false => "it".to_owned(),
        };
        // Where its folder says how it is started: what ended at once was started wrongly.
        let started = match when {
            AT_ONCE => format!("; {}", process.launch.arguments_place),
            _ => String::new(),
        };
        let mut why = format!("{who} ended {when} ({ended}{started})");
        let was_killed = ended.signal.is_some();
        match &process.left {
            Some(left) if was_killed => why.push_str(&format!("; {left} of it was ended too")),
            Some(left) => why.push_str(&format!(
                " and left {left} running: it put itself into the background; {foreground}"
            )),
            None => {}
        }
        if !said.is_empty() {
            why.push_str(&format!(": {said}"));
        } else if process.left.is_none() {
            why.push_str(" and said nothing");
        }
        if process.left.is_none() && ended.is_success() {
            why.push_str(&format!(
                "; if it put itself into the background, {foreground}"
            ));
        }
        Some(why)
    }

    /// Ends it and all that descends from it: by its own signal, then by force. Returns how it
    /// ended.
    pub fn stop(mut self) -> String {
        self.end()
            .map_or_else(String::new, |ended| ended.to_string())
    }

    /// Ends every process, those that ask before those that answer them.
    fn end(&mut self) -> Option<Ended> {
        // Who stands still does not see that it shall leave.
        self.thaw();
        let mut front = None;
        for (index, process) in self.processes.iter_mut().enumerate().rev() {
            let ended = process.stop(shared(self.leaf.as_ref(), index));
            front.get_or_insert(ended);
        }
        front
    }

    /// What it has said on its error log since its start, shortened: for error messages.
    pub fn complaint(&mut self) -> String {
        let text = fs::read_to_string(&self.error_log.path).unwrap_or_default();
        error_log::last_lines(&text, 3)
    }

    fn failed(&self, why: String) -> LabError {
        LabError::Server {
            server: self.label.clone(),
            why,
        }
    }
}

/// Makes the folders and writes the files that it needs in its private folder.
fn furnish(directory: &Path, launch: &Launch) -> Result<(), LabError> {
    for folder in &launch.folders {
        let path = directory.join(folder);
        fs::create_dir_all(&path).map_err(LabError::file("create", &path))?;
        open_to_all(&path, 0o777)?;
    }
    for (name, text) in &launch.files {
        let path = directory.join(name);
        fs::write(&path, text).map_err(LabError::file("write", &path))?;
    }
    Ok(())
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended may have left somebody behind.
        let _ended = self.end();
    }
}

/// The control group is that of all processes of a rig: who is left in it is ended with the first
/// one, which is the last to end.
const fn shared(leaf: Option<&Leaf>, index: usize) -> Option<&Leaf> {
    if index == 0 { leaf } else { None }
}

#[cfg(test)]
mod tests;
