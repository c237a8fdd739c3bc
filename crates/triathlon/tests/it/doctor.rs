//! `triathlon doctor` from outside: what it reads of real namespaces, limits and servers.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::process::{Run, Running, program, triathlon};
use crate::support::{need, not_run, reserve, wait_until};

/// The rules that an examination found, with how bad they are.
fn found(stdout: &str) -> Vec<(String, String)> {
    let examination: Value = serde_json::from_str(stdout).expect("the doctor writes JSON");
    let diagnoses = examination["diagnoses"]
        .as_array()
        .expect("a list of diagnoses");
    let worst = |diagnosis: &Value| {
        let severities = diagnosis["severity"]
            .as_object()
            .expect("severity per claim");
        ["invalid", "suspect", "note"]
            .into_iter()
            .find(|name| severities.values().any(|one| one == name))
            .expect("a severity")
            .to_owned()
    };
    diagnoses
        .iter()
        .map(|one| (one["rule"].as_str().expect("a rule").to_owned(), worst(one)))
        .collect()
}

fn has(found: &[(String, String)], rule: &str) -> bool {
    found.iter().any(|(id, _)| id == rule)
}

/// Runs `script` in a network namespace of its own; none where that is not permitted.
pub(crate) fn in_namespace(name: &str, script: &str, folder: &Path) -> Option<Run> {
    for user in [&[][..], &["--user", "--map-root-user"]] {
        let with = |tail: &[&str]| {
            let mut command = Command::new("unshare");
            command
                .args(user)
                .arg("--net")
                .args(tail)
                .current_dir(folder);
            command
        };
        let probe = with(&["true"]).stderr(Stdio::null()).status();
        if probe.is_ok_and(|status| status.success()) {
            let mut command = with(&["sh", "-eu", "-c", script, "sh", program()]);
            return Some(Running::start(command.stdin(Stdio::null())).finish());
        }
    }
    not_run(name, "network namespaces are not permitted");
    None
}

#[test]
fn settings_of_a_namespace_are_found_mended_and_put_back() {
    let name = "settings_of_a_namespace_are_found_mended_and_put_back";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "
        echo 128 > /proc/sys/net/core/somaxconn
        echo 40000 40099 > /proc/sys/net/ipv4/ip_local_port_range
        \"$1\" doctor --json > before
        \"$1\" doctor --fix-script > fix.sh
        cat fix.sh
        sysctl() { key=$(echo \"${2%%=*}\" | tr . /); echo \"${2#*=}\" > \"/proc/sys/$key\"; }
        (set -- apply; . ./fix.sh)
        \"$1\" doctor --json > mended
        (set -- undo; . ./fix.sh)
        \"$1\" doctor --json > undone";
    let Some(run) = in_namespace(name, script, folder.path()) else {
        return;
    };
    let run = run.expect_code(0);
    assert!(
        run.stdout.contains("sysctl -w net.core.somaxconn='4096'"),
        "{}",
        run.stdout
    );
    let read = |file: &str| {
        found(&std::fs::read_to_string(folder.path().join(file)).expect("what was printed"))
    };
    for (file, expected) in [("before", true), ("mended", false), ("undone", true)] {
        let found = read(file);
        assert_eq!(has(&found, "TCP-08"), expected, "{file}: {found:?}");
        assert_eq!(has(&found, "TCP-01"), expected, "{file}: {found:?}");
    }
}

#[test]
fn a_server_with_small_limits_is_seen_by_its_process_and_by_its_address() {
    let name = "a_server_with_small_limits_is_seen_by_its_process_and_by_its_address";
    let Some([python]) = need(name, ["python3"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let reserved = reserve();
    let address = reserved.address;
    let script = "ulimit -n 256; exec \"$1\" -m http.server --bind 127.0.0.1 \"$2\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh"])
        .arg(python)
        .arg(address.port().to_string())
        .current_dir(&folder);
    let server = Running::start(&mut command);
    wait_until("the server listens", || TcpStream::connect(address).is_ok());
    let by_name = format!("localhost:{}", address.port());
    for asked in [server.pid().to_string(), address.to_string(), by_name] {
        let found = found(
            &triathlon(["doctor", "--json", "--server", &asked])
                .expect_code(0)
                .stdout,
        );
        assert!(
            has(&found, "SRV-03"),
            "{asked}: 256 files are too few: {found:?}"
        );
        assert!(
            has(&found, "TCP-07"),
            "{asked}: its queue holds 5: {found:?}"
        );
        assert!(!has(&found, "SRV-01"), "{asked}: it does listen: {found:?}");
    }
}

#[test]
fn who_does_not_listen_is_no_server() {
    let own = std::process::id().to_string();
    let mut idle = Command::new("sleep");
    let idle = Running::start(idle.arg("60"));
    let found = found(
        &triathlon(["doctor", "--json", "--server", &idle.pid().to_string()])
            .expect_code(0)
            .stdout,
    );
    assert!(has(&found, "SRV-01"), "{found:?}; we are {own}");
}

#[test]
fn a_zombie_is_no_server() {
    let mut ended = Command::new("true").spawn().expect("a program that ends");
    let pid = ended.id().to_string();
    let status = format!("/proc/{pid}/stat");
    wait_until("it is a zombie", || {
        std::fs::read_to_string(&status).is_ok_and(|stat| stat.contains(") Z "))
    });
    triathlon(["doctor", "--server", &pid])
        .expect_code(1)
        .expect_complaint(&[&pid, "has ended"]);
    ended.wait().expect("it was started here");
}

#[test]
fn a_server_in_another_namespace_is_not_said_to_listen_nowhere() {
    let name = "a_server_in_another_namespace_is_not_said_to_listen_nowhere";
    let mut idle = Command::new("sleep");
    let idle = Running::start(idle.arg("60"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = format!("\"$1\" doctor --hiccups 0s --json --server {}", idle.pid());
    let Some(run) = in_namespace(name, &script, folder.path()) else {
        return;
    };
    let stdout = run.expect_code(0).stdout;
    assert!(!has(&found(&stdout), "SRV-01"), "{stdout}");
    let examination: Value = serde_json::from_str(&stdout).expect("the doctor writes JSON");
    assert!(
        examination["unknown"]["SRV-01"].is_string(),
        "{examination}"
    );
}

#[test]
fn who_uses_the_cpus_is_named() {
    let mut burner = Command::new("sh");
    let burner = Running::start(burner.args(["-c", "while :; do :; done"]));
    let stdout = triathlon(["doctor", "--json"]).expect_code(0).stdout;
    drop(burner);
    assert!(has(&found(&stdout), "CPU-08"), "{stdout}");
    let examination: Value = serde_json::from_str(&stdout).expect("the doctor writes JSON");
    let diagnoses = examination["diagnoses"].as_array().expect("a list");
    let background = diagnoses.iter().find(|one| one["rule"] == "CPU-08");
    let who = &background.expect("it was found")["evidence"]["who"];
    assert!(who.as_array().is_some_and(|who| !who.is_empty()), "{who}");
    // Nobody has watched, so nobody knows.
    let stdout = triathlon(["doctor", "--json", "--hiccups", "0s"]).stdout;
    let examination: Value = serde_json::from_str(&stdout).expect("the doctor writes JSON");
    assert!(examination["unknown"]["CPU-08"].is_string(), "{stdout}");
}

/// The words without the line breaks between them.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../verdict/src/sysctl/fixtures")
        .join(name)
}

#[test]
fn a_file_of_settings_is_judged_for_the_kernel_asked() {
    let file = fixture("rootusers-2016.conf");
    let file = file.to_str().expect("a path in UTF-8");
    let old = triathlon([
        "doctor", "--sysctl", file, "--kernel", "3.10", "--memory", "4G",
    ]);
    let old = unwrapped(&old.expect_code(0).stdout);
    for words in ["114.44 GiB", "34464", "Never set it", "every socket starts"] {
        assert!(old.contains(words), "{words}: {old}");
    }
    let new = triathlon(["doctor", "--sysctl", file, "--kernel", "6.1"]).expect_code(0);
    let new = unwrapped(&new.stdout);
    assert!(new.contains("No longer true since Linux 4.1"), "{new}");
    let json = triathlon(["doctor", "--json", "--sysctl", file, "--kernel", "6.1"]).expect_code(0);
    let objections: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert!(objections.as_array().is_some_and(|all| all.len() > 20));
}

#[test]
fn a_stock_server_gets_notes_only() {
    for (name, kernel) in [
        ("debian-12.conf", "6.1.0-18-amd64"),
        ("dump-6.18.conf", "6.18"),
    ] {
        let file = fixture(name);
        let file = file.to_str().expect("a path in UTF-8");
        let run = triathlon(["doctor", "--sysctl", file, "--kernel", kernel]).expect_code(0);
        let said = &run.stdout;
        assert!(said.contains("0 invalid, 0 suspect"), "{name}: {said}");
        assert!(said.lines().count() < 120, "{name}: {said}");
    }
}

#[test]
fn what_cannot_be_examined_is_said_in_one_sentence() {
    triathlon(["doctor", "--sysctl", "/nonexistent.conf"])
        .expect_code(1)
        .expect_complaint(&["/nonexistent.conf"]);
    triathlon(["doctor", "--server", "4194305"])
        .expect_code(1)
        .expect_complaint(&["4194305"]);
    triathlon(["doctor", "--sysctl", "x", "--kernel", "new"])
        .expect_code(2)
        .expect_complaint(&["not a kernel version"]);
    triathlon(["doctor", "--server", "nginx"])
        .expect_code(2)
        .expect_complaint(&["process id"]);
}
