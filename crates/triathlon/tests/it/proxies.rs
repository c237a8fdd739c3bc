//! Through HTTP proxies: Apache's, whose own log says what it was asked, before nginx, whose log
//! says who came.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use model::Outcome;

use crate::support::process::{Running, triathlon};
use crate::support::stub::{RIGHT, Stub, read_head, send};
use crate::support::{Reserved, need, reserve, wait_until};
use crate::tls::Files;
use crate::way::{COUNTED, Server, ask, right};

const MODULES: &str = "/usr/lib/apache2/modules";

/// ADDRESS stands for where it listens, FOLDER for where its files are, PORT for the port that it
/// makes tunnels to.
const APACHE: &str = r#"
ServerRoot "FOLDER"
DefaultRuntimeDir "FOLDER"
PidFile "FOLDER/httpd.pid"
User nobody
ServerName proxy.test
Listen ADDRESS
LoadModule mpm_event_module MODULES/mod_mpm_event.so
<IfModule !mod_unixd.c>
  LoadModule unixd_module MODULES/mod_unixd.so
</IfModule>
<IfModule !mod_log_config.c>
  LoadModule log_config_module MODULES/mod_log_config.so
</IfModule>
LoadModule authz_core_module MODULES/mod_authz_core.so
LoadModule proxy_module MODULES/mod_proxy.so
LoadModule proxy_http_module MODULES/mod_proxy_http.so
LoadModule proxy_connect_module MODULES/mod_proxy_connect.so
StartServers 1
ServerLimit 1
ThreadLimit 64
ThreadsPerChild 64
MaxRequestWorkers 64
MaxKeepAliveRequests 0
ErrorLog "FOLDER/error.log"
LogFormat "%r" asked
CustomLog "FOLDER/access.log" asked
ProxyRequests On
AllowCONNECT PORT
"#;

/// What makes it ask for a name and a password.
const FOR_A_USER: &str = r#"
LoadModule authn_core_module MODULES/mod_authn_core.so
LoadModule authn_file_module MODULES/mod_authn_file.so
LoadModule authz_user_module MODULES/mod_authz_user.so
LoadModule auth_basic_module MODULES/mod_auth_basic.so
<Proxy "*">
  AuthType Basic
  AuthName "proxy"
  AuthUserFile "FOLDER/users"
  Require valid-user
</Proxy>
"#;

/// The digest of the password (SHA-1), as htpasswd -s writes it.
const USERS: &str = "me:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";

/// Apache as a proxy of the test's own.
struct Proxy {
    folder: tempfile::TempDir,
    running: Running,
    reserved: Reserved,
}

impl Proxy {
    /// One that makes tunnels to `port` alone.
    fn apache(program: &Path, port: u16) -> Self {
        Self::apache_with(program, &[port], "")
    }

    /// One that makes them for a user with a password alone.
    fn apache_for_a_user(program: &Path, port: u16) -> Self {
        Self::apache_with(program, &[port], FOR_A_USER)
    }

    /// One that makes them to `ports` alone.
    fn apache_with(program: &Path, ports: &[u16], more: &str) -> Self {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let (folder, reserved) = (tempfile::tempdir().expect("a folder"), reserve());
        fs::write(folder.path().join("users"), USERS).expect("a file");
        let path = folder.path().join("apache.conf");
        let text = format!("{APACHE}{more}")
            .replace("ADDRESS", &reserved.address.to_string())
            .replace("FOLDER", &folder.path().display().to_string())
            .replace("MODULES", MODULES)
            .replace("PORT", &ports.join(" "));
        fs::write(&path, text).expect("a file");
        let mut command = Command::new(program);
        command.arg("-f").arg(&path).arg("-DFOREGROUND");
        let mut running = Running::start(&mut command);
        wait_until("the proxy listens", || {
            assert!(!running.ended(), "it ended: {}", running.stderr());
            std::net::TcpStream::connect(reserved.address).is_ok()
        });
        Self {
            folder,
            running,
            reserved,
        }
    }

    /// The flag that names it.
    fn flag(&self) -> String {
        format!("--proxy http://{}", self.reserved.address)
    }

    /// Lets it finish, and reads what it was asked: a line for each.
    fn quit(mut self) -> Vec<String> {
        self.running.signal("TERM");
        wait_until("the proxy has quit", || self.running.ended());
        let log = fs::read_to_string(self.folder.path().join("access.log")).expect("a log");
        // That it listens was found out by a connection without a request.
        let lines = log.lines().filter(|line| *line != "-");
        lines.map(str::to_owned).collect()
    }
}

#[test]
fn apache_passes_requests_on() {
    let name = "proxies::apache_passes_requests_on";
    let Some([apache, nginx]) = need(name, ["apache2", "nginx"]) else {
        return;
    };
    for more in ["--backend readiness", "", "-R 2000"] {
        let server = Server::nginx(&nginx, "listen ADDRESS;", "");
        let proxy = Proxy::apache(&apache, 1);
        let url = format!("http://{}/small", server.address());
        let trial = right(&url, &format!("{} {more}", proxy.flag()));
        let reference = trial.record.reference.expect("a reference");
        assert_eq!(reference.address, proxy.reserved.address.to_string());
        let notes = &trial.record.notes;
        assert!(notes[0].contains("passes each request on"), "{notes:?}");
        assert_eq!(server.quit().len(), COUNTED, "{more}");
        let asked = proxy.quit();
        assert_eq!(asked.len(), COUNTED, "{more}");
        let whole = format!("GET {url} HTTP/1.1");
        assert!(asked.iter().all(|line| *line == whole), "{:?}", asked[0]);
    }
}

/// Each connection leads to one of the servers, through the one proxy.
#[test]
fn apache_stands_before_several_servers() {
    let name = "proxies::apache_stands_before_several_servers";
    let Some([apache, nginx]) = need(name, ["apache2", "nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("server", |_| {});
    let certificate = format!(
        "ssl_certificate {}; ssl_certificate_key {};",
        files.path("server.pem").display(),
        files.path("server.key").display()
    );
    let trust = files.trust();
    let secure = format!("listen ADDRESS ssl http2; {certificate}");
    for (listen, scheme, more) in [
        ("listen ADDRESS;", "http", ""),
        ("listen ADDRESS;", "http", "-R 2000"),
        ("listen ADDRESS;", "http", "--proxytunnel"),
        (&secure, "https", &trust),
        (&secure, "https", &format!("{trust} --http2 -m 3")),
    ] {
        let servers = [(), ()].map(|()| Server::nginx(&nginx, listen, ""));
        let ports = servers.each_ref().map(|server| server.address().port());
        let proxy = Proxy::apache_with(&apache, &ports, "");
        let urls = ports.map(|port| format!("{scheme}://127.0.0.1:{port}/small"));
        let trial = right(&urls[0], &format!("{} {} {more}", urls[1], proxy.flag()));
        let notes = &trial.record.notes;
        assert!(notes[0].starts_with("the proxy http://"), "{notes:?}");
        // Two fetches before the run from each.
        let [one, other] = servers.map(|server| server.quit().len());
        assert_eq!(one + other, 204, "{more}");
        assert!(one > 2 && other > 2, "{one} and {other} {more}");
        let mut asked = proxy.quit();
        asked.sort_unstable();
        asked.dedup();
        let is_tunnel = scheme == "https" || more == "--proxytunnel";
        let mut expected: Vec<String> = match is_tunnel {
            true => ports
                .iter()
                .map(|port| format!("CONNECT 127.0.0.1:{port} HTTP/1.1"))
                .collect(),
            false => urls
                .iter()
                .map(|url| format!("GET {url} HTTP/1.1"))
                .collect(),
        };
        expected.sort_unstable();
        assert_eq!(asked, expected, "{more}");
    }
}

/// What a user of a script asks names the whole URL too, and cookies go where they belong.
#[test]
fn apache_passes_on_what_users_ask() {
    let name = "proxies::apache_passes_on_what_users_ask";
    let Some([apache, nginx]) = need(name, ["apache2", "nginx"]) else {
        return;
    };
    let server = Server::nginx(&nginx, "listen ADDRESS;", "");
    let proxy = Proxy::apache(&apache, 1);
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("users.toml");
    let text = "[variables]\nnumber = { counter = 1 }\n\
                [[step]]\nget = '/small?${number}'\n";
    fs::write(&script, text).expect("a file");
    let url = format!("http://{}/", server.address());
    let flags = format!("{} --script {}", proxy.flag(), script.display());
    right(&url, &flags);
    let asked = proxy.quit();
    assert_eq!(asked.len(), 201, "one before the run");
    let start = format!("GET {url}small?");
    assert!(asked.iter().all(|line| line.starts_with(&start)));
}

#[test]
fn apache_makes_tunnels() {
    let name = "proxies::apache_makes_tunnels";
    let Some([apache, nginx]) = need(name, ["apache2", "nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("server", |_| {});
    let listen = format!(
        "listen ADDRESS ssl http2; ssl_certificate {}; ssl_certificate_key {};",
        files.path("server.pem").display(),
        files.path("server.key").display()
    );
    let trust = files.trust();
    for more in ["--backend readiness", "", "-R 2000", "--http2 -m 3"] {
        let server = Server::nginx(&nginx, &listen, "");
        let proxy = Proxy::apache(&apache, server.address().port());
        let url = format!("https://{}/small", server.address());
        let trial = right(&url, &format!("{} {trust} {more}", proxy.flag()));
        // Four connections, and two before the run.
        assert_eq!(trial.record.connect_time.count(), 4, "{more}");
        let request = format!("CONNECT {} HTTP/1.1", server.address());
        assert_eq!(server.quit().len(), COUNTED, "{more}");
        assert_eq!(proxy.quit(), vec![request; 6], "{more}");
    }
}

#[test]
fn apache_makes_a_tunnel_in_clear_where_that_is_asked() {
    let name = "proxies::apache_makes_a_tunnel_in_clear_where_that_is_asked";
    let Some([apache, nginx]) = need(name, ["apache2", "nginx"]) else {
        return;
    };
    let server = Server::nginx(&nginx, "listen ADDRESS;", "");
    let proxy = Proxy::apache(&apache, server.address().port());
    let url = format!("http://{}/large", server.address());
    right(&url, &format!("{} --proxytunnel", proxy.flag()));
    assert_eq!(server.quit().len(), COUNTED);
    assert_eq!(proxy.quit().len(), 6);
}

#[test]
fn a_proxy_is_shown_who_asks() {
    let name = "proxies::a_proxy_is_shown_who_asks";
    let Some([apache, nginx]) = need(name, ["apache2", "nginx"]) else {
        return;
    };
    for (more, asked) in [("", COUNTED), ("--proxytunnel", 6)] {
        let server = Server::nginx(&nginx, "listen ADDRESS;", "");
        let proxy = Proxy::apache_for_a_user(&apache, server.address().port());
        let url = format!("http://{}/small", server.address());
        let flags = format!("{} {more}", proxy.flag());
        let trial = right(&url, &format!("{flags} --proxy-user me:secret"));
        let stored = serde_json::to_string(&trial).expect("JSON");
        let shown = ["me:secret", "bWU6c2VjcmV0"];
        assert!(
            !shown.iter().any(|shown| stored.contains(shown)),
            "{stored}"
        );
        assert!(stored.contains(model::redact::REDACTED), "{stored}");
        assert_eq!(server.quit().len(), COUNTED);
        assert_eq!(proxy.quit().len(), asked);
    }
    let proxy = Proxy::apache_for_a_user(&apache, 1);
    let flags = format!("{} --proxytunnel --proxy-user me:wrong", proxy.flag());
    ask("http://127.0.0.1:1/", &flags)
        .expect_code(1)
        .expect_complaint(&["the proxy answered CONNECT with status 407"]);
}

#[test]
fn a_proxy_that_refuses_the_tunnel_is_named() {
    let name = "proxies::a_proxy_that_refuses_the_tunnel_is_named";
    let Some([apache]) = need(name, ["apache2"]) else {
        return;
    };
    let proxy = Proxy::apache(&apache, 1);
    let flags = format!("{} --insecure", proxy.flag());
    ask("https://127.0.0.1:2/", &flags)
        .expect_code(1)
        .expect_complaint(&[
            "cannot connect to https://127.0.0.1:2/",
            &proxy.reserved.address.to_string(),
            "the proxy answered CONNECT with status 403",
            "does it let CONNECT through",
        ]);
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let reserved = reserve();
    let flags = format!("--proxy {}", reserved.address);
    ask("http://127.0.0.1:2/", &flags)
        .expect_code(1)
        .expect_complaint(&[
            &reserved.address.to_string(),
            "the connect failed",
            "is the proxy running",
        ]);
}

#[test]
fn what_does_not_go_with_a_proxy_is_refused() {
    let check = |flags: &str, expected: &str| {
        let flags = format!("--proxy http://127.0.0.1:1 {flags}");
        ask("http://127.0.0.1:2/", &flags)
            .expect_code(2)
            .expect_complaint(&[expected]);
    };
    check("--unix-socket /x.sock", "--unix-socket");
    check("--connect-to ::127.0.0.1:80", "--connect-to");
    check("--resolve a:80:127.0.0.1", "--resolve");
    check("--proxy-protocol v1", "--proxy: the PROXY protocol tells");
    check("--http2-prior-knowledge", "--proxy: HTTP/2 goes through");
    let run = ask("https://127.0.0.1:2/", "--proxy http://127.0.0.1:1 --http3");
    run.expect_code(2).expect_complaint(&["--http3"]);
    let run = ask("http://127.0.0.1:2/", "--proxy https://127.0.0.1:1");
    let run = run.expect_code(2);
    run.expect_complaint(&["--proxy: connections to a proxy are not encrypted"]);
    let run = ask("http://127.0.0.1:2/", "--proxy-user a:b").expect_code(2);
    run.expect_complaint(&["--proxy-user: it needs a proxy"]);
    check("--proxy-user a", "--proxy-user: there is no colon");
    let run = ask("http://127.0.0.1:2/", "--proxytunnel").expect_code(2);
    run.expect_complaint(&["--proxy"]);
}

/// Where a proxy refuses tunnels in mid-run, the connects have failed, and say why.
#[test]
fn a_proxy_that_begins_to_refuse_is_counted() {
    let proxy = Stub::start_raw(|mut stream, asked| {
        // Two fetches before the run, and three connections of it.
        let is_open = asked.fetch_add(1, Ordering::SeqCst) < 5;
        let mut answer: &[u8] = match is_open {
            true => b"HTTP/1.1 200 OK\r\n\r\n",
            false => b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n",
        };
        while read_head(&mut stream).is_some() {
            send(&mut stream, answer);
            answer = RIGHT;
        }
    });
    let proxy = proxy.address().to_string();
    let words = [
        "load",
        "http://127.0.0.1:2/",
        "--proxy",
        &proxy,
        "--proxytunnel",
    ];
    // On one connection after the other, so that the order is certain.
    let more = "-n 64 -c 1 -t 1 --requests-per-connection 20 --json -";
    let run = triathlon(words.into_iter().chain(more.split(' ')));
    let trial = run.expect_measured().trial();
    let outcomes = &trial.record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], 60, "{outcomes:?}");
    assert_eq!(outcomes[Outcome::Connect], 4, "{outcomes:?}");
    let told = &trial.record.examples[0].text;
    assert_eq!(told, "the proxy answered CONNECT with status 407");
}
