use super::*;
use crate::experiment::{Experiment, ExperimentFile};
use crate::plan::StepFile;

/// An experiment of a page and a picture with `load`, a table of JSON.
fn read(load: &str) -> Result<Experiment, String> {
    let text = format!(
        r#"{{
            "experiment": {{ "name": "n", "question": "q", "rounds": 1, "duration": "1s" }},
            "server": [{{ "product": "nginx" }}],
            "workload": [{{ "name": "site", "request": [
                {{ "name": "page", "body": {{ "bytes": 7 }} }},
                {{ "name": "picture", "body": {{ "bytes": 9 }} }}
            ] }}],
            "load": {load}
        }}"#
    );
    let file: ExperimentFile = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Experiment::try_from(file).map_err(|error| error.to_string())
}

/// Where a server has them.
fn contents(experiment: &Experiment) -> Contents {
    let named = |path: &str| Named {
        path: path.to_owned(),
        expect: None,
    };
    Contents::new(
        &experiment.workloads()[0],
        [named("/small/7"), named("/small/9")],
    )
}

const SESSION: &str = r#"{ "users": [10, 20], "ramp": "4s", "step": [
    { "get": "page" }, { "wait": "exp:1s" }, { "repeat": 7, "get": "picture" },
    { "name": "found", "get": "/search?q=${word}" }
], "variables": { "word": { "list": ["a", "b"] } } }"#;

#[test]
fn users_ask_for_contents_by_their_names_wherever_the_server_has_them() {
    let experiment = read(SESSION).unwrap();
    assert_eq!(experiment.connections(), [10, 20]);
    assert_eq!(experiment.users().ramp(), Span::from_s(4));
    let script = experiment
        .users()
        .script("http://[::1]:81/", &contents(&experiment))
        .unwrap();
    let asked = script.requests.iter();
    let asked = asked.map(|one| (one.name.as_deref().unwrap(), one.url.as_str()));
    let asked: Vec<_> = asked.collect();
    assert_eq!(
        asked[..2],
        [
            ("GET page", "http://[::1]:81/small/7"),
            ("GET picture", "http://[::1]:81/small/9")
        ]
    );
    assert_eq!(asked[2].0, "found");
    assert!(asked[2].1.starts_with("http://[::1]:81/search?q="));
    assert_eq!(script.steps.steps.len(), 4);
    let hurried = script.steps.without_waits();
    assert!(matches!(
        hurried.steps[..],
        [StepFile::Ask(0), StepFile::Repeat { .. }, StepFile::Ask(2)]
    ));
    assert_eq!(hurried.variables.len(), 1);
    assert!(script.steps.requests_alone().variables.is_empty());
}

#[test]
fn what_is_stored_is_read_as_the_same() {
    let experiment = read(SESSION).unwrap();
    let stored = serde_json::to_string(experiment.file()).unwrap();
    let file: ExperimentFile = serde_json::from_str(&stored).unwrap();
    assert_eq!(Experiment::try_from(file).unwrap(), experiment);
    // What says nothing of users is stored as it was before there were any.
    let plain = serde_json::to_value(read(r#"{ "connections": 1 }"#).unwrap().file()).unwrap();
    let keys: Vec<&String> = plain["load"].as_object().unwrap().keys().collect();
    for key in ["users", "think", "ramp", "step", "cookies", "variables"] {
        assert!(!keys.contains(&&key.to_owned()), "{key}");
    }
}

#[test]
fn users_may_think_before_each_request() {
    let experiment = read(r#"{ "users": 5, "think": "exp:20ms" }"#).unwrap();
    assert_eq!(
        experiment.users().think(),
        Some(Think::Exponential {
            mean: Span::from_ms(20)
        })
    );
    assert!(
        experiment
            .users()
            .script(NOBODY, &contents(&experiment))
            .is_none()
    );
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let check = |load: &str, expected: &str| {
        let said = read(load).unwrap_err();
        assert!(said.contains(expected), "{load}: {said}");
    };
    let step = r#""step": [{ "get": "page" }]"#;
    for (more, key) in [
        (r#""users": 1"#, "load.users"),
        (
            r#""connections": 1, "step": [{ "get": "page" }]"#,
            "load.step",
        ),
        (r#""connections": 1, "think": "1s""#, "load.think"),
    ] {
        check(
            &format!(r#"{{ "mode": "open", "rate": 5, {more} }}"#),
            &format!("{key}: users wait for answers, and an open loop does not"),
        );
        check(
            &format!(r#"{{ "protocol": "http2", "streams": 2, {more} }}"#),
            &format!("{key}: a user has one request under way"),
        );
    }
    check(
        r#"{ "users": 1, "connections": 1 }"#,
        "load.users: each user has a connection of its own",
    );
    check("{}", "load.connections: say how many");
    check(
        &format!(r#"{{ "users": 1, "think": "1s", {step} }}"#),
        "load.think: users wait where their steps say",
    );
    check(
        &format!(r#"{{ "users": 1, "ramp": "1s", "user_rate": 5, {step} }}"#),
        "load.ramp: users come as user_rate says",
    );
    let by_stages = r#""user_stages": ["1s:5"]"#;
    check(
        &format!(r#"{{ "users": 1, "ramp": "1s", {by_stages}, {step} }}"#),
        "load.ramp: users come as user_stages says",
    );
    check(
        &format!(r#"{{ "users": 1, "user_rate": 5, {by_stages}, {step} }}"#),
        "load.user_stages: they say at which rate users come: leave out user_rate",
    );
    check(
        &format!(r#"{{ "users": 1, "user_stages": ["1s:=0"], {step} }}"#),
        "load.user_stages: their mean rate is 0",
    );
    check(
        &format!(r#"{{ "users": 1, "user_arrivals": "fixed", {step} }}"#),
        "give user_rate, too",
    );
    check(r#"{ "users": 1, "think": "sometimes" }"#, "load.think: ");
    for key in [
        r#""ramp": "1s""#,
        r#""cookies": true"#,
        r#""user_rate": 5"#,
        by_stages,
        r#""user_arrivals": "fixed""#,
        r#""variables": { "a": { "counter": 1 } }"#,
    ] {
        check(
            &format!(r#"{{ "users": 1, {key} }}"#),
            "it is for users who take steps",
        );
    }
}

#[test]
fn a_mistake_in_a_step_is_told_with_its_place() {
    let check = |steps: &str, expected: &str| {
        let said = read(&format!(r#"{{ "users": 1, "step": [{steps}] }}"#)).unwrap_err();
        assert!(said.contains(expected), "{steps}: {said}");
    };
    check(
        r#"{ "get": "page" }, { "get": "pictur" }"#,
        "load.step[1]: workload 'site' has no request 'pictur', and a path begins with '/'; there \
         are page, picture",
    );
    check(
        r#"{ "get": "page" }, { "gett": "page" }"#,
        "load.step[1]: gett: no such key here",
    );
    check(
        r#"{ "get": "http://elsewhere/" }"#,
        "load.step[0]: the experiment says which server is asked",
    );
    check(
        r#"{ "post": "/a", "body_file": "a.txt" }"#,
        "an experiment is one file",
    );
    check(r#"{ "wait": "1s" }"#, "load.step: users ask for nothing");
    check(
        r#"{ "chance": "50%", "get": "page" }"#,
        "load.step: a user could reach the end without a request",
    );
}

#[test]
fn nothing_but_steps_says_what_is_asked() {
    let text = r#"{
        "experiment": { "name": "n", "question": "q", "rounds": 1, "duration": "1s" },
        "server": [{ "product": "nginx" }],
        "workload": [{ "name": "w", "request": [
            { "name": "a", "body": { "bytes": 7 } },
            { "name": "NAME", "body": { "bytes": 8 }, "weight": 2 }
        ] }],
        "load": { "users": 1, "step": [{ "get": "a" }] }
    }"#;
    let said = |text: &str| {
        let file: ExperimentFile = serde_json::from_str(text).unwrap();
        Experiment::try_from(file).unwrap_err().to_string()
    };
    let told = said(&text.replace("NAME", "b"));
    assert!(
        told.contains("workload[0].request[1]: [[load.step]] says how it is asked"),
        "{told}"
    );
    let told = said(&text.replace("NAME", "a"));
    assert!(told.contains("another request is called 'a'"), "{told}");
    let told = said(&text.replace("NAME", "/b"));
    assert!(told.contains("is a path or empty"), "{told}");
}
