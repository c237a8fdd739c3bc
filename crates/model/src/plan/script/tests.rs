use super::*;
use crate::plan::{Arrivals, Plan, Protocol, Stop};
use crate::units::{Rate, Span};

fn wait() -> StepFile {
    StepFile::Wait("1ms".parse().unwrap())
}

fn repeat(from: u32, to: u32, steps: Vec<StepFile>) -> StepFile {
    StepFile::Repeat { from, to, steps }
}

fn choose(ways: Vec<(u32, Vec<StepFile>)>) -> StepFile {
    let way = |(weight, steps)| WayFile { weight, steps };
    StepFile::Choose(ways.into_iter().map(way).collect())
}

fn check(steps: Vec<StepFile>, change: impl FnOnce(&mut PlanFile), expected: &str) {
    let mut file = crate::fixture::plan("http://h/", &[]);
    file.script = Some(ScriptFile {
        steps,
        ..ScriptFile::default()
    });
    change(&mut file);
    let told = match Plan::try_from(file) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert!(
        told.contains(expected) && told.is_empty() == expected.is_empty(),
        "{told}"
    );
}

#[test]
fn a_user_who_may_never_ask_is_refused() {
    let ask = || StepFile::Ask(0);
    for fine in [
        vec![ask()],
        vec![wait(), repeat(0, 3, vec![wait()]), ask()],
        vec![choose(vec![
            (1, vec![ask()]),
            (2, vec![wait(), ask()]),
            (0, vec![]),
        ])],
        vec![repeat(1, 1_000_000, vec![ask()])],
    ] {
        check(fine, |_| {}, "");
    }
    for without in [
        vec![],
        vec![wait()],
        vec![repeat(0, 2, vec![ask()])],
        vec![choose(vec![(1, vec![ask()]), (1, vec![wait()])])],
    ] {
        check(without, |_| {}, "without a request");
    }
    let rare = choose(vec![(1, vec![ask()]), (9, vec![])]);
    let thousand = repeat(1_000, 1_000, vec![repeat(1_000, 1_000, vec![rare])]);
    check(vec![ask(), thousand], |_| {}, "more than 10,000 steps");
}

#[test]
fn the_rate_of_users_who_come_may_change() {
    let ask = || vec![StepFile::Ask(0)];
    let stage = || vec!["10s:=8".parse().unwrap()];
    let come = |file: &mut PlanFile| {
        let rate_per_1000_s = Rate::per_second(8);
        file.script.as_mut().unwrap().arrivals = Arrivals::Fixed { rate_per_1000_s };
        file.stages = stage();
        file.stop = Stop::DurationNs(Span::from_s(10));
    };
    check(ask(), come, "");
    check(
        ask(),
        |file| file.stages = stage(),
        "closed loop has no rate",
    );
    let longer = |file: &mut PlanFile| {
        come(file);
        file.stop = Stop::DurationNs(Span::from_s(11));
    };
    check(ask(), longer, "as long as they are");
}

#[test]
fn a_script_goes_with_a_closed_loop_and_its_own_waits() {
    let ask = || vec![StepFile::Ask(0)];
    let rate_per_1000_s = Rate::per_second(1);
    let fixed = Arrivals::Fixed { rate_per_1000_s };
    check(ask(), |file| file.arrivals = fixed, "no rate");
    check(ask(), |file| file.pipeline = 2, "one request under way");
    check(ask(), |file| file.think = "1s".parse().ok(), "think time");
    check(vec![StepFile::Ask(1)], |_| {}, "request 1 of 1");
    check(
        vec![repeat(3, 2, ask())],
        |_| {},
        "the smaller number first",
    );
    check(vec![choose(vec![])], |_| {}, "weight of 1 or more");
}

#[test]
fn what_is_asked_together_goes_with_the_connections_of_a_user() {
    let page = || vec![StepFile::Ask(0), StepFile::Together(vec![0, 0])];
    let each = |count: u32| {
        move |file: &mut PlanFile| {
            file.script.as_mut().unwrap().user_connections = Some(count);
            file.seat_users();
        }
    };
    check(page(), |_| {}, "");
    check(page(), each(6), "");
    check(page(), |file| file.pipeline = 2, "");
    check(page(), each(65), "give 1 to 64");
    check(page(), each(0), "give 1 to 64");
    check(vec![StepFile::Ask(0)], each(2), "for steps with parts");
    check(vec![StepFile::Together(vec![])], |_| {}, "at least one");
    check(vec![StepFile::Together(vec![1])], |_| {}, "request 1 of 1");
    let odd = |file: &mut PlanFile| {
        each(2)(file);
        file.connections += 1;
    };
    check(page(), odd, "give a multiple");
    let crowded = |file: &mut PlanFile| {
        each(2)(file);
        file.workers = file.connections;
    };
    check(page(), crowded, "more threads than users");
    let reading = |file: &mut PlanFile| {
        file.pipeline = 2;
        let script = file.script.as_mut().unwrap();
        script.variables = vec![variable("x", SourceFile::Answer)];
        script.answers = take("x", FromFile::Header("A".to_owned()));
    };
    check(page(), reading, "a part cannot have them");
}

/// Over HTTP/1.1 a user gets several connections, over HTTP/2 and HTTP/3 one with several streams.
#[test]
fn users_are_seated_by_the_protocol() {
    let seated = |protocol: Protocol, streams: u32, parts: usize| {
        let mut file = crate::fixture::plan("https://h/", &[]);
        (file.protocol, file.streams) = (protocol, streams);
        (file.connections, file.workers) = (3, 2);
        file.script = Some(ScriptFile {
            steps: vec![StepFile::Together(vec![0; parts])],
            user_connections: Some(6),
            ..ScriptFile::default()
        });
        file.seat_users();
        let plan = Plan::try_from(file.clone()).unwrap();
        assert_eq!((plan.users_of(0), plan.users_of(1)), (2, 1));
        let held = plan.connections_of(0) + plan.connections_of(1);
        assert_eq!(held, file.connections);
        assert_eq!(file.share(&(0..1)).connections, plan.connections_of(0));
        (file.connections, file.streams)
    };
    assert_eq!(seated(Protocol::Http1, 1, 9), (18, 1));
    assert_eq!(seated(Protocol::Http2, 1, 9), (3, 9));
    assert_eq!(seated(Protocol::Http3, 4, 9), (3, 4));
    assert_eq!(seated(Protocol::Http2, 1, 900), (3, 100));
}

/// With a variable `x`.
fn check_script(change: impl FnOnce(&mut PlanFile, &mut ScriptFile), expected: &str) {
    let steps = vec![StepFile::Ask(0)];
    let change = |file: &mut PlanFile| {
        let mut script = file.script.take().unwrap();
        let source = SourceFile::Counter { from: 1 };
        script.variables = vec![variable("x", source)];
        change(file, &mut script);
        file.script = Some(script);
    };
    check(steps, change, expected);
}

fn variable(name: &str, source: SourceFile) -> VariableFile {
    VariableFile {
        name: name.to_owned(),
        once: false,
        secret: false,
        source,
    }
}

fn take(variable: &str, from: FromFile) -> Vec<AnswerFile> {
    vec![AnswerFile {
        request: 0,
        takes: vec![TakeFile {
            variable: variable.to_owned(),
            from,
        }],
        contains: None,
    }]
}

#[test]
fn what_users_take_is_there_to_be_taken() {
    let check = |answers: Vec<AnswerFile>, expected: &str| {
        check_script(|_, script| script.answers = answers, expected);
    };
    let header = || FromFile::Header("A".to_owned());
    check(take("x", header()), "");
    check(take("y", header()), "no variable 'y'");
    check(
        take("x", FromFile::Json("a".to_owned())),
        "not a JSON pointer",
    );
    let pattern = FromFile::Pattern("(".to_owned());
    check(take("x", pattern), "not a regular expression");
    let mut other = take("x", header());
    other[0].request = 1;
    check(other, "no request 1");
}

#[test]
fn a_variable_has_a_name_and_a_value() {
    let check = |name: &str, source: SourceFile, expected: &str| {
        let change = |_: &mut PlanFile, script: &mut ScriptFile| {
            script.variables.push(variable(name, source));
        };
        check_script(change, expected);
    };
    let list = |values: &[&str]| SourceFile::List {
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        random: false,
        draw: 0,
    };
    check("y", list(&["1"]), "");
    check("x", SourceFile::Answer, "two variables");
    check("y", list(&[]), "at least one value");
    check("y", list(&[REDACTED]), "values of y were taken out");
    check("a b", list(&["1"]), "cannot be the name");
}

#[test]
fn requests_that_differ_go_over_any_protocol() {
    for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Http3] {
        let all = |file: &mut PlanFile, script: &mut ScriptFile| {
            file.protocol = protocol;
            file.requests[0].url = "https://h/${x}".to_owned();
            script.answers = take("x", FromFile::Header("A".to_owned()));
            script.cookies = true;
        };
        check_script(all, "");
    }
}

#[test]
fn as_many_connections_are_wanted_as_pages_need() {
    let check = |steps: Vec<StepFile>, each: u32, expected: u32| {
        let urls = ["http://a.test/", "http://a.test/x", "http://b.test/"];
        let mut file = crate::fixture::plan(urls[0], &[]);
        file.requests = urls.iter().map(|url| RequestFile::get(*url)).collect();
        file.connections = 10;
        file.script = Some(ScriptFile {
            steps,
            user_connections: Some(each),
            ..ScriptFile::default()
        });
        file.seat_users();
        assert_eq!(file.connections, 10 * 2 * each);
        assert_eq!(file.connections_wanted(), expected);
        file
    };
    let ask = |class| StepFile::Ask(class);
    check(vec![ask(0), ask(2)], 1, 20);
    // One to a server at a time, and never one to the other.
    check(vec![ask(0), ask(1)], 6, 10);
    let parts = || StepFile::Together(vec![0, 1, 1, 2]);
    check(vec![ask(0), parts()], 6, 40);
    check(vec![ask(0), repeat(1, 2, vec![parts()])], 2, 30);
    let mut file = check(vec![parts()], 6, 40);
    file.pipeline = 2;
    assert_eq!(file.connections_wanted(), 30);
    // What chance decides is asked by some.
    check(vec![ask(0), repeat(0, 1, vec![parts()])], 6, 10);
    check(
        vec![choose(vec![(1, vec![ask(0)]), (1, vec![ask(2)])])],
        6,
        10,
    );
    let plain = crate::fixture::plan("http://h/", &[]);
    assert_eq!(plain.connections_wanted(), plain.connections);
}
