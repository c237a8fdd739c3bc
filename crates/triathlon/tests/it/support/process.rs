//! Processes within bounds: none outlives its test, none is waited for without end.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::LIMIT;

/// This program: the one that `TRIATHLON_BINARY` names, or else the one built with the test.
pub(crate) fn program() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let named = std::env::var("TRIATHLON_BINARY");
        named.unwrap_or_else(|_| env!("CARGO_BIN_EXE_triathlon").to_owned())
    })
}

/// The exit codes of a run that measured: 3 says that the numbers are worth nothing, as those of a
/// build for debugging are, and those of a machine whose CPUs somebody else had.
pub(crate) const MEASURED: &[i32] = &[0, 3];

/// A finished run.
pub(crate) struct Run {
    /// The exit code; none after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// How long it took.
    pub(crate) wall: Duration,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.stdout.chars().take(2_000).collect();
        writeln!(f, "exit code {:?} after {:?}", self.code, self.wall)?;
        write!(f, "stdout: {short}\nstderr: {}", self.stderr)
    }
}

impl Run {
    /// The trial that stands on stdout.
    pub(crate) fn trial(&self) -> model::Trial {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("stdout is not a trial ({error}): {self:#?}");
        })
    }

    /// Asserts that the exit code is `code`, showing everything if not.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that it measured, whatever its numbers are worth on this machine.
    #[track_caller]
    pub(crate) fn expect_measured(self) -> Self {
        self.expect_one_of(MEASURED)
    }

    /// Asserts that it measured as another tool: stderr says what the run is worth, and stdout,
    /// which is read as that tool's, says nothing of it.
    #[track_caller]
    pub(crate) fn expect_judged(self) -> Self {
        let run = self.expect_measured();
        let claims = |text: &str| {
            let lines = text.lines().map(|line| line.split_whitespace().take(2));
            let lines = lines.map(Iterator::collect::<Vec<_>>);
            // What a rule says begins with its name, which is in capitals.
            let is_claim = |word: &str| word.chars().all(|c| c.is_ascii_lowercase());
            let of_worth =
                lines.filter(|words| words.len() == 2 && is_claim(words[0]) && is_status(words[1]));
            of_worth
                .map(|words| words[0].to_owned())
                .collect::<Vec<_>>()
        };
        let told = claims(&run.stderr);
        // Of resources there is a word where the server is one that can be looked at.
        let (first, rest) = told
            .split_first()
            .unwrap_or_else(|| panic!("no verdict: {run:#?}"));
        let is_known = first == "capacity" || first == "latency";
        let is_all = rest.is_empty() || rest == ["resources"];
        assert!(is_known && is_all, "the verdict is of {told:?}: {run:#?}");
        let printed = claims(&run.stdout);
        assert!(printed.is_empty(), "stdout says {printed:?}: {run:#?}");
        run
    }

    /// Asserts that the exit code is one of `codes`, showing everything if not.
    #[track_caller]
    pub(crate) fn expect_one_of(self, codes: &[i32]) -> Self {
        let known = self.code.is_some_and(|code| codes.contains(&code));
        assert!(known, "none of {codes:?}: {self:#?}");
        self
    }

    /// Asserts one clear complaint on stderr that has these words, and no panic.
    #[track_caller]
    pub(crate) fn expect_complaint(self, words: &[&str]) -> Self {
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        let text = self.stderr.to_lowercase();
        for word in words {
            assert!(
                text.contains(&word.to_lowercase()),
                "no '{word}' in {self:#?}"
            );
        }
        self
    }
}

/// Whether this is what a claim can be worth.
pub(crate) fn is_status(word: &str) -> bool {
    ["valid", "unknown", "suspect", "invalid"].contains(&word)
}

/// A process in a group of its own, killed with all of it on drop.
pub(crate) struct Running {
    child: Child,
    stdout: std::fs::File,
    stderr: std::fs::File,
    start: Instant,
}

impl Running {
    /// Starts `command`. Output goes to files without names, so that it never blocks.
    pub(crate) fn start(command: &mut Command) -> Self {
        let file = || tempfile::tempfile().expect("a temporary file");
        let (stdout, stderr) = (file(), file());
        let copy = |file: &std::fs::File| file.try_clone().expect("a copy of a descriptor");
        let child = command
            .stdout(copy(&stdout))
            .stderr(copy(&stderr))
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Self {
            child,
            stdout,
            stderr,
            start: Instant::now(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes all of `text` to its standard input, which must be piped, and closes it.
    pub(crate) fn feed(&mut self, text: &str) {
        let mut stdin = self.child.stdin.take().expect("standard input is piped");
        // It may have gone with an error already, which the test sees by its exit code.
        stdin.write_all(text.as_bytes()).unwrap_or_default();
    }

    /// What it wrote to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        text_of(&self.stderr)
    }

    /// What it wrote to stdout so far.
    pub(crate) fn stdout(&self) -> String {
        text_of(&self.stdout)
    }

    /// Whether it has ended.
    pub(crate) fn ended(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("a child can be asked")
            .is_some()
    }

    /// Sends a signal by name to the process alone.
    pub(crate) fn signal(&self, name: &str) {
        signal(name, &self.pid().to_string());
    }

    /// Sends a signal by name to the process and its descendants.
    pub(crate) fn signal_group(&self, name: &str) {
        signal(name, &format!("-{}", self.pid()));
    }

    /// Waits for its end, for at most [`LIMIT`].
    pub(crate) fn finish(self) -> Run {
        self.finish_within(LIMIT)
    }

    /// Waits for its end; longer than `limit` is a failure.
    pub(crate) fn finish_within(mut self, limit: Duration) -> Run {
        let status = self.wait(limit);
        Run {
            code: status.code(),
            stdout: self.stdout(),
            stderr: self.stderr(),
            wall: self.start.elapsed(),
        }
    }

    fn wait(&mut self, limit: Duration) -> ExitStatus {
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            if self.start.elapsed() > limit {
                panic!(
                    "still running after {limit:?}\nstdout: {}\nstderr: {}",
                    self.stdout(),
                    self.stderr()
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let state = self.child.try_wait();
            let pid = self.pid();
            eprintln!(
                "process {pid}: {state:?}; it wrote to stderr:\n{}",
                self.stderr()
            );
        }
        // A group whose leader was waited for may still have members; an empty one is no harm.
        self.signal_group("CONT");
        self.signal_group("KILL");
        if let Err(error) = self.child.wait() {
            eprintln!("cannot wait for a child: {error}");
        }
    }
}

/// `kill`, by the shell, which every system has.
pub(crate) fn signal(name: &str, target: &str) {
    let script = format!("kill -s {name} -- {target}");
    Command::new("sh")
        .args(["-c", &script])
        .stderr(Stdio::null())
        .status()
        .expect("there is a shell");
}

/// What is in `file` so far. Whoever writes into it has the same offset, which stays where it is.
fn text_of(file: &std::fs::File) -> String {
    let mut bytes = Vec::new();
    let mut part = vec![0; 64 * 1024];
    loop {
        let at = bytes.len() as u64;
        match file.read_at(&mut part, at).expect("a file can be read") {
            0 => return String::from_utf8_lossy(&bytes).into_owned(),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
}

/// The program with arguments, not started yet.
pub(crate) fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn triathlon<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    Running::start(&mut command(arguments)).finish()
}

/// Runs `triathlon load` with the words of `flags`, its trial on stdout.
pub(crate) fn load(url: &str, flags: &str) -> Run {
    let words = ["load", url, "--json", "-"];
    triathlon(words.into_iter().chain(flags.split_whitespace()))
}
