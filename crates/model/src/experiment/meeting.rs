//! Who meets whom: which servers a workload is asked of, and which of them is the reference.
//!
//! A protocol is a property of servers: it decides how they are started. A workload with a protocol
//! of its own is asked of servers of their own, and of no others.

use super::{
    Experiment, ExperimentError, ServerVariant, Speech, Spoken, Workload, reference_rank, wrong,
};

impl Experiment {
    /// Whom the others are compared with: a product, or the label of one configuration.
    pub fn reference(&self) -> &str {
        let named = self.file.experiment.reference.as_deref();
        named.unwrap_or_else(|| {
            let products = self.servers.iter().map(|server| server.product.as_str());
            products
                .min_by_key(|product| reference_rank(product))
                .expect("an experiment has a server")
        })
    }

    /// Whether the others are compared with this server: one of its configurations where several
    /// are.
    pub fn is_reference(&self, server: &ServerVariant) -> bool {
        let reference = self.reference();
        // Who is asked in a protocol of a workload's own stands for who is asked otherwise.
        let stands_for = |other: &ServerVariant| {
            other.label == reference && other.name == server.name && self.is_own(server)
        };
        let is_called = server.label == reference || server.name == reference;
        is_called
            || (server.product == reference && !server.is_twin)
            || self.servers.iter().any(stands_for)
    }

    /// Whether nothing but workloads with a protocol of their own is asked of it.
    pub fn is_own(&self, server: &ServerVariant) -> bool {
        let of_load = self.file.load.protocol.as_slice();
        !of_load.contains(&server.speech.protocol)
    }

    /// What a workload is asked in.
    pub fn protocols_of<'a>(&'a self, workload: &'a Workload) -> &'a [Spoken] {
        match workload.protocols.as_slice() {
            [] => self.file.load.protocol.as_slice(),
            own => own,
        }
    }

    /// Whether `workload` is asked in what connections to a server speak.
    pub fn asks(&self, workload: &Workload, speech: Speech) -> bool {
        self.protocols_of(workload).contains(&speech.protocol)
    }

    /// Pairs of servers and workloads, by their names, that never meet: the workload is asked in
    /// another protocol.
    pub fn apart(&self) -> Vec<(String, String)> {
        let of = |server: &ServerVariant| {
            let others = self.workloads.iter();
            let others = others.filter(|workload| !self.asks(workload, server.speech));
            let pairs = others.map(|workload| (server.label.clone(), workload.name.clone()));
            pairs.collect::<Vec<_>>()
        };
        self.servers.iter().flat_map(of).collect()
    }

    /// The server that `name` means where `workload` is asked: who has that label; of a workload
    /// with a protocol of its own also the one server that has it but for the protocol.
    pub fn server_for(&self, name: &str, workload: &str) -> Option<&ServerVariant> {
        let workload = self.workloads().iter().find(|one| one.name == workload)?;
        let servers = self.servers().iter();
        let here = servers.filter(|one| self.asks(workload, one.speech));
        let labelled = here.clone().find(|one| one.is_called(name));
        let mut alike = here.filter(|one| one.is_as_called(&one.name, name));
        labelled.or_else(|| match (alike.next(), alike.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        })
    }
}

/// The reference is one of the servers.
pub(super) fn check_reference(
    reference: Option<&str>,
    servers: &[ServerVariant],
) -> Result<(), ExperimentError> {
    let Some(name) = reference else {
        return Ok(());
    };
    let is_it = |server: &ServerVariant| {
        server.label == name || server.name == name || server.product == name
    };
    if servers.iter().any(is_it) {
        return Ok(());
    }
    let labels: Vec<&str> = servers.iter().map(|server| server.label.as_str()).collect();
    Err(wrong(
        "experiment.reference",
        format!(
            "there is no server '{name}'; write one of {}",
            labels.join(", ")
        ),
    ))
}
