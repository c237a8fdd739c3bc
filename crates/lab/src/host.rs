//! The machines of an experiment as values: the one that serves, and where its load comes from.
//!
//! This program runs where the servers are. Which address they have there, how that machine is
//! read, and whether the load comes from it too, is asked of a [`Host`]: nothing that starts,
//! meters or asks servers presumes it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use model::{Environment, Experiment};

use crate::pair;

/// The names of a machine for itself.
pub const OWN_NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

/// Where servers listen that are asked from their own machine alone.
pub(crate) const OWN: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// The machine of the servers.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Where servers listen.
    pub listen: Ipv4Addr,
    /// Whether the load comes from other machines.
    pub is_asked_from_elsewhere: bool,
    /// Reads it, as it is now.
    pub read: &'a dyn Fn() -> Environment,
}

impl fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("listen", &self.listen)
            .field("is_asked_from_elsewhere", &self.is_asked_from_elsewhere)
            .finish_non_exhaustive()
    }
}

impl<'a> Host<'a> {
    /// As `experiment` has it.
    pub fn of(experiment: &Experiment, read: &'a dyn Fn() -> Environment) -> Self {
        let far = experiment.asked_at();
        Self {
            listen: match far {
                Some(address) => address,
                // By loopback and by the pair of devices: nobody else is in its namespace.
                None if pair::is_needed(experiment) => Ipv4Addr::UNSPECIFIED,
                None => OWN,
            },
            is_asked_from_elsewhere: far.is_some(),
            read,
        }
    }

    /// The machine as it is now.
    pub fn environment(&self) -> Environment {
        (self.read)()
    }

    /// The CPUs that a server and the generator share here, where it is known which the server
    /// may use. `told` is what generators elsewhere know: whether they asked their own machine.
    pub fn shared_cpus(
        &self,
        server: Option<&[u32]>,
        generator: &[u32],
        told: Option<Vec<u32>>,
    ) -> Option<Vec<u32>> {
        if self.is_asked_from_elsewhere {
            return told;
        }
        let cpus = server?.iter().copied();
        Some(cpus.filter(|cpu| generator.contains(cpu)).collect())
    }
}

/// Where one is asked that listens there: one that listens everywhere is asked from its own
/// machine, if nobody says otherwise.
pub const fn asked_at(listen: Ipv4Addr) -> Ipv4Addr {
    match listen.is_unspecified() {
        true => OWN,
        false => listen,
    }
}

/// The network (its first byte) all of whose addresses the generator has when it asks there; of
/// other networks nobody knows.
pub fn sources_of(server: IpAddr) -> Option<u8> {
    match server {
        IpAddr::V4(ip) if ip.is_loopback() => Some(OWN.octets()[0]),
        IpAddr::V4(pair::SERVER) => Some(pair::SOURCES[0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENTS: &str = "[generator]\nagents = [\"a\"]\naddress = \"192.0.2.1\"\n";

    fn host(overrides: &[&str], table: &str) -> Host<'static> {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let (_, text) = crate::experiment::BUILT_IN[0];
        let text = format!("{text}\n{table}");
        let experiment = crate::experiment::parse("x", &text, &overrides).unwrap();
        Host::of(&experiment, &Environment::default)
    }

    #[test]
    fn servers_listen_where_they_are_asked() {
        let check = |overrides: &[&str], table: &str, listen: &str, is_elsewhere: bool| {
            let host = host(overrides, table);
            assert_eq!(host.listen.to_string(), listen, "{overrides:?}");
            assert_eq!(host.is_asked_from_elsewhere, is_elsewhere, "{overrides:?}");
        };
        check(&[], "", "127.0.0.1", false);
        check(&["load.network=veth"], "", "0.0.0.0", false);
        check(&[], AGENTS, "192.0.2.1", true);
        assert_eq!(asked_at(Ipv4Addr::UNSPECIFIED), OWN);
        assert_eq!(asked_at(pair::SERVER), pair::SERVER);
    }

    #[test]
    fn cpus_are_shared_on_one_machine_and_told_by_another() {
        let here = host(&[], "");
        let shared = here.shared_cpus(Some(&[0, 1]), &[1, 2], None);
        assert_eq!(shared, Some(vec![1]));
        assert_eq!(here.shared_cpus(None, &[1], Some(Vec::new())), None);
        let far = host(&[], AGENTS);
        assert_eq!(far.shared_cpus(Some(&[0]), &[0], None), None);
        let told = far.shared_cpus(None, &[], Some(Vec::new()));
        assert_eq!(told, Some(Vec::new()));
    }

    #[test]
    fn sources_are_those_of_the_network_that_is_asked() {
        let check = |address: &str, expected: Option<u8>| {
            assert_eq!(sources_of(address.parse().unwrap()), expected, "{address}");
        };
        check("127.0.0.1", Some(127));
        check("127.7.0.1", Some(127));
        check("198.18.0.2", Some(10));
        check("192.0.2.1", None);
        check("::1", None);
    }
}
