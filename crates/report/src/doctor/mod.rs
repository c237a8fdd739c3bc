//! What the doctor says, for a terminal, and the script that does what it advises.

use std::fmt::Write as _;

use model::condition::Remedy;
use model::finding::Severity;
use verdict::doctor::{Diagnosis, Examination};
use verdict::sysctl::{Kernel, Kind, Objection, Setting};
use verdict::words;

use crate::number;

use crate::number::plural;

/// Width that lines are wrapped to.
const WIDTH: usize = 80;

/// An examination as text, the worst first.
pub fn examination(examination: &Examination) -> String {
    let mut text = String::new();
    for severity in [Severity::Invalid, Severity::Suspect, Severity::Note] {
        for diagnosis in &examination.diagnoses {
            if diagnosis.finding.worst() == severity {
                push_diagnosis(&mut text, diagnosis);
            }
        }
    }
    let count = |severity| {
        examination
            .diagnoses
            .iter()
            .filter(|one| one.finding.worst() == severity)
            .count()
    };
    let _ = writeln!(
        text,
        "{} invalid, {} suspect, {} noted; {} silent, {} unknown.",
        count(Severity::Invalid),
        count(Severity::Suspect),
        count(Severity::Note),
        plural(examination.silent.len(), "rule"),
        examination.unknown.len()
    );
    if !examination.unknown.is_empty() {
        let _ = writeln!(text, "\nUnknown, because it could not be read:");
        for (rule, missing) in &examination.unknown {
            push_wrapped(&mut text, &format!("  {rule}  "), missing);
        }
    }
    if !examination.need_a_trial.is_empty() {
        let _ = writeln!(text, "\nOnly a trial can tell:");
        push_wrapped(&mut text, "  ", &examination.need_a_trial.join(", "));
        let _ = writeln!(
            text,
            "  triathlon load URL        judges a server that you started"
        );
        let _ = writeln!(
            text,
            "  triathlon lab first-heat  starts, measures and judges servers"
        );
    }
    text
}

fn push_diagnosis(text: &mut String, diagnosis: &Diagnosis) {
    let finding = &diagnosis.finding;
    let touches: Vec<&str> = finding
        .severity
        .iter()
        .filter(|(_, severity)| **severity == finding.worst())
        .map(|(claim, _)| claim.name())
        .collect();
    let _ = writeln!(
        text,
        "{:<8} {} {} ({})",
        finding.worst().name(),
        finding.rule,
        finding.name,
        touches.join(", ")
    );
    push_wrapped(text, "  ", &finding.say);
    push_wrapped(text, "  read:   ", &diagnosis.reads);
    for fix in &finding.fix {
        let _ = writeln!(text, "  mend:   {fix}");
    }
    push_wrapped(text, "  source: ", &finding.source);
    text.push('\n');
}

/// What is wrong with a file of kernel settings, line by line. Where many lines want no attention,
/// as in a dump of all settings, they are counted. At the end stands what there is no objection to.
pub fn settings(
    file: &str,
    kernel: Kernel,
    settings: &[Setting],
    objections: &[Objection],
) -> String {
    let mut text = format!("{file}, judged for Linux {kernel}\n\n");
    let folds: Vec<Fold> = Fold::ALL
        .into_iter()
        .filter(|fold| fold.count(objections) > FOLDED_FROM)
        .collect();
    let mut line = 0;
    for objection in objections {
        if folds.iter().any(|fold| fold.takes(objection)) {
            continue;
        }
        if objection.line != line {
            line = objection.line;
            let _ = writeln!(text, "line {line}: {} = {}", objection.key, objection.value);
        }
        let mark = if objection.holds {
            objection.severity.name()
        } else {
            "past"
        };
        push_wrapped(&mut text, &format!("  {mark:<8}"), &objection.say);
        push_wrapped(&mut text, "          instead: ", &objection.fix);
        push_wrapped(
            &mut text,
            "          ",
            &format!("holds: {}; source: {}", objection.kernels, objection.source),
        );
    }
    if !folds.is_empty() {
        let _ = writeln!(text, "\nLines not listed one by one (--json lists each):");
        for fold in &folds {
            let count = number::count(fold.count(objections) as u64);
            let _ = writeln!(text, "  {count:>6}  {}", fold.words());
        }
    }
    push_count(&mut text, settings, objections);
    let count = |severity| {
        objections
            .iter()
            .filter(|one| one.holds && one.severity == severity)
            .count()
    };
    let _ = writeln!(
        text,
        "\n{} invalid, {} suspect, {} noted, {} no longer true for this kernel.",
        count(Severity::Invalid),
        count(Severity::Suspect),
        count(Severity::Note),
        objections.iter().filter(|one| !one.holds).count()
    );
    text
}

/// So many settings without an objection are named.
const NAMED: usize = 12;

/// How many settings there are, and how many of them there is nothing to say of.
fn push_count(text: &mut String, settings: &[Setting], objections: &[Objection]) {
    let (mut fine, mut idle, mut unknown, mut rest) = (Vec::new(), 0, 0, 0);
    for setting in settings {
        let of_it = |one: &&Objection| one.holds && one.line == setting.line;
        let told: Vec<&Objection> = objections.iter().filter(of_it).collect();
        if told.is_empty() {
            fine.push(setting.key.as_str());
        } else if told.iter().any(|one| one.kind == Kind::Unknown) {
            unknown += 1;
        } else if told.iter().all(|one| one.severity == Severity::Note)
            && told.iter().any(|one| is_idle(one.kind))
        {
            idle += 1;
        } else {
            rest += 1;
        }
    }
    if settings.is_empty() {
        text.push_str("\nThere is no setting in it: a line is 'name = value'.\n");
        return;
    }
    let count = settings.len() as u64;
    let (settings, were) = (words::plural(count, "setting"), words::was(count));
    let _ = writeln!(text, "\n{settings} {were} looked at:");
    if !fine.is_empty() {
        let mut names = fine[..fine.len().min(NAMED)].join(", ");
        if fine.len() > NAMED {
            names = format!("{names} and {} more", fine.len() - NAMED);
        }
        let head = format!("  {:>6}  ", number::count(fine.len() as u64));
        push_wrapped(text, &head, &format!("fine: no rule objects to {names}"));
    }
    for (count, what) in [
        (idle, "without effect on a benchmark of a web server"),
        (unknown, "not known here"),
        (rest, "with an objection"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "  {:>6}  {what}", number::count(count));
        }
    }
}

/// Whether it says that a line changes nothing.
const fn is_idle(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::AlreadyDefault | Kind::Irrelevant | Kind::ReadOnly | Kind::Removed | Kind::Repeated
    )
}

/// So many lines of one kind are still told one by one.
const FOLDED_FROM: usize = 10;

/// Lines that want no attention, where there are many of them.
#[derive(Clone, Copy)]
enum Fold {
    Default,
    ReadOnly,
    Elsewhere,
    Unnamed,
}

impl Fold {
    const ALL: [Self; 4] = [
        Self::Default,
        Self::ReadOnly,
        Self::Elsewhere,
        Self::Unnamed,
    ];

    fn takes(self, objection: &Objection) -> bool {
        let is_net = objection.key.starts_with("net.");
        if objection.severity > Severity::Note {
            return false;
        }
        match self {
            Self::Default => objection.kind == Kind::AlreadyDefault,
            Self::ReadOnly => objection.kind == Kind::ReadOnly,
            Self::Elsewhere => objection.kind == Kind::Unknown && !is_net,
            Self::Unnamed => objection.kind == Kind::Unknown && is_net,
        }
    }

    fn count(self, objections: &[Objection]) -> usize {
        objections.iter().filter(|one| self.takes(one)).count()
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Default => "already the default of this kernel",
            Self::ReadOnly => "can be read, but not set",
            Self::Elsewhere => "not about the network, and not named by any rule here",
            Self::Unnamed => "about the network, but not named by any rule here",
        }
    }
}

/// A script that does what the examination advises; `sh fix.sh undo` restores what was.
pub fn fix_script(examination: &Examination) -> String {
    let remedies: Vec<(&Diagnosis, &Remedy)> = examination
        .diagnoses
        .iter()
        .flat_map(|diagnosis| {
            diagnosis
                .remedies
                .iter()
                .map(move |remedy| (diagnosis, remedy))
        })
        .collect();
    let mut script = String::from(
        "#!/bin/sh\n# Mends what triathlon doctor found. Read it before you run it, as root:\n\
         #   sh fix.sh        applies\n#   sh fix.sh undo   restores what was there\nset -eu\n\n",
    );
    if remedies.is_empty() {
        script.push_str(
            "# Nothing was found that a script can mend and undo.\n# triathlon doctor prints what \
             else there is to do.\n",
        );
        return script;
    }
    let mut part = |name: &str, command: fn(&Remedy) -> Option<&str>| {
        let _ = writeln!(script, "{name}() {{\n  :");
        for (diagnosis, remedy) in &remedies {
            if let Some(command) = command(remedy) {
                let _ = writeln!(
                    script,
                    "  # {} {}",
                    diagnosis.finding.rule, diagnosis.finding.name
                );
                let _ = writeln!(script, "  {command}");
            }
        }
        script.push_str("}\n\n");
    };
    part("apply", |remedy| Some(&remedy.apply));
    part("undo", |remedy| remedy.undo.as_deref());
    script.push_str("case \"${1:-apply}\" in\n  apply) apply ;;\n  undo) undo ;;\n");
    script.push_str("  *) echo \"usage: $0 [apply|undo]\" >&2; exit 2 ;;\nesac\n");
    script
}

/// Adds `words` behind `head`, wrapped, with later lines indented as far as the head reaches.
fn push_wrapped(text: &mut String, head: &str, words: &str) {
    let indent = " ".repeat(head.chars().count());
    let mut line = head.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{}", line.trim_end());
            line.clone_from(&indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests;
