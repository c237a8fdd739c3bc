use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use super::*;
use crate::counters::process;

#[test]
fn a_listener_is_found_with_its_owner_and_its_queue() {
    let ours = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = ours.local_addr().unwrap();
    let _waiting = TcpStream::connect(address).unwrap();
    let found = listeners_at(address);
    let [listener] = found.as_slice() else {
        panic!("one socket, not {found:?}");
    };
    assert_eq!(listener.queue, 1);
    assert_eq!(listener.address, address.ip());
    assert!(listener.queue_limit > 1, "{listener:?}");
    let sockets = process::sockets(Path::new("/proc"), std::process::id()).unwrap();
    assert!(sockets.contains(&listener.inode));
}

#[test]
fn an_ipv6_listener_is_found_too() {
    let Ok(ours) = TcpListener::bind("[::1]:0") else {
        return crate::testing::not_run("this machine has no IPv6");
    };
    assert_eq!(listeners_at(ours.local_addr().unwrap()).len(), 1);
}

#[test]
fn a_connection_counts_until_the_server_has_ended_it_too() {
    let ours = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = ours.local_addr().unwrap().port();
    assert_eq!(connections(port).unwrap(), 0);
    let client = TcpStream::connect(ours.local_addr().unwrap()).unwrap();
    let (server, _) = ours.accept().unwrap();
    assert_eq!(connections(port).unwrap(), 1);
    drop(client);
    assert_eq!(
        connections(port).unwrap(),
        1,
        "the server has not closed it"
    );
    drop(server);
    // The last two segments of loopback may be a moment on their way.
    while connections(port).unwrap() > 0 {}
}

/// Those of this address: a stranger may listen at the same port of another one.
fn listeners_at(address: SocketAddr) -> Vec<Listener> {
    let mut found = listeners(address.port()).unwrap();
    found.retain(|listener| listener.address == address.ip());
    found
}

#[test]
fn a_listener_answers_at_its_address_and_one_of_all_addresses_anywhere() {
    let check = |listens: &str, asked: &str, expected: bool| {
        let listener = Listener {
            address: listens.parse().unwrap(),
            port: 80,
            inode: 1,
            queue: 0,
            queue_limit: 1,
        };
        assert_eq!(
            listener.answers(asked.parse().unwrap()),
            expected,
            "{listens}, {asked}"
        );
    };
    check("127.0.0.1", "127.0.0.1", true);
    check("127.0.0.1", "127.0.0.2", false);
    check("0.0.0.0", "127.0.0.2", true);
    check("0.0.0.0", "::1", false);
    check("::", "::1", true);
    check("::", "127.0.0.1", true);
    check("::1", "127.0.0.1", false);
    check("::ffff:127.0.0.1", "127.0.0.1", true);
}
