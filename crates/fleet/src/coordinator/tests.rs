use model::Environment;

use super::*;

fn announcement(name: &str, label: &str) -> Announcement {
    Announcement {
        name: name.parse().unwrap(),
        version: "0.0.0".to_owned(),
        role: Role::Load,
        labels: [("rack".to_owned(), label.to_owned())].into(),
        targets: Vec::new(),
        may_start_servers: false,
        cpus: vec![0],
        ceiling: None,
        busy: None,
        environment: Environment::default(),
    }
}

fn wanted(text: &str) -> Vec<Wanted> {
    let parts = text.split(',');
    parts.map(|part| part.parse().unwrap()).collect()
}

#[test]
fn agents_are_wanted_by_name_or_by_label() {
    let found = || {
        vec![
            announcement("a", "one"),
            announcement("b", "two"),
            announcement("c", "one"),
        ]
    };
    let check = |text: &str, expected: &[&str]| {
        let chosen = select(found(), &wanted(text)).unwrap();
        let names: Vec<&str> = chosen.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, expected, "{text}");
    };
    check("b", &["b"]);
    check("c,a", &["a", "c"]);
    check("rack=one", &["a", "c"]);
    // One that is wanted twice makes its part once.
    check("rack=one,a,b", &["a", "b", "c"]);
    let missing = |found: Vec<Announcement>, text: &str, words: &str| {
        let said = select(found, &wanted(text)).unwrap_err().to_string();
        assert!(said.contains(words), "{text}: {said}");
    };
    missing(found(), "a,d", "no agent 'd' (there are a, b, c)");
    missing(found(), "rack=three", "no agent with the label rack=three");
    missing(Vec::new(), "a", "there is none at all");
}

#[test]
fn a_name_that_two_agents_have_matters_to_those_who_want_it() {
    let found = || {
        vec![
            announcement("a", "one"),
            announcement("b", "two"),
            announcement("b", "three"),
        ]
    };
    assert_eq!(select(found(), &wanted("a")).unwrap().len(), 1);
    for text in ["b", "a,b"] {
        let said = select(found(), &wanted(text)).unwrap_err().to_string();
        assert!(
            said.contains("agent 'b': two agents have this name"),
            "{said}"
        );
    }
}

#[test]
fn what_names_no_agent_is_refused() {
    assert!("a b".parse::<Wanted>().is_err());
    assert!("=x".parse::<Wanted>().is_err());
    assert!("".parse::<Wanted>().is_err());
}
