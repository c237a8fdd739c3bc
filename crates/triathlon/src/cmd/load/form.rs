//! Forms as content: urlencoded, or with a file among them multipart/form-data (RFC 7578).

use sha2::{Digest as _, Sha256};

/// One field of a form.
pub(super) struct Part {
    name: String,
    /// The name of the file that the value was read from.
    file: Option<String>,
    value: Vec<u8>,
}

impl Part {
    /// A value that was written.
    pub(super) fn text(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            file: None,
            value: value.as_bytes().to_vec(),
        }
    }

    /// The content of the file at `path`, of which the server learns the last part.
    pub(super) fn file(name: &str, path: &str, value: Vec<u8>) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path);
        Self {
            name: name.to_owned(),
            file: Some(file.to_owned()),
            value,
        }
    }
}

/// The content and its type.
pub(super) fn encode(parts: &[Part]) -> (Vec<u8>, String) {
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
            head.push_str(&format!(
                "; filename=\"{}\"\r\nContent-Type: application/octet-stream",
                quoted(file)
            ));
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
            Part::file("what\"", "/tmp/x.bin", b"\0\r\n".to_vec()),
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
}
