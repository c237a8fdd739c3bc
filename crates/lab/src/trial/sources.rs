//! Source addresses of a network of the lab: each trial has its own.

use std::net::{IpAddr, Ipv4Addr};

use model::Experiment;

use super::Load;
use crate::host::sources_of;

/// Each trial has source addresses of its own, so that TIME_WAIT of one never meets the next. One
/// address has 28,000 ports; where connections are closed again and again there are more of them.
const SOURCES_CHURN: u32 = 16;
const CONNECTIONS_PER_SOURCE: u32 = 20_000;

/// From the addresses of one trial to those of the next, where nobody asks for many.
pub(super) const STRIDE_MIN: u64 = 64;

/// From the addresses of one trial to those of the next, such that none has another's.
pub(super) fn stride(experiment: &Experiment) -> u64 {
    let most = experiment.sources().last().copied().unwrap_or_default();
    u64::from(most).max(STRIDE_MIN)
}

/// The source addresses of a trial against `server`: where it is reached by way of the lab's own
/// devices, all of these are the generator's; of other networks nobody knows.
pub(super) fn sources(load: &Load, server: IpAddr) -> Vec<IpAddr> {
    let Some(network) = sources_of(server) else {
        return Vec::new();
    };
    let churn = if load.requests_per_connection.is_some() {
        SOURCES_CHURN
    } else {
        1
    };
    let needed = churn * load.connections.div_ceil(CONNECTIONS_PER_SOURCE).max(1);
    let first = load.number.wrapping_mul(load.stride);
    (0..u64::from(load.sources.unwrap_or(needed)))
        .map(|index| source(network, first.wrapping_add(index)))
        .collect()
}

/// An address whose second byte is 64 to 191, another one for each number in turn.
fn source(network: u8, number: u64) -> IpAddr {
    let byte = |value: u64| u8::try_from(value).expect("it was taken modulo at most 256");
    let last = byte(number % 254 + 1);
    let third = byte(number / 254 % 256);
    let second = byte(number / 254 / 256 % 128 + 64);
    IpAddr::V4(Ipv4Addr::new(network, second, third, last))
}
