use model::fixture;

use super::*;

/// Paths of homes are written so that no test names one of a machine.
fn at_home(text: &str) -> String {
    text.replace("HOME", "/home")
        .replace("USERS", "/Users")
        .replace("ROOT", "/root")
}

fn words() -> Words {
    let mut words = Collector::default();
    words.homes.extend(["/root", "~"].map(str::to_owned));
    words.read(&at_home(
        "in HOME/Alice/notes, USERS/bob and http://web-17.corp.example:80HOME/eve/x",
    ));
    words.names.insert("tulip".to_owned(), Kind::Given);
    words.finish()
}

#[test]
fn names_and_paths_are_replaced_alike_everywhere() {
    for (given, expected) in [
        ("HOME/Alice", "~"),
        ("HOME/Alice/a/b.toml x", "~/path-1 x"),
        ("see 'HOME/Alice/a b/c'.", "see '~/path-1'."),
        ("--x=USERS/bob/y:ROOT/z", "--x=~/path-1:~/path-2"),
        ("~/a ~ ~x", "~/path-1 ~ ~x"),
        ("ROOTfs /aROOT/b", "ROOTfs /aROOT/b"),
        ("alice's, ALICE_2, malice", "user-1's, user-1_2, malice"),
        ("WEB-17.corp.example web-17", "host-1 host-2"),
        ("corp.example", "host-1"),
        ("tulip Tulips xtulipx", "hidden-1 hidden-1s xhidden-1x"),
        ("http://u:p@h/", "http://(redacted)@h/"),
        ("nothing \u{e9}", "nothing \u{e9}"),
    ] {
        let mut words = words();
        let clean = words.replace(&at_home(given));
        assert_eq!(clean, at_home(expected), "{given}");
        assert_eq!(words.replace(&clean), clean, "again: {given}");
    }
}

#[test]
fn hosts_of_documents_are_those_that_were_asked() {
    let experiment = "[experiment]\nquestion = \"of https://wiki.corp.example/x?\"\n\
                      [[published]]\nsource = \"https://public.example/study\"\n\
                      [[workload.request]]\nheaders = [[\"Host\", \"vh9.corp.example:80\"],\n\
                      [\"Referer\", \"https://u:p@ref1.corp.example/\"], [\"Origin\",\n\
                      \"https://or1.corp.example\"], [\n\"Cookie\",\n\"session=abc\"]]\n";
    let mut trial = fixture::closed();
    trial.plan.requests[0].url = "https://db7.corp.example:8443/a".to_owned();
    let mut words = Collector::default();
    words.read(experiment);
    words.read(&serde_json::to_string(&trial).unwrap());
    words.read("<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    let mut words = words.finish();
    let clean = words.replace(experiment);
    for hidden in [
        "corp.example",
        "wiki",
        "vh9",
        "ref1",
        "or1",
        "session=abc",
        "u:p",
    ] {
        assert!(!clean.contains(hidden), "{hidden}: {clean}");
    }
    assert!(clean.contains("https://public.example/study"), "{clean}");
    let page = "<svg xmlns=\"http://www.w3.org/2000/svg\"> https://db7.corp.example:8443/a";
    let clean = words.replace(page);
    assert!(clean.contains("http://www.w3.org/2000/svg"), "{clean}");
    assert!(!clean.contains("db7"), "{clean}");
}

#[test]
fn agents_are_hosts() {
    let mut trial = fixture::closed();
    trial.agents = vec![fixture::share("rack7-left", 0..1, fixture::closed())];
    let mut words = Collector::default();
    words.read(&serde_json::to_string(&trial).unwrap());
    let clean = words.finish().replace("Agent rack7-left: slow");
    assert_eq!(clean, "Agent host-1: slow");
}

#[test]
fn what_was_replaced_is_counted() {
    let mut words = words();
    words.replace(&at_home("alice Alice bob HOME/Alice/x"));
    words.replace(&at_home("HOME/Alice/x"));
    let counts: Vec<(&str, u64)> = words.replaced().map(|(word, _, n)| (word, n)).collect();
    assert_eq!(
        counts,
        [
            (at_home("HOME/Alice/x").as_str(), 2),
            ("alice", 2),
            ("bob", 1)
        ]
    );
    assert_eq!(words.left_in(b"malice"), [("alice", 1)]);
}

#[test]
fn common_names_and_addresses_are_kept() {
    let mut words = Collector::default();
    words.read(&at_home(
        "HOME/ubuntu/x http://127.0.0.1/ http://localhost/ http://[::1]/",
    ));
    assert!(words.names.is_empty(), "{words:?}");
    assert_eq!(words.homes, [at_home("HOME/ubuntu")]);
}
