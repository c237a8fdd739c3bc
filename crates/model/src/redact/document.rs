//! Secrets in documents that have a grammar: what a name is for is known there, however it is laid
//! out.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{REDACTED, is_secret, text};

/// Shorter values stand in too many other places to be replaced wherever they are.
pub const SHORTEST: usize = 6;

/// What a text says in JSON or TOML; none where it is neither.
pub fn document(text: &str) -> Option<Value> {
    let json = serde_json::from_str(text).ok();
    json.or_else(|| toml::from_str(text).ok())
}

/// Values of secret fields in `document`, the longest first.
pub fn secrets(document: &Value) -> Vec<String> {
    let mut found = BTreeSet::new();
    visit(document, &mut |name, value| {
        if is_secret(name) && value.len() >= SHORTEST && value != REDACTED {
            found.insert(value.to_owned());
        }
    });
    let mut found: Vec<String> = found.into_iter().collect();
    found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    found
}

/// What somebody wrote, as it is shown: without credentials, on however many lines they stand.
pub fn written(written: &str) -> String {
    let mut clean = text(written);
    for secret in document(written).iter().flat_map(secrets) {
        clean = clean.replace(&secret, REDACTED);
    }
    clean
}

/// Takes the credentials out of a document.
pub fn clean(value: &mut Value) {
    match value {
        Value::String(written) => *written = text(written),
        Value::Array(all) => match &mut all[..] {
            [Value::String(name), Value::String(value)] if is_secret(name) => {
                REDACTED.clone_into(value);
            }
            all => all.iter_mut().for_each(clean),
        },
        Value::Object(all) => {
            for (name, value) in all {
                match value {
                    Value::String(value) if is_secret(name) => REDACTED.clone_into(value),
                    Value::Array(values) if is_secret(name) => {
                        for value in values {
                            match value {
                                Value::String(value) => REDACTED.clone_into(value),
                                value => clean(value),
                            }
                        }
                    }
                    value => clean(value),
                }
            }
        }
        _ => {}
    }
}

/// Calls `found` with each text and the name that it is the value of: a key, or the first of two
/// texts, as fields are written.
pub fn visit(value: &Value, found: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Array(all) => {
            if let [Value::String(name), Value::String(value)] = &all[..] {
                found(name, value);
            }
            all.iter().for_each(|one| visit(one, found));
        }
        Value::Object(all) => {
            for (name, value) in all {
                match value {
                    Value::String(value) => found(name, value),
                    Value::Array(values) => {
                        let texts = values.iter().filter_map(Value::as_str);
                        texts.for_each(|value| found(name, value));
                        visit(value, found);
                    }
                    value => visit(value, found),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_secret_however_it_is_laid_out() {
        let written = "[[workload.request]]\nheaders = [\n  [\n    \"Authorization\",\n    \
                       \"Bearer abcdef\",\n  ],\n  [\"A\", \"plain text\"],\n]\n# Bearer abcdef\n\
                       [table]\nCookie = '''\nabc=defghi'''\n";
        let clean = super::written(written);
        assert!(
            !clean.contains("abcdef") && !clean.contains("defghi"),
            "{clean}"
        );
        assert!(clean.contains("plain text"), "{clean}");
        assert_eq!(super::written(&clean), clean);
        // What is neither is a text.
        assert_eq!(super::written("Cookie: abcdef"), "Cookie: (redacted)");
        assert_eq!(document("Cookie: abcdef"), None);
    }

    /// On lines of their own, where no name stands.
    #[test]
    fn each_of_a_list_of_values_is_a_secret() {
        let written = "[headers]\nAuthorization = [\n  'Bearer first-one',\n  'Bearer next-one',\n]\
                       \nAccept = [\n  'text/html',\n]\n";
        let clean = super::written(written);
        let expected = "[headers]\nAuthorization = [\n  '(redacted)',\n  '(redacted)',\n]\
                        \nAccept = [\n  'text/html',\n]\n";
        assert_eq!(clean, expected);
        let mut value = serde_json::json!({
            "Cookie": ["a=b", "c=d", {"Set-Cookie": "e"}],
            "Accept": ["a", "b"],
        });
        super::clean(&mut value);
        let expected = serde_json::json!({
            "Cookie": [REDACTED, REDACTED, {"Set-Cookie": REDACTED}],
            "Accept": ["a", "b"],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn a_document_loses_its_secrets_however_short() {
        let mut value = serde_json::json!({
            "headers": [["Authorization", "X"], ["Accept", "a"]],
            "step": [{"headers": {"x-api-key": "Y"}, "get": "http://u:p@h/"}],
        });
        clean(&mut value);
        let expected = serde_json::json!({
            "headers": [["Authorization", REDACTED], ["Accept", "a"]],
            "step": [{"headers": {"x-api-key": REDACTED}, "get": "http://(redacted)@h/"}],
        });
        assert_eq!(value, expected);
    }
}
