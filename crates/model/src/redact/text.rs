//! Credentials in texts that other programs read: configurations, logs, scripts.

use std::ops::Range;

use super::{REDACTED, SECRET_FIELDS, merged};

/// The text without what looks like a credential: what follows the name of a secret field and a
/// colon, a quote or the like on its line, and the user of each URL.
pub fn text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut line = line.to_owned();
        for part in values(&line).into_iter().rev() {
            line.replace_range(part, REDACTED);
        }
        clean.push_str(&without_users(&line));
    }
    clean
}

/// Where the values of secret fields stand in a line.
pub(super) fn values(line: &str) -> Vec<Range<usize>> {
    let lower = line.to_ascii_lowercase();
    let names = SECRET_FIELDS
        .iter()
        .flat_map(|name| lower.match_indices(name));
    let found = names.filter_map(|(at, name)| value_after(line, at, at + name.len()));
    merged(found.collect())
}

/// Where the value of the field lies whose name stands from `start` to `end`.
fn value_after(line: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if start > 0 && is_part(line.as_bytes()[start - 1]) {
        return None;
    }
    let rest = &line[end..];
    // `: `, `", "`, `" => "`, `"] = "`, `": ["`.
    let between = rest.len()
        - rest
            .trim_start_matches([' ', '\t', ':', '=', '>', ',', '"', '\'', '[', ']'])
            .len();
    let separator = &rest[..between];
    let is_last_of_its_list = separator.contains(']') && !separator.contains([':', '=']);
    if is_last_of_its_list || is_in_list_of_names(&line[..start], separator) {
        return None;
    }
    // In a configuration a blank is enough, where a header is spoken of.
    let is_header = line[..start].to_ascii_lowercase().contains("header");
    let is_assigned = separator.contains([':', '=', ',', '"', '\'']);
    if !is_assigned && (!is_header || between == 0) {
        return None;
    }
    // The quote that the value stands in: of its own, or of the whole field.
    let quote = separator
        .chars()
        .rev()
        .find(|letter| "\"'".contains(*letter));
    let before = line[..start].chars().next_back();
    let quote = quote.or_else(|| before.filter(|letter| "\"'".contains(*letter)));
    let value = &rest[between..];
    let length = match quote {
        // Of a list all that it has.
        Some(_) if separator.contains('[') => value.find(']').unwrap_or(value.len()),
        Some(quote) => value.find(quote).unwrap_or(value.len()),
        None => value.len(),
    };
    let value = value[..length].trim_end_matches([';', ',', ' ', '\t', '\r', '\n', '{', '}']);
    let value = match separator.contains('[') {
        true => value.trim_end_matches(['"', '\'']),
        false => value,
    };
    let is_variable = value.starts_with(['$', '%']);
    let start = end + between;
    (!value.is_empty() && !is_variable && value != REDACTED).then(|| start..start + value.len())
}

/// What is followed by names of fields and never by their values: directives of nginx, Apache and
/// HAProxy, and fields whose values are names of fields, each as the words that it is written in.
const BEFORE_NAMES: [&[&str]; 24] = [
    &["fastcgi_hide_header"],
    &["fastcgi_ignore_headers"],
    &["fastcgi_pass_header"],
    &["grpc_hide_header"],
    &["grpc_ignore_headers"],
    &["grpc_pass_header"],
    &["proxy_hide_header"],
    &["proxy_ignore_headers"],
    &["proxy_pass_header"],
    &["scgi_hide_header"],
    &["scgi_ignore_headers"],
    &["scgi_pass_header"],
    &["uwsgi_hide_header"],
    &["uwsgi_ignore_headers"],
    &["uwsgi_pass_header"],
    &["header", "unset"],
    &["header", "always", "unset"],
    &["requestheader", "unset"],
    &["del-header"],
    &["capture", "request", "header"],
    &["capture", "response", "header"],
    &["access-control-allow-headers"],
    &["access-control-expose-headers"],
    &["vary"],
];

/// Whether the name between `before` and `separator` stands in a list of names: after one of those
/// that names follow, with nothing but names since. What a colon, an equals sign or a quote follows
/// has a value.
fn is_in_list_of_names(before: &str, separator: &str) -> bool {
    if separator.contains([':', '=', '"', '\'']) {
        return false;
    }
    let directive = before.rsplit([';', '{', '}']).next().unwrap_or(before);
    let directive = directive.to_ascii_lowercase();
    let words = directive.split([' ', '\t', ',', ':', '"', '\'']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_name = |word: &&str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        word.bytes().all(is_part) && !word.contains("header")
    };
    BEFORE_NAMES.iter().any(|opening| {
        let mut places = words.windows(opening.len());
        let found = places.rposition(|part| part == *opening);
        found.is_some_and(|at| words[at + opening.len()..].iter().all(is_name))
    })
}

/// A line without the users of its URLs.
pub(super) fn without_users(line: &str) -> String {
    let mut clean = line.to_owned();
    for part in users(line).into_iter().rev() {
        clean.replace_range(part, REDACTED);
    }
    clean
}

/// Where the users of URLs stand in a line.
pub(super) fn users(line: &str) -> Vec<Range<usize>> {
    let is_end = |letter: char| letter.is_whitespace() || "/?#\"'<>\\".contains(letter);
    let urls = line.match_indices("://").map(|(at, mark)| at + mark.len());
    let user = |start: usize| {
        let rest = &line[start..];
        let authority = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        Some(start..start + authority.rfind('@')?)
    };
    urls.filter_map(user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_fields_are_taken_out_of_texts() {
        for (given, expected) in [
            (
                "Authorization: Basic x=\nHost: y",
                "Authorization: (redacted)\nHost: y",
            ),
            (
                "proxy_set_header Authorization \"Basic x\";\n",
                "proxy_set_header Authorization \"(redacted)\";\n",
            ),
            (
                "proxy_set_header Cookie x;\n",
                "proxy_set_header Cookie (redacted);\n",
            ),
            ("proxy_set_header Cookie $c;", "proxy_set_header Cookie $c;"),
            (
                "proxy_pass_header Set-Cookie;",
                "proxy_pass_header Set-Cookie;",
            ),
            (
                "[[\"Cookie\",\"a=b; c\"],1]",
                "[[\"Cookie\",\"(redacted)\"],1]",
            ),
            (
                "curl -H 'Cookie: a=b' url",
                "curl -H 'Cookie: (redacted)' url",
            ),
            ("log $http_cookie %{Cookie}i", "log $http_cookie %{Cookie}i"),
            ("Cookies are off", "Cookies are off"),
            ("\u{e9} COOKIE=\u{e9}x", "\u{e9} COOKIE=(redacted)"),
            (
                "pass http://u:p@h/ http://h/@",
                "pass http://(redacted)@h/ http://h/@",
            ),
            ("Cookie: (redacted)", "Cookie: (redacted)"),
            (
                "headers=[['Cookie','a'],[\"Private-Token\",\"b\"]]",
                "headers=[['Cookie','(redacted)'],[\"Private-Token\",\"(redacted)\"]]",
            ),
            ("Cookie: a; Authorization: b", "Cookie: (redacted)"),
        ] {
            assert_eq!(text(given), expected);
            assert_eq!(text(expected), expected);
        }
    }

    #[test]
    fn values_are_taken_out_however_they_are_set() {
        for (given, expected) in [
            (
                "setenv.add-request-header = ( \"Authorization\" => \"Basic x\" )",
                "setenv.add-request-header = ( \"Authorization\" => \"(redacted)\" )",
            ),
            (
                "wrk.headers[\"Cookie\"] = \"a=b\"",
                "wrk.headers[\"Cookie\"] = \"(redacted)\"",
            ),
            ("{\"Cookie\": [\"a=b\"]}", "{\"Cookie\": [\"(redacted)\"]}"),
            (
                "{\"Cookie\": [\"a=b\", \"c=d\"], \"x\": \"y\"}",
                "{\"Cookie\": [\"(redacted)\"], \"x\": \"y\"}",
            ),
            (
                "http-request set-header Authorization \"Basic x\"",
                "http-request set-header Authorization \"(redacted)\"",
            ),
            (
                "add_header Set-Cookie \"a=b\" always;",
                "add_header Set-Cookie \"(redacted)\" always;",
            ),
            (
                "proxy_hide_header Set-Cookie; proxy_set_header Cookie a;",
                "proxy_hide_header Set-Cookie; proxy_set_header Cookie (redacted);",
            ),
            (
                "proxy_hide_header X proxy_set_header Cookie a;",
                "proxy_hide_header X proxy_set_header Cookie (redacted);",
            ),
            (
                "Vary: Accept, Cookie: a=b",
                "Vary: Accept, Cookie: (redacted)",
            ),
            (
                "[[\"Vary\",\"Accept\"],[\"Cookie\",\"a\"]]",
                "[[\"Vary\",\"Accept\"],[\"Cookie\",\"(redacted)\"]]",
            ),
        ] {
            assert_eq!(text(given), expected);
            assert_eq!(text(expected), expected);
        }
    }

    #[test]
    fn a_list_of_names_stays_as_it_is() {
        for given in [
            "proxy_ignore_headers Set-Cookie Cache-Control;",
            "proxy_ignore_headers Expires Set-Cookie Cache-Control; # both",
            "\tfastcgi_hide_header  Set-Cookie ;",
            "capture request header Cookie len 32",
            "Header always unset Set-Cookie env=x",
            "RequestHeader unset Authorization early",
            "http-request del-header Cookie if is_static",
            "Vary: Cookie, Authorization, Accept",
            "add_header Access-Control-Allow-Headers \"Authorization, Content-Type\";",
            "{\"names\":[\"Accept\",\"Cookie\"],\"other\":\"x\"}",
        ] {
            assert_eq!(text(given), given);
        }
    }
}
