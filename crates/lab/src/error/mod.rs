//! What can go wrong in the world while an experiment runs: each with its place and its remedy.

use std::io;
use std::path::{Path, PathBuf};

use model::experiment::CertificateKey;
use model::plan::{FORMAT, FORMAT_OLDEST};

use crate::experiment::ReadError;
use crate::lock::Holder;

/// Why an experiment cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The experiment cannot be understood.
    #[error(transparent)]
    Experiment(#[from] ReadError),
    /// The budget is too small for the smallest honest form of the experiment.
    #[error(
        "{experiment} cannot be done in {}: its smallest form ({form}) takes about {}; \
         give it that much, or fewer servers (server=NAME,NAME)",
        budget.people(),
        least.people()
    )]
    Budget {
        /// The experiment's name.
        experiment: String,
        /// What was allowed.
        budget: model::Span,
        /// What the smallest form is.
        form: String,
        /// What it takes.
        least: model::Span,
    },
    /// None of the servers is there and answers correctly.
    #[error("none of the servers of {experiment} can be measured: {why}")]
    NothingToMeasure {
        /// The experiment's name.
        experiment: String,
        /// What each of them lacks.
        why: String,
    },
    /// A file could not be written or read.
    #[error("cannot {doing} {}: {}{}", path.display(), cause(source), hint(doing, path, source))]
    File {
        /// What was tried: `write`, `create`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing to resume.
    #[error("there is nothing to resume: {why}")]
    Resume {
        /// Where was looked and what was found.
        why: String,
    },
    /// A file among the results is not what it should be.
    #[error("{} is not {what}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A file among the results has the form of another version.
    #[error(
        "{} has format {format}, and this program reads formats {FORMAT_OLDEST} to {FORMAT}: use \
         the version that stored it",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The format that it names.
        format: u64,
    },
    /// A server does not start or does not answer rightly.
    #[error("{server}: {why}")]
    Server {
        /// Its label.
        server: String,
        /// What was seen.
        why: String,
    },
    /// The generator could not do its work.
    #[error("the generator failed: {why}")]
    Generator {
        /// What it said or how it ended.
        why: String,
    },
    /// The processes of this lab may hold so few files open that no server starts.
    #[error(
        "a process of this session may have {limit} open files, and servers need {needed} to \
         start: raise the limit (ulimit -n 65536, or nofile in /etc/security/limits.conf)"
    )]
    OpenFiles {
        /// What is allowed.
        limit: u64,
        /// What it takes.
        needed: u64,
    },
    /// Another lab measures on this machine.
    #[error(
        "another lab is measuring on this machine{}: two at a time would disturb each other; wait \
         for it, or measure beside it with --no-lock",
        named(holder.as_ref())
    )]
    Taken {
        /// Who that is, where it says so.
        holder: Option<Holder>,
    },
    /// A certificate for the servers could not be made.
    #[error("cannot make a certificate with a key of {key}: {why}")]
    Certificate {
        /// The kind of its key.
        key: CertificateKey,
        /// What stood in the way.
        why: String,
    },
    /// The network that the experiment asks for cannot be made here.
    #[error("network = \"veth\" is not possible here: {why}; {remedy}")]
    Network {
        /// What stood in the way.
        why: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The machine of the servers, which is another one, could not do its part.
    #[error("the machine of the servers: {why}")]
    Host {
        /// What it said, or how it was lost.
        why: String,
    },
    /// A person asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// An error of the file system, as a closure for `map_err`.
    pub(crate) fn file(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            doing,
            path,
            source,
        }
    }

    /// An error of one server, as a closure for `map_err`.
    pub(crate) fn server(server: &str, doing: &str) -> impl FnOnce(io::Error) -> Self {
        let (server, doing) = (server.to_owned(), doing.to_owned());
        move |error| Self::Server {
            server,
            why: format!("cannot {doing}: {error}"),
        }
    }

    /// Whether it ends one row and not the whole experiment.
    pub const fn is_about_one_server(&self) -> bool {
        matches!(self, Self::Server { .. } | Self::Generator { .. })
    }
}

fn named(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |Holder { pid, since }| {
        format!(" (process {pid}, since {since})")
    })
}

fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "no space is left there".to_owned()
        }
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        _ => error.to_string(),
    }
}

fn hint(doing: &str, path: &Path, error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
            if is_temporary(path) =>
        {
            "; set TMPDIR to another folder (what was measured before is kept)"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if doing == "lock" => {
            "; name another file with --lock FILE"
        }
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem => {
            "; name another folder with --results DIR (what was measured before is kept)"
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            if Some(path) == temporary().as_deref() =>
        {
            "; TMPDIR names it: set it to a folder that exists"
        }
        _ => "",
    }
}

/// The folder for temporary files.
fn temporary() -> Option<PathBuf> {
    std::path::absolute(std::env::temp_dir()).ok()
}

/// Whether `path` is the folder for temporary files, or one that a run made there.
fn is_temporary(path: &Path) -> bool {
    let Some((path, temporary)) = std::path::absolute(path).ok().zip(temporary()) else {
        return false;
    };
    path.strip_prefix(temporary).is_ok_and(|below| {
        let first = below.components().next();
        first.is_none_or(|name| name.as_os_str().to_string_lossy().starts_with("triathlon-"))
    })
}

#[cfg(test)]
mod tests;
