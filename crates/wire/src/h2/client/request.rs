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
    let scheme = if is_secure { "https" } else { "http" };
    let mut head = vec![
        field(":method", request.method),
        field(":scheme", scheme),
        field(":authority", authority),
        field(":path", request.target),
    ];
    for (name, value) in request.fields {
        let (name, value) = field(name, value.trim());
        let is_of_connection = matches!(
            name.as_str(),
            "connection"
                | "host"
                | "keep-alive"
                | "proxy-connection"
                | "transfer-encoding"
                | "upgrade"
        );
        if !is_of_connection && (name != "te" || value == "trailers") {
            head.push((name, value));
        }
    }
    if let Some(content) = request.content {
        head.push(field("content-length", &content.len().to_string()));
    }
    head
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
