//! Facts of two results by name, and those that differ.

use std::collections::{BTreeMap, BTreeSet};

use model::plan::{PlanFile, Url};
use model::trial::Server;
use model::{Environment, Manifest};
use serde::Serialize;
use serde_json::Value;

/// Facts by name.
pub(super) type Facts = BTreeMap<String, String>;

/// A fact that is not the same on both sides.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Difference {
    /// What.
    pub what: String,
    /// In the first result; none where it is not known there.
    pub a: Option<String>,
    /// In the second.
    pub b: Option<String>,
}

impl Difference {
    /// What is shown of it: of a long text as much as there is room for, around what differs.
    pub fn shown(&self) -> [Option<String>; 2] {
        let cut = |text: &Option<String>, beside: &Option<String>| {
            let beside = beside.as_deref().unwrap_or_default();
            text.as_ref().map(|text| cut(text, beside))
        };
        [cut(&self.a, &self.b), cut(&self.b, &self.a)]
    }
}

/// Longer values are cut.
const LENGTH_MAX: usize = 160;
/// So much of a longer one is shown before what differs.
const LENGTH_BEFORE: usize = 40;

/// What moves from one moment to the next, is drawn anew for every trial, or is an opinion, a
/// question or an earlier figure, which say nothing of how something was measured.
const PASSING: [&str; 18] = [
    "addresses",
    "asked",
    "clock cost ns",
    "doctor",
    "doctor unknown",
    "experiment seed",
    "interval ns",
    "published",
    "seed",
    "sources",
    "sysctls net.netfilter.nf_conntrack_count",
    "time",
    "timekeeping chrony offset ns",
    "timekeeping chrony root delay ns",
    "timekeeping chrony root dispersion ns",
    "timekeeping chrony stratum",
    "timekeeping correction left ns",
    "timekeeping error",
];

pub(super) fn of_environment(environment: &Environment) -> Facts {
    let mut facts = flat("", environment);
    facts.retain(|name, _| !is_passing(name));
    facts
}

pub(super) fn of_manifest(manifest: &Manifest) -> Facts {
    let mut facts = flat("", &manifest.experiment);
    facts.insert("CPUs".to_owned(), manifest.cpu_choice.clone());
    facts.retain(|name, _| !is_passing(name));
    facts
}

pub(super) fn of_plan(plan: &PlanFile) -> Facts {
    let mut facts = flat("", plan);
    facts.retain(|name, _| !is_passing(name));
    facts
}

/// An agent's end of the way to the server.
pub(super) fn of_end(agent: &str, environment: &Environment) -> Facts {
    let path = environment.path.as_ref();
    let mut facts = path.map_or_else(Facts::new, |path| {
        flat(&format!("agent {agent} path"), path)
    });
    facts.retain(|name, _| !is_passing(name));
    facts
}

/// What is known of a server; `label` stands before each name.
/// It was asked as `plan` says: those are ports of its own.
pub(super) fn of_server(label: &str, server: &Server, plan: &PlanFile) -> Facts {
    let urls = plan.requests.iter().map(|request| Url::parse(&request.url));
    let ports: Vec<u16> = urls.flatten().map(|url| url.port).collect();
    let steady = |text: &str| steady(text, &ports);
    let mut facts = Facts::new();
    let mut put = |name: &str, value: String| {
        let name = format!("{label} {name}");
        facts.insert(name.trim_start().to_owned(), value);
    };
    put("version", server.version.clone());
    put("preset", server.preset.clone());
    put("command", steady(&command(server)));
    put("workers", server.workers.to_string());
    put("access log", server.access_log.clone());
    put("CPUs", crate::words::cpus(&server.cpus));
    if let Some(limit) = server.open_files_limit {
        put("open files limit", limit.to_string());
    }
    if let Some(backlog) = server.listen_backlog {
        put("listen backlog", backlog.to_string());
    }
    for (file, text) in &server.configuration {
        put(file, steady(text));
    }
    facts
}

/// The command that started it. Where this program lies says nothing: its version does.
fn command(server: &Server) -> String {
    let mut words = server.command.clone();
    if let Some(program) = words
        .first_mut()
        .filter(|word| word.ends_with("/triathlon"))
    {
        "triathlon".clone_into(program);
    }
    words.join(" ")
}

fn is_passing(name: &str) -> bool {
    let is_it = |passing: &&str| name == *passing || name.starts_with(&format!("{passing} "));
    // Measured, and never twice the same.
    PASSING.iter().any(is_it) || name.ends_with("path round trip at most ns")
}

/// Every value of a tree by the names that lead to it, without credentials: facts are shown.
fn flat(name: &str, value: &impl Serialize) -> Facts {
    fn walk(name: &str, value: &Value, facts: &mut Facts) {
        let inner = |key: &str| {
            format!("{name} {}", key.replace('_', " "))
                .trim()
                .to_owned()
        };
        match value {
            Value::Null => {}
            Value::Object(object) => {
                for (key, value) in object {
                    // Names of kernel settings stay as they are.
                    let name = if key.contains('.') {
                        format!("{name} {key}")
                    } else {
                        inner(key)
                    };
                    walk(&name, value, facts);
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                for (number, value) in (1..).zip(items) {
                    // By what it is called, if it is: others may come before it on one side.
                    let called = ["label", "name"].iter().find_map(|key| value[key].as_str());
                    let which =
                        called.map_or_else(|| number.to_string(), |name| format!("'{name}'"));
                    let name = format!("{name} {which}");
                    walk(name.trim_start(), value, facts);
                }
            }
            Value::String(text) => {
                facts.insert(name.to_owned(), steady(text, &[]));
            }
            other => {
                facts.insert(name.to_owned(), other.to_string());
            }
        }
    }
    let mut facts = Facts::new();
    let mut value = serde_json::to_value(value).expect("a tree of plain values");
    model::redact::clean(&mut value);
    walk(name, &value, &mut facts);
    facts
}

/// `text` without what is drawn anew for each start: ports that the system chose, and the names of
/// temporary folders. `ports` are known to be such.
pub(crate) fn steady(text: &str, ports: &[u16]) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Whether the next number of the line is a port.
    let mut is_named = false;
    while let Some(start) = rest.find(is_word) {
        let (before, tail) = rest.split_at(start);
        let end = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        let (word, after) = tail.split_at(end);
        out.push_str(before);
        is_named &= !before.contains('\n');
        // Linux chooses ports from 32768 to 60999 unless told otherwise. Numbers of connections and
        // files are as large.
        let high = word.parse().ok().filter(|n| (32_768..61_000).contains(n));
        let is_port = high.is_some_and(|n| is_named || follows_a_host(&out) || ports.contains(&n));
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        is_named = names_a_port(word) || (is_named && !is_number);
        let drawn = |stem: &str| {
            let drawn = word.strip_prefix(stem);
            drawn.is_some_and(|drawn| drawn.len() == 6)
        };
        if is_port {
            out.push_str("PORT");
        } else if drawn("triathlon-") || drawn("server-") {
            let stem = word.split_once('-').map_or(word, |(stem, _)| stem);
            out.push_str(&format!("{stem}-..."));
        } else {
            out.push_str(word);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether a number behind that is a port: `127.0.0.1:`, `[::1]:`, `*:`.
fn follows_a_host(text: &str) -> bool {
    let mut last = text.chars().rev();
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || "]*".contains(c);
    last.next() == Some(':') && last.next().is_some_and(is_of_host)
}

/// Whether the next number behind that word is a port: `listen 8080`, `server.port = 8080`,
/// `-p 8080`, `server_ports STRING 8080`.
fn names_a_port(word: &str) -> bool {
    let word = word.trim_start_matches('-').to_ascii_lowercase();
    word == "p"
        || ["port", "ports", "listen"]
            .iter()
            .any(|end| word.ends_with(end))
}

/// What differs, by name; a text of several lines shows the lines that do.
pub(super) fn differences(a: &Facts, b: &Facts) -> Vec<Difference> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    names
        .into_iter()
        .filter(|name| a.get(*name) != b.get(*name))
        .map(|name| {
            let (one, other) = (a.get(name), b.get(name));
            let own = |text: Option<&String>, beside: Option<&String>| {
                text.map(|text| lines_that_differ(text, beside.map_or("", |text| text)))
            };
            Difference {
                what: name.clone(),
                a: own(one, other),
                b: own(other, one),
            }
        })
        .collect()
}

fn lines_that_differ(text: &str, beside: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let others: BTreeSet<&str> = beside.lines().map(str::trim).collect();
    let own: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !others.contains(line))
        .collect();
    match own.as_slice() {
        [] => "no line of its own".to_owned(),
        lines => lines.join(" / "),
    }
}

/// As much of `text` as there is room for, from a little before where it differs from `beside`.
fn cut(text: &str, beside: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= LENGTH_MAX {
        return text.to_owned();
    }
    let same = chars.iter().zip(beside.chars());
    let same = same.take_while(|(one, other)| **one == *other).count();
    let start = match same + LENGTH_BEFORE < LENGTH_MAX {
        true => 0,
        false => same - LENGTH_BEFORE,
    };
    let end = chars.len().min(start + LENGTH_MAX);
    let (before, after) = (
        if start > 0 { "... " } else { "" },
        if end < chars.len() { " ..." } else { "" },
    );
    let shown: String = chars[start..end].iter().collect();
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_were_drawn_are_no_difference_and_other_numbers_are() {
        for (text, expected) in [
            ("listen 127.0.0.1:45123;", "listen 127.0.0.1:PORT;"),
            ("Listen 45123", "Listen PORT"),
            ("server.port = 45123", "server.port = PORT"),
            ("--port=45123 -p 45123", "--port=PORT -p PORT"),
            ("port=\"45123\"", "port=\"PORT\""),
            (
                "STRING server_ports STRING 45123:ip-in=127.0.0.1",
                "STRING server_ports STRING PORT:ip-in=127.0.0.1",
            ),
            (
                "python3 -m http.server 44123",
                "python3 -m http.server PORT",
            ),
            ("listen [::1]:45123", "listen [::1]:PORT"),
            ("{\"connections\":40512}", "{\"connections\":40512}"),
            ("port 80\nfiles 40512", "port 80\nfiles 40512"),
            ("worker_connections 40512;", "worker_connections 40512;"),
            ("worker_rlimit_nofile 60000", "worker_rlimit_nofile 60000"),
            ("32768 60999", "32768 60999"),
            ("listen 8080 backlog=40000", "listen 8080 backlog=40000"),
        ] {
            assert_eq!(steady(text, &[44_123]), expected);
        }
    }

    /// Questions are no way to measure, and an entry is known by its name.
    #[test]
    fn what_differs_between_experiments_is_what_was_measured() {
        let facts = |file: Value| {
            let mut facts = flat("", &file);
            facts.retain(|name, _| !is_passing(name));
            facts
        };
        let one = facts(serde_json::json!({
            "asked": [{"who": "a", "demand": "b"}], "published": [{"what": "c"}],
            "workload": [{"name": "4 KB", "bytes": 4000}, {"name": "7 bytes", "bytes": 7}],
        }));
        let other = facts(serde_json::json!({
            "workload": [{"name": "7 bytes", "bytes": 8}],
        }));
        let names: Vec<_> = differences(&one, &other)
            .into_iter()
            .map(|one| one.what)
            .collect();
        let expected = [
            "workload '4 KB' bytes",
            "workload '4 KB' name",
            "workload '7 bytes' bytes",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_place_of_this_program_is_no_difference() {
        let at = |program: &str| {
            let mut server = model::fixture::server("nginx", "1");
            server.command = vec![program.to_owned(), "serve".to_owned()];
            command(&server)
        };
        assert_eq!(at("/a/triathlon"), at("/b/triathlon"));
        assert_ne!(at("/a/nginx"), at("/b/nginx"));
    }

    #[test]
    fn no_fact_of_an_experiment_is_a_credential() {
        let manifest = |secret: &str| {
            let experiment = serde_json::json!({
                "experiment": {"name": "x", "question": "?", "rounds": 1, "duration": "1s"},
                "workload": [{"name": "w", "request": [{"path": "/", "headers": [
                    ["Authorization", secret], ["X-Api-Key", secret], ["Accept", "text/a"],
                ]}]}],
                "load": {"connections": [1]},
            });
            let manifest = serde_json::json!({
                "format": 2, "experiment": experiment, "source": "mine.toml", "command": [],
                "tool": model::environment::Tool::default(), "time": "", "order_seed": 0,
            });
            of_manifest(&serde_json::from_value(manifest).unwrap())
        };
        let facts = manifest("Bearer X");
        let told = format!("{facts:?}");
        assert!(!told.contains("Bearer X"), "{told}");
        assert!(told.contains("text/a"), "{told}");
        assert!(differences(&facts, &manifest("Bearer Y")).is_empty());
    }

    #[test]
    fn of_a_long_text_what_differs_is_shown() {
        let text = |end: &str| format!("{}{end}{}", "same ".repeat(60), " rest".repeat(60));
        let facts = |end: &str| Facts::from([("command line".to_owned(), text(end))]);
        let told = differences(&facts("1000"), &facts("2000"));
        assert_eq!(told[0].a, Some(text("1000")), "it is there as a whole");
        let [Some(a), Some(b)] = told[0].shown() else {
            panic!("{told:?}");
        };
        assert!(
            a.contains("1000") && b.contains("2000") && a != b,
            "{a} {b}"
        );
        assert!(a.starts_with("... same") && a.ends_with(" ..."), "{a}");
        let lines = |end: &str| {
            let text = format!("first\n{}\n", text(end));
            Facts::from([("nginx.conf".to_owned(), text)])
        };
        let told = differences(&lines("1000"), &lines("2000"));
        assert!(
            told[0].shown()[0]
                .as_ref()
                .is_some_and(|a| a.contains("1000")),
            "{told:?}"
        );
    }
}
