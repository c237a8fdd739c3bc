//! Secrets on the command line: other users of the machine do not see them, and no message repeats
//! them.

use std::ffi::OsString;
use std::ops::Range;

use model::redact::{self, REDACTED, SHORTEST};

use crate::out;
use crate::tools::{self, Tool};

/// What was found on the command line: texts that messages may repeat, each with what is said in
/// its place.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// Finds them, and writes over them in the list of processes. Nothing is hidden where
    /// `--keep-secrets` is given.
    pub(crate) fn hide(words: &[OsString]) -> Self {
        if words.iter().any(|word| word == "--keep-secrets") {
            return Self::default();
        }
        let flags = flags_of(words);
        let mut secrets = Self::default();
        let mut parts = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let Some(word) = word.to_str() else { continue };
            let before = index.checked_sub(1).and_then(|index| words[index].to_str());
            let found = match of_flag(&flags, before, word) {
                Some(part) => vec![part],
                None => redact::in_word(word),
            };
            secrets.note(word, &found);
            parts.extend(found.into_iter().map(|part| (index, part)));
        }
        if let Err(error) = sys::process::title::hide(&parts) {
            out::note(format_args!(
                "other users of this machine can see the credentials of this command line in the \
                 list of processes: they cannot be hidden: {error}"
            ));
        }
        secrets
    }

    /// Notes the secrets that stand in these parts of a word. Short ones stand in too many other
    /// words: they are known as a message quotes them, or by the word that they stand in.
    fn note(&mut self, word: &str, parts: &[Range<usize>]) {
        let mut clean = word.to_owned();
        for part in parts.iter().rev() {
            let secret = &word[part.clone()];
            clean.replace_range(part.clone(), REDACTED);
            if secret.len() >= SHORTEST {
                self.0.push((secret.to_owned(), REDACTED.to_owned()));
            } else {
                let quoted = ['\'', '"', '`'].map(|quote| format!("{quote}{secret}{quote}"));
                let all = quoted.into_iter();
                self.0
                    .extend(all.map(|text| (text, format!("'{REDACTED}'"))));
            }
        }
        if !parts.is_empty() && word.len() >= SHORTEST {
            self.0.push((word.to_owned(), clean));
        }
        // What holds another one is looked for first.
        self.0
            .sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without them.
    pub(crate) fn without(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (secret, instead) in &self.0 {
            text = text.replace(secret, instead);
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
    fn a_message_is_whole_but_for_secrets() {
        let without = |words: &[(&str, &str)], text: &str| {
            let mut secrets = Secrets::default();
            for (word, secret) in words {
                let at = word.find(secret).expect("it is in there");
                let part = at..at + secret.len();
                secrets.note(word, &[part]);
            }
            secrets.without(text)
        };
        let short = [("a", "a"), ("b", "b"), ("http://u:p@h/", "u:p")];
        let said = "the argument '--user' cannot be used with '--bearer'";
        assert_eq!(without(&short, said), said);
        assert_eq!(
            without(&short, "invalid value 'a' for '--user <NAME:PASSWORD>'"),
            "invalid value '(redacted)' for '--user <NAME:PASSWORD>'"
        );
        assert_eq!(
            without(&short, "unexpected argument 'http://u:p@h/' found"),
            "unexpected argument 'http://(redacted)@h/' found"
        );
        let long = [("--user=me:secret", "me:secret")];
        assert_eq!(without(&long, "what is me:secret?"), "what is (redacted)?");
    }

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
