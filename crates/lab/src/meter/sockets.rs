//! Memory that the kernel holds for the contents of the server's sockets.
//!
//! Cost: about a microsecond a connection. It is read when the window has ended, and where
//! connections are few when it has begun, too: generators close theirs without waiting for anybody
//! who looks.

use model::PlanFile;
use model::plan::{Protocol, Url};
use model::usage::GroupUsage;
use sys::counters::socket::{self, Memory};

/// The TCP port that `plan` asks at; none where it asks in another way.
fn port_of(plan: &PlanFile) -> Option<u16> {
    let is_direct = plan.unix_socket.is_none() && plan.http_proxy.is_none();
    if plan.protocol == Protocol::Http3 || !is_direct {
        return None;
    }
    if let Some(address) = plan.addresses.first() {
        return Some(address.port());
    }
    let url = Url::parse(&plan.requests.first()?.url).ok()?;
    Some(url.port)
}

/// So many connections are looked at when the window has begun: in a millisecond.
const FEW: u32 = 1_000;

/// The sockets of one trial's server.
#[derive(Debug)]
pub struct Sockets {
    port: Option<u16>,
    are_few: bool,
    /// The reading with the most connections so far.
    best: Option<Memory>,
}

impl Sockets {
    /// Those that `plan` asks.
    pub fn of(plan: &PlanFile) -> Self {
        Self {
            port: port_of(plan),
            are_few: plan.connections <= FEW,
            best: None,
        }
    }

    /// The window has begun.
    pub fn begin(&mut self) {
        if self.are_few {
            self.look();
        }
    }

    /// The window has ended: adds what was read with the most connections to `usage`. Where there
    /// was none, they had ended before anybody looked, and nothing is known.
    pub fn end(&mut self, usage: &mut GroupUsage) {
        self.look();
        if let Some(memory) = self.best {
            usage.memory_sockets = Some(memory.held);
            usage.memory_sockets_connections = Some(memory.connections);
        }
    }

    /// Reads what the sockets at this port hold, where somebody listens there in this network
    /// namespace. Where nobody does, the server's sockets are in another one.
    fn look(&mut self) {
        let memory = self.port.and_then(|port| socket::memory(port).ok());
        let before = self.best.map_or(0, |best| best.connections);
        let more = |memory: &Memory| memory.listeners > 0 && memory.connections > before;
        self.best = memory.filter(more).or(self.best);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_nobody_listens_for_is_unknown_and_not_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let plan = |connections| PlanFile {
            connections,
            ..model::fixture::plan("http://site.test/", &[address])
        };
        let told = |sockets: &mut Sockets| {
            let mut usage = GroupUsage::default();
            sockets.end(&mut usage);
            (usage.memory_sockets, usage.memory_sockets_connections)
        };
        // A child of another test, between its fork and its exec, has our sockets open, too.
        let known = |count: fn(Memory) -> u64| count(socket::memory(address.port()).unwrap()) > 0;
        let (mut few, mut many) = (Sockets::of(&plan(5)), Sockets::of(&plan(5_000)));
        assert_eq!(told(&mut few), (None, None));
        let client = TcpStream::connect(address).unwrap();
        let (server, _) = listener.accept().unwrap();
        few.begin();
        many.begin();
        drop((client, server));
        while known(|memory| memory.connections) {}
        let (memory, connections) = told(&mut few);
        assert!(memory.is_some());
        assert_eq!(connections, Some(1), "it was there when the window began");
        assert_eq!(told(&mut many), (None, None));
        let _client = TcpStream::connect(address).unwrap();
        let (_server, _) = listener.accept().unwrap();
        assert_eq!(told(&mut many).1, Some(1));
        drop(listener);
        while known(|memory| memory.listeners) {}
        assert_eq!(told(&mut Sockets::of(&plan(5))), (None, None));
    }

    #[test]
    fn only_tcp_has_a_port_here() {
        let address = "127.0.0.1:8080".parse().unwrap();
        let mut plan = model::fixture::plan("https://site.test/", &[address]);
        assert_eq!(port_of(&plan), Some(8_080));
        plan.addresses.clear();
        assert_eq!(port_of(&plan), Some(443));
        plan.unix_socket = Some("socket".to_owned());
        assert_eq!(port_of(&plan), None);
        plan.unix_socket = None;
        plan.protocol = Protocol::Http3;
        assert_eq!(port_of(&plan), None);
    }
}
