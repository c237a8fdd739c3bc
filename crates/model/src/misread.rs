//! What serde says of a value that it cannot read, in words of people.

/// The value that a message about a wrong type or word names.
pub fn given(message: &str) -> Option<String> {
    let message = message.trim();
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return rest.split('`').nth(1).map(str::to_owned);
    }
    let rest = ["invalid type: ", "invalid value: "]
        .into_iter()
        .find_map(|start| message.strip_prefix(start))?;
    let (given, _) = rest.split_once(", expected ")?;
    Some(match given {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        _ => match (given.split('`').nth(1), given.split_once(' ')) {
            (Some(value), _) => value.to_owned(),
            (None, Some((_, value))) => value.to_owned(),
            (None, None) => given.to_owned(),
        },
    })
}

/// A message as a sentence: what to write, and what stands there.
pub fn in_words(message: &str) -> String {
    let why = wrong_type(message).or_else(|| missing_key(message));
    why.unwrap_or_else(|| message.trim().replace('`', "'"))
}

/// The key that the line begins with in which that place is.
pub(crate) fn key_at(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let (key, _) = text[begin..].lines().next()?.split_once('=')?;
    let key = key.trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

/// `missing field `install`` and `unknown field `x`, expected ...` in words of people.
fn missing_key(message: &str) -> Option<String> {
    let message = message.trim().replace('`', "'");
    if let Some(key) = message.strip_prefix("missing field ") {
        return Some(format!("the key {key} is missing"));
    }
    let rest = message.strip_prefix("unknown field ")?;
    let (_, expected) = rest.split_once(", expected ")?;
    let known = expected.trim_start_matches("one of ").replace('\'', "");
    Some(format!("no such key here; there are {known}"))
}

/// `invalid type: string "six", expected u32` in words of people.
fn wrong_type(message: &str) -> Option<String> {
    let given = given(message).filter(|_| message.trim().starts_with("invalid"))?;
    let (_, expected) = message.trim().split_once(", expected ")?;
    let wanted = match expected {
        "a sequence" => "a list",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        "u16" | "u32" | "u64" => "a whole number, 0 or more",
        _ if expected.starts_with("struct ") => "a table",
        other => other,
    };
    Some(format!("write {wanted}, not {given}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_sentences() {
        let check = |message: &str, expected: &str| assert_eq!(in_words(message), expected);
        check(
            "invalid type: string \"six\", expected u32",
            "write a whole number, 0 or more, not \"six\"",
        );
        check(
            "invalid type: map, expected a sequence",
            "write a list, not a table",
        );
        check(
            "invalid type: integer `5`, expected struct Expectation",
            "write a table, not 5",
        );
        check(
            "invalid value: integer `99999999999999999999` as i128, expected u32",
            "write a whole number, 0 or more, not 99999999999999999999",
        );
        check("missing field `get`", "the key 'get' is missing");
        check(
            "unknown field `x`, expected one of `a`, `b`",
            "no such key here; there are a, b",
        );
        check("something `else`", "something 'else'");
    }
}
