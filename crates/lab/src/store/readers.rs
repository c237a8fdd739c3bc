//! Who may read a stored file: everybody, unless it holds a credential that going on with the
//! results needs.

use model::redact::{document, written};
use serde_json::Value;

/// Results are to be shared.
pub(super) const EVERYBODY: u32 = 0o644;

/// Only whoever stored it.
const OWNER: u32 = 0o600;

/// The mode of a file with that text: an experiment in TOML, or a manifest in JSON.
pub(super) fn mode(text: &str) -> u32 {
    let is_secret = written(text) != text || document(text).is_some_and(|read| has_secrets(&read));
    match is_secret {
        true => OWNER,
        false => EVERYBODY,
    }
}

/// Whether a variable of users is marked as secret.
fn has_secrets(value: &Value) -> bool {
    match value {
        Value::Array(all) => all.iter().any(has_secrets),
        Value::Object(all) => {
            all.get("secret") == Some(&Value::Bool(true)) || all.values().any(has_secrets)
        }
        _ => false,
    }
}
