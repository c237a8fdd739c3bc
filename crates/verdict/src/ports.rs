//! Source ports: those that the kernel gives to who connects and asks for none.

use model::Environment;

/// The setting with the first and the last of them.
pub(crate) const RANGE: &str = "net.ipv4.ip_local_port_range";
/// The setting with those that it gives to nobody who does not ask for them.
pub(crate) const RESERVED: &str = "net.ipv4.ip_local_reserved_ports";

/// The source ports of one address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Ports {
    /// The first and the last.
    pub(crate) range: (u64, u64),
    /// What of all ports is reserved, each from the first to the last.
    reserved: Vec<(u64, u64)>,
}

impl Ports {
    /// Those of a machine; none where its range is not known.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        let mut ends = environment.setting(RANGE)?.split_whitespace();
        let mut end = || ends.next()?.parse().ok();
        let range = (end()?, end()?);
        let text = environment.setting(RESERVED);
        let parts = text.into_iter().flat_map(|text| text.split(','));
        let part = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        };
        Some(Self {
            range,
            reserved: parts.filter_map(part).collect(),
        })
    }

    /// How many the side that connects may take: of the range those that are not reserved.
    pub(crate) fn count(&self) -> u64 {
        let (low, high) = self.range;
        let reserved = self.reserved.iter().map(|(first, last)| {
            let (first, last) = ((*first).max(low), (*last).min(high));
            (last + 1).saturating_sub(first)
        });
        self.in_range().saturating_sub(reserved.sum())
    }

    /// How many the range has, reserved or not.
    pub(crate) const fn in_range(&self) -> u64 {
        let (low, high) = self.range;
        (high + 1).saturating_sub(low)
    }

    /// What is reserved outside of the range, as the kernel takes it.
    pub(crate) fn reserved_outside(&self) -> String {
        let (low, high) = self.range;
        let parts = self.reserved.iter().flat_map(|(first, last)| {
            let below = (*first, (*last).min(low.saturating_sub(1)));
            let above = ((*first).max(high + 1), *last);
            [below, above]
        });
        let parts: Vec<String> = parts
            .filter(|(first, last)| first <= last)
            .map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            })
            .collect();
        parts.join(",")
    }
}
