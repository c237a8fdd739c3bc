//! Judges a file of kernel settings without applying it: units, absurd values, narrow fields,
//! removed and dangerous keys, keys that cannot matter, values that are the default already.
//!
//! Every objection says for which kernels it holds. One that is often repeated but no longer
//! holds for the kernel asked is told too, with the version since which it does not.

mod kernel;
mod parse;
mod rules;
mod table;

use serde::Serialize;

pub use kernel::{Kernel, KernelRange, ParseKernelError};
pub use parse::{Malformed, Setting, parse};

use model::{Bytes, Severity};

/// Which kind of mistake an objection is about.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The value is what the kernel uses anyway.
    AlreadyDefault,
    /// It breaks connections or protects nothing.
    Dangerous,
    /// It cannot change what a web server or its benchmark does.
    Irrelevant,
    /// The line is not a setting.
    Malformed,
    /// It does something else than its users believe.
    Misunderstood,
    /// It can be read and not set.
    ReadOnly,
    /// The kernel no longer has it.
    Removed,
    /// A later line sets the same key.
    Repeated,
    /// A round number that nothing derives.
    RoundNumber,
    /// The value is far from what any workload needs, and costs something.
    Size,
    /// The value is in another unit than its author thought.
    Unit,
    /// We know nothing of this key.
    Unknown,
    /// The value does not fit the field that it is written to.
    Width,
}

/// One thing to say about one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Objection {
    /// The line, from 1.
    pub line: u32,
    /// The key, dotted.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// What kind of mistake it is.
    pub kind: Kind,
    /// How bad it is for a benchmark.
    pub severity: Severity,
    /// The kernels it holds for.
    pub kernels: KernelRange,
    /// Whether the kernel asked is among them. If not, this is told so that nobody repeats it.
    pub holds: bool,
    /// What is wrong and what follows.
    pub say: String,
    /// What to write instead.
    pub fix: String,
    /// Where this is documented.
    pub source: &'static str,
}

/// What the settings are judged for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// The kernel that would read them.
    pub kernel: Kernel,
    /// Its memory, if known: then sizes are held against it.
    pub memory: Option<Bytes>,
    /// Bytes in a page.
    pub page: u64,
    /// Connections that the benchmark will hold at once.
    pub connections: u64,
}

impl Machine {
    /// A machine of that kernel with pages of 4096 bytes, asked to hold 1,000 connections.
    pub const fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            memory: None,
            page: 4096,
            connections: 1_000,
        }
    }
}

/// Judges the text of a settings file: objections by line, the worst of each line first.
pub fn judge(text: &str, machine: Machine) -> Vec<Objection> {
    let (settings, malformed) = parse(text);
    let mut objections: Vec<Objection> = malformed.into_iter().map(Objection::from).collect();
    for (position, setting) in settings.iter().enumerate() {
        let later = settings[position + 1..]
            .iter()
            .find(|other| other.key == setting.key && !rules::is_read_only(&setting.key));
        objections.extend(later.map(|later| repeated(setting, later)));
        objections.extend(rules::judge(setting, &machine));
        objections.extend(rules::reuse_without_timestamps(setting, &settings));
    }
    objections.sort_by_key(|o| (o.line, std::cmp::Reverse((o.holds, o.severity)), o.kind));
    objections
}

impl From<Malformed> for Objection {
    fn from(malformed: Malformed) -> Self {
        Self {
            line: malformed.line,
            key: String::new(),
            value: malformed.text,
            kind: Kind::Malformed,
            severity: Severity::Suspect,
            kernels: KernelRange::ALL,
            holds: true,
            say: "This line is not a setting: sysctl skips it with a warning.".to_owned(),
            fix: "write 'key = value'".to_owned(),
            source: "sysctl.conf(5)",
        }
    }
}

fn repeated(setting: &Setting, later: &Setting) -> Objection {
    Objection {
        line: setting.line,
        key: setting.key.clone(),
        value: setting.value.clone(),
        kind: Kind::Repeated,
        severity: Severity::Note,
        kernels: KernelRange::ALL,
        holds: true,
        say: format!(
            "Line {} sets the same key again, to {}; this one has no effect.",
            later.line, later.value
        ),
        fix: "remove one of the two lines".to_owned(),
        source: "sysctl.conf(5)",
    }
}

/// Names of the settings that tables know and the kernel of today has, without patterns.
#[cfg(test)]
pub(crate) fn known_settings() -> impl Iterator<Item = &'static str> {
    let defaults = table::DEFAULTS.iter().map(|default| default.key);
    let irrelevant = table::IRRELEVANT.iter().map(|one| one.key);
    let known = table::KNOWN.iter().copied();
    let all = defaults.chain(irrelevant).chain(known);
    all.filter(|key| !key.contains('*'))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod page;
