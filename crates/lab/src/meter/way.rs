//! What a load goes over.

use std::net::IpAddr;

use model::PlanFile;
use model::plan::Url;

/// What the load goes over: by this it is told for whom threads of the kernel work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// No device but that of loopback.
    Loopback,
    /// Network devices, or nobody knows.
    #[default]
    Devices,
}

impl Way {
    /// The way of the load that `plan` describes. Nothing is looked up: where hosts are names, it
    /// is known for addresses given with them and for `localhost` alone.
    pub fn of(plan: &PlanFile) -> Self {
        if plan.unix_socket.is_some() {
            return Self::Loopback;
        }
        let mut addresses: Vec<Option<IpAddr>> = Vec::new();
        // What a proxy asks for us comes from the servers of the requests.
        addresses.extend(plan.http_proxy.iter().map(|proxy| address_of(&proxy.url)));
        if plan.addresses.is_empty() {
            addresses.extend(plan.requests.iter().map(|one| address_of(&one.url)));
        } else {
            addresses.extend(plan.addresses.iter().map(|one| Some(one.ip())));
        }
        let is_loopback =
            |address: &Option<IpAddr>| address.is_some_and(|one| one.to_canonical().is_loopback());
        if !addresses.is_empty() && addresses.iter().all(is_loopback) {
            Self::Loopback
        } else {
            Self::Devices
        }
    }
}

/// The address of a URL that has one, or a name that has one on every machine.
fn address_of(url: &str) -> Option<IpAddr> {
    let host = Url::parse(url).ok()?.host;
    if host.eq_ignore_ascii_case("localhost") {
        return Some(std::net::Ipv4Addr::LOCALHOST.into());
    }
    host.parse().ok()
}

#[cfg(test)]
mod tests {
    use model::plan::HttpProxy;

    use super::*;

    #[test]
    fn a_load_goes_over_loopback_where_all_of_it_does() {
        let way = |url: &str, addresses: &[&str]| {
            let addresses: Vec<_> = addresses.iter().map(|one| one.parse().unwrap()).collect();
            model::fixture::plan(url, &addresses)
        };
        let check = |plan: &PlanFile, expected| assert_eq!(Way::of(plan), expected, "{plan:?}");
        check(&way("http://127.0.0.1:8080/a", &[]), Way::Loopback);
        check(&way("http://[::1]:8080/", &[]), Way::Loopback);
        check(&way("https://localhost/", &[]), Way::Loopback);
        check(&way("http://site.test/", &["127.0.0.2:80"]), Way::Loopback);
        check(
            &way("http://site.test/", &["[::ffff:127.0.0.1]:80"]),
            Way::Loopback,
        );
        check(&way("http://site.test/", &[]), Way::Devices);
        check(&way("http://127.0.0.1/", &["192.0.2.1:80"]), Way::Devices);
        check(
            &way("http://site.test/", &["127.0.0.1:80", "192.0.2.1:80"]),
            Way::Devices,
        );
        let mut plan = way("http://127.0.0.1/", &[]);
        let mut second = plan.requests[0].clone();
        second.url = "http://192.0.2.1/".to_owned();
        plan.requests.push(second);
        check(&plan, Way::Devices);
        let mut plan = way("http://192.0.2.1/", &[]);
        plan.unix_socket = Some("/run/server".to_owned());
        check(&plan, Way::Loopback);
        for (server, expected) in [("127.0.0.1", Way::Loopback), ("192.0.2.1", Way::Devices)] {
            let mut plan = way(&format!("http://{server}/"), &[]);
            plan.http_proxy = Some(HttpProxy {
                url: "http://127.0.0.1:3128".to_owned(),
                tunnel: false,
                authorization: None,
            });
            check(&plan, expected);
        }
    }
}
