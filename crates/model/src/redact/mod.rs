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

pub use document::{SHORTEST, clean, document, secrets, visit, written};
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

/// Takes the secrets out of header fields, and the users out of the URLs in them.
fn fields(fields: &mut [(String, String)]) {
    for (name, value) in fields {
        *value = match is_secret(name) {
            true => REDACTED.to_owned(),
            // A place may be told without its scheme.
            false if value.starts_with("//") => text::without_users(&url(value)),
            false => text::without_users(value),
        };
    }
}

/// Parts of a text from left to right, those that lie over each other as one.
fn merged(mut parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    parts.sort_unstable_by_key(|part| part.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(parts.len());
    for part in parts {
        match merged.last_mut().filter(|last| part.start < last.end) {
            Some(last) => last.end = last.end.max(part.end),
            None => merged.push(part),
        }
    }
    merged
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
    let start = match url.starts_with("//") {
        true => 2,
        // A scheme stands before everything else.
        false => (url.find([':', '/', '?', '#']))
            .filter(|at| url[*at..].starts_with("://"))
            .map_or(0, |at| at + 3),
    };
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
            let classes = record.classes.iter_mut();
            let of_classes = classes.filter_map(|class| class.reference.as_mut());
            for reference in record.reference.iter_mut().chain(of_classes) {
                fields(&mut reference.headers);
            }
        }
        if let Some(server) = &mut self.context.server {
            // Somebody else's process, whose arguments may hold anything; a server that the lab
            // started is known by its point.
            match self.point {
                None => server.command.clear(),
                Some(_) => words(&mut server.command),
            }
            for text in server.configuration.values_mut() {
                *text = written(text);
            }
        }
    }
}

/// Where the secrets of a word of a command line stand: the value of `Authorization: value`,
/// whatever flag stands before it, those of fields in `KEY=VALUE`, and the user of a URL.
pub fn in_word(word: &str) -> Vec<Range<usize>> {
    if let Some(value) = value_of_field(word) {
        return vec![value];
    }
    let mut parts = text::values(word);
    match user_info(word) {
        Some(user) if word.contains("://") => {
            parts.push(user);
            parts.extend(text::users(word));
        }
        // Without a scheme: a user with a password, and no flag and no @FILE.
        Some(user) if parts.is_empty() => {
            let name = &word[user.clone()];
            let is_user = name.contains(':') && !name.contains(char::is_whitespace);
            parts.extend((is_user && !word.starts_with('-')).then_some(user));
        }
        _ => parts.extend(text::users(word)),
    }
    parts.retain(|part| !part.is_empty() && word[part.clone()] != *REDACTED);
    merged(parts)
}

/// Where the value stands in a word that is a secret field as a whole.
fn value_of_field(word: &str) -> Option<Range<usize>> {
    let (name, value) = word.split_once(':')?;
    let name = name.trim_end().to_ascii_lowercase();
    let is_field = SECRET_FIELDS.iter().any(|secret| name.ends_with(secret));
    let start = word.len() - value.trim_start().len();
    let found = start..start + value.trim().len();
    (is_field && !found.is_empty()).then_some(found)
}

/// Words of a command line without their secrets.
pub fn words(words: &mut [String]) {
    for word in words {
        for part in in_word(word).into_iter().rev() {
            word.replace_range(part, REDACTED);
        }
    }
}

#[cfg(test)]
mod tests;
