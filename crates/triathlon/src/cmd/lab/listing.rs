//! What could be run: products, experiments, and the points of one with their cost in time.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use lab::execution::Missing;
use lab::experiment::{BUILT_IN, NEW};
use lab::probe::question;
use lab::server::{Absent, Installed, Search, installed};
use lab::sweep::{Cost, untold};
use model::Experiment;
use model::experiment::{Gap, Workload};
use model::threshold::Threshold;
use verdict::words;

use crate::exit::UsageError;
use crate::out;

/// Prints every product: its version or how to install it, and what it can do.
pub(super) fn servers(search: &Search) -> anyhow::Result<()> {
    for product in search.catalogue.products() {
        let found = installed(Arc::clone(product), search);
        let lacking = found.as_ref().map_or_else(
            |_| Vec::new(),
            |found| found.lacking.values().cloned().collect(),
        );
        let state = match found {
            Ok(found) => {
                let programs: Vec<String> = found
                    .programs
                    .iter()
                    .flatten()
                    .map(|program| program.display().to_string())
                    .collect();
                format!("{} ({})", found.version, programs.join(", "))
            }
            Err(Absent { why, remedy: None }) => why,
            Err(Absent {
                remedy: Some(remedy),
                ..
            }) => format!("not installed; {remedy}"),
        };
        out::line(format_args!("{:<13} {state}", product.name()))?;
        let supports = product.supports();
        let tested = ("tests of its configuration by", product.tested());
        let supports: Vec<String> = supports
            .iter()
            .chain([&tested])
            .filter(|(_, words)| !words.is_empty())
            .map(|(kind, words)| format!("{kind}: {}", words.join(", ")))
            .collect();
        out::line(format_args!("{:<13} {}", "", supports.join("; ")))?;
        for (why, protocols) in product.without() {
            let protocols = protocols.join(", ");
            out::line(format_args!("{:<13} not {protocols}: {why}", ""))?;
        }
        for absent in lacking {
            let remedy = absent.remedy.unwrap_or_default();
            out::line(format_args!("{:<13} {}; {remedy}", "", absent.why))?;
        }
    }
    Ok(())
}

/// Prints every built-in experiment with its question.
pub(super) fn experiments() -> anyhow::Result<()> {
    for (name, text) in BUILT_IN {
        if let Ok(experiment) = lab::experiment::parse(name, text, &[]) {
            out::line(format_args!(
                "{name:<18} {}",
                experiment.file().experiment.question
            ))?;
        }
    }
    for (name, _) in question::BUILT_IN {
        if let Ok(Some(question)) = question::read(name) {
            out::line(format_args!(
                "{name:<18} {}",
                question.file.experiment.question
            ))?;
        }
    }
    Ok(())
}

/// Writes an experiment to begin with, where there is no file yet.
pub(super) fn begin(file: &Path) -> anyhow::Result<()> {
    if file == Path::new("-") {
        return out::write(NEW);
    }
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).open(file) {
        Ok(mut new) => new
            .write_all(NEW.as_bytes())
            .with_context(|| format!("cannot write {}", file.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let why = format!("{} exists already; name another file", file.display());
            return Err(UsageError(why).into());
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot create {}", file.display()));
        }
    }
    let file = file.display();
    out::line(format_args!("{file}: next, triathlon lab {file} --list"))
}

/// The points of an experiment, who takes part, and what it costs.
pub(super) fn grid(
    experiment: &Experiment,
    servers: &[Option<Installed>],
    missing: &[Missing],
    cost: Cost,
    cpus: &str,
) -> String {
    let mut text = String::new();
    let header = &experiment.file().experiment;
    let mut line = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ok = writeln!(text, "{name:<11} {value}");
    };
    line(experiment.name(), &header.question);
    for (index, variant) in experiment.servers().iter().enumerate() {
        let Some(found) = &servers[index] else {
            continue;
        };
        line(
            "server",
            &format!("{:<16} {}", variant.label, found.version),
        );
        let lacking = missing.iter().filter(|one| one.index == index);
        for said in not_measured(lacking) {
            line("", &said);
        }
    }
    let left_out = missing.iter().filter(|one| servers[one.index].is_none());
    let mut told = BTreeSet::new();
    let left_out = left_out.filter(|one| told.insert(one.index));
    for (why, labels) in by_cause(left_out, |gap| Some(gap.server.clone())) {
        line("left out", &format!("{}: {why}", named(&labels)));
    }
    for workload in experiment.workloads() {
        line("workload", &asked(workload));
    }
    for (name, values) in axes(experiment) {
        line(name, &values);
    }
    line("CPUs", cpus);
    line(
        "cost",
        &format!(
            "{}, {} of {} ({} of them for the ceiling), {}: about {}",
            words::plural(u64::from(experiment.rounds()), "round"),
            words::plural(u64::from(cost.trials), "trial"),
            experiment.duration(),
            cost.ceilings,
            words::plural(u64::from(cost.starts), "start"),
            cost.time.people()
        ),
    );
    for said in growing(experiment, servers) {
        line("", &said);
    }
    let present = (0..servers.len()).filter(|index| servers[*index].is_some());
    if let Some(said) = untold(experiment, &present.collect()) {
        line("too few", &said);
    }
    text
}

/// What a workload asks for, and in which ways of its own.
fn asked(workload: &Workload) -> String {
    let mut text = format!("{:<16} {}", workload.name, workload.contents());
    if let Some(count) = workload.requests_per_connection {
        let requests = words::plural(u64::from(count), "request");
        text.push_str(&format!(", {requests} per connection"));
    }
    if !workload.connections.is_empty() {
        text.push_str(&format!(
            ", over {} connections",
            axis(&workload.connections)
        ));
    }
    if !workload.protocols.is_empty() {
        text.push_str(&format!(", in {}", axis(&workload.protocols)));
    }
    text
}

/// What of that is for servers that get faster while they run.
fn growing(experiment: &Experiment, servers: &[Option<Installed>]) -> impl Iterator<Item = String> {
    let pairs = experiment.servers().iter().zip(servers);
    pairs.filter_map(|(variant, server)| {
        let limit = server.as_ref()?.product.steady_within()?.people();
        let label = &variant.label;
        Some(format!(
            "of that {limit} for each start of {label}, at most, until its rate is steady"
        ))
    })
}

/// The axes of the load, each with its values, but for those of which nothing is said.
fn axes(experiment: &Experiment) -> Vec<(&'static str, String)> {
    let placements = experiment.placements().iter().map(|place| place.name());
    let networks = experiment.networks().iter().map(|network| network.name());
    let mut axes = vec![
        ("connections", axis(experiment.connections())),
        ("rates", axis(experiment.rates())),
        ("capacity", objective(experiment)),
        ("sources", axis(experiment.sources())),
        ("placement", axis(&placements.collect::<Vec<_>>())),
        ("network", axis(&networks.collect::<Vec<_>>())),
    ];
    axes.retain(|(_, values)| !values.is_empty());
    axes
}

/// What a search looks for; empty where there is none.
fn objective(experiment: &Experiment) -> String {
    let all: Vec<&str> = experiment.objective().iter().map(Threshold::text).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("searched, while {}", all.join(" and ")),
    }
}

/// What of a server is not measured: a line for each cause, and one for all workloads that it does
/// not offer, where they are several.
fn not_measured<'a>(lacking: impl Iterator<Item = &'a Missing>) -> Vec<String> {
    let (never, others): (Vec<_>, Vec<_>) = lacking.partition(|one| one.gap.out_of_reach);
    let workload = |gap: &Gap| gap.workload.as_ref().map(|name| format!("'{name}'"));
    let never = by_cause(never.into_iter(), workload);
    let not =
        |(why, workloads): (String, Vec<String>)| format!("not {}: {why}", words::list(&workloads));
    let never: Vec<String> = match never.len() {
        0 | 1 => never.into_iter().map(not).collect(),
        _ => {
            let workloads: Vec<String> = never.into_iter().flat_map(|(_, names)| names).collect();
            let workloads = words::list(&workloads);
            vec![format!("not {workloads}: it does not offer what they need")]
        }
    };
    let others = by_cause(others.into_iter(), workload);
    never
        .into_iter()
        .chain(others.into_iter().map(not))
        .collect()
}

/// What is missing, by its cause and what to do about it.
fn by_cause<'a>(
    missing: impl Iterator<Item = &'a Missing>,
    name: impl Fn(&Gap) -> Option<String>,
) -> Vec<(String, Vec<String>)> {
    let mut causes: Vec<(String, Vec<String>)> = Vec::new();
    for Missing { gap, .. } in missing {
        let Some(name) = name(gap) else { continue };
        let why = match &gap.remedy {
            Some(remedy) => format!("{}; {remedy}", gap.error),
            None => gap.error.clone(),
        };
        match causes.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => causes.push((why, vec![name])),
        }
    }
    causes
}

/// The first names of a list, and how many more there are.
fn named(names: &[String]) -> String {
    const NAMED: usize = 4;
    match names.len() {
        many if many > NAMED + 1 => {
            format!("{} and {} more", names[..NAMED].join(", "), many - NAMED)
        }
        _ => words::list(names),
    }
}

/// What is left to do, where `stored` trials are there already.
pub(super) fn left(stored: usize, cost: Cost) -> String {
    let stored = words::plural(stored as u64, "trial");
    let what = if cost.trials == 0 {
        format!("nothing: {stored} stored")
    } else {
        format!(
            "{}, {}: about {} ({stored} stored)",
            words::plural(u64::from(cost.trials), "trial"),
            words::plural(u64::from(cost.starts), "start"),
            cost.time.people()
        )
    };
    format!("{:<11} {what}\n", "left")
}

/// The values of an axis; of a long one its ends.
fn axis<T: ToString>(values: &[T]) -> String {
    let all: Vec<String> = values.iter().map(ToString::to_string).collect();
    match all.as_slice() {
        [first, second, .., last] if all.len() > 12 => {
            format!("{first}, {second}, ... {last} ({} points)", all.len())
        }
        _ => all.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(index: usize, gap: Gap) -> Missing {
        Missing { index, gap }
    }

    #[test]
    fn what_one_cause_leaves_out_is_one_line() {
        let cores = |index: usize| {
            let gap = Gap {
                server: format!("nginx {index}"),
                error: "too many cores".to_owned(),
                out_of_reach: true,
                ..Gap::default()
            };
            missing(index, gap)
        };
        let absent = Gap {
            server: "h2o".to_owned(),
            error: "not installed".to_owned(),
            remedy: Some("apt install h2o".to_owned()),
            ..Gap::default()
        };
        let all: Vec<Missing> = (0..6).map(cores).chain([missing(6, absent)]).collect();
        let causes = by_cause(all.iter(), |gap| Some(gap.server.clone()));
        let causes = causes
            .iter()
            .map(|(why, labels)| format!("{}: {why}", named(labels)));
        let causes: Vec<String> = causes.collect();
        assert_eq!(
            causes,
            [
                "nginx 0, nginx 1, nginx 2, nginx 3 and 2 more: too many cores",
                "h2o: not installed; apt install h2o",
            ]
        );
    }

    #[test]
    fn what_a_server_does_not_offer_is_one_line() {
        let gap = |workload: &str, why: &str, remedy: Option<&str>| {
            let gap = Gap {
                workload: Some(workload.to_owned()),
                error: why.to_owned(),
                out_of_reach: remedy.is_none(),
                remedy: remedy.map(str::to_owned),
                ..Gap::default()
            };
            missing(0, gap)
        };
        let perl = gap("perl", "no mod_perl", Some("apt install it"));
        let lua = gap("lua", "no 'lua'; it offers static", None);
        let cgi = gap("cgi", "no 'cgi'; it offers static", None);
        let said = |gaps: &[&Missing]| not_measured(gaps.iter().copied());
        assert_eq!(
            said(&[&lua, &perl]),
            [
                "not 'lua': no 'lua'; it offers static",
                "not 'perl': no mod_perl; apt install it",
            ]
        );
        assert_eq!(
            said(&[&lua, &cgi]),
            ["not 'lua' and 'cgi': it does not offer what they need"]
        );
        assert!(said(&[]).is_empty());
    }
}
