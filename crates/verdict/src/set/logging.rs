//! How a server logs, and what it is beside that: two that differ in their log alone show what a
//! log costs.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use model::Trial;
use model::plan::{PlanFile, Url};
use model::point::{ACCESS_LOG, Values};
use model::trial::Server;

use crate::compare::steady;

/// How a server logs, and which servers are otherwise like it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Logging {
    /// Off, on or buffered.
    pub(crate) log: String,
    /// The product under test.
    pub(crate) product: String,
    /// What others have in common with it that differ in the log alone.
    pub(crate) alike: Alike,
}

/// What a server is, but for its access log. A label says nothing of it: readers choose that.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Alike {
    product: String,
    preset: String,
    workers: u32,
    axes: Option<Values>,
    /// The lines of its configuration by file, without ports and folders that are drawn for each
    /// start, as a hash.
    lines: u64,
}

impl Logging {
    /// None where nobody knows how the server logs.
    pub(super) fn of(trial: &Trial) -> Option<Self> {
        let server = trial.context.server.as_ref();
        let server = server.filter(|server| !server.access_log.is_empty())?;
        let point = trial.point.as_ref();
        Some(Self {
            log: server.access_log.clone(),
            product: server.product.clone(),
            alike: Alike {
                product: server.product.clone(),
                preset: server.preset.clone(),
                workers: server.workers,
                axes: point.map(|point| point.id.axes.without(ACCESS_LOG)),
                lines: hash(&lines(server, &trial.plan)),
            },
        })
    }
}

fn lines(server: &Server, plan: &PlanFile) -> BTreeSet<(String, String)> {
    let urls = plan.requests.iter().map(|request| Url::parse(&request.url));
    let ports: Vec<u16> = urls.flatten().map(|url| url.port).collect();
    let files = server.configuration.iter();
    let files = files.filter(|(file, _)| !is_of_log(file));
    let of_file = |(file, text): (&String, &String)| {
        let text = steady(text, &ports);
        let lines = without_log(&text).into_iter();
        let lines = lines.map(|line| (file.clone(), line.to_owned()));
        lines.collect::<Vec<_>>()
    };
    files.flat_map(of_file).collect()
}

fn hash(lines: &BTreeSet<(String, String)>) -> u64 {
    let mut hasher = DefaultHasher::new();
    lines.hash(&mut hasher);
    hasher.finish()
}

/// What configurations call logs and what belongs to them, as whole words in lower case.
const OF_LOGS: [&str; 14] = [
    "accesslog",
    "accesslogs",
    "errorlog",
    "log",
    "logdir",
    "logfile",
    "logfiles",
    "logformat",
    "logger",
    "loggers",
    "logging",
    "loglevel",
    "logs",
    "syslog",
];

/// Whether a line, or the name of a file, has a word of a log: `access_log`, `BufferedLogs`, and
/// neither `catalog` nor `login`. A backlog is a queue, `ListenBackLog` too.
fn is_of_log(text: &str) -> bool {
    let names = text.split(|sign: char| !sign.is_ascii_alphanumeric());
    names.into_iter().any(|name| {
        let words: Vec<String> = words(name).map(str::to_ascii_lowercase).collect();
        let is_of_log = |at: usize| {
            OF_LOGS.contains(&words[at].as_str()) && (at == 0 || words[at - 1] != "back")
        };
        (0..words.len()).any(is_of_log)
    })
}

/// The words of a name, which begin with its capital letters: those of `HTTPLogFile` are `HTTP`,
/// `Log` and `File`.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let is_start = |at: usize| {
        let is_upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
        let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
        at == 0 || (is_upper(at) && (!is_upper(at - 1) || is_lower(at + 1)))
    };
    let starts: Vec<usize> = (0..bytes.len()).filter(|at| is_start(*at)).collect();
    let ends: Vec<usize> = starts
        .iter()
        .skip(1)
        .copied()
        .chain([bytes.len()])
        .collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|(from, to)| &name[from..to])
}

/// The lines of a configuration that say nothing of a log: neither speak of one, nor stand within
/// the braces or the tag that such a line opens.
fn without_log(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let (mut depth, mut is_in_tag) = (0_usize, false);
    for line in text.lines().map(str::trim) {
        if is_in_tag {
            is_in_tag = !line.ends_with('>');
        } else if depth > 0 || is_of_log(line) {
            depth += line.matches('{').count();
            depth = depth.saturating_sub(line.matches('}').count());
            is_in_tag = depth == 0 && line.starts_with('<') && !line.ends_with('>');
        } else if !line.is_empty() {
            kept.push(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_says_of_its_log_is_left_out() {
        let check = |with: &str, without: &str| {
            assert_eq!(without_log(with), without_log(without), "{with}");
            assert!(!without_log(without).is_empty(), "{without}");
        };
        check("a 1;\n  access_log off;\nb 2;", "a 1;\nb 2;");
        check("BufferedLogs On\nTimeout 60\n", "Timeout 60");
        let caddy = "root *\nlog {\n\toutput file \"a\" {\n\t\troll_disabled\n\t}\n}\nencode";
        check(caddy, "root *\nencode");
        check("log { output x }\nencode", "encode");
        let tomcat = "<Host a=\"1\"\n  b=\"2\">\n<Valve className=\"AccessLogValve\"\n  \
                      buffered=\"true\" />\n</Host>";
        check(tomcat, "<Host a=\"1\"\n  b=\"2\">\n</Host>");
        let differs = |one: &str, other: &str| assert_ne!(without_log(one), without_log(other));
        differs("access_log off;\na 1;", "access_log off;\na 2;");
        differs("log {\n}\na 1;", "log {\n}\n");
    }

    #[test]
    fn words_that_have_log_in_them_are_of_no_log() {
        let check = |text: &str, expected: bool| assert_eq!(is_of_log(text), expected, "{text}");
        for line in [
            "listen 80 backlog=511;",
            "ListenBackLog 4096",
            "server.listen-backlog = 1024",
            "listen_backlog 1024",
            "location /login {",
            "root /srv/catalog;",
            "rewrite ^/blog/(.*)$ /logo.png;",
            "proxy.config.net.listen_backlog 8192",
            "set $dialog 1; # a logical one",
            "org.apache.catalina.Catalog",
        ] {
            check(line, false);
        }
        for line in [
            "access_log off;",
            "error-log: \"x\"",
            "BufferedLogs On",
            "SystemLogfile = /tmp/x",
            "logUserAgent 1",
            "enableStderrLog 0",
            "vserver!1!logger = combined",
            "accesslog.filename = \"x\"",
            "server.modules += ( \"mod_accesslog\" )",
            "server.errorlog = \"x\"",
            "proxy.config.log.logging_enabled 3",
            "logging.yaml",
            "LogLevel error",
            "LogFormat \"%h\" combined",
            "<Valve className=\"org.apache.catalina.valves.AccessLogValve\"",
            "HTTPLog on",
            "LOG_DIR=/x",
            "logdir /x",
            "# they go to syslog",
        ] {
            check(line, true);
        }
    }
}
