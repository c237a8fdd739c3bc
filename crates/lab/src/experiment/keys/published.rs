//! The keys of figures that earlier studies published.

use super::Kind::{Rate, Text};
use super::Section;
use super::point::{CONNECTIONS, NETWORK, PLACEMENT, SOURCES};
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
        CONNECTIONS,
        SOURCES,
        PLACEMENT,
        NETWORK,
    ],
};
