//! `triathlon serve` from outside, asked by clients that share nothing with it: bare sockets here,
//! curl, ab, wrk, h2load and Python in `strangers`.

mod faults;
mod life;
mod protocol;
mod strangers;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::LazyLock;

use crate::support::process::{Running, command};
use crate::support::{LIMIT, wait_until};

/// A server at work on a folder of its own; it ends when dropped.
pub(crate) struct Served {
    folder: tempfile::TempDir,
    address: SocketAddr,
    running: Running,
}

/// The ways to wait for the kernel that this machine offers.
fn backends() -> Vec<&'static str> {
    static PERMITTED: LazyLock<bool> = LazyLock::new(|| {
        let room = sys::reactor::Settings::default();
        sys::reactor::Uring::new(&room).is_ok()
    });
    if *PERMITTED {
        vec!["uring", "readiness"]
    } else {
        vec!["readiness"]
    }
}

impl Served {
    /// Serves `files` (name and content) with `flags` besides.
    pub(crate) fn start(files: &[(&str, &[u8])], flags: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let www = folder.path().join("www");
        std::fs::create_dir(&www).expect("a folder");
        for (name, content) in files {
            let path = www.join(name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            std::fs::write(path, content).expect("a file");
        }
        Self::start_in(folder, flags)
    }

    /// Serves what is in `www` below `folder`; relative names in `flags` are below `folder`.
    pub(crate) fn start_in(folder: tempfile::TempDir, flags: &str) -> Self {
        let words = ["serve", "www", "--listen", "127.0.0.1:0"];
        let words = words.into_iter().chain(flags.split_whitespace());
        let mut running = Running::start(command(words).current_dir(folder.path()));
        let mut address = None;
        wait_until("the server listens", || {
            assert!(!running.ended(), "it ended: {}", running.stderr());
            address = listening(&running.stdout());
            address.is_some()
        });
        Self {
            folder,
            address: address.expect("it listens"),
            running,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    pub(crate) const fn running(&self) -> &Running {
        &self.running
    }

    /// What it wrote to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.running.stderr()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream
    }

    /// All that comes back for these bytes, sent at once, after which the client finishes.
    fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        // A server that refused what came first may have closed before all was sent.
        let _may_be_cut = stream.write_all(bytes.as_ref());
        let _may_be_gone = stream.shutdown(Shutdown::Write);
        read_all(&mut stream)
    }

    /// The answer to a request on a connection of its own.
    fn ask(&self, method: &str, target: &str, fields: &str) -> Answer {
        let text = self.raw(format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n"
        ));
        Answer::of(&text)
    }
}

/// The address in the line that says where it listens.
fn listening(stdout: &str) -> Option<SocketAddr> {
    let line = stdout.lines().next()?;
    let url = line.strip_prefix("listening on ")?;
    let url = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))?;
    url.strip_suffix('/')?.parse().ok()
}

/// Everything until the end, however it comes.
fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 65_536];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            // A receive with a limit of time is not taken up again after a signal (signal(7)).
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                // Shown where the test fails.
                eprintln!("after {} bytes: {error}", bytes.len());
                break;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One answer, taken apart by hand.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    #[track_caller]
    fn of(text: &str) -> Self {
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no whole head: {text:?}"));
        let status = head
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3)?.parse().ok())
            .unwrap_or_else(|| panic!("no status line: {text:?}"));
        Self {
            status,
            head: format!("{head}\r\n"),
            body: body.to_owned(),
        }
    }

    /// The value of a field.
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn length(&self) -> usize {
        let length = self.field("Content-Length").expect("a length");
        length.parse().expect("a number")
    }
}
