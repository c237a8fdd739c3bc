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

/// Takes out of the fields of `recorded` requests what is `given` anew: the names of what it took.
pub(super) fn replace<'a>(
    recorded: impl Iterator<Item = &'a mut Vec<(String, String)>>,
    given: &[(String, String)],
) -> Vec<String> {
    let mut replaced: Vec<String> = Vec::new();
    let is_same = |one: &String, other: &String| one.eq_ignore_ascii_case(other);
    for fields in recorded {
        fields.retain(|(name, _)| {
            let Some((name, _)) = given.iter().find(|(given, _)| is_same(given, name)) else {
                return true;
            };
            if !replaced.contains(name) {
                replaced.push(name.clone());
            }
            false
        });
    }
    replaced
}

/// A name and a password as a field has them (RFC 7617 §2).
fn basic(flag: &str, user: &str) -> Result<String, UsageError> {
    if !user.contains(':') {
        let why = format!("{flag}: there is no colon: write NAME:PASSWORD");
        return Err(UsageError(why));
    }
    Ok(format!("Basic {}", BASE64.encode(user)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_replaces_what_was_recorded() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let one = || vec![field("authorization", "Bearer old"), field("Accept", "a/b")];
        let mut recorded = [one(), one()];
        let given = [field("X-A", "1"), field("Authorization", "Bearer new")];
        let replaced = replace(recorded.iter_mut(), &given);
        assert_eq!(replaced, ["Authorization"]);
        assert!(
            recorded
                .iter()
                .all(|fields| *fields == [field("Accept", "a/b")])
        );
        assert!(replace(recorded.iter_mut(), &[]).is_empty());
    }
}
