//! What a person at a terminal sees while load is made.

use std::process::Command;

use crate::support::process::{Running, load, program, signal};
use crate::support::stub::{Next, RIGHT, Stub, send};
use crate::support::{need, wait_until};

/// A log has lines and no pictures; the result follows on standard output, by itself.
#[test]
fn without_a_terminal_a_long_run_says_how_it_goes() {
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    let run = load(&server.url(), "-R 50 -c 2 -d 11s --warmup 0s").expect_measured();
    let said = run.stderr.lines().filter(|line| line.contains(" per s"));
    let said: Vec<&str> = said.collect();
    let [line] = said.as_slice() else {
        panic!("{run:#?}");
    };
    assert!(line.contains("s of 11.0 s: "), "{line}");
    for words in [" right per s, median ", ", p99 ", " failed, 2 connections"] {
        assert!(line.contains(words), "{line}");
    }
    assert!(!run.stdout.contains("right per s, median"), "{run:#?}");
}

#[test]
fn a_terminal_shows_the_run_and_keeps_the_result() {
    let Some([script]) = need("a_terminal_shows_the_run_and_keeps_the_result", ["script"]) else {
        return;
    };
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    // It gives a program a terminal, and repeats what is said there.
    let own = program();
    let words = format!(
        "{own} load {} -c 2 --think 5ms -d 2500ms --warmup 0s",
        server.url()
    );
    let mut command = Command::new(script);
    command.args(["-qec", &words, "/dev/null"]);
    command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
    let run = Running::start(&mut command).finish().expect_measured();
    let lines = |text: &str| text.matches("right per s").count();
    assert!(lines(&run.stdout) >= 2, "once for each interval: {run:#?}");
    for words in ["measuring", "headroom", "█", "░", "over 2 connections"] {
        assert!(run.stdout.contains(words), "no '{words}' in {run:#?}");
    }
    let (_, rest) = run.stdout.rsplit_once("\x1b[J").expect("it is erased");
    assert_eq!(lines(rest), 0, "{rest}");
    // What the claims come to is the machine's matter: here both sides may share a CPU.
    assert!(rest.contains("capacity "), "{rest}");
}

/// What a terminal is told of a program that has it for standard output and standard error.
fn at_a_terminal(script: &std::path::Path, words: &str) -> String {
    at_one("xterm", script, words)
}

/// The same of a terminal of that kind.
fn at_one(kind: &str, script: &std::path::Path, words: &str) -> String {
    let mut command = Command::new(script);
    command.args(["-qec", &format!("{} {words}", program()), "/dev/null"]);
    command.env("LC_ALL", "C.UTF-8").env("TERM", kind);
    Running::start(&mut command).finish().stdout
}

#[test]
fn what_is_drawn_fits_a_small_terminal() {
    let Some([script, _]) = need("what_is_drawn_fits_a_small_terminal", ["script", "stty"]) else {
        return;
    };
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    let own = program();
    let words = format!(
        "stty cols 25 rows 4; {own} load {} -c 2 --think 5ms -d 2500ms --warmup 0s",
        server.url()
    );
    let mut command = Command::new(script);
    command.args(["-qec", &words, "/dev/null"]);
    command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
    let run = Running::start(&mut command).finish().expect_measured();
    let (drawn, _) = run.stdout.rsplit_once("\x1b[J").expect("it is erased");
    assert!(drawn.contains("measuring   1.00 s"), "{run:#?}");
    for one in drawn.split("\x1b[J").skip(1) {
        let lines = one.split('\x1b').next().unwrap_or_default();
        let lines: Vec<&str> = lines.split('\n').map(str::trim_end).collect();
        assert!(lines.len() <= 4, "{lines:#?}");
        let fits = |line: &&str| line.chars().count() < 25;
        assert!(lines.iter().all(fits), "{lines:#?}");
    }
}

/// What was drawn, line by line, each time; not the last time, which may not be whole.
fn pictures(said: &str) -> Vec<Vec<&str>> {
    let drawn = said.split("\x1b[J").skip(1);
    let lines = drawn.map(|one| one.split('\x1b').next().unwrap_or_default());
    let mut all: Vec<Vec<&str>> = lines
        .map(|lines| lines.split('\n').map(str::trim_end).collect())
        .collect();
    all.pop();
    all
}

/// A terminal that becomes smaller, and larger again.
#[test]
fn what_is_drawn_fits_a_terminal_as_large_as_it_is_now() {
    let name = "what_is_drawn_fits_a_terminal_as_large_as_it_is_now";
    let Some([script, stty, _]) = need(name, ["script", "stty", "tty"]) else {
        return;
    };
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    let (own, url) = (program(), server.url());
    let words = format!(
        "tty; echo $$; stty cols 80 rows 24; exec {own} load {url} -c 2 --think 5ms -d 100s \
         --warmup 0s"
    );
    let mut command = Command::new(script);
    command.args(["-qec", &words, "/dev/null"]);
    command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
    command.env("SHELL", "/bin/sh");
    let running = Running::start(&mut command);
    let is_large = |lines: &[&str]| lines.len() > 4;
    let is_small = |lines: &[&str]| {
        let fits = |line: &&str| line.chars().count() < 25;
        lines.len() <= 4 && lines.iter().all(fits)
    };
    // Those that are drawn from now on come to be like that.
    let wait_for = |what: &str, is_it: &dyn Fn(&[&str]) -> bool| {
        let seen = pictures(&running.stdout()).len();
        wait_until(what, || {
            let said = running.stdout();
            pictures(&said).iter().skip(seen).any(|lines| is_it(lines))
        });
    };
    wait_for("all of it is drawn", &is_large);
    let said = running.stdout();
    let mut lines = said.lines().map(str::trim_end);
    let (terminal, pid) = (lines.next(), lines.next());
    let terminal = terminal.expect("the name of the terminal");
    let resize = |size: [&str; 4]| {
        let mut stty = Command::new(&stty);
        let ended = stty.args(["-F", terminal]).args(size).status();
        assert!(ended.expect("stty runs").success(), "{terminal}");
    };
    resize(["cols", "25", "rows", "4"]);
    wait_for("it is drawn smaller", &is_small);
    resize(["cols", "80", "rows", "24"]);
    wait_for("it is drawn larger", &is_large);
    signal("INT", pid.expect("its number"));
    let run = running.finish();
    let (_, rest) = run.stdout.rsplit_once("\x1b[J").expect("it is erased");
    assert!(rest.contains("capacity "), "{run:#?}");
}

#[test]
fn nothing_is_drawn_at_a_terminal_that_has_only_lines() {
    let name = "nothing_is_drawn_at_a_terminal_that_has_only_lines";
    let Some([script]) = need(name, ["script"]) else {
        return;
    };
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    let words = format!(
        "load {} -c 1 --think 5ms -d 1200ms --warmup 0s",
        server.url()
    );
    let said = at_one("dumb", &script, &words);
    assert!(
        said.contains("capacity ") && !said.contains('\x1b'),
        "{said:?}"
    );
}

/// A picture that is drawn anew would erase them.
#[test]
fn lines_for_a_program_are_not_drawn_over_at_a_terminal() {
    let name = "lines_for_a_program_are_not_drawn_over_at_a_terminal";
    let Some([script]) = need(name, ["script"]) else {
        return;
    };
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    let flags = "-R 50 -c 2 -d 2s --warmup 0s --series -";
    let said = at_a_terminal(&script, &format!("load {} {flags}", server.url()));
    let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
    let is_whole = |line: &&&str| line.starts_with("{\"second\"") && line.ends_with('}');
    assert!(lines.iter().filter(is_whole).count() >= 2, "{said:?}");
    assert!(!said.contains("\x1b["), "{said:?}");
}

#[test]
fn an_error_stands_alone_at_a_terminal() {
    let Some([script]) = need("an_error_stands_alone_at_a_terminal", ["script"]) else {
        return;
    };
    let nobody = crate::support::reserve();
    let words = format!("load http://{}/ -d 1s", nobody.address);
    let said = at_a_terminal(&script, &words);
    let (before, _) = said.split_once("cannot connect").expect("it says why");
    let line = before.rsplit(['\n', '\r']).next().expect("there is one");
    let shown = line.rsplit_once("\x1b[J").map_or(line, |(_, rest)| rest);
    assert_eq!(shown, "triathlon: ", "{said:?}");
}
