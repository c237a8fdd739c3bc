//! How connections get to the server, where that is not straight: by a Unix socket, or as if a
//! proxy stood between.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{PlanError, PlanFile, Protocol, field};

/// The most bytes of a path that the kernel takes (unix(7)).
const PATH_MOST: usize = 107;

/// What each connection begins with: who asks, as a proxy tells it (the PROXY protocol of HAProxy).
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProxyProtocol {
    /// In which form.
    pub version: ProxyVersion,
    /// Who asks, used in turn by new connections; empty: the connection's own address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<IpAddr>,
}

/// The forms of the PROXY protocol.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    /// Bytes.
    V2,
}

/// The way to the server fits the rest of the plan.
pub(super) fn check(file: &PlanFile) -> Result<(), PlanError> {
    if let Some(path) = &file.unix_socket {
        let why = if path.is_empty() || path.len() > PATH_MOST || path.contains('\0') {
            "give a path of 1 to 107 bytes, which is what the kernel takes"
        } else if file.protocol == Protocol::Http3 {
            "HTTP/3 goes over UDP"
        } else if !file.addresses.is_empty() {
            "give this or other addresses"
        } else if !file.sources.is_empty() {
            "connections to it have no source address"
        } else {
            return proxy_protocol(file);
        };
        return Err(field("unix_socket", why));
    }
    proxy_protocol(file)
}

fn proxy_protocol(file: &PlanFile) -> Result<(), PlanError> {
    let Some(proxy) = &file.proxy_protocol else {
        return Ok(());
    };
    let why = if file.protocol == Protocol::Http3 {
        "HTTP/3 goes over UDP, which has no start of a connection to send it at"
    } else if file.unix_socket.is_some() && proxy.sources.is_empty() {
        "connections to a Unix socket have no address of their own to tell: choose one"
    } else {
        return Ok(());
    };
    Err(field("proxy_protocol", why))
}
