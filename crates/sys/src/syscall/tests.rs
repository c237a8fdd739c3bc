//! Each call once, for what it promises.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use super::*;

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

#[test]
fn a_connection_is_made_of_single_calls() {
    let listener = socket::stream(socket::Family::V4).unwrap();
    socket::share_port(&listener).unwrap();
    socket::bind(&listener, loopback()).unwrap();
    socket::listen(&listener, 4).unwrap();
    let address = crate::socket::local_address(&listener).unwrap();
    let second = socket::stream(socket::Family::V4).unwrap();
    socket::share_port(&second).unwrap();
    socket::bind(&second, address).unwrap();
    let client = socket::blocking_stream(socket::Family::V4).unwrap();
    socket::bind_without_port(&client).unwrap();
    socket::bind(&client, SocketAddr::from(([127, 3, 2, 1], 0))).unwrap();
    socket::connect(&client, address).unwrap();
    let accepted = socket::accept(&listener).unwrap();
    let peer = crate::socket::peer_address(&accepted).unwrap();
    assert_eq!(peer.ip().to_string(), "127.3.2.1");
    assert!(socket::is_open(&client));
    drop(accepted);
    assert!(!socket::is_open(&client));
}

#[test]
fn a_mapping_shows_the_file() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 8192]).unwrap();
    let mapping = mapping::Mapping::of_file(&file, 4096, 4096).unwrap();
    assert_eq!(mapping.touch(0), 7);
    assert_eq!(mapping.touch(4095), 7);
    let fresh = mapping::Mapping::anonymous(1 << 20).unwrap();
    fresh.forbid_huge_pages().unwrap();
    assert_eq!(fresh.touch(fresh.length() - 1), 0);
}

#[test]
#[should_panic(expected = "4096 of 4096")]
fn a_touch_beyond_the_end_is_refused() {
    let mapping = mapping::Mapping::anonymous(4096).unwrap();
    mapping.touch(4096);
}

#[test]
fn epoll_finds_the_one_that_is_ready() {
    let set = epoll::Epoll::new().unwrap();
    let events: Vec<_> = (0..10).map(|_| epoll::EventFd::new().unwrap()).collect();
    for (token, event) in (0..).zip(&events) {
        set.add(event, token).unwrap();
    }
    assert_eq!(set.wait(Duration::ZERO).unwrap(), None);
    events[7].raise();
    assert_eq!(set.wait(Duration::ZERO).unwrap(), Some(7));
    events[7].clear();
    assert_eq!(set.wait(Duration::ZERO).unwrap(), None);
}

#[test]
fn a_ring_completes_a_no_op_beside_what_waits() {
    let mut ring = match ring::Ring::new(8) {
        Ok(ring) => ring,
        // Containers often forbid io_uring; then there is nothing to test.
        Err(error) => {
            assert!(
                matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)),
                "{error}"
            );
            return;
        }
    };
    let idle = epoll::EventFd::new().unwrap();
    ring.arm(&idle, 1).unwrap();
    ring.nop().unwrap();
    ring.nop().unwrap();
}

#[test]
fn threads_start_and_all_end() {
    let mut threads = thread::Threads::new(20, 64 << 10).unwrap();
    for _ in 0..20 {
        threads.start().unwrap();
    }
    assert_eq!(threads.count(), 20);
}

#[test]
fn extents_cover_a_file_where_the_file_system_tells() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![1; 1 << 20]).unwrap();
    file::forget_pages(&file).unwrap();
    if let Ok(extents) = file::extents(&file, 1_000) {
        let sum: u64 = extents.iter().map(|extent| extent.length).sum();
        assert!(sum >= 1 << 20, "{extents:?}");
    }
}

#[test]
fn limits_are_ordered() {
    let bounds = limit::bounds(limit::Resource::OpenFiles).unwrap();
    if let (Some(soft), Some(hard)) = (bounds.soft, bounds.hard) {
        assert!(soft <= hard);
    }
}
