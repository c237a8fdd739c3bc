//! What could be run: products, experiments, and the points of one with their cost in time.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use lab::experiment::{BUILT_IN, NEW};
use lab::probe::question;
use lab::run::Missing;
use lab::server::{Absent, Installed, Search, installed};
use lab::sweep::{Cost, untold};
use model::Experiment;
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
        let supports: Vec<String> = supports
            .iter()
            .filter(|(_, words)| !words.is_empty())
            .map(|(kind, words)| format!("{kind}: {}", words.join(", ")))
            .collect();
        out::line(format_args!("{:<13} {}", "", supports.join("; ")))?;
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
        let gap = missing.iter().find(|missing| missing.index == index);
        let what = match (&servers[index], gap) {
            (Some(found), _) => found.version.clone(),
            (None, Some(Missing { gap, .. })) => match &gap.remedy {
                Some(remedy) => format!("left out: {}; {remedy}", gap.error),
                None => format!("left out: {}", gap.error),
            },
            (None, None) => String::new(),
        };
        line("server", &format!("{:<16} {what}", variant.label));
        let partly = missing.iter().filter(|one| one.index == index);
        for Missing { gap, .. } in partly.filter(|_| servers[index].is_some()) {
            if let Some(workload) = &gap.workload {
                line("", &format!("not '{workload}': {}", gap.error));
            }
        }
    }
    for workload in experiment.workloads() {
        let reuse = workload
            .requests_per_connection
            .map_or_else(String::new, |count| {
                format!(
                    ", {} per connection",
                    words::plural(u64::from(count), "request")
                )
            });
        line(
            "workload",
            &format!("{:<16} {}{reuse}", workload.name, workload.contents()),
        );
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
    let present = (0..servers.len()).filter(|index| servers[*index].is_some());
    if let Some(said) = untold(experiment, &present.collect::<Vec<_>>()) {
        line("too few", &said);
    }
    text
}

/// The axes of the load, each with its values, but for those of which nothing is said.
fn axes(experiment: &Experiment) -> Vec<(&'static str, String)> {
    let placements = experiment.placements().iter().map(|place| place.name());
    let networks = experiment.networks().iter().map(|network| network.name());
    let mut axes = vec![
        ("connections", axis(experiment.connections())),
        ("rates", axis(experiment.rates())),
        ("sources", axis(experiment.sources())),
        ("placement", axis(&placements.collect::<Vec<_>>())),
        ("network", axis(&networks.collect::<Vec<_>>())),
    ];
    axes.retain(|(_, values)| !values.is_empty());
    axes
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
