//! The servers of a plan: most have one. Where requests name several, each connection leads to one
//! of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Plan, PlanError, PlanFile, Url, field};
use crate::request::{Request, RequestFile};

/// The most servers of one plan.
pub const HOSTS_MAX: usize = 64;

/// Which server each request is asked of.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Hosts {
    /// Of each server, the position of the first request that is asked of it.
    first: Vec<usize>,
    /// Of each request, the position of its server.
    of: Vec<usize>,
}

impl Hosts {
    /// Those of these requests, in the order in which they are named first.
    pub(super) fn of(requests: &[Request]) -> Self {
        let mut known = BTreeMap::new();
        let mut hosts = Self::default();
        for (position, Request { url, .. }) in requests.iter().enumerate() {
            let host = *known
                .entry((&url.host, url.port, url.is_secure))
                .or_insert_with(|| {
                    hosts.first.push(position);
                    hosts.first.len() - 1
                });
            hosts.of.push(host);
        }
        hosts
    }
}

/// Names what is asked of several servers in the same way by its whole URL, unless it has a name of
/// its own in the file, so that each can be told from the other.
pub(super) fn tell_apart(requests: &mut [Request], written: &[RequestFile]) {
    let mut asked: BTreeMap<String, BTreeSet<(String, u16)>> = BTreeMap::new();
    for request in requests.iter() {
        let servers = asked.entry(request.name.clone()).or_default();
        servers.insert((request.url.host.clone(), request.url.port));
    }
    for (request, written) in requests.iter_mut().zip(written) {
        if written.name.is_none() && asked[&request.name].len() > 1 {
            request.name = format!("{} {}", request.method, request.url);
        }
    }
}

impl Plan {
    /// The servers that are asked, each by the URL of the first request to it: at least one.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = &Url> {
        let first = self.hosts.first.iter();
        first.map(|position| &self.requests[*position].url)
    }

    /// Which of the servers the request in this position is asked of.
    pub fn host_of(&self, request: usize) -> usize {
        self.hosts.of.get(request).copied().unwrap_or(0)
    }

    /// How often each of the servers is asked in relation to the others.
    pub fn weights_of_hosts(&self) -> Vec<u64> {
        let mut weights = vec![0; self.hosts.first.len()];
        for (request, host) in self.requests.iter().zip(&self.hosts.of) {
            weights[*host] += u64::from(request.weight);
        }
        weights
    }
}

impl PlanFile {
    /// How many servers its requests name; 1 where a URL is none.
    pub fn servers(&self) -> usize {
        servers_of(&self.requests)
    }
}

/// How many servers these requests name; 1 where a URL is none.
pub fn servers_of(requests: &[RequestFile]) -> usize {
    let urls = requests.iter().map(|request| Url::parse(&request.url));
    let Ok(urls) = urls.collect::<Result<Vec<Url>, _>>() else {
        return 1;
    };
    let servers = urls.iter().map(|url| (&url.host, url.port, url.is_secure));
    servers.collect::<BTreeSet<_>>().len()
}

/// Where connections to one of several servers lead.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServerAddresses {
    /// Host and port, as in `b.test:80`.
    pub server: String,
    /// All are used in turn: at least one.
    pub addresses: Vec<SocketAddr>,
}

impl Plan {
    /// Where connections to the server of `url` lead, if the plan says so.
    pub fn addresses_of(&self, url: &Url) -> Option<&[SocketAddr]> {
        let server = url.with_port();
        let known = self.file.resolve.iter().find(|one| one.server == server)?;
        Some(&known.addresses)
    }
}

/// What is said of addresses is said of servers that are asked.
fn check_addresses(file: &PlanFile, requests: &[Request], hosts: &Hosts) -> Result<(), PlanError> {
    let is_asked = |one: &ServerAddresses| {
        let mut first = hosts.first.iter();
        first.any(|position| requests[*position].url.with_port() == one.server)
    };
    for one in &file.resolve {
        let server = &one.server;
        let why = if one.addresses.is_empty() {
            format!("'{server}' has no address: give one")
        } else if !is_asked(one) {
            format!("nothing is asked of '{server}'")
        } else if hosts.first.len() == 1 {
            format!("'{server}' is the only server: give its addresses in 'addresses'")
        } else {
            continue;
        };
        return Err(field("resolve", why));
    }
    Ok(())
}

/// Several servers fit the rest of the plan.
pub(super) fn check(file: &PlanFile, requests: &[Request], hosts: &Hosts) -> Result<(), PlanError> {
    check_addresses(file, requests, hosts)?;
    let count = hosts.first.len();
    if count == 1 {
        return Ok(());
    }
    let first = &requests[0].url;
    if let Some(other) = requests
        .iter()
        .find(|one| one.url.is_secure != first.is_secure)
    {
        let why = format!(
            "'{first}' and '{}' are not asked in one run: give URLs that are all http or all https",
            other.url
        );
        return Err(field("requests", why));
    }
    if count > HOSTS_MAX {
        let why = format!("{count} servers are asked, and one run asks at most {HOSTS_MAX}");
        return Err(field("requests", why));
    }
    let other = &requests[hosts.first[1]].url;
    let alone = [
        ("lua", file.lua.is_some(), "a script in Lua asks"),
        ("follow", file.follow.is_some(), "redirects are followed on"),
        ("unix_socket", file.unix_socket.is_some(), "it leads to"),
        ("addresses", !file.addresses.is_empty(), "they belong to"),
    ];
    if let Some((name, _, what)) = alone.into_iter().find(|(_, is_given, _)| *is_given) {
        let why = format!("{what} one server, and '{first}' and '{other}' are two");
        return Err(field(name, why));
    }
    // Users of a script have connections to all of them.
    let each = file.connections / file.workers.max(1);
    if file.script.is_none() && (each as usize) < count {
        let why = format!(
            "{count} servers need a connection of each thread: give at least {}",
            count * file.workers as usize
        );
        return Err(field("connections", why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::plan::Renewal;

    use super::*;

    fn file(urls: &[&str]) -> PlanFile {
        let mut file = fixture::plan(urls[0], &[]);
        file.requests = urls.iter().map(|url| RequestFile::get(*url)).collect();
        (file.connections, file.workers) = (8, 2);
        file
    }

    #[test]
    fn each_request_is_asked_of_its_server() {
        let urls = [
            "http://a.test/1",
            "http://b.test/",
            "http://a.test:80/2",
            "http://a.test:81/",
        ];
        let mut written = file(&urls);
        written.requests[2].weight = 9;
        written.renewal = Renewal::default();
        assert_eq!(written.servers(), 3);
        let plan = Plan::try_from(written).unwrap();
        let hosts: Vec<String> = plan.hosts().map(|url| url.with_port()).collect();
        assert_eq!(hosts, ["a.test:80", "b.test:80", "a.test:81"]);
        let of: Vec<usize> = (0..4).map(|request| plan.host_of(request)).collect();
        assert_eq!(of, [0, 1, 0, 2]);
        assert_eq!(plan.weights_of_hosts(), [10, 1, 1]);
    }

    #[test]
    fn what_several_servers_cannot_have_is_refused() {
        let check = |urls: &[&str], change: fn(&mut PlanFile), why: &str| {
            let mut written = file(urls);
            change(&mut written);
            let told = Plan::try_from(written).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        };
        let two = ["http://a.test/", "http://b.test/"];
        check(
            &["http://a.test/", "https://a.test/"],
            |_| {},
            "all http or all https",
        );
        check(&two, |file| file.connections = 3, "give at least 4");
        check(
            &two,
            |file| file.follow = Some(3),
            "follow: redirects are followed on one server",
        );
        check(
            &two,
            |file| file.addresses = vec![([127, 0, 0, 1], 80).into()],
            "'http://a.test/' and 'http://b.test/' are two",
        );
        let resolve = |server: &str, addresses: &[SocketAddr]| {
            let server = server.to_owned();
            let addresses = addresses.to_vec();
            vec![ServerAddresses { server, addresses }]
        };
        let somewhere = [([127, 0, 0, 1], 80).into()];
        let mut written = file(&two);
        written.resolve = resolve("b.test:80", &somewhere);
        let plan = Plan::try_from(written).unwrap();
        let known: Vec<bool> = plan
            .hosts()
            .map(|url| plan.addresses_of(url).is_some())
            .collect();
        assert_eq!(known, [false, true]);
        for (urls, server, addresses, why) in [
            (&two[..], "c.test:80", &somewhere[..], "nothing is asked of"),
            (&two, "b.test", &somewhere, "nothing is asked of 'b.test'"),
            (&two, "b.test:80", &[], "has no address"),
            (&two[..1], "a.test:80", &somewhere, "is the only server"),
        ] {
            let mut written = file(urls);
            written.resolve = resolve(server, addresses);
            let told = Plan::try_from(written).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
        let many: Vec<String> = (0..65).map(|n| format!("http://{n}.test/")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(
            &many,
            |file| file.connections = 1_000,
            "65 servers are asked, and one run asks at most 64",
        );
    }
}
