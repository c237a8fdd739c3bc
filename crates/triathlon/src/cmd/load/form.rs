//! Forms as content: urlencoded, or with a file among them multipart/form-data (RFC 7578).

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::exit::UsageError;

/// What is sent as a form.
#[derive(clap::Args, Debug)]
pub(super) struct Forms {
    /// A field of a form, 'name=value', or 'name=@FILE' for a file; may be given several times.
    /// The method is then POST, the content urlencoded, or with a file multipart/form-data
    #[arg(long = "form", value_name = "FIELD", conflicts_with = "data")]
    forms: Vec<String>,

    /// The same as oha writes it: what follows a semicolon is said of the value, and the content is
    /// multipart/form-data in any case
    #[arg(
        long,
        value_name = "FIELD",
        hide = true,
        requires = "urls",
        conflicts_with_all = ["data", "forms", "raw", "script", "har", "lua"]
    )]
    multipart: Vec<String>,
}

impl Forms {
    /// The content and its type, if a form is sent.
    pub(super) fn content(&self) -> anyhow::Result<Option<(Vec<u8>, String)>> {
        let read = |all: &[String], read: fn(&str) -> anyhow::Result<Part>| {
            let parts = all.iter().map(|one| read(one));
            parts.collect::<anyhow::Result<Vec<Part>>>()
        };
        if !self.multipart.is_empty() {
            return Ok(Some(multipart(&read(&self.multipart, Part::with_words)?)));
        }
        if !self.forms.is_empty() {
            return Ok(Some(encode(&read(&self.forms, Part::read)?)));
        }
        Ok(None)
    }
}

/// One field of a form.
#[derive(Debug, Default)]
struct Part {
    name: String,
    /// The name of the file that the value was read from, or is to be.
    file: Option<String>,
    /// The type of the value.
    kind: Option<String>,
    value: Vec<u8>,
}

impl Part {
    /// Reads `name=value` or `name=@FILE`.
    fn read(written: &str) -> anyhow::Result<Self> {
        let (name, value) = named(written)?;
        match value.strip_prefix('@') {
            None => Ok(Self::text(name, value)),
            Some(path) => {
                let kind = Some("application/octet-stream".to_owned());
                Ok(Self {
                    kind,
                    ..Self::file(name, path)?
                })
            }
        }
    }

    /// Reads `name=value`, `name=@FILE` or `name=<FILE`, which has no name of a file, with `;type=`
    /// and `;filename=` behind.
    fn with_words(written: &str) -> anyhow::Result<Self> {
        let (name, rest) = named(written)?;
        let mut words = rest.split(';');
        let value = words.next().unwrap_or_default();
        let mut part = if let Some(path) = value.strip_prefix('@') {
            Self::file(name, path)?
        } else if let Some(path) = value.strip_prefix('<') {
            Self {
                file: None,
                ..Self::file(name, path)?
            }
        } else {
            Self::text(name, value)
        };
        for word in words {
            let said = word
                .split_once('=')
                .map(|(key, said)| (key.trim(), said.trim()));
            match said {
                Some(("type", kind)) => part.kind = Some(kind.to_owned()),
                Some(("filename", file)) => part.file = Some(file.to_owned()),
                _ => {
                    return Err(UsageError(format!(
                        "--form: ';{word}' is not understood: a semicolon ends the value, and \
                         type= or filename= follows it"
                    ))
                    .into());
                }
            }
        }
        Ok(part)
    }

    fn text(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.as_bytes().to_vec(),
            ..Self::default()
        }
    }

    /// The content of the file at `path`, of which the server learns the last part.
    fn file(name: &str, path: &str) -> anyhow::Result<Self> {
        let value = std::fs::read(path).with_context(|| format!("--form: cannot read {path}"))?;
        let file = path.rsplit('/').next().unwrap_or(path);
        Ok(Self {
            name: name.to_owned(),
            file: Some(file.to_owned()),
            value,
            ..Self::default()
        })
    }
}

/// The name of a field, and what stands behind it.
fn named(written: &str) -> Result<(&str, &str), UsageError> {
    written.split_once('=').ok_or_else(|| {
        UsageError(format!(
            "--form: '{written}' has no equals sign: write 'name=value' or 'name=@FILE'"
        ))
    })
}

/// The content and its type.
fn encode(parts: &[Part]) -> (Vec<u8>, String) {
    if parts.iter().any(|part| part.file.is_some()) {
        return multipart(parts);
    }
    let mut content = String::new();
    for part in parts {
        if !content.is_empty() {
            content.push('&');
        }
        escape(part.name.as_bytes(), &mut content);
        content.push('=');
        escape(&part.value, &mut content);
    }
    let kind = "application/x-www-form-urlencoded".to_owned();
    (content.into_bytes(), kind)
}

/// The serializer of the URL standard: a blank is a plus, and what is no letter or digit is hex.
fn escape(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        match byte {
            b'*' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                out.push(char::from(*byte));
            }
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

fn multipart(parts: &[Part]) -> (Vec<u8>, String) {
    // The same content gives the same boundary, so that a plan says all that is sent.
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(&part.value);
    }
    let boundary = format!("triathlon-{}", &model::hex(&digest.finalize())[..32]);
    let mut content = Vec::new();
    for part in parts {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            quoted(&part.name)
        );
        if let Some(file) = &part.file {
            head.push_str(&format!("; filename=\"{}\"", quoted(file)));
        }
        if let Some(kind) = &part.kind {
            head.push_str(&format!("\r\nContent-Type: {kind}"));
        }
        head.push_str("\r\n\r\n");
        content.extend_from_slice(head.as_bytes());
        content.extend_from_slice(&part.value);
        content.extend_from_slice(b"\r\n");
    }
    content.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (content, format!("multipart/form-data; boundary={boundary}"))
}

/// As browsers write a name between quotes.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_urlencoded() {
        let parts = [Part::text("a b", "ü&="), Part::text("c", "")];
        let (content, kind) = encode(&parts);
        assert_eq!(content, b"a+b=%C3%BC%26%3D&c=");
        assert_eq!(kind, "application/x-www-form-urlencoded");
    }

    #[test]
    fn a_form_with_a_file_has_parts() {
        let parts = [
            Part::text("who", "me"),
            Part {
                name: "what\"".to_owned(),
                file: Some("x.bin".to_owned()),
                kind: Some("application/octet-stream".to_owned()),
                value: b"\0\r\n".to_vec(),
            },
        ];
        let (content, kind) = encode(&parts);
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"who\"\r\n\r\nme\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"what%22\"; \
             filename=\"x.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n\0\r\n\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!(String::from_utf8(content).unwrap(), expected);
    }

    #[test]
    fn words_behind_a_value_are_said_of_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hi").unwrap();
        let path = file.path().display();
        let check = |written: &str, name: Option<&str>, kind: Option<&str>, value: &str| {
            let part = Part::with_words(written).unwrap();
            let is = (part.file.as_deref(), part.kind.as_deref());
            assert_eq!((is, part.value), ((name, kind), value.into()), "{written}");
        };
        check("a=1", None, None, "1");
        check("a=1;type=b/c", None, Some("b/c"), "1");
        check(&format!("a=<{path}"), None, None, "hi");
        check(&format!("a=@{path};filename=n"), Some("n"), None, "hi");
        let said = Part::with_words("a=1;b=2").unwrap_err().to_string();
        assert!(said.contains("';b=2' is not understood"), "{said}");
        let parts = ["a=1".to_owned()];
        let forms = Forms {
            forms: Vec::new(),
            multipart: parts.into(),
        };
        let (_, kind) = forms.content().unwrap().unwrap();
        assert!(kind.starts_with("multipart/form-data"), "{kind}");
    }
}
