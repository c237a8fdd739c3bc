//! Keys that no table knows, and that are close to one that is known.

use super::super::table::{DEFAULTS, IRRELEVANT, KNOWN, number_keys};

/// The key that is likely meant by `key`.
pub(super) fn meant(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    let known = DEFAULTS
        .iter()
        .map(|one| one.key)
        .chain(IRRELEVANT.iter().map(|one| one.key))
        .chain(KNOWN.iter().copied())
        .chain(number_keys())
        .filter(|one| !one.contains('*'));
    // What differs in its digits alone is another key: net.ipv6 beside net.ipv4.
    known
        .filter(|one| key == *one || letters(&key) != letters(one))
        .filter_map(|one| Some((distance(&key, one)?, one)))
        .min()
        .map(|(_, one)| one)
}

/// How far `key` is from `known`, if that can be a slip: of its name's letters, or of its group.
fn distance(key: &str, known: &str) -> Option<usize> {
    let name = name(known);
    if name.len() >= 8 && name == self::name(key) {
        return Some(0);
    }
    let slips = if name.len() >= 10 { 2 } else { 1 };
    Some(strsim::damerau_levenshtein(key, known)).filter(|distance| *distance <= slips)
}

/// The last part of a key.
fn name(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

fn letters(key: &str) -> String {
    key.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_keys() {
        let check = |key: &str, expected: Option<&str>| assert_eq!(meant(key), expected, "{key}");
        let reuse = Some("net.ipv4.tcp_tw_reuse");
        check("net.ipv4.tcp_tw_resue", reuse);
        check("net.ipv4.tcp_tw_reuse_", reuse);
        check("net.ipv4.tpc_tw_resue", reuse);
        check("net.core.tcp_tw_reuse", reuse);
        check("tcp_tw_reuse", reuse);
        check("net.core.somaxcon", Some("net.core.somaxconn"));
        check("net.ipv4.somaxconn", Some("net.core.somaxconn"));
        check("Net.Core.Somaxconn", Some("net.core.somaxconn"));
        check("net.ipv4.tcp_go_faster", None);
        check("net.ipv4.udp_mem", None);
        check("net.ipv6.ip_nonlocal_bind", None);
        check("kernel.acct", None);
    }

    #[test]
    fn no_key_of_a_kernel_is_a_slip() {
        let dump = include_str!("../fixtures/dump-6.18.conf");
        let keys = dump.lines().filter_map(|line| line.split_once(" ="));
        for (key, _) in keys {
            let close = meant(key);
            let is_known = close.is_none_or(|close| close == key) || KNOWN.contains(&key);
            let is_removed = super::super::removed::knows(key);
            assert!(is_known || is_removed, "{key}: {close:?}");
        }
    }
}
