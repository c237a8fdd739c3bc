//! The objections: one function per key or family of keys, all tried on every line.

mod connections;
mod form;
mod memory;
mod misspelt;
mod queues;
mod removed;
mod values;

use model::Severity;

use super::kernel::{Kernel, KernelRange};
use super::table::{self, IP_SYSCTL, covers};
use super::{Kind, Machine, Objection, Setting};

/// An objection before it knows its line.
struct Draft {
    kind: Kind,
    severity: Severity,
    kernels: KernelRange,
    say: String,
    fix: String,
    source: &'static str,
}

impl Draft {
    fn new(kind: Kind, severity: Severity, say: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            kernels: KernelRange::ALL,
            say: say.into(),
            fix: "remove the line".to_owned(),
            source: IP_SYSCTL,
        }
    }

    fn kernels(self, kernels: KernelRange) -> Self {
        Self { kernels, ..self }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self {
            fix: fix.into(),
            ..self
        }
    }

    fn source(self, source: &'static str) -> Self {
        Self { source, ..self }
    }
}

pub(super) use connections::reuse_without_timestamps;
pub(super) use form::is_read_only;

type Rule = fn(&Setting, &Machine) -> Vec<Draft>;

const RULES: &[Rule] = &[
    already_default,
    memory::buffers_of_other_protocols,
    connections::congestion_control,
    form::empty,
    connections::fin_timeout,
    irrelevant,
    queues::netdev_max_backlog,
    values::file_max,
    values::numbers,
    connections::port_range,
    form::read_only,
    form::remark,
    removed::removed,
    round_number,
    memory::socket_buffers,
    queues::somaxconn,
    queues::syn_backlog,
    queues::syncookies,
    memory::tcp_mem,
    connections::timestamps,
    connections::tw_buckets,
    connections::tw_recycle,
    connections::tw_reuse,
];

/// Everything to say about one line. An objection that never held for a kernel as new as the one
/// asked, or newer than it, is left out; one that ended before it is told as such.
pub(super) fn judge(setting: &Setting, machine: &Machine) -> Vec<Objection> {
    let mut objections: Vec<Objection> = RULES
        .iter()
        .flat_map(|rule| rule(setting, machine))
        .filter_map(|draft| place(draft, setting, machine.kernel))
        .collect();
    let is_ours = |key: &str| covers(key, &setting.key);
    let known = table::KNOWN.contains(&setting.key.as_str())
        || removed::knows(&setting.key)
        || table::DEFAULTS
            .iter()
            .any(|default| default.key == setting.key)
        || table::IRRELEVANT.iter().any(|entry| is_ours(entry.key));
    if objections.is_empty() && !known {
        objections.extend(place(unknown(&setting.key), setting, machine.kernel));
    }
    // Of several that ended, the last is the one whose version a reader wants.
    let ended = |o: &Objection| {
        (!o.holds)
            .then(|| o.kernels.ended_before(machine.kernel))
            .flatten()
    };
    if let Some(last) = objections.iter().filter_map(ended).max() {
        objections.retain(|o| o.holds || ended(o) == Some(last));
    }
    // What is the default cannot also be too large, too round or beside the point.
    if objections
        .iter()
        .any(|o| o.kind == Kind::AlreadyDefault && o.holds)
    {
        objections.retain(|o| o.kind == Kind::AlreadyDefault || o.severity > Severity::Note);
    }
    objections
}

fn unknown(key: &str) -> Draft {
    let source = "none: no rule here names it";
    if let Some(meant) = misspelt::meant(key) {
        let say = format!(
            "This key is not known here, and it is close to {meant}. If it is misspelt, sysctl \
             reports an error and sets nothing."
        );
        return Draft::new(Kind::Unknown, Severity::Suspect, say)
            .fix(format!("write {meant} if that is meant"))
            .source(source);
    }
    let say = "Nothing is known here about this key: it is not among those that can matter for a \
               web server, or it is not a Linux one.";
    Draft::new(Kind::Unknown, Severity::Note, say)
        .fix("say in a comment what it is for, or remove the line")
        .source(source)
}

fn place(draft: Draft, setting: &Setting, kernel: Kernel) -> Option<Objection> {
    let holds = draft.kernels.contains(kernel);
    let ended = draft.kernels.ended_before(kernel);
    let say = match (holds, ended) {
        (true, _) => draft.say,
        (false, Some(end)) => {
            format!(
                "No longer true since Linux {end}, though often repeated: {}",
                draft.say
            )
        }
        (false, None) => return None,
    };
    Some(Objection {
        line: setting.line,
        key: setting.key.clone(),
        value: setting.value.clone(),
        kind: draft.kind,
        severity: if holds {
            draft.severity
        } else {
            Severity::Note
        },
        kernels: draft.kernels,
        holds,
        say,
        fix: if holds {
            draft.fix
        } else {
            "nothing to do for this reason".to_owned()
        },
        source: draft.source,
    })
}

fn single(setting: &Setting, key: &str) -> Option<u64> {
    if setting.key != key {
        return None;
    }
    match setting.numbers()?.as_slice() {
        [number] => Some(*number),
        _ => None,
    }
}

fn already_default(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    table::DEFAULTS
        .iter()
        .filter(|d| d.key == setting.key && d.value == setting.value)
        .filter(|d| d.kernels.contains(machine.kernel))
        .map(|d| {
            Draft::new(
                Kind::AlreadyDefault,
                Severity::Note,
                "This is the kernel's default.",
            )
            .kernels(d.kernels)
            .source(d.source)
        })
        .collect()
}

fn irrelevant(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    if values::too_few_files(setting, machine).is_some() {
        return Vec::new();
    }
    table::IRRELEVANT
        .iter()
        .filter(|entry| covers(entry.key, &setting.key))
        .map(|entry| {
            Draft::new(
                Kind::Irrelevant,
                Severity::Note,
                format!("It cannot matter for this workload. {}", entry.why),
            )
            .source(entry.source)
        })
        .collect()
}

/// A power of ten or a small multiple of one, far from the default: nobody derived it.
fn round_number(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let sized = ["max", "mem", "backlog", "default", "somaxconn", "buckets"];
    let (key, numbers) = (&setting.key, setting.numbers().unwrap_or_default());
    let is_size = key.starts_with("net.") || key.starts_with("fs.file") || key == "fs.nr_open";
    let is_time = ["_ms", "_us", "_ns"].iter().any(|unit| key.ends_with(unit));
    let is_round = |n: &u64| *n >= 10_000 && n.is_multiple_of(10_u64.pow(n.ilog10() - 1));
    let counts = is_size && !is_time && sized.iter().any(|part| key.contains(part));
    if counts && numbers.iter().any(is_round) {
        let say = "A round number: it looks chosen, and not worked out from what this machine \
                   needs.";
        return vec![
            Draft::new(Kind::RoundNumber, Severity::Note, say)
                .fix(
                    "set it only if a counter that it acts on moves, and check that the counter \
                     then stops",
                )
                .source("policy; a reader of a study of 2016 said it of such a list"),
        ];
    }
    Vec::new()
}
