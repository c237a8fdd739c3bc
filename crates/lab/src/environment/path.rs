//! This machine's end of the way between generator and server.

use std::net::IpAddr;

use model::environment::PathEnd;
use sys::link;

/// The end of a generator that asks `address`; none where no route leads there.
pub fn towards(address: IpAddr) -> Option<PathEnd> {
    end(&link::towards(address).ok()?)
}

/// The end of servers that are asked at `address`; none where this machine has no such address.
pub fn at(address: IpAddr) -> Option<PathEnd> {
    let name = match link::with(address).ok()? {
        Some(name) => name,
        // All addresses of this network are this machine's, and few stand with the link.
        None if address.to_canonical().is_loopback() => link::towards(address).ok()?,
        None => return None,
    };
    end(&name)
}

fn end(name: &str) -> Option<PathEnd> {
    let link = link::read(name).ok()?;
    let offloads = link.offloads.into_iter();
    Some(PathEnd {
        link: link.name,
        driver: link.driver,
        speed_mbit: link.speed_mbit,
        mtu: link.mtu,
        queues: link.queues,
        offloads: offloads.map(|(name, is)| (name.to_owned(), is)).collect(),
        round_trip_at_most: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_on_one_machine_are_its_loopback() {
        for address in ["127.0.0.1", "127.0.0.9"] {
            let address = address.parse().unwrap();
            let ends = [towards(address).unwrap(), at(address).unwrap()];
            assert_eq!(ends[0], ends[1]);
            assert!(ends[0].is_loopback() && ends[0].mtu.is_some(), "{ends:?}");
        }
        // An address for documentation, which nobody has.
        assert_eq!(at("192.0.2.77".parse().unwrap()), None);
    }
}
