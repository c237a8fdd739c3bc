//! The one table of the keys of an experiment: the reader, its messages, the pages and the schema
//! all follow from it.

use super::Kind::{Axis, Count, Fields, Size, Table, Tables, Text, Texts, Time, Truth, Word};
use super::agents::{AGENTS, GENERATOR, HOST, SERVERS};
use super::asked::{ASKED, DEMANDS};
use super::more::{
    ACCEPT_ENCODING, ARRIVALS, CALM, CONTENT, CONTENT_FILE, DECODE_ONE_IN, DURATION_MIN,
    EVEN_POINTS, KEEP_ALIVE, KEEP_ALIVE_TABLE, LOGS, METHOD, NETWORK, OBJECTIVE, ORDER, OVERLOAD,
    OWN_CONNECTIONS, OWN_PROTOCOL, PIN, PLACEMENT, PROGRAM, PROTOCOLS, RATE, RELOAD, REPEATS,
    REQUESTS, RESTARTS, SETTINGS, SETTLE, SOURCES, STAGES, TIMEOUT, UNCHANGED, WARMUP_MIN, WORKERS,
};
use super::published::PUBLISHED;
use super::tls::TLS;
use super::users::{
    CONNECTIONS, COOKIES, NAME, RAMP, STEP, THINK, USER_ARRIVALS, USER_CONNECTIONS, USER_RATE,
    USER_STAGES, USERS, VARIABLES,
};
use super::{Key, Section};

pub(super) const fn key(
    name: &'static str,
    kind: super::Kind,
    default: &'static str,
    example: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        kind,
        default,
        example,
        meaning,
    }
}

/// A key that must be given has no default.
pub(super) const MUST: &str = "";
/// One that may be left out, where leaving it out is a choice of its own.
pub(super) const NONE: &str = "none";

/// Each table by its path, with its keys. A test holds this against the types in `model`.
pub const SECTIONS: &[Section] = &[
    Section {
        path: "",
        written: "",
        meaning: "An experiment has four tables, one for TLS and two for agents where there are \
                  some, and some for earlier studies. Servers, workloads, figures and demands may \
                  be several: each has a table of its own, in two brackets.",
        keys: &[
            key(
                "experiment",
                Table,
                MUST,
                "[experiment]",
                "What is asked, and how often.",
            ),
            key(
                "server",
                Tables,
                MUST,
                "[[server]]",
                "Who is asked: a table for each server.",
            ),
            key(
                "workload",
                Tables,
                MUST,
                "[[workload]]",
                "What is fetched: a table for each.",
            ),
            key("load", Table, MUST, "[load]", "How hard."),
            key("tls", Table, NONE, "[tls]", "What TLS is like."),
            GENERATOR,
            HOST,
            key(
                "published",
                Tables,
                NONE,
                "[[published]]",
                "What an earlier study published: a table for each figure.",
            ),
            DEMANDS,
        ],
    },
    Section {
        path: "experiment",
        written: "[experiment]",
        meaning: "What is asked, and how often.",
        keys: &[
            key(
                "name",
                Text,
                MUST,
                "name = \"logs\"",
                "The name of its results folder, too: letters, digits, '-', '_' and '.'.",
            ),
            key(
                "question",
                Text,
                MUST,
                "question = \"What does an access log cost?\"",
                "What the experiment answers, in a sentence. It is the first line of the report.",
            ),
            key(
                "rounds",
                Count(1),
                "as many as the comparisons need",
                "rounds = 10",
                "Complete repetitions of all points. A comparison needs 6 or more.",
            ),
            ORDER,
            key(
                "restart",
                RESTARTS,
                "\"round\"",
                "restart = \"trial\"",
                "When servers are started afresh: once in each round, or before each trial.",
            ),
            REPEATS,
            RELOAD,
            key(
                "reference",
                Text,
                "nginx, or else the first that is not our own",
                "reference = \"apache\"",
                "Whom the others are compared with: a product, or the label of a server.",
            ),
            key(
                "warmup",
                Time,
                "\"3s\"",
                "warmup = \"1s\"",
                "How long a server is warmed up after its start, before anything counts.",
            ),
            WARMUP_MIN,
            SETTLE,
            CALM,
            key(
                "duration",
                Time,
                MUST,
                "duration = \"10s\"",
                "How long each trial is measured: at least 10ms, better seconds.",
            ),
            DURATION_MIN,
            key(
                "seed",
                Count(0),
                "taken from the clock, and stored",
                "seed = 7",
                "What the random order is drawn from: the same seed gives the same order.",
            ),
        ],
    },
    Section {
        path: "server",
        written: "[[server]]",
        meaning: "Who is asked. The lab starts a product for each, or asks one that already runs.",
        keys: &[
            key(
                "product",
                Text,
                "none: give it, or a url",
                "product = \"nginx\"",
                "A server that the lab can start: triathlon lab --list servers prints them.",
            ),
            key(
                "url",
                Text,
                NONE,
                "url = \"http://127.0.0.1:8080\"",
                "Instead of a product: a server that already runs. It is neither started nor \
                 stopped, the lab makes no files for it, and its workloads ask for paths.",
            ),
            key(
                "pid",
                Count(1),
                NONE,
                "pid = 4711",
                "With a url: the process whose CPU time and memory are read, with its children. \
                 Without it they are unknown.",
            ),
            key(
                "label",
                Text,
                "the product, and what distinguishes it from others",
                "label = \"old\"",
                "Its name in the report.",
            ),
            PROGRAM,
            key(
                "preset",
                Text,
                "\"tuned\"",
                "preset = \"stock\"",
                "How it is configured: stock (as it is delivered), tuned (by its own manual), or \
                 the path of a template of yours.",
            ),
            key(
                "variant",
                Axis(&Text),
                "as the server's folder says",
                "variant = [\"prefork\", \"event\"]",
                "Which way it runs, of those that the server has; a list makes a server of each.",
            ),
            key(
                "cores",
                Axis(&Count(1)),
                "1",
                "cores = [1, 2]",
                "How many CPUs it gets; a list makes a server of each.",
            ),
            key(
                "access_log",
                Axis(&LOGS),
                "\"off\"",
                "access_log = [\"off\", \"on\"]",
                "Whether it logs each request: not at all, line by line, or many lines at a time; \
                 a list makes a server of each. Another [[server]] that differs from \"nginx\" in \
                 this alone is to be labelled so, \"nginx log on\": the two may be compared.",
            ),
            SETTINGS,
            KEEP_ALIVE,
            PIN,
            key(
                "restart",
                RESTARTS,
                "that of [experiment]",
                "restart = \"trial\"",
                "When this one is started afresh, where that differs from the others.",
            ),
            key(
                "twin",
                Truth,
                "false",
                "twin = true",
                "Whether a second one like it takes part, under another name: what they differ by \
                 is the difference that this machine shows between equal servers.",
            ),
            key(
                "priority",
                Count(1),
                "1",
                "priority = 3",
                "Which servers are left out first where --budget is too short for all: 3 before \
                 2, and the last of a file before the first. Those of priority 1 stay.",
            ),
        ],
    },
    Section {
        path: "workload",
        written: "[[workload]]",
        meaning: "What is fetched: one file that the lab makes (body), the files of a folder of \
                  yours (site), or several requests with weights.",
        keys: &[
            key(
                "name",
                Text,
                MUST,
                "name = \"7-byte file\"",
                "Its name in the report.",
            ),
            key(
                "body",
                Table,
                NONE,
                "body = { bytes = 7 }",
                "One file of that length, which the lab makes and checks.",
            ),
            key(
                "site",
                Text,
                NONE,
                "site = \"www\"",
                "A folder of yours: its files are copied, served and checked by their digests. \
                 Without requests all of them are asked for, equally often; requests with file \
                 name some of them, with weights.",
            ),
            key(
                "request",
                Tables,
                NONE,
                "[[workload.request]]",
                "Several requests, each with its weight.",
            ),
            METHOD,
            CONTENT,
            CONTENT_FILE,
            key(
                "handler",
                Axis(&Text),
                "what serves files",
                "handler = [\"static\", \"cgi-c\"]",
                "What in the server makes the bytes of the body, which are the same for all; a \
                 list makes a workload of each. A server that has no such handler becomes a row.",
            ),
            key(
                "needs",
                Texts,
                "[\"static\"] for files",
                "needs = [\"echo\"]",
                "What a server must offer for it; one that does not becomes a row with the reason.",
            ),
            ACCEPT_ENCODING,
            key(
                "requests_per_connection",
                Count(1),
                "as many as come",
                "requests_per_connection = 1",
                "Exactly this many requests on a connection, which the generator then closes.",
            ),
            OWN_CONNECTIONS,
            OWN_PROTOCOL,
            key(
                "priority",
                Count(1),
                "1",
                "priority = 2",
                "Like the priority of a server.",
            ),
        ],
    },
    Section {
        path: "workload.body",
        written: "body = { ... }",
        meaning: "The content of a file that the lab makes.",
        keys: &[key(
            "bytes",
            Size,
            MUST,
            "bytes = \"100k\"",
            "Its length, at most 1G.",
        )],
    },
    Section {
        path: "workload.request",
        written: "[[workload.request]]",
        meaning: "One request of a workload: a body, a file or a path.",
        keys: &[
            NAME,
            key(
                "body",
                Table,
                NONE,
                "body = { bytes = \"1k\" }",
                "A file that the lab makes.",
            ),
            key(
                "file",
                Text,
                NONE,
                "file = \"css/main.css\"",
                "A file of the workload's site, by its path below that folder.",
            ),
            key(
                "path",
                Text,
                NONE,
                "path = \"/search?q=a\"",
                "Anything else that the server answers.",
            ),
            METHOD,
            CONTENT,
            CONTENT_FILE,
            UNCHANGED,
            key(
                "headers",
                Fields,
                NONE,
                "headers = [[\"Accept-Encoding\", \"gzip\"]]",
                "Fields that are sent, each a name and a value.",
            ),
            key(
                "weight",
                Count(1),
                "1",
                "weight = 9",
                "How often it is sent, in relation to the weights of the others.",
            ),
            key(
                "expect",
                Table,
                "status 200 for a path",
                "expect = { status = 204 }",
                "What a right answer to a path is; of files the lab knows it.",
            ),
        ],
    },
    Section {
        path: "workload.request.body",
        written: "body = { ... }",
        meaning: "The content of a file that the lab makes.",
        keys: &[key(
            "bytes",
            Size,
            MUST,
            "bytes = 7",
            "Its length, at most 1G.",
        )],
    },
    Section {
        path: "workload.request.expect",
        written: "expect = { ... }",
        meaning: "What a right answer to a path is. What is not given is taken from two fetches \
                  before the run.",
        keys: &[
            key(
                "level",
                Word(&["none", "status", "length", "body"]),
                "\"body\"",
                "level = \"status\"",
                "How closely answers are checked: that they are complete, their status too, their \
                 length too, their content too.",
            ),
            key(
                "status",
                Count(100),
                "that of the fetches",
                "status = 404",
                "The status.",
            ),
            key(
                "length",
                Count(0),
                "that of the fetches",
                "length = 512",
                "The length of the content in bytes.",
            ),
            key(
                "sha256",
                Text,
                NONE,
                "sha256 = \"9f86d0...\"",
                "The SHA-256 of the content, hexadecimal: the fetches must match it.",
            ),
            DECODE_ONE_IN,
        ],
    },
    Section {
        path: "load",
        written: "[load]",
        meaning: "How hard the servers are loaded.",
        keys: &[
            key(
                "mode",
                Word(&["closed", "open", "capacity"]),
                "\"closed\"",
                "mode = \"open\"",
                "What makes a request due: the end of the one before on its connection, or a \
                 schedule that does not wait for answers. capacity searches the highest rate of \
                 such a schedule that meets the objective, anew for each point and round.",
            ),
            OBJECTIVE,
            CONNECTIONS,
            USERS,
            STEP,
            THINK,
            RAMP,
            USER_CONNECTIONS,
            USER_RATE,
            USER_STAGES,
            USER_ARRIVALS,
            COOKIES,
            VARIABLES,
            RATE,
            STAGES,
            ARRIVALS,
            SOURCES,
            WORKERS,
            PLACEMENT,
            NETWORK,
            REQUESTS,
            OVERLOAD,
            TIMEOUT,
            key(
                "protocol",
                Axis(&PROTOCOLS),
                "\"http1\"",
                "protocol = [\"http2-tls\", \"http3\"]",
                "What connections speak, without TLS or inside it; a list makes a server of each. \
                 A server that does not offer it becomes a row.",
            ),
            key(
                "streams",
                Count(1),
                "1",
                "streams = 10",
                "Requests in flight on one connection of HTTP/2 or HTTP/3.",
            ),
        ],
    },
    EVEN_POINTS,
    AGENTS,
    SERVERS,
    TLS,
    KEEP_ALIVE_TABLE,
    PUBLISHED,
    ASKED,
];
