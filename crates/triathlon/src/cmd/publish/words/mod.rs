//! Words that tell who made a result and where: each is replaced by the same word everywhere, and
//! counted.

use std::collections::{BTreeMap, BTreeSet};

use model::plan::Url;
use model::{Json as _, Trial, redact};

/// Names that say nothing about anybody, or that are words of the results themselves.
const COMMON: [&str; 25] = [
    "admin",
    "apache",
    "caddy",
    "debian",
    "ec2-user",
    "home",
    "host",
    "httpd",
    "lighttpd",
    "linux",
    "load",
    "localhost",
    "nginx",
    "nobody",
    "origin",
    "root",
    "runner",
    "server",
    "shared",
    "test",
    "triathlon",
    "ubuntu",
    "user",
    "vagrant",
    "www-data",
];

/// Folders of the root in which people have their homes.
const HOME_FOLDERS: [&str; 2] = ["home", "Users"];

/// The host in the names of XML's vocabularies, as drawings have them.
const NAMESPACES: &str = "www.w3.org";

/// Keys whose texts name hosts that somebody asked, and fields that do. Others hold links to what
/// everybody may read.
const ASKED: [&str; 13] = [
    "url",
    "question",
    "get",
    "head",
    "post",
    "put",
    "patch",
    "delete",
    "request",
    "host",
    "origin",
    "referer",
    "http_proxy",
];

/// Names this long are replaced inside other words, too.
const LONG: usize = 6;

/// What kind of word it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Kind {
    Given,
    Host,
    User,
}

impl Kind {
    const fn stem(self) -> &'static str {
        match self {
            Self::Given => "hidden",
            Self::Host => "host",
            Self::User => "user",
        }
    }
}

/// What is replaced, and what has been so far.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The longest first.
    names: Vec<Name>,
    /// How many names of each kind were met.
    numbers: BTreeMap<Kind, u32>,
    /// Folders below which paths are replaced, the longest first.
    homes: Vec<String>,
    /// Each path and what stands in its place.
    paths: BTreeMap<String, String>,
    /// How often each was replaced, and by what.
    counts: BTreeMap<String, (String, u64)>,
    credentials: u64,
    /// Values of secret fields, the longest first.
    secrets: Vec<String>,
}

/// A name and what stands in its place.
#[derive(Clone, Debug)]
struct Name {
    /// In lower case.
    name: String,
    kind: Kind,
    /// Once it was met; names are numbered in the order in which they are.
    replacement: Option<String>,
    /// Whether it is replaced inside other words, too.
    everywhere: bool,
}

/// Collects words before any is replaced.
#[derive(Debug, Default)]
pub(super) struct Collector {
    names: BTreeMap<String, Kind>,
    homes: Vec<String>,
    secrets: BTreeSet<String>,
}

impl Collector {
    /// Names of this machine and of the people who have a home on it, and those given.
    pub(super) fn of_this_machine(given: &[String]) -> Self {
        let mut words = Self {
            homes: vec!["/root".to_owned(), "~".to_owned()],
            ..Self::default()
        };
        for file in ["/proc/sys/kernel/hostname", "/etc/hostname"] {
            if let Ok(name) = std::fs::read_to_string(file) {
                words.host(name.trim());
            }
        }
        for variable in ["USER", "LOGNAME", "SUDO_USER"] {
            if let Ok(name) = std::env::var(variable) {
                words.name(&name, Kind::User);
            }
        }
        words.home(&std::env::var("HOME").unwrap_or_default());
        for line in std::fs::read_to_string("/etc/passwd")
            .unwrap_or_default()
            .lines()
        {
            let fields: Vec<&str> = line.split(':').collect();
            let number = fields.get(2).and_then(|text| text.parse::<u32>().ok());
            // What a distribution gives to people; 65534 is nobody.
            if number.is_some_and(|number| (1_000..60_000).contains(&number)) {
                words.name(fields[0], Kind::User);
                words.home(fields.get(5).copied().unwrap_or_default());
            }
        }
        for word in given {
            words.names.insert(word.to_ascii_lowercase(), Kind::Given);
        }
        words
    }

    /// Looks for homes in a text, for the hosts of URLs, and for agents.
    pub(super) fn read(&mut self, text: &str) {
        for root in HOME_FOLDERS.map(|folder| format!("/{folder}/")) {
            for (at, _) in text.match_indices(&root) {
                if is_inside(text, at) {
                    continue;
                }
                let rest = &text[at + root.len()..];
                let is_end = |letter: char| !(letter.is_alphanumeric() || "._-".contains(letter));
                let name = &rest[..rest.find(is_end).unwrap_or(rest.len())];
                if !name.is_empty() {
                    self.name(name, Kind::User);
                    self.home(&format!("{root}{name}"));
                }
            }
        }
        for (at, _) in text.match_indices("http://") {
            let rest = &text[at..];
            let is_end = |letter: char| letter.is_whitespace() || "\"'<>\\;)".contains(letter);
            let url = &rest[..rest.find(is_end).unwrap_or(rest.len())];
            if let Ok(url) = Url::parse(&redact_user(url)) {
                self.host(&url.host);
            }
        }
        if let Some(document) = redact::document(text) {
            self.secrets.extend(redact::secrets(&document));
            redact::visit(&document, &mut |name, value| {
                for host in hosts_of(name, value) {
                    self.host(host);
                }
            });
        }
        // Agents have the names of their machines, unless they were given others.
        if text.contains("\"clock_offset_ns\"")
            && let Ok(trial) = Trial::from_json(text.as_bytes())
        {
            for share in trial.agents {
                self.host(&share.agent);
            }
        }
    }

    /// A host by its whole name, by its first label, and by its domain.
    fn host(&mut self, name: &str) {
        if name.parse::<std::net::IpAddr>().is_ok() || name == NAMESPACES {
            return;
        }
        self.name(name, Kind::Host);
        if let Some((first, domain)) = name.split_once('.') {
            if first != "www" {
                self.name(first, Kind::Host);
            }
            if domain.contains('.') {
                self.name(domain, Kind::Host);
            }
        }
    }

    fn name(&mut self, name: &str, kind: Kind) {
        let name = name.to_ascii_lowercase();
        if name.len() > 2 && !COMMON.contains(&name.as_str()) && !is_number(&name) {
            self.names.entry(name).or_insert(kind);
        }
    }

    fn home(&mut self, home: &str) {
        let home = home.trim_end_matches('/');
        if home.len() > 1 && home.starts_with('/') && home != "/nonexistent" {
            self.homes.push(home.to_owned());
        }
    }

    /// The words.
    pub(super) fn finish(mut self) -> Words {
        let mut names: Vec<Name> = self
            .names
            .into_iter()
            .map(|(name, kind)| Name {
                kind,
                replacement: None,
                everywhere: kind == Kind::Given || name.len() >= LONG,
                name,
            })
            .collect();
        let longest_first = |a: &str, b: &str| b.len().cmp(&a.len()).then_with(|| a.cmp(b));
        names.sort_by(|a, b| longest_first(&a.name, &b.name));
        self.homes.sort_by(|a, b| longest_first(a, b));
        self.homes.dedup();
        let mut secrets: Vec<String> = self.secrets.into_iter().collect();
        secrets.sort_by(|a, b| longest_first(a, b));
        Words {
            names,
            homes: self.homes,
            secrets,
            ..Words::default()
        }
    }
}

impl Words {
    /// The text with every word replaced.
    pub(super) fn replace(&mut self, text: &str) -> String {
        let mut text = redact::text(text);
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), redact::REDACTED);
        }
        for home in self.homes.clone() {
            text = self.replace_paths(&text, &home);
        }
        self.replace_names(&text)
    }

    /// Whether this is a name that is replaced.
    pub(super) fn has(&self, text: &str) -> bool {
        self.names.iter().any(|known| known.name == text)
    }

    /// A text that is a path as a whole, blanks and all, if it is one below a home.
    pub(super) fn replace_path(&mut self, text: &str) -> String {
        let home = self.homes.iter().find(|home| {
            text.strip_prefix(home.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        match home.cloned() {
            Some(home) => self.path(text, &home),
            None => self.replace(text),
        }
    }

    fn replace_paths(&mut self, text: &str, home: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        let mut done = 0;
        while let Some(at) = rest.find(home) {
            let start = done + at;
            let after = &rest[at + home.len()..];
            let length = path_length(text[..start].chars().next_back(), after);
            clean.push_str(&rest[..at]);
            let is_name =
                after.starts_with(|letter: char| letter.is_alphanumeric() || letter == '-');
            // A tilde alone is an operator of many languages.
            let is_path =
                !is_inside(text, start) && !is_name && (home != "~" || after.starts_with('/'));
            let end = at + home.len() + if is_path { length } else { 0 };
            let found = &rest[at..end];
            let replaced = if is_path && !found.starts_with("~/path-") {
                self.path(found, home)
            } else {
                found.to_owned()
            };
            clean.push_str(&replaced);
            rest = &rest[end..];
            done += end;
        }
        clean.push_str(rest);
        clean
    }

    fn path(&mut self, path: &str, home: &str) -> String {
        let number = self.paths.len() + 1;
        let replaced = if path.trim_end_matches('/') == home {
            "~".to_owned()
        } else {
            let place = self.paths.entry(path.to_owned());
            place.or_insert_with(|| format!("~/path-{number}")).clone()
        };
        self.count(path, &replaced);
        replaced
    }

    /// The text with names replaced, in whatever case they are written.
    pub(super) fn replace_names(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for index in 0..self.names.len() {
            let Name {
                name, everywhere, ..
            } = self.names[index].clone();
            let lower = text.to_ascii_lowercase();
            let mut clean = String::with_capacity(text.len());
            let mut done = 0;
            for (at, _) in lower.match_indices(&name) {
                let end = at + name.len();
                let is_word = !is_inside(&lower, at)
                    && !lower[end..].starts_with(|letter: char| letter.is_alphanumeric());
                if is_word || everywhere {
                    let replacement = self.replacement(index);
                    clean.push_str(&text[done..at]);
                    clean.push_str(&replacement);
                    done = end;
                    self.count(&name, &replacement);
                }
            }
            clean.push_str(&text[done..]);
            text = clean;
        }
        text
    }

    fn replacement(&mut self, index: usize) -> String {
        let name = &mut self.names[index];
        let made = name.replacement.get_or_insert_with(|| {
            let number = self.numbers.entry(name.kind).or_insert(0);
            *number += 1;
            format!("{}-{number}", name.kind.stem())
        });
        made.clone()
    }

    /// Counts the credentials that stood in one text and no longer stand in the other.
    pub(super) fn count_credentials(&mut self, before: &str, after: &str) {
        self.credentials += marks(after).saturating_sub(marks(before));
    }

    fn count(&mut self, word: &str, replacement: &str) {
        let entry = self.counts.entry(word.to_owned());
        entry.or_insert_with(|| (replacement.to_owned(), 0)).1 += 1;
    }

    /// Each word that was replaced, by what, and how often.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        let each = self.counts.iter();
        each.map(|(word, (replacement, count))| (word.as_str(), replacement.as_str(), *count))
    }

    /// How many credentials were taken out.
    pub(super) const fn credentials(&self) -> u64 {
        self.credentials
    }

    /// Names that still stand in `bytes`, inside other words, and how often.
    pub(super) fn left_in(&self, bytes: &[u8]) -> Vec<(&str, usize)> {
        let lower = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        let each = self.names.iter().filter_map(|Name { name, .. }| {
            let count = lower.matches(name.as_str()).count();
            (count > 0).then_some((name.as_str(), count))
        });
        each.collect()
    }
}

/// How much of what follows a home belongs to the path.
fn path_length(before: Option<char>, after: &str) -> usize {
    let is_end = |letter: char| match before {
        Some(quote @ ('"' | '\'' | '`')) => letter == quote || letter == '\n',
        _ => letter.is_whitespace() || "\"'`<>;:,()[]{}|=\\".contains(letter),
    };
    after.find(is_end).unwrap_or(after.len())
}

/// Whether what stands at `at` goes on what stands before it.
fn is_inside(text: &str, at: usize) -> bool {
    text[..at].ends_with(char::is_alphanumeric)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn marks(text: &str) -> u64 {
    text.matches(redact::REDACTED).count() as u64
}

/// The hosts that the value of a key or field names: those of its URLs, or itself.
fn hosts_of<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    if !ASKED.iter().any(|asked| name.eq_ignore_ascii_case(asked)) {
        return Vec::new();
    }
    let is_end = |letter: char| letter.is_whitespace() || "/?#\"'<>\\;)".contains(letter);
    let of_authority = |rest: &'a str| {
        let authority = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let host = authority.rsplit('@').next().unwrap_or_default();
        // An address of version 6 stands in brackets, and is no name.
        host.split(':').next().unwrap_or_default()
    };
    let mut hosts: Vec<&str> = value
        .match_indices("://")
        .map(|(at, mark)| of_authority(&value[at + mark.len()..]))
        .collect();
    if name.eq_ignore_ascii_case("host") {
        hosts.push(of_authority(value));
    }
    hosts.retain(|host| !host.is_empty() && !host.contains(['[', ']', '{', '$']));
    hosts
}

fn redact_user(url: &str) -> String {
    redact::url(url).replace(&format!("{}@", redact::REDACTED), "")
}

#[cfg(test)]
mod tests;
