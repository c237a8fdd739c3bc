//! The content of a recorded request.

use std::borrow::Cow;

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Content {
    #[serde(default)]
    text: Option<String>,
    #[serde(default, rename = "mimeType")]
    kind: Option<String>,
    /// The fields of a form, which some programs write instead of the text.
    #[serde(default)]
    params: Option<Vec<Param>>,
}

/// One of them: a file has a name, and no value here.
#[derive(Deserialize)]
struct Param {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    value: Option<String>,
}

impl Content {
    /// The text that was sent: of a form, put together from its fields if need be.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let is_form = kind.starts_with("application/x-www-form-urlencoded");
        let text = self.text.as_deref();
        match self.params.as_deref().unwrap_or_default() {
            fields if is_form && !fields.is_empty() && text.is_none_or(str::is_empty) => {
                let field = |one: &Param| {
                    let [name, value] = [&one.name, &one.value]
                        .map(|text| encoded(text.as_deref().unwrap_or_default()));
                    format!("{name}={value}")
                };
                let fields: Vec<String> = fields.iter().map(field).collect();
                Some(fields.join("&").into())
            }
            _ => text.map(Cow::from),
        }
    }
}

/// A name or a value of a form as it is sent (WHATWG URL, application/x-www-form-urlencoded). What
/// the recording has encoded already stays as it is.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'*' | b'-' | b'.' | b'_' | b'%' | b'+' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
