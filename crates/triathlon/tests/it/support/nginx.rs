//! A private nginx with one worker: a server that keeps its own books.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use super::process::Running;
use super::{reserve, wait_until};

/// The configuration; ADDRESS stands for the address.
const CONFIGURATION: &str = "
daemon off;
user root;
worker_processes 1;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  log_format books '$connection $connection_requests $bytes_sent $request_length $status $uri';
  log_format asks '$connection|$request_method|$request_uri|$http_x_counter|$http_x_token|'
                  '$content_type|$content_length';
  access_log access.log books;
  client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
  scgi_temp_path s;
  keepalive_requests 100000000;
  server {
    listen ADDRESS;
    root www;
    location = /status { stub_status; access_log off; }
  }
}
";

/// What a log of early requests needs of the server, and of all servers. It is written when the
/// handshake may be over, so the answer is kept.
const EARLY: &str = "set $early $ssl_early_data;";
const EARLY_LOG: &str = "log_format early '$early $status'; access_log early.log early;";

/// The same of whose certificate a connection has.
const CLIENTS_LOG: &str = "log_format clients '$connection|$ssl_session_reused|$status|\
                           $ssl_client_s_dn'; access_log clients.log clients;";

/// A request, and whose certificate its connection has.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) connection: u64,
    /// The handshake resumed a session.
    pub(crate) is_resumed: bool,
    pub(crate) status: u16,
    /// The name in the certificate.
    pub(crate) client: String,
}

/// It runs until dropped.
pub(crate) struct Nginx {
    folder: tempfile::TempDir,
    address: SocketAddr,
    running: Running,
}

/// One line of its access log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Line {
    /// Serial number of the connection.
    pub(crate) connection: u64,
    /// Requests made on it so far, this one included.
    pub(crate) nth: u64,
    /// Bytes sent to the client.
    pub(crate) bytes_sent: u64,
    /// Bytes of the request.
    pub(crate) request_length: u64,
    pub(crate) status: u16,
}

/// What `stub_status` counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Status {
    pub(crate) accepts: u64,
    pub(crate) requests: u64,
}

/// What a server over TLS says after its address.
fn secured(certificate: &Path, key: &Path) -> String {
    format!(
        " ssl; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {}; ssl_certificate_key {}",
        certificate.display(),
        key.display()
    )
}

/// The same of one that wants a certificate of clients, signed by the authority in that file.
fn secured_for_clients(certificate: &Path, key: &Path, clients: &Path) -> String {
    format!(
        "{}; ssl_client_certificate {}; ssl_verify_client on",
        secured(certificate, key),
        clients.display()
    )
}

impl Nginx {
    /// Starts `program` on 127.0.0.1 with `files` (name and content) to serve.
    pub(crate) fn start(program: &Path, files: &[(&str, &[u8])]) -> Self {
        Self::start_with(program, files, "")
    }

    /// The same over TLS, with the certificate and key of these names, whole paths.
    pub(crate) fn start_with_tls(
        program: &Path,
        files: &[(&str, &[u8])],
        certificate: &Path,
        key: &Path,
    ) -> Self {
        Self::start_with(program, files, &secured(certificate, key))
    }

    /// The same, which takes requests before the handshake is over and writes of each whether it
    /// came so.
    pub(crate) fn start_with_early_data(
        program: &Path,
        files: &[(&str, &[u8])],
        certificate: &Path,
        key: &Path,
    ) -> Self {
        let settings = format!("{}; ssl_early_data on", secured(certificate, key));
        let configuration = CONFIGURATION
            .replace("  server {", &format!("  {EARLY_LOG}\n  server {{"))
            .replace("ADDRESS;", &format!("ADDRESS{settings};\n    {EARLY}"));
        Self::start_as(program, files, &configuration)
    }

    /// How many requests it answered, and how many of them before their handshake was over.
    pub(crate) fn answered(&self) -> (usize, usize) {
        let log = fs::read_to_string(self.folder.path().join("early.log")).expect("a log");
        let early = log.lines().filter(|line| *line == "1 200");
        (log.lines().count(), early.count())
    }

    /// The same, which asks clients for a certificate that the authority in the file `clients` has
    /// signed, and gives nothing without one.
    pub(crate) fn start_with_clients(
        program: &Path,
        files: &[(&str, &[u8])],
        certificate: &Path,
        key: &Path,
        clients: &Path,
    ) -> Self {
        let settings = secured_for_clients(certificate, key, clients);
        Self::start_with(program, files, &settings)
    }

    /// The same, which writes of each request whose certificate its connection has.
    pub(crate) fn start_naming_clients(
        program: &Path,
        files: &[(&str, &[u8])],
        certificate: &Path,
        key: &Path,
        clients: &Path,
    ) -> Self {
        let settings = secured_for_clients(certificate, key, clients);
        let configuration = CONFIGURATION
            .replace("  server {", &format!("  {CLIENTS_LOG}\n  server {{"))
            .replace("ADDRESS", &format!("ADDRESS{settings}"));
        Self::start_as(program, files, &configuration)
    }

    /// Lets it finish what it does, and reads whose certificates it saw.
    pub(crate) fn quit_and_name(self) -> Vec<Seen> {
        let log = self.log_in("clients.log");
        let seen = log.lines().map(|line| {
            let fields: Vec<&str> = line.split('|').collect();
            Seen {
                connection: fields[0].parse().expect("a number in the log"),
                is_resumed: fields[1] == "r",
                status: fields[2].parse().expect("a status in the log"),
                client: fields[3].to_owned(),
            }
        });
        seen.collect()
    }

    /// The same over HTTP/2, in clear or with a certificate and its key.
    pub(crate) fn start_http2(
        program: &Path,
        files: &[(&str, &[u8])],
        tls: Option<(&Path, &Path)>,
    ) -> Self {
        let settings = tls.map_or_else(
            || " http2".to_owned(),
            |(certificate, key)| {
                let (certificate, key) = (certificate.display(), key.display());
                format!(" ssl http2; ssl_certificate {certificate}; ssl_certificate_key {key}")
            },
        );
        Self::start_with(program, files, &settings)
    }

    /// In clear, which ends each connection after so many requests.
    pub(crate) fn start_http2_ending(
        program: &Path,
        files: &[(&str, &[u8])],
        requests: u32,
    ) -> Self {
        let settings = format!(" http2; keepalive_requests {requests}");
        Self::start_with(program, files, &settings)
    }

    /// One that answers whatever it is asked, gives a token at /authenticate and knows nothing at
    /// /missing; over TLS with a certificate and its key. It logs what it was asked.
    pub(crate) fn start_telling(program: &Path, tls: Option<(&Path, &Path)>) -> Self {
        let tls = tls.map_or_else(String::new, |(certificate, key)| {
            let (certificate, key) = (certificate.display(), key.display());
            format!(" ssl; ssl_certificate {certificate}; ssl_certificate_key {key}")
        });
        let server = format!(
            "server {{ listen ADDRESS{tls}; access_log asks.log asks;
               location = /authenticate {{ add_header X-Token open-sesame; return 200 'in'; }}
               location = /missing {{ return 404; }}
               location / {{ return 200 'seven!'; }} }}"
        );
        let whole = CONFIGURATION.split_once("  server {").map(|(head, _)| head);
        let whole = format!("{}\n{server}\n}}\n", whole.expect("there is a server"));
        Self::start_as(program, &[], &whole)
    }

    /// One that listens as `settings` say and answers as `locations` do. It logs who asked for
    /// what: protocol, method, target, and the fields X-Token, Cookie, Authorization and
    /// Content-Length.
    pub(crate) fn start_answering(program: &Path, settings: &str, locations: &str) -> Self {
        let log = "log_format told '$server_protocol|$request_method|$request_uri|$http_x_token|'
                   '$http_cookie|$http_authorization|$content_length';";
        let server =
            format!("server {{ listen ADDRESS{settings}; access_log asks.log told; {locations} }}");
        let whole = CONFIGURATION.split_once("  server {").map(|(head, _)| head);
        let whole = format!(
            "{}\n{log}\n{server}\n}}\n",
            whole.expect("there is a server")
        );
        Self::start_as(program, &[], &whole)
    }

    /// One that answers whatever it is asked, and logs from which address that came.
    pub(crate) fn start_naming(program: &Path) -> Self {
        let server = "log_format who '$remote_addr $uri';
            server { listen ADDRESS; access_log who.log who; location / { return 200 'seven!'; } }";
        let whole = CONFIGURATION.split_once("  server {").map(|(head, _)| head);
        let whole = format!("{}\n{server}\n}}\n", whole.expect("there is a server"));
        Self::start_as(program, &[], &whole)
    }

    /// The address and the path of each request to one that logs them.
    pub(crate) fn quit_and_tell_addresses(self) -> Vec<(String, String)> {
        let log = self.log_in("who.log");
        let both = |line: &str| {
            let (address, path) = line.split_once(' ').expect("an address and a path");
            (address.to_owned(), path.to_owned())
        };
        log.lines().map(both).collect()
    }

    fn start_with(program: &Path, files: &[(&str, &[u8])], settings: &str) -> Self {
        let configuration = CONFIGURATION.replace("ADDRESS", &format!("ADDRESS{settings}"));
        Self::start_as(program, files, &configuration)
    }

    fn start_as(program: &Path, files: &[(&str, &[u8])], configuration: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("www")).expect("a folder");
        for (name, content) in files {
            fs::write(folder.path().join("www").join(name), content).expect("a file");
        }
        let reserved = reserve();
        let address = reserved.address;
        let configuration = configuration.replace("ADDRESS", &address.to_string());
        fs::write(folder.path().join("nginx.conf"), configuration).expect("a file");
        let mut running =
            Running::start(Command::new(program).arg("-p").arg(folder.path()).args([
                "-c",
                "nginx.conf",
                "-e",
                "stderr",
            ]));
        wait_until("nginx listens", || {
            assert!(!running.ended(), "nginx ended: {}", running.stderr());
            TcpStream::connect(address).is_ok()
        });
        Self {
            folder,
            address,
            running,
        }
    }

    /// Gives it another file to serve.
    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.folder.path().join("www").join(name), content).expect("a file");
    }

    pub(crate) fn url(&self, file: &str) -> String {
        format!("http://{}/{file}", self.address)
    }

    pub(crate) fn https_url(&self, file: &str) -> String {
        format!("https://{}/{file}", self.address)
    }

    pub(crate) const fn running(&self) -> &Running {
        &self.running
    }

    /// Its own counters. Asking costs it one connection and one request, counted in the answer.
    pub(crate) fn status(&self) -> Status {
        let mut stream = TcpStream::connect(self.address).expect("nginx listens");
        stream
            .write_all(b"GET /status HTTP/1.1\r\nHost: books\r\nConnection: close\r\n\r\n")
            .expect("a request can be sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let numbers = text
            .split_once("accepts handled requests")
            .map(|(_, rest)| rest.split_whitespace().map_while(|word| word.parse().ok()))
            .map(Iterator::collect::<Vec<u64>>);
        match numbers.as_deref() {
            Some([accepts, _, requests, ..]) => Status {
                accepts: *accepts,
                requests: *requests,
            },
            other => panic!("not a status page: {other:?} {text}"),
        }
    }

    /// Lets it finish what it does, and reads its log of requests for files.
    pub(crate) fn quit(self) -> Vec<Line> {
        self.log().lines().map(line).collect()
    }

    /// The same: which connection asked for which path, in order.
    pub(crate) fn quit_and_tell(self) -> Vec<(u64, String)> {
        let log = self.log();
        let told = log.lines().map(|text| {
            let path = text.rsplit(' ').next().unwrap_or_default();
            (line(text).connection, path.to_owned())
        });
        told.collect()
    }

    /// The same of one that tells what it was asked: the fields of each line.
    pub(crate) fn quit_and_list(self) -> Vec<Vec<String>> {
        let log = self.log_in("asks.log");
        let fields = |line: &str| line.split('|').map(str::to_owned).collect();
        log.lines().map(fields).collect()
    }

    fn log(self) -> String {
        self.log_in("access.log")
    }

    fn log_in(mut self, name: &str) -> String {
        self.running.signal("QUIT");
        wait_until("nginx has quit", || self.running.ended());
        fs::read_to_string(self.folder.path().join(name)).expect("a log")
    }
}

/// Requests per connection, by connection.
pub(crate) fn per_connection(lines: &[Line]) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line.connection).or_default() += 1;
    }
    counts
}

fn line(text: &str) -> Line {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |index: usize| words[index].parse().expect("a number in the log");
    Line {
        connection: number(0),
        nth: number(1),
        bytes_sent: number(2),
        request_length: number(3),
        status: words[4].parse().expect("a status in the log"),
    }
}
