//! Network links: which one packets to an address leave by, which one has an address, and how each
//! is set.
//!
//! Asked of the kernel in the network namespace of the calling thread. Files below `/sys` are those
//! of the namespace that it was mounted in.

use std::ffi::CStr;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::netlink::{self, Question, attribute, attributes, u32_at};
use crate::syscall::socket::{Family, blocking_stream};

/// Room for a name: `IFNAMSIZ`.
const NAME: usize = 16;
/// `struct rtmsg` and `struct ifaddrmsg` of linux/rtnetlink.h and linux/if_addr.h.
const ROUTE: usize = 12;
const ADDRESS: usize = 8;

/// How a link is set. What the kernel does not tell is none.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Link {
    /// Its name: `eth0`.
    pub name: String,
    /// Its number in this network namespace: another namespace may have a link of that name, too.
    pub index: Option<u32>,
    /// What drives it, or its kind where the kernel alone is behind it: `veth`.
    pub driver: Option<String>,
    /// Its speed in megabits per second.
    pub speed_mbit: Option<u64>,
    /// Its largest packet.
    pub mtu: Option<u64>,
    /// How many queues its received packets are spread over.
    pub queues: Option<u32>,
    /// Work on segments and checksums that is saved or left to the card, each with whether it is
    /// on: `gro`, `tso`.
    pub offloads: Vec<(&'static str, bool)>,
}

/// The link that packets to `address` leave by: `lo` where it is one of this machine's own.
pub fn towards(address: IpAddr) -> io::Result<String> {
    let (family, octets) = parts(address);
    let bits = u8::try_from(octets.len() * 8).expect("at most 128");
    // Family, bits of the destination; the rest of it is for the kernel to choose.
    let mut body = vec![family, bits];
    body.resize(ROUTE, 0);
    body.extend(attribute(libc::RTA_DST, &octets));
    let question = Question {
        family: libc::NETLINK_ROUTE,
        kind: libc::RTM_GETROUTE,
        is_dump: false,
        body: &body,
    };
    let mut index = None;
    netlink::ask(&question, &mut |answer| {
        let mut out = attributes(answer, ROUTE).filter(|(kind, _)| *kind == libc::RTA_OIF);
        index = index.or_else(|| u32_at(out.next()?.1, 0));
    })?;
    let index = index.ok_or_else(|| io::Error::other("the kernel names no link for it"))?;
    name_of(index)
}

/// The link that has `address`; none where this machine has it on no link, as with most of
/// 127.0.0.0/8.
pub fn with(address: IpAddr) -> io::Result<Option<String>> {
    let (family, octets) = parts(address);
    let mut body = vec![family];
    body.resize(ADDRESS, 0);
    let question = Question {
        family: libc::NETLINK_ROUTE,
        kind: libc::RTM_GETADDR,
        is_dump: true,
        body: &body,
    };
    let mut index = None;
    netlink::ask(&question, &mut |answer| {
        let is_it = |(kind, value): (u16, &[u8])| {
            [libc::IFA_ADDRESS, libc::IFA_LOCAL].contains(&kind) && value == octets
        };
        if attributes(answer, ADDRESS).any(is_it) {
            index = index.or_else(|| u32_at(answer, 4));
        }
    })?;
    index.map(name_of).transpose()
}

/// How the link of this name is set.
pub fn read(name: &str) -> io::Result<Link> {
    let asked = Asked::new(name)?;
    let is_on = |order: u32| asked.ethtool(order).map(|answer| answer[1]);
    let mut offloads: Vec<(&'static str, bool)> = OFFLOADS
        .iter()
        .filter_map(|(name, order)| Some((*name, is_on(*order)? != 0)))
        .collect();
    offloads.extend(is_on(FLAGS).map(|flags| ("lro", flags & FLAG_LRO != 0)));
    offloads.sort_unstable();
    Ok(Link {
        name: name.to_owned(),
        index: asked.index(),
        driver: asked.ethtool(DRIVER).and_then(|answer| driver(&answer)),
        speed_mbit: asked.ethtool(SETTINGS).and_then(|answer| speed(&answer)),
        mtu: asked.mtu(),
        queues: asked.ethtool(CHANNELS).and_then(|answer| queues(&answer)),
        offloads,
    })
}

fn parts(address: IpAddr) -> (u8, Vec<u8>) {
    let (family, octets) = match address.to_canonical() {
        IpAddr::V4(ip) => (libc::AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6, ip.octets().to_vec()),
    };
    (u8::try_from(family).expect("families are small"), octets)
}

fn name_of(index: u32) -> io::Result<String> {
    let mut name = [0_u8; NAME];
    // SAFETY: the buffer is live and as long as the longest name with its end.
    let found = unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) };
    if found.is_null() {
        return Err(io::Error::last_os_error());
    }
    text(&name).ok_or_else(|| io::Error::other("the name of a link has no end"))
}

/// What stands before the first zero.
fn text(bytes: &[u8]) -> Option<String> {
    let text = CStr::from_bytes_until_nul(bytes).ok()?;
    Some(text.to_string_lossy().into_owned())
}

/// `SIOCGIFMTU` and `SIOCETHTOOL` of linux/sockios.h.
const GET_MTU: libc::Ioctl = 0x8921;
const ETHTOOL: libc::Ioctl = 0x8946;

/// Orders of linux/ethtool.h that ask, and change nothing: everybody may give them.
const SETTINGS: u32 = 0x1;
const DRIVER: u32 = 0x3;
const FLAGS: u32 = 0x25;
const CHANNELS: u32 = 0x3c;
const OFFLOADS: [(&str, u32); 5] = [
    ("gro", 0x2b),
    ("gso", 0x23),
    ("rx-checksum", 0x14),
    ("tso", 0x1e),
    ("tx-checksum", 0x16),
];
/// `ETH_FLAG_LRO`.
const FLAG_LRO: u32 = 1 << 15;

/// Words for the answer to any of these orders; the longest is that of `DRIVER`, of 196 bytes.
const ROOM: usize = 64;

/// `struct ifreq` of linux/if.h, whose union is at most as long as three long words.
#[repr(C)]
struct Request {
    name: [u8; NAME],
    value: Value,
}

#[repr(C)]
union Value {
    number: libc::c_int,
    place: *mut u32,
    whole: [u64; 3],
}

/// A link that is asked how it is set.
struct Asked {
    socket: OwnedFd,
    name: [u8; NAME],
}

impl Asked {
    fn new(name: &str) -> io::Result<Self> {
        let mut padded = [0; NAME];
        if name.len() >= NAME {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        padded[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self {
            // Any socket will do.
            socket: blocking_stream(Family::V4)?,
            name: padded,
        })
    }

    fn index(&self) -> Option<u32> {
        // SAFETY: the name is shorter than its room, so that a zero ends it.
        let index = unsafe { libc::if_nametoindex(self.name.as_ptr().cast()) };
        (index != 0).then_some(index)
    }

    fn mtu(&self) -> Option<u64> {
        let mut request = Request {
            name: self.name,
            value: Value { whole: [0; 3] },
        };
        let place = &raw mut request;
        // SAFETY: the request is live and as long as the kernel's own, which writes a number there.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), GET_MTU, place) };
        if done == -1 {
            return None;
        }
        // SAFETY: all bytes of the value were set, and any are a number.
        u64::try_from(unsafe { request.value.number }).ok()
    }

    /// The answer to an order, itself the first word; none where the link has none.
    fn ethtool(&self, order: u32) -> Option<[u32; ROOM]> {
        let mut answer = [0; ROOM];
        answer[0] = order;
        let mut request = Request {
            name: self.name,
            value: Value {
                place: answer.as_mut_ptr(),
            },
        };
        let place = &raw mut request;
        // SAFETY: the request leads to live memory that is longer than the answer to any order.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), ETHTOOL, place) };
        (done != -1).then_some(answer)
    }
}

/// `driver` of `struct ethtool_drvinfo`: 32 bytes behind the order.
fn driver(answer: &[u32; ROOM]) -> Option<String> {
    let bytes: Vec<u8> = answer[1..9]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    text(&bytes).filter(|name| !name.is_empty())
}

/// `speed` and `speed_hi` of `struct ethtool_cmd`, at the bytes 12 and 28. All ones are unknown.
fn speed(answer: &[u32; ROOM]) -> Option<u64> {
    let half = |word: u32| {
        let [one, other, ..] = word.to_ne_bytes();
        u16::from_ne_bytes([one, other])
    };
    let (low, high) = (half(answer[3]), half(answer[7]));
    let is_known = low != u16::MAX && (low, high) != (0, 0);
    is_known.then(|| u64::from(low) | u64::from(high) << 16)
}

/// `rx_count` and `combined_count` of `struct ethtool_channels`.
fn queues(answer: &[u32; ROOM]) -> Option<u32> {
    let count = answer[5].saturating_add(answer[8]);
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn addresses_of_this_machine_are_reached_over_loopback() {
        for address in ["127.0.0.1", "127.0.0.2", "::ffff:127.0.0.1"] {
            let found = towards(address.parse().unwrap()).unwrap();
            assert_eq!(found, "lo", "{address}");
        }
        let own = with(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!(own.as_deref(), Some("lo"));
        // An address for documentation, which nobody has.
        assert_eq!(with("192.0.2.77".parse().unwrap()).unwrap(), None);
    }

    #[test]
    fn loopback_tells_how_it_is_set() {
        let lo = read("lo").unwrap();
        let mtu = std::fs::read_to_string("/proc/sys/net/ipv4/conf/lo/tag");
        assert!(mtu.is_ok(), "this namespace has a loopback");
        assert!(lo.mtu.is_some_and(|mtu| mtu >= 1_280), "{lo:?}");
        assert_eq!((lo.index, lo.speed_mbit), (Some(1), None));
        let tso = lo.offloads.iter().find(|(name, _)| *name == "tso");
        assert!(tso.is_some(), "{lo:?}");
        assert!(read("a-name-that-is-too-long").is_err());
    }

    #[test]
    fn a_link_that_is_not_there_tells_nothing() {
        let none = Link {
            name: "none".to_owned(),
            ..Link::default()
        };
        assert_eq!(read("none").unwrap(), none);
    }

    #[test]
    fn answers_are_read_where_they_stand() {
        let mut answer = [0; ROOM];
        let word = |low: u16| {
            let [one, other] = low.to_ne_bytes();
            u32::from_ne_bytes([one, other, 7, 7])
        };
        let mut check = |low: u16, high: u16, expected: Option<u64>| {
            (answer[3], answer[7]) = (word(low), word(high));
            assert_eq!(speed(&answer), expected, "{low} {high}");
        };
        check(1_000, 0, Some(1_000));
        // 100 Gbit/s are more than 16 bits tell.
        check(0x86a0, 1, Some(100_000));
        check(u16::MAX, u16::MAX, None);
        check(u16::MAX, 0, None);
        check(0, 0, None);
        let mut answer = [0; ROOM];
        assert_eq!(queues(&answer), None);
        (answer[5], answer[8]) = (1, 4);
        assert_eq!(queues(&answer), Some(5));
        assert_eq!(driver(&answer), None);
        answer[1] = u32::from_ne_bytes(*b"veth");
        answer[2] = 0;
        assert_eq!(driver(&answer).as_deref(), Some("veth"));
    }
}
