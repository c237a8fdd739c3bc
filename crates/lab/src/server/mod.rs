//! The servers that a lab can run: one file and one line of the table each.
//!
//! A driver knows how a product is found, configured and started. Everything that holds for all of
//! them (session, CPUs, limits, readiness, meters, the end) is not its business.

mod apache;
mod lighttpd;
mod nginx;
mod origin;
mod running;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::experiment::AccessLog;
use sys::process::Signal;

use crate::error::LabError;
use crate::experiment::nearest;

pub use origin::null_responder;
pub use running::{Running, Start};

/// Every product, in the order of `--list servers`. Adding one is a file and a line here.
pub static TABLE: &[&dyn Product] = &[
    &origin::Origin,
    &nginx::Nginx,
    &apache::Apache,
    &lighttpd::Lighttpd,
];

/// What the lab must know about a product.
pub trait Product: Sync {
    /// Its name in experiments.
    fn name(&self) -> &'static str;

    /// Names of its program, the likeliest first.
    fn programs(&self) -> &'static [&'static str];

    /// How to install it, by system.
    fn install(&self) -> &'static str;

    /// The arguments that make it tell its version.
    fn version_arguments(&self) -> &'static [&'static str];

    /// Its version, from what it printed: `nginx/1.22.1`.
    fn version(&self, printed: &str) -> String {
        printed.lines().next().unwrap_or_default().trim().to_owned()
    }

    /// Where it is, if it is installed.
    fn find(&self, search: &Search) -> Option<PathBuf> {
        search.program(self.programs())
    }

    /// What keeps it from putting itself into the background, where nobody can watch it.
    fn foreground(&self) -> &'static str {
        "start it such that it stays in the foreground"
    }

    /// Its configuration and command line.
    fn launch(&self, setup: &Setup<'_>) -> Result<Launch, String>;
}

/// What a server is to be.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Its private folder: configuration, logs, process ids.
    pub directory: &'a Path,
    /// The documents.
    pub site: &'a Path,
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
    /// CPUs it gets: it is told to have as many workers.
    pub cpus: &'a [u32],
    /// Whether and how it logs requests.
    pub access_log: AccessLog,
    /// The most connections it will have to hold.
    pub connections: u32,
    /// How it is configured.
    pub preset: Preset<'a>,
}

impl Setup<'_> {
    /// As many as cores.
    pub fn workers(&self) -> usize {
        self.cpus.len().max(1)
    }

    /// A path below its private folder as text for a configuration file.
    pub fn below(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }
}

/// How a server is configured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Preset<'a> {
    /// As the product comes, but for what the lab needs: address, documents, workers, log.
    Stock,
    /// The text of a file of the user's, with `{port}` and the like to be filled in.
    Template(&'a str),
    /// By the advice of its own documentation for static files.
    Tuned,
}

/// How to start a server.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Arguments of its program.
    pub arguments: Vec<OsString>,
    /// Configuration files by name, below the private folder.
    pub files: Vec<(String, String)>,
    /// Folders that must exist below the private folder.
    pub folders: Vec<&'static str>,
    /// Processes that there must be at least before it is ready.
    pub processes: usize,
    /// The signal that makes it leave at once.
    pub stop: Option<Signal>,
}

/// Where programs are looked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// This program: it holds origin and the generator.
    pub own: PathBuf,
    /// Folders, in order.
    pub folders: Vec<PathBuf>,
}

impl Search {
    /// The folders of `PATH` and those where distributions hide servers from users.
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
        Self { own, folders }
    }

    /// The first of `names` that is an executable file.
    pub fn program(&self, names: &[&str]) -> Option<PathBuf> {
        let candidates = names.iter().flat_map(|name| {
            let folders = self.folders.iter();
            folders.map(move |folder| folder.join(name))
        });
        candidates.into_iter().find(|path| {
            fs::metadata(path)
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
    }
}

/// A product that is installed here.
#[derive(Clone)]
pub struct Installed {
    /// Its row of the table.
    pub product: &'static dyn Product,
    /// Its program.
    pub program: PathBuf,
    /// Its version as it says itself.
    pub version: String,
}

/// The row of that name, or the nearest name.
pub fn product(name: &str) -> Result<&'static dyn Product, Option<&'static str>> {
    TABLE
        .iter()
        .find(|product| product.name() == name)
        .copied()
        .ok_or_else(|| nearest(name, TABLE.iter().map(|product| product.name())))
}

/// Finds a product and asks it for its version. Errors are sentences: what is missing.
pub fn installed(product: &'static dyn Product, search: &Search) -> Result<Installed, String> {
    let program = product.find(search).ok_or_else(|| {
        format!(
            "{} is not installed: no program {} was found",
            product.name(),
            product.programs().join(" or ")
        )
    })?;
    let printed = Command::new(&program)
        .args(product.version_arguments())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not start: {error}", program.display()))?;
    // nginx tells its version on stderr, the others on stdout.
    let mut text = String::from_utf8_lossy(&printed.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&printed.stderr));
    Ok(Installed {
        product,
        program,
        version: product.version(&text),
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

/// Fills the places of a template: `{port}`, `{directory}`, `{site}`, `{workers}`, `{cpus}`,
/// `{access_log}`, `{connections}`.
fn fill(template: &str, setup: &Setup<'_>) -> String {
    let cpus: Vec<String> = setup.cpus.iter().map(ToString::to_string).collect();
    [
        ("{port}", setup.port.to_string()),
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
