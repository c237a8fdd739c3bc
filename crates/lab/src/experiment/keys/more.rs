//! Keys of servers in their own words, and of loads that change, come from many addresses or share
//! CPUs.

use super::Kind::{Axis, Count, Rate, Settings, Table, Text, Texts, Time, Truth, Word};
use super::table::{MUST, NONE, key};
use super::{Key, Section};

pub(super) const LOGS: super::Kind = Word(&["off", "on", "buffered"]);
pub(super) const RESTARTS: super::Kind = Word(&["round", "trial"]);
pub(super) const PROTOCOLS: super::Kind =
    Word(&["http1", "http1-tls", "http2", "http2-tls", "http3"]);

pub(super) const PLACEMENTS: &[&str] = &["apart", "shared"];
pub(super) const NETWORKS: &[&str] = &["loopback", "veth", "remote"];

pub(super) const PROGRAM: Key = key(
    "program",
    Text,
    "the one that is found",
    "program = \"/opt/nginx/sbin/nginx\"",
    "The whole path of its program: another build of the product, beside the one that is found \
     under a label of its own.",
);

pub(super) const SETTINGS: Key = key(
    "settings",
    Settings,
    NONE,
    "settings = { MaxRequestWorkers = 2048 }",
    "Directives of the server, in its own words, instead of those of its preset; a list of values \
     makes a server of each. Its folder says how they are written.",
);

pub(super) const ACCEPT_ENCODING: Key = key(
    "accept_encoding",
    Text,
    "none",
    "accept_encoding = \"gzip\"",
    "The codings that all its requests accept: gzip, br, zstd, deflate, several with commas. A \
     server that compresses what it sends is asked to, and one in a thousand of its answers is \
     decoded and checked; one that does not compress sends files as they are, which is a finding \
     where others compress.",
);

pub(super) const DECODE_ONE_IN: Key = key(
    "decode_one_in",
    Count(1),
    NONE,
    "decode_one_in = 100",
    "One encoded answer in this many is decoded; length and sha256 are then of decoded content.",
);

pub(super) const OBJECTIVE: Key = key(
    "objective",
    Text,
    "none; mode = \"capacity\" needs it",
    "objective = \"p(99)<5ms,errors<0.1%\"",
    "What has to hold at the capacity: conditions in the grammar of load \
     --threshold, with commas between them. Trials that count in full last as long as duration \
     says, and a search takes some thirty of them.",
);

pub(super) const OWN_CONNECTIONS: Key = key(
    "connections",
    Axis(&Count(1)),
    "those of [load]",
    "connections = [1000, 4000]",
    "How many connections ask for it, where that differs from [load]; each of a list is a point. \
     --budget leaves them as they are.",
);

pub(super) const OWN_PROTOCOL: Key = key(
    "protocol",
    Axis(&PROTOCOLS),
    "that of [load]",
    "protocol = \"http1-tls\"",
    "What it is asked in, where that differs from [load]; each of a list is a point. Only servers \
     that are started for it are asked, which are compared with each other and have the protocol \
     in their labels; a server that does not offer it becomes a row. Published and asked numbers \
     may name a server as other workloads do.",
);

pub(super) const METHOD: Key = key(
    "method",
    Text,
    "\"GET\"",
    "method = \"POST\"",
    "The method of the request.",
);

pub(super) const CONTENT: Key = key(
    "content",
    Text,
    "none is sent",
    "content = \"name=a&value=1\"",
    "The content that is sent with it. Servers differ in what they make of it: a POST to a \
     program is answered, one to a file is not.",
);

pub(super) const CONTENT_FILE: Key = key(
    "content_file",
    Text,
    NONE,
    "content_file = \"form.json\"",
    "A file that has the content, at most 1M of text. Its text is stored with the experiment.",
);

pub(super) const UNCHANGED: Key = key(
    "unchanged",
    Truth,
    "false",
    "unchanged = true",
    "Asks whether the file has changed since it was made (If-Modified-Since, with the time that \
     the lab gave the file): the right answer is 304 without content.",
);

pub(super) const CALM: Key = key(
    "calm",
    Time,
    "\"2s\"",
    "calm = \"60s\"",
    "How long to wait at most before each trial, until what earlier ones left is gone: \
     connections in TIME_WAIT, as long as they are more than half of what the kernel keeps; 64 \
     MiB to be written more than at the start; more tasks ready to run than then, and than there \
     are CPUs. What does not go away in three waits is not waited for again.",
);

pub(super) const REPEATS: Key = key(
    "repeats",
    Count(0),
    "2",
    "repeats = 0",
    "How often a point is measured again, with its rivals, where something other than \
     server and generator spoilt a trial of it: at most twice.",
);

pub(super) const ORDER: Key = key(
    "order",
    Word(&["cell", "server"]),
    "\"cell\"",
    "order = \"server\"",
    "What is measured next to what within a round: the servers of one point, or the \
     points of one server, which then runs alone.",
);

pub(super) const WARMUP_MIN: Key = key(
    "warmup_min",
    Time,
    "as long as `warmup`",
    "warmup_min = \"3s\"",
    "How short --budget may make the warm-up: long enough for the servers to be steady.",
);

pub(super) const SETTLE: Key = key(
    "settle",
    Time,
    "a tenth of the window, 100 ms to 500 ms",
    "settle = \"1500ms\"",
    "How long the load of each trial runs before its window begins. Its connections are new, and \
     all of them must be open by then: a server that greets slowly, TLS on one core or a short \
     backlog (what the kernel drops is tried again after a second) need more.",
);

pub(super) const DURATION_MIN: Key = key(
    "duration_min",
    Time,
    "\"200ms\"",
    "duration_min = \"2s\"",
    "How short --budget may make the windows, before it leaves out what has less priority.",
);

pub(super) const KEEP_ALIVE: Key = key(
    "keep_alive",
    Table,
    "as in its preset",
    "keep_alive = { requests = 100 }",
    "The server's own limits of connections that last.",
);

pub(super) const PIN: Key = key(
    "pin",
    Axis(&Word(&["mask", "thread"])),
    "\"mask\"",
    "pin = [\"mask\", \"thread\"]",
    "Where its threads run: wherever the kernel puts them among its CPUs, or each on one of them \
     in turn; a list makes a server of each.",
);

pub(super) const STAGES: Key = key(
    "stages",
    Texts,
    NONE,
    "stages = [\"20s:=200\", \"20s:=20k\", \"20s:200\"]",
    "Instead of a rate: how it changes within each window, as TIME:RATE (evenly, until it is \
     that), TIME:=RATE (at once) or TIME:!PEAK/HALF-LIFE (at once, and back). Their times are \
     stretched to the duration.",
);

pub(super) const ARRIVALS: Key = key(
    "arrivals",
    Word(&["poisson", "fixed"]),
    "\"poisson\"",
    "arrivals = \"fixed\"",
    "How requests of an open loop are spaced: at random, or evenly.",
);

pub(super) const SOURCES: Key = key(
    "sources",
    Axis(&Count(1)),
    "as many as the ports of connections ask for",
    "sources = [64, 12_000]",
    "How many source addresses new connections come from in turn, at most 65024; each of a list is \
     a point, and no two trials have the same.",
);

pub(super) const WORKERS: Key = key(
    "workers",
    Count(1),
    "one for each CPU of the generator",
    "workers = 32",
    "Threads that generate load, in turn on the CPUs of the generator.",
);

pub(super) const PLACEMENT: Key = key(
    "placement",
    Axis(&Word(PLACEMENTS)),
    "\"apart\"",
    "placement = [\"apart\", \"shared\"]",
    "Whether the generator has CPUs of its own or shares those of the server; each of a list is a \
     point.",
);

pub(super) const NETWORK: Key = key(
    "network",
    Axis(&Word(NETWORKS)),
    "\"loopback\"",
    "network = [\"loopback\", \"veth\"]",
    "What lies between generator and servers: the loopback device, or a pair of virtual Ethernet \
     devices between two network namespaces that the lab makes (it needs CAP_SYS_ADMIN and \
     CAP_NET_ADMIN); each of a list is a point. remote is the network between this machine and \
     the agents of [generator] or [host].",
);

pub(super) const RATE: Key = key(
    "rate",
    Axis(&Rate),
    "none; mode = \"open\" needs it, or stages",
    "rate = [\"1k\", \"2k\"]",
    "The intended load in requests per second; each of a list is a point.",
);

pub(super) const RELOAD: Key = key(
    "reload",
    Truth,
    "false",
    "reload = true",
    "Whether each server is told to read its configuration again in the middle of each window: \
     what it loses then are errors, and the intervals show how long it is slower. A server whose \
     folder names neither a signal nor a command for that is a row that says so. Caddy, h2o, \
     HAProxy and Varnish have a master process or a socket for administration only where they are \
     told. Windows must be at least 2 s long, and no budget makes them shorter.",
);

pub(super) const REQUESTS: Key = key(
    "requests",
    Count(1),
    "a window ends with its time",
    "requests = 100000",
    "A window ends after so many requests, as those of ab and weighttp do; where they take longer, \
     it ends with its `duration`. Windows of servers then differ in length. Agents measure by time \
     alone.",
);

pub(super) const OVERLOAD: Key = key(
    "overload",
    Truth,
    "false",
    "overload = true",
    "The load is meant to be more than servers can take: errors, connections that a server drops \
     or closes, and its own limits are then results that are noted, and no reason to doubt them. \
     Without a right answer a trial is invalid all the same.",
);

pub(super) const TIMEOUT: Key = key(
    "timeout",
    Time,
    "\"5s\"",
    "timeout = \"1s\"",
    "How long an answer may take from the first byte sent to the last received.",
);

pub(super) const KEEP_ALIVE_TABLE: Section = Section {
    path: "server.keep_alive",
    written: "keep_alive = { ... }",
    meaning: "The server's own limits of connections that last, instead of those of its preset.",
    keys: &[
        key(
            "requests",
            Axis(&Count(0)),
            "as in its preset",
            "requests = [0, 100]",
            "Requests before the server closes a connection, as the server counts them (some \
             allow one more); 0 is no limit. A list makes a server of each.",
        ),
        key(
            "idle",
            Time,
            "as in its preset",
            "idle = \"60s\"",
            "How long it keeps a connection on which nothing comes, in whole seconds.",
        ),
    ],
};

/// What `connections` may be instead of a list.
pub(super) const EVEN_POINTS: Section = Section {
    path: "load.connections",
    written: "connections = { ... }",
    meaning: "Evenly spaced points, instead of a list.",
    keys: &[
        key("from", Count(1), MUST, "from = 10", "The first."),
        key("to", Count(1), MUST, "to = 1000", "The last."),
        key("step", Count(1), MUST, "step = 10", "From one to the next."),
        key(
            "also",
            Axis(&Count(1)),
            NONE,
            "also = [1, 2, 4]",
            "Points beside these.",
        ),
    ],
};
