//! Where a plan's connections lead: the name of its host is looked up once, before the run, and how
//! long that took is told.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use model::plan::Plan;
use model::record::Lookup;
use sys::clock;

use crate::preamble::NOWHERE;
use crate::run::LoadError;

/// What is known of where connections lead.
#[derive(Debug)]
pub(crate) struct Found {
    /// All addresses, each once.
    pub(crate) addresses: Vec<SocketAddr>,
    /// How the name was looked up; none if there was nothing to look up.
    pub(crate) lookup: Option<Lookup>,
}

impl Found {
    /// What the plan said itself.
    const fn given(addresses: Vec<SocketAddr>) -> Self {
        Self {
            addresses,
            lookup: None,
        }
    }
}

/// Where to connect: to the server or to the proxy before it. With a Unix socket there is one
/// place, and its address means nothing.
///
/// # Errors
///
/// The host is unknown.
pub(crate) fn look_up(plan: &Plan) -> Result<Found, LoadError> {
    if plan.file().unix_socket.is_some() {
        return Ok(Found::given(vec![NOWHERE]));
    }
    if !plan.file().addresses.is_empty() {
        return Ok(Found::given(plan.file().addresses.clone()));
    }
    let url = plan.proxy();
    let url = url.as_ref().unwrap_or_else(|| &plan.request().url);
    if let Ok(address) = url.host.parse::<IpAddr>() {
        return Ok(Found::given(vec![SocketAddr::new(address, url.port)]));
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
    let lookup = Some(Lookup::of(took, addresses.len() as u64));
    Ok(Found { addresses, lookup })
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
        assert_eq!(lookup.addresses, named.addresses.len() as u64);
        assert!(named.addresses.iter().all(|one| one.ip().is_loopback()));
        for url in ["http://127.0.0.7:81/", "http://[::1]:81/"] {
            let given = found(fixture::plan(url, &[]));
            assert_eq!((given.addresses.len(), given.lookup), (1, None), "{url}");
            assert_eq!(given.addresses[0].port(), 81);
        }
        let somewhere = [([127, 0, 0, 9], 82).into()];
        let given = found(fixture::plan("http://localhost:81/", &somewhere));
        assert_eq!((given.addresses, given.lookup), (somewhere.to_vec(), None));
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
}
