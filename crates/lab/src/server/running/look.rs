//! What is read of a server before and after each window, and for the doctor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::condition::ServerCondition;
use model::experiment::{AccessLog, Pin};
use model::trial::Server;
use sys::counters::process;
use verdict::words;

use super::super::{of_access_log, of_preset};
use super::ears::ears;
use super::{Installed, LaunchProcess, Running, Start, access_log};
use crate::condition;

impl Running {
    /// Reads its limits, listeners and CPUs for the doctor: once, outside of every window.
    pub fn read_condition(&mut self) {
        let root = Path::new("/proc");
        self.condition = self.pid().map(|pid| condition::of_server(root, pid));
    }

    /// What was read of it for the doctor.
    pub const fn condition(&self) -> Option<&ServerCondition> {
        self.condition.as_ref()
    }

    /// Looks at it before a window: processes, limits, listener; forgets what was logged so far.
    pub fn look_before(&mut self) {
        let root = Path::new("/proc");
        self.idle = self.idle();
        let mut processes = self.processes();
        let pids: Vec<u32> = processes.iter().map(|(pid, _)| *pid).collect();
        if self.pin == Pin::Thread {
            pin_threads(root, &pids, &self.facts.cpus);
        }
        self.facts.open_files_limit = pids
            .iter()
            .filter_map(|&pid| process::open_files_limit(root, pid).ok().flatten())
            .min();
        self.facts.cpus_allowed = cpus_allowed(root, &pids);
        processes.retain(|(pid, _)| !self.idle.contains(pid));
        self.facts.threads = threads(root, processes.iter().map(|(pid, _)| *pid));
        let is_known = self.pid().is_some();
        if is_known {
            self.look_at_listener();
        }
        self.facts.processes_before = is_known.then_some(processes);
        self.facts.processes_after = None;
        self.facts.reloaded = None;
        self.facts.exit = None;
        if let Some(warnings) = self.error_log.warnings_at_start() {
            self.facts.warned_at_start = warnings;
        }
        self.error_log.skip();
        access_log::cut(&self.access_log());
        self.facts.client_addresses = None;
        self.facts.access_log_lines = None;
        self.facts.access_log_bytes = None;
    }

    /// Looks at it after a window, and returns all that is known.
    pub fn look_after(&mut self) -> Server {
        let processes = self.processes().into_iter();
        let processes = processes.filter(|(pid, _)| !self.idle.contains(pid));
        self.facts.processes_after = self.pid().map(|_| processes.collect());
        let ended = self.processes.iter_mut().find_map(|one| one.child.ended());
        self.facts.exit = ended.map(|ended| ended.to_string());
        let (lines, count) = self.error_log.gained();
        self.facts.error_log = lines;
        self.facts.error_log_lines = count;
        let is_external = self.external.is_some();
        if self.facts.access_log != AccessLog::Off.name() && !is_external {
            let size = access_log::size(&self.access_log());
            self.facts.access_log_lines = size.map(|(lines, _)| lines);
            self.facts.access_log_bytes = size.map(|(_, bytes)| bytes);
        }
        if self.facts.access_log == AccessLog::On.name() {
            self.facts.client_addresses = access_log::addresses(&self.access_log());
        }
        self.facts.clone()
    }

    /// SRV-01: whoever owns the listening socket must be in the tree that we started.
    fn look_at_listener(&mut self) {
        let root = Path::new("/proc");
        let Ok(listeners) = ears(self.port(), self.address, self.speaks.protocol) else {
            self.facts.listener_is_ours = None;
            return;
        };
        let limits = listeners.iter().filter_map(|listener| listener.queue_limit);
        self.facts.listen_backlog = limits.min();
        // Looked for later than the listeners: a process may hand its own on to one that it starts.
        let pids = self.processes().into_iter().map(|(pid, _)| pid);
        let ours: Vec<u64> = pids
            .filter_map(|pid| process::sockets(root, pid).ok())
            .flatten()
            .collect();
        let stranger = listeners
            .iter()
            .find(|listener| !ours.contains(&listener.inode));
        self.facts.listener_is_ours = Some(!listeners.is_empty() && stranger.is_none());
        self.facts.listener_owner = stranger.and_then(|listener| {
            process::all(root).into_iter().find_map(|pid| {
                let owns = process::sockets(root, pid).is_ok_and(|s| s.contains(&listener.inode));
                let name = process::stat(root, pid).ok().filter(|_| owns)?.name;
                Some(format!("{name} (pid {pid})"))
            })
        });
    }

    fn access_log(&self) -> PathBuf {
        let directory = self.directory.path();
        directory.join(self.installed.product.access_log_file())
    }
}

/// Binds each thread to one of `cpus`, in turn. One that has just ended is nobody's.
fn pin_threads(root: &Path, pids: &[u32], cpus: &[u32]) {
    let threads = pids.iter().flat_map(|&pid| process::tasks(root, pid));
    for (thread, cpu) in threads.zip(cpus.iter().cycle()) {
        // What holds is read back from /proc.
        let _bound = sys::cpu::pin_thread(thread, *cpu);
    }
}

/// How many threads of the tree may use which CPUs.
fn threads(root: &Path, pids: impl Iterator<Item = u32>) -> BTreeMap<String, u32> {
    let mut threads = BTreeMap::new();
    for pid in pids {
        for task in process::tasks(root, pid) {
            let status = process::task_status(root, pid, task).ok();
            if let Some(allowed) = status.and_then(|status| status.cpus_allowed) {
                *threads.entry(words::cpus(&allowed)).or_default() += 1;
            }
        }
    }
    threads
}

/// The CPUs that any thread of the tree may use: more than it was given means it re-pinned itself.
fn cpus_allowed(root: &Path, pids: &[u32]) -> Option<Vec<u32>> {
    let mut cpus: Vec<u32> = pids
        .iter()
        .filter_map(|&pid| process::status(root, pid).ok()?.cpus_allowed)
        .flatten()
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    (!cpus.is_empty()).then_some(cpus)
}

/// The versions of a server, of the processes that it has and of what makes its answers, each once.
fn versions_of(start: &Start<'_>, processes: &[LaunchProcess]) -> String {
    let Installed {
        version,
        versions,
        makers,
        ..
    } = start.installed;
    let parts = processes.iter().filter_map(|one| versions.get(&one.index));
    let (preset, log) = (
        of_preset(start.preset_name),
        of_access_log(start.access_log.name()),
    );
    let words = [start.protocol.name(), start.variant, &preset, &log];
    let chosen = start.needs.iter().map(String::as_str).chain(words);
    let makers = chosen.filter_map(|choice| makers.get(choice)).flatten();
    let mut all: Vec<&str> = Vec::new();
    for one in std::iter::once(version).chain(parts).chain(makers) {
        if !all.contains(&one.as_str()) {
            all.push(one);
        }
    }
    all.join(", ")
}

/// What is known of a server before it has started.
pub(super) fn facts_of(
    start: &Start<'_>,
    processes: &[LaunchProcess],
    files: Vec<(String, String)>,
) -> Server {
    Server {
        product: start.installed.product.name().to_owned(),
        version: versions_of(start, processes),
        preset: start.preset_name.to_owned(),
        configuration: files.into_iter().collect(),
        cpus: start.cpus.to_vec(),
        workers: u32::try_from(start.cpus.len().max(1)).unwrap_or(u32::MAX),
        access_log: start.access_log.name().to_owned(),
        protocol: start.protocol.name().to_owned(),
        ..Server::default()
    }
}
