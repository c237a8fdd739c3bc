//! The flags that say which addresses connections come from.

use std::net::IpAddr;
use std::process::Command;
use std::str::FromStr;

use anyhow::Context as _;
use model::plan::{ProxyProtocol, ProxyVersion};
use model::prefix::{Prefix, from_bits, to_bits};
use model::random::Random;

use crate::exit::UsageError;

/// The most addresses that a range may have, each of which is named.
const MOST: u128 = 65_536;

/// Where connections come from.
#[derive(clap::Args, Debug)]
pub(super) struct Sources {
    /// Source addresses for new connections: an address, a range (10.0.0.1-10.0.47.9), a prefix
    /// (10.0.0.0/18), or all those of a network interface by its name; may be given several times.
    /// 'triathlon addresses add' makes a prefix this machine's own
    #[arg(long = "interface", value_name = "ADDRESSES|NAME")]
    sources: Vec<Source>,

    /// Which source address the next connection has: the next one; the next one of a random order,
    /// which --seed decides; or always the same one in the same place, so that each user of a
    /// closed loop has one
    #[arg(
        long = "interface-order",
        value_name = "ORDER",
        value_enum,
        default_value_t = Order::InTurn,
        requires = "sources"
    )]
    order: Order,

    /// Begin each connection with a header of the PROXY protocol, with which a proxy tells who
    /// asks: the connection's own address, or those of --proxy-protocol-source
    #[arg(long, value_name = "VERSION", value_enum)]
    proxy_protocol: Option<Version>,

    /// With --proxy-protocol: who asks, in turn; an address, a range or a prefix as with
    /// --interface, which need not be this machine's; may be given several times
    #[arg(
        long = "proxy-protocol-source",
        value_name = "ADDRESSES",
        id = "proxied",
        requires = "proxy_protocol"
    )]
    proxied: Vec<Source>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Version {
    /// A line of text
    V1,
    /// Bytes
    V2,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Order {
    InTurn,
    Random,
    User,
}

/// Addresses that stand together.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Source {
    /// From the first to the last, both of one family.
    Addresses(IpAddr, IpAddr),
    /// Those of an interface of this name.
    Interface(String),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Addresses(address, address));
        }
        let (first, last) = if text.contains('/') {
            text.parse::<Prefix>()?.hosts()
        } else {
            let ends = text
                .split_once('-')
                .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
            match ends {
                Some(ends) => ends,
                None if is_name(text) => return Ok(Self::Interface(text.to_owned())),
                None => {
                    return Err(
                        "write an IP address of this machine, as in 127.0.0.2; a range, \
                                127.0.0.2-127.0.0.9; a prefix, 127.0.1.0/24; or the name of a \
                                network interface"
                            .to_owned(),
                    );
                }
            }
        };
        check_range(text, first, last)?;
        Ok(Self::Addresses(first, last))
    }
}

/// Whether it could be the name of an interface. An address with a digit too many is none.
fn is_name(text: &str) -> bool {
    let is_like_an_address = text
        .chars()
        .all(|c| c.is_ascii_digit() || ".:-".contains(c));
    !is_like_an_address && (1..16).contains(&text.len()) && !text.contains(char::is_whitespace)
}

fn check_range(text: &str, first: IpAddr, last: IpAddr) -> Result<(), String> {
    if first.is_ipv4() != last.is_ipv4() || first > last {
        return Err(format!(
            "'{text}': a range goes from a lower address to a higher one of the same family"
        ));
    }
    if to_bits(last) - to_bits(first) >= MOST {
        return Err(format!(
            "'{text}' has more than {MOST} addresses: give a part of it"
        ));
    }
    Ok(())
}

impl Sources {
    /// Each address.
    pub(super) fn read(&self, seed: u64) -> anyhow::Result<Vec<IpAddr>> {
        let mut all = addresses(&self.sources)?;
        if let Order::Random = self.order {
            Random::new(seed).shuffle(&mut all);
        }
        Ok(all)
    }

    /// Whether a connection that is made anew comes from where the one before it came.
    pub(super) const fn are_kept(&self) -> bool {
        matches!(self.order, Order::User)
    }

    /// What each connection begins with.
    pub(super) fn proxy_protocol(&self) -> anyhow::Result<Option<ProxyProtocol>> {
        let Some(version) = self.proxy_protocol else {
            return Ok(None);
        };
        Ok(Some(ProxyProtocol {
            version: match version {
                Version::V1 => ProxyVersion::V1,
                Version::V2 => ProxyVersion::V2,
            },
            sources: addresses(&self.proxied)?,
        }))
    }
}

/// Each address of `sources`.
fn addresses(sources: &[Source]) -> anyhow::Result<Vec<IpAddr>> {
    let mut all = Vec::new();
    for source in sources {
        match source {
            Source::Addresses(first, last) => {
                let numbers = to_bits(*first)..=to_bits(*last);
                all.extend(numbers.map(|bits| from_bits(bits, *first)));
            }
            Source::Interface(name) => all.extend(of_interface(name)?),
        }
    }
    Ok(all)
}

/// The addresses of an interface, as `ip` tells them.
fn of_interface(name: &str) -> anyhow::Result<Vec<IpAddr>> {
    let told = Command::new("ip")
        .args(["-j", "address", "show", "dev", name])
        .output()
        .context("--interface: cannot start 'ip' (iproute2), which knows the interfaces by name")?;
    let unknown = || {
        UsageError(format!(
            "--interface: this machine has no interface '{name}' with an address: 'ip address' \
             lists them"
        ))
    };
    let value: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
    let entries = value.as_array().into_iter().flatten();
    let infos = entries.filter_map(|entry| entry["addr_info"].as_array());
    let addresses: Vec<IpAddr> = infos
        .flatten()
        // An address of the link alone needs to be told which link, each time.
        .filter(|info| info["scope"] != "link")
        .filter_map(|info| info["local"].as_str()?.parse().ok())
        .collect();
    if addresses.is_empty() {
        return Err(unknown().into());
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        sources: Sources,
        /// So that there is one as in the real command line.
        #[arg(long, default_value_t = 0)]
        seed: u64,
    }

    fn read(words: &str) -> Vec<IpAddr> {
        let words = ["x"].into_iter().chain(words.split_whitespace());
        let line = Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        line.sources.read(line.seed).expect("addresses")
    }

    #[test]
    fn addresses_ranges_and_prefixes_are_read() {
        let check = |words: &str, count: usize, first: &str, last: &str| {
            let all = read(words);
            let ends = all.first().zip(all.last());
            let (low, high) = ends.expect("there are some");
            assert_eq!(all.len(), count, "{words}");
            assert_eq!(
                (low.to_string(), high.to_string()),
                (first.to_owned(), last.to_owned())
            );
        };
        check("--interface 127.0.0.2", 1, "127.0.0.2", "127.0.0.2");
        check(
            "--interface 10.0.0.1-10.0.46.224",
            12_000,
            "10.0.0.1",
            "10.0.46.224",
        );
        check("--interface 10.0.0.0/18", 16_382, "10.0.0.1", "10.0.63.254");
        check("--interface fd00::/126", 3, "fd00::1", "fd00::3");
        check(
            "--interface 127.0.0.2 --interface ::1",
            2,
            "127.0.0.2",
            "::1",
        );
    }

    #[test]
    fn a_random_order_is_that_of_the_seed() {
        let in_turn = read("--interface 10.0.0.0/24");
        let random = |seed: u32| {
            read(&format!(
                "--interface 10.0.0.0/24 --interface-order random --seed {seed}"
            ))
        };
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
        let mut sorted = random(1);
        assert_ne!(sorted, in_turn);
        sorted.sort_unstable();
        assert_eq!(sorted, in_turn);
    }

    #[test]
    fn what_is_none_is_refused() {
        let check = |text: &str, part: &str| {
            let said = text.parse::<Source>().expect_err("it is none");
            assert!(said.contains(part), "{text}: {said}");
        };
        check("127.0.0", "write an IP address of this machine");
        check("127.0.0.300", "write an IP address of this machine");
        check("127.0.0.9-127.0.0.2", "from a lower address to a higher");
        check("127.0.0.9-::1", "of the same family");
        check("10.0.0.0/8", "more than 65536 addresses");
        check("fd00::/64", "more than 65536 addresses");
        check("10.0.0.1/24", "write 10.0.0.0/24");
        assert_eq!("eth0".parse(), Ok(Source::Interface("eth0".to_owned())));
    }
}
