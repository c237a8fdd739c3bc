//! Where connections lead instead of where URLs say: `--resolve` and `--connect-to`, as in curl.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use anyhow::Context as _;
use model::plan::{ServerAddresses, Url};

use crate::exit::UsageError;

/// What those flags say.
pub(super) struct Rules<'a> {
    /// HOST:PORT:ADDRESS,ADDRESS.
    pub(super) resolve: &'a [String],
    /// HOST:PORT:OTHER-HOST:OTHER-PORT.
    pub(super) connect_to: &'a [String],
}

impl Rules<'_> {
    /// Where connections to these servers lead, as a plan has it: if there is one, its addresses,
    /// else those of each that a rule is about. The servers are then there.
    pub(super) fn lead(
        &self,
        servers: &mut [Url],
    ) -> anyhow::Result<(Vec<SocketAddr>, Vec<ServerAddresses>)> {
        let mut resolve = Vec::new();
        for url in &mut *servers {
            let server = url.with_port();
            let addresses = self.addresses(url)?;
            if let Some(address) = addresses.first() {
                url.host = address.ip().to_string();
                url.port = address.port();
                resolve.push(ServerAddresses { server, addresses });
            }
        }
        if servers.len() > 1 {
            return Ok((Vec::new(), resolve));
        }
        let only = resolve.pop().map(|one| one.addresses);
        Ok((only.unwrap_or_default(), resolve))
    }

    /// Where connections to the server of `url` lead; nothing where no rule is about it.
    pub(super) fn addresses(&self, url: &Url) -> anyhow::Result<Vec<SocketAddr>> {
        for rule in self.resolve {
            let form = || {
                UsageError(format!(
                    "--resolve: '{rule}' is not HOST:PORT:ADDRESS, as in example.test:80:127.0.0.1"
                ))
            };
            let (host, rest) = split_host(rule).ok_or_else(form)?;
            let (port, addresses) = rest.split_once(':').ok_or_else(form)?;
            let port: u16 = port.parse().map_err(|_| form())?;
            let addresses: Vec<SocketAddr> = addresses
                .split(',')
                .map(|address| {
                    let bare = address.trim_start_matches('[').trim_end_matches(']');
                    let address = bare.parse::<IpAddr>().map_err(|_| form());
                    address.map(|address| SocketAddr::new(address, port))
                })
                .collect::<Result<_, _>>()?;
            if host.eq_ignore_ascii_case(&url.host) && port == url.port {
                return Ok(addresses);
            }
        }
        for rule in self.connect_to {
            let form = || {
                UsageError(format!(
                    "--connect-to: '{rule}' is not HOST:PORT:OTHER-HOST:OTHER-PORT, as in \
                     example.test:80:127.0.0.1:8080"
                ))
            };
            let (host, rest) = split_host(rule).ok_or_else(form)?;
            let (port, rest) = rest.split_once(':').ok_or_else(form)?;
            let (other, other_port) = split_host(rest).ok_or_else(form)?;
            let is_host = host.is_empty() || host.eq_ignore_ascii_case(&url.host);
            let is_port = port.is_empty() || port.parse() == Ok(url.port);
            if !is_host || !is_port {
                continue;
            }
            let other = if other.is_empty() {
                url.host.as_str()
            } else {
                other
            };
            let other_port: u16 = match other_port {
                "" => url.port,
                text => text.parse().map_err(|_| form())?,
            };
            let found = (other, other_port).to_socket_addrs();
            let found = found.with_context(|| format!("--connect-to: cannot find '{other}'"))?;
            return Ok(found.collect());
        }
        Ok(Vec::new())
    }
}

/// A host and what follows its colon; an IPv6 address is in brackets, which go.
fn split_host(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(rest) => rest.split_once("]:"),
        None => text.split_once(':'),
    }
}
