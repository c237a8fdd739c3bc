//! A private nats-server, agents that listen to it, and a client of it that shares nothing with
//! theirs.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use crate::support::process::{Run, Running, command, triathlon};
use crate::support::{LIMIT, reserve, wait_until};

/// The configuration of an object store.
const STORE: &str = "jetstream { store_dir: \"STORE\" }";

/// It runs until dropped.
pub(super) struct Nats {
    folder: tempfile::TempDir,
    address: SocketAddr,
    command: Command,
    running: Running,
}

impl Nats {
    /// Starts `program` with an object store, and with `more` in its configuration.
    pub(super) fn start(program: &Path, more: &str) -> Self {
        Self::start_as(program, &format!("{STORE}\n{more}\n"))
    }

    /// The same without an object store.
    pub(super) fn start_bare(program: &Path, more: &str) -> Self {
        Self::start_as(program, more)
    }

    /// Starts one as `triathlon agent broker` says, with the URLs of an agent and of a coordinator.
    pub(super) fn start_as_written(program: &Path, flags: &str) -> (Self, [String; 2]) {
        let reserved = reserve();
        let address = reserved.address;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("broker").display().to_string();
        let listen = address.to_string();
        let words = ["agent", "broker", &path, "--listen", &listen];
        let told = triathlon(words.into_iter().chain(flags.split_whitespace())).expect_code(0);
        let of = |mark: &str| {
            let line = told.stdout.lines().find(|line| line.contains(mark));
            let words = line.map(str::split_whitespace);
            words.unwrap_or_else(|| panic!("no '{mark}' in {told:#?}"))
        };
        let url = |mark: &str| {
            let url = of(mark).skip_while(|word| *word != "--nats").nth(1);
            url.expect("it names a URL").to_owned()
        };
        let urls = [url("triathlon agent "), url("triathlon load ")];
        let mut command = Command::new(program);
        command.args(of("nats-server -c").skip(1));
        (Self::run(folder, address, command), urls)
    }

    /// One with an object store at `address`, where nobody else can be.
    pub(super) fn start_at(program: &Path, address: SocketAddr) -> Self {
        Self::start_there(program, STORE, address)
    }

    /// STORE stands for a folder.
    fn start_as(program: &Path, configuration: &str) -> Self {
        let reserved = reserve();
        Self::start_there(program, configuration, reserved.address)
    }

    fn start_there(program: &Path, configuration: &str, address: SocketAddr) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = folder.path().join("store").display().to_string();
        let configuration = configuration.replace("STORE", &store);
        let path = folder.path().join("nats.conf");
        fs::write(&path, configuration).expect("a file");
        let mut command = Command::new(program);
        command.arg("-c").arg(&path);
        // These hold, whatever the configuration says.
        command.args(["-a", &address.ip().to_string()]);
        command.args(["-p", &address.port().to_string()]);
        Self::run(folder, address, command)
    }

    fn run(folder: tempfile::TempDir, address: SocketAddr, mut command: Command) -> Self {
        let running = listening(&mut command, address);
        Self {
            folder,
            address,
            command,
            running,
        }
    }

    /// Ends it as a crash would.
    pub(super) fn kill(&mut self) {
        self.running.signal("KILL");
        wait_until("nats-server has ended", || self.running.ended());
    }

    /// Starts it again, where it was and with what it had.
    pub(super) fn start_again(&mut self) {
        self.running = listening(&mut self.command, self.address);
    }

    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// The same with the name and the password of a user.
    pub(super) fn url_of(&self, user: &str) -> String {
        format!("nats://{user}@{}", self.address)
    }

    /// Says `payload` to whoever listens to `subject`, and returns what comes back.
    pub(super) fn ask(&self, subject: &str, payload: &str) -> String {
        let stream = TcpStream::connect(self.address).expect("nats-server listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        let mut writer = stream.try_clone().expect("a copy of a descriptor");
        let length = payload.len();
        let text = format!(
            "CONNECT {{\"verbose\":false}}\r\nSUB here 1\r\nPUB {subject} here {length}\r\n\
             {payload}\r\n"
        );
        writer.write_all(text.as_bytes()).expect("it listens");
        let mut reader = BufReader::new(stream);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("an answer");
            assert!(!line.starts_with("-ERR") && !line.is_empty(), "{line}");
            if line.starts_with("MSG ") {
                let length = line.split_whitespace().next_back();
                let length = length.and_then(|word| word.parse().ok());
                let mut answer = vec![0; length.expect("a length")];
                reader.read_exact(&mut answer).expect("a whole answer");
                return String::from_utf8(answer).expect("it is JSON");
            }
        }
    }
}

fn listening(command: &mut Command, address: SocketAddr) -> Running {
    let mut running = Running::start(command);
    wait_until("nats-server listens", || {
        assert!(!running.ended(), "it ended: {}", running.stderr());
        TcpStream::connect(address).is_ok()
    });
    running
}

/// An agent that waits for orders.
pub(super) fn agent(url: &str, name: &str, flags: &str) -> Running {
    agent_with(url, name, flags, &[])
}

/// The same with these files named in its environment.
pub(super) fn agent_with(
    url: &str,
    name: &str,
    flags: &str,
    environment: &[(&str, &Path)],
) -> Running {
    let words = ["agent", "--nats", url, "--name", name];
    let mut agent = start(&words, flags, environment);
    wait_until("the agent waits for orders", || {
        assert!(!agent.ended(), "it ended: {}", agent.stderr());
        agent.stderr().contains("waits for orders")
    });
    agent
}

/// Starts a load of `server` by agents that listen to the broker at `url`.
pub(super) fn start_load(server: &str, url: &str, flags: &str) -> Running {
    load_with(server, url, flags, &[])
}

/// The same with these files named in its environment.
pub(super) fn load_with(
    server: &str,
    url: &str,
    flags: &str,
    environment: &[(&str, &Path)],
) -> Running {
    start(&["load", server, "--nats", url], flags, environment)
}

/// The same to its end.
pub(super) fn load_by(server: &str, url: &str, flags: &str) -> Run {
    start_load(server, url, flags).finish()
}

fn start(words: &[&str], flags: &str, environment: &[(&str, &Path)]) -> Running {
    let flags = flags.split_whitespace();
    let mut command = command(words.iter().copied().chain(flags));
    command.envs(environment.iter().copied());
    Running::start(&mut command)
}
