//! `[host]` of an experiment: an agent on another machine has the servers, and this machine keeps
//! the results and makes the load, or has the agents of `[generator]` make it (`maker`).
//!
//! The lab itself runs where the servers are (`there`), in a child process of the agent: it starts,
//! freezes, meters and ends them as it does everywhere. Its generator is whoever gave the order
//! (`here`), and each file of its results goes there as soon as it is stored (`mirror`).

mod allowed;
mod here;
mod maker;
mod mirror;
mod there;
mod words;

use model::{Experiment, Json as _};

pub(super) use here::run;
pub(crate) use there::serve;
pub(crate) use words::Word;

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
    let whole = file.to_json().and_then(|text| serde_json::from_str(&text));
    let whole: serde_json::Value = whole.expect("an experiment is a tree of plain values");
    let key = allowed::first_strange(&whole)?;
    Some(format!(
        "{key}: an agent takes no command, path or address from an experiment, nor a key that may \
         hold one: leave it out, or leave out [host]"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const TEXT: &str = "
[experiment]
name = 'x'
question = '?'
rounds = 1
warmup = '1s'
duration = '1s'
[[server]]
product = 'nginx'
[[workload]]
name = 'w'
body = { bytes = 7 }
[load]
connections = 1
[host]
server = 's'
address = '192.0.2.1'
";

    #[test]
    fn an_order_brings_no_command_and_no_path() {
        let experiment = lab::experiment::parse("x", TEXT, &[]).unwrap();
        assert_eq!(refused(&experiment), None);
        let check = |change: &dyn Fn(&mut Value), words: &str| {
            let mut value = serde_json::to_value(experiment.file()).unwrap();
            change(&mut value);
            let file: model::ExperimentFile = serde_json::from_value(value).unwrap();
            let said = refused(&Experiment::try_from(file).unwrap());
            let is_told = said.as_ref().is_some_and(|said| said.contains(words));
            assert!(is_told, "no '{words}': {said:?}");
        };
        let server = |key: &'static str, value: Value| {
            move |file: &mut Value| file["server"][0][key] = value.clone()
        };
        check(&server("product", json!("custom")), "custom");
        check(&server("preset", json!("my.conf")), "preset");
        check(&server("program", json!("/bin/x")), "server.program");
        let settings = json!({ "sendfile": "on" });
        check(&server("settings", settings), "server.settings");
        check(
            &|file| file["server"][0] = json!({ "url": "http://192.0.2.1/" }),
            "server.url",
        );
        let site = json!({ "name": "w", "site": "/srv", "request": [{ "file": "a" }] });
        check(&|file| file["workload"][0] = site.clone(), "workload.");
    }
}
