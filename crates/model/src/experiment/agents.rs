//! `[generator]`: the load of an experiment is made by agents on other machines.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::course::{Network, Placement};
use super::file::LoadFile;
use super::speech::Speech;
use super::{ExperimentError, wrong};

/// `[generator]`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorFile {
    /// Their names, or labels as KEY=VALUE.
    pub agents: Vec<String>,
    /// The address of this machine at which they ask servers.
    pub address: Ipv4Addr,
}

/// Refuses what agents cannot do.
pub(super) fn check(
    generator: Option<&GeneratorFile>,
    load: &LoadFile,
    speeches: &[Speech],
) -> Result<(), ExperimentError> {
    let Some(GeneratorFile { agents, address }) = generator else {
        return Ok(());
    };
    if agents.is_empty() {
        return Err(wrong("generator.agents", "name at least one agent"));
    }
    if address.is_unspecified() || address.is_multicast() {
        let why = "give the one address of this machine that agents reach";
        return Err(wrong("generator.address", why));
    }
    let has = |placement: Placement| {
        let axis = load.placement.as_ref();
        axis.is_some_and(|axis| axis.as_slice().contains(&placement))
    };
    if has(Placement::Shared) {
        let why = "agents have CPUs of their own: write apart, or leave out [generator]";
        return Err(wrong("load.placement", why));
    }
    if load.sources.is_some() && !address.is_loopback() {
        let why = "source addresses are those of the agents' machines: leave it out";
        return Err(wrong("load.sources", why));
    }
    let networks = load.network.as_ref();
    if networks.is_some_and(|axis| axis.as_slice() != [Network::Remote]) {
        let why =
            "agents come over the network of generator.address: write remote, or leave it out";
        return Err(wrong("load.network", why));
    }
    if speeches.iter().any(|speech| speech.certificate.is_some()) {
        let why = "agents cannot read the certificate that the lab makes for servers: write http1 \
                   or http2, or leave out [generator]";
        return Err(wrong("load.protocol", why));
    }
    Ok(())
}
