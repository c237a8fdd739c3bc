//! Secrets on the command line: other users of the machine do not see them, and no message repeats
//! them.

use std::ffi::OsString;

use model::redact::{self, REDACTED};

use crate::out;

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
        let mut secrets = Vec::new();
        let mut parts = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let Some(word) = word.to_str() else { continue };
            if let Some(part) = redact::in_word(word) {
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
