//! Every kernel setting that a rule names is one that is read and stored: else the rule would
//! answer `unknown` for ever.

use std::path::{Path, PathBuf};

use model::environment::settings::is_setting;

use crate::sysctl;

/// Names of settings in the strings of a source file.
fn settings(text: &str) -> Vec<String> {
    let mut strings = String::new();
    let mut is_string = false;
    let plain = text.replace("'\"'", "").replace("\\\"", "");
    for letter in plain.chars() {
        match letter {
            '"' => {
                is_string = !is_string;
                strings.push(' ');
            }
            letter if is_string => strings.push(letter),
            _ => {}
        }
    }
    names(&strings).map(str::to_owned).collect()
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    text.split(move |letter| !is_part(letter)).filter(|word| {
        let parts: Vec<&str> = word.split('.').collect();
        let is_root = ["fs", "kernel", "net", "vm"].contains(&parts[0]);
        is_root
            && parts.len() > 1
            && parts.iter().all(|part| !part.is_empty())
            && !word.ends_with(".rst")
    })
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains("tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn settings_are_found_in_sources() {
    let text = r#"kernel.and_then(|_| read("net.core.somaxconn")).say("see \" net.ipv4.tcp_rmem
        of admin-guide/sysctl/net.rst, not a.net.x") == '"' "#;
    assert_eq!(settings(text), ["net.core.somaxconn", "net.ipv4.tcp_rmem"]);
}

#[test]
fn every_setting_of_a_rule_is_stored() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for folder in ["checks", "doctor", "judge", "set"] {
        sources(&source.join(folder), &mut files);
    }
    let mut count = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for name in settings(&text) {
            count += 1;
            if name == "kernel.sched" {
                continue; // the beginning of several names
            }
            assert!(
                is_setting(&name),
                "{}: {name} is never read",
                file.display()
            );
        }
    }
    assert!(
        count > 20,
        "the rules name {count} settings: are they found at all?"
    );
}

#[test]
fn every_setting_that_a_file_is_judged_for_is_stored() {
    for name in sysctl::known_settings() {
        assert!(is_setting(name), "{name} is never read");
    }
}
