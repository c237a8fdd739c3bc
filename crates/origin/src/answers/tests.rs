use super::*;

fn answer(request: &[u8], bytes: &[u8], holds_until: u64) -> Answer {
    Answer {
        request: request.into(),
        bytes: bytes.into(),
        rest: None,
        date_at: Some(0),
        holds_until: Instant::from_ns(holds_until),
        log_tail: Box::default(),
        place: Place::default(),
    }
}

#[test]
fn an_answer_is_found_again_while_it_holds() {
    let mut answers = Answers::new();
    let today = Today::at(784_111_777);
    let now = Instant::from_ns(5);
    let bytes = [b'-'; date::LENGTH + 1];
    for path in 0..100 {
        let head = format!("GET /{path} HTTP/1.1\r\n\r\n");
        answers.keep(answer(head.as_bytes(), &bytes, 10));
        let found = answers.find(format!("{head}GET").as_bytes(), now);
        let mut out = b"before".to_vec();
        found.unwrap().copy(&today, &mut out);
        assert_eq!(out, b"beforeSun, 06 Nov 1994 08:49:37 GMT-");
        assert!(answers.find(&head.as_bytes()[1..], now).is_none());
        assert!(answers.find(&head.as_bytes()[..10], now).is_none());
        let late = Instant::from_ns(10);
        assert!(answers.find(head.as_bytes(), late).is_none());
    }
    let again = (0..100)
        .filter(|path| {
            let head = format!("GET /{path} HTTP/1.1\r\n\r\n");
            answers.find(head.as_bytes(), now).is_some()
        })
        .count();
    assert!(again > 70, "only {again} of 100 were kept");
}

#[test]
fn what_is_kept_is_bounded_in_bytes_and_what_is_asked_for_stays() {
    let mut answers = Answers::new();
    let bytes = vec![b'-'; ANSWER_LIMIT];
    let favourite = b"GET /favourite HTTP/1.1\r\n\r\n";
    answers.keep(answer(favourite, &bytes, 10));
    let place = answers.last;
    for path in 0..2_000 {
        let head = format!("GET /{path} HTTP/1.1\r\n\r\n");
        if answers.place(head.as_bytes()) != place {
            answers.keep(answer(head.as_bytes(), &bytes, 10));
        }
        assert!(
            answers.find(favourite, Instant::ZERO).is_some(),
            "at {path}"
        );
        let there = answers.places.iter().flatten().map(|answer| answer.cost());
        assert_eq!(answers.kept_bytes, there.sum::<usize>());
        assert!(answers.kept_bytes <= KEPT_LIMIT);
    }
    assert!(
        answers.kept_bytes > KEPT_LIMIT / 2,
        "{}",
        answers.kept_bytes
    );
}
