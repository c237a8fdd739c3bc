//! `[host]` of an experiment: an agent on another machine has the servers, and this machine makes
//! the load and keeps the results.
//!
//! The lab itself runs where the servers are (`there`), in a child process of the agent: it starts,
//! freezes, meters and ends them as it does everywhere. Its generator is whoever gave the order
//! (`here`), and each file of its results goes there as soon as it is stored (`mirror`).

mod here;
mod mirror;
mod there;
mod words;

use model::Experiment;
use serde_json::Value;

pub(super) use here::run;
pub(crate) use there::serve;
pub(crate) use words::Word;

/// Keys that bring a command, a path or an address to the machine of the servers.
const OWN: [&str; 8] = [
    "body_file",
    "file",
    "pid",
    "program",
    "settings",
    "site",
    "url",
    "variables",
];

/// Why an agent does not start the servers of `experiment`; none where it may. What it starts is
/// what its own program brings along: an order brings no command and no path.
fn refused(experiment: &Experiment) -> Option<String> {
    let file = experiment.file();
    for variant in experiment.servers() {
        if variant.product == "custom" || !matches!(variant.preset.as_str(), "stock" | "tuned") {
            return Some(format!(
                "{}: an agent starts servers as its own program knows them: give a product with \
                 the preset stock or tuned",
                variant.label
            ));
        }
    }
    let tables = [
        ("server", serde_json::to_value(&file.server)),
        ("workload", serde_json::to_value(&file.workload)),
        ("load", serde_json::to_value(&file.load)),
    ];
    tables.into_iter().find_map(|(name, table)| {
        let key = own_key(&table.ok()?)?;
        Some(format!(
            "{name}.{key}: an agent takes no command, path or address of its own from an \
             experiment: leave it out, or leave out [host]"
        ))
    })
}

/// The first of those keys that has a value.
fn own_key(value: &Value) -> Option<String> {
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Array(items) => items.iter().find_map(own_key),
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            let is_own = OWN.contains(&key.as_str()) && !is_empty(value);
            is_own.then(|| key.clone()).or_else(|| own_key(value))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_brings_no_command_and_no_path() {
        let check = |server: &str, workload: &str, words: Option<&str>| {
            let text = format!(
                "[experiment]\nname = 'x'\nquestion = '?'\nrounds = 1\nwarmup = '1s'\n\
                 duration = '1s'\n[[server]]\n{server}\n[[workload]]\nname = 'w'\n{workload}\n\
                 [load]\nconnections = 1\n[host]\nserver = 's'\naddress = '192.0.2.1'\n"
            );
            let experiment = lab::experiment::parse("x", &text, &[]).unwrap();
            let said = refused(&experiment);
            match (&said, words) {
                (None, None) => {}
                (Some(said), Some(words)) => assert!(said.contains(words), "{said}"),
                _ => panic!("{server} {workload}: {said:?}"),
            }
        };
        let (nginx, body) = ("product = 'nginx'", "body = { bytes = 7 }");
        check(nginx, body, None);
        check("product = 'nginx'\npreset = 'stock'", body, None);
        check("product = 'custom'\npreset = 'a.sh'", body, Some("custom"));
        check(
            "product = 'nginx'\npreset = 'my.conf'",
            body,
            Some("preset"),
        );
        check(
            "product = 'nginx'\nprogram = '/bin/x'",
            body,
            Some("server.program"),
        );
        check("url = 'http://192.0.2.1/'", body, Some("server.url"));
        let settings = "product = 'nginx'\nsettings = { sendfile = 'on' }";
        check(settings, body, Some("server.settings"));
        check(nginx, "site = '/'", Some("workload.site"));
    }
}
