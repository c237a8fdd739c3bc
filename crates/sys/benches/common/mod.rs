//! What the bare programs share: arguments, one response fetched to learn its length, the result.

#![allow(
    dead_code,
    reason = "each program uses its own part of what they share"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use model::units::{Instant, Span};
use sys::{clock, cpu};

/// The command line of a bare program: `--name value` pairs.
pub(crate) struct Arguments(Vec<(String, String)>);

impl Arguments {
    /// Those that this process was started with. Cargo's own `--bench` is not one of them.
    pub(crate) fn read() -> Self {
        let words: Vec<String> = std::env::args()
            .skip(1)
            .filter(|word| word != "--bench")
            .collect();
        let pairs = words.chunks(2).map(|pair| {
            let name = pair[0].trim_start_matches("--").to_owned();
            (name, pair.get(1).cloned().unwrap_or_default())
        });
        Self(pairs.collect())
    }

    /// What was given for `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().rev().find(|(key, _)| key == name)?;
        Some(&pair.1)
    }

    /// What was given for `name` as a number, else `default`.
    pub(crate) fn number(&self, name: &str, default: u32) -> u32 {
        self.text(name).map_or(default, |text| {
            text.parse()
                .unwrap_or_else(|_| panic!("--{name} takes a number, not '{text}'"))
        })
    }

    /// Where to connect to.
    pub(crate) fn target(&self) -> SocketAddr {
        let text = self.text("target").unwrap_or("127.0.0.1:8080");
        text.parse().expect("--target takes an address and a port")
    }

    /// The request to send, whole.
    pub(crate) fn request(&self) -> Vec<u8> {
        let path = self.text("path").unwrap_or("/");
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.target()).into_bytes()
    }

    /// Binds this thread to the CPU that was asked for.
    pub(crate) fn pin(&self) {
        if self.text("cpu").is_some() {
            cpu::pin(self.number("cpu", 0)).expect("--cpu names a CPU of this machine");
        }
        cpu::set_precise_timers().expect("a thread may set its own timer slack");
    }
}

/// Whether the arguments ask for a run at all: `cargo test` starts each program without any.
pub(crate) fn is_asked() -> bool {
    std::env::args().skip(1).any(|word| word != "--bench")
}

/// The length of one response, head and content, learnt by asking once.
pub(crate) fn response_length(target: SocketAddr, request: &[u8]) -> usize {
    let mut stream = TcpStream::connect(target).expect("the server listens");
    stream.write_all(request).expect("the request is sent");
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).expect("the server answers");
        assert!(
            count > 0,
            "the server closed before its answer was complete"
        );
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some(head) = text.find("\r\n\r\n").map(|end| end + 4) else {
            continue;
        };
        let length = text[..head]
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse::<usize>().ok())
            .expect("the answer has a Content-Length");
        return head + length;
    }
}

/// What was done between two instants, printed as `name value` lines.
pub(crate) struct Tally {
    start: Instant,
    cpu: Span,
}

impl Tally {
    /// The window begins.
    pub(crate) fn begin() -> Self {
        Self {
            start: clock::monotonic(),
            cpu: clock::thread_cpu().unwrap_or_default(),
        }
    }

    /// When the window ends.
    pub(crate) fn end_after(&self, seconds: u32) -> Instant {
        self.start + Span::from_s(u64::from(seconds))
    }

    /// The window is over after `responses`.
    #[expect(clippy::cast_precision_loss, reason = "a number for people")]
    pub(crate) fn print(&self, responses: u64) {
        let window = clock::monotonic() - self.start;
        let cpu = clock::thread_cpu()
            .unwrap_or_default()
            .saturating_sub(self.cpu);
        println!("responses {responses}");
        println!("rate {:.0}", responses as f64 / window.as_s_f64());
        println!("cpu_us {:.3}", cpu.as_us_f64() / responses.max(1) as f64);
        println!("busy {:.3}", cpu.as_s_f64() / window.as_s_f64());
    }
}
