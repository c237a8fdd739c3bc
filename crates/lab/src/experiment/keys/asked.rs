//! The keys of what the readers of an earlier study asked for.

use model::experiment::Shown;

use super::Kind::{Count, Rate, Tables, Text, Word};
use super::more::{NETWORKS, PLACEMENTS};
use super::point::{CONNECTIONS, NETWORK, PLACEMENT, SOURCES};
use super::table::{MUST, NONE, key};
use super::{Key, Section};

/// The key of all of them.
pub(super) const DEMANDS: Key = key(
    "asked",
    Tables,
    NONE,
    "[[asked]]",
    "What its readers asked for: a table for each demand.",
);

pub(super) const ASKED: Section = Section {
    path: "asked",
    written: "[[asked]]",
    meaning: "A demand of a reader of an earlier study, of its author, or of ours. It is answered \
              by a number of this experiment, which the report shows with its interval, its \
              verdict and its trials; by a rule, with the trials in which it found something; or \
              not, with the reason. Give one of show, rule and not.",
    keys: &[
        key(
            "who",
            Text,
            MUST,
            "who = \"comment 8\"",
            "Who asked: a comment by its number, the author, or we. No names of persons.",
        ),
        key(
            "demand",
            Text,
            MUST,
            "demand = \"Was the load generator the limit?\"",
            "What is asked for.",
        ),
        key(
            "show",
            Word(Shown::WORDS),
            NONE,
            "show = \"headroom\"",
            "Which number of a point answers: times are for a request, cpu is that of the server, \
             cpu_behind the part of it that servers behind the one that is asked took, and \
             generator that of the generator, per_connection the exchanges on a connection, \
             addresses how many client addresses the server's access log has (where it is \"on\"), \
             recovery how long answers took longer than before once a crowd had gone. processes \
             and threads are those that the server has at the end of the window, begun is how many \
             the whole machine began for a request. received and sent are bytes on the wire for a \
             request, without those of TCP and IP, and beside_content those of received that are \
             heads, framing or encryption. log_lines and log_bytes are what the server wrote to \
             its access log for a request, and write_calls how many system calls it made that \
             write to a file or a socket (write, writev, sendfile; not send). content are the \
             content bytes of a right answer, closed_by_server is the share of the connections \
             that ended which the server closed, and kept_alive the share of the exchanges of the \
             whole run that needed no new connection: at most 1 - 1/N where a connection is for N \
             requests. sources_used are the source addresses that connections came from, and \
             stalled are the connections that got no answer in the whole window, although a \
             request was under way on each.",
        ),
        key(
            "server",
            Text,
            "must be given with show; with rule, all",
            "server = \"nginx 1 core\"",
            "The label of the point's server.",
        ),
        key(
            "workload",
            Text,
            "the first",
            "workload = \"7 bytes\"",
            "The name of the point's workload.",
        ),
        CONNECTIONS,
        key(
            "rate",
            Rate,
            "that with the highest rate of right answers",
            "rate = \"2k\"",
            "The intended load of the point, in requests per second.",
        ),
        SOURCES,
        PLACEMENT,
        NETWORK,
        key(
            "against",
            Text,
            NONE,
            "against = \"apache prefork 1 core\"",
            "Makes the answer the ratio to the number of this server, within rounds.",
        ),
        key(
            "against_workload",
            Text,
            NONE,
            "against_workload = \"100 KB\"",
            "Makes the answer the ratio to the number with this workload.",
        ),
        key(
            "against_connections",
            Count(1),
            NONE,
            "against_connections = 100",
            "Makes the answer the ratio to the number with this many connections.",
        ),
        key(
            "against_rate",
            Rate,
            NONE,
            "against_rate = \"1k\"",
            "Makes the answer the ratio to the number at this intended load.",
        ),
        key(
            "against_sources",
            Count(1),
            NONE,
            "against_sources = 64",
            "Makes the answer the ratio to the number with this many source addresses.",
        ),
        key(
            "against_placement",
            Word(PLACEMENTS),
            NONE,
            "against_placement = \"apart\"",
            "Makes the answer the ratio to the number with the generator there.",
        ),
        key(
            "against_network",
            Word(NETWORKS),
            NONE,
            "against_network = \"loopback\"",
            "Makes the answer the ratio to the number over this network.",
        ),
        key(
            "rule",
            Text,
            NONE,
            "rule = \"GEN-01\"",
            "Makes the answer the number of trials in which this rule found something.",
        ),
        key(
            "means",
            Text,
            NONE,
            "means = \"above 1.5 the generator had room\"",
            "What the number says, in a few words.",
        ),
        key(
            "not",
            Text,
            NONE,
            "not = \"Debian has no such server\"",
            "Why there is no answer here.",
        ),
    ],
};
