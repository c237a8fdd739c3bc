//! How the numbers came about: the servers, the machine, and the command that repeats it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use model::environment::Environment;
use model::trial::Server;

use super::table::Table;
use super::{clocks, configuration, escape, path};
use crate::digests::{Run, shell};
use crate::number;

/// The servers, each with its exact configuration.
pub(super) fn servers(run: &Run) -> String {
    let mut html = String::new();
    for (label, server) in run.servers() {
        html.push_str(&one_server(label, server, run));
    }
    html
}

fn one_server(label: &str, server: &Server, run: &Run) -> String {
    let mut html = format!("<h3>{}</h3>\n<dl class=\"facts\">", escape(label));
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = write!(
                html,
                "<div><dt>{name}</dt><dd>{}</dd></div>",
                escape(&value)
            );
        }
    };
    fact("version", server.version.clone());
    fact("preset", server.preset.clone());
    fact("workers", server.workers.to_string());
    fact("CPUs", list(&server.cpus));
    fact("CPUs, read back", other_cpus(server));
    fact(
        "threads, by the CPUs they may use",
        threads(&server.threads),
    );
    fact("access log", server.access_log.clone());
    fact("protocol", server.protocol.clone());
    fact("content ends with", ends(run, label));
    fact(
        "accept queue",
        server
            .listen_backlog
            .map_or_else(String::new, |n| n.to_string()),
    );
    fact(
        "open files limit",
        server
            .open_files_limit
            .map_or_else(String::new, number::count),
    );
    let warming = server.standing.and_then(|standing| standing.warming);
    fact(
        "warmed up for",
        warming.map_or_else(String::new, |warming| warming.to_string()),
    );
    fact(
        "told to read its configuration again",
        server
            .reloaded
            .map_or_else(String::new, |after| format!("{after} into the window")),
    );
    fact("warned when it started", server.warned_at_start.join(" | "));
    fact("ended early", server.exit.clone().unwrap_or_default());
    fact("doctor: unknown", unread(&server.doctor_unknown));
    html.push_str("</dl>\n");
    if !server.command.is_empty() {
        let _ = write!(
            html,
            "<p class=\"note\">Started by:</p>\n<pre>{}</pre>\n",
            escape(&shell(&server.command))
        );
    }
    html.push_str(&configuration::files(server, run.servers()));
    html
}

/// How this server's content ended on the wire; where that is not one way, each with the workloads
/// in which it was seen.
fn ends(run: &Run, label: &str) -> String {
    let mut ways: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let measured = run.digests().iter().filter(|one| !one.ceiling);
    for digest in measured.filter(|one| one.id.server == label) {
        for way in &digest.framing {
            ways.entry(way).or_default().insert(&digest.id.workload);
        }
    }
    let with_workloads = ways.len() > 1;
    let each = ways.into_iter().map(|(way, workloads)| {
        let workloads: Vec<&str> = workloads.into_iter().collect();
        match with_workloads {
            true => format!("{way} ({})", workloads.join("; ")),
            false => way.to_owned(),
        }
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The CPUs that its threads may use, where these are not those that it was given.
fn other_cpus(server: &Server) -> String {
    let allowed = server.cpus_allowed.as_ref();
    let other = allowed.filter(|allowed| **allowed != server.cpus);
    other.map_or_else(String::new, |cpus| list(cpus))
}

fn list(cpus: &[u32]) -> String {
    let each = cpus.iter().map(ToString::to_string);
    each.collect::<Vec<_>>().join(", ")
}

/// How many threads may run where, as read back: "4 on 0, 2 on 0-1".
fn threads(by_cpus: &BTreeMap<String, u32>) -> String {
    let each = by_cpus
        .iter()
        .map(|(cpus, count)| format!("{count} on {cpus}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The machine that the first trial ran on, the ends of the way between generator and server, and
/// how far clocks were apart.
pub(super) fn machine(run: &Run) -> String {
    let environment = run.environment();
    environment.map_or_else(String::new, of_environment) + &path::ends(run) + &clocks::apart(run)
}

/// What was read of a machine.
pub(super) fn of_environment(environment: &Environment) -> String {
    let mut environment = environment.clone();
    environment.redact();
    let environment = &environment;
    let mut html = String::new();
    let mut table = Table::new("What was read of the machine", &["fact", "value"]);
    for (name, value) in facts(environment) {
        table.row().head(&escape(name)).text(&value);
    }
    html.push_str(&table.finish());
    for (title, values) in [
        ("Kernel settings", &environment.sysctls),
        ("CPU vulnerabilities", &environment.mitigations),
        ("Further facts", &environment.facts),
    ] {
        if values.is_empty() {
            continue;
        }
        let mut table = Table::new(title, &["name", "value"]);
        for (name, value) in values {
            table
                .row()
                .head(&format!("<code>{}</code>", escape(name)))
                .cell(&format!("<code>{}</code>", escape(value)));
        }
        let _ = writeln!(
            html,
            "<details class=\"list\"><summary>{title} ({})</summary>{}</details>",
            values.len(),
            table.finish()
        );
    }
    html
}

fn facts(environment: &Environment) -> Vec<(&'static str, String)> {
    let unknown = || "unknown: could not be read".to_owned();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(unknown);
    let mut facts = vec![
        ("CPU", text(&environment.cpu_model)),
        ("CPUs online", list(&environment.cpus_online)),
        ("CPUs allowed", list(&environment.cpus_allowed)),
        (
            "memory",
            environment
                .memory
                .map_or_else(unknown, |bytes| bytes.to_string()),
        ),
        ("kernel", text(&environment.kernel)),
        ("system", text(&environment.system)),
        ("architecture", text(&environment.architecture)),
        (
            "virtual machine",
            environment.virtualised.map_or_else(unknown, |yes| {
                let product = environment.product.as_deref().unwrap_or("unnamed");
                if yes {
                    format!("yes ({product})")
                } else {
                    "no".to_owned()
                }
            }),
        ),
        ("frequency governor", text(&environment.governor)),
        ("io_uring", text(&environment.io_uring)),
    ];
    let before = facts.len() - 1;
    facts.splice(before..before, clocks_and_limits(environment));
    if let Some(quota) = environment.cpu_quota {
        facts.push(("CPU quota", format!("{} CPUs", number::digits(quota))));
    }
    if let Some(line) = &environment.command_line {
        facts.push(("kernel command line", line.clone()));
    }
    if !environment.doctor_unknown.is_empty() {
        facts.push(("doctor: unknown", unread(&environment.doctor_unknown)));
    }
    if environment.tool.debug_build {
        facts.push((
            "this program",
            "built without optimisation: no measurement".to_owned(),
        ));
    }
    facts
}

fn clocks_and_limits(environment: &Environment) -> [(&'static str, String); 5] {
    let unknown = || "unknown: could not be read".to_owned();
    [
        (
            "clock source",
            environment.clocksource.clone().unwrap_or_else(unknown),
        ),
        (
            "one clock reading",
            environment
                .clock_cost_ns
                .map_or_else(unknown, |ns| number::Unit::Nanoseconds.show(ns)),
        ),
        (
            "clock of the day",
            environment
                .timekeeping
                .as_ref()
                .map_or_else(unknown, verdict::words::timekeeping),
        ),
        (
            "open files limit",
            environment
                .open_files_limit
                .map_or_else(unknown, number::count),
        ),
        (
            "memory that may be locked",
            environment
                .locked_memory_limit
                .map_or_else(unknown, verdict::words::limit_of_memory),
        ),
    ]
}

/// What rules of the doctor could not read.
fn unread(unknown: &BTreeMap<String, String>) -> String {
    let each = unknown
        .iter()
        .map(|(rule, missing)| format!("{rule} ({missing})"));
    each.collect::<Vec<_>>().join("; ")
}

/// The command, the seed, the experiment.
pub(super) fn repeat(run: &Run) -> String {
    let mut html = String::new();
    if let Some(command) = &run.command {
        let _ = write!(
            html,
            "<p>The same experiment in the same order:</p>\n<pre>{}</pre>\n",
            escape(command)
        );
    }
    let mut seeds: Vec<u64> = run
        .digests()
        .iter()
        .filter(|digest| digest.round > 0)
        .map(|digest| digest.id.execution.order_seed)
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    if !seeds.is_empty() {
        let seeds: Vec<String> = seeds.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            html,
            "<p>Order of execution: every round visits every server once and walks its points in random order, from seed <code>{}</code>.</p>",
            seeds.join("</code>, <code>")
        );
    }
    if let Some(text) = &run.experiment {
        let _ = writeln!(
            html,
            "<details class=\"configuration\"><summary>The experiment file, {}</summary><pre>{}</pre></details>",
            number::plural(text.lines().count(), "line"),
            escape(text)
        );
    }
    html
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;
    use model::trial::Server;

    use super::one_server;
    use crate::digests::Run;

    #[test]
    fn how_content_ended_is_told_with_the_workloads_where_it_differs() {
        let mut trials = Heat {
            servers: vec!["nginx", "origin"],
            workloads: vec![("file", 7), ("script", 7)],
            rounds: 1,
            ..Heat::default()
        }
        .trials();
        let page = |trials: &[model::Trial]| {
            let mut run = Run::default();
            trials.iter().for_each(|trial| run.add(trial));
            super::servers(&run)
        };
        let by_length = "<dt>content ends with</dt><dd>its length (Content-Length)</dd>";
        assert_eq!(page(&trials).matches(by_length).count(), 2);
        for trial in &mut trials {
            let id = &trial.point.as_ref().unwrap().id;
            let (server, workload) = (id.server.as_str(), id.workload.as_str());
            let Some(reference) = &mut trial.record.reference else {
                panic!("it has one");
            };
            match (server, workload) {
                ("nginx", "script") => reference.framing = "chunked".to_owned(),
                // A trial of a program that does not tell.
                ("origin", _) => reference.framing.clear(),
                _ => {}
            }
        }
        let told = page(&trials);
        let both = "<dt>content ends with</dt><dd>its length (Content-Length) (file), the last of \
                    its chunks (script)</dd>";
        assert!(told.contains(both), "{told}");
        assert_eq!(told.matches("content ends with").count(), 1, "{told}");
    }

    #[test]
    fn where_threads_run_is_shown_as_it_was_read_back() {
        let mut server = Server {
            cpus: vec![0, 1],
            cpus_allowed: Some(vec![0, 1]),
            ..Server::default()
        };
        let page = one_server("it", &server, &Run::default());
        assert!(
            !page.contains("read back") && !page.contains("threads"),
            "{page}"
        );
        server.cpus_allowed = Some(vec![1]);
        server.threads = [("0".to_owned(), 4), ("0-1".to_owned(), 2)].into();
        server.warned_at_start = vec!["asked for 7".to_owned(), "has 6".to_owned()];
        let page = one_server("it", &server, &Run::default());
        for said in [
            "<dt>warned when it started</dt><dd>asked for 7 | has 6</dd>",
            "<dt>CPUs, read back</dt><dd>1</dd>",
            "<dt>threads, by the CPUs they may use</dt><dd>4 on 0, 2 on 0-1</dd>",
        ] {
            assert!(page.contains(said), "{page}");
        }
    }
}
