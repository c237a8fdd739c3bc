//! A lab, its agents and their broker, each killed at moments that chance chooses.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use model::random::Random;

use super::labs::{Far, LAB_LIMIT, agent_of};
use super::nats::Nats;
use crate::support::process::{Run, Running, command};
use crate::support::{need, wait_until};

/// So many are killed; `TRIATHLON_KILLS` says another number.
const KILLS: usize = 3;
/// Each that long after the one before, at most; `TRIATHLON_KILLS_WITHIN_MS` says another time.
const LATEST_MS: usize = 4_000;
/// A lab that lost something is asked to go on so often.
const RESUMES: usize = 4;

/// A number from the environment, to try more than a suite has time for.
fn number(name: &str, otherwise: usize) -> usize {
    let text = std::env::var(name).ok();
    let number = text.map(|text| text.parse().expect("a number"));
    number.unwrap_or(otherwise)
}

fn resume(far: &Far, url: &str) -> Running {
    let results = far.results().expect("there are results");
    let flags = format!("--resume {} --nats {url}", results.display());
    start(far, &flags)
}

fn start(far: &Far, flags: &str) -> Running {
    let temporary = far.path().join("tmp");
    fs::create_dir_all(&temporary).expect("a folder");
    Running::start(command(far.words(flags)).env("TMPDIR", temporary))
}

/// Command lines of processes that have to do with `folder`.
fn at_work(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&folder)).collect()
}

#[test]
fn a_lab_is_whole_in_the_end_whatever_is_killed_and_when() {
    let name = "a_lab_is_whole_in_the_end_whatever_is_killed_and_when";
    let Some([nats, _nginx]) = need(name, ["nats-server", "nginx"]) else {
        return;
    };
    let seed = number("TRIATHLON_SEED", 1);
    let kills = number("TRIATHLON_KILLS", KILLS);
    let latest = number("TRIATHLON_KILLS_WITHIN_MS", LATEST_MS);
    let mut chance = Random::stream(seed as u64, 0);
    let mut nats = Nats::start(&nats, "");
    let url = nats.url();
    let mut agents = [0, 1].map(|which| agent_of(&url, which));
    // nginx and the ceiling, by one connection and by four, in three rounds.
    let (far, expected) = (Far::new(3), 12);
    let mut lab = start(&far, &format!("{} --nats {url}", far.file().display()));
    wait_until("the lab has a folder", || far.results().is_some());
    let mut done: Vec<String> = vec![format!("seed {seed}")];
    for kill in 0..kills {
        let wait = Duration::from_millis(chance.below(latest) as u64);
        let moment = Instant::now() + wait;
        wait_until("the moment has come", || {
            lab.ended() || Instant::now() >= moment
        });
        let which = chance.below(2);
        let what = ["lab", "agent", "broker"][kill % 3];
        let stored = far.stored().len();
        let at = format!("{wait:?}, {stored} trials, agent {which}");
        done.push(format!("{what} after {at}, over: {}", lab.ended()));
        match what {
            "lab" => {
                lab.signal("KILL");
                lab.finish();
                lab = resume(&far, &url);
            }
            "agent" => {
                agents[which].signal("KILL");
                wait_until("the agent has ended", || agents[which].ended());
                agents[which] = agent_of(&url, which);
            }
            _ => {
                nats.kill();
                nats.start_again();
            }
        }
        let after = far.stored().len();
        assert!(
            after >= stored,
            "seed {seed}: {stored} trials, then {after}"
        );
    }
    let mut said: Vec<Run> = vec![lab.finish_within(LAB_LIMIT)];
    for _ in 0..RESUMES {
        if far.sequences().len() == expected {
            break;
        }
        said.push(resume(&far, &url).finish_within(LAB_LIMIT));
    }
    eprintln!("{done:#?}");
    let sequences = far.sequences();
    let told = |run: &Run| format!("{:?}: {}", run.code, run.stderr);
    done.extend(said.iter().map(told));
    assert_eq!(sequences.len(), expected, "{done:#?}");
    let gaps = far.results().map(|results| results.join("gaps"));
    let gaps = gaps.and_then(|gaps| fs::read_dir(gaps).ok());
    assert_eq!(gaps.map_or(0, Iterator::count), 0, "{done:#?}");
    for agent in agents {
        agent.signal("INT");
        // It has been there for as long as the lab.
        agent.finish_within(LAB_LIMIT).expect_code(0);
    }
    let left = at_work(far.path());
    assert!(left.is_empty(), "{done:#?}: {left:#?}");
}
