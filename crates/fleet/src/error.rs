//! What can go wrong between machines, each with its place and its remedy.

/// Why a fleet cannot do its work.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FleetError {
    /// An agent cannot or will not do its part.
    #[error("agent '{agent}': {why}")]
    Agent {
        /// Its name.
        agent: String,
        /// What it said, or what is missing.
        why: String,
    },
    /// The agents that were asked for are not there.
    #[error("{0}")]
    Agents(String),
    /// The broker does not do its part.
    #[error("the NATS server at {url}: {why}")]
    Broker {
        /// Where it is.
        url: String,
        /// What it said.
        why: String,
    },
    /// There is no connection to the broker.
    #[error(
        "cannot connect to the NATS server at {url}: {why}; it must run there, and know the user \
         or the credentials (--creds)"
    )]
    Connect {
        /// Where it should be.
        url: String,
        /// What stood in the way.
        why: String,
    },
    /// The file of credentials cannot be used.
    #[error("cannot use the credentials in {path}: {why}")]
    Credentials {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// A person asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The machine gives this process no event loop.
    #[error("cannot wait for messages: {0}")]
    Runtime(String),
}

impl FleetError {
    /// What `agent` lacks.
    pub(crate) fn agent(agent: &str, why: impl Into<String>) -> Self {
        Self::Agent {
            agent: agent.to_owned(),
            why: why.into(),
        }
    }
}
