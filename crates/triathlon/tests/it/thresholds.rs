//! Conditions that a run has to meet, judged by what nginx does: each is told with its value, and
//! the exit code follows them and the verdict.

use std::fs;
use std::path::Path;

use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, triathlon};

/// One connection gets no answer to its 200th request, and another one a refusal; what is slow
/// takes a second.
const LOCATIONS: &str = "keepalive_requests 1000000;
    location = /quick { return 200 'seven!'; }
    location = /gone { if ($connection_requests = 200) { return 444; } return 200 'seven!'; }
    location = /full { if ($connection_requests = 200) { return 503; } return 200 'seven!'; }
    location = /slow { root www; limit_rate 1000; }";

/// Runs with these conditions, of which each is met as it says: the code is 3 where the verdict
/// says that nothing is left, else 4 where a condition failed, and all stand in text and record.
#[track_caller]
fn check(words: &[&str], conditions: &[(&str, bool)]) -> Run {
    let mut words = words.to_vec();
    for (condition, _) in conditions {
        words.extend(["--threshold", condition]);
    }
    let text = triathlon(words.iter().copied());
    for (condition, is_met) in conditions {
        let told = format!("{condition}: ");
        let line = text.stdout.lines().find(|line| line.contains(&told));
        let end = if *is_met { ", met" } else { ", FAILED" };
        assert!(
            line.is_some_and(|line| line.contains(end)),
            "{condition}: {text:#?}"
        );
    }
    words.extend(["--json", "-"]);
    let run = triathlon(words);
    let trial = run.trial();
    let judged: Vec<(&str, bool)> = trial
        .thresholds
        .iter()
        .map(|one| (one.threshold.as_str(), one.met))
        .collect();
    assert_eq!(judged, conditions, "{run:#?}");
    assert!(trial.thresholds.iter().all(|one| one.value.is_some()));
    let code = match conditions.iter().all(|(_, is_met)| *is_met) {
        _ if trial.verdict.nothing_left() => 3,
        true => 0,
        false => 4,
    };
    run.expect_code(code)
}

fn start(nginx: &Path) -> Nginx {
    let nginx = Nginx::start_answering(nginx, "", LOCATIONS);
    nginx.put("slow", &[b'x'; 1_500]);
    nginx
}

#[test]
fn errors_are_counted_against_conditions() {
    let name = "errors_are_counted_against_conditions";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let nginx = start(&nginx);
    let flags = ["-R", "1000", "-n", "450", "-c", "1", "-t", "1"];
    // Two of 450: the connection is made anew after each.
    let gone = nginx.url("gone");
    let words: Vec<&str> = ["load", &gone].into_iter().chain(flags).collect();
    let conditions = [
        ("errors<2%", true),
        ("errors<0.1%", false),
        ("count>=440", true),
        ("count>450", false),
    ];
    let run = check(&words, &conditions);
    let value = run.trial().thresholds[1].value;
    assert!(
        value.is_some_and(|value| value > 0.002 && value < 0.01),
        "{run:#?}"
    );
    // One of 450 is another page than the others: its status leaves nothing of the run.
    let full = nginx.url("full");
    let words: Vec<&str> = ["load", &full].into_iter().chain(flags).collect();
    let conditions = [("errors<2%", true), ("errors<0.1%", false)];
    let run = check(&words, &conditions).expect_code(3);
    let value = run.trial().thresholds[1].value;
    assert!(
        value.is_some_and(|value| value > 0.002 && value < 0.01),
        "{run:#?}"
    );
}

#[test]
fn times_are_held_against_conditions() {
    let name = "times_are_held_against_conditions";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let nginx = start(&nginx);
    let slow = nginx.url("slow");
    let flags = ["-R", "40", "-n", "40", "-c", "40", "-t", "1"];
    let words: Vec<&str> = ["load", &slow].into_iter().chain(flags).collect();
    let conditions = [
        ("p(99)<500ms", false),
        ("p(99)<1m", true),
        ("service_time: min>900ms", true),
        ("med<900", false),
        ("errors<0.1%", true),
    ];
    let run = check(&words, &conditions);
    let value = run.trial().thresholds[0].value;
    assert!(value.is_some_and(|us| us > 900_000.0), "{run:#?}");
    let quick = nginx.url("quick");
    let flags = ["-R", "1000", "-n", "1000", "-c", "4", "-t", "1"];
    let words: Vec<&str> = ["load", &quick].into_iter().chain(flags).collect();
    check(&words, &[("p(99)<1m", true), ("errors<0.1%", true)]);
}

#[test]
fn each_step_is_held_against_conditions_of_its_own() {
    let name = "each_step_is_held_against_conditions_of_its_own";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let nginx = start(&nginx);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("steps.toml");
    let text = "[[step]]\nname = 'front'\nget = '/quick'\n\
                [[step]]\nname = 'photo'\nget = '/slow'\n\
                [[step]]\nname = 'cart'\nget = '/gone'\nrepeat = 199\n";
    fs::write(&path, text).expect("a script");
    let (url, path) = (nginx.url(""), path.display().to_string());
    let flags = ["-n", "804", "-c", "2", "-t", "1", "--timeout", "30s"];
    let words = ["load", &url, "--script", &path].into_iter().chain(flags);
    let words: Vec<&str> = words.collect();
    let conditions = [
        ("{front}: p(99)<1m", true),
        ("{photo}: p(99)<500ms", false),
        ("{photo}: service_time: min>900ms", true),
        ("{front}: errors<0.1%", true),
        ("{cart}: errors<0.1%", false),
        ("{cart}: errors<5%", true),
        ("{front}: count>=4", true),
    ];
    check(&words, &conditions);
    let met = [("{front}: p(99)<1m", true), ("{cart}: errors<5%", true)];
    check(&words, &met);
}
