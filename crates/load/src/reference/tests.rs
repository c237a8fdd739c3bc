use model::plan;

use super::talk::Answer;
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
        demand(
            &expect,
            found,
            (std::slice::from_ref(one), None),
            &mut Vec::new(),
        )
    };
    assert!(try_it(&answer(200, "abc")).is_ok());
    for wrong in [answer(404, "abc"), answer(200, "abcd")] {
        assert!(matches!(try_it(&wrong), Err(LoadError::Unexpected(_))));
    }
}

/// In whichever of the answers it came.
#[test]
fn an_error_page_is_not_a_right_answer_unless_asked_for() {
    let only_status = Expectation {
        status: Some(200),
        ..Expectation::default()
    };
    let check = |statuses: &[u16], expected: &Expectation, notes: usize| {
        let answers: Vec<Answer> = statuses
            .iter()
            .map(|status| answer(*status, "sorry"))
            .collect();
        let (found, _) = stable(&answers);
        let mut told = Vec::new();
        let wanted = plan::Expectation::default();
        let found = demand(&wanted, found, (&answers, None), &mut told).unwrap();
        assert_eq!((&found, told.len()), (expected, notes), "{statuses:?}");
        found
    };
    for statuses in [&[503][..], &[503, 503], &[200, 503], &[503, 200]] {
        check(statuses, &only_status, 1);
    }
    // A circle of redirects ends nowhere.
    let circle = Answer {
        leads_on: true,
        ..answer(302, "")
    };
    let (wanted, mut told) = (plan::Expectation::default(), Vec::new());
    let answers = [circle];
    let found = demand(&wanted, stable(&answers).0, (&answers, None), &mut told);
    assert_eq!(found.expect("it is told"), only_status);
    assert!(told[0].contains("still a redirect, status 302"), "{told:?}");
    // Where they differ, and none is that of an error, errors are still none.
    let any = Expectation {
        no_error: true,
        ..stable(&[200, 204].map(|status| answer(status, "sorry"))).0
    };
    let found = check(&[200, 204], &any, 0);
    assert!(found.check_status(503).is_some() && found.check_status(204).is_none());
}
