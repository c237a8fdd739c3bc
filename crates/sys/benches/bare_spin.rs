//! An open loop that never sleeps: it spins to each due time and to each answer.
//!
//! What it reads is what the server and the kernel take; what another client reads beyond that is
//! its own. Requests are due evenly; time counts from due.
//!
//! `--target 127.0.0.1:8080 --path / --connections 32 --rate 2000 --seconds 3 --cpu 1`; prints
//! median and p99 of the response time and the p99 of lateness, in microseconds.

#![allow(clippy::print_stdout, reason = "a program that prints its result")]

mod common;

use std::io;
use std::os::fd::OwnedFd;

use model::units::{Instant, Rate, Span};
use sys::{clock, socket};

fn main() {
    if !common::is_asked() {
        return;
    }
    let arguments = common::Arguments::read();
    arguments.pin();
    let request = arguments.request();
    let target = arguments.target();
    let length = common::response_length(target, &request);
    let connect = |_| {
        let stream = std::net::TcpStream::connect(target).expect("the server accepts");
        stream.set_nodelay(true).expect("a TCP socket");
        stream.set_nonblocking(true).expect("a TCP socket");
        OwnedFd::from(stream)
    };
    let sockets: Vec<OwnedFd> = (0..arguments.number("connections", 32))
        .map(connect)
        .collect();
    let rate = Rate::per_second(u64::from(arguments.number("rate", 2_000)));
    let mut client = Client {
        sockets,
        request,
        length,
        buffer: vec![0; 64 * 1024],
    };
    drop(client.run(rate, Span::from_ms(500)));
    let seconds = u64::from(arguments.number("seconds", 3));
    let cpu = clock::thread_cpu().unwrap_or_default();
    let mut times = client.run(rate, Span::from_s(seconds));
    let cpu = clock::thread_cpu().unwrap_or_default().saturating_sub(cpu);
    times.responses.sort_unstable();
    times.lates.sort_unstable();
    println!("responses {}", times.responses.len());
    println!("median_us {:.2}", at(&times.responses, 50));
    println!("p99_us {:.2}", at(&times.responses, 99));
    println!("late_p99_us {:.2}", at(&times.lates, 99));
    let busy = cpu.as_s_f64() / Span::from_s(seconds).as_s_f64();
    println!("busy {busy:.3}");
}

/// The value that so many per cent do not exceed.
fn at(sorted: &[Span], percent: usize) -> f64 {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).map_or(0.0, |span| span.as_us_f64())
}

struct Client {
    sockets: Vec<OwnedFd>,
    request: Vec<u8>,
    length: usize,
    buffer: Vec<u8>,
}

struct Times {
    responses: Vec<Span>,
    lates: Vec<Span>,
}

/// A request on its way.
struct Flight {
    socket: usize,
    due: Instant,
    received: usize,
}

impl Client {
    fn run(&mut self, rate: Rate, span: Span) -> Times {
        let count = rate * span;
        let capacity = usize::try_from(count).expect("a small number");
        let mut times = Times {
            responses: Vec::with_capacity(capacity),
            lates: Vec::with_capacity(capacity),
        };
        let mut idle: Vec<usize> = (0..self.sockets.len()).collect();
        let mut flights: Vec<Flight> = Vec::with_capacity(idle.len());
        let start = clock::monotonic() + Span::from_ms(1);
        let gap = span / count.max(1);
        let mut sent = 0;
        while sent < count || !flights.is_empty() {
            let now = clock::monotonic();
            let due = start + gap * sent;
            if sent < count
                && now >= due
                && let Some(socket) = idle.pop()
            {
                times.lates.push(now - due);
                socket::send(&self.sockets[socket], &self.request, false)
                    .expect("an idle connection takes a request");
                flights.push(Flight {
                    socket,
                    due,
                    received: 0,
                });
                sent += 1;
            }
            for flight in &mut flights {
                let socket = &self.sockets[flight.socket];
                match socket::receive(socket, &mut self.buffer) {
                    Ok(0) => panic!("the server closed a connection"),
                    Ok(count) => flight.received += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => panic!("a receive failed: {error}"),
                }
            }
            let length = self.length;
            flights.retain(|flight| {
                let over = flight.received >= length;
                if over {
                    times.responses.push(clock::monotonic() - flight.due);
                    idle.push(flight.socket);
                }
                !over
            });
        }
        times
    }
}
