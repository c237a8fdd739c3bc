//! Bad input and a bad world: one clear sentence, the right exit code, nothing lost.

use std::fs::{self, File};
use std::net::TcpListener;
use std::process::Stdio;

use model::PlanFile;
use model::event::Event;

use crate::support::process::{Running, command, program, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, send};
use crate::support::{LIMIT, isolated, need, plan, reserve};

/// The program fails with `code`, prints nothing on stdout, and its complaint has these words.
#[track_caller]
fn check(arguments: &str, code: i32, words: &[&str]) {
    let run = triathlon(arguments.split_whitespace())
        .expect_code(code)
        .expect_complaint(words);
    assert_eq!(run.stdout, "", "{run:#?}");
    let ours: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("triathlon:") || line.starts_with("error:"))
        .collect();
    assert_eq!(ours.len(), 1, "one sentence: {run:#?}");
    let causes = run.stderr.matches("os error").count();
    assert!(causes <= 1, "the cause once: {run:#?}");
}

#[test]
fn a_number_below_zero_is_a_value_and_no_flag() {
    check(
        "load http://127.0.0.1:1/ -n -1",
        2,
        &["invalid value", "'-1'", "--requests"],
    );
    check(
        "load http://127.0.0.1:1/ --connections -5",
        2,
        &["invalid value", "'-5'"],
    );
}

/// What `--json` wrote has a plan in it, and is none.
#[test]
fn a_result_in_the_place_of_its_plan_is_told() {
    let server = Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    });
    let folder = tempfile::tempdir().expect("a folder");
    let result = folder.path().join("result.json");
    let result = result.to_str().expect("a path of letters");
    let url = server.url();
    triathlon([
        "load", &url, "-n", "2", "-c", "1", "--warmup", "0s", "--json", result,
    ])
    .expect_measured();
    check(
        &format!("load --plan {result}"),
        2,
        &["is not a plan", "it is a result", "its key plan"],
    );
}

#[test]
fn a_world_that_fails() {
    let nobody = reserve();
    let closed = nobody.address;
    check(
        &format!("load https://{closed}/ -k --http3 -n 1"),
        1,
        &[
            "refused",
            "does the server offer HTTP/3, on that port for UDP?",
        ],
    );
    check(
        "load http://no-such-host.invalid/ -n 1",
        1,
        &["no-such-host.invalid"],
    );
    check(
        &format!("load http://{closed}/ -n 1"),
        1,
        &["refused", &closed.to_string()],
    );
    check(
        "load http://127.0.0.1/ --data @no/such/file",
        1,
        &["no/such/file"],
    );
    check("load --plan no/such/plan.json", 1, &["no/such/plan.json"]);
    check(
        "load http://127.0.0.1:9/ -n 1 --interface 203.0.113.1",
        1,
        &["--interface", "source address"],
    );
    for flag in ["--json", "--samples"] {
        check(
            &format!("load http://{closed}/ -n 1 {flag} no/such/folder/file"),
            1,
            &["no/such/folder/file"],
        );
    }
    for flag in ["-p", "-u"] {
        let said = format!("ab: {flag}: cannot read no/such/file");
        check(
            &format!("ab {flag} no/such/file http://{closed}/"),
            1,
            &[&said],
        );
    }
    check(
        "hey -D no/such/file http://127.0.0.1/",
        1,
        &["hey: -D: cannot read no/such/file"],
    );
    check("judge no/such/trial.json", 1, &["no/such/trial.json"]);
    check("serve no/such/folder", 1, &["no/such/folder"]);
    check(
        "lab no/such/experiment.toml",
        1,
        &["no/such/experiment.toml"],
    );
    check("report no/such/results", 1, &["no/such/results"]);
    check("compare no/such/a no/such/b", 1, &["no/such/a"]);
    check("doctor --sysctl no/such.conf", 1, &["no/such.conf"]);
}

#[test]
fn wrong_usage() {
    let url = "http://127.0.0.1:9/";
    for (arguments, words) in [
        ("frobnicate".to_owned(), &["frobnicate"][..]),
        (
            "load".to_owned(),
            &["url", "http://127.0.0.1:8080/", "--script"],
        ),
        (
            "load ftp://127.0.0.1/".to_owned(),
            &["ftp://127.0.0.1/", "http://"],
        ),
        ("load http:///path".to_owned(), &["host"]),
        ("load http:/x".to_owned(), &["http:/x", "two slashes"]),
        (
            "load http://127.0.0.1:99999/".to_owned(),
            &["port", "65535"],
        ),
        ("load http://::1/".to_owned(), &["brackets"]),
        (format!("load {url} -c many"), &["many", "-c"]),
        (format!("load {url} -c 0"), &["connections", "1"]),
        (format!("load {url} -d 10parsecs"), &["10parsecs"]),
        (format!("load {url} -d 0s"), &["more than 0"]),
        (
            format!("load {url} -n 5 -d 5s"),
            &["--requests", "--duration"],
        ),
        (
            format!("load {url} -n 5 --json x.out --samples x.out"),
            &["--json and --samples both write x.out"],
        ),
        (
            format!("load {url} -n 5 --hgrm -"),
            &["--hgrm -", "name one"],
        ),
        (
            format!("load {url} http://127.0.0.1:8/ --raw x"),
            &["--raw", "http://127.0.0.1:8/", "one server"],
        ),
        (format!("load {url} --expect-status 99"), &["99", "100"]),
        (format!("load {url} -R 0"), &["rate"]),
        (format!("load {url} -R=-5"), &["-5"]),
        (format!("load {url} --interface 127.0.0"), &["ip address"]),
        (
            format!("load {url} --expect everything"),
            &["everything", "body"],
        ),
        (format!("load {url} --cpus 0-"), &["0-"]),
        (format!("load {url} --conections 5"), &["--conections"]),
        ("serve . --listen somewhere".to_owned(), &["somewhere"]),
        (
            "serve . --listen 127.0.0.1".to_owned(),
            &["addr:port", "127.0.0.1:8080"],
        ),
        (
            "lab first-heat workload=small".to_owned(),
            &["workload=small", "name", "workload[0]"],
        ),
        (
            "lab first-heat --resume no/such/folder".to_owned(),
            &["--resume", "no/such/folder"],
        ),
        (
            "lab no-such-experiment".to_owned(),
            &["no-such-experiment", "first-heat"],
        ),
    ] {
        check(&arguments, 2, words);
    }
}

#[test]
fn what_is_wanted_is_told() {
    for (flags, words) in [
        ("--seed -1", "give a whole number, 0 or more"),
        ("--expect-length -1", "give a whole number, 0 or more"),
        ("--weights 9:1", "with commas between them: 9,1"),
        (
            "--hgrm x.out --series ./x.out",
            "--hgrm and --series both write ./x.out",
        ),
    ] {
        check(&format!("load http://127.0.0.1:9/ {flags}"), 2, &[words]);
    }
}

#[test]
fn a_flag_is_named_as_it_was_typed() {
    let url = "http://127.0.0.1:9/";
    for (arguments, words) in [
        (
            format!("load {url} -H no-colon"),
            &["-h/--header", "no-colon", "value"][..],
        ),
        (format!("load {url} -H a(b:c"), &["-h/--header", "a(b"]),
        (
            format!("load {url} --expect-sha256 abc"),
            &["--expect-sha256", "64"],
        ),
        (
            format!("load {url} -H Content-Length:7"),
            &["content-length"],
        ),
        (
            format!("load {url} --request G(T"),
            &["--request", "g(t", "method"],
        ),
        (format!("load {url} --timeout 0s"), &["timeout"]),
        (format!("load {url} -c 2 -t 4"), &["threads", "connections"]),
    ] {
        check(&arguments, 2, words);
    }
}

/// Of two workers one cannot be bound to its CPU: the other one asks for nothing either.
#[test]
fn a_worker_that_cannot_be_prepared_ends_the_load_before_it_begins() {
    let server = right();
    let here = sys::cpu::allowed().expect("a CPU")[0];
    let plan = PlanFile {
        cpus: vec![here, 9_999],
        ..plan::paced(&server.url(), 1_000, 60)
    };
    let run = plan::start(&plan).finish().expect_code(1);
    let last = plan::events(&run.stdout).pop();
    let is_told = matches!(
        &last,
        Some(Event::Failed { error }) if error.contains("cannot start worker 1 on CPU 9999")
    );
    assert!(is_told, "{run:#?}");
    // What answers are held against is asked for twice.
    assert_eq!(server.requests(), 2, "{run:#?}");
}

#[test]
fn a_port_in_use() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = holder.local_addr().expect("a listener has an address");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().display();
    check(
        &format!("serve {folder} --listen {address}"),
        1,
        &["in use", &address.to_string()],
    );
}

#[test]
fn a_file_that_is_no_trial_and_a_plan_that_is_no_plan() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file.json");
    fs::write(&path, "{\"format\": 1}").expect("a file");
    check(
        &format!("judge {}", path.display()),
        1,
        &["file.json", "not a trial"],
    );
    let search = r#"{"format": 1, "objective": ["p(99)<5ms"], "answer": {}, "trials": []}"#;
    fs::write(&path, search).expect("a file");
    for command in ["report", "judge"] {
        let words = format!("{command} {}", path.display());
        check(&words, 1, &["file.json", "search for the capacity"]);
    }
    fs::write(&path, "{\"format\": 99, \"requests\": []}").expect("a file");
    let plan = format!("load --plan {}", path.display());
    let run = triathlon(plan.split_whitespace());
    assert!(matches!(run.code, Some(1 | 2)), "{run:#?}");
    assert!(!run.stderr.contains("panicked"), "{run:#?}");
}

fn right() -> Stub {
    Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    })
}

#[test]
fn no_room_for_the_trial_loses_nothing() {
    let server = right();
    let url = server.url();
    let flags = "-n 40 -c 4 -t 1 --warmup 0s --json /dev/full";
    let run = triathlon(["load", &url].into_iter().chain(flags.split(' ')))
        .expect_code(1)
        .expect_complaint(&["/dev/full", "space"]);
    // What was measured was printed all the same.
    assert!(run.stdout.contains("40"), "{run:#?}");
    // Where nothing can be lost, several go to the same place.
    let flags = "-n 40 -c 4 -t 1 --warmup 0s --json /dev/null --samples /dev/null";
    triathlon(["load", &url].into_iter().chain(flags.split(' '))).expect_measured();
}

#[test]
fn a_file_that_may_not_grow_loses_nothing() {
    let server = right();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let trial = folder.path().join("trial.json");
    let mut shell = std::process::Command::new("sh");
    // One block: 512 or 1,024 bytes, as the shell counts.
    shell.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]);
    shell.arg(program()).args(["load", &server.url()]);
    shell.args("-n 40 -c 4 -t 1 --warmup 0s --json".split(' '));
    // What it prints goes into pipes: in files it would have no room either.
    let output = shell.arg(&trial).output().expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("trial.json: File too large"), "{told}");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("40 in "), "{shown}");
}

#[test]
fn nobody_reads_what_is_printed() {
    let server = right();
    let url = server.url();
    let mut quiet = command([
        "load", &url, "-n", "40", "-c", "4", "-t", "1", "--warmup", "0s",
    ]);
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full device");
    let mut child = quiet
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("piped"), &mut stderr)
        .expect("stderr can be read");
    let code = child.wait().expect("it ends").code();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn help_that_nobody_takes_is_an_error() {
    for words in [&["--help"][..], &["load", "--help"], &["--version"]] {
        let full = File::options().write(true).open("/dev/full");
        let mut child = command(words);
        child.stdout(full.expect("a full device"));
        child.stderr(Stdio::piped());
        let output = child.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("standard output"), "{words:?}: {said}");
    }
}

#[test]
fn an_experiment_with_a_slip_of_the_pen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("slip.toml");
    let listing = triathlon(["lab", "first-heat", "--list"]);
    assert_eq!(listing.code, Some(0), "{listing:#?}");
    fs::write(
        &path,
        "[experiment]\nname = \"slip\"\nquestion = \"?\"\nronuds = 6\n",
    )
    .expect("a file");
    check(
        &format!("lab {}", path.display()),
        2,
        &["slip.toml", "ronuds", "rounds", "4"],
    );
    fs::write(&path, "[experiment\n").expect("a file");
    check(&format!("lab {}", path.display()), 2, &["slip.toml", "1"]);
    check("lab first-heat ronuds=3", 2, &["ronuds", "rounds"]);
    let text = "[experiment]\nname = \"slip\"\nquestion = \"?\"\nrounds = 1\nduration = \"1s\"\n\
        [[server]]\nproduct = \"origin\"\npreset = \"tuned\"\n\
        [[workload]]\nname = \"w\"\nbody = { bytes = 7 }\n[load]\nconnections = [1]\n";
    let results = folder.path().join("results");
    let slip = |from: &str, to: &str, words: &[&str]| {
        fs::write(&path, text.replace(from, to)).expect("a file");
        for flag in ["", "--list", "--verify"] {
            let arguments = format!(
                "lab {} {flag} --results {}",
                path.display(),
                results.display()
            );
            check(&arguments, 2, words);
        }
    };
    let words = [
        "slip.toml:7",
        "server[0].product",
        "'origin'",
        "lab --list servers",
    ];
    slip("origin", "orgin", &words);
    let words = [
        "slip.toml:8",
        "server[0].preset",
        "tund",
        "'tuned'",
        "stock",
        "template",
    ];
    slip("tuned", "tund", &words);
    let words = ["server=nginxx", "'nginx'", "lab --list servers"];
    check("lab first-heat server=nginxx --list", 2, &words);
    assert!(!results.exists(), "nothing is created");
}

#[test]
fn no_room_for_results_is_told_and_what_is_there_stays() {
    let name = "no_room_for_results_is_told_and_what_is_there_stays";
    let Some([_]) = need(name, ["unshare"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Room for some trials, then none; afterwards what is there is copied out.
    let script = "mount -t tmpfs -o size=320k none \"$1\" && shift; \"$@\"; code=$?; \
        find \"$TRI_FOLDER\" -name '*.json' | while read -r file; do cat \"$file\"; echo; done; \
        exit $code";
    let Some(mut command) = isolated(name, script) else {
        return;
    };
    command.env("TRI_FOLDER", folder.path()).arg(folder.path());
    command
        .arg(program())
        .args(["lab", "first-heat", "--results"]);
    command.arg(folder.path().join("results"));
    command.arg("server=origin").args(crate::first_heat::SHORT);
    let run = Running::start(&mut command).finish();
    let run = run
        .expect_code(1)
        .expect_complaint(&["space", "kept in", "--resume"]);
    let whole = run.stdout.lines().filter(|line| line.starts_with('{'));
    for line in whole {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok(), "a torn file: {line}");
    }
}

#[test]
fn interrupted_without_room_for_the_report_it_says_both() {
    let name = "interrupted_without_room_for_the_report_it_says_both";
    let Some([_]) = need(name, ["unshare"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Once there is a trial the disk is filled, and the lab interrupted.
    let script = "folder=$1; shift; mount -t tmpfs -o size=8m none \"$folder\"; \"$@\" & lab=$!; \
        until ls \"$folder\"/*/*/trials/*-origin-*.json >/dev/null 2>&1; do sleep 0.05; done; \
        cat /dev/zero >\"$folder/full\" 2>/dev/null; kill -INT $lab; wait $lab";
    let Some(mut command) = isolated(name, script) else {
        return;
    };
    command.arg(folder.path()).arg(program());
    command.args(["lab", "first-heat", "server=origin", "--results"]);
    command.arg(folder.path()).args(crate::first_heat::SHORT);
    command.args(["duration=3s", "rounds=6", "think=5ms"]);
    Running::start(&mut command)
        .finish_within(LIMIT)
        .expect_code(130)
        .expect_complaint(&["kept in", "--resume", "there is no report", "no space"]);
}
