use super::*;

fn parse(text: &str) -> Result<Script, Mistake> {
    let content = |name: &str| match name {
        "form.txt" => Ok(b"a=b".to_vec()),
        _ => Err(format!("cannot read {name}")),
    };
    read("x.toml", text, Some("http://h:81/x"), &content)
}

/// The steps in one line.
fn shown(steps: &[StepFile], requests: &[RequestFile]) -> String {
    let of = |step: &StepFile| match step {
        StepFile::Ask(class) => {
            let request = &requests[usize::from(*class)];
            let name = request.name.as_deref().unwrap_or_default();
            format!("{} {} '{name}'", request.method, request.url)
        }
        StepFile::Choose(ways) => {
            let way = |way: &WayFile| format!("{}: {}", way.weight, shown(&way.steps, requests));
            let ways: Vec<String> = ways.iter().map(way).collect();
            format!("({})", ways.join(" | "))
        }
        StepFile::Repeat { from, to, steps } => {
            format!("{from}-{to} x [{}]", shown(steps, requests))
        }
        StepFile::Wait(law) => format!("wait {law}"),
    };
    let all: Vec<String> = steps.iter().map(of).collect();
    all.join(", ")
}

#[test]
fn every_kind_of_step_is_read() {
    let check = |text: &str, expected: &str| {
        let script = parse(text).unwrap_or_else(|mistake| panic!("{mistake}: {text}"));
        let shown = shown(&script.steps.steps, &script.requests);
        assert_eq!(shown, expected, "{text}");
    };
    check(
        "[[step]]\nget = '/a'\n[[step]]\nwait = 'exp:2s'\n[[step]]\nget = '/a'\n",
        "GET http://h:81/a 'GET /a', wait exp:2s, GET http://h:81/a 'GET /a #2'",
    );
    check(
        "url = 'https://other'\n[[step]]\nrequest = 'PURGE /a?b'\nname = 'purge'\n",
        "PURGE https://other/a?b 'purge'",
    );
    check(
        "[[step]]\nrepeat = 3\n[[step.step]]\nhead = '/a'\n[[step.step]]\nwait = '1ms'\n",
        "3-3 x [HEAD http://h:81/a 'HEAD /a', wait 1ms]",
    );
    check(
        "[[step]]\nrepeat = '2-5'\nput = '/a'\n",
        "2-5 x [PUT http://h:81/a 'PUT /a']",
    );
    check(
        "[[step]]\nchance = '0.5%'\npatch = '/a'\n",
        "(5000: PATCH http://h:81/a 'PATCH /a' | 995000: )",
    );
    check(
        "[[step]]\n[[step.branch]]\nweight = 7\nstep = [{ get = '/a' }, { wait = '1s' }]\n\
         [[step.branch]]\n[[step.branch.step]]\ndelete = 'http://h:81/b'\n",
        "(7: GET http://h:81/a 'GET /a', wait 1s | 1: DELETE http://h:81/b 'DELETE /b')",
    );
}

#[test]
fn a_request_has_fields_content_and_a_right_answer() {
    let text = "start = 'uniform:0s-10s'\n[[step]]\npost = '/a'\nheaders = [['X-A', '1']]\n\
                body_file = 'form.txt'\nexpect = { status = 303, level = 'status' }\n";
    let script = parse(text).unwrap();
    let request = &script.requests[0];
    assert_eq!(request.headers, [("X-A".to_owned(), "1".to_owned())]);
    assert_eq!(request.body_base64.as_deref(), Some("YT1i"));
    assert_eq!(request.expect.as_ref().unwrap().status, Some(303));
    assert_eq!(script.steps.start, "uniform:0s-10s".parse().ok());
}

#[test]
fn a_mistake_has_its_line_and_what_to_write() {
    let check = |text: &str, line: usize, words: &str| {
        let mistake = parse(text).expect_err(text);
        let told = mistake.to_string();
        assert_eq!(mistake.line, line, "{told}: {text}");
        assert!(
            told.starts_with("x.toml:") && told.contains(words),
            "{told}"
        );
    };
    check("[[step]]\nget = '/'\nwhait = '1s'\n", 3, "unknown field");
    check("[[step]]\nget = 7\n", 2, "expected a string");
    check("\n[[step]]\nget = '/'\nwait = '1s'\n", 2, "does one thing");
    check("\n\n[[step]]\nname = 'x'\n", 3, "does one thing");
    check(
        "[[step]]\nwait = '1s'\nname = 'x'\n",
        1,
        "belong to requests",
    );
    check("[[step]]\nwait = 'normal:1s'\n", 2, "no law");
    check("start = 'x'\n", 1, "start: ");
    check("[[step]]\nget = '/'\nrepeat = '5-2'\n", 3, "repeat = 3");
    check("[[step]]\nget = '/'\nrepeat = 0\n", 3, "repeat = 3");
    check(
        "[[step]]\nget = '/'\n\nchance = '101%'\n",
        4,
        "chance = \"30%\"",
    );
    check(
        "[[step]]\nget = '/'\nchance = 0.3\n",
        3,
        "expected a string",
    );
    check("[[step]]\nrequest = '/'\n", 2, "METHOD URL");
    check("[[step]]\nget = '/ä'\n", 1, "percent-encode");
    check(
        "[[step]]\npost = '/'\nbody = 'x'\nbody_file = 'y'\n",
        1,
        "not both",
    );
    check(
        "[[step]]\npost = '/'\nbody_file = 'y'\n",
        3,
        "cannot read y",
    );
    check(
        "[[step]]\nget = '/'\nheaders = [['Connection', 'close']]\n",
        1,
        "headers",
    );
    check(
        "[[step]]\nget = '/'\nname = 'a'\n[[step]]\nget = '/b'\nname = 'a'\n",
        6,
        "another step is called 'a'",
    );
    let without = read(
        "x.toml",
        "[[step]]\nget = '/a'\n",
        None,
        &|_| Ok(Vec::new()),
    );
    assert!(without.unwrap_err().why.contains("is a path"));
}
