//! What the machine of the servers hears of a load that agents make.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use super::cut::Ear;
use super::labs::LAB_LIMIT;
use super::nats::{Nats, agent};
use crate::support::process::{Running, command};
use crate::support::{need, wait_until};

/// The window begins ten minutes after the load.
const EXPERIMENT: &str = "
[experiment]
name = 'window'
question = 'When does it begin?'
rounds = 1
repeats = 0
calm = '0s'
warmup = '100ms'
duration = '250ms'
seed = 5

[[server]]
product = 'origin'

[[workload]]
name = 'page'
[[workload.request]]
name = 'page'
body = { bytes = 7 }

[load]
users = 2
ramp = '10m'
[[load.step]]
get = 'page'

[host]
server = 'rig'
address = '127.0.0.2'

[generator]
agents = ['a']
address = '127.0.0.2'
";

/// A minute and more before it begins: by then it has been said long since.
const BEFORE_NS: u128 = 60_000_000_000;

/// When the windows begin that this text tells of, in nanoseconds since 1970.
fn windows(text: &str) -> Vec<u128> {
    let after = text.split(r#"{\"window\":["#).skip(1);
    let begins = after.filter_map(|rest| rest.split_once(',')?.0.parse().ok());
    begins.collect()
}

#[test]
fn servers_hear_of_the_window_before_it_begins() {
    let name = "servers_hear_of_the_window_before_it_begins";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let url = nats.url();
    let _agents = [
        agent(&url, "a", "--targets 127.0.0.0/8"),
        agent(&url, "rig", "--role server --may-start-servers"),
    ];
    let ear = Ear::start(nats.address());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("window.toml");
    fs::write(&file, EXPERIMENT).expect("a file");
    let mut lab = command(["lab", "--no-lock", "--hiccups", "0s", "--nats", &ear.url()]);
    lab.arg("--results").arg(folder.path().join("results"));
    let mut lab = Running::start(lab.arg(&file));
    wait_until("a window is told before it begins", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("it is after 1970").as_nanos();
        let told = windows(&ear.heard());
        told.into_iter().any(|begin| begin > now + BEFORE_NS)
    });
    lab.signal("INT");
    lab.finish_within(LAB_LIMIT).expect_code(130);
}
