use super::*;
use crate::plan::Arrivals;
use crate::units::Rate;

struct Shelf;

impl Around for Shelf {
    fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        match name {
            "form.txt" => Ok(b"a=b".to_vec()),
            "users.csv" => Ok(b"name,word\nann,\"a, \"\"b\"\"\"\n\nbob,c\n".to_vec()),
            "bad.csv" => Ok(b"name,word\nann\n".to_vec()),
            _ => Err(format!("cannot read {name}")),
        }
    }

    fn environment(&self, name: &str) -> Option<String> {
        (name == "KEY").then(|| "k1".to_owned())
    }
}

fn parse(text: &str) -> Result<Script, Mistake> {
    read("x.toml", text, Some("http://h:81/x"), &Shelf)
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
        StepFile::Together(classes) => {
            let asks: Vec<StepFile> = classes.iter().map(|class| StepFile::Ask(*class)).collect();
            format!("<{}>", shown(&asks, requests))
        }
        StepFile::Wait(law) => format!("wait {law}"),
    };
    let all: Vec<String> = steps.iter().map(of).collect();
    all.join(", ")
}

#[test]
fn parts_are_requests_and_nothing_else() {
    let page = "user_connections = 6\n[[step]]\nget = '/'\n[[step]]\nparts = ";
    let read = parse(&format!(
        "{page}[{{ get = '/a' }}, {{ get = '/b', name = 'b' }}]"
    ))
    .unwrap();
    assert_eq!(
        shown(&read.steps.steps, &read.requests),
        "GET http://h:81/ 'GET /', <GET http://h:81/a 'GET /a', GET http://h:81/b 'b'>"
    );
    assert_eq!(read.steps.user_connections, Some(6));
    assert_eq!(read.steps.together(), 2);
    let takes = "[{ get = '/a', take = { token = { header = 'X' } } }]";
    let read = parse(&format!("{page}{takes}")).unwrap();
    assert_eq!(read.steps.variables.len(), 1);
    for wrong in ["[{ wait = '1s' }]", "[{ get = '/a', repeat = 2 }]"] {
        let mistake = parse(&format!("{page}{wrong}")).unwrap_err();
        assert!(mistake.why.contains("sent once"), "{mistake}");
        assert_eq!(mistake.line, 5);
    }
}

#[test]
fn users_may_come_at_a_rate() {
    let step = "[[step]]\nget = '/'\n";
    let arrivals = |keys: &str| parse(&format!("{keys}\n{step}")).map(|one| one.steps.arrivals);
    assert_eq!(arrivals(""), Ok(Arrivals::Closed));
    let rate_per_1000_s = Rate::per_1000_s(2_500);
    assert_eq!(
        arrivals("user_rate = 2.5"),
        Ok(Arrivals::Poisson { rate_per_1000_s })
    );
    assert_eq!(
        arrivals("user_rate = 2.5\nuser_arrivals = 'fixed'"),
        Ok(Arrivals::Fixed { rate_per_1000_s })
    );
    let mistake = arrivals("user_arrivals = 'fixed'").unwrap_err();
    assert!(mistake.why.contains("give user_rate, too"), "{mistake}");
    assert!(arrivals("user_rate = 'often'").is_err());
}

#[test]
fn users_may_come_by_stages() {
    let step = "[[step]]\nget = '/'\n";
    let read = |keys: &str| parse(&format!("{keys}\n{step}"));
    let script = read("user_stages = '10s:=100, 10s:=300'\nuser_arrivals = 'fixed'").unwrap();
    let stages: Vec<String> = script.stages.iter().map(ToString::to_string).collect();
    assert_eq!(stages, ["10s:=100", "10s:=300"]);
    let rate_per_1000_s = Rate::per_second(200);
    assert_eq!(script.steps.arrivals, Arrivals::Fixed { rate_per_1000_s });
    for (keys, expected) in [
        ("user_stages = '10s'", "user_stages: '10s' is not a stage"),
        ("user_stages = '10s:0'", "their mean rate is 0"),
        (
            "user_rate = 5\nuser_stages = '10s:5'",
            "leave out user_rate",
        ),
    ] {
        let mistake = read(keys).unwrap_err();
        assert!(mistake.why.contains(expected), "{mistake}");
    }
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
    check(
        "[[step]]\nget = '/'\nwhait = '1s'\n",
        3,
        "whait: no such key here",
    );
    check("[[step]]\nget = 7\n", 2, "get: write text in quotes, not 7");
    check(
        "[[step]]\nget = '/'\nheaders = { Accept = 'a' }\n",
        3,
        "headers: write a list, not a table",
    );
    check("\n[[step]]\nget = '/'\nwait = '1s'\n", 2, "does one thing");
    check("\n\n[[step]]\nname = 'x'\n", 3, "does one thing");
    check(
        "[[step]]\nwait = '1s'\nname = 'x'\n",
        1,
        "belong to requests",
    );
    check("[[step]]\nwait = 'normal:1s'\n", 2, "not a law");
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
        "chance: write text in quotes, not 0.3",
    );
    check("[[step]]\nrequest = '/'\n", 2, "METHOD URL");
    check("[[step]]\nget = '/ä'\n", 1, "percent-encode");
    let elsewhere = "[variables]\nu = { list = ['h'] }\n[[step]]\nget = '${u}'\n";
    check(elsewhere, 3, "a server is known before the run");
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
    let without = read("x.toml", "[[step]]\nget = '/a'\n", None, &Alone);
    assert!(without.unwrap_err().why.contains("is a path"));
}

#[test]
fn variables_come_from_everywhere() {
    let text = "cookies = true\n[variables]\nsize = { list = ['s', 'm'], pick = 'random', secret = true }\n\
                order = { counter = 100 }\nnumber = { random = [1, 6] }\n\
                key = { environment = 'KEY' }\nuser = { csv = 'users.csv', once = true }\n\
                [[step]]\nget = '/${size}?${order}&${token}'\n\
                headers = [['X-Key', '${key}-${number}']]\n\
                [[step]]\npost = '/login'\nbody = '${user.name} ${user.word} $${x}'\n\
                contains = 'welcome'\n\
                take = { token = { json = '/t' }, next = { header = 'Location' } }\n";
    let script = parse(text).unwrap_or_else(|mistake| panic!("{mistake}"));
    let ScriptFile {
        cookies,
        variables,
        answers,
        ..
    } = script.steps;
    assert!(cookies);
    let shown: Vec<String> = variables
        .iter()
        .map(|one| {
            let marks = [(one.once, " once"), (one.secret, " secret")];
            let marks: String = marks
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, mark)| *mark)
                .collect();
            format!(
                "{}{marks}: {}",
                one.name,
                serde_json::to_string(&one.source).unwrap()
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"key secret: {"list":{"values":["k1"],"random":false,"draw":0}}"#,
            r#"number: {"random":{"from":1,"to":6,"draw":1}}"#,
            r#"order: {"counter":{"from":100}}"#,
            r#"size secret: {"list":{"values":["s","m"],"random":true,"draw":3}}"#,
            r#"user.name once: {"list":{"values":["ann","bob"],"random":false,"draw":4}}"#,
            r#"user.word once: {"list":{"values":["a, \"b\"","c"],"random":false,"draw":4}}"#,
            r#"next: "answer""#,
            r#"token: "answer""#,
        ]
    );
    assert_eq!(
        serde_json::to_string(&answers).unwrap(),
        r#"[{"request":1,"takes":[{"variable":"next","from":{"header":"Location"}},"#.to_owned()
            + r#"{"variable":"token","from":{"json":"/t"}}],"contains":"welcome"}]"#
    );
}

/// A sign is doubled where no variable is meant. In the plan it stays so only where a variable has
/// that name, and what is sent has one.
#[test]
fn a_dollar_is_written_twice_where_no_variable_is_meant() {
    let check = |written: &str, held: &str, is_fixed: bool| {
        let text = format!(
            "[variables]\nx = {{ counter = 1 }}\n[[step]]\npost = '/{written}'\n\
             headers = [['A', '{written}']]\nbody = '{written}'\n"
        );
        let script = parse(&text).unwrap_or_else(|mistake| panic!("{mistake}"));
        let request = &script.requests[0];
        assert_eq!(request.url, format!("http://h:81/{held}"));
        assert_eq!(request.headers[0].1, held);
        let body = request.body_base64.as_ref().unwrap();
        assert_eq!(BASE64.decode(body).unwrap(), held.as_bytes());
        let file = crate::plan::PlanFile {
            requests: script.requests,
            script: Some(script.steps),
            ..crate::fixture::plan("http://h:81/", &[])
        };
        let plan = crate::plan::Plan::try_from(file).unwrap();
        assert_eq!(plan.is_fixed(0), is_fixed, "{written}");
    };
    check("a$b", "a$b", true);
    check("$${y}", "${y}", true);
    check("a$${", "a${", true);
    check("$${x}", "$${x}", false);
    check("${x}", "${x}", false);
    check("$${y}${x}", "${y}${x}", false);
}

#[test]
fn a_mistake_in_a_variable_has_its_line() {
    let check = |text: &str, line: usize, words: &str| {
        let mistake = parse(text).expect_err(text);
        assert!(mistake.why.contains(words), "{mistake}: {text}");
        assert_eq!(mistake.line, line, "{mistake}: {text}");
    };
    let step = "[[step]]\nget = '/'\n";
    check("[[step]]\nget = '/${x}'\n", 1, "no variable 'x'");
    check(&format!("[variables]\n\nx = {{}}\n{step}"), 3, "one source");
    check(
        &format!("[variables]\nx = {{ list = [] }}\n{step}"),
        2,
        "at least one",
    );
    check(
        &format!("[variables]\nx = {{ random = [3, 1] }}\n{step}"),
        2,
        "smallest",
    );
    check(
        &format!("[variables]\nx = {{ environment = 'NO' }}\n{step}"),
        2,
        "no variable NO",
    );
    check(
        &format!("[variables]\nx = {{ csv = 'no.csv' }}\n{step}"),
        2,
        "cannot read",
    );
    check(
        &format!("[variables]\nx = {{ csv = 'bad.csv' }}\n{step}"),
        2,
        "row 2 has 1",
    );
    check(
        &format!("[variables]\nx = {{ list = ['a'], pick = 'x' }}\n{step}"),
        2,
        "pick",
    );
    check(
        &format!("[variables]\nx = {{ counter = 1, pick = 'random' }}\n{step}"),
        2,
        "pick belongs to",
    );
    check(
        &format!("[variables]\nx = {{ counter = 1, secret = true }}\n{step}"),
        2,
        "secret belongs to",
    );
    check(
        &format!("[variables]\n'x y' = {{ counter = 1 }}\n{step}"),
        2,
        "cannot be a name",
    );
}

#[test]
fn a_mistake_in_what_is_taken_has_its_line() {
    let check = |text: &str, line: usize, words: &str| {
        let mistake = parse(text).expect_err(text);
        assert!(mistake.why.contains(words), "{mistake}: {text}");
        assert_eq!(mistake.line, line, "{mistake}: {text}");
    };
    let step = "[[step]]\nget = '/'\n";
    check(
        &format!("{step}take = {{ a = {{}} }}\n"),
        3,
        "one of header",
    );
    check(
        &format!("{step}take = {{ a = {{ pattern = '(' }} }}\n"),
        3,
        "regular",
    );
    check(
        &format!("{step}take = {{ a = {{ json = 'a' }} }}\n"),
        3,
        "begin it with",
    );
    check(
        "[[step]]\nwait = '1s'\ncontains = 'a'\n",
        1,
        "belong to requests",
    );
}

/// The texts in backticks of the right column of the table about k6.
fn words_for_k6() -> Vec<String> {
    let page = include_str!("../../../../docs/script.md");
    let (_, table) = page.split_once("| in k6 | here |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|row| row.starts_with('|'));
    let mut words = Vec::new();
    for row in rows {
        let cell = row.trim_end_matches('|').rsplit_once("| ").unwrap().1;
        words.extend(cell.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    words
}

/// The script that shows what such words mean. A key alone is one that another row shows with its
/// value, or is given one here.
fn shown_by(words: &str) -> String {
    let step = |keys: &str| format!("[[step]]\nget = '/'\n{keys}\n");
    let variable = |source: &str| format!("[variables]\nx = {{ {source} }}\n{}", step(""));
    match words {
        "body" => "[[step]]\npost = '/'\nbody = 'x'".to_owned(),
        "body_file" => "[[step]]\npost = '/'\nbody_file = 'form.txt'".to_owned(),
        "headers" => step("headers = [['Accept', 'text/html']]"),
        "Content-Type" => step("headers = [['Content-Type', 'text/html']]"),
        "name" => step("name = 'x'"),
        "[variables]" => variable("list = ['a']"),
        "csv" => variable("csv = 'users.csv'"),
        "list" => variable("list = ['a', 'b']"),
        "once = true" => variable("counter = 1, once = true"),
        "user_rate" => format!("user_rate = 5\n{}", step("")),
        "user_stages" => format!("user_stages = '1s:5'\n{}", step("")),
        "cookies = true" => format!("cookies = true\n{}", step("")),
        "[[step.branch]]" => "[[step]]\n[[step.branch]]\nstep = [{ get = '/' }]".to_owned(),
        "parts = [...]" => "[[step]]\nparts = [{ get = '/a' }]".to_owned(),
        "environment = \"NAME\"" => variable("environment = 'KEY'"),
        source if source.starts_with('{') => step(&format!("take = {{ x = {source} }}")),
        source if source.starts_with("counter") => variable(source),
        ask if ask.starts_with("get ") || ask.starts_with("post ") => format!("[[step]]\n{ask}"),
        ask if ask.starts_with("request ") => format!("[[step]]\n{ask}"),
        wait if wait.starts_with("wait ") => format!("[[step]]\n{wait}\n{}", step("")),
        keys => step(keys),
    }
}

#[test]
fn what_the_table_for_users_of_k6_says_can_be_written() {
    let all = words_for_k6();
    let (flags, keys): (Vec<&String>, Vec<&String>) =
        all.iter().partition(|words| words.starts_with('-'));
    assert!(keys.len() > 25 && flags.len() >= 4, "{all:?}");
    for words in keys {
        let text = shown_by(words);
        if let Err(mistake) = parse(&text) {
            panic!("{words}: {mistake}\n{text}");
        }
    }
    for flag in flags {
        let Some((_, condition)) = flag.split_once(" '") else {
            continue;
        };
        let read = condition.trim_end_matches('\'');
        let read = read.parse::<crate::threshold::Threshold>();
        assert!(read.is_ok(), "{flag}: {read:?}");
    }
}
