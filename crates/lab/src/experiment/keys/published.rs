//! The keys of figures that earlier studies published.

use super::Kind::{Count, Rate, Text, Word};
use super::Section;
use super::more::{NETWORKS, PLACEMENTS};
use super::table::{MUST, NONE, key};

pub(super) const PUBLISHED: Section = Section {
    path: "published",
    written: "[[published]]",
    meaning: "A figure of an earlier study. The report shows them beside its own, then and now, \
              with the warning that the hardware was different.",
    keys: &[
        key(
            "what",
            Text,
            MUST,
            "what = \"flat file, loopback\"",
            "What it is a figure of, in the words of the study.",
        ),
        key(
            "rate",
            Rate,
            MUST,
            "rate = 2997.1",
            "Right answers per second.",
        ),
        key(
            "source",
            Text,
            NONE,
            "source = \"its second table\"",
            "Where the study gives it, and what of it was derived.",
        ),
        key(
            "server",
            Text,
            "no result of this run is shown beside it",
            "server = \"apache stock prefork\"",
            "The label of a server of this experiment.",
        ),
        key(
            "workload",
            Text,
            "no result of this run is shown beside it",
            "workload = \"7-byte file\"",
            "The name of a workload of this experiment.",
        ),
        key(
            "connections",
            Count(1),
            "those with the highest rate",
            "connections = 16",
            "The connections of the point.",
        ),
        key(
            "sources",
            Count(1),
            "those with the highest rate",
            "sources = 12_000",
            "The source addresses of the point.",
        ),
        key(
            "placement",
            Word(PLACEMENTS),
            "\"apart\"",
            "placement = \"shared\"",
            "Where the generator of the point runs.",
        ),
        key(
            "network",
            Word(NETWORKS),
            "\"loopback\"",
            "network = \"veth\"",
            "The network of the point.",
        ),
    ],
};
