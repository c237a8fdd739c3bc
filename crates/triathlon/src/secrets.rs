//! Secrets on the command line: other users of the machine do not see them, and no message repeats
//! them.

use std::ffi::OsString;
use std::ops::Range;

use model::redact::{self, REDACTED};

use crate::out;
use crate::tools::{self, Tool};

/// What was found on the command line.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Finds them, and writes over them in the list of processes. Nothing is hidden where
    /// `--keep-secrets` is given.
    pub(crate) fn hide(words: &[OsString]) -> Self {
        if words.iter().any(|word| word == "--keep-secrets") {
            return Self::default();
        }
        let flags = flags_of(words);
        let mut secrets = Vec::new();
        let mut parts = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let Some(word) = word.to_str() else { continue };
            let before = index.checked_sub(1).and_then(|index| words[index].to_str());
            if let Some(part) = of_flag(&flags, before, word).or_else(|| redact::in_word(word)) {
                secrets.push(word[part.clone()].to_owned());
                parts.push((index, part));
            }
        }
        if let Err(error) = sys::process::title::hide(&parts) {
            out::note(format_args!(
                "other users of this machine can see the credentials of this command line in the \
                 list of processes: they cannot be hidden: {error}"
            ));
        }
        Self(secrets)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without them.
    pub(crate) fn without(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret, REDACTED);
        }
        text
    }
}

/// Flags whose whole value is a secret.
const FLAGS: [&str; 3] = ["--bearer", "--proxy-user", "--user"];

/// Those of a tool whose command line this is, too.
fn flags_of(words: &[OsString]) -> Vec<&'static str> {
    let tool = tools::of_command_line(words);
    FLAGS
        .into_iter()
        .chain(tool.into_iter().flat_map(Tool::secrets))
        .collect()
}

/// Where the secret stands in the value of such a flag: behind it, or in the word after it.
fn of_flag(flags: &[&str], before: Option<&str>, word: &str) -> Option<Range<usize>> {
    if before.is_some_and(|before| flags.contains(&before)) {
        return Some(0..word.len()).filter(|range| !range.is_empty());
    }
    let value = flags.iter().find_map(|flag| {
        let behind = word.strip_prefix(flag)?;
        let is_letter = flag.len() == 2;
        behind
            .strip_prefix('=')
            .or_else(|| is_letter.then_some(behind))
    })?;
    let is_secret = !value.is_empty();
    is_secret.then(|| word.len() - value.len()..word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_flags_are_secrets() {
        let check = |before, word, expected| {
            assert_eq!(of_flag(&FLAGS, before, word), expected, "{word}");
        };
        check(Some("--user"), "me:x", Some(0..4));
        check(Some("-c"), "64", None);
        check(None, "--bearer=abc", Some(9..12));
        check(None, "--bearer=", None);
        check(None, "--url=abc", None);
        let of_tool = |word| of_flag(&["-A"], None, word);
        assert_eq!(of_tool("-Ame:x"), Some(2..6));
        assert_eq!(of_tool("-A"), None);
        let words = ["triathlon", "ab", "-A", "me:x"].map(OsString::from);
        assert!(flags_of(&words).contains(&"-A"));
        assert!(!flags_of(&words[..1]).contains(&"-A"));
    }
}
