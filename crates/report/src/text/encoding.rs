//! How the content of answers was encoded, in a line, where that was asked for or done.

use model::{Bytes, Coding, Trial};
use verdict::{number, words};

use super::Style;

pub(super) fn encoding(trial: &Trial, style: Style) -> String {
    let codings = &trial.record.codings;
    let mut fields = (trial.plan.requests.iter()).flat_map(|request| &request.headers);
    let is_asked = fields.any(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"));
    let is_done = codings.keys().any(|coding| *coding != Coding::Identity);
    if codings.is_empty() || !(is_asked || is_done) {
        return String::new();
    }
    if !is_done {
        return style.labelled("encoding", "none of the answers was encoded");
    }
    let parts: Vec<String> = codings
        .iter()
        .map(|(coding, coded)| {
            let answers = words::plural(coded.answers, "answer");
            let bytes = size(coded.bytes);
            match coding {
                Coding::Identity => format!("{answers} ({bytes}) not encoded"),
                coding => format!("{answers} in {coding} ({bytes} as sent)"),
            }
        })
        .collect();
    style.labelled(
        "encoding",
        &format!("{}{}", parts.join(", "), decoded(trial)),
    )
}

/// How many answers were decoded, where the plan wants that.
fn decoded(trial: &Trial) -> String {
    let Some(decoded) = trial.record.decoded else {
        return String::new();
    };
    let answers = words::plural(decoded.answers, "answer");
    let bytes = size(decoded.bytes);
    let left_out = match decoded.left_out {
        0 => String::new(),
        many => format!(", and {many} too long for it"),
    };
    format!("; {answers} decoded and checked in the whole run ({bytes}){left_out}")
}

#[expect(clippy::cast_precision_loss, reason = "a number for reading")]
fn size(bytes: Bytes) -> String {
    number::bytes(bytes.count() as f64)
}
