//! Where connections lead and from where they come, and how many came from where.

use std::net::{IpAddr, SocketAddr};

use wire::Client;

use super::{Pool, Settings};

/// A source address of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// With port 0: the kernel chooses.
    pub(super) address: SocketAddr,
    /// Its position in the plan.
    position: u32,
}

/// The source addresses of a plan.
#[derive(Debug)]
pub(super) struct Sources {
    /// Those of IPv4 and those of IPv6.
    families: [Box<[Source]>; 2],
    /// Connections established from each, in the plan's order.
    established: Box<[u64]>,
}

impl Sources {
    pub(super) fn new(addresses: &[IpAddr]) -> Self {
        let family = |six: bool| {
            let numbered = (0..).zip(addresses);
            let fitting = numbered.filter(|(_, ip)| ip.is_ipv6() == six);
            let source = |(position, ip): (u32, &IpAddr)| Source {
                address: SocketAddr::new(*ip, 0),
                position,
            };
            fitting.map(source).collect()
        };
        Self {
            families: [false, true].map(family),
            established: vec![0; addresses.len()].into(),
        }
    }

    /// A connection from `source` was established.
    pub(super) fn count(&mut self, source: Option<Source>) {
        if let Some(source) = source {
            self.established[source.position as usize] += 1;
        }
    }
}

impl<C: Client> Pool<C> {
    /// Where connections in `place` lead, and from where they come, for as long as the run lasts;
    /// only where there are more sources than places has each new connection another one, so that
    /// all are used, unless the plan says that it keeps its own. Those of all workers take turns,
    /// first over the targets, then over the sources of their family.
    pub(super) fn route(&self, place: u32) -> (SocketAddr, Option<Source>) {
        let Settings {
            worker,
            workers,
            targets,
            keeps_source,
            each,
            connections,
            ..
        } = &self.settings;
        let user = place / each;
        let targets = &targets[self.host(place)];
        let turn = |count: usize| count * *workers as usize + *worker as usize;
        let among_its_own = self.hosts.number(place) / each;
        let target = targets[turn(among_its_own as usize) % targets.len()];
        let sources = &self.sources.families[usize::from(target.is_ipv6())];
        let has_more = sources.len() > turn((connections / each) as usize) / targets.len();
        let count = match has_more && !*keeps_source {
            true => self.dials,
            false => user as usize,
        };
        let source = (turn(count) / targets.len()).checked_rem(sources.len());
        (target, source.map(|index| sources[index]))
    }

    /// Connections that were established from each source of the plan, in its order.
    pub(crate) fn connections_from(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.sources.established).into_vec()
    }
}
