//! The keys of figures that earlier studies published.

use model::experiment::Shown;

use super::Kind::{Rate, Text, Value, Word};
use super::Section;
use super::point::{CONNECTIONS, NETWORK, PLACEMENT, SOURCES};
use super::table::{MUST, NONE, key};

pub(super) const PUBLISHED: Section = Section {
    path: "published",
    written: "[[published]]",
    meaning: "A figure of an earlier study. The report shows them beside its own, then and now, \
              with the warning that the hardware was different. Give either rate, or show and \
              value.",
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
            "show and value must be given",
            "rate = 2997.1",
            "Right answers per second: short for show = \"rate\" and a value.",
        ),
        key(
            "show",
            Word(Shown::WORDS),
            "rate must be given",
            "show = \"user\"",
            "Which number of a point it is a figure of, where it is no rate: by the words of \
             [[asked]].",
        ),
        key(
            "value",
            Value,
            "rate must be given",
            "value = \"95us\"",
            "How much it was then: a time with its unit, a share in per cent (\"21 %\"), bytes as \
             a number or with k, M or G for powers of 1024, all else as a number.",
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
