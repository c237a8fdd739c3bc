//! One request: what was written of it, and what it means. Plans, and whatever makes plans, share
//! this type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use crate::plan::{Expectation, PlanError, Url, field};
use crate::redact::REDACTED;

/// One request as it is written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RequestFile {
    /// `http://host[:port]/path?query`.
    pub url: String,
    /// GET unless told otherwise.
    #[serde(default = "get")]
    pub method: String,
    /// In the order in which they are sent, after Host.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The content, base64; none sends no Content-Length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// What reports call it; none: its method and path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How often it is sent, in relation to the weights of the others: at least 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: u32,
    /// What a right answer to it is; none: what the plan expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
}

impl RequestFile {
    /// GET `url`, and nothing else said.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: get(),
            headers: Vec::new(),
            body_base64: None,
            name: None,
            weight: one(),
            expect: None,
        }
    }

    /// The same with that content; without any nothing changes.
    #[must_use]
    pub fn with_content(self, content: Option<&str>) -> Self {
        match content {
            None => self,
            Some(content) => Self {
                body_base64: Some(BASE64.encode(content)),
                ..self
            },
        }
    }
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_one(weight: &u32) -> bool {
    *weight == 1
}

fn get() -> String {
    "GET".to_owned()
}

/// One request, its URL and body read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    /// Where and what.
    pub url: Url,
    /// The method token.
    pub method: String,
    /// Field names and values, sent after Host.
    pub headers: Vec<(String, String)>,
    /// The content, if any.
    pub body: Option<Vec<u8>>,
    /// What reports call it.
    pub name: String,
    /// How often it is sent, in relation to the weights of the others.
    pub weight: u32,
    /// What a right answer to it is.
    pub expect: Expectation,
}

impl Request {
    /// Reads what was written; where that says nothing of its answer, `expect` holds.
    ///
    /// # Errors
    ///
    /// The URL, the method, a field, the content, the weight or the expected digest is none.
    pub fn read(written: &RequestFile, expect: &Expectation) -> Result<Self, PlanError> {
        if !is_token(&written.method) {
            return Err(field(
                "method",
                format!("'{}' is not a method name", written.method),
            ));
        }
        check_fields(&written.headers)?;
        let body = match &written.body_base64 {
            None => None,
            Some(text) => Some(
                BASE64
                    .decode(text)
                    .map_err(|error| field("body_base64", error.to_string()))?,
            ),
        };
        if written.weight == 0 {
            return Err(field("weight", "give at least 1"));
        }
        let expect = written.expect.as_ref().unwrap_or(expect).clone();
        if let Some(digest) = &expect.sha256
            && (digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            return Err(field("expect.sha256", "give 64 hexadecimal digits"));
        }
        let url = Url::parse(&written.url)?;
        let name = written.name.clone();
        Ok(Self {
            name: name.unwrap_or_else(|| format!("{} {}", written.method, url.path)),
            url,
            method: written.method.clone(),
            headers: written.headers.clone(),
            body,
            weight: written.weight,
            expect,
        })
    }
}

/// A token (RFC 9110 §5.6.2), as method and field names are.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn check_fields(headers: &[(String, String)]) -> Result<(), PlanError> {
    for (name, value) in headers {
        if !is_token(name) {
            return Err(field(
                "headers",
                format!("'{name}' is not a field name; write 'Name: value'"),
            ));
        }
        if value.contains(REDACTED) {
            return Err(field(
                "headers",
                format!(
                    "the value of {name} was taken out when this was stored; give it again, \
                     as in -H '{name}: ...'"
                ),
            ));
        }
        if has_control(value) {
            return Err(field(
                "headers",
                format!("the value of {name} has a control character"),
            ));
        }
        let instead = match name.to_ascii_lowercase().as_str() {
            "connection" => {
                "; to close after each answer, give --requests-per-connection 1 \
                 (requests_per_connection of a plan)"
            }
            "content-length" | "transfer-encoding" => "",
            _ => continue,
        };
        return Err(field(
            "headers",
            format!("{name} is set by the generator, which must know how messages end{instead}"),
        ));
    }
    Ok(())
}
/// Whether the value of a field has a character that none may have (RFC 9110 §5.5).
pub(crate) fn has_control(value: &str) -> bool {
    let mut bytes = value.bytes();
    bytes.any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f)
}
