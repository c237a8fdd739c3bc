//! The keys by which a point of an experiment is named, as far as they are the same everywhere.

use super::Key;
use super::Kind::{Count, Word};
use super::more::{NETWORKS, PLACEMENTS};
use super::table::key;

pub(super) const CONNECTIONS: Key = key(
    "connections",
    Count(1),
    "those with the highest rate",
    "connections = 1000",
    "The connections of the point.",
);

pub(super) const SOURCES: Key = key(
    "sources",
    Count(1),
    "those with the highest rate",
    "sources = 12_000",
    "The source addresses of the point.",
);

pub(super) const PLACEMENT: Key = key(
    "placement",
    Word(PLACEMENTS),
    "\"apart\"",
    "placement = \"shared\"",
    "Where the generator of the point runs.",
);

pub(super) const NETWORK: Key = key(
    "network",
    Word(NETWORKS),
    "\"loopback\"",
    "network = \"veth\"",
    "The network of the point.",
);
