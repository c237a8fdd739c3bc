//! What was checked of answers: as the generator told it, or as the plan had it where it could not.

use model::Trial;
use model::plan::{Expectation, Level};
use model::record::Reference;

/// A sentence part for each request of `trial`, with its name where there are several.
pub(crate) fn checked(trial: &Trial) -> Vec<String> {
    let record = &trial.record;
    if record.classes.is_empty() {
        let asked = trial.plan.requests.first();
        let expect = asked.and_then(|request| request.expect.as_ref());
        let expect = expect.unwrap_or(&trial.plan.expect);
        return vec![words(record.reference.as_ref(), expect)];
    }
    let asked = trial.plan.requests.iter();
    let expected = asked.map(|request| request.expect.as_ref().unwrap_or(&trial.plan.expect));
    record
        .classes
        .iter()
        .zip(expected)
        .map(|(class, expect)| {
            format!(
                "{}: {}",
                class.name,
                words(class.reference.as_ref(), expect)
            )
        })
        .collect()
}

/// Without a reference the generator holds answers against the status alone, and 200 is right.
fn words(reference: Option<&Reference>, expect: &Expectation) -> String {
    match reference {
        Some(reference) if !reference.checked.is_empty() => reference.checked.clone(),
        _ if expect.level == Level::None => "framing".to_owned(),
        _ => "framing, status 200".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use model::fixture::closed;
    use model::plan::Level;
    use model::record::{Class, Reference};

    use super::*;

    #[test]
    fn it_says_what_the_generator_did() {
        let mut trial = closed();
        let reference = |checked: &str| {
            Some(Reference {
                checked: checked.to_owned(),
                ..Reference::default()
            })
        };
        trial.record.reference = reference("framing, status 204");
        assert_eq!(checked(&trial), ["framing, status 204"]);
        trial.record.reference = None;
        assert_eq!(checked(&trial), ["framing, status 200"]);
        trial.plan.expect.level = Level::None;
        assert_eq!(checked(&trial), ["framing"]);
        let class = Class {
            name: "GET /a".to_owned(),
            reference: reference("framing, status 200, length 7"),
            ..Class::default()
        };
        trial.record.classes = vec![class];
        assert_eq!(checked(&trial), ["GET /a: framing, status 200, length 7"]);
    }
}
