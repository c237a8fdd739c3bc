//! `[generator]` and `[host]`: the load of an experiment is made by agents on other machines, or
//! its servers are started by one.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::course::{Network, Placement};
use super::file::{ExperimentFile, LoadFile};
use super::{Experiment, ExperimentError, wrong};

/// `[generator]`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorFile {
    /// Their names, or labels as KEY=VALUE.
    pub agents: Vec<String>,
    /// The address at which they ask servers: of this machine, or of the one that `host` names.
    pub address: Ipv4Addr,
}

/// `[host]`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostFile {
    /// The name of the agent that starts the servers.
    pub server: String,
    /// The address of its machine at which they are asked.
    pub address: Ipv4Addr,
}

/// Whether servers and their load are on two machines; refuses what cannot be done then.
pub(super) fn are_apart(file: &ExperimentFile) -> Result<bool, ExperimentError> {
    let (table, address) = match (&file.generator, &file.host) {
        (None, None) => return Ok(false),
        (Some(generator), None) => ("generator", generator.address),
        (_, Some(host)) => ("host", host.address),
    };
    if let Some(host) = &file.host
        && host.server.is_empty()
    {
        let why = "name the agent that starts the servers";
        return Err(wrong("host.server", why));
    }
    if let Some(generator) = &file.generator {
        check_agents(generator, address, file.host.as_ref())?;
    }
    if address.is_unspecified() || address.is_multicast() {
        let why = "give the one address of the servers' machine at which they are asked";
        return Err(wrong(format!("{table}.address"), why));
    }
    check(table, address, &file.load)?;
    Ok(true)
}

/// Refuses agents that cannot make the load of servers at `address`, which `host` may have.
fn check_agents(
    generator: &GeneratorFile,
    address: Ipv4Addr,
    host: Option<&HostFile>,
) -> Result<(), ExperimentError> {
    if generator.agents.is_empty() {
        return Err(wrong("generator.agents", "name at least one agent"));
    }
    let is_servers = |agent: &String| host.is_some_and(|host| host.server == *agent);
    if let Some(both) = generator.agents.iter().find(|agent| is_servers(agent)) {
        let why = format!("{both} has the servers (host.server): let other agents make the load");
        return Err(wrong("generator.agents", why));
    }
    if generator.address != address {
        let why = format!("servers are asked at host.address: write {address}");
        return Err(wrong("generator.address", why));
    }
    Ok(())
}

/// Refuses what servers at `address` and their load cannot have if they are on two machines.
fn check(table: &str, address: Ipv4Addr, load: &LoadFile) -> Result<(), ExperimentError> {
    let has = |placement: Placement| {
        let axis = load.placement.as_ref();
        axis.is_some_and(|axis| axis.as_slice().contains(&placement))
    };
    if has(Placement::Shared) {
        let why = format!(
            "generator and servers have machines of their own: write apart, or leave out [{table}]"
        );
        return Err(wrong("load.placement", why));
    }
    if load.sources.is_some() && !address.is_loopback() {
        let why = "source addresses are those of the machines that make the load: leave it out";
        return Err(wrong("load.sources", why));
    }
    let networks = load.network.as_ref();
    if networks.is_some_and(|axis| axis.as_slice() != [Network::Remote]) {
        let why = format!(
            "the load comes over the network of {table}.address: write remote, or leave it out"
        );
        return Err(wrong("load.network", why));
    }
    Ok(())
}

impl Experiment {
    /// Who makes the load, where that is not this machine.
    pub const fn generator(&self) -> Option<&GeneratorFile> {
        self.file.generator.as_ref()
    }

    /// Who starts the servers, where that is not the machine of the lab.
    pub const fn host(&self) -> Option<&HostFile> {
        self.file.host.as_ref()
    }

    /// Where servers are asked over a network; none where their own machine asks them.
    pub fn asked_at(&self) -> Option<Ipv4Addr> {
        let agents = self.generator().map(|agents| agents.address);
        agents.or_else(|| self.host().map(|host| host.address))
    }
}
