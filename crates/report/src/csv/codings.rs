//! The columns of how answers were encoded.

use model::Coding;
use model::coding::Coded;

use crate::digests::Digest;

/// Each with what it holds.
pub(super) const COLUMNS: [(&str, &str); 3] = [
    (
        "content_coding",
        "how complete answers were encoded (Content-Encoding), one after the other where in \
         several ways; identity: they were not; empty where a trial does not say",
    ),
    ("encoded_answers", "how many of them were encoded"),
    (
        "encoded_bytes_per_answer",
        "content bytes of those as sent, per answer; empty where none was",
    ),
];

#[expect(clippy::cast_precision_loss, reason = "a mean")]
pub(super) fn cells(digest: &Digest) -> [String; 3] {
    let codings = &digest.codings;
    if codings.is_empty() {
        return Default::default();
    }
    let names: Vec<&str> = codings.keys().map(|coding| coding.name()).collect();
    let mut encoded = Coded::default();
    for (_, coded) in codings
        .iter()
        .filter(|(coding, _)| **coding != Coding::Identity)
    {
        encoded.merge(*coded);
    }
    let mean = encoded.bytes.count() as f64 / encoded.answers as f64;
    let mean = (encoded.answers > 0).then(|| mean.to_string());
    [
        names.join(" "),
        encoded.answers.to_string(),
        mean.unwrap_or_default(),
    ]
}
