//! Memory that the kernel holds for the contents of the server's sockets.
//!
//! Cost: about a microsecond a connection, so that it is read after the window, while the
//! connections are still open.

use model::PlanFile;
use model::plan::{Protocol, Url};
use model::usage::GroupUsage;
use sys::counters::socket;

/// The TCP port that `plan` asks at; none where it asks in another way.
pub fn port_of(plan: &PlanFile) -> Option<u16> {
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

/// Reads what the sockets at this port hold, where somebody listens there in this network
/// namespace. Where nobody does, the server's sockets are in another one, and where there is no
/// connection, they have ended before anybody looked: nothing is known then.
pub fn sockets(port: Option<u16>, usage: &mut GroupUsage) {
    let memory = port.and_then(|port| socket::memory(port).ok());
    if let Some(memory) = memory.filter(|memory| memory.listeners > 0 && memory.connections > 0) {
        usage.memory_sockets = Some(memory.held);
        usage.memory_sockets_connections = Some(memory.connections);
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
        let read = |port: Option<u16>| {
            let mut usage = GroupUsage::default();
            sockets(port, &mut usage);
            (usage.memory_sockets, usage.memory_sockets_connections)
        };
        assert_eq!(read(Some(address.port())), (None, None));
        let _client = TcpStream::connect(address).unwrap();
        let (_server, _) = listener.accept().unwrap();
        let (memory, connections) = read(Some(address.port()));
        assert!(memory.is_some());
        assert_eq!(connections, Some(1));
        assert_eq!(read(None), (None, None));
        drop(listener);
        assert_eq!(read(Some(address.port())), (None, None));
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
