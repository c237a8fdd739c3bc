//! HTTP/3 beside a worker: a loop of its own over UDP, which shares nothing with the loop over TCP
//! but the order to stop.
//!
//! The kernel gives each client to one worker by its address and port, so a client that moves to
//! another address may come to another worker and has to connect anew.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use model::{Instant, Span};
use sys::datagram::{Ports, Way};
use sys::file::Folder;
use sys::reactor::Waker;
use sys::{clock, cpu};
use wire::h3::server::Server;

use crate::Settings;
use crate::site::Site;
use crate::worker::{Control, Summary};

/// The most that one call receives.
const RECEIVE_BYTES: usize = 64 * 1024;
/// Calls that receive on one port, in one turn of the loop.
const RECEIVES: usize = 64;
/// Log lines wait no longer than this.
const FLUSH: Span = Span::from_ms(500);

/// What one worker serves over HTTP/3.
struct Worker {
    ports: Ports,
    /// One for each port.
    servers: Vec<Server<Arc<File>>>,
    site: Site,
    settings: Arc<Settings>,
    control: Arc<Control>,
    buffer: Vec<u8>,
    out: Vec<u8>,
    /// What a port had no room for.
    unsent: Option<(usize, Way)>,
    next_flush: Instant,
    next_second: Instant,
    second: u64,
    reopens: u64,
    drain_until: Option<Instant>,
}

/// The thread of worker number `worker`: tells `ready` when it serves, and returns what was done.
pub(crate) fn run(
    worker: u32,
    sockets: Vec<OwnedFd>,
    folder: Folder,
    settings: &Arc<Settings>,
    control: Arc<Control>,
    ready: &mpsc::Sender<io::Result<Waker>>,
) -> Summary {
    match Worker::new(worker, sockets, folder, settings, control) {
        Ok(worker) => {
            let _starter_waits = ready.send(Ok(worker.ports.waker()));
            worker.run()
        }
        Err(error) => {
            let _starter_waits = ready.send(Err(error));
            Summary::default()
        }
    }
}

impl Worker {
    fn new(
        worker: u32,
        sockets: Vec<OwnedFd>,
        folder: Folder,
        settings: &Arc<Settings>,
        control: Arc<Control>,
    ) -> io::Result<Self> {
        let place = worker as usize;
        if let Some(cpu) = settings.cpus.get(place % settings.cpus.len().max(1)) {
            cpu::pin(*cpu)?;
        }
        let Some(acceptor) = &settings.tls else {
            return Err(io::Error::other("HTTP/3 needs a certificate"));
        };
        let mut ports = Ports::new()?;
        let mut servers = Vec::new();
        for socket in sockets {
            ports.add(socket)?;
            let server = Server::new(acceptor, settings.limits, settings.connections);
            servers.push(server.map_err(io::Error::other)?);
        }
        let now = clock::monotonic();
        Ok(Self {
            ports,
            servers,
            site: Site::new(settings, folder, u64::from(worker))?,
            settings: Arc::clone(settings),
            control,
            buffer: vec![0; RECEIVE_BYTES],
            out: Vec::with_capacity(16 * 1024),
            unsent: None,
            next_flush: now,
            next_second: now,
            second: 0,
            reopens: 0,
            drain_until: None,
        })
    }

    /// Serves until told to stop and what is under way has ended.
    fn run(mut self) -> Summary {
        loop {
            let full = self.unsent.map(|(port, _)| port);
            let now = self.ports.wait(self.wakeup(), full);
            self.set_time(now);
            self.receive(now);
            for server in &mut self.servers {
                server.handle_timeout(now, &mut self.site);
            }
            if now >= self.next_flush {
                self.site.flush_log();
                self.next_flush = now + FLUSH;
            }
            let is_over = self.obey(now);
            self.send(now);
            if is_over {
                return self.finish(now);
            }
        }
    }

    /// When there is something to do, whatever comes until then.
    fn wakeup(&self) -> Instant {
        let servers = self.servers.iter();
        let first = servers.map(Server::poll_timeout).min();
        let mut at = first.unwrap_or(Instant::FAR_FUTURE);
        if self.site.is_log_pending() {
            at = at.min(self.next_flush);
        }
        at.min(self.drain_until.unwrap_or(Instant::FAR_FUTURE))
    }

    /// Reads the calendar once a second.
    fn set_time(&mut self, now: Instant) {
        if now >= self.next_second {
            let today = clock::realtime().as_ns();
            self.second = today / 1_000_000_000;
            self.next_second = now + Span::from_ns(1_000_000_000 - today % 1_000_000_000);
        }
        self.site.set_time(now, self.second);
    }

    fn receive(&mut self, now: Instant) {
        for (port, server) in self.servers.iter_mut().enumerate() {
            for _ in 0..RECEIVES {
                let Some(received) = self.ports.receive(port, &mut self.buffer) else {
                    break;
                };
                let mark = received.mark();
                for datagram in received.datagrams(&self.buffer) {
                    let (from, to) = (received.from, received.to);
                    server.handle_datagram(now, from, to, mark, datagram, &mut self.site);
                }
            }
        }
    }

    /// Sends what is to be sent, as far as ports have room.
    fn send(&mut self, now: Instant) {
        if let Some((port, way)) = self.unsent.take()
            && !self.ports.send(port, way, &self.out)
        {
            self.unsent = Some((port, way));
            return;
        }
        for (port, server) in self.servers.iter_mut().enumerate() {
            loop {
                self.out.clear();
                let Some(way) = server.poll_transmit(now, &mut self.out) else {
                    break;
                };
                let way = Way {
                    to: way.to,
                    from: way.from,
                    segment: way.segment,
                    mark: way.mark,
                };
                if !self.ports.send(port, way, &self.out) {
                    self.unsent = Some((port, way));
                    return;
                }
            }
        }
    }

    /// Does what was ordered from outside; true when it is time to go.
    fn obey(&mut self, now: Instant) -> bool {
        let reopens = self.control.reopens.load(Ordering::Relaxed);
        if reopens != self.reopens {
            self.reopens = reopens;
            // The worker over TCP counts it where the log cannot be opened.
            let _counted_there = self.site.reopen_log();
        }
        if self.drain_until.is_none() && self.control.stop.load(Ordering::Relaxed) {
            self.drain_until = Some(now + self.settings.drain_time);
            for server in &mut self.servers {
                server.finish(now, &mut self.site);
            }
        }
        let is_served = self.servers.iter().all(|server| server.open() == 0);
        self.drain_until
            .is_some_and(|until| is_served || now >= until)
    }

    fn finish(mut self, now: Instant) -> Summary {
        let mut summary = Summary::default();
        for server in &mut self.servers {
            summary.connections_cut += server.open() as u64;
            server.close(now, &mut self.site);
            let counts = server.counts();
            summary.connections += counts.connections;
            summary.connections_refused += counts.refused;
        }
        self.send(now);
        self.site.flush_log();
        summary.log_failures = self.site.log_failures();
        summary.requests = self.site.requests();
        summary
    }
}
