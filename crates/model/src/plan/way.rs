//! How connections get to the server, where that is not straight: by a Unix socket, through an HTTP
//! proxy, or as if a proxy stood between.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{PlanError, PlanFile, Protocol, Url, field};
use crate::redact::REDACTED;
use crate::request::has_control;

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

/// An HTTP proxy that all connections lead to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HttpProxy {
    /// Where it is: `http://HOST:PORT`.
    pub url: String,
    /// Whether each connection begins with CONNECT, so that the proxy passes on its bytes unread
    /// (RFC 9110 §9.3.6); else each request names its whole URL (RFC 9112 §3.2.2).
    #[serde(default)]
    pub tunnel: bool,
    /// What proves to it who asks for a tunnel: the value of a `Proxy-Authorization` field, a
    /// secret. Requests that it reads have a field of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<String>,
}

/// The way to the server of `url` fits the rest of the plan.
pub(super) fn check(file: &PlanFile, url: &Url) -> Result<(), PlanError> {
    http_proxy(file, url)?;
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

fn http_proxy(file: &PlanFile, url: &Url) -> Result<(), PlanError> {
    let Some(proxy) = &file.http_proxy else {
        return Ok(());
    };
    if proxy.url.contains('@') {
        let why = "credentials are given apart from the URL (--proxy-user): write http://HOST:PORT";
        return Err(field("http_proxy", why));
    }
    let at = Url::parse(&proxy.url)?;
    let authorization = proxy.authorization.as_deref();
    let why = match () {
        () if authorization == Some(REDACTED) => {
            "the credentials were taken out when this was stored; give them again (--proxy-user)"
        }
        () if authorization.is_some_and(has_control) => {
            "authorization is the value of a field, and it has a control character"
        }
        () if authorization.is_some() && !proxy.tunnel => {
            "requests that a proxy reads have a Proxy-Authorization field of their own"
        }
        () if at.is_secure => "connections to a proxy are not encrypted: write http://HOST:PORT",
        () if at.path != "/" => "a proxy has no path: write http://HOST:PORT",
        () if file.unix_socket.is_some() => "a Unix socket leads elsewhere: give one of them",
        () if !file.addresses.is_empty() || !file.resolve.is_empty() => {
            "the proxy finds the server itself: give no other addresses of it"
        }
        () if file.proxy_protocol.is_some() => {
            "the PROXY protocol tells a server who asks, and here a proxy does: give one of them"
        }
        () if file.lua.is_some() => {
            "a script in Lua may say where its threads connect, and write requests that no proxy \
             reads"
        }
        () => match file.protocol {
            Protocol::Http3 => "HTTP/3 goes over UDP, and the proxy is asked over TCP",
            Protocol::Http2 if !url.is_secure => "HTTP/2 goes through a proxy inside TLS alone",
            _ if url.is_secure && !proxy.tunnel => "https goes through it in a tunnel",
            _ => return Ok(()),
        },
    };
    Err(field("http_proxy", why))
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
