use super::*;

/// Entries: when they began, how many milliseconds they took, method and URL, the status, and what
/// else is in their request.
fn recording(entries: &[(&str, f64, &str, u16, &str)]) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(started, time, asked, status, more)| {
            let (method, url) = asked.split_once(' ').unwrap();
            format!(
                "{{\"startedDateTime\": \"{started}\", \"time\": {time}, \"request\": {{\"method\": \
                 \"{method}\", \"url\": \"{url}\"{more}}}, \"response\": {{\"status\": {status}}}}}"
            )
        })
        .collect();
    let entries = entries.join(",");
    format!("{{\"log\": {{\"version\": \"1.2\", \"pages\": [], \"entries\": [{entries}]}}}}")
}

/// The steps in one line.
fn told(recorded: &Recorded) -> String {
    let steps = recorded.script.steps.steps.iter();
    let name = |class: &u16| {
        let request = &recorded.script.requests[usize::from(*class)];
        request.name.clone().unwrap()
    };
    let words = steps.map(|step| match step {
        StepFile::Ask(class) => name(class),
        StepFile::Together(classes) => {
            let names: Vec<String> = classes.iter().map(name).collect();
            format!("[{}]", names.join(" + "))
        }
        StepFile::Wait(law) => format!("wait {law}"),
        other => panic!("{other:?}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn users_wait_where_nothing_was_under_way() {
    let text = recording(&[
        ("2025-01-31T12:00:00.000Z", 20.0, "GET http://h/", 200, ""),
        (
            "2025-01-31T12:00:00.030Z",
            100.0,
            "GET http://h/a.css",
            200,
            "",
        ),
        (
            "2025-01-31T12:00:00.025Z",
            50.5,
            "GET http://h/b.js",
            200,
            "",
        ),
        // The next day where the clock stood, four seconds later.
        (
            "2025-02-01T00:00:04.130+12:00",
            -1.0,
            "GET http://h/next",
            200,
            "",
        ),
        ("2025-01-31T12:00:05.130Z", 3.0, "GET http://h/", 200, ""),
    ]);
    let recorded = read(&text, None, &|_| false).unwrap();
    assert_eq!(
        told(&recorded),
        "GET /, wait 5ms, [GET /b.js + GET /a.css], wait 4s, GET /next, wait 1s, GET /"
    );
    assert_eq!(recorded.script.requests.len(), 4);
    assert_eq!(recorded.left_out, LeftOut::default());
    assert_eq!(recorded.script.steps.user_connections, Some(6));
}

/// A browser asks for parts of a page while the page still comes.
#[test]
fn parts_come_together_after_their_document() {
    let page = |name: &str| format!(", \"headers\": []}}, \"pageref\": \"{name}\", \"x\": {{");
    let (one, two) = (page("one"), page("two"));
    let at = |ms: u32| format!("2025-01-31T12:00:00.{ms:03}Z");
    let times: Vec<String> = [0, 10, 20, 40, 45].map(at).to_vec();
    let text = recording(&[
        (&times[0], 30.0, "GET http://h/", 200, &one),
        (&times[1], 30.0, "GET http://h/a.css", 200, &one),
        (&times[2], 30.0, "GET http://h/b.png", 200, &one),
        // The first page was left before it was complete.
        (&times[3], 30.0, "GET http://h/next", 200, &two),
        (&times[4], 30.0, "GET http://h/a.css", 200, &two),
    ]);
    let recorded = read(&text, None, &|_| false).unwrap();
    let expected = "GET /, [GET /a.css + GET /b.png], GET /next, [GET /a.css]";
    assert_eq!(told(&recorded), expected);
    // Without pages: what the answers are tells.
    let bare = text.replace("pageref", "y").replacen(
        "\"status\": 200",
        "\"status\": 200, \"content\": {\"mimeType\": \"text/html; charset=utf-8\"}",
        1,
    );
    let recorded = read(&bare, None, &|_| false).unwrap();
    let expected = "GET /, [GET /a.css + GET /b.png + GET /next + GET /a.css]";
    assert_eq!(told(&recorded), expected);
}

#[test]
fn what_cannot_be_asked_again_is_left_out() {
    let at = "2025-01-31T12:00:00Z";
    let text = recording(&[
        (at, 1.0, "GET data:image/png;base64,AA", 200, ""),
        (at, 1.0, "GET https://shop.test:8443/a?b=c#d", 404, ""),
        (at, 1.0, "GET https://ads.test/x", 200, ""),
        (at, 1.0, "GET wss://shop.test/chat", 101, ""),
        (at, 1.0, "GET https://shop.test/gone", 0, ""),
        (
            "2025-01-31T12:00:09Z",
            1.0,
            "GET https://ads.test/x",
            200,
            "",
        ),
    ]);
    // Whatever the URLs of others look like.
    let odd = text.replacen("https://ads.test/x", "https://ads.test/p?q=é", 1);
    let recorded = read(&odd, None, &|_| false).unwrap();
    assert_eq!(recorded.left_out.elsewhere, 2);
    assert!(read(&odd, None, &|url| url.host == "ads.test").is_err());
    let own = text.replacen("https://shop.test:8443/a?b=c#d", "https://shop.test/é", 1);
    assert!(read(&own, None, &|_| false).is_err());
    let six = text.replace("shop.test:8443", "[::1]:8443");
    let own = six.replacen("https://shop.test/gone", "https://[::1]:8443/é", 1);
    // As it was, nobody asks it anyhow.
    assert_eq!(read(&own, None, &|_| false).unwrap().left_out.unanswered, 1);
    let own = own.replacen("\"status\": 0", "\"status\": 200", 1);
    assert!(read(&own, None, &|_| false).is_err());
    let recorded = read(&text, None, &|_| false).unwrap();
    // Users stay as long as who was recorded: a last request to others makes no flood of them.
    assert_eq!(told(&recorded), "GET /a?b=c, wait 8999ms");
    let request = &recorded.script.requests[0];
    assert_eq!(request.url, "https://shop.test:8443/a?b=c");
    assert_eq!(request.expect.as_ref().unwrap().status, Some(404));
    let left_out = LeftOut {
        elsewhere: 2,
        from_cache: 0,
        not_http: 2,
        unanswered: 1,
    };
    assert_eq!(recorded.left_out, left_out);
    let told = left_out.to_string();
    assert_eq!(told, "2 to other servers, 2 not HTTP, 1 without an answer");
    let recorded = read(&text, Some("http://127.0.0.1:81/x"), &|_| false).unwrap();
    assert_eq!(recorded.script.requests[0].url, "http://127.0.0.1:81/a?b=c");
    // Chromium by itself says that an answer came from the cache, and by other programs that
    // nothing of it travelled. One that failed has a status of -1 by those.
    let failed = text.replace("\"status\": 404", "\"status\": -1, \"_transferSize\": -1");
    let cached = text.replace("\"time\": 1,", "\"_fromCache\": \"memory\",");
    let untravelled = text.replace("\"status\": 404", "\"status\": 200, \"_transferSize\": 0");
    for nothing in [failed, cached, untravelled] {
        let why = read(&nothing, None, &|_| false).unwrap_err();
        assert!(why.contains("nothing to ask"), "{why}");
    }
}

/// What a browser, its extensions and blockers of advertisements did before says nothing of the
/// server that the recording is about, and nobody waits for it.
#[test]
fn odd_entries_come_first() {
    for (asked, status) in [
        ("GET data:image/png;base64,AA", 200),
        ("GET blob:http://h/4b1c", 200),
        ("GET wss://h/chat", 101),
        ("GET chrome-extension://abc/x.js", 200),
        ("GET about:blank", 200),
        ("GET http://ads.test/x", 0),
        ("GET http://ads.test/p?q=\u{e9}", 0),
        ("GET http://me@h/", 0),
    ] {
        let text = recording(&[
            ("2025-01-31T12:00:00Z", 1.0, asked, status, ""),
            ("2025-01-31T12:00:30Z", 1.0, "GET http://h/a", 200, ""),
            ("2025-01-31T12:00:31Z", 1.0, "GET http://h/b", 200, ""),
        ]);
        let page = "\"status\": 200, \"content\": {\"mimeType\": \"text/html\"}";
        let text = text.replace("\"status\": 200", page);
        let recorded = read(&text, None, &|_| false).expect(asked);
        assert_eq!(told(&recorded), "GET /a, wait 999ms, GET /b", "{asked}");
        let left_out = recorded.left_out;
        let count = left_out.not_http + left_out.unanswered + left_out.elsewhere;
        assert_eq!(count, 1, "{asked}");
    }
}

#[test]
fn requests_are_sent_as_they_were() {
    let fields = ", \"headers\": [{\"name\": \":authority\", \"value\": \"h\"}, \
                  {\"name\": \"Host\", \"value\": \"h\"}, {\"name\": \"Accept\", \"value\": \"a/b\"}, \
                  {\"name\": \"connection\", \"value\": \"keep-alive\"}, \
                  {\"name\": \"Content-Length\", \"value\": \"3\"}]";
    let content = |text: &str| format!("{fields}, \"postData\": {{\"mimeType\": \"x\"{text}}}");
    let with = |text: &str| {
        let more = content(&format!(", \"text\": \"{text}\""));
        recording(&[("2025-01-31T12:00:00Z", 1.0, "POST http://h/a", 200, &more)])
    };
    let recorded = read(&with("a=b"), None, &|_| false).unwrap();
    let request = &recorded.script.requests[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.headers, [("Accept".to_owned(), "a/b".to_owned())]);
    let body = request.body_base64.as_ref().unwrap();
    assert_eq!(BASE64.decode(body).unwrap(), b"a=b");
    // What differs in its content is another request, with another name.
    let (one, two) = (with("1"), with("2"));
    let entry = |text: &str| {
        let (_, entries) = text.split_once("\"entries\": [").unwrap();
        entries.strip_suffix("]}}").unwrap().to_owned()
    };
    let both = one.replace(&entry(&one), &format!("{},{}", entry(&one), entry(&two)));
    let recorded = read(&both, None, &|_| false).unwrap();
    assert_eq!(told(&recorded), "[POST /a + POST /a #2]");
    // None at all, or an empty one where 3 bytes were sent.
    for text in ["", ", \"text\": \"\""] {
        let more = content(text);
        let without = recording(&[("2025-01-31T12:00:00Z", 1.0, "POST http://h/a", 200, &more)]);
        let why = read(&without, None, &|_| false).unwrap_err();
        assert!(why.starts_with("entry 1: the content"), "{why}");
    }
}

/// A browser that reads what came is no user who waits; somebody who comes back to the page is.
#[test]
fn what_is_of_one_page_stays_one() {
    let page = |name: &str| format!(", \"headers\": []}}, \"pageref\": \"{name}\", \"x\": {{");
    let (one, two) = (page("one"), page("two"));
    let at = |ms: u32| format!("2025-01-31T12:00:{:02}.{:03}Z", ms / 1_000, ms % 1_000);
    let times: Vec<String> = [0, 40, 41, 2_500, 5_000, 5_100].map(at).to_vec();
    let text = recording(&[
        (&times[0], 20.0, "GET http://h/", 200, &one),
        (&times[1], 20.0, "GET http://h/a.css", 200, &one),
        (&times[2], 20.0, "GET http://h/b.png", 200, &one),
        (&times[3], 20.0, "GET http://h/c.js", 200, &one),
        (&times[4], 20.0, "GET http://h/next", 200, &two),
        (&times[5], 20.0, "GET http://h/d.css", 200, &two),
    ]);
    assert_eq!(
        told(&read(&text, None, &|_| false).unwrap()),
        "GET /, [GET /a.css + GET /b.png], wait 2439ms, GET /c.js, wait 2480ms, GET /next, \
         [GET /d.css]"
    );
}

/// Some programs write the fields of a form in place of its text.
#[test]
fn a_form_is_put_together_from_its_fields() {
    let content = |kind: &str| {
        let fields =
            "{\"name\": \"a b\", \"value\": \"1&2\"}, {\"name\": \"c\", \"value\": \"%20\"}";
        format!(", \"postData\": {{\"mimeType\": \"{kind}\", \"params\": [{fields}]}}")
    };
    let read = |kind: &str| {
        let more = content(kind);
        let text = recording(&[("2025-01-31T12:00:00Z", 1.0, "POST http://h/a", 200, &more)]);
        read(&text, None, &|_| false)
    };
    let recorded = read("application/x-www-form-urlencoded; charset=UTF-8").unwrap();
    let body = recorded.script.requests[0]
        .body_base64
        .as_ref()
        .expect("it has content");
    assert_eq!(BASE64.decode(body).unwrap(), b"a+b=1%262&c=%20");
    // Beside the text they say nothing more, whatever they are.
    for params in ["null", "[{\"name\": \"f\", \"fileName\": \"a.txt\"}]"] {
        let more = format!(", \"postData\": {{\"text\": \"x\", \"params\": {params}}}");
        let text = recording(&[("2025-01-31T12:00:00Z", 1.0, "POST http://h/a", 200, &more)]);
        let recorded = super::read(&text, None, &|_| false).unwrap();
        assert_eq!(
            recorded.script.requests[0].body_base64.as_deref(),
            Some("eA==")
        );
    }
    let why = read("multipart/form-data").unwrap_err();
    assert!(why.contains("not in the recording"), "{why}");
}

#[test]
fn a_file_of_another_kind_is_told() {
    let check = |text: &str, words: &str| {
        let why = read(text, None, &|_| false).unwrap_err();
        assert!(why.contains(words), "{why}");
    };
    check("<html>", "not a HAR file");
    check("{\"log\": {}}", "entries");
    check(&recording(&[]), "nothing to ask");
    check(
        &recording(&[("yesterday", 1.0, "GET http://h/", 200, "")]),
        "entry 1: 'yesterday' is not a time",
    );
    check(
        &recording(&[("2025-01-31T12:00:00", 1.0, "GET http://h/", 200, "")]),
        "is not a time",
    );
}

#[test]
fn another_server_is_asked_where_it_is_known() {
    let text = recording(&[
        ("2025-01-31T12:00:00.000Z", 20.0, "GET http://h/", 200, ""),
        (
            "2025-01-31T12:00:00.030Z",
            5.0,
            "GET http://pictures.test/p",
            200,
            "",
        ),
        (
            "2025-01-31T12:00:00.031Z",
            5.0,
            "GET http://ads.test/x",
            200,
            "",
        ),
    ]);
    let is_known = |url: &Url| url.host == "pictures.test";
    let recorded = read(&text, Some("http://127.0.0.1:81/"), &is_known).unwrap();
    let requests = recorded.script.requests.iter();
    let urls: Vec<&str> = requests.map(|request| request.url.as_str()).collect();
    assert_eq!(urls, ["http://127.0.0.1:81/", "http://pictures.test/p"]);
    assert_eq!(recorded.left_out.elsewhere, 1);
}
