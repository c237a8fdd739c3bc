//! Labs whose load agents make: what happens between two trials and before a load begins, and over
//! TLS.

use std::fs;
use std::path::Path;

use super::cut::Cut;
use super::labs::{Far, LAB_LIMIT, agent_of};
use super::nats::{Nats, agent, load_by};
use super::right;
use crate::lab::check_answered;
use crate::support::process::{Running, command, triathlon};
use crate::support::{need, wait_until};

fn start(far: &Far, flags: &str) -> Running {
    let file = far.file().display();
    Running::start(&mut command(far.words(&format!("{file} {flags}"))))
}

/// How many agents have no order to work on.
fn idle(url: &str) -> usize {
    let listed = triathlon(["agent", "list", "--nats", url]).expect_code(0);
    listed
        .stdout
        .lines()
        .filter(|one| one.contains(", idle, "))
        .count()
}

/// Stops the lab where no order is under way: what it has sent by then its agents have heard.
fn stop_between_trials(lab: &mut Running, url: &str) {
    wait_until("the lab is between two trials", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        lab.signal("STOP");
        let is_between = idle(url) == 2;
        if !is_between {
            lab.signal("CONT");
        }
        is_between
    });
}

#[test]
fn a_broker_that_is_started_again_between_two_trials_costs_none() {
    let name = "a_broker_that_is_started_again_between_two_trials_costs_none";
    let Some([nats, _nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let mut nats = Nats::start(&nats, "");
    let url = nats.url();
    let _agents = [0, 1].map(|which| agent_of(&url, which));
    let far = Far::new(1);
    let mut lab = start(&far, &format!("--nats {url}"));
    wait_until("a trial is stored", || {
        assert!(!lab.ended(), "it ended: {}", lab.stderr());
        !far.stored().is_empty()
    });
    stop_between_trials(&mut lab, &url);
    nats.kill();
    nats.start_again();
    lab.signal("CONT");
    let run = lab.finish_within(LAB_LIMIT).expect_measured();
    // nginx and the ceiling, by one connection and by four.
    assert_eq!(far.sequences().len(), 4, "{run:#?}");
    let gaps = far.results().expect("there are results").join("gaps");
    assert_eq!(files_of(&gaps), 0, "{run:#?}");
}

/// Whoever asks loses its connection when it says when the load begins, or before.
#[test]
fn a_connection_that_is_lost_before_the_load_begins_costs_none() {
    let name = "a_connection_that_is_lost_before_the_load_begins_costs_none";
    let Some([nats]) = need(name, ["nats-server"]) else {
        return;
    };
    let (nats, server) = (Nats::start(&nats, ""), right());
    let _agents = ["a", "b"].map(|name| agent(&nats.url(), name, "--targets 127.0.0.0/8"));
    // Of each kind the first agent hears one, and then the second.
    for (word, nth) in [("order", 1), ("order", 2), ("begin", 1), ("begin", 2)] {
        let cut = Cut::start(nats.address(), &format!("\"message\":{{\"{word}\""), nth);
        let flags = "--agents a,b -t 2 -c 2 -n 10 --json -";
        let run = load_by(&server.url(), &cut.url(), flags);
        assert_eq!(cut.cuts(), 1, "{word} {nth}: {run:#?}");
        let total = run.expect_measured().trial().record.total.outcomes.total();
        assert_eq!(total, 10, "{word} {nth}");
    }
}

/// A lab loses its connection while it compares the clocks of its agents before a trial.
#[test]
fn a_connection_that_is_lost_between_two_trials_costs_none() {
    let name = "a_connection_that_is_lost_between_two_trials_costs_none";
    let Some([nats, _nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let url = nats.url();
    let _agents = [0, 1].map(|which| agent_of(&url, which));
    let far = Far::new(1);
    // Each agent tells its time 16 times when the lab begins.
    let cut = Cut::start(nats.address(), "\"message\":\"clock\"", 40);
    let run = start(&far, &format!("--nats {}", cut.url()));
    let run = run.finish_within(LAB_LIMIT).expect_measured();
    assert_eq!(cut.cuts(), 1, "{run:#?}");
    assert_eq!(far.sequences().len(), 4, "{run:#?}");
    let gaps = far.results().expect("there are results").join("gaps");
    assert_eq!(files_of(&gaps), 0, "{run:#?}");
}

fn files_of(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn servers_are_asked_over_tls_from_other_machines() {
    let name = "servers_are_asked_over_tls_from_other_machines";
    let Some([nats, _nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let nats = Nats::start(&nats, "");
    let url = nats.url();
    let _agents = [0, 1].map(|which| agent_of(&url, which));
    let far = Far::new(1);
    let flags = format!("--nats {url} load.connections=4 protocol=http1-tls,http3");
    let run = start(&far, &flags).finish_within(LAB_LIMIT);
    let trials = far.trials();
    assert!(trials.len() >= 2, "{run:#?}");
    for trial in &trials {
        assert!(trial.is_secure());
        let tls = trial.plan.tls.as_ref().expect("it says whom it trusts");
        assert!(tls.ca_file.is_none(), "nobody else has that file");
        let pem = tls.ca_pem.as_deref().unwrap_or_default();
        assert!(pem.starts_with("-----BEGIN CERTIFICATE"), "{pem}");
        check_answered(trial);
        assert_eq!(trial.record.total.outcomes.failures(), 0, "{run:#?}");
    }
}
