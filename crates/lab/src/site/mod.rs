//! The documents that every server serves: the same bytes, in a private folder.
//!
//! Contents are drawn from the length alone, so that a file of one length is the same on every
//! machine, and neither compresses nor repeats.

pub mod given;
pub mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use model::{Bytes, Experiment, Random, hex};
use sha2::{Digest as _, Sha256};

use crate::error::LabError;

/// From this length on a file is served by the means for large files, where a server has both:
/// for a small one sendfile is a system call too many.
const LARGE: u64 = 16 * 1024;

/// When each file was made, as its file system and `Last-Modified` have it: the same for all, so
/// that no server answers with another head, and none asks whether a file is too new to be sure.
const MODIFIED_S: u64 = 1_767_225_600;
/// The same as a date of HTTP (RFC 9110 §5.6.7).
pub const MODIFIED: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

/// One document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Document {
    /// Its path in URLs: `/small/7.html`.
    pub path: String,
    /// Its length.
    pub bytes: Bytes,
    /// SHA-256 of its content, hexadecimal.
    pub sha256: String,
}

/// A document that handlers make by themselves: they have its text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Made {
    /// Its length.
    pub bytes: u64,
    /// Its content: letters, digits, '-' and '_', which mean nothing in any language.
    pub text: String,
}

/// All documents of an experiment, on disk.
#[derive(Clone, Debug)]
pub struct Site {
    root: PathBuf,
    documents: BTreeMap<u64, Document>,
    made: Vec<Made>,
    programs: PathBuf,
    /// Files of folders that were given, by folder and path below it.
    files: BTreeMap<(String, String), Document>,
}

impl Site {
    /// Writes the documents of `experiment` below `root`, readable for everyone: servers that are
    /// started by root give up their rights.
    pub fn build(root: &Path, experiment: &Experiment) -> Result<Self, LabError> {
        for folder in ["", "small", "large"] {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(LabError::file("create", &path))?;
            open_to_all(&path, 0o755)?;
        }
        let mut documents = BTreeMap::new();
        let workloads = experiment.workloads().iter();
        for bytes in workloads.flat_map(|workload| workload.documents()) {
            let length = bytes.count();
            if documents.contains_key(&length) {
                continue;
            }
            let content = content(length);
            let path = path_of(length);
            let file = root.join(path.trim_start_matches('/'));
            put(&file, &content)?;
            let document = Document {
                path,
                bytes,
                sha256: hex(&Sha256::digest(&content)),
            };
            documents.insert(length, document);
        }
        relay(root, experiment, &documents)?;
        Ok(Self {
            root: root.to_owned(),
            documents,
            made: made(experiment),
            programs: root.with_file_name("programs"),
            files: given::copy(root, experiment)?,
        })
    }

    /// The folder that servers serve.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What handlers make by themselves.
    pub fn made(&self) -> &[Made] {
        &self.made
    }

    /// The folder of the programs that make documents.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// The copy of a file of a folder that was given.
    pub fn file(&self, site: &str, file: &str) -> &Document {
        self.files
            .get(&(site.to_owned(), file.to_owned()))
            .expect("every workload's files were copied")
    }

    /// The document of that length.
    pub fn document(&self, bytes: Bytes) -> &Document {
        self.documents
            .get(&bytes.count())
            .expect("every workload's document was built")
    }
}

/// Where the handler of that name makes the document of that length.
pub fn made_at(handler: &str, bytes: Bytes) -> String {
    format!("/{handler}/{}", bytes.count())
}

/// Where a handler that asks a server behind it has a document: what it says itself of a path is
/// told from what it says of another.
pub fn relayed_at(handler: &str, document: &Document) -> String {
    format!("/{handler}{}", document.path)
}

/// Writes the documents that such handlers are asked for, to where they are asked for.
fn relay(
    root: &Path,
    experiment: &Experiment,
    documents: &BTreeMap<u64, Document>,
) -> Result<(), LabError> {
    for workload in experiment.workloads() {
        let Some(handler) = workload.relay() else {
            continue;
        };
        for bytes in workload.documents() {
            let document = &documents[&bytes.count()];
            let path = relayed_at(handler, document);
            let file = root.join(path.trim_start_matches('/'));
            for folder in file
                .ancestors()
                .skip(1)
                .take_while(|folder| *folder != root)
            {
                fs::create_dir_all(folder).map_err(LabError::file("create", folder))?;
                open_to_all(folder, 0o755)?;
            }
            let own = root.join(document.path.trim_start_matches('/'));
            fs::copy(own, &file).map_err(LabError::file("write", &file))?;
        }
    }
    Ok(())
}

fn made(experiment: &Experiment) -> Vec<Made> {
    let workloads = experiment.workloads().iter();
    let makers = workloads.filter(|workload| workload.maker().is_some());
    let lengths: BTreeSet<u64> = makers
        .flat_map(|workload| workload.documents())
        .map(Bytes::count)
        .collect();
    let text = |bytes| String::from_utf8(content(bytes)).expect("its letters are ASCII");
    let made = |bytes| Made {
        bytes,
        text: text(bytes),
    };
    lengths.into_iter().map(made).collect()
}

fn path_of(length: u64) -> String {
    if length < LARGE {
        format!("/small/{length}.html")
    } else {
        format!("/large/{length}.bin")
    }
}

/// Letters and digits: readable in a terminal, and too many kinds to be compressed much.
fn content(length: u64) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut order = Random::new(length);
    let length = usize::try_from(length).expect("a document fits into memory");
    (0..length).map(|_| LETTERS[order.below(64)]).collect()
}

/// Writes a file that everyone may read, made at the time of all.
fn put(file: &Path, content: &[u8]) -> Result<(), LabError> {
    let made = SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED_S);
    fs::write(file, content)
        .and_then(|()| {
            fs::File::options()
                .write(true)
                .open(file)?
                .set_modified(made)
        })
        .map_err(LabError::file("write", file))?;
    open_to_all(file, 0o644)
}

/// Gives everyone the right to read.
pub(crate) fn open_to_all(path: &Path, mode: u32) -> Result<(), LabError> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
        .map_err(LabError::file("change the permissions of", path))
}

#[cfg(test)]
mod tests;
