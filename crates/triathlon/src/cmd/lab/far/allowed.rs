//! What an order may bring to the machine of the servers: the keys of an experiment that name no
//! command, no path and no address there. A key that is not in this list is refused, so that one
//! that is new brings nothing before somebody has thought of it.

use serde_json::Value;

/// A table of an experiment.
struct Table {
    /// Keys that hold words and numbers.
    plain: &'static [&'static str],
    /// Keys that hold a table, or several.
    tables: &'static [(&'static str, &'static Self)],
}

/// Any key, in a table whose keys are names that the experiment gives.
const ANY: &str = "*";

static FILE: Table = Table {
    plain: &[],
    tables: &[
        ("asked", &ASKED),
        ("experiment", &HEADER),
        ("generator", &GENERATOR),
        ("host", &HOST),
        ("load", &LOAD),
        ("published", &PUBLISHED),
        ("server", &SERVER),
        ("tls", &TLS),
        ("workload", &WORKLOAD),
    ],
};

static HEADER: Table = Table {
    plain: &[
        "calm",
        "duration",
        "duration_min",
        "name",
        "order",
        "question",
        "reference",
        "reload",
        "repeats",
        "restart",
        "rounds",
        "seed",
        "settle",
        "warmup",
        "warmup_min",
    ],
    tables: &[],
};

static SERVER: Table = Table {
    plain: &[
        "access_log",
        "cores",
        "label",
        "pin",
        "preset",
        "priority",
        "product",
        "restart",
        "twin",
        "variant",
    ],
    tables: &[("keep_alive", &KEEP_ALIVE)],
};

static KEEP_ALIVE: Table = Table {
    plain: &["idle", "requests"],
    tables: &[],
};

static WORKLOAD: Table = Table {
    plain: &[
        "accept_encoding",
        "connections",
        "content",
        "handler",
        "method",
        "name",
        "needs",
        "priority",
        "protocol",
        "requests_per_connection",
    ],
    tables: &[("body", &BODY), ("request", &REQUEST)],
};

static BODY: Table = Table {
    plain: &["bytes"],
    tables: &[],
};

/// A path is one below the server's URL.
static REQUEST: Table = Table {
    plain: &[
        "content",
        "headers",
        "method",
        "name",
        "path",
        "unchanged",
        "weight",
    ],
    tables: &[("body", &BODY), ("expect", &EXPECT)],
};

static EXPECT: Table = Table {
    plain: &["decode_one_in", "length", "level", "sha256", "status"],
    tables: &[],
};

static LOAD: Table = Table {
    plain: &[
        "arrivals",
        "cookies",
        "mode",
        "network",
        "objective",
        "overload",
        "placement",
        "protocol",
        "ramp",
        "rate",
        "requests",
        "sources",
        "stages",
        "streams",
        "think",
        "timeout",
        "user_arrivals",
        "user_connections",
        "user_rate",
        "user_stages",
        "workers",
    ],
    tables: &[
        ("connections", &COUNTS),
        ("step", &STEP),
        ("users", &COUNTS),
    ],
};

static COUNTS: Table = Table {
    plain: &["also", "from", "step", "to"],
    tables: &[],
};

static STEP: Table = Table {
    plain: &[
        "body", "chance", "contains", "delete", "get", "head", "headers", "name", "patch", "post",
        "put", "repeat", "request", "wait",
    ],
    tables: &[
        ("branch", &BRANCH),
        ("expect", &EXPECT),
        ("step", &STEP),
        ("take", &TAKES),
    ],
};

static BRANCH: Table = Table {
    plain: &["weight"],
    tables: &[("step", &STEP)],
};

static TAKES: Table = Table {
    plain: &[],
    tables: &[(ANY, &TAKE)],
};

static TAKE: Table = Table {
    plain: &["header", "json", "pattern"],
    tables: &[],
};

static TLS: Table = Table {
    plain: &["certificate", "group", "handshake", "suite", "version"],
    tables: &[],
};

/// The machine of the servers is told who makes the load, and asks none of them.
static GENERATOR: Table = Table {
    plain: &["address", "agents"],
    tables: &[],
};

static HOST: Table = Table {
    plain: &["address", "server"],
    tables: &[],
};

static PUBLISHED: Table = Table {
    plain: &[
        "connections",
        "network",
        "placement",
        "rate",
        "server",
        "show",
        "source",
        "sources",
        "value",
        "what",
        "workload",
    ],
    tables: &[],
};

static ASKED: Table = Table {
    plain: &[
        "against",
        "against_connections",
        "against_network",
        "against_placement",
        "against_rate",
        "against_sources",
        "against_workload",
        "connections",
        "demand",
        "means",
        "network",
        "not",
        "placement",
        "rate",
        "rule",
        "server",
        "show",
        "sources",
        "who",
        "workload",
    ],
    tables: &[],
};

/// What words and numbers hold.
static NOTHING: Table = Table {
    plain: &[],
    tables: &[],
};

/// The first key of an experiment that is not in the list, by the names that lead to it.
pub(super) fn first_strange(experiment: &Value) -> Option<String> {
    FILE.strange("", experiment)
}

impl Table {
    fn strange(&self, at: &str, value: &Value) -> Option<String> {
        match value {
            Value::Array(items) => items.iter().find_map(|item| self.strange(at, item)),
            Value::Object(fields) => fields
                .iter()
                .find_map(|(key, value)| self.strange_field(at, key, value)),
            _ => None,
        }
    }

    fn strange_field(&self, at: &str, key: &str, value: &Value) -> Option<String> {
        let name = match at {
            "" => key.to_owned(),
            at => format!("{at}.{key}"),
        };
        let is_it = |known: &str| known == key || known == ANY;
        let table = self.tables.iter().find(|(known, _)| is_it(known));
        match table {
            _ if is_empty(value) => None,
            Some((_, table)) => table.strange(&name, value),
            None if self.plain.contains(&key) => NOTHING.strange(&name, value),
            None => Some(name),
        }
    }
}

/// Whether nothing is said by it.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What earlier studies published and asked only names points, whatever the way to one.
    #[test]
    fn every_key_of_earlier_studies_may_be_brought() {
        for section in lab::experiment::keys::SECTIONS {
            if !matches!(section.path, "asked" | "published") {
                continue;
            }
            for key in section.keys {
                let fields = serde_json::Map::from_iter([(key.name.to_owned(), json!("x"))]);
                let experiment = json!({ section.path: [fields] });
                assert_eq!(first_strange(&experiment), None, "{}", key.name);
            }
        }
    }

    #[test]
    fn a_key_that_nobody_has_thought_of_is_refused() {
        let check = |value: Value, expected: Option<&str>| {
            let found = first_strange(&value);
            assert_eq!(found.as_deref(), expected, "{value}");
        };
        check(json!({}), None);
        check(json!({ "include": "/etc/passwd" }), Some("include"));
        let server = |value: Value| json!({ "server": [{ "product": "nginx" }, value] });
        check(server(json!({ "cores": [1, 2] })), None);
        check(
            server(json!({ "program": "/bin/sh" })),
            Some("server.program"),
        );
        check(server(json!({ "hook": "x" })), Some("server.hook"));
        check(server(json!({ "program": null, "settings": {} })), None);
        let inner = json!({ "keep_alive": { "idle": "1s", "script": "x" } });
        check(server(inner), Some("server.keep_alive.script"));
        // What holds a word today may hold more some day.
        let inner = json!({ "preset": { "template": "/x" } });
        check(server(inner), Some("server.preset.template"));
        let load = |value: Value| json!({ "load": value });
        check(
            load(json!({ "connections": { "from": 1, "to": 9, "step": 2 } })),
            None,
        );
        check(
            load(json!({ "variables": { "v": { "environment": "HOME" } } })),
            Some("load.variables"),
        );
        let take = json!({ "token": { "json": "/t" } });
        let ways = json!([{ "weight": 1, "step": [{ "get": "/", "take": take }] }]);
        check(load(json!({ "step": [{ "branch": ways }] })), None);
        let ways = json!([{ "step": [{ "step": [{ "post": "/", "body_file": "/etc/x" }] }] }]);
        check(
            load(json!({ "step": [{ "branch": ways }] })),
            Some("load.step.branch.step.step.body_file"),
        );
        let take = json!({ "token": { "command": "x" } });
        check(
            load(json!({ "step": [{ "get": "/", "take": take }] })),
            Some("load.step.take.token.command"),
        );
    }
}
