use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;

use super::*;
use crate::testing::not_run;

fn pair() -> Option<Pair> {
    let search = Search::of_system(PathBuf::from("/no/triathlon"));
    let Some(ip) = search.program(&["ip"]) else {
        not_run("ip (iproute2) is not installed");
        return None;
    };
    match Pair::create(&ip) {
        Ok(pair) => Some(pair),
        Err(error) => {
            not_run(&error.to_string());
            None
        }
    }
}

fn devices() -> String {
    fs::read_to_string("/proc/thread-self/net/dev").unwrap()
}

#[test]
fn the_generator_reaches_servers_over_the_devices_and_from_every_source() {
    let outside = devices();
    let Some(pair) = pair() else { return };
    assert_eq!(devices().lines().count(), outside.lines().count());
    let inside = pair.enter().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // By loopback from beside the server.
    assert!(
        pair.enter_to_ask(Some(Ipv4Addr::LOCALHOST))
            .unwrap()
            .is_none()
    );
    drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap());
    listener.accept().unwrap();
    // By the devices from the other namespace: the default source, and one of those of a trial.
    let there = pair.enter_to_ask(Some(SERVER)).unwrap().unwrap();
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
    let stream = TcpStream::connect((SERVER, port)).unwrap();
    let source = SocketAddr::from((Ipv4Addr::new(SOURCES[0], 64, 3, 7), 0));
    let bound = sys::socket::reserve(source).expect("each source is the generator's own");
    drop((stream, bound));
    assert!(devices().contains(DEVICES[0]), "{}", devices());
    drop(there);
    let (_, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip(), GENERATOR);
    assert!(devices().contains(DEVICES[1]), "{}", devices());
    drop(inside);
    assert!(!devices().contains(DEVICES[0]) && !devices().contains(DEVICES[1]));
}
