//! This machine's end of the way between generator and server.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use model::environment::PathEnd;
use sys::link::{self, Link};

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
    let receive = receive_queues(Path::new("/sys"), &link);
    let receive = receive.as_deref();
    let offloads = link.offloads.into_iter();
    Some(PathEnd {
        link: link.name,
        driver: link.driver,
        speed_mbit: link.speed_mbit,
        mtu: link.mtu,
        // Few drivers without a device behind them tell.
        queues: link.queues.or_else(|| u32::try_from(receive?.len()).ok()),
        rps_cpus: receive.and_then(handed_on),
        offloads: offloads.map(|(name, is)| (name.to_owned(), is)).collect(),
        round_trip_at_most: None,
    })
}

/// The folders of the queues by which `link` receives. Files below `/sys` are those of the network
/// namespace that it was mounted in: of another one's link of this name nothing is read.
fn receive_queues(sys: &Path, link: &Link) -> Option<Vec<PathBuf>> {
    let folder = sys.join("class/net").join(&link.name);
    let index = fs::read_to_string(folder.join("ifindex")).ok()?;
    if index.trim().parse().ok() != Some(link.index?) {
        return None;
    }
    let queues = fs::read_dir(folder.join("queues")).ok()?.flatten();
    let is_of_receipt = |queue: &fs::DirEntry| {
        let name = queue.file_name();
        name.to_str().is_some_and(|name| name.starts_with("rx-"))
    };
    let queues: Vec<PathBuf> = queues.filter(is_of_receipt).map(|one| one.path()).collect();
    (!queues.is_empty()).then_some(queues)
}

/// How many CPUs some queue hands packets on to; none where a queue does not tell. A mask is of
/// groups of eight digits, of which the first has the highest CPUs: `00000000,0000000f`.
fn handed_on(queues: &[PathBuf]) -> Option<u32> {
    let mut all: Vec<u32> = Vec::new();
    for queue in queues {
        let mask = fs::read_to_string(queue.join("rps_cpus")).ok()?;
        for (place, group) in mask.trim().rsplit(',').enumerate() {
            let group = u32::from_str_radix(group, 16).ok()?;
            if all.len() == place {
                all.push(0);
            }
            all[place] |= group;
        }
    }
    Some(all.iter().map(|group| group.count_ones()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a link with these receive queues, each with the CPUs that it hands packets on to.
    fn told(index: &str, masks: &[&str]) -> (Option<usize>, Option<u32>) {
        let sys = tempfile::tempdir().unwrap();
        let folder = sys.path().join("class/net/eth0");
        fs::create_dir_all(folder.join("queues/tx-0")).unwrap();
        fs::write(folder.join("ifindex"), index).unwrap();
        for (queue, mask) in masks.iter().enumerate() {
            let queue = folder.join(format!("queues/rx-{queue}"));
            fs::create_dir(&queue).unwrap();
            fs::write(queue.join("rps_cpus"), mask).unwrap();
        }
        let link = Link {
            name: "eth0".to_owned(),
            index: Some(4),
            ..Link::default()
        };
        let queues = receive_queues(sys.path(), &link);
        let handed_on = queues.as_deref().and_then(handed_on);
        (queues.map(|queues| queues.len()), handed_on)
    }

    #[test]
    fn queues_are_counted_with_the_cpus_that_they_hand_packets_on_to() {
        assert_eq!(told("4\n", &["0\n"]), (Some(1), Some(0)));
        assert_eq!(told("4\n", &["3\n", "6\n"]), (Some(2), Some(3)));
        let wide = "80000000,00000001\n";
        assert_eq!(
            told("4\n", &["00000000,00000000\n", wide]),
            (Some(2), Some(2))
        );
        assert_eq!(told("4\n", &["x\n"]), (Some(1), None));
        assert_eq!(told("4\n", &[]), (None, None));
        // It is another link of that name.
        assert_eq!(told("5\n", &["3\n"]), (None, None));
    }

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
