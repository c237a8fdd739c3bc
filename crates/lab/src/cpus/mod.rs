//! Who gets which CPUs: servers the first, the generator the rest, siblings of a core together.

use std::collections::BTreeMap;

use verdict::words::named_cpus;

/// The CPUs of a lab, divided.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Division {
    /// For servers: one with n cores gets the first n.
    pub server: Vec<u32>,
    /// For the generator, always the same, so that points compare.
    pub generator: Vec<u32>,
    /// How it was done, in words.
    pub words: String,
}

impl Division {
    /// The CPUs of a server with that many cores, if there are so many.
    pub fn of_server(&self, cores: u32) -> Option<&[u32]> {
        self.server.get(..usize::try_from(cores).ok()?)
    }
}

/// Divides the CPUs that we may use. `cores_max` is what the largest server wants; it may get
/// less, for the generator needs one at least.
pub fn divide(allowed: &[u32], siblings: &BTreeMap<u32, Vec<u32>>, cores_max: u32) -> Division {
    let wanted = usize::try_from(cores_max).unwrap_or(usize::MAX).max(1);
    if let [one] = *allowed {
        return Division {
            server: vec![one],
            generator: vec![one],
            words: format!("server and generator share CPU {one}: this machine has no other CPU"),
        };
    }
    let ordered = by_core(allowed, siblings);
    let count = wanted.min(ordered.len().saturating_sub(1)).max(1);
    let (server, rest) = ordered.split_at(count.min(ordered.len()));
    let is_sibling = |cpu: &u32| {
        let of_cpu = siblings.get(cpu).map_or(&[][..], Vec::as_slice);
        server.iter().any(|mine| of_cpu.contains(mine))
    };
    // A generator on a server's core would slow it by what the core can do for two.
    let mut generator: Vec<u32> = rest
        .iter()
        .copied()
        .filter(|cpu| !is_sibling(cpu))
        .collect();
    let mut words = String::new();
    if generator.is_empty() {
        generator = rest.to_vec();
        words.push_str(", which share a core with it");
    }
    Division {
        words: format!(
            "servers on {}, the generator on {}{words}",
            named_cpus(server),
            named_cpus(&generator)
        ),
        server: server.to_vec(),
        generator,
    }
}

/// The CPUs of a lab whose load comes from other machines: servers have the first `cores_max`.
pub fn for_servers(
    allowed: &[u32],
    siblings: &BTreeMap<u32, Vec<u32>>,
    cores_max: u32,
    generators: &str,
) -> Division {
    let wanted = usize::try_from(cores_max).unwrap_or(usize::MAX).max(1);
    let mut server = by_core(allowed, siblings);
    server.truncate(wanted);
    Division {
        words: format!(
            "servers on {}, the load from {generators}",
            named_cpus(&server)
        ),
        server,
        generator: Vec::new(),
    }
}

/// How it is divided where an experiment wants the generator on the server's CPUs.
pub fn shared_words(cpus: &[u32]) -> String {
    format!(
        "server and generator share {}, as the experiment asks",
        named_cpus(cpus)
    )
}

/// CPUs in such an order that the threads of a core stand together.
fn by_core(allowed: &[u32], siblings: &BTreeMap<u32, Vec<u32>>) -> Vec<u32> {
    let mut ordered = Vec::with_capacity(allowed.len());
    for cpu in allowed {
        let alone = [*cpu];
        let core = siblings.get(cpu).map_or(&alone[..], Vec::as_slice);
        for thread in std::iter::once(cpu).chain(core) {
            if allowed.contains(thread) && !ordered.contains(thread) {
                ordered.push(*thread);
            }
        }
    }
    ordered
}

#[cfg(test)]
mod tests;
