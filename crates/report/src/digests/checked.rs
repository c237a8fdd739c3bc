//! What was checked of answers: as the generator told it, or as the plan had it where it could not.

use model::Trial;
use model::plan::{Level, PlanFile};
use model::record::Reference;

/// A sentence part for each request of `trial`, with its name where there are several.
pub(crate) fn checked(trial: &Trial) -> Vec<String> {
    let (plan, record) = (&trial.plan, &trial.record);
    if record.classes.is_empty() {
        return vec![words(record.reference.as_ref(), plan, 0)];
    }
    let classes = record.classes.iter().take(plan.requests.len());
    classes
        .enumerate()
        .map(|(position, class)| {
            let words = words(class.reference.as_ref(), plan, position);
            format!("{}: {words}", class.name)
        })
        .collect()
}

fn words(reference: Option<&Reference>, plan: &PlanFile, position: usize) -> String {
    let mut words = match reference {
        Some(reference) if !reference.checked.is_empty() => reference.checked.clone(),
        _ => unreferenced(plan, position),
    };
    let answers = plan.script.iter().flat_map(|script| &script.answers);
    for answer in answers.filter(|answer| usize::from(answer.request) == position) {
        if answer.contains.is_some() {
            words.push_str(", a text in the body");
        }
        match answer.takes.len() {
            0 => {}
            1 => words.push_str(", a value to take"),
            count => words.push_str(&format!(", {count} values to take")),
        }
    }
    words
}

/// Without a reference the generator holds answers against the status alone, and 200 is right; for
/// a request whose bytes are not fixed, any that is no error, and the length if that is said.
fn unreferenced(plan: &PlanFile, position: usize) -> String {
    let asked = plan.requests.get(position);
    let expect = asked.and_then(|request| request.expect.as_ref());
    let expect = expect.unwrap_or(&plan.expect);
    if expect.level == Level::None {
        return "framing".to_owned();
    }
    if asked.is_none() || plan.is_fixed(position) {
        return "framing, status 200".to_owned();
    }
    let status = match expect.status {
        Some(status) => format!("framing, status {status}"),
        None => "framing, status below 400".to_owned(),
    };
    match expect.length {
        Some(length) if expect.level >= Level::Length => format!("{status}, length {length}"),
        _ => status,
    }
}

#[cfg(test)]
mod tests {
    use model::fixture::closed;
    use model::plan::{AnswerFile, FromFile, Level, ScriptFile, StepFile, TakeFile};
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

    #[test]
    fn it_says_what_a_script_wants() {
        let mut trial = closed();
        trial.record.reference = None;
        trial.plan.script = Some(ScriptFile {
            steps: vec![StepFile::Ask(0)],
            cookies: true,
            ..ScriptFile::default()
        });
        assert_eq!(checked(&trial), ["framing, status below 400"]);
        trial.plan.expect.status = Some(201);
        trial.plan.expect.length = Some(7);
        assert_eq!(checked(&trial), ["framing, status 201, length 7"]);
        trial.plan.expect.level = Level::Status;
        let take = TakeFile {
            variable: "token".to_owned(),
            from: FromFile::Json("/token".to_owned()),
        };
        trial.plan.script.as_mut().unwrap().answers = vec![AnswerFile {
            request: 0,
            takes: vec![take.clone(), take],
            contains: Some("hello".to_owned()),
        }];
        assert_eq!(
            checked(&trial),
            ["framing, status 201, a text in the body, 2 values to take"]
        );
    }
}
