//! A range of addresses that share their first bits: `10.0.0.0/18`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses by its first bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Prefix {
    /// Its lowest address.
    first: IpAddr,
    /// How many bits are shared.
    length: u8,
}

/// An address as a number.
pub fn to_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address of this number, of the family of `like`.
pub fn from_bits(bits: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => {
            u32::try_from(bits).map_or(like, |bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
        }
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(bits)),
    }
}

impl Prefix {
    /// Bits that differ within it.
    const fn free(self) -> u32 {
        let all = if self.first.is_ipv4() { 32 } else { 128 };
        all - self.length as u32
    }

    /// The bits that differ within it.
    fn span(self) -> u128 {
        u128::MAX.checked_shr(128 - self.free()).unwrap_or(0)
    }

    /// Its lowest address and its highest.
    fn ends(self) -> (u128, u128) {
        let first = to_bits(self.first);
        (first, first | self.span())
    }

    /// Whether `address` is in it.
    pub fn has(self, address: IpAddr) -> bool {
        let (first, last) = self.ends();
        let bits = to_bits(address);
        self.first.is_ipv4() == address.is_ipv4() && first <= bits && bits <= last
    }

    /// Whether its addresses are of version 6.
    pub const fn is_six(self) -> bool {
        self.first.is_ipv6()
    }

    /// The lowest and the highest address that a host can have: all, but for the first, which
    /// stands for the network, and the last of version 4, which means everyone in it.
    pub fn hosts(self) -> (IpAddr, IpAddr) {
        let (first, last) = self.ends();
        if self.free() < 2 {
            return (self.first, from_bits(last, self.first));
        }
        let last = if self.is_six() { last } else { last - 1 };
        (
            from_bits(first + 1, self.first),
            from_bits(last, self.first),
        )
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("'{text}' is not a range of addresses: write one as in 10.0.0.0/18");
        let (address, length) = text.split_once('/').ok_or_else(form)?;
        let first: IpAddr = address.parse().map_err(|_| form())?;
        let length: u8 = length.parse().map_err(|_| form())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        if length > most {
            return Err(form());
        }
        let prefix = Self { first, length };
        let lowest = to_bits(first) & !prefix.span();
        if lowest != to_bits(first) {
            let first = from_bits(lowest, first);
            return Err(format!(
                "'{text}': the address has bits set after the first {length}: write {}",
                Self { first, length }
            ));
        }
        Ok(prefix)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_hosts() {
        let check = |text: &str, first: &str, last: &str| {
            let prefix: Prefix = text.parse().expect("a prefix");
            let (low, high) = prefix.hosts();
            assert_eq!(
                (low.to_string(), high.to_string()),
                (first.to_owned(), last.to_owned())
            );
            assert_eq!(prefix.to_string(), text);
            assert!(prefix.has(low) && prefix.has(high), "{text}");
        };
        check("10.0.0.0/18", "10.0.0.1", "10.0.63.254");
        check("10.0.0.0/31", "10.0.0.0", "10.0.0.1");
        check("10.0.0.7/32", "10.0.0.7", "10.0.0.7");
        check("0.0.0.0/0", "0.0.0.1", "255.255.255.254");
        check("fd00::/120", "fd00::1", "fd00::ff");
        check("::/0", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        let check = |text: &str, part: &str| {
            let said = text.parse::<Prefix>().expect_err("it is none");
            assert!(said.contains(part), "{text}: {said}");
        };
        check("10.0.0.0", "10.0.0.0/18");
        check("10.0.0.0/33", "not a range");
        check("x/8", "not a range");
        check("10.0.0.9/24", "write 10.0.0.0/24");
        check("fd00::1/64", "write fd00::/64");
    }

    #[test]
    fn addresses_are_in_it_or_not() {
        let prefix: Prefix = "10.0.0.0/18".parse().expect("a prefix");
        let check = |text: &str, is_in: bool| {
            assert_eq!(
                prefix.has(text.parse().expect("an address")),
                is_in,
                "{text}"
            );
        };
        check("10.0.0.0", true);
        check("10.0.63.255", true);
        check("10.0.64.0", false);
        check("::a00:1", false);
    }
}
