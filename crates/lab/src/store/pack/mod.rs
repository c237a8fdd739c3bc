//! A results folder as one small file, to be kept in a repository.
//!
//! The file is a line that names the form, the SHA-256 of what follows once it is unpacked, and a
//! zlib stream: a line of JSON with the files as texts and what is said of documents in words, and
//! behind it the numbers of documents, as columns. The same folder gives the same bytes. What is
//! read may come from anybody, so everything that is unpacked is bounded, and a name never leads
//! out of the folder.

mod columns;
mod histogram;
mod numbers;
mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::columns::{Reader, Writer};
use self::streams::Form;
use super::digests::{self, Digests, digest};
use super::{INTERRUPTED, SEARCHES};
use crate::error::LabError;

/// The first line of a pack, what that of every form begins with, and the form before this one.
const MARK: &str = "triathlon pack 2\n";
const MARK_OF_ALL: &str = "triathlon pack ";
const MARK_BEFORE: &str = "triathlon pack 1\n";
/// Folders whose files have digests.
const WITH_DIGESTS: [&str; 3] = ["trials", SEARCHES, INTERRUPTED];
/// A file that is larger is no pack.
const FILE_MAX: u64 = 64 << 20;
/// What the zlib stream may hold.
const INSIDE_MAX: u64 = 256 << 20;
/// What all documents may take together.
const UNPACKED_MAX: usize = 1 << 30;
/// Folders within folders.
const DEPTH_MAX: usize = 4;
/// The first four bytes of a compressed HdrHistogram, and its head.
const HDR_COMPRESSED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
const HDR_HEAD: usize = 8;
/// What a distribution tells twice: it follows from the histogram and the numbers in nanoseconds.
const DERIVED: [&str; 8] = ["p50", "p90", "p99", "p99_9", "p99_99", "max", "mean", "min"];
/// A histogram that is larger is left as it is.
const HDR_MAX: u64 = 1 << 20;

/// What the zlib stream holds.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Inside {
    /// Files that are kept as they are.
    files: BTreeMap<String, String>,
    /// Files that are JSON, in the order of the columns.
    documents: Vec<String>,
    /// Where the folder has a list of digests: those that are not the digest of what is unpacked
    /// as that document. A document whose digest is empty here is not in the list.
    digests: Option<BTreeMap<String, String>>,
    keys: Vec<Vec<String>>,
    columns: BTreeMap<String, Form>,
}

/// Whether the file is a pack, by its first line.
pub fn is_pack(path: &Path) -> bool {
    let mut start = [0; MARK_OF_ALL.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *MARK_OF_ALL.as_bytes()
}

/// Packs the files of a results folder, which are all text. Trials keep their values and not their
/// layout, so they get new digests; one that was not as it was stored stays so.
pub fn pack(folder: &Path) -> Result<Vec<u8>, LabError> {
    let mut names = Vec::new();
    list(folder, Path::new(""), 0, &mut names)?;
    names.sort();
    let list = folder.join(digests::FILE);
    let stored = Digests::read(folder).map_err(LabError::file("read", &list))?;
    let mut other = BTreeMap::new();
    let mut of_documents = BTreeSet::new();
    let mut inside = Inside::default();
    let mut writer = Writer::default();
    for name in names {
        let path = folder.join(&name);
        let text = fs::read_to_string(&path).map_err(LabError::file("read", &path))?;
        let damaged = |why: String| LabError::Damaged {
            path: path.clone(),
            what: "a trial",
            why,
        };
        let is_trial = name.starts_with("trials/");
        let document = match is_trial {
            true => {
                let read = serde_json::from_str(&text);
                let mut trial: Value = read.map_err(|error| damaged(error.to_string()))?;
                shorten(&mut trial);
                Some(trial)
            }
            false => read_as_written(&name, &text),
        };
        let Some(document) = document else {
            inside.files.insert(name, text);
            continue;
        };
        let written = writer.put(folder_of(&name), &document);
        written.map_err(damaged)?;
        if let Some(stored) = &stored
            && WITH_DIGESTS.contains(&folder_of(&name))
        {
            of_documents.insert(name.clone());
            match stored.of(&name) {
                Some(stored) if stored == digest(text.as_bytes()) => {}
                changed => {
                    let changed = changed.unwrap_or_default().to_owned();
                    other.insert(name.clone(), changed);
                }
            }
        }
        inside.documents.push(name);
    }
    if let Some(stored) = stored {
        let elsewhere = stored.names().filter(|name| !of_documents.contains(*name));
        for name in elsewhere {
            let digest = stored.of(name).unwrap_or_default();
            other.insert(name.to_owned(), digest.to_owned());
        }
        inside.digests = Some(other);
    }
    let numbers;
    (inside.columns, inside.keys, numbers) = writer.finish();
    Ok(sealed(&inside, &numbers))
}

/// The bytes of a pack that holds this.
fn sealed(inside: &Inside, numbers: &[u8]) -> Vec<u8> {
    let mut text = serde_json::to_vec(inside).expect("texts are JSON");
    text.push(b'\n');
    text.extend(numbers);
    let mut bytes = MARK.as_bytes().to_vec();
    bytes.extend(digest(&text).bytes());
    bytes.push(b'\n');
    let mut encoder = ZlibEncoder::new(bytes, Compression::best());
    let written = encoder.write_all(&text).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}

/// A file that is a document, and is written again as it is.
fn read_as_written(name: &str, text: &str) -> Option<Value> {
    let document = serde_json::from_str(text).ok()?;
    (name.ends_with(".json") && as_file(&document) == text).then_some(document)
}

/// The folder that a file lies in, by its name below that of the results.
fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Writes what `pack` holds into `folder`, which is empty.
pub fn unpack(pack: &Path, folder: &Path) -> Result<(), LabError> {
    let damaged = |why: String| LabError::Damaged {
        path: pack.to_owned(),
        what: "a whole pack",
        why,
    };
    let mut bytes = Vec::new();
    let file = File::open(pack).map_err(LabError::file("read", pack))?;
    let read = file.take(FILE_MAX + 1).read_to_end(&mut bytes);
    read.map_err(LabError::file("read", pack))?;
    let text = inflated(&bytes).map_err(damaged)?;
    let end = text.iter().position(|byte| *byte == b'\n');
    let (words, numbers) = text.split_at(end.map_or(text.len(), |end| end + 1));
    let inside: Inside =
        serde_json::from_slice(words).map_err(|error| damaged(error.to_string()))?;
    for (name, text) in &inside.files {
        put(folder, name, text.as_bytes()).map_err(|why| why.of(pack, name))?;
    }
    let mut digests = Digests::default();
    let reader = Reader::new(&inside.columns, &inside.keys, numbers, UNPACKED_MAX);
    let mut reader = reader.map_err(damaged)?;
    for name in &inside.documents {
        let document = reader.take(folder_of(name)).map_err(damaged)?;
        let text = as_file(&document);
        put(folder, name, text.as_bytes()).map_err(|why| why.of(pack, name))?;
        if let Some(other) = &inside.digests
            && WITH_DIGESTS.contains(&folder_of(name))
            && !other.contains_key(name)
        {
            digests.set(name, digest(text.as_bytes()));
        }
    }
    if let Some(other) = inside.digests {
        let named = other.into_iter().filter(|(_, digest)| !digest.is_empty());
        named.for_each(|(name, digest)| digests.set(&name, digest));
        let text = digests.text();
        put(folder, digests::FILE, text.as_bytes()).map_err(|why| why.of(pack, digests::FILE))?;
    }
    Ok(())
}

/// What stands behind the head of a pack, held against its digest.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.len() as u64 > FILE_MAX {
        return Err(format!("it is larger than {FILE_MAX} bytes"));
    }
    if bytes.starts_with(MARK_BEFORE.as_bytes()) {
        let why = "it was written by an earlier version, in a form that is read no more; pack its \
                   results folder again (triathlon pack DIR -o FILE)";
        return Err(why.to_owned());
    }
    let body = bytes.strip_prefix(MARK.as_bytes());
    let body = body.ok_or("its first line is not that of a pack")?;
    let end = body.iter().position(|byte| *byte == b'\n');
    let (stated, stream) = body.split_at(end.ok_or("it has no digest")?);
    let mut text = Vec::new();
    let mut decoder = ZlibDecoder::new(&stream[1..]).take(INSIDE_MAX + 1);
    let read = decoder.read_to_end(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > INSIDE_MAX {
        return Err(format!("it holds more than {INSIDE_MAX} bytes"));
    }
    if digest(&text).as_bytes() != stated {
        return Err("its digest is not that of what it holds".to_owned());
    }
    Ok(text)
}

/// Why a file of a pack could not be written.
enum CannotPut {
    Name,
    Write(PathBuf, io::Error),
}

impl CannotPut {
    fn of(self, pack: &Path, name: &str) -> LabError {
        match self {
            Self::Name => LabError::Damaged {
                path: pack.to_owned(),
                what: "a whole pack",
                why: format!("'{name}' is not the name of a file of results"),
            },
            Self::Write(path, error) => LabError::file("write", path)(error),
        }
    }
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), CannotPut> {
    let below = Path::new(name);
    let parts: Vec<Component<'_>> = below.components().collect();
    let is_plain = |part: &Component<'_>| matches!(part, Component::Normal(_));
    if !(1..=DEPTH_MAX + 1).contains(&parts.len()) || !parts.iter().all(is_plain) {
        return Err(CannotPut::Name);
    }
    let path = folder.join(below);
    let parent = path.parent().unwrap_or(folder);
    let written = fs::create_dir_all(parent)
        .and_then(|()| File::create_new(&path))
        .and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| CannotPut::Write(path, error))
}

/// A document as a file has it.
fn as_file(document: &Value) -> String {
    format!("{document}\n")
}

/// The names of all files, but those of pages and of files that are hidden or links.
fn list(
    folder: &Path,
    below: &Path,
    depth: usize,
    names: &mut Vec<String>,
) -> Result<(), LabError> {
    let here = folder.join(below);
    let cannot = |error| LabError::file("read", &here)(error);
    for entry in fs::read_dir(&here).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let kind = entry.file_type().map_err(cannot)?;
        let path = below.join(entry.file_name());
        let name = path.to_string_lossy().into_owned();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden || name.ends_with(".html") || name == digests::FILE {
            continue;
        }
        if kind.is_dir() && depth < DEPTH_MAX {
            list(folder, &path, depth + 1, names)?;
        } else if kind.is_file() {
            names.push(name);
        }
    }
    Ok(())
}

/// Takes the compression from histograms, which compress better together, and what distributions
/// tell twice. Who reads trials takes either form.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => {
            if fields.contains_key("histogram") {
                DERIVED.iter().for_each(|name| drop(fields.remove(*name)));
            }
            for (key, field) in fields {
                match field {
                    Value::String(text) if key == "histogram" => {
                        if let Some(open) = opened(text) {
                            *text = open;
                        }
                    }
                    other => shorten(other),
                }
            }
        }
        _ => {}
    }
}

/// A compressed HdrHistogram without its compression.
fn opened(text: &str) -> Option<String> {
    let bytes = BASE64.decode(text).ok()?;
    if !bytes.starts_with(&HDR_COMPRESSED) {
        return None;
    }
    let mut open = Vec::new();
    let mut stream = ZlibDecoder::new(bytes.get(HDR_HEAD..)?).take(HDR_MAX + 1);
    stream.read_to_end(&mut open).ok()?;
    (open.len() as u64 <= HDR_MAX).then(|| BASE64.encode(open))
}

#[cfg(test)]
mod tests;
