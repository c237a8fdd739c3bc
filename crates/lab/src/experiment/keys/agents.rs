//! The keys of load that agents on other machines make.

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

pub(super) const AGENTS: Section = Section {
    path: "generator",
    written: "[generator]",
    meaning: "Agents on other machines make the load together (docs/agents.md), and servers have \
              all CPUs of this one. The command line says where their NATS server is (--nats).",
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
            "The IPv4 address of this machine at which servers listen for them: one of those that \
             agents may load (--targets).",
        ),
    ],
};
