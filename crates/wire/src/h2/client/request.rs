//! Requests as blocks of fields, written once before the run.
//!
//! What all requests of a plan have in common goes into the peer's table with the first of them on
//! a connection; after that, it is a byte each.

use std::sync::Arc;

use crate::h2::hpack::{self, DYNAMIC, Form, TABLE_SIZE, is_static, size_of};
use crate::message::RequestParts;

/// One request, as it is sent.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    /// As the first one on a connection: it fills the peer's table.
    pub(super) first: Vec<u8>,
    /// As any later one.
    pub(super) again: Vec<u8>,
    /// Where the peer has no table.
    pub(super) plain: Vec<u8>,
    pub(super) content: Option<Arc<[u8]>>,
    /// Whether connections are inside TLS.
    pub(super) is_secure: bool,
}

impl Encoded {
    /// The longest of its forms.
    pub fn longest(&self) -> usize {
        self.first.len().max(self.plain.len())
    }
}

pub(crate) type Field = (String, String);

/// Writes all requests of a plan.
pub fn encode(requests: &[RequestParts<'_>], is_secure: bool) -> Vec<Encoded> {
    let heads: Vec<Vec<Field>> = requests
        .iter()
        .map(|request| fields(request, is_secure))
        .collect();
    let kept = kept(&heads);
    let written = heads.iter().zip(requests);
    written
        .map(|(head, request)| Encoded {
            content: request.content.map(Arc::from),
            is_secure,
            ..write(head, &kept)
        })
        .collect()
}

/// The fields of a request, pseudo-fields first (RFC 9113 §8.3.1).
pub(crate) fn fields(request: &RequestParts<'_>, is_secure: bool) -> Vec<Field> {
    let field = |name: &str, value: &str| (name.to_ascii_lowercase(), value.to_owned());
    let host = request
        .fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = host.map_or(request.authority, |(_, value)| value);
    let mut head = vec![
        field(":method", request.method),
        field(":scheme", scheme(is_secure)),
        field(":authority", authority),
        field(":path", request.target),
    ];
    for (name, value) in request.fields {
        let (name, value) = field(name, value.trim());
        if is_sent(name.as_bytes(), value.as_bytes()) {
            head.push((name, value));
        }
    }
    if let Some(content) = request.content {
        head.push(field("content-length", &content.len().to_string()));
    }
    head
}

const fn scheme(is_secure: bool) -> &'static str {
    if is_secure { "https" } else { "http" }
}

/// Whether a field, its name in lower case, is about more than the connection (RFC 9113 §8.2.2).
fn is_sent(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"connection" | b"host" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
        | b"upgrade" => false,
        b"te" => value == b"trailers",
        _ => true,
    }
}

/// Tells the fields of a whole message as HTTP/1.1 has it, pseudo-fields first; where its content
/// begins.
pub(crate) fn transcribe(
    message: &[u8],
    is_secure: bool,
    mut each: impl FnMut(&[u8], &[u8]),
) -> usize {
    const END: &[u8] = b"\r\n\r\n";
    let head = memchr::memmem::find(message, END).unwrap_or(message.len());
    let mut lines = message[..head].split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(|byte| *byte == b' ');
    let mut word = || words.next().unwrap_or_default();
    let (method, target) = (word(), word());
    let fields = || {
        lines.clone().filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    };
    let host = fields().find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
    each(b":method", method);
    each(b":scheme", scheme(is_secure).as_bytes());
    each(b":authority", host.map_or(&b""[..], |(_, value)| value));
    each(b":path", target);
    let mut lower = Vec::with_capacity(32);
    for (name, value) in fields() {
        lower.clear();
        lower.extend(name.iter().map(u8::to_ascii_lowercase));
        if is_sent(&lower, value) {
            each(&lower, value);
        }
    }
    message.len().min(head + END.len())
}

/// What goes into the peer's table, in this order.
fn kept(heads: &[Vec<Field>]) -> Vec<Field> {
    let Some((first, others)) = heads.split_first() else {
        return Vec::new();
    };
    let is_once =
        |head: &Vec<Field>, name: &str| head.iter().filter(|(other, _)| other == name).count() == 1;
    let mut room = TABLE_SIZE;
    let mut kept = Vec::new();
    for field in first {
        let (name, value) = (field.0.as_bytes(), field.1.as_bytes());
        let is_common = others.iter().all(|head| head.contains(field));
        let is_alone = heads.iter().all(|head| is_once(head, &field.0));
        let size = size_of(name, value);
        if is_common && is_alone && !is_static(name, value) && size <= room {
            room -= size;
            kept.push(field.clone());
        }
    }
    kept
}

fn write(head: &[Field], kept: &[Field]) -> Encoded {
    let mut encoded = Encoded::default();
    // Pseudo-fields, then what is kept, so that the table has the same order whoever is first.
    let (pseudo, rest): (Vec<&Field>, Vec<&Field>) =
        head.iter().partition(|(name, _)| name.starts_with(':'));
    let (common, own): (Vec<&Field>, Vec<&Field>) =
        rest.into_iter().partition(|field| kept.contains(field));
    let in_order = kept.iter().filter(|field| common.contains(field));
    for field in pseudo.into_iter().chain(in_order).chain(own) {
        let (name, value) = (field.0.as_bytes(), field.1.as_bytes());
        hpack::field(&mut encoded.plain, name, value, Form::Passing);
        match kept.iter().position(|one| one == field) {
            None => {
                hpack::field(&mut encoded.first, name, value, Form::Passing);
                hpack::field(&mut encoded.again, name, value, Form::Passing);
            }
            Some(position) => {
                hpack::field(&mut encoded.first, name, value, Form::Kept);
                // The newest has the lowest index.
                hpack::indexed(&mut encoded.again, DYNAMIC + kept.len() - 1 - position);
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client as _;
    use crate::h1::encode::request as message;
    use crate::h2::client::{Connection, Shared, Table};
    use crate::h2::frame;
    use crate::h2::hpack::Decoder;
    use crate::message::{Request, RequestId};

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    fn parts<'a>(
        target: &'a str,
        fields: &'a [Field],
        content: Option<&'a [u8]>,
    ) -> RequestParts<'a> {
        RequestParts {
            method: "PUT",
            target,
            authority: "h:1",
            fields,
            content,
        }
    }

    #[test]
    fn a_message_is_transcribed_as_its_parts_are_written() {
        let check = |given: &[(&str, &str)], content: Option<&[u8]>| {
            let given = given.iter();
            let given: Vec<Field> = given
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let parts = parts("/a?b=c", &given, content);
            for (is_secure, closes) in [(false, false), (true, true)] {
                let whole = message(&parts, closes);
                let mut told = Vec::new();
                let from = transcribe(&whole, is_secure, |name, value| {
                    told.push((text(name), text(value)));
                });
                assert_eq!(told, fields(&parts, is_secure));
                assert_eq!(&whole[from..], content.unwrap_or_default());
            }
        };
        check(&[], None);
        check(
            &[("X-Word", " a: b "), ("Accept", "*/*")],
            Some(b"seven!\n"),
        );
        check(&[("HOST", "other"), ("TE", "gzip"), ("Upgrade", "x")], None);
        check(&[("te", "trailers"), ("Keep-Alive", "1")], Some(b""));
        check(&[("x", "y")], Some(b"a\r\n\r\nb"));
    }

    /// What the peer has in its table stands for the same before and after.
    #[test]
    fn a_message_leaves_the_table_as_it_is() {
        let given = [("x-word".to_owned(), "a".to_owned())];
        let compiled = parts("/", &given, None);
        let encoded = encode(&[compiled], false).remove(0);
        let request = Request::compile(RequestId(0), &compiled, false).with_h2(encoded);
        let other = message(&parts("/other", &given, None), false);
        let mut client = Connection::new(&mut Shared::new(1, 4_096, 10_000));
        let mut decoder = Decoder::default();
        client.out.clear();
        let mut heard = |client: &mut Connection| {
            let sent = std::mem::take(&mut client.out);
            let mut paths = Vec::new();
            let block = &sent[frame::HEAD..];
            let decoded = decoder.decode(block, |name, value| {
                if name == b":path" || name == b"x-word" {
                    paths.push(text(value));
                }
            });
            assert!(decoded.is_ok());
            client.vacate(0);
            paths.join(" ")
        };
        for _ in 0..2 {
            client.begin_as(&request, &other).unwrap();
            assert_eq!(heard(&mut client), "/other a");
            client.begin(&request).unwrap();
            assert_eq!(heard(&mut client), "/ a");
        }
        client.table = Table::Shrunk;
        for _ in 0..2 {
            client.begin_as(&request, &other).unwrap();
            assert_eq!(heard(&mut client), "/other a");
            client.begin(&request).unwrap();
            assert_eq!(heard(&mut client), "/ a");
            assert_eq!(client.table, Table::None);
        }
    }
}
