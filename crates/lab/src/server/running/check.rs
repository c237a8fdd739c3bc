//! The test that a program makes of its own configuration, before it starts for the first time: it
//! says in the product's words what is wrong, and where.
//!
//! It costs a start of the program that serves nothing, once for each server of an experiment,
//! before anything is measured.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use regex_lite::Regex;
use sys::process::{Confinement, Ended, Signal};

use super::super::LaunchCheck;
use super::error_log::last_lines;
use super::{LaunchProcess, Running, Start};
use crate::error::LabError;

/// Lines of what it says that are told: Varnish has ten for one mistake.
const LINES_MAX: usize = 12;
/// Bytes from the end of what it says that are read: on success Varnish writes a program in C.
const TAIL_MAX: u64 = 4096;

impl Running {
    /// Has each of `processes` test its configuration, if it can and that is wanted. None of them
    /// runs yet.
    pub(super) fn check(
        &self,
        start: &Start<'_>,
        processes: &[LaunchProcess],
    ) -> Result<(), LabError> {
        for launch in processes.iter().filter(|_| start.is_checked) {
            let Some(check) = &launch.check else {
                continue;
            };
            let (ended, said) = self
                .run_check(launch, check)
                .map_err(LabError::server(&self.label, "test its configuration"))?;
            if !ended.is_some_and(|ended| ended.is_success()) {
                let is_rig = processes.len() > 1;
                let who = match is_rig {
                    true => format!("the test of the configuration of its {}", launch.name),
                    false => "its own test of its configuration".to_owned(),
                };
                let said = self.shortened(&said);
                let at = self.place_of(&said, check);
                let how = outcome(ended, check.within, &check.place);
                return Err(self.failed(format!("{who} {how}{}{at}", words(&said))));
            }
        }
        Ok(())
    }

    /// How it ended, none if it did not in its time, and the end of what it said. Neither it nor
    /// what it started is left.
    fn run_check(
        &self,
        launch: &LaunchProcess,
        check: &LaunchCheck,
    ) -> io::Result<(Option<Ended>, String)> {
        let path = self.directory.path().join("check.log");
        let file = File::options()
            .append(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        file.set_len(0)?;
        let mut command = self.command(launch);
        command
            .args(&check.arguments)
            .stdout(file.try_clone()?)
            .stderr(file);
        let confinement = Confinement {
            cpus: &self.facts.cpus,
            leaf: self.leaf.as_ref(),
            orphaned: Signal::Kill,
            is_alone: true,
        };
        let mut child = sys::process::start(&mut command, confinement)?;
        let ended = child.wait(check.within);
        child.stop(Signal::Kill, Duration::ZERO, self.leaf.as_ref());
        let said = tail(&path)?;
        fs::remove_file(&path)?;
        Ok((ended, said))
    }

    /// The end of what it said, with files by their names in the private folder, which is gone when
    /// somebody reads this.
    pub(super) fn shortened(&self, said: &str) -> String {
        let folder = format!("{}/", self.directory.path().display());
        last_lines(&said.replace(&folder, ""), LINES_MAX)
    }

    /// What to look at: the line that it names, and the template that has it.
    fn place_of(&self, said: &str, check: &LaunchCheck) -> String {
        let files = &self.facts.configuration;
        let named = check.sources.iter().find_map(|(name, source)| {
            let (number, line) = named_line(said, name, files.get(name)?)?;
            Some(format!(
                "; line {number} of {name} is '{line}', written from {source}"
            ))
        });
        named.unwrap_or_else(|| look_at(said, &check.sources))
    }
}

/// The file that `said` names, or else the one that the preset chooses.
fn look_at(said: &str, sources: &[(String, String)]) -> String {
    let named = sources
        .iter()
        .find(|(name, _)| said.contains(name.as_str()));
    named
        .or_else(|| sources.first())
        .map_or_else(String::new, |(name, source)| {
            format!("; look at {name}, written from {source}")
        })
}

/// How a command failed that must end with success `within` that time; none: it did not end.
pub(super) fn outcome(ended: Option<Ended>, within: Duration, place: &str) -> String {
    match ended {
        Some(ended) => format!("fails ({ended}; {place})"),
        None => format!("has not ended after {} s ({place})", within.as_secs_f64()),
    }
}

/// What it said, behind what is said of it.
pub(super) fn words(said: &str) -> String {
    match said.is_empty() {
        true => " and says nothing".to_owned(),
        false => format!(": {said}"),
    }
}

/// The end of a file.
pub(super) fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX)))?;
    let mut text = Vec::new();
    file.take(TAIL_MAX).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The line of the file `name` that `said` names, and its number: `x.conf:3`, `line 3 of x.conf`,
/// `x.conf line: 3`, `('x.conf' Line 3 Pos 1)`, `x.conf at line 3`.
fn named_line<'t>(said: &str, name: &str, text: &'t str) -> Option<(usize, &'t str)> {
    let name = regex_lite::escape(name);
    let before = format!(r#"line ([0-9]+) (?:of|in) ['"]?{name}\b"#);
    let behind = format!(r#"\b{name}['"]?[: ] ?(?:at )?(?:line:? )?([0-9]+)"#);
    let pattern = Regex::new(&format!("(?i){before}|{behind}"));
    let found = pattern.expect("a name that is escaped").captures(said)?;
    let number = found.get(1).or_else(|| found.get(2))?.as_str();
    let number: usize = number.parse().ok()?;
    let line = text.lines().nth(number.checked_sub(1)?)?;
    Some((number, line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_a_product_names_is_found_in_its_own_words() {
        let text = "one\n  two;\nthree\n";
        let check = |said: &str, expected: Option<(usize, &str)>| {
            assert_eq!(named_line(said, "x.conf", text), expected, "{said}");
        };
        let two = Some((2, "two;"));
        // nginx, Apache, lighttpd, h2o, HAProxy, Varnish, and YAML within h2o.
        check("[emerg] unknown directive \"two\" in x.conf:2", two);
        check("AH00526: Syntax error on line 2 of x.conf:", two);
        check("source: x.conf line: 2 pos: 5 parser failed", two);
        check("[x.conf:2] in command two, unknown", two);
        check("config : parsing [x.conf:2] : unknown keyword", two);
        check("Expected an action | ('x.conf' Line 2 Pos 1) | two;", two);
        check("failed to parse x.conf at line 2, column 1", two);
        // Another file, a line that is not there, none at all.
        check("in max.conf:2", None);
        check("in x.conf:4", None);
        check("in x.conf:0", None);
        check("x.conf is broken", None);
    }

    #[test]
    fn what_is_written_without_end_is_read_from_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("check.log");
        fs::write(&path, format!("{}\nthe end\n", "x".repeat(100_000))).unwrap();
        let read = tail(&path).unwrap();
        assert_eq!(read.len() as u64, TAIL_MAX);
        assert!(read.ends_with("\nthe end\n"), "{read}");
    }
}
