//! Who asks, as a server and a proxy are shown it: fields of which a request has one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::plan::Url;
use model::redact;

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

/// Names the flag that takes what a URL may not have.
pub(super) fn by_flag(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<UsageError>() {
        Some(UsageError(why)) if why.ends_with(Url::NAMES_A_USER) => {
            UsageError(format!("{why}: give --user NAME:PASSWORD")).into()
        }
        _ => error,
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

/// Of fields of which a request has one, a server takes one of two, or refuses both (RFC 9110 §5.3,
/// RFC 9112 §3.2).
pub(super) fn one_of_each(
    fields: &[(String, String)],
    url: Option<&str>,
) -> Result<(), UsageError> {
    for (name, how) in [
        (
            "Authorization",
            "give one of --user, --bearer, -H Authorization and the request's own",
        ),
        ("Host", "give -H Host once, or the request's own"),
    ] {
        let same = |(field, _): &&(String, String)| field.eq_ignore_ascii_case(name);
        if fields.iter().filter(same).count() > 1 {
            let of = url.map_or_else(String::new, |url| format!(" ({})", redact::url(url)));
            return Err(UsageError(format!("a request has one {name}{of}: {how}")));
        }
    }
    Ok(())
}

/// A name and a password as a field has them (RFC 7617 §2).
fn basic(flag: &str, user: &str) -> Result<String, UsageError> {
    if !user.contains(':') {
        let why = format!("{flag}: there is no colon: write NAME:PASSWORD");
        return Err(UsageError(why));
    }
    Ok(format!("Basic {}", BASE64.encode(user)))
}
