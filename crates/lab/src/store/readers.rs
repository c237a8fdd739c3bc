//! Who may read a stored file: everybody, unless it holds a credential that going on with the
//! results needs.

use model::redact::written;

/// Results are to be shared.
pub(super) const EVERYBODY: u32 = 0o644;

/// Only whoever stored it.
const OWNER: u32 = 0o600;

/// The mode of a file with that text: an experiment in TOML, or a manifest in JSON.
pub(super) fn mode(text: &str) -> u32 {
    let is_secret = written(text) != text;
    match is_secret {
        true => OWNER,
        false => EVERYBODY,
    }
}
