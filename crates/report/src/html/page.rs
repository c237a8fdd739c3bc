//! The whole page: what is worth believing first, then the numbers, then how they came about.

use std::fmt::Write as _;

use super::frame::{self, ASSETS, Assets};
use super::{asked, connections, escape, failures, published, results, setting, trials, verdicts};
use crate::digests::Run;
use crate::number::plural;

/// A section's anchor, its heading, and what writes it.
type Writer = (&'static str, &'static str, fn(&Run) -> String);

/// The sections in the order of reading.
const SECTIONS: [Writer; 10] = [
    ("verdict", "What may be believed", verdicts::section),
    ("results", "Results", results::section),
    ("published", "Then and now", published::section),
    ("asked", "What the readers asked", asked::section),
    ("failures", "Failures", failures::section),
    (
        "connections",
        "What connections spoke",
        connections::section,
    ),
    ("servers", "The servers, exactly", setting::servers),
    ("machine", "The machine", setting::machine),
    ("repeat", "How to repeat it", setting::repeat),
    ("trials", "Every trial", trials::section),
];

/// The report of `run`: one HTML file. The same run gives the same bytes.
pub fn page(run: &Run) -> String {
    assemble(run, &ASSETS)
}

pub(super) fn assemble(run: &Run, assets: &Assets) -> String {
    let sections = SECTIONS.map(|(anchor, heading, write)| (anchor, heading, write(run)));
    frame::page(&title(run), &header(run), &sections, &version(run), assets)
}

/// The experiment's name; of a run without one, what was asked.
fn title(run: &Run) -> String {
    if !run.name.is_empty() {
        return run.name.clone();
    }
    match run.workloads().as_slice() {
        [only] => only.clone(),
        _ => "Report".to_owned(),
    }
}

fn header(run: &Run) -> String {
    let mut html = String::new();
    let mut facts = Vec::new();
    let servers = run.labels().len();
    if servers > 0 {
        facts.push(plural(servers, "server"));
    }
    if run.workloads().len() > 1 {
        facts.push(plural(run.workloads().len(), "workload"));
    }
    if run.rounds() > 0 {
        facts.push(plural(run.rounds() as usize, "round"));
    }
    facts.push(plural(run.digests().len(), "trial"));
    if let Some(environment) = run.environment() {
        if let Some(cpu) = &environment.cpu_model {
            let cpus = environment.cpus_online.len();
            facts.push(format!("{cpu}, {}", plural(cpus, "CPU")));
        }
        facts.extend(environment.kernel.clone());
    }
    let when = run
        .digests()
        .iter()
        .filter_map(|digest| digest.time.as_deref())
        .min()
        .map_or_else(String::new, |time| {
            format!(
                " · <time datetime=\"{0}\">{1}</time>",
                escape(time),
                escape(&when(time))
            )
        });
    let _ = write!(
        html,
        "<header>\n<p class=\"kicker\">Triathlon{when}</p>\n<h1>{}</h1>\n",
        escape(&title(run))
    );
    if !run.question.is_empty() {
        let _ = writeln!(html, "<p class=\"question\">{}</p>", escape(&run.question));
    }
    let facts: Vec<String> = facts.iter().map(|fact| escape(fact)).collect();
    let _ = write!(
        html,
        "<p class=\"facts\">{}</p>\n</header>\n",
        facts.join(" · ")
    );
    html
}

/// `2026-11-20T10:31:24Z` as `2026-11-20 10:31 UTC`.
fn when(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}

/// The version of what measured, with a space before it; nothing where it is not known.
fn version(run: &Run) -> String {
    run.environment()
        .map(|environment| &environment.tool)
        .map_or_else(String::new, |tool| {
            let commit = tool
                .commit
                .as_ref()
                .map_or_else(String::new, |commit| format!(" ({commit})"));
            format!(" {}{commit}", tool.version)
        })
}
