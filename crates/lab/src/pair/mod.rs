//! Two network namespaces with a pair of virtual Ethernet devices between them: servers in one, the
//! generator in the other.
//!
//! The machine outside sees neither the devices nor their addresses, and its routes stay as they
//! are. The namespaces have no names: the kernel removes them, with the devices, when this lab and
//! all that it started have ended, however they ended. Who is left of a lab that was killed is in
//! its control groups, which the next lab empties (`scratch`).

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use model::Experiment;
use model::experiment::Network;
use sys::namespace::{Inside, Namespace};

use crate::error::LabError;
use crate::server::Search;

/// The device of the generator, and that of the servers. Names of at most 15 letters.
pub const DEVICES: [&str; 2] = ["asks", "answers"];
/// The generator's device has this address, in a network for benchmarks (RFC 2544).
const GENERATOR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Where servers are asked.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// All addresses of this network (10.0.0.0/8) are the generator's: its first byte, and how many
/// bits name it.
pub const SOURCES: [u8; 2] = [10, 8];

/// The two namespaces.
#[derive(Debug)]
pub struct Pair {
    generator: Namespace,
    servers: Namespace,
}

impl Pair {
    /// What `experiment` needs of it; none where it needs none.
    pub fn of(experiment: &Experiment, search: &Search) -> Result<Option<Self>, LabError> {
        if !is_needed(experiment) {
            return Ok(None);
        }
        let program = search.program(&["ip"]).ok_or_else(|| LabError::Network {
            why: "the program ip was not found".to_owned(),
            remedy: "install it (Debian, Ubuntu: apt install iproute2)",
        })?;
        Self::create(&program).map(Some)
    }

    /// Makes both, with the devices between them.
    fn create(ip: &Path) -> Result<Self, LabError> {
        let refused = |error: std::io::Error| LabError::Network {
            why: format!("a network namespace cannot be made: {error}"),
            remedy: PRIVILEGES,
        };
        let pair = Self {
            generator: Namespace::create().map_err(refused)?,
            servers: Namespace::create().map_err(refused)?,
        };
        let [asks, answers] = DEVICES;
        let there = pair.servers.path().display().to_string();
        let [first, bits] = SOURCES;
        let sources = format!("{first}.0.0.0/{bits}");
        // Without addresses of IPv6 nobody looks for neighbours in a window.
        set_up(
            ip,
            &pair.generator,
            &format!(
                "link set lo up\n\
                 link add {asks} type veth peer name {answers} netns {there}\n\
                 link set {asks} addrgenmode none\n\
                 addr add {GENERATOR}/30 dev {asks}\n\
                 link set {asks} up\n\
                 route add local {sources} dev lo\n"
            ),
        )?;
        set_up(
            ip,
            &pair.servers,
            &format!(
                "link set lo up\n\
                 link set {answers} addrgenmode none\n\
                 addr add {SERVER}/30 dev {answers}\n\
                 link set {answers} up\n\
                 route add {sources} via {GENERATOR}\n"
            ),
        )?;
        Ok(pair)
    }

    /// Puts the calling thread where servers are, with all that it starts.
    pub fn enter(&self) -> Result<Inside, LabError> {
        entered(&self.servers)
    }

    /// Puts the calling thread where the generator asks from, if it asks at `address` over the
    /// devices.
    pub fn enter_to_ask(&self, address: Option<Ipv4Addr>) -> Result<Option<Inside>, LabError> {
        match address {
            Some(SERVER) => entered(&self.generator).map(Some),
            _ => Ok(None),
        }
    }
}

/// What makes namespaces and devices permitted.
const PRIVILEGES: &str = "run the lab as root (it needs CAP_SYS_ADMIN and CAP_NET_ADMIN; in a \
                          container: --cap-add SYS_ADMIN --cap-add NET_ADMIN), or measure over \
                          loopback alone (load.network=loopback)";

/// Whether servers and generator of `experiment` stand in namespaces of their own. Where only some
/// points do, the servers stay where they are: what differs is the path alone.
pub fn is_needed(experiment: &Experiment) -> bool {
    experiment.networks().contains(&Network::Veth)
}

fn entered(namespace: &Namespace) -> Result<Inside, LabError> {
    namespace.enter().map_err(|error| LabError::Network {
        why: format!("a network namespace cannot be entered: {error}"),
        remedy: PRIVILEGES,
    })
}

/// Lets `ip` do these `lines` in a namespace.
fn set_up(ip: &Path, namespace: &Namespace, lines: &str) -> Result<(), LabError> {
    let failed = |why: String| LabError::Network {
        why: format!("{} cannot set up the pair of devices: {why}", ip.display()),
        remedy: PRIVILEGES,
    };
    let _inside = entered(namespace)?;
    let mut child = Command::new(ip)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // Who does not take the lines says why.
        let _said = input.write_all(lines.as_bytes());
    }
    let ended = child.wait_with_output();
    let ended = ended.map_err(|error| failed(error.to_string()))?;
    match ended.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said: Vec<&str> = said.lines().map(str::trim).collect();
            Err(failed(said.join("; ")))
        }
    }
}

#[cfg(test)]
mod tests;
