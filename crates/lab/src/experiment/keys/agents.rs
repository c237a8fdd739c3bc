//! The keys of load that agents on other machines make, and of servers that one starts.

use super::Kind::{Table, Text, Texts};
use super::table::{MUST, NONE, key};
use super::{Key, Section};

pub(super) const GENERATOR: Key = key(
    "generator",
    Table,
    NONE,
    "[generator]",
    "Who makes the load, where that is not this machine.",
);

pub(super) const HOST: Key = key(
    "host",
    Table,
    NONE,
    "[host]",
    "Who starts the servers, where that is not this machine.",
);

pub(super) const AGENTS: Section = Section {
    path: "generator",
    written: "[generator]",
    meaning: "Agents on other machines make the load together (docs/agents.md), and servers have \
              all CPUs of this one, or of the one that [host] names. The command line says where \
              their NATS server is (--nats).",
    keys: &[
        key(
            "agents",
            Texts,
            MUST,
            "agents = [\"gen1\", \"gen2\"]",
            "Their names, or KEY=VALUE for all with that label.",
        ),
        key(
            "address",
            Text,
            MUST,
            "address = \"192.0.2.10\"",
            "The IPv4 address at which servers listen for them: of this machine, or that of \
             [host]; one of those that agents may load (--targets).",
        ),
    ],
};

pub(super) const SERVERS: Section = Section {
    path: "host",
    written: "[host]",
    meaning: "An agent on another machine starts the servers and meters them (docs/agents.md), and \
              this machine makes the load, or the agents of [generator]. The command line says \
              where their NATS server is (--nats).",
    keys: &[
        key(
            "server",
            Text,
            MUST,
            "server = \"rig1\"",
            "The name of the agent. Its owner must have allowed it (--may-start-servers).",
        ),
        key(
            "address",
            Text,
            MUST,
            "address = \"192.0.2.10\"",
            "The IPv4 address of its machine at which servers listen for the load.",
        ),
    ],
};
