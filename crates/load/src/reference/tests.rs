use model::plan;

use super::fetch::Answer;
use super::{demand, stable};
use crate::expectation::Expectation;
use crate::run::LoadError;

fn answer(status: u16, content: &str) -> Answer {
    Answer {
        status,
        content: content.as_bytes().into(),
        length: content.len() as u64,
        digest: format!("digest of {content}"),
        ..Answer::default()
    }
}

#[track_caller]
fn check(contents: [&str; 2], expected: (Option<u64>, &str, bool)) {
    let (found, dynamic) = stable(&contents.map(|content| answer(200, content)));
    let (length, content, is_dynamic) = expected;
    assert_eq!(found.status, Some(200));
    assert_eq!((found.length, dynamic), (length, is_dynamic));
    assert_eq!(str::from_utf8(&found.content).unwrap(), content);
}

#[test]
fn what_differs_is_not_checked() {
    check(["abc", "abc"], (Some(3), "abc", false));
    check(["<p>10:59:01", "<p>10:59:02"], (Some(11), "<p>", true));
    check(["a\nb 9", "a\nb 10"], (None, "a\n", true));
    check(["1", "2"], (Some(1), "", true));
}

#[test]
fn what_the_plan_demands_must_be_met() {
    let expect = plan::Expectation {
        status: Some(200),
        length: Some(3),
        ..plan::Expectation::default()
    };
    let try_it = |one: &Answer| {
        let (found, _) = stable(std::slice::from_ref(one));
        demand(&expect, found, (one, None), &mut Vec::new())
    };
    assert!(try_it(&answer(200, "abc")).is_ok());
    for wrong in [answer(404, "abc"), answer(200, "abcd")] {
        assert!(matches!(try_it(&wrong), Err(LoadError::Unexpected(_))));
    }
}

#[test]
fn an_error_page_is_not_a_right_answer_unless_asked_for() {
    let one = answer(503, "sorry");
    let (found, _) = stable(std::slice::from_ref(&one));
    let mut notes = Vec::new();
    let found = demand(
        &plan::Expectation::default(),
        found,
        (&one, None),
        &mut notes,
    )
    .unwrap();
    let only_status = Expectation {
        status: Some(200),
        ..Expectation::default()
    };
    assert_eq!((found, notes.len()), (only_status, 1));
}
