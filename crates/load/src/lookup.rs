//! Where a plan's connections lead: the names of its hosts are looked up once, before the run, and
//! how long that took is told.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use model::plan::{Plan, Url};
use model::record::Lookup;
use model::units::Span;
use sys::clock;

use crate::preamble::NOWHERE;
use crate::run::LoadError;

/// What is known of where connections lead.
#[derive(Debug)]
pub(crate) struct Found {
    /// All addresses of each server, each once.
    pub(crate) targets: Vec<Vec<SocketAddr>>,
    /// How names were looked up; none if there was nothing to look up.
    pub(crate) lookup: Option<Lookup>,
}

impl Found {
    /// What the plan said itself.
    fn given(addresses: Vec<SocketAddr>) -> Self {
        Self {
            targets: vec![addresses],
            lookup: None,
        }
    }

    /// The addresses of all servers.
    pub(crate) fn all(&self) -> Vec<SocketAddr> {
        self.targets.concat()
    }
}

/// Where to connect: to the servers, or for each of them to the proxy before all. With a Unix
/// socket there is one place, and its address means nothing. Where the plan has source addresses, a
/// server is asked at addresses of their families alone.
///
/// # Errors
///
/// A host is unknown, or no source can reach an address of it.
pub(crate) fn look_up(plan: &Plan) -> Result<Found, LoadError> {
    let mut found = look_up_all(plan)?;
    let sources = &plan.file().sources;
    for targets in &mut found.targets {
        let is_reached = |target: &SocketAddr| {
            let mut sources = sources.iter();
            sources.any(|source| source.is_ipv4() == target.is_ipv4())
        };
        let target = targets[0];
        if !sources.is_empty() {
            targets.retain(is_reached);
        }
        if targets.is_empty() {
            let family = if target.is_ipv4() { "IPv4" } else { "IPv6" };
            return Err(LoadError::Source { target, family });
        }
    }
    Ok(found)
}

/// The same, whatever the sources are.
fn look_up_all(plan: &Plan) -> Result<Found, LoadError> {
    if plan.file().unix_socket.is_some() {
        return Ok(Found::given(vec![NOWHERE]));
    }
    if !plan.file().addresses.is_empty() {
        return Ok(Found::given(plan.file().addresses.clone()));
    }
    let mut found = Found {
        targets: Vec::with_capacity(plan.hosts().len()),
        lookup: None,
    };
    if let Some(proxy) = plan.proxy() {
        let (addresses, took) = look_up_one(&proxy)?;
        found.lookup = took.map(|took| Lookup::of(took, ips(&addresses)));
        found.targets = vec![addresses; plan.hosts().len()];
        return Ok(found);
    }
    for url in plan.hosts() {
        if let Some(given) = plan.addresses_of(url) {
            found.targets.push(given.to_vec());
            continue;
        }
        let (addresses, took) = look_up_one(url)?;
        if let Some(took) = took {
            let one = Lookup::of(took, ips(&addresses));
            found.lookup.get_or_insert_default().merge(one);
        }
        found.targets.push(addresses);
    }
    Ok(found)
}

fn ips(addresses: &[SocketAddr]) -> Vec<IpAddr> {
    addresses.iter().map(SocketAddr::ip).collect()
}

/// The addresses of one host, and how long it took to find them, if they had to be found.
fn look_up_one(url: &Url) -> Result<(Vec<SocketAddr>, Option<Span>), LoadError> {
    if let Ok(address) = url.host.parse::<IpAddr>() {
        return Ok((vec![SocketAddr::new(address, url.port)], None));
    }
    let unknown = |reason: String| LoadError::Resolve {
        host: url.host.clone(),
        reason,
    };
    let start = clock::monotonic();
    let found = (url.host.as_str(), url.port)
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?;
    let took = clock::monotonic() - start;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(unknown("it has no address".to_owned()));
    }
    Ok((addresses, Some(took)))
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::PlanFile;

    use super::*;

    fn found(file: PlanFile) -> Found {
        look_up(&Plan::try_from(file).unwrap()).unwrap()
    }

    #[test]
    fn a_name_is_looked_up_and_an_address_is_not() {
        let named = found(fixture::plan("http://localhost:81/", &[]));
        let lookup = named.lookup.expect("it was looked up");
        assert_eq!(lookup.time.count(), 1);
        assert_eq!(lookup.addresses, named.targets[0].len() as u64);
        assert!(named.targets[0].iter().all(|one| one.ip().is_loopback()));
        for url in ["http://127.0.0.7:81/", "http://[::1]:81/"] {
            let given = found(fixture::plan(url, &[]));
            assert_eq!((given.targets[0].len(), given.lookup), (1, None), "{url}");
            assert_eq!(given.targets[0][0].port(), 81);
        }
        let somewhere = [([127, 0, 0, 9], 82).into()];
        let given = found(fixture::plan("http://localhost:81/", &somewhere));
        assert_eq!(given.targets, [somewhere]);
        assert_eq!(given.lookup, None);
    }

    #[test]
    fn each_of_several_hosts_has_its_addresses() {
        let mut file = fixture::plan("http://localhost:81/", &[]);
        let more = ["http://127.0.0.2:82/", "http://localhost:83/"];
        file.requests
            .extend(more.map(model::request::RequestFile::get));
        file.connections = 3;
        let found = found(file);
        let ports: Vec<u16> = found.targets.iter().map(|one| one[0].port()).collect();
        assert_eq!(ports, [81, 82, 83]);
        assert_eq!(found.lookup.expect("two names").time.count(), 2);
    }

    #[test]
    fn a_name_that_nobody_has_is_told() {
        let plan = Plan::try_from(fixture::plan("http://nobody.invalid/", &[])).unwrap();
        let told = look_up(&plan).unwrap_err().to_string();
        assert!(
            told.starts_with("cannot find the host 'nobody.invalid'"),
            "{told}"
        );
    }

    #[test]
    fn a_server_is_asked_where_a_source_can_reach_it() {
        let both = ["127.0.0.1:81", "[::1]:81"].map(|one| one.parse::<SocketAddr>().unwrap());
        let asked = |sources: &[&str], addresses: &[SocketAddr]| {
            let plan = PlanFile {
                sources: sources.iter().map(|one| one.parse().unwrap()).collect(),
                ..fixture::plan("http://site.test:81/", addresses)
            };
            let found = look_up(&Plan::try_from(plan).unwrap());
            found
                .map_err(|error| error.to_string())
                .map(|found| found.all())
        };
        assert_eq!(asked(&[], &both).unwrap(), both);
        assert_eq!(asked(&["127.0.0.5", "::1"], &both).unwrap(), both);
        assert_eq!(asked(&["127.0.0.5"], &both).unwrap(), both[..1]);
        assert_eq!(asked(&["127.0.0.5", "::1"], &both[1..]).unwrap(), both[1..]);
        let why = asked(&["::1"], &both[..1]).unwrap_err();
        assert!(
            why.contains("reach 127.0.0.1:81: give one of IPv4"),
            "{why}"
        );
    }
}
