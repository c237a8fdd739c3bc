//! How a server starts, changes and ends.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::{Served, backends};
use crate::support::process::triathlon;
use crate::support::wait_until;

#[test]
fn what_keeps_it_from_starting_is_told() {
    triathlon(["serve", "/no/such/folder", "--listen", "127.0.0.1:0"])
        .expect_code(1)
        .expect_complaint(&["/no/such/folder", "No such file"]);
    triathlon(["serve", "/proc/self/status", "--listen", "127.0.0.1:0"])
        .expect_code(1)
        .expect_complaint(&["/proc/self/status", "not a directory"]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    triathlon(["serve", "/", "--listen", &address])
        .expect_code(1)
        .expect_complaint(&[
            &address,
            "in use",
            &format!("process {}", std::process::id()),
        ]);
    triathlon(["serve", "/", "--listen", "203.0.113.1:8080"])
        .expect_code(1)
        .expect_complaint(&["203.0.113.1", "no such address"]);
    let log = ["--access-log", "/no/such/folder/log"];
    triathlon(
        ["serve", "/", "--listen", "127.0.0.1:0"]
            .into_iter()
            .chain(log),
    )
    .expect_code(1)
    .expect_complaint(&["/no/such/folder/log"]);
    for words in [
        ["--listen", "localhost"],
        ["--cpus", "1-0"],
        ["--cpus", "8000"],
        ["--workers", "0"],
        ["--idle-timeout", "soon"],
        ["--index", "a/b"],
    ] {
        triathlon(["serve", "/"].into_iter().chain(words))
            .expect_code(2)
            .expect_complaint(&[words[0].trim_start_matches('-')]);
    }
}

/// Room for the answers of all of them at once is more memory than most machines have; hardly any
/// of it is ever used.
#[test]
fn a_server_has_room_for_a_million_connections() {
    let server = Served::start(&[("a", b"a")], "--connections 1000000 --backend readiness");
    assert_eq!(server.ask("GET", "/a", "").status, 200);
}

#[test]
fn two_servers_never_share_a_port() {
    let first = Served::start(&[("a", b"a")], "");
    let address = first.address.to_string();
    triathlon(["serve", "/", "--listen", &address])
        .expect_code(1)
        .expect_complaint(&["in use", &format!("process {}", first.running.pid())]);
}

#[test]
#[cfg(target_os = "linux")]
fn every_thread_keeps_to_the_cpus_it_was_given() {
    let allowed = sys::cpu::allowed().expect("the mask of this thread");
    let cpu = allowed.first().expect("at least one").to_string();
    let server = Served::start(&[("a", b"a")], &format!("--cpus {cpu}"));
    let tasks = format!("/proc/{}/task", server.running.pid());
    let mut seen = 0;
    for task in std::fs::read_dir(tasks).expect("it runs") {
        let status = task.expect("a thread").path().join("status");
        let status = std::fs::read_to_string(status).expect("it is alive");
        let list = status
            .lines()
            .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
        assert_eq!(list.map(str::trim), Some(cpu.as_str()), "{status}");
        seen += 1;
    }
    assert!(seen >= 2, "a worker and who waits for signals");
}

#[test]
fn several_addresses_and_workers_serve_the_same() {
    for backend in backends() {
        let flags = format!("--listen [::1]:0 --workers 3 --backend {backend}");
        let server = Served::start(&[("a", b"a")], &flags);
        let stdout = server.running.stdout();
        let urls: Vec<&str> = stdout.lines().collect();
        let [_, second] = *urls.as_slice() else {
            panic!("two lines: {stdout}");
        };
        let address = second
            .strip_prefix("listening on http://")
            .and_then(|url| url.strip_suffix('/'));
        let address: std::net::SocketAddr = address.expect("a URL").parse().expect("an address");
        assert!(address.is_ipv6());
        for target in [server.address, address] {
            for _ in 0..20 {
                let mut stream = TcpStream::connect(target).expect("it listens");
                stream
                    .write_all(b"GET /a HTTP/1.0\r\n\r\n")
                    .expect("it is sent");
                let mut text = String::new();
                stream.read_to_string(&mut text).expect("an answer");
                assert!(text.ends_with("\r\n\r\na"), "{text}");
            }
        }
    }
}

#[test]
fn a_changed_file_is_noticed() {
    let server = Served::start(&[("a", b"one")], "--revalidate 20ms");
    let path = server.path().join("www/a");
    assert_eq!(server.ask("GET", "/a", "").body, "one");
    std::fs::write(&path, "two").expect("a file");
    wait_until("the change is seen", || {
        server.ask("GET", "/a", "").body == "two"
    });
    std::fs::remove_file(&path).expect("it was there");
    wait_until("it is gone", || server.ask("GET", "/a", "").status == 404);
    std::fs::write(&path, "three").expect("a file");
    assert_eq!(server.ask("GET", "/a", "").body, "three");
}

#[test]
fn what_is_under_way_is_finished_at_the_end() {
    for backend in backends() {
        let flags = format!("--synthetic --backend {backend}");
        let mut server = Served::start(&[("a", b"a")], &flags);
        let mut idle = server.connect();
        idle.write_all(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("it is sent");
        let mut first = [0; 12];
        idle.read_exact(&mut first).expect("an answer");
        let mut half = server.connect();
        half.write_all(b"GET /a HTTP/1.1\r\nHo")
            .expect("it is sent");
        let mut busy = server.connect();
        busy.write_all(
            b"GET /.triathlon/synthetic?delay=700ms&bytes=300k HTTP/1.1\r\nHost: x\r\n\r\n",
        )
        .expect("it is sent");
        // An answer on a later connection tells that those before were read.
        assert_eq!(server.ask("GET", "/a", "").body, "a");
        server.running.signal("TERM");
        let mut rest = String::new();
        idle.read_to_string(&mut rest)
            .expect("it is closed in order");
        wait_until("nobody new is let in", || {
            TcpStream::connect(server.address).is_err()
        });
        half.write_all(b"st: x\r\n\r\n").expect("it is sent");
        let mut text = String::new();
        half.read_to_string(&mut text)
            .expect("an answer and the end");
        assert!(
            text.contains("Connection: close") && text.ends_with("\r\n\r\na"),
            "{text}"
        );
        let mut text = String::new();
        busy.read_to_string(&mut text)
            .expect("an answer and the end");
        assert!(text.starts_with("HTTP/1.1 200 ") && text.len() > 300 * 1024);
        wait_until("it has ended", || server.running.ended());
        assert!(
            server.running.stderr().contains("served 4 requests"),
            "{}",
            server.running.stderr()
        );
    }
}

#[test]
fn the_end_comes_even_if_a_client_does_not_want_it() {
    let mut server = Served::start(&[("a", b"a")], "--drain-timeout 100ms --synthetic");
    let mut stuck = server.connect();
    stuck
        .write_all(b"GET /.triathlon/synthetic?fault=stall HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("it is sent");
    let mut first = [0; 12];
    stuck.read_exact(&mut first).expect("half an answer");
    server.running.signal("INT");
    wait_until("it has ended", || server.running.ended());
    assert!(
        server.running.stderr().contains("1 connection cut"),
        "{}",
        server.running.stderr()
    );
}

#[test]
fn each_request_is_one_line_of_the_log() {
    for (backend, buffer) in backends().into_iter().flat_map(|b| [(b, "0"), (b, "8k")]) {
        let flags = format!("--access-log log --log-buffer {buffer} --backend {backend}");
        let mut server = Served::start(&[("a", b"seven b")], &flags);
        let log = server.path().join("log");
        for _ in 0..10 {
            server.raw("GET /a HTTP/1.1\r\nHost: x\r\nReferer: r\"\r\n\r\n".repeat(10));
        }
        server.raw("GET /missing HTTP/1.0\r\n\r\n");
        server.raw("garbage\r\n\r\n");
        server.running.signal("TERM");
        wait_until("it has ended", || server.running.ended());
        let text = std::fs::read_to_string(&log).expect("a log");
        assert_eq!(text.lines().count(), 102, "{text}");
        let usual = text.lines().filter(|line| {
            line.starts_with("127.0.0.1 - - [")
                && line.ends_with("] \"GET /a HTTP/1.1\" 200 7 \"r\\\"\" \"-\"")
        });
        assert_eq!(usual.count(), 100, "{text}");
        assert!(text.contains("\"GET /missing HTTP/1.0\" 404 14 "), "{text}");
        assert!(text.contains("\"garbage\" 400 "), "{text}");
    }
}

#[test]
fn a_log_can_go_to_standard_output() {
    let server = Served::start(&[("a", b"a")], "--access-log - --workers 2");
    for count in [1, 2] {
        server.raw("GET /a HTTP/1.0\r\n\r\n");
        wait_until("a line is there at once", || {
            let text = server.running.stdout();
            text.lines()
                .filter(|line| line.contains("\"GET /a "))
                .count()
                == count
        });
        server.running.signal("HUP");
    }
    assert!(!server.path().join("-").exists());
    let file = Served::start(&[("a", b"a")], "--access-log ./-");
    assert!(file.path().join("-").exists(), "a file of that name");
}

#[test]
fn a_log_that_the_disk_does_not_take_is_told_at_once_and_once() {
    for backend in backends() {
        let flags = format!("--access-log /dev/full --workers 2 --backend {backend}");
        let server = Served::start(&[("a", b"a")], &flags);
        for _ in 0..20 {
            server.raw("GET /a HTTP/1.0\r\n\r\n");
        }
        let said = "the access log cannot be written, and lines are lost: No space left on device";
        wait_until("it is told", || server.stderr().contains(said));
        server.running.signal("TERM");
        let all = server.running.finish().expect_code(0).stderr;
        assert_eq!(all.matches(said).count(), 1, "{all}");
        assert!(all.contains("20 writes of the access log failed"), "{all}");
    }
}

#[test]
fn a_log_that_was_moved_away_is_made_anew() {
    let server = Served::start(&[("a", b"a")], "--access-log log --log-buffer 64k");
    let (log, moved) = (server.path().join("log"), server.path().join("moved"));
    server.raw("GET /a HTTP/1.0\r\n\r\n");
    std::fs::rename(&log, &moved).expect("it is there from the start");
    server.running.signal("HUP");
    wait_until("the log is made anew", || log.exists());
    assert_eq!(
        std::fs::read_to_string(&moved)
            .expect("a log")
            .lines()
            .count(),
        1
    );
    server.raw("GET /a HTTP/1.0\r\n\r\n");
    wait_until("the buffer is written within a second", || {
        std::fs::read_to_string(&log)
            .expect("a log")
            .lines()
            .count()
            == 1
    });
}
