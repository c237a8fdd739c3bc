//! What a user looks for in an answer: values to keep, and a text that has to be there.

use memchr::memmem;
use model::plan::{FromFile, ScriptFile};
use regex_lite::Regex;
use serde_json::Value;

use super::VALUE_MAX;

/// What is looked for in the answers to one request.
#[derive(Debug)]
pub(super) struct Reads {
    fields: Vec<(usize, String)>,
    pointers: Vec<(usize, String)>,
    patterns: Vec<(usize, Regex)>,
    contains: Option<memmem::Finder<'static>>,
}

impl Reads {
    /// By class. A plan that can run names variables that there are, and patterns that are some.
    pub(super) fn by_class(
        script: &ScriptFile,
        classes: usize,
        names: &[&str],
    ) -> Box<[Option<Self>]> {
        let mut all: Vec<Option<Self>> = (0..classes).map(|_| None).collect();
        for answer in &script.answers {
            let mut reads = Self {
                fields: Vec::new(),
                pointers: Vec::new(),
                patterns: Vec::new(),
                contains: answer
                    .contains
                    .as_ref()
                    .map(|text| memmem::Finder::new(text).into_owned()),
            };
            for take in &answer.takes {
                let index = names.iter().position(|name| *name == take.variable);
                let index = index.expect("the plan has seen to it");
                match &take.from {
                    FromFile::Header(name) => reads.fields.push((index, name.clone())),
                    FromFile::Json(pointer) => reads.pointers.push((index, pointer.clone())),
                    FromFile::Pattern(pattern) => {
                        let pattern = Regex::new(pattern).expect("the plan has seen to it");
                        reads.patterns.push((index, pattern));
                    }
                }
            }
            all[usize::from(answer.request)] = Some(reads);
        }
        all.into()
    }

    /// Whether the content is looked at.
    pub(super) fn content(&self) -> bool {
        self.contains.is_some() || !self.pointers.is_empty() || !self.patterns.is_empty()
    }

    /// Takes the values of fields; whether all are there.
    pub(super) fn take_fields(&self, head: &[u8], values: &mut [Vec<u8>]) -> bool {
        let mut all = true;
        for (index, wanted) in &self.fields {
            let mut found = fields(head);
            let found = found.find(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
            all &= keep(&mut values[*index], found.map(|(_, value)| value));
        }
        all
    }

    /// Takes values from the content; whether all are there.
    pub(super) fn take_content(&self, content: &[u8], values: &mut [Vec<u8>]) -> bool {
        let mut all = true;
        if !self.pointers.is_empty() {
            let read: Option<Value> = serde_json::from_slice(content).ok();
            for (index, pointer) in &self.pointers {
                let found = read.as_ref().and_then(|value| value.pointer(pointer));
                let text = found.and_then(|value| match value {
                    Value::Null => None,
                    Value::String(text) => Some(text.clone()),
                    other => Some(other.to_string()),
                });
                all &= keep(&mut values[*index], text.as_deref().map(str::as_bytes));
            }
        }
        if !self.patterns.is_empty() {
            let text = String::from_utf8_lossy(content);
            for (index, pattern) in &self.patterns {
                // The first group, or all of it where there is none.
                let found = pattern
                    .captures(&text)
                    .and_then(|found| found.get(1).or_else(|| found.get(0)));
                all &= keep(
                    &mut values[*index],
                    found.map(|found| found.as_str().as_bytes()),
                );
            }
        }
        all
    }

    /// Whether the text that has to be in the content is there.
    pub(super) fn is_contained(&self, content: &[u8]) -> bool {
        let contains = self.contains.as_ref();
        contains.is_none_or(|text| text.find(content).is_some())
    }
}

/// What is not there, and what is too long, is no value.
fn keep(value: &mut Vec<u8>, found: Option<&[u8]>) -> bool {
    value.clear();
    let found = found.filter(|found| found.len() <= VALUE_MAX);
    value.extend_from_slice(found.unwrap_or_default());
    found.is_some()
}

/// Names and values of the fields of a head as received.
pub(crate) fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], trim(&line[colon + 1..])))
    })
}

/// Without blanks, tabs and line ends around.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}
