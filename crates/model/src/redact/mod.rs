//! What must not leave the machine with a result: credentials in header fields and URLs, and where
//! certificates and keys of clients lie.
//!
//! One list of names, one mark in the place of a value. A plan that goes to the generator is whole;
//! what is stored, printed or shown to other users has the mark, unless somebody asked to keep it.
//! A plan with the mark does not run: nobody sends it for a password.

use std::borrow::Cow;
use std::ops::Range;

use crate::plan::{PlanFile, SourceFile};
use crate::tls::TlsFile;
use crate::trial::Trial;

mod document;
mod text;

pub use document::{document, experiment, secrets, visit};
pub use text::text;

/// What stands in the place of a secret.
pub const REDACTED: &str = "(redacted)";

/// Fields whose values prove who somebody is, in lower case.
const SECRET_FIELDS: [&str; 10] = [
    "authorization",
    "cookie",
    "private-token",
    "proxy-authorization",
    "set-cookie",
    "x-amz-security-token",
    "x-api-key",
    "x-auth-token",
    "x-csrf-token",
    "x-vault-token",
];

/// Whether the value of a header field of that name is a secret.
pub fn is_secret(field: &str) -> bool {
    SECRET_FIELDS
        .iter()
        .any(|secret| field.eq_ignore_ascii_case(secret))
}

/// Takes the secrets out of header fields.
fn fields(fields: &mut [(String, String)]) {
    for (name, value) in fields {
        if is_secret(name) {
            REDACTED.clone_into(value);
        }
    }
}

/// The URL without the name and password of a user.
pub fn url(url: &str) -> Cow<'_, str> {
    match user_info(url) {
        Some(Range { start, end }) => {
            Cow::Owned(format!("{}{REDACTED}{}", &url[..start], &url[end..]))
        }
        None => Cow::Borrowed(url),
    }
}

/// Where the name and password of a user stand in a URL, whose scheme may be left out.
fn user_info(url: &str) -> Option<Range<usize>> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let length = url[start..]
        .find(['/', '?', '#'])
        .unwrap_or(url.len() - start);
    let end = start + url[start..start + length].rfind('@')?;
    Some(start..end)
}

impl PlanFile {
    /// Takes its secrets out.
    pub fn redact(&mut self) {
        for request in &mut self.requests {
            fields(&mut request.headers);
            if let Cow::Owned(redacted) = url(&request.url) {
                request.url = redacted;
            }
        }
        let proxy = self.http_proxy.as_mut();
        if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.as_mut()) {
            REDACTED.clone_into(authorization);
        }
        for path in self.tls.iter_mut().flat_map(TlsFile::identity_paths_mut) {
            REDACTED.clone_into(path);
        }
        let variables = self
            .script
            .iter_mut()
            .flat_map(|script| &mut script.variables);
        for variable in variables.filter(|variable| variable.secret) {
            if let SourceFile::List { values, .. } = &mut variable.source {
                for value in values {
                    REDACTED.clone_into(value);
                }
            }
        }
    }
}

impl Trial {
    /// Takes out what must not leave the machine, and what earlier versions stored and nobody
    /// needs.
    pub fn redact(&mut self) {
        self.plan.redact();
        self.environment.redact();
        for share in &mut self.agents {
            share.environment.redact();
        }
        let shares = self.agents.iter_mut().map(|share| &mut share.record);
        for record in [&mut self.record].into_iter().chain(shares) {
            if let Some(reference) = &mut record.reference {
                fields(&mut reference.headers);
            }
        }
        // Somebody else's process, whose arguments may hold anything; a server that the lab started
        // is known by its point.
        if self.point.is_none()
            && let Some(server) = &mut self.context.server
        {
            server.command.clear();
        }
    }
}

/// Where the secret of a word of a command line stands: the value of `Authorization: value`,
/// whatever flag stands before it, or the user of a URL.
pub fn in_word(word: &str) -> Option<Range<usize>> {
    if let Some(colon) = word.find(':') {
        let name = word[..colon].trim_end().to_ascii_lowercase();
        if SECRET_FIELDS.iter().any(|secret| name.ends_with(secret)) {
            let value = &word[colon + 1..];
            let start = word.len() - value.trim_start().len();
            return Some(start..start + value.trim().len()).filter(|range| !range.is_empty());
        }
    }
    if word.contains("://") {
        return user_info(word);
    }
    // Without a scheme: a user with a password, and no flag and no @FILE.
    let range = user_info(word)?;
    let user = &word[range.clone()];
    let is_user = user.contains(':') && !user.contains(char::is_whitespace);
    (is_user && !word.starts_with('-')).then_some(range)
}

/// Words of a command line without their secrets.
pub fn words(words: &mut [String]) {
    for word in words {
        if let Some(range) = in_word(word) {
            word.replace_range(range, REDACTED);
        }
    }
}

#[cfg(test)]
mod tests;
