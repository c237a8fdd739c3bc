//! Man pages and completions, as other programs read them.

use std::fs;
use std::process::Command;

use crate::support::process::triathlon;

#[test]
fn there_is_a_page_for_each_subcommand_and_completions_for_each_shell() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("new");
    triathlon([std::ffi::OsStr::new("generate"), to.as_os_str()]).expect_code(0);
    let read = |name: &str| {
        let path = to.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    for page in [
        "triathlon",
        "triathlon-load",
        "triathlon-lab",
        "triathlon-serve",
    ] {
        let text = read(&format!("man1/{page}.1"));
        assert!(text.contains(".SH SYNOPSIS"), "{text}");
    }
    // Examples keep their lines.
    assert!(read("man1/triathlon-load.1").contains("\n  triathlon load "));
    for (name, option) in [
        ("triathlon.bash", "--samples"),
        ("_triathlon", "--samples"),
        ("triathlon.fish", "-l samples"),
    ] {
        let text = read(name);
        assert!(text.contains(option), "no {option} in {name}");
    }
    let mut bash = Command::new("bash");
    let read = bash.arg("-n").arg(to.join("triathlon.bash")).status();
    assert!(read.expect("bash starts").success());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    triathlon(["generate", "/dev/null/there"])
        .expect_code(1)
        .expect_complaint(&["cannot make /dev/null/there"]);
}
