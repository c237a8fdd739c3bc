//! Who asks, as a server and a proxy are shown it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::exit::UsageError;

/// What stands in `Authorization`, by a name and a password or by a token.
pub(super) fn of_user(
    user: Option<&str>,
    bearer: Option<&str>,
) -> Result<Option<String>, UsageError> {
    match (user, bearer) {
        (Some(user), _) => basic("--user", user).map(Some),
        // RFC 6750 §2.1.
        (None, Some(token)) => Ok(Some(format!("Bearer {token}"))),
        (None, None) => Ok(None),
    }
}

/// What stands in `Proxy-Authorization`.
pub(super) fn for_proxy(
    user: Option<&str>,
    proxy: Option<&str>,
) -> Result<Option<String>, UsageError> {
    let Some(user) = user else {
        return Ok(None);
    };
    if proxy.is_none() {
        let why = "--proxy-user: it needs a proxy: give --proxy URL";
        return Err(UsageError(why.to_owned()));
    }
    basic("--proxy-user", user).map(Some)
}

/// A name and a password as a field has them (RFC 7617 §2).
fn basic(flag: &str, user: &str) -> Result<String, UsageError> {
    if !user.contains(':') {
        let why = format!("{flag}: there is no colon: write NAME:PASSWORD");
        return Err(UsageError(why));
    }
    Ok(format!("Basic {}", BASE64.encode(user)))
}
