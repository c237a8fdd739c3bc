//! Where a server is asked, and in which words.

use std::net::{Ipv4Addr, SocketAddr};

use model::plan::Protocol;
use model::tls::TlsFile;

use crate::server::Start;

/// Where a server is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its URL without a path.
    pub url: String,
    /// What it is asked in.
    pub speaks: Speaks,
}

/// What connections to a server speak, as a plan has it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Speaks {
    /// The version of HTTP.
    pub protocol: Protocol,
    /// What is wanted of TLS; none in clear.
    pub tls: Option<TlsFile>,
}

impl Speaks {
    /// With a server that is to be started so.
    pub fn of(start: &Start<'_>) -> Self {
        Self {
            protocol: start.protocol.http(),
            tls: start.tls.cloned(),
        }
    }
}

impl Place {
    /// One that the lab started.
    pub fn at(address: Ipv4Addr, port: u16, speaks: Speaks) -> Self {
        let address = SocketAddr::from((address, port));
        let scheme = if speaks.tls.is_some() {
            "https"
        } else {
            "http"
        };
        Self {
            address,
            url: format!("{scheme}://{address}"),
            speaks,
        }
    }
}
