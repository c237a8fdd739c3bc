//! The servers that a lab can run: a folder each, in `servers/` or in one of the user's.
//!
//! A folder says how a product is found, configured, started and stopped, and what it can do.
//! Everything that holds for all of them (session, CPUs, limits, meters, the end) is not its
//! business.

mod catalogue;
mod external;
mod file;
mod product;
mod running;
mod template;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use model::experiment::{AccessLog, ServerVariant, Spoken};
use sys::process::Signal;

use crate::certificate::CertificateFiles;
use crate::error::LabError;
use crate::site::Made;

pub use catalogue::{Catalogue, null_responder};
pub use external::{External, external};
pub use product::{Product, ServerError};
use product::{of_access_log, of_preset};
pub use running::{Running, Start};

/// What a server is to be.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Its private folder: configuration, logs, process ids.
    pub directory: &'a Path,
    /// The documents.
    pub site: &'a Path,
    /// Where the process listens that is asked; those behind it listen on 127.0.0.1.
    pub address: Ipv4Addr,
    /// The ports of its processes, in their order: the last one is asked.
    pub ports: &'a [u16],
    /// CPUs it gets: it is told to have as many workers.
    pub cpus: &'a [u32],
    /// Whether and how it logs requests.
    pub access_log: AccessLog,
    /// What connections to it speak.
    pub protocol: Spoken,
    /// The certificate that it shows; none in clear.
    pub certificate: Option<&'a CertificateFiles>,
    /// The most connections it will have to hold.
    pub connections: u32,
    /// How it is configured.
    pub preset: Preset<'a>,
    /// What the workloads need of it: handlers and protocols.
    pub needs: &'a [String],
    /// Which way it runs; empty where it has no ways to choose from.
    pub variant: &'a str,
    /// Whether it will be told to read its configuration again while it serves.
    pub reload: bool,
    /// Directives in its own words, by name.
    pub directives: &'a [(String, String)],
    /// What its own code answers, where a workload asks for that.
    pub documents: &'a [Made],
    /// The folder of programs that answer for it (CGI).
    pub programs: &'a Path,
}

impl Setup<'_> {
    /// As many as cores.
    pub fn workers(&self) -> usize {
        self.cpus.len().max(1)
    }
}

/// How a server is configured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Preset<'a> {
    /// As the product comes, but for what the lab needs: address, documents, workers, log.
    Stock,
    /// A file of the user's in the place of the product's own template.
    Template {
        /// Its path.
        path: &'a str,
        /// Its text: a template, or one with `{port}` and the like to be filled in.
        text: &'a str,
    },
    /// By the advice of its own documentation for static files.
    Tuned,
}

/// How to start a server.
#[derive(Clone, Debug, Default)]
struct Launch {
    /// Its processes, in the order in which they are started.
    processes: Vec<LaunchProcess>,
    /// Configuration files by name, below the private folder.
    files: Vec<(String, String)>,
    /// Folders that must exist below the private folder.
    folders: Vec<String>,
    /// Whether one of the files was the user's template.
    takes_template: bool,
}

/// How to start one process of it.
#[derive(Clone, Debug)]
struct LaunchProcess {
    /// Its place among the processes of the folder.
    index: usize,
    name: String,
    /// The handlers without which it takes no part in an answer; none: it takes part in all.
    handlers: Vec<String>,
    port: u16,
    /// How it tests its configuration, if it can.
    check: Option<LaunchCheck>,
    arguments: Vec<OsString>,
    /// Where its folder says so.
    arguments_place: String,
    environment: Vec<(String, String)>,
    /// Processes that there must be at least before it is ready, itself included.
    processes: usize,
    /// Threads that serve that there must be at least, in one of them, if they can be counted.
    threads: Option<usize>,
    /// Whether its port must be listened to.
    listens: bool,
    /// How long it may take to be ready.
    within: Duration,
    /// Where its folder says so.
    ready_place: String,
    /// The signal that makes it leave at once.
    stop: Signal,
    /// How long that may take.
    patience: Duration,
    /// What makes it read its configuration again, if anything does.
    reload: Option<LaunchReload>,
}

/// What makes one process read its configuration again.
#[derive(Clone, Debug)]
enum LaunchReload {
    Signal(Signal),
    Command(LaunchCommand),
}

/// A command to one process while it serves.
#[derive(Clone, Debug)]
struct LaunchCommand {
    arguments: Vec<OsString>,
    /// Where its folder says so.
    place: String,
    /// How long it may take.
    within: Duration,
}

/// How one process tests its configuration.
#[derive(Clone, Debug)]
struct LaunchCheck {
    arguments: Vec<OsString>,
    /// Where its folder says so.
    place: String,
    /// How long it may take.
    within: Duration,
    /// Its files, and the template that each is written from; first those that the preset chooses.
    sources: Vec<(String, String)>,
}

/// Where programs and servers are looked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// The servers that are known.
    pub catalogue: Catalogue,
    /// This program: it holds origin and the generator.
    pub own: PathBuf,
    /// Folders, in order.
    pub folders: Vec<PathBuf>,
}

impl Search {
    /// The servers that the program brings along; the folders of `PATH` and those where
    /// distributions hide servers from users.
    pub fn of_system(own: PathBuf) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .collect();
        for folder in [
            "/usr/local/sbin",
            "/usr/sbin",
            "/sbin",
            "/usr/local/bin",
            "/usr/bin",
        ] {
            if !folders.iter().any(|known| known == Path::new(folder)) {
                folders.push(PathBuf::from(folder));
            }
        }
        Self {
            catalogue: Catalogue::built_in(),
            own,
            folders,
        }
    }

    /// The first of `names` that is an executable file.
    pub fn program<N: AsRef<str>>(&self, names: &[N]) -> Option<PathBuf> {
        let candidates = names.iter().map(AsRef::as_ref).flat_map(|name| {
            let folders = self.folders.iter();
            folders.map(move |folder| match name {
                OWN => self.own.clone(),
                _ => folder.join(name),
            })
        });
        candidates.into_iter().find(|path| {
            fs::metadata(path)
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
    }
}

/// The name under which a folder's `programs` have this program.
const OWN: &str = "@triathlon";

/// A product that is installed here.
#[derive(Clone, Debug)]
pub struct Installed {
    /// What its folder says.
    pub product: Arc<Product>,
    /// The program of each of its processes; none where that one is missing, and only some of what
    /// can be chosen needs it.
    pub programs: Vec<Option<PathBuf>>,
    /// Its version as it says itself; of a rig, that of each process that tells one.
    pub version: String,
    /// The versions of processes that only some of what can be chosen needs, by their places.
    pub versions: BTreeMap<usize, String>,
    /// The versions of what takes part in answers beside it, by the choice that needs it: an
    /// interpreter, a compiler. What does not tell its version is left out.
    pub makers: BTreeMap<String, Vec<String>>,
    /// Where it is, if it already runs.
    pub external: Option<External>,
    /// What it could offer or be if more were installed, by choice: `memory`, `preset.tuned`.
    pub lacking: BTreeMap<String, Absent>,
    /// The program that makes it read its configuration again, where that is another one.
    pub reloader: Option<PathBuf>,
}

impl Installed {
    /// The first of `needs` that it does not offer here.
    pub fn lacks<'n>(&self, needs: impl Iterator<Item = &'n str> + Clone) -> Option<Absent> {
        let never = self.product.lacks(needs.clone());
        let never = never.map(|why| Absent { why, remedy: None });
        never.or_else(|| {
            let mut lacking = needs.filter_map(|need| self.lacking.get(need));
            lacking.next().cloned()
        })
    }

    /// Why it cannot be here as an experiment has it, if what that requires is not installed.
    pub fn cannot_be(&self, variant: &ServerVariant) -> Option<Absent> {
        let wanted = [
            variant.variant.clone().unwrap_or_default(),
            variant.speech.protocol.name().to_owned(),
            of_preset(&variant.preset),
            of_access_log(variant.access_log.name()),
        ];
        let mut lacking = wanted.iter().filter_map(|choice| self.lacking.get(choice));
        lacking.next().cloned()
    }

    /// Why it cannot be told here to read its configuration again while it serves, if it cannot.
    pub fn cannot_reload(&self) -> Option<Absent> {
        let names = self.product.reloader();
        (!names.is_empty() && self.reloader.is_none()).then(|| Absent {
            why: format!(
                "{} cannot be told to read its configuration again: no program {} was found",
                self.product.name(),
                names.join(" or ")
            ),
            remedy: Some(self.product.install().to_owned()),
        })
    }
}

/// Why a product cannot be run here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Absent {
    /// What is missing, a sentence.
    pub why: String,
    /// What to do about it, where that is known.
    pub remedy: Option<String>,
}

/// Finds the programs of a product and asks them for their versions.
pub fn installed(product: Arc<Product>, search: &Search) -> Result<Installed, Absent> {
    installed_as(product, search, None)
}

/// The same where an experiment says which program is asked: of a rig its last one.
pub fn installed_as(
    product: Arc<Product>,
    search: &Search,
    own: Option<&str>,
) -> Result<Installed, Absent> {
    let own = own.map(|path| vec![path.to_owned()]);
    let asked = product.processes().len().saturating_sub(1);
    let mut found = Installed {
        product: Arc::clone(&product),
        programs: Vec::new(),
        version: String::new(),
        versions: BTreeMap::new(),
        makers: makers_of(&product, search),
        external: None,
        lacking: BTreeMap::new(),
        reloader: search.program(product.reloader()),
    };
    let (mut versions, mut gone) = (Vec::new(), BTreeMap::new());
    let is_there = |name: &String| match name.starts_with('/') {
        true => Path::new(name).is_file(),
        false => search.program(&[name]).is_some(),
    };
    for (position, process) in product.processes().iter().enumerate() {
        let names = own.as_ref().filter(|_| position == asked);
        let names = names.unwrap_or(&process.programs);
        let program = search.program(names).ok_or(names);
        let lacks_more = !process.requires.is_empty() && !process.requires.iter().any(is_there);
        let program = match lacks_more {
            true => program.and(Err(&process.requires)),
            false => program,
        };
        let (program, version) = match (program, &process.version) {
            (Ok(program), None) => (program, None),
            (Ok(program), Some(version)) => {
                let told = version_of(&program, version);
                let told = told.map_err(|why| Absent { why, remedy: None })?;
                (program, Some(told))
            }
            (Err(lacks), _) => {
                let lacks = lacks.join(" or ");
                if process.only_for.is_empty() {
                    return Err(Absent {
                        why: format!(
                            "{} is not installed: no program {lacks} was found",
                            product.name()
                        ),
                        remedy: Some(product.install().to_owned()),
                    });
                }
                gone.insert(position, format!("no program {lacks} was found"));
                found.programs.push(None);
                continue;
            }
        };
        found.programs.push(Some(program));
        match process.only_for.is_empty() {
            true => versions.extend(version),
            false => found
                .versions
                .extend(version.map(|version| (position, version))),
        }
    }
    // The one that is asked comes first.
    versions.reverse();
    found.lacking = product.lacking(&|names| names.iter().any(is_there), &gone);
    found.version = match versions.is_empty() {
        true => "does not tell its version".to_owned(),
        false => versions.join(", "),
    };
    Ok(found)
}

/// The versions of what takes part in answers beside `product`, as far as it is there.
fn makers_of(product: &Product, search: &Search) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (choice, maker) in product.makers() {
        let program = search.program(&maker.programs);
        let told = program.and_then(|program| version_of(&program, &maker.version).ok());
        if let Some(told) = told {
            all.entry(choice).or_default().push(told);
        }
    }
    all
}

fn version_of(program: &Path, version: &product::Version) -> Result<String, String> {
    let printed = Command::new(program)
        .args(&version.arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not start: {error}", program.display()))?;
    // nginx tells its version on stderr, others on stdout.
    let mut text = String::from_utf8_lossy(&printed.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&printed.stderr));
    let found = version.pattern.captures(&text);
    let found = found.and_then(|groups| groups.get(1).or_else(|| groups.get(0)));
    found
        .map(|found| found.as_str().trim().to_owned())
        .ok_or_else(|| {
            format!(
                "{}: '{}' does not occur in what {} {} prints: {}",
                version.place,
                version.pattern.as_str(),
                program.display(),
                version.arguments.join(" "),
                match text.lines().next() {
                    Some(line) => format!("'{line}'"),
                    None => "nothing".to_owned(),
                }
            )
        })
}

/// Refuses folders whose names would mean something in a configuration file.
pub(crate) fn check_path(path: &Path) -> Result<(), LabError> {
    let text = path.display().to_string();
    let bad = text
        .chars()
        .find(|c| "\"'\\$%{}`#".contains(*c) || c.is_control());
    match bad {
        None => Ok(()),
        Some(c) => Err(LabError::File {
            doing: "run servers in",
            path: path.to_owned(),
            source: std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                format!(
                    "{c:?} means something in configuration files; set TMPDIR to another folder"
                ),
            ),
        }),
    }
}

/// Fills the places of a user's template that are written as `{address}`, `{port}`, `{directory}`,
/// `{site}`, `{workers}`, `{cpus}`, `{access_log}`, `{connections}`.
fn fill(template: &str, setup: &Setup<'_>, port: u16) -> String {
    let cpus: Vec<String> = setup.cpus.iter().map(ToString::to_string).collect();
    [
        ("{address}", setup.address.to_string()),
        ("{port}", port.to_string()),
        ("{directory}", setup.directory.display().to_string()),
        ("{site}", setup.site.display().to_string()),
        ("{workers}", setup.workers().to_string()),
        ("{cpus}", cpus.join(",")),
        ("{access_log}", setup.access_log.name().to_owned()),
        ("{connections}", setup.connections.to_string()),
    ]
    .into_iter()
    .fold(template.to_owned(), |text, (place, value)| {
        text.replace(place, &value)
    })
}

#[cfg(test)]
mod tests;
