//! The content of a recorded request.

use std::borrow::Cow;

use serde::Deserialize;

use super::Field;

#[derive(Deserialize)]
pub(super) struct Content {
    #[serde(default)]
    text: Option<String>,
    #[serde(default, rename = "mimeType")]
    kind: Option<String>,
    /// The fields of a form, which some programs write instead of the text.
    #[serde(default)]
    params: Vec<Field>,
}

impl Content {
    /// The text that was sent: of a form, put together from its fields if need be.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let is_form = kind.starts_with("application/x-www-form-urlencoded");
        match &self.text {
            Some(text) if !text.is_empty() || self.params.is_empty() => Some(text.into()),
            text if self.params.is_empty() || !is_form => text.as_deref().map(Cow::from),
            _ => {
                let field = |one: &Field| format!("{}={}", encoded(&one.name), encoded(&one.value));
                let fields: Vec<String> = self.params.iter().map(field).collect();
                Some(fields.join("&").into())
            }
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
