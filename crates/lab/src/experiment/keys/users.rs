//! Keys of connections, and of users who think, or take steps.

use super::Key;
use super::Kind::{Count, Numbers, Rate, Steps, Text, Texts, Time, Truth, Variables};
use super::table::{NONE, key};

pub(super) const CONNECTIONS: Key = key(
    "connections",
    Numbers,
    "none: give them, or users",
    "connections = [1, 64]",
    "Connections in total; each number of a list is a point.",
);

pub(super) const USERS: Key = key(
    "users",
    Numbers,
    NONE,
    "users = 1000",
    "Instead of connections: users, each of whom has a connection of its own, asks, and waits for \
     the answer; each number of a list is a point.",
);

pub(super) const THINK: Key = key(
    "think",
    Text,
    "they do not wait",
    "think = \"exp:1s\"",
    "How long each user waits before a request: \"1s\", \"exp:1s\", \"uniform:1s-3s\" or \
     \"lognormal:1s/0.8\". Users who take steps wait where these say.",
);

pub(super) const RAMP: Key = key(
    "ramp",
    Time,
    "they begin together",
    "ramp = \"10s\"",
    "Users who take steps begin at random within this time, and the measured window begins when \
     it is over. A budget that shortens windows shortens it by the same factor.",
);

pub(super) const STEP: Key = key(
    "step",
    Steps,
    "users ask what the workload says, in random order",
    "step = [{ get = \"page\" }, { wait = \"exp:1s\" }, { repeat = 7, get = \"picture\" }]",
    "What each user does again and again, written as [[load.step]] or in a line, in the grammar \
     of scripts (docs/script.md). A get asks for a request of the workload by its name (a file of \
     a site by its path below that, the one body of a workload as \"body\"), or for a path, which \
     begins with '/'. The answer to a path is right with status 200, unless expect says more. The \
     report has the figures of each step that asks.",
);

pub(super) const USER_CONNECTIONS: Key = key(
    "user_connections",
    Count(1),
    "1",
    "user_connections = 6",
    "Connections that each user has at most, 1 to 64: what a step asks together, as parts, is \
     shared out among them. Over HTTP/2 and HTTP/3 a user has one connection, and that carries the \
     parts as streams.",
);

pub(super) const USER_RATE: Key = key(
    "user_rate",
    Rate,
    "all are there from the beginning, and begin again at the end",
    "user_rate = 50",
    "Users per second who come, take the steps once and leave: their connections are their own, \
     and end with them. users, or connections, is then how many may be there at once; whoever \
     finds all places taken waits for one, and what it asks first is due when it would have been.",
);

pub(super) const USER_STAGES: Key = key(
    "user_stages",
    Texts,
    NONE,
    "user_stages = [\"20s:=5\", \"20s:=50\", \"20s:5\"]",
    "Instead of user_rate: how it changes within each window, in the words of the key stages. \
     Their times are stretched to the duration.",
);

pub(super) const USER_ARRIVALS: Key = key(
    "user_arrivals",
    Text,
    "poisson",
    "user_arrivals = \"fixed\"",
    "How users come who come at a rate: \"poisson\", each for itself, or \"fixed\", at even \
     distances.",
);

pub(super) const COOKIES: Key = key(
    "cookies",
    Truth,
    "false",
    "cookies = true",
    "Whether users who take steps keep the cookies that answers set, and send them back.",
);

pub(super) const VARIABLES: Key = key(
    "variables",
    Variables,
    NONE,
    "variables = { item = { random = [1, 9] } }",
    "What users who take steps know by name (docs/script.md). Neither files nor variables of the \
     environment are read, and there are no secrets: an experiment is stored as it is written.",
);

pub(super) const NAME: Key = key(
    "name",
    Text,
    "the path of a file, and none of others",
    "name = \"picture\"",
    "What the steps of [load] call it.",
);
