use model::fixture;
use model::plan::{Plan, PlanFile};
use model::script;

use super::*;

fn sessions(text: &str, users: u32) -> Sessions {
    let script = script::read("script", text, Some("http://h/"), &script::Alone).unwrap();
    let plan = PlanFile {
        requests: script.requests,
        script: Some(script.steps),
        connections: users,
        ..fixture::plan("http://h/", &[])
    };
    Sessions::new(&Plan::try_from(plan).unwrap(), 0).expect("users know something")
}

fn written(sessions: &mut Sessions, place: u32, round: u64, class: u16) -> String {
    let mut out = Vec::new();
    assert!(sessions.write(place, round, RequestId(class * 2), &mut out));
    String::from_utf8(out).unwrap()
}

#[test]
fn values_are_written_where_they_stand() {
    let text = "
        [variables]
        word = { list = [\"a b/ü%20\\r\\nX: 1\"] }
        [[step]]
        post = '/x/${word}?q=${word}'
        headers = [['X-Word', '<${word}>'], ['X-Plain', '$${word} $${x}']]
        body = '${word}!'
    ";
    let mut sessions = sessions(text, 1);
    assert_eq!(
        written(&mut sessions, 0, 0, 0),
        "POST /x/a%20b/%C3%BC%20%0D%0AX:%201?q=a%20b/%C3%BC%20%0D%0AX:%201 HTTP/1.1\r\n\
         Host: h\r\nX-Word: <a b/ü%20X: 1>\r\nX-Plain: ${word} ${x}\r\nContent-Length: 16\r\n\r\n\
         a b/ü%20\r\nX: 1!"
    );
    let mut out = Vec::new();
    sessions.write(0, 0, RequestId(1), &mut out);
    let closing = String::from_utf8(out).unwrap();
    assert!(
        closing.contains("\r\nConnection: close\r\n\r\n"),
        "{closing}"
    );
}

/// However long the values and the cookies are, the reactor has room for what is written.
#[test]
fn what_is_written_fits() {
    let text = "
        cookies = true
        [variables]
        count = { counter = 18446744073709551615 }
        [[step]]
        post = '/a/${token}?${word}'
        headers = [['X-Token', '${token}']]
        body = '${word}${count}'
        take = { token = { header = 'T' }, word = { pattern = '.*' } }
    ";
    let mut sessions = sessions(text, 1);
    let long = "\u{fc}".repeat(VALUE_MAX / 2);
    let cookies = (0..100).map(|number| format!("Set-Cookie: {number}={}\r\n", &long[..400]));
    let cookies: String = cookies.collect();
    let head = format!("HTTP/1.1 200 OK\r\nT: {long}\r\n{cookies}\r\n");
    sessions.head(0, 0, head.as_bytes());
    sessions.content(0, long.as_bytes());
    assert_eq!(sessions.complete(0, 0), None);
    let mut out = Vec::new();
    sessions.write(0, 0, RequestId(1), &mut out);
    let longest = sessions.longest;
    assert!(
        (longest - 1_000..=longest).contains(&out.len()),
        "{} of {longest}",
        out.len()
    );
}

#[test]
fn fixed_requests_are_not_written() {
    let text = "
        [[step]]
        get = '/a'
        take = { token = { header = 'X-Token' } }
        [[step]]
        get = '/b?${token}'
    ";
    let mut sessions = sessions(text, 1);
    let mut out = Vec::new();
    assert!(!sessions.write(0, 0, RequestId(0), &mut out) && out.is_empty());
    sessions.head(0, 0, b"HTTP/1.1 200 OK\r\nx-token:  t1 \r\n\r\n");
    assert_eq!(sessions.complete(0, 0), None);
    assert!(written(&mut sessions, 0, 0, 1).starts_with("GET /b?t1 HTTP/1.1\r\n"));
    assert!(written(&mut sessions, 0, 1, 1).starts_with("GET /b?t1 HTTP/1.1\r\n"));
}

/// Whoever was sent elsewhere on the server goes there, whether it was named or not.
#[test]
fn a_location_is_followed_on_its_server() {
    let text = "
        [[step]]
        get = '/a'
        take = { there = { header = 'Location' } }
        [[step]]
        get = '/${there}'
        [[step]]
        get = '/x/${there}'
    ";
    let mut sessions = sessions(text, 1);
    let mut check = |location: &str, expected: &str| {
        let head = format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n");
        sessions.head(0, 0, head.as_bytes());
        let asked = written(&mut sessions, 0, 0, 1);
        let expected = format!("GET {expected} HTTP/1.1\r\nHost: h\r\n");
        assert!(asked.starts_with(&expected), "{location}: {asked}");
    };
    check("/b/c?d=e", "/b/c?d=e");
    check("b", "/b");
    check("http://h/b?c#d", "/b?c");
    check("HTTP://h:80/b", "/b");
    check("//h/b", "/b");
    check("http://h", "/");
    // Nobody is asked elsewhere.
    check("http://h:81/b", "/http://h:81/b");
    check("https://h/b", "/https://h/b");
    check("http://other/b", "/http://other/b");
    // Behind something else it is a value like any other.
    let other = written(&mut sessions, 0, 0, 2);
    assert!(other.starts_with("GET /x/http://other/b HTTP"), "{other}");
}

/// Two users through two rounds.
#[test]
fn each_source_has_its_law() {
    let text = "
        [variables]
        turn = { list = ['a', 'b', 'c'] }
        mine = { list = ['a', 'b', 'c'], once = true }
        count = { counter = 10 }
        dice = { random = [1, 6] }
        [[step]]
        get = '/${turn}/${mine}/${count}'
        [[step]]
        get = '/${dice}'
    ";
    let mut sessions = sessions(text, 2);
    let target = |text: String| text.split(' ').nth(1).unwrap().to_owned();
    let mut seen = Vec::new();
    for round in 0..2 {
        for place in 0..2 {
            seen.push(target(written(&mut sessions, place, round, 0)));
        }
    }
    assert_eq!(seen, ["/a/a/10", "/b/b/11", "/c/a/12", "/a/b/13"]);
    let mut counts = [0; 6];
    for round in 0..6_000 {
        let number: usize = target(written(&mut sessions, 0, round, 1))[1..]
            .parse()
            .unwrap();
        counts[number - 1] += 1;
    }
    assert!(
        counts.iter().all(|count| (850..1_150).contains(count)),
        "{counts:?}, seed 1"
    );
}

#[test]
fn cookies_are_a_users_own() {
    let text = "cookies = true\n[[step]]\nget = '/a'\n";
    let mut sessions = sessions(text, 2);
    let head = b"HTTP/1.1 200 OK\r\nSet-Cookie: id=7; Path=/\r\nset-cookie: b=2\r\n\r\n";
    assert!(!written(&mut sessions, 1, 0, 0).contains("Cookie"));
    sessions.head(1, 0, head);
    let after = written(&mut sessions, 1, 0, 0);
    assert!(after.contains("\r\nCookie: id=7; b=2\r\n"), "{after}");
    assert!(!written(&mut sessions, 0, 0, 0).contains("Cookie"));
}

/// A cookie is over while the run goes on, by the clock of its worker.
#[test]
fn cookies_are_over_when_their_time_has_come() {
    let text = "cookies = true\n[[step]]\nget = '/a'\n";
    let mut sessions = sessions(text, 1);
    let at = |ms: u64| Instant::from_ns(7_000_000_000 + ms * 1_000_000);
    sessions.begin_turn(at(0));
    sessions.begin_turn(at(500));
    sessions.head(
        0,
        0,
        b"HTTP/1.1 200 OK\r\nSet-Cookie: id=7; Max-Age=2\r\n\r\n",
    );
    sessions.begin_turn(at(2_499));
    assert!(written(&mut sessions, 0, 0, 0).contains("Cookie: id=7"));
    sessions.begin_turn(at(2_500));
    assert!(!written(&mut sessions, 0, 0, 0).contains("Cookie"));
}

/// RFC 6265 §5.4: one field.
#[test]
fn the_cookies_of_a_step_and_those_of_its_user_stand_in_one_field() {
    let text = "
        cookies = true
        [variables]
        lang = { list = ['de'] }
        [[step]]
        get = '/a'
        headers = [['Cookie', 'lang=${lang}'], ['X', 'y'], ['cookie', 'z=1']]
    ";
    let mut sessions = sessions(text, 1);
    let head = "GET /a HTTP/1.1\r\nHost: h\r\nX: y\r\n";
    let before = written(&mut sessions, 0, 0, 0);
    assert_eq!(before, format!("{head}Cookie: lang=de; z=1\r\n\r\n"));
    sessions.head(0, 0, b"HTTP/1.1 200 OK\r\nSet-Cookie: id=7\r\n\r\n");
    let after = written(&mut sessions, 0, 0, 0);
    assert_eq!(after, format!("{head}Cookie: lang=de; z=1; id=7\r\n\r\n"));
}

#[test]
fn values_are_taken_from_content() {
    let text = "
        [[step]]
        get = '/a'
        contains = 'total'
        take = { id = { json = '/item/0/id' }, word = { pattern = '\"w\": *\"([a-z]+)\"' } }
        [[step]]
        get = '/${id}/${word}'
    ";
    let check = |pieces: &[&str], expected: Option<Cause>, target: &str| {
        let mut sessions = sessions(text, 1);
        assert!(sessions.read_content(0) && !sessions.read_content(1));
        sessions.head(0, 0, b"HTTP/1.1 200 OK\r\n\r\n");
        for piece in pieces {
            sessions.content(0, piece.as_bytes());
        }
        assert_eq!(sessions.complete(0, 0), expected, "{pieces:?}");
        let text = written(&mut sessions, 0, 0, 1);
        assert!(text.starts_with(&format!("GET {target} HTTP")), "{text}");
    };
    check(
        &["{\"item\":[{\"id\":4", "2}],\"w\":\"abc\",\"total\":1}"],
        None,
        "/42/abc",
    );
    check(
        &["{\"item\":[{\"id\":\"x y\"}],\"w\":\"abc\"}"],
        Some(Cause::LacksText),
        "/x%20y/abc",
    );
    check(
        &["{\"w\":\"abc\",\"total\":1}"],
        Some(Cause::LacksValue),
        "//abc",
    );
    check(&["total"], Some(Cause::LacksValue), "//");
    let long = format!(
        "{{\"item\":[{{\"id\":\"{}\"}}],\"w\":\"a\",\"total\":1}}",
        "x".repeat(5_000)
    );
    check(&[&long], Some(Cause::LacksValue), "//a");
}

#[test]
fn numbers_are_written_in_full() {
    for number in [0, 9, 10, 1_234_567, u64::MAX] {
        let mut out = Vec::new();
        decimal(number, &mut out);
        assert_eq!(out, number.to_string().as_bytes());
    }
}
