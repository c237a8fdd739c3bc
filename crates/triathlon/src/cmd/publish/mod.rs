//! `triathlon report --publish`: results fit to hand out, and what was replaced in them.
//!
//! Every file of the results is read as text, JSON string by string. What is not text is left out
//! and named. The page is made anew from what was written, so that it holds nothing else.

mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use lab::store::digests::{self, Digests};
use model::environment::settings::{is_setting, without_foreign_values};
use model::{Json as _, Trial};
use serde_json::Value;

use self::words::{Collector, Words};
use crate::exit::UsageError;
use crate::out;

/// Folders within folders that are copied.
const DEPTH_MAX: u32 = 4;
/// The page, which is not copied.
const PAGE: &str = "report.html";
/// Keys of JSON under which a text is a path or a word of a command line as a whole.
const WHOLE: [&str; 5] = ["command", "path", "paths", "preset", "source"];

/// A file of the results: where it lies, and its name below the bundle.
struct Source {
    path: PathBuf,
    name: PathBuf,
}

/// Writes the files of `paths`, a results folder or trials, into `bundle`, with every word replaced
/// that tells who made them and where. `make_page` makes the page of a bundle at a path.
pub(super) fn publish(
    paths: &[PathBuf],
    bundle: &Path,
    hidden: &[String],
    make_page: impl FnOnce(&Path, &Path) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut cleaned = Cleaned::write(paths, bundle, hidden)?;
    let page = bundle.join(PAGE);
    make_page(bundle, &page)?;
    cleaned.taken.insert(PathBuf::from(PAGE));
    cleaned.tell(bundle)?;
    out::line(page.display())
}

/// Files that were written without such words.
pub(super) struct Cleaned {
    words: Words,
    /// Files that are no text.
    left_out: Vec<PathBuf>,
    /// The names of files in the bundle.
    taken: BTreeSet<PathBuf>,
}

impl Cleaned {
    /// Writes them into `bundle`.
    pub(super) fn write(
        paths: &[PathBuf],
        bundle: &Path,
        hidden: &[String],
    ) -> anyhow::Result<Self> {
        let sources = sources(paths)?;
        let mut texts = Vec::new();
        let mut left_out = Vec::new();
        let mut collector = Collector::of_this_machine(hidden);
        for source in sources {
            let bytes = fs::read(&source.path)
                .with_context(|| format!("cannot read {}", source.path.display()))?;
            match String::from_utf8(bytes) {
                Ok(text) => {
                    collector.read(&text);
                    texts.push((source, text));
                }
                Err(_) => left_out.push(source.path),
            }
        }
        let mut words = collector.finish();
        let mut taken = BTreeSet::new();
        let mut digests = NewDigests::of(paths)?;
        let mut files = Vec::with_capacity(texts.len());
        for (source, text) in texts {
            let clean = match source.path.extension() {
                Some(ending) if ending == "json" => json(&text, &mut words)
                    .with_context(|| format!("cannot publish {}", source.path.display()))?,
                _ => words.replace(&text),
            };
            words.count_credentials(&text, &clean);
            let name = free_name(&source.name, &mut words, &mut taken);
            digests.note(&source.name, &text, &name, &clean);
            files.push((name, clean));
        }
        // Nothing is written where some file cannot be published.
        prepare(bundle)?;
        for (name, clean) in files {
            write(&bundle.join(name), clean.as_bytes())?;
        }
        digests.write(bundle)?;
        Ok(Self {
            words,
            left_out,
            taken,
        })
    }

    /// Says what was replaced, and what still stands there.
    pub(super) fn tell(&self, bundle: &Path) -> anyhow::Result<()> {
        tell(&self.words, &self.left_out)?;
        tell_what_is_left(&self.words, bundle, &self.taken)
    }
}

/// The list of digests for the bundle: what was as it was stored has a new digest, what was missing
/// or changed has its old one, so that the bundle tells that too.
#[derive(Default)]
struct NewDigests {
    old: Option<Digests>,
    new: Digests,
}

impl NewDigests {
    fn of(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let [folder] = paths else {
            return Ok(Self::default());
        };
        let old = match folder.is_dir() {
            true => Digests::read(folder)
                .with_context(|| format!("cannot read {}", folder.join(digests::FILE).display()))?,
            false => None,
        };
        let new = old.clone().unwrap_or_default();
        Ok(Self { old, new })
    }

    fn note(&mut self, name: &Path, text: &str, new_name: &Path, clean: &str) {
        let (name, new_name) = (name.to_string_lossy(), new_name.to_string_lossy());
        let Some(stored) = self.old.as_ref().and_then(|old| old.of(&name)) else {
            return;
        };
        let is_as_stored = stored == digests::digest(text.as_bytes());
        let digest = match is_as_stored {
            true => digests::digest(clean.as_bytes()),
            false => stored.to_owned(),
        };
        self.new.rename(&name, &new_name, digest);
    }

    fn write(&self, bundle: &Path) -> anyhow::Result<()> {
        if self.old.is_none() {
            return Ok(());
        }
        write(&bundle.join(digests::FILE), self.new.text().as_bytes())
    }
}

/// The files to copy, by their names in the bundle.
fn sources(paths: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    match paths {
        [folder] if folder.is_dir() => collect(folder, Path::new(""), DEPTH_MAX, &mut sources)?,
        files => {
            for path in files {
                if path.is_dir() {
                    let why = "--publish takes one results folder, or trials; give one bundle to \
                               each folder";
                    return Err(UsageError(why.to_owned()).into());
                }
                let name = path.file_name().unwrap_or_default().into();
                let path = path.clone();
                sources.push(Source { path, name });
            }
        }
    }
    Ok(sources)
}

/// Regular files below `folder`; links and files whose names begin with a dot are no results.
fn collect(
    folder: &Path,
    below: &Path,
    depth: u32,
    sources: &mut Vec<Source>,
) -> anyhow::Result<()> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder)
        .and_then(Iterator::collect)
        .with_context(cannot)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().with_context(cannot)?;
        let name = below.join(entry.file_name());
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden || name == Path::new(PAGE) || name == Path::new(digests::FILE) {
            continue;
        }
        if kind.is_dir() && depth > 0 {
            collect(&entry.path(), &name, depth - 1, sources)?;
        } else if kind.is_file() {
            let path = entry.path();
            sources.push(Source { path, name });
        }
    }
    Ok(())
}

/// A folder for the bundle, with nothing in it.
fn prepare(bundle: &Path) -> anyhow::Result<()> {
    let is_used = fs::read_dir(bundle).is_ok_and(|mut entries| entries.next().is_some());
    if is_used {
        let why = "--publish: there is something in it already; name a folder that is new or empty";
        return Err(UsageError(format!("{why}: {}", bundle.display())).into());
    }
    fs::create_dir_all(bundle).with_context(|| format!("cannot create {}", bundle.display()))
}

/// The name of a file in the bundle, which is nobody else's.
fn free_name(name: &Path, words: &mut Words, taken: &mut BTreeSet<PathBuf>) -> PathBuf {
    let parts = name.components().filter_map(|part| match part {
        Component::Normal(part) => Some(words.replace_names(&part.to_string_lossy())),
        _ => None,
    });
    let clean: PathBuf = parts.collect();
    let mut free = clean.clone();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        let last = clean.file_name().unwrap_or_default().to_string_lossy();
        free = clean.with_file_name(format!("{number}-{last}"));
    }
    free
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// A document with its words replaced; a trial is still one afterwards.
fn json(text: &str, words: &mut Words) -> anyhow::Result<String> {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return Ok(words.replace(text));
    };
    let trial = Trial::from_json(text.as_bytes());
    let is_trial = trial.is_ok();
    if let Ok(mut trial) = trial {
        trial.redact();
        value = serde_json::from_str(&trial.to_json()?)?;
    }
    clean(&mut value, "", words);
    if is_trial {
        Trial::from_json(value.to_string().as_bytes()).context(
            "a name that is to be replaced is also a word of the format: if --hide gives it, give \
             another one; if it is a name of this machine, publish on a machine that has another",
        )?;
    }
    Ok(value.to_string() + "\n")
}

fn clean(value: &mut Value, key: &str, words: &mut Words) {
    match value {
        // What looks like a name in there is a number.
        Value::String(_) if key == "histogram" => {}
        Value::String(text) => {
            *text = match key {
                "command_line" => words.replace(&without_foreign_values(text)),
                key if WHOLE.contains(&key) => words.replace_path(text),
                _ => words.replace(text),
            };
        }
        Value::Array(items) => {
            let is_secret = matches!(
                items.as_slice(),
                [Value::String(name), Value::String(_)] if model::redact::is_secret(name)
            );
            if is_secret {
                items[1] = Value::String(model::redact::REDACTED.to_owned());
                return;
            }
            for item in items {
                clean(item, key, words);
            }
        }
        Value::Object(fields) => {
            for (name, mut field) in std::mem::take(fields) {
                if key == "sysctls" && !is_setting(&name) {
                    continue;
                }
                clean(&mut field, &name, words);
                let is_setting = key == "sysctls";
                // A part of such a word is no name, but for a chance.
                let is_kept = is_setting || (is_word_of_a_format(&name) && !words.has(&name));
                let name = match is_kept {
                    true => name,
                    false => words.replace_path(&name),
                };
                fields.insert(name, field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a key looks as those of our files do: `response_time_ns`.
fn is_word_of_a_format(key: &str) -> bool {
    key.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// What was replaced, and how often.
fn tell(words: &Words, left_out: &[PathBuf]) -> anyhow::Result<()> {
    let mut count = 0;
    for (word, replacement, times) in words.replaced() {
        count += 1;
        let times = verdict::words::plural(times, "time");
        out::line(format_args!("replaced {word} by {replacement}, {times}"))?;
    }
    if words.credentials() > 0 {
        let count = verdict::words::plural(words.credentials(), "credential");
        out::line(format_args!("took out {count}"))?;
    }
    if count == 0 {
        out::line("found no host name, user name or path below a home to replace")?;
    }
    for path in left_out {
        out::line(format_args!("left out {}: it is not text", path.display()))?;
    }
    Ok(())
}

/// Names that are too short to be replaced inside other words, and still stand there.
fn tell_what_is_left(
    words: &Words,
    bundle: &Path,
    files: &BTreeSet<PathBuf>,
) -> anyhow::Result<()> {
    for file in files {
        let path = bundle.join(file);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for (name, count) in words.left_in(&bytes) {
            out::note(format_args!(
                "{name} still occurs inside other words of {}, {}: --hide {name} replaces it \
                 there, too",
                path.display(),
                verdict::words::plural(count as u64, "time")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_word_that_is_hidden_leaves_histograms_alone() {
        let trial = model::fixture::closed();
        let text = serde_json::to_string(&trial).unwrap();
        let hidden = "histfaaa".to_owned();
        assert!(text.contains("\"HISTFAAA"));
        let mut words = Collector::of_this_machine(&[hidden]).finish();
        let clean: Trial = serde_json::from_str(&json(&text, &mut words).unwrap()).unwrap();
        assert_eq!(clean.record.response_time, trial.record.response_time);
    }

    #[test]
    fn a_word_inside_keys_of_the_format_is_left_alone_there() {
        let mut trial = model::fixture::closed();
        trial.verdict.findings = vec![model::Finding {
            rule: "GEN-01".to_owned(),
            name: "gen-thread-saturated".to_owned(),
            severity: std::collections::BTreeMap::new(),
            evidence: std::collections::BTreeMap::new(),
            threshold: std::collections::BTreeMap::new(),
            say: "The old threshold of the cold household.".to_owned(),
            fix: Vec::new(),
            source: "Policy".to_owned(),
        }];
        let text = serde_json::to_string(&trial).unwrap();
        assert!(text.contains("\"threshold\""), "{text}");
        let mut words = Collector::of_this_machine(&["old".to_owned()]).finish();
        let clean: Trial = serde_json::from_str(&json(&text, &mut words).unwrap()).unwrap();
        let say = &clean.verdict.findings[0].say;
        assert!(!say.contains("old"), "{say}");
        // A key that is the word as a whole may be a name.
        let mut words = Collector::of_this_machine(&["alice".to_owned()]).finish();
        let clean = json("{\"alice\":1,\"Alice's\":2,\"malice\":3}", &mut words).unwrap();
        assert_eq!(clean, "{\"hidden-1\":1,\"hidden-1's\":2,\"malice\":3}\n");
    }
}
