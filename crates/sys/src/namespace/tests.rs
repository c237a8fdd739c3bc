use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::*;

fn links() -> String {
    fs::read_to_string("/proc/thread-self/net/dev").unwrap()
}

#[test]
fn a_thread_is_in_a_namespace_until_it_leaves() {
    let namespace = match Namespace::create() {
        Ok(namespace) => namespace,
        Err(error) => return crate::testing::not_run(&format!("no namespaces: {error}")),
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let before = fs::read_link("/proc/thread-self/ns/net").unwrap();
    let inside = namespace.enter().unwrap();
    let there = fs::read_link("/proc/thread-self/ns/net").unwrap();
    assert_ne!(there, before);
    assert_eq!(fs::read_link(namespace.path()).unwrap(), there);
    // Its loopback is another one, and down.
    assert_eq!(links().lines().count(), 3, "{}", links());
    assert!(TcpStream::connect(address).is_err());
    // What it starts is there, too.
    let of_child = std::process::Command::new("readlink")
        .arg("/proc/self/ns/net")
        .output()
        .unwrap();
    let of_child = String::from_utf8(of_child.stdout).unwrap();
    assert_eq!(of_child.trim(), there.to_str().unwrap());
    drop(inside);
    assert_eq!(fs::read_link("/proc/thread-self/ns/net").unwrap(), before);
    assert!(TcpStream::connect(address).is_ok());
}
