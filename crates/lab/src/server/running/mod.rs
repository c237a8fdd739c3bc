//! A server while it runs: started in a private folder, in a session and a control group of its
//! own; looked at before and after each window; ended for certain.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use model::condition::ServerCondition;
use model::experiment::AccessLog;
use model::trial::Server;
use sys::counters::{process, socket};
use sys::process::{Child, Confinement, Leaf, Signal};

use super::{Installed, Preset, Setup, check_path};
use crate::condition;
use crate::error::LabError;
use crate::scratch::Scratch;
use crate::site::open_to_all;

/// A server that does not listen after so long will not.
const START_LIMIT: Duration = Duration::from_secs(15);
/// How long a server may take to leave before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(3);
/// Lines of an error log that are kept for the record.
const ERROR_LINES_MAX: usize = 20;

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
    /// CPUs it gets.
    pub cpus: &'a [u32],
    /// The most connections it will have to hold.
    pub connections: u32,
    /// The documents.
    pub site: &'a Path,
    /// Where its private folder and its control group are made.
    pub scratch: &'a Scratch,
}

/// A server that runs.
#[derive(Debug)]
pub struct Running {
    label: String,
    port: u16,
    child: Child,
    leaf: Option<Leaf>,
    stop: Signal,
    /// What to do about a server that puts itself into the background.
    foreground: &'static str,
    facts: Server,
    /// What the doctor looks at, once somebody has asked for it.
    condition: Option<ServerCondition>,
    error_log: ErrorLog,
    /// Removed with everything in it when the server has ended: fields are dropped in this order.
    directory: tempfile::TempDir,
}

impl Running {
    /// Starts it and waits until it listens with all its processes. Whether it answers rightly is
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
        let (port, kept) = port().map_err(LabError::server(start.label, "find a free port"))?;
        let setup = Setup {
            directory: directory.path(),
            site: start.site,
            port,
            cpus: start.cpus,
            access_log: start.access_log,
            connections: start.connections,
            preset: start.preset,
        };
        let launch = start.installed.product.launch(&setup).map_err(failed)?;
        for folder in &launch.folders {
            let path = directory.path().join(folder);
            fs::create_dir_all(&path).map_err(LabError::file("create", &path))?;
            open_to_all(&path, 0o777)?;
        }
        for (name, text) in &launch.files {
            let path = directory.path().join(name);
            fs::write(&path, text).map_err(LabError::file("write", &path))?;
        }
        let error_log = ErrorLog::create(directory.path().join("error.log"))?;
        let mut command = Command::new(&start.installed.program);
        command
            .args(&launch.arguments)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(error_log.writer()?)
            .stderr(error_log.writer()?);
        let leaf = start.scratch.leaf();
        let confinement = Confinement {
            cpus: start.cpus,
            leaf: leaf.as_ref(),
            orphaned: Signal::Terminate,
            is_alone: true,
        };
        let child = sys::process::start(&mut command, confinement)
            .map_err(LabError::server(start.label, "start it"))?;
        let mut running = Self {
            label: start.label.to_owned(),
            port,
            child,
            leaf,
            stop: launch.stop.unwrap_or(Signal::Terminate),
            foreground: start.installed.product.foreground(),
            facts: facts_of(start, &command, launch.files),
            condition: None,
            error_log,
            directory,
        };
        running.wait_until_it_listens(launch.processes)?;
        drop(kept);
        Ok(running)
    }

    /// Where it listens, on 127.0.0.1.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its first process.
    pub const fn pid(&self) -> u32 {
        self.child.pid()
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
            found = process::tree(root, self.pid())
                .into_iter()
                .map(|stat| (stat.pid, stat.start_time))
                .collect();
        }
        found.sort_unstable();
        found
    }

    /// Reads its limits, listeners and CPUs for the doctor: once, outside of every window.
    pub fn read_condition(&mut self) {
        let condition = condition::of_server(Path::new("/proc"), self.pid());
        self.condition = Some(condition);
    }

    /// What was read of it for the doctor.
    pub const fn condition(&self) -> Option<&ServerCondition> {
        self.condition.as_ref()
    }

    /// Looks at it before a window: processes, limits, listener; forgets what was logged so far.
    pub fn look_before(&mut self) {
        let root = Path::new("/proc");
        let processes = self.processes();
        let pids: Vec<u32> = processes.iter().map(|(pid, _)| *pid).collect();
        self.facts.open_files_limit = pids
            .iter()
            .filter_map(|&pid| process::open_files_limit(root, pid).ok().flatten())
            .min();
        self.facts.cpus_allowed = cpus_allowed(root, &pids);
        self.look_at_listener(&pids);
        self.facts.processes_before = Some(processes);
        self.facts.processes_after = None;
        self.facts.exit = None;
        self.error_log.skip();
        self.cut_access_log();
    }

    /// Looks at it after a window, and returns all that is known.
    pub fn look_after(&mut self) -> Server {
        self.facts.processes_after = Some(self.processes());
        self.facts.exit = self.child.ended().map(|ended| ended.to_string());
        let (lines, count) = self.error_log.gained();
        self.facts.error_log = lines;
        self.facts.error_log_lines = count;
        self.facts.clone()
    }

    /// That it ended unasked, if it has, what it said and what to do about it. `when` is "at once"
    /// or "by itself".
    pub fn ended(&mut self, when: &str) -> Option<String> {
        let ended = self.child.ended()?;
        let family = self.child.family(self.leaf.as_ref());
        let said = self.complaint();
        let left = family.iter().find_map(|&pid| {
            let name = process::stat(Path::new("/proc"), pid).ok()?.name;
            Some(format!("{name} (process {pid})"))
        });
        let mut why = format!("it ended {when} ({ended})");
        if let Some(left) = &left {
            why.push_str(&format!(
                " and left {left} running: it put itself into the background; {}",
                self.foreground
            ));
        }
        if !said.is_empty() {
            why.push_str(&format!(": {said}"));
        } else if left.is_none() {
            why.push_str(" and said nothing");
        }
        if left.is_none() && ended.is_success() {
            why.push_str(&format!(
                "; if it put itself into the background, {}",
                self.foreground
            ));
        }
        Some(why)
    }

    /// Ends it and all that descends from it: by its own signal, then by force. Returns how it
    /// ended.
    pub fn stop(mut self) -> String {
        let ended = self.child.stop(self.stop, STOP_LIMIT, self.leaf.as_ref());
        ended.to_string()
    }

    /// What it has said on its error log since its start, shortened: for error messages.
    pub fn complaint(&mut self) -> String {
        let text = fs::read_to_string(&self.error_log.path).unwrap_or_default();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let last = lines.len().saturating_sub(3);
        lines[last..].join(" | ")
    }

    fn wait_until_it_listens(&mut self, processes: usize) -> Result<(), LabError> {
        let until = Instant::now() + START_LIMIT;
        loop {
            if let Some(why) = self.ended("at once") {
                return Err(self.failed(why));
            }
            let listens = socket::listeners(self.port).is_ok_and(|found| !found.is_empty());
            if listens && self.processes().len() >= processes {
                return Ok(());
            }
            if Instant::now() > until {
                let said = self.complaint();
                let count = self.processes().len();
                return Err(self.failed(format!(
                    "after {} s it {} and has {count} of {processes} processes: {said}",
                    START_LIMIT.as_secs(),
                    if listens {
                        "listens"
                    } else {
                        "does not listen"
                    },
                )));
            }
            // The pidfd wakes us at once if it ends.
            let _ended = self.child.wait(Duration::from_millis(2));
        }
    }

    /// SRV-01: whoever owns the listening socket must be in the tree that we started.
    fn look_at_listener(&mut self, pids: &[u32]) {
        let root = Path::new("/proc");
        let Ok(listeners) = socket::listeners(self.port) else {
            self.facts.listener_is_ours = None;
            return;
        };
        self.facts.listen_backlog = listeners.iter().map(|listener| listener.queue_limit).min();
        let ours: Vec<u64> = pids
            .iter()
            .filter_map(|&pid| process::sockets(root, pid).ok())
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

    /// A log at 100,000 lines per second would fill a disk within a long experiment.
    fn cut_access_log(&self) {
        let path = self.directory.path().join("logs/access.log");
        if let Ok(log) = OpenOptions::new().write(true).open(path) {
            // A log that cannot be cut is a big file in a folder that is removed soon.
            let _kept = log.set_len(0);
        }
    }

    fn failed(&self, why: String) -> LabError {
        LabError::Server {
            server: self.label.clone(),
            why,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended may have left somebody behind.
        let _ended = self.child.stop(self.stop, STOP_LIMIT, self.leaf.as_ref());
    }
}

fn facts_of(start: &Start<'_>, command: &Command, files: Vec<(String, String)>) -> Server {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    Server {
        product: start.installed.product.name().to_owned(),
        version: start.installed.version.clone(),
        preset: start.preset_name.to_owned(),
        command: words,
        configuration: files.into_iter().collect(),
        cpus: start.cpus.to_vec(),
        workers: u32::try_from(start.cpus.len().max(1)).unwrap_or(u32::MAX),
        access_log: start.access_log.name().to_owned(),
        ..Server::default()
    }
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

/// A port for a server, and what keeps it from everyone else until the server listens.
fn port() -> std::io::Result<(u16, OwnedFd)> {
    let kept = sys::socket::reserve((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok((sys::socket::local_address(&kept)?.port(), kept))
}

/// Standard output, standard error and error log of a server in one file.
#[derive(Debug)]
struct ErrorLog {
    path: PathBuf,
    seen: u64,
}

impl ErrorLog {
    fn create(path: PathBuf) -> Result<Self, LabError> {
        File::create(&path).map_err(LabError::file("create", &path))?;
        open_to_all(&path, 0o666)?;
        Ok(Self { path, seen: 0 })
    }

    fn writer(&self) -> Result<File, LabError> {
        OpenOptions::new()
            .append(true)
            .open(&self.path)
            .map_err(LabError::file("write", &self.path))
    }

    fn skip(&mut self) {
        self.seen = fs::metadata(&self.path).map_or(self.seen, |meta| meta.len());
    }

    /// Lines since the last look, the first few of them, and how many in all.
    fn gained(&mut self) -> (Vec<String>, u64) {
        let mut text = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.seen))?;
            // A server that floods its log is told by the count, not by a gigabyte in memory.
            file.take(16 << 20).read_to_end(&mut text)
        });
        if read.is_err() {
            return (Vec::new(), 0);
        }
        self.skip();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let first = lines.iter().take(ERROR_LINES_MAX);
        let count = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        (first.map(|line| (*line).to_owned()).collect(), count)
    }
}

#[cfg(test)]
mod tests;
