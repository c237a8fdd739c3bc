use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

fn loopback(v6: bool) -> SocketAddr {
    if v6 {
        (Ipv6Addr::LOCALHOST, 0).into()
    } else {
        (Ipv4Addr::LOCALHOST, 0).into()
    }
}

#[test]
fn addresses_survive_the_kernel_form() {
    for text in [
        "127.0.0.1:80",
        "10.1.2.3:65535",
        "[::1]:1",
        "[fe80::1:2]:99",
    ] {
        let address: SocketAddr = text.parse().unwrap();
        let (storage, length) = to_kernel(address);
        // SAFETY: the storage is initialised, and an address of that length lies in it.
        let told = unsafe { net::SocketAddrAny::read((&raw const storage).cast(), length) };
        assert_eq!(SocketAddr::try_from(told), Ok(address), "{text}");
    }
}

#[test]
fn a_listener_tells_its_port_and_refuses_a_second_one() {
    for v6 in [false, true] {
        let listener = listen(loopback(v6), 16, false).unwrap();
        let address = local_address(&listener).unwrap();
        assert_ne!(address.port(), 0);
        let error = listen(address, 16, false).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EADDRINUSE));
    }
}

#[test]
fn workers_share_a_port() {
    let first = listen(loopback(false), 16, true).unwrap();
    let address = local_address(&first).unwrap();
    assert!(listen(address, 16, true).is_ok());
}

#[test]
fn a_reserved_port_is_for_those_who_name_it() {
    for v6 in [false, true] {
        let held = reserve(loopback(v6)).unwrap();
        let address = local_address(&held).unwrap();
        let other = listen(loopback(v6), 16, false).unwrap();
        let target = local_address(&other).unwrap();
        assert_ne!(target.port(), address.port());
        // Nobody listens there yet.
        let early = outgoing(address, None).unwrap();
        let refused = connect(&early, address).map(|_| take_error(&early));
        assert!(!matches!(refused, Ok(None)), "{refused:?}");
        // A bind that does not say that it would share is refused, and so would be a connect.
        let stranger = open(address).unwrap();
        let error = net::bind(&stranger, &address).unwrap_err();
        assert_eq!(error, rustix::io::Errno::ADDRINUSE);
        // Those for whom it is kept: one alone, or workers together.
        drop(listen(address, 16, false).unwrap());
        let workers = [listen(address, 16, true), listen(address, 16, true)];
        assert!(workers.iter().all(Result::is_ok), "{workers:?}");
        drop(held);
        let error = reserve(address).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EADDRINUSE));
    }
}

#[test]
fn the_source_address_is_the_one_asked_for() {
    let listener = listen(loopback(false), 16, false).unwrap();
    let target = local_address(&listener).unwrap();
    let source: SocketAddr = "127.9.8.7:0".parse().unwrap();
    let socket = outgoing(target, Some(source)).unwrap();
    connect(&socket, target).unwrap();
    assert_eq!(local_address(&socket).unwrap().ip(), source.ip());
    assert_eq!(peer_address(&socket).unwrap(), target);
}

#[test]
fn a_source_that_this_machine_lacks_is_an_error() {
    let target: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let source: SocketAddr = "192.0.2.1:0".parse().unwrap();
    assert!(outgoing(target, Some(source)).is_err());
}
