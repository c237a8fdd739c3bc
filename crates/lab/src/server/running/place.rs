//! Where a server that runs is asked.

use model::experiment::Network;

use super::Running;
use crate::host::asked_at;
use crate::pair;
use crate::trial::Place;

impl Running {
    /// Where it is asked over that network.
    pub fn place_over(&self, network: Option<Network>) -> Place {
        match network {
            Some(Network::Veth) => Place::at(pair::SERVER, self.port(), self.speaks.clone()),
            _ => self.place(),
        }
    }

    /// Where it is asked.
    pub fn place(&self) -> Place {
        match &self.external {
            Some(external) => Place {
                address: external.address,
                url: external.url.clone(),
                speaks: self.speaks.clone(),
            },
            None => Place::at(asked_at(self.address), self.port(), self.speaks.clone()),
        }
    }

    /// The port at which it listens.
    pub fn port(&self) -> u16 {
        match &self.external {
            Some(external) => external.address.port(),
            None => self.front().launch.port,
        }
    }

    /// Whether it may be far away: then this machine's counters say nothing of it.
    pub fn is_elsewhere(&self) -> bool {
        let external = self.external.as_ref();
        external.is_some_and(|one| one.process.is_none() && !one.address.ip().is_loopback())
    }
}
