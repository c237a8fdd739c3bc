//! What the answers before a run are when they are decoded, where the plan wants that.

use model::Coding;
use model::plan;
use model::record::DecodedContent;

use super::talk::{Answer, CONTENT_KEPT};
use super::{shared_prefix, whole_lines};
use crate::decoding::{Whole, whole};
use crate::expectation::{Expectation, Plain};
use crate::run::LoadError;

/// Each of `answers` without its coding; nothing where the plan does not want that, none of them is
/// encoded, or one is longer than what is kept.
///
/// # Errors
///
/// One of them cannot be decoded.
pub(super) fn decode(
    expect: &plan::Expectation,
    answers: &[Answer],
    notes: &mut Vec<String>,
) -> Result<Vec<Whole>, LoadError> {
    let is_encoded = answers.iter().any(|one| one.coding != Coding::Identity);
    if expect.decode_one_in.is_none() || !is_encoded {
        return Ok(Vec::new());
    }
    if answers
        .iter()
        .any(|one| one.length > one.content.len() as u64)
    {
        notes.push(format!(
            "no answer is decoded: the one before the run is longer than {CONTENT_KEPT} bytes"
        ));
        return Ok(Vec::new());
    }
    let each = answers.iter().map(|answer| {
        let coding = answer.coding;
        whole(coding, &answer.content, CONTENT_KEPT).map_err(|fault| {
            let why = format!("the {coding} content does not decode: {fault}");
            LoadError::Unexpected(why)
        })
    });
    each.collect()
}

/// Adds to `found` what decoded answers have in common; whether that is less than everything.
pub(super) fn expect(found: &mut Expectation, contents: &[Whole], one_in: u32) -> bool {
    let first = &contents[0];
    let is_dynamic = contents.iter().any(|one| one.digest != first.digest);
    let length = contents.iter().all(|one| one.length == first.length);
    let content = if is_dynamic {
        let each = contents.iter();
        let shared = each.map(|one| shared_prefix(&one.content, &first.content));
        whole_lines(&first.content[..shared.min().unwrap_or(0)])
    } else {
        &first.content
    };
    found.plain = Some(Plain {
        length: length.then_some(first.length),
        content: content.into(),
        one_in,
    });
    is_dynamic
}

/// What can be said of decoded content that nobody knows.
pub(super) fn any(expect: &plan::Expectation) -> Option<Plain> {
    let one_in = expect.decode_one_in?;
    Some(Plain {
        one_in,
        ..Plain::default()
    })
}

/// As the record tells it.
pub(super) fn describe(contents: &[Whole]) -> Option<DecodedContent> {
    let first = contents.first()?;
    Some(DecodedContent {
        length: first.length,
        sha256: first.digest.clone(),
    })
}
