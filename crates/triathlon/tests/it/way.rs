//! The way to a server that is not straight: Unix sockets and the PROXY protocol, against nginx and
//! HAProxy, whose own logs say what came.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::{Outcome, Trial};

use crate::support::process::{Run, Running, triathlon};
use crate::support::{Reserved, need, reserve, wait_until};
use crate::tls::Files;

/// LISTEN stands for the directives that say where it listens.
const NGINX: &str = "
daemon off;
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  log_format way '$connection $proxy_protocol_addr $proxy_protocol_port $remote_addr $remote_port';
  access_log access.log way;
  client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
  scgi_temp_path s;
  keepalive_requests 100000000;
  server {
    LISTEN
    root www;
  }
}
";

/// A small file and a large one in `folder`, as files of a server.
pub(crate) fn pages(folder: &Path) {
    let www = folder.join("www");
    fs::create_dir(&www).expect("a folder");
    fs::write(www.join("small"), "small").expect("a file");
    let large: Vec<u8> = (0..=250).cycle().take(300_000).collect();
    fs::write(www.join("large"), large).expect("a file");
}

/// A server of other people with a configuration of the test's own.
pub(crate) struct Server {
    folder: tempfile::TempDir,
    running: Running,
    reserved: Reserved,
}

impl Server {
    /// nginx that listens as `listen` says, where ADDRESS stands for one of loopback and SOCKET for
    /// the path of `server.sock`.
    pub(crate) fn nginx(program: &Path, listen: &str, ready: &str) -> Self {
        let (folder, reserved) = (tempfile::tempdir().expect("a folder"), reserve());
        pages(folder.path());
        let socket = folder.path().join("server.sock").display().to_string();
        let listen = listen.replace("ADDRESS", &reserved.address.to_string());
        let listen = listen.replace("SOCKET", &socket);
        let text = NGINX.replace("LISTEN", &listen);
        fs::write(folder.path().join("nginx.conf"), text).expect("a file");
        let mut command = Command::new(program);
        command.arg("-p").arg(folder.path());
        command.args(["-c", "nginx.conf", "-e", "stderr"]);
        Self::start(folder, reserved, &mut command, ready)
    }

    /// HAProxy that answers each request with the address of who asks.
    fn haproxy(program: &Path) -> Self {
        let (folder, reserved) = (tempfile::tempdir().expect("a folder"), reserve());
        let text = format!(
            "global\n  maxconn 500\ndefaults\n  mode http\n  timeout connect 5s\n  \
             timeout client 30s\n  timeout server 30s\nfrontend front\n  bind {} accept-proxy\n  \
             http-request return status 200 content-type text/plain lf-string \"%[src]\"\n",
            reserved.address
        );
        let path = folder.path().join("haproxy.cfg");
        fs::write(&path, text).expect("a file");
        let mut command = Command::new(program);
        command.args(["-db", "-f"]).arg(&path);
        Self::start(folder, reserved, &mut command, "")
    }

    /// It is ready once there is a file called `ready`, or it listens where there is no such name.
    pub(crate) fn start(
        folder: tempfile::TempDir,
        reserved: Reserved,
        command: &mut Command,
        ready: &str,
    ) -> Self {
        let mut running = Running::start(command);
        let path = folder.path().join(ready);
        wait_until("the server listens", || {
            assert!(!running.ended(), "it ended: {}", running.stderr());
            if ready.is_empty() {
                std::net::TcpStream::connect(reserved.address).is_ok()
            } else {
                std::os::unix::net::UnixStream::connect(&path).is_ok()
            }
        });
        Self {
            folder,
            running,
            reserved,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.reserved.address
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Lets nginx finish what it does, and reads its log: words of each line.
    pub(crate) fn quit(mut self) -> Vec<Vec<String>> {
        self.running.signal("QUIT");
        wait_until("nginx has quit", || self.running.ended());
        let log = fs::read_to_string(self.path("access.log")).expect("a log");
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        log.lines().map(words).collect()
    }
}

/// The trial of 200 requests over 4 connections, all of which got a right answer.
#[track_caller]
pub(crate) fn right(url: &str, flags: &str) -> Trial {
    let run = ask(url, flags).expect_measured();
    let trial = run.trial();
    let outcomes = &trial.record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], 200, "{flags}: {run:#?}");
    trial
}

pub(crate) fn ask(url: &str, flags: &str) -> Run {
    let words = [
        "load", url, "-n", "200", "-c", "4", "-t", "1", "--json", "-",
    ];
    triathlon(words.into_iter().chain(flags.split_whitespace()))
}

/// What the server counted of those requests and of the two fetches before the run.
pub(crate) const COUNTED: usize = 202;

#[test]
fn a_unix_socket_of_nginx() {
    let Some([nginx]) = need("way::a_unix_socket_of_nginx", ["nginx"]) else {
        return;
    };
    for backend in ["readiness", "auto"] {
        for more in ["", "--requests-per-connection 5", "-R 2000"] {
            let server = Server::nginx(&nginx, "listen unix:SOCKET;", "server.sock");
            let socket = server.path("server.sock").display().to_string();
            let flags = format!("--unix-socket {socket} --backend {backend} {more}");
            let trial = right("http://by-name.test/small", &flags);
            let reference = trial.record.reference.expect("a reference");
            assert_eq!(reference.address, format!("unix:{socket}"));
            assert_eq!(trial.plan.unix_socket, Some(socket));
            let lines = server.quit();
            assert_eq!(lines.len(), COUNTED, "{flags}");
            assert!(lines.iter().all(|line| line[3] == "unix:"), "{lines:?}");
        }
        // Most of each answer is dropped unread, which a Unix socket cannot do in the kernel.
        let server = Server::nginx(&nginx, "listen unix:SOCKET;", "server.sock");
        let socket = server.path("server.sock").display().to_string();
        let flags = format!("--unix-socket {socket} --backend {backend}");
        right("http://localhost/large", &flags);
        assert_eq!(server.quit().len(), COUNTED);
    }
}

/// The process that listens is found, and metered, as one that listens on a port is.
#[test]
fn the_server_behind_a_unix_socket_is_known() {
    let name = "way::the_server_behind_a_unix_socket_is_known";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let server = Server::nginx(&nginx, "listen unix:SOCKET;", "server.sock");
    let socket = server.path("server.sock").display().to_string();
    let words = ["load", "http://localhost/small", "--unix-socket", &socket];
    let run = triathlon(words.into_iter().chain(["-d", "300ms", "--json", "-"]));
    let trial = run.expect_measured().trial();
    let facts = trial.context.server.expect("the server is seen");
    assert_eq!(facts.product, "nginx");
    assert!(trial.usage.server.is_some(), "it is metered");
}

/// Where the server is known, everyone else is named.
#[test]
fn programs_beside_a_known_server_are_named() {
    let name = "way::programs_beside_a_known_server_are_named";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let server = Server::nginx(&nginx, "listen unix:SOCKET;", "server.sock");
    let socket = server.path("server.sock").display().to_string();
    let mut burner = Command::new("sh");
    let burner = Running::start(burner.args(["-c", "while :; do :; done"]));
    let words = ["load", "http://localhost/small", "--unix-socket", &socket];
    let run = triathlon(words.into_iter().chain(["-d", "500ms", "--json", "-"]));
    let trial = run.expect_measured().trial();
    drop(burner);
    let system = trial.usage.system.expect("the machine is metered");
    let others = system.others.expect("every process is looked at");
    assert!(!others.top.is_empty(), "{others:?}");
    assert!(others.window >= system.window, "{others:?}");
    let usage = trial.usage.server.expect("it is metered");
    assert!(usage.cpu.is_some_and(|cpu| !cpu.is_zero()), "{usage:?}");
}

#[test]
fn a_unix_socket_over_tls() {
    let Some([nginx]) = need("way::a_unix_socket_over_tls", ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("server", |_| {});
    let (certificate, key) = (files.path("server.pem"), files.path("server.key"));
    let listen = format!(
        "listen unix:SOCKET ssl http2; ssl_certificate {}; ssl_certificate_key {};",
        certificate.display(),
        key.display()
    );
    let server = Server::nginx(&nginx, &listen, "server.sock");
    let socket = server.path("server.sock").display().to_string();
    let trust = files.trust();
    for more in ["", "--http2 -m 3"] {
        let flags = format!("--unix-socket {socket} {trust} {more}");
        right("https://localhost/small", &flags);
    }
    assert_eq!(server.quit().len(), 2 * COUNTED);
}

#[test]
fn a_unix_socket_that_nobody_listens_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nobody.sock").display().to_string();
    let flags = format!("--unix-socket {path}");
    let complaint = ["cannot connect", "unix:", &path, "does a server listen"];
    ask("http://localhost/", &flags)
        .expect_code(1)
        .expect_complaint(&complaint);
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    drop(listener);
    // A child of another test, between its fork and its exec, has the socket open, too.
    while std::os::unix::net::UnixStream::connect(&path).is_ok() {}
    ask("http://localhost/", &flags)
        .expect_code(1)
        .expect_complaint(&complaint);
    for (more, expected) in [
        ("--http3", "--http3"),
        ("--interface 127.0.0.2", "--interface"),
        ("--connect-to ::127.0.0.1:80", "--connect-to"),
        (
            "--proxy-protocol v1",
            "--proxy-protocol: connections to a Unix",
        ),
    ] {
        ask("http://localhost/", &format!("{flags} {more}"))
            .expect_code(2)
            .expect_complaint(&[expected]);
    }
    let long = format!("--unix-socket {}", "x".repeat(108));
    ask("http://localhost/", &long)
        .expect_code(2)
        .expect_complaint(&["--unix-socket", "107 bytes"]);
}

/// nginx notes who asks according to the header, and who connects according to the kernel.
#[test]
fn nginx_is_told_who_asks() {
    let Some([nginx]) = need("way::nginx_is_told_who_asks", ["nginx"]) else {
        return;
    };
    for version in ["v1", "v2"] {
        for backend in ["readiness", "auto"] {
            let flags = format!("--proxy-protocol {version} --backend {backend}");
            let own = told(&nginx, &format!("{flags} --requests-per-connection 5"));
            assert!(own.len() > 40, "each of many connections tells: {own:?}");
            for [address, port, remote, remote_port] in own.values() {
                assert_eq!([address, port], [remote, remote_port]);
            }
            let chosen = told(
                &nginx,
                &format!(
                    "{flags} --proxy-protocol-source 192.0.2.1-192.0.2.2 --proxy-protocol-source \
                     198.51.100.0/30"
                ),
            );
            let mut seen: Vec<&str> = chosen.values().map(|[first, ..]| first.as_str()).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(
                seen,
                ["192.0.2.1", "192.0.2.2", "198.51.100.1", "198.51.100.2"]
            );
        }
    }
    let six = told(
        &nginx,
        "--proxy-protocol v1 --proxy-protocol-source 2001:db8::7",
    );
    assert!(six.values().all(|[first, ..]| first == "2001:db8::7"));
}

/// What nginx noted of each connection: the address and port that the header told, and those that
/// the kernel did.
fn told(nginx: &Path, flags: &str) -> BTreeMap<String, [String; 4]> {
    let server = Server::nginx(nginx, "listen ADDRESS proxy_protocol;", "");
    right(&format!("http://{}/small", server.address()), flags);
    let lines = server.quit();
    assert_eq!(lines.len(), COUNTED, "{flags}");
    let mut told = BTreeMap::new();
    for line in lines {
        let [connection, words @ ..] = <[String; 5]>::try_from(line).expect("five words");
        let first = told.entry(connection).or_insert_with(|| words.clone());
        assert_eq!(*first, words, "a connection has one source");
    }
    told
}

/// The header comes before the first byte of TLS.
#[test]
fn nginx_is_told_who_asks_before_tls() {
    let name = "way::nginx_is_told_who_asks_before_tls";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("server", |_| {});
    let listen = format!(
        "listen ADDRESS ssl http2 proxy_protocol; ssl_certificate {}; ssl_certificate_key {};",
        files.path("server.pem").display(),
        files.path("server.key").display()
    );
    let server = Server::nginx(&nginx, &listen, "");
    let url = format!("https://{}/small", server.address());
    let trust = files.trust();
    for more in ["--backend readiness", "", "--http2 -m 3"] {
        let flags = format!("--proxy-protocol v2 --proxy-protocol-source 192.0.2.9 {trust} {more}");
        right(&url, &flags);
    }
    let lines = server.quit();
    assert_eq!(lines.len(), 3 * COUNTED);
    assert!(lines.iter().all(|line| line[1] == "192.0.2.9"), "{lines:?}");
}

/// A chosen source goes over a Unix socket, too.
#[test]
fn nginx_is_told_who_asks_over_a_unix_socket() {
    let name = "way::nginx_is_told_who_asks_over_a_unix_socket";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let listen = "listen unix:SOCKET proxy_protocol;";
    let server = Server::nginx(&nginx, listen, "server.sock");
    let socket = server.path("server.sock").display().to_string();
    let flags =
        format!("--unix-socket {socket} --proxy-protocol v1 --proxy-protocol-source 192.0.2.8");
    right("http://localhost/small", &flags);
    let lines = server.quit();
    assert_eq!(lines.len(), COUNTED);
    assert!(lines.iter().all(|line| line[1] == "192.0.2.8"), "{lines:?}");
}

/// HAProxy answers with the address that it was told, and each answer is checked.
#[test]
fn haproxy_is_told_who_asks() {
    let Some([haproxy]) = need("way::haproxy_is_told_who_asks", ["haproxy"]) else {
        return;
    };
    let server = Server::haproxy(&haproxy);
    let url = format!("http://{}/", server.address());
    for version in ["v1", "v2"] {
        for source in ["203.0.113.77", "2001:db8::77"] {
            let flags = format!(
                "--proxy-protocol {version} --proxy-protocol-source {source} \
                 --requests-per-connection 3"
            );
            let reference = right(&url, &flags).record.reference.expect("a reference");
            assert_eq!(reference.length, source.len() as u64, "{flags}");
            assert_eq!(reference.sha256, sha256(source), "{flags}");
            assert!(!reference.dynamic);
        }
    }
    // Who sends none is not spoken to.
    let words = ["load", &url, "-n", "1", "-c", "1", "-t", "1", "--json", "-"];
    let silent = triathlon(words).expect_code(3).trial();
    assert_eq!(silent.record.total.outcomes[Outcome::Ok], 0);
}

fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    model::hex(&sha2::Sha256::digest(text))
}

#[test]
fn a_name_is_looked_up_once_before_the_run() {
    let Some([nginx]) = need("way::a_name_is_looked_up_once_before_the_run", ["nginx"]) else {
        return;
    };
    let server = Server::nginx(&nginx, "listen ADDRESS;", "");
    let port = server.address().port();
    let record = right(&format!("http://localhost:{port}/small"), "").record;
    let lookup = record.lookup.expect("it was looked up");
    assert_eq!(lookup.time.count(), 1);
    assert!((1..=2).contains(&lookup.addresses), "{lookup:?}");
    let record = right(&format!("http://127.0.0.1:{port}/small"), "").record;
    assert_eq!(record.lookup, None);
}
