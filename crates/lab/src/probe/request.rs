//! One request to a server that holds so many idle connections already.
//!
//! It is asked over blocking sockets of its own and not through a plan of the generator: a point is
//! one exchange at one exact number of idle connections, which grows between the points, while a
//! plan holds its number of connections for as long as it runs.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::probe::AxisKind;
use sys::syscall::socket::connect;

use super::accept::{connected, source};
use super::connect::still_open;
use super::server::PATIENCE;
use super::stopwatch::Stopwatch;
use super::{
    Doing as _, Exchange, Measured, Need, Probe, ProbeError, Resource, Task, Variant, each, index,
    server,
};

pub(super) static PROBE: Probe = Probe {
    name: "request",
    question: "before every tenth idle connection five requests: connect(), and the request until \
               its answer is complete",
    axis: "idle connections",
    kind: AxisKind::Population,
    variants: &[
        Variant {
            name: "close",
            what: "a connection for each request",
        },
        Variant {
            name: "keep-alive",
            what: "one connection for the five requests",
        },
    ],
    population: 5_000,
    needs: &[
        Need {
            resource: Resource::OpenFiles,
            per_1000: 1_000,
            fixed: 8,
        },
        each(Resource::Ports, 2),
        each(Resource::Memory, 14_000),
    ],
    server: true,
    run,
};

/// The program of 2003 asked so often, and after so many idle connections.
const REQUESTS: u32 = 5;
const EVERY: u32 = 10;

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let server = server::ready(task)?;
    let mut walk = Walk {
        address: server.address,
        source: source(task.pass),
        exchange: &task.exchange,
        connected: Stopwatch::new("connect", index(task.population)),
        asked: Stopwatch::new("request", index(task.population)),
        connected_at: Vec::new(),
        asked_at: Vec::new(),
        answer: vec![0; 1 << 20],
        length: None,
    };
    let mut idle: Vec<OwnedFd> = Vec::with_capacity(index(task.population));
    for number in 1..=task.population {
        if number % EVERY == 0 {
            if task.is_variant("keep-alive") {
                walk.keeping(number)?;
            } else {
                walk.closing(number)?;
            }
        }
        idle.push(connected(walk.address, walk.source, number, |client| {
            connect(client, walk.address)
        })?);
    }
    still_open(&idle)?;
    Ok(Measured {
        series: vec![
            walk.connected.series_at(walk.connected_at),
            walk.asked.series_at(walk.asked_at),
        ],
        facts: server.facts(),
        ..Measured::default()
    })
}

struct Walk<'a> {
    address: SocketAddr,
    source: SocketAddr,
    exchange: &'a Exchange,
    connected: Stopwatch,
    asked: Stopwatch,
    connected_at: Vec<u32>,
    asked_at: Vec<u32>,
    answer: Vec<u8>,
    /// How long an answer on a connection that stays open is, once it was learned.
    length: Option<usize>,
}

impl Walk<'_> {
    fn connection(&mut self, number: u32) -> Result<TcpStream, ProbeError> {
        let (timed, address) = (&mut self.connected, self.address);
        let socket = connected(address, self.source, number, |client| {
            timed.time(|| connect(client, address))
        })?;
        self.connected_at.push(number);
        let stream = TcpStream::from(socket);
        stream
            .set_read_timeout(Some(PATIENCE))
            .doing(|| "setting a time limit".to_owned())?;
        Ok(stream)
    }

    /// Five requests, each on a connection that the server closes.
    fn closing(&mut self, number: u32) -> Result<(), ProbeError> {
        for _ in 0..REQUESTS {
            let mut stream = self.connection(number)?;
            let (request, answer) = (&self.exchange.closing, &mut self.answer);
            let length = self
                .asked
                .time(|| {
                    stream.write_all(request)?;
                    until_end(&mut stream, answer)
                })
                .doing(|| format!("a request to {}", self.address))?;
            self.asked_at.push(number);
            self.right(length)?;
        }
        Ok(())
    }

    /// Five requests on one connection.
    fn keeping(&mut self, number: u32) -> Result<(), ProbeError> {
        let length = match self.length {
            Some(length) => length,
            None => self.learn(number)?,
        };
        let mut stream = self.connection(number)?;
        for _ in 0..REQUESTS {
            let (request, answer) = (&self.exchange.keeping, &mut self.answer[..length]);
            self.asked
                .time(|| {
                    stream.write_all(request)?;
                    stream.read_exact(answer)
                })
                .doing(|| format!("a request to {}", self.address))?;
            self.asked_at.push(number);
            self.right(length)?;
        }
        // The server must not be the one that keeps the port busy, nor we.
        let _best_effort = sys::socket::set_reset_on_close(&OwnedFd::from(stream));
        Ok(())
    }

    /// The answer is over when the server says nothing for a while: asked once, untimed.
    fn learn(&mut self, number: u32) -> Result<usize, ProbeError> {
        let mut stream = TcpStream::from(connected(self.address, self.source, number, |client| {
            connect(client, self.address)
        })?);
        stream
            .write_all(&self.exchange.keeping)
            .and_then(|()| stream.set_read_timeout(Some(Duration::from_millis(200))))
            .doing(|| "a first request".to_owned())?;
        let mut length = 0;
        loop {
            match stream.read(&mut self.answer[length..]) {
                Ok(0) if length == self.answer.len() => {
                    let why = "the answer is larger than 1 MiB";
                    return Err(ProbeError::Program(why.to_owned()));
                }
                Ok(0) => {
                    return Err(ProbeError::Program(
                        "the server closes connections after one answer: use request:close"
                            .to_owned(),
                    ));
                }
                Ok(count) => length += count,
                Err(error)
                    if length > 0
                        && matches!(
                            error.kind(),
                            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                        ) =>
                {
                    break;
                }
                Err(error) => return Err(error).doing(|| "a first answer".to_owned()),
            }
        }
        self.right(length)?;
        self.length = Some(length);
        Ok(length)
    }

    fn right(&self, length: usize) -> Result<(), ProbeError> {
        if self.answer[..length].starts_with(&self.exchange.begins) {
            return Ok(());
        }
        let said = &self.answer[..length.min(60)];
        let line =
            String::from_utf8_lossy(said.split(|byte| *byte == b'\r').next().unwrap_or(said));
        Err(ProbeError::Program(format!(
            "the server at {} answered '{line}'",
            self.address
        )))
    }
}

/// Reads until the server closes; an answer beyond the room for it is an error.
fn until_end(stream: &mut TcpStream, answer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        match stream.read(&mut answer[length..])? {
            0 if length == answer.len() => {
                return Err(std::io::Error::other("the answer is larger than 1 MiB"));
            }
            0 => return Ok(length),
            count => length += count,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_answer_without_room_for_it_is_not_taken_for_a_close() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // It ends when the one who asks has gone.
            while stream.write_all(&[b'x'; 4_096]).is_ok() {}
        });
        let exchange = Exchange {
            keeping: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            begins: b"xxx".to_vec(),
            ..Exchange::default()
        };
        let mut walk = Walk {
            address,
            source: source(1),
            exchange: &exchange,
            connected: Stopwatch::new("connect", 1),
            asked: Stopwatch::new("request", 1),
            connected_at: Vec::new(),
            asked_at: Vec::new(),
            answer: vec![0; 1 << 20],
            length: None,
        };
        let why = walk.learn(1).unwrap_err().to_string();
        server.join().unwrap();
        assert!(why.contains("larger than 1 MiB"), "{why}");
    }
}
