//! Response times against those that a server noted itself, and capacities against one that follows
//! from a server's clock. The server is a program in C that shares nothing with us.

mod capacity;
mod held;
mod joined;
mod known;
mod queue;
mod soak;
mod users;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

pub(super) use self::capacity::capacity;
use self::held::{Compared, Held, Since, Tally, Which, begin, hold};
use self::joined::Joined;
use self::known::Known;
pub(super) use self::soak::soak;
pub(super) use self::users::{users_who_come, users_who_stay};
use super::Setting;
use super::generator::{Ask, Task, trial_of};

/// How answers are held back.
struct Law {
    name: &'static str,
    /// What the server is told.
    words: &'static [&'static str],
    /// How many requests it works on at once.
    slots: u32,
    /// How long it works on one in the mean, in microseconds.
    mean_us: f64,
    /// So many that requests never wait for a connection: the server would not know of that.
    connections: u32,
    /// How often the seconds of a round a run lasts.
    times: u32,
    /// Long enough for all connections to be made, in milliseconds: what waits for one is not known
    /// to the server.
    warmup_ms: u32,
}

impl Law {
    /// What the server answers per second at most.
    fn capacity(&self) -> f64 {
        f64::from(self.slots) * 1e6 / self.mean_us
    }

    /// The server's arguments.
    fn arguments(&self) -> Vec<String> {
        let slots = ["slots".to_owned(), self.slots.to_string()];
        let words = self.words.iter().map(|word| (*word).to_owned());
        slots.into_iter().chain(words).collect()
    }
}

const LAWS: [Law; 4] = [
    Law {
        name: "1 ms",
        words: &["constant", "1000"],
        slots: 20,
        mean_us: 1_000.0,
        connections: 1_000,
        times: 5,
        warmup_ms: 1_500,
    },
    Law {
        name: "1 ms, 1 in 20 takes 20 ms",
        words: &["two", "1000", "20000", "50"],
        slots: 40,
        mean_us: 1_950.0,
        connections: 2_000,
        times: 5,
        warmup_ms: 1_500,
    },
    Law {
        name: "0.3 ms and more, heavy tail",
        words: &["pareto", "300", "1500"],
        slots: 20,
        // The mean of Pareto's distribution, cut off at 2 s.
        mean_us: 892.7,
        connections: 4_000,
        times: 5,
        warmup_ms: 1_500,
    },
    Law {
        name: "1 ms, stalls for 200 ms",
        words: &["stall", "1000", "10000", "200"],
        slots: 20,
        mean_us: 1_000.0,
        connections: 15_000,
        times: 5,
        warmup_ms: 4_000,
    },
];

/// How the generator waits, and what its wake-ups may add, in microseconds.
const SPINS: [(&str, f64); 2] = [("always", 60.0), ("never", 120.0)];

/// Which shares of its capacity the server is asked for.
const PERCENT: [u32; 3] = [10, 50, 80];

/// Response times of a server that takes so long by that law of [`LAWS`].
pub(super) fn truth(setting: &Setting, law: usize) -> Result<()> {
    let program = known::compile(&setting.site)?;
    begin(setting);
    let mut tally = Tally::default();
    let law = &LAWS[law];
    let rows = [law.row()];
    for percent in PERCENT {
        let rate = format!("{:.0}", law.capacity() * f64::from(percent) / 100.0);
        for (spin, floor) in SPINS {
            let more = ["-R", &rate, "--spin", spin];
            let held = law.hold(setting, &program, (law.connections, floor), &more, &rows)?;
            for (row, held) in rows.iter().zip(&held) {
                print(&mut tally, row, held, (law, percent, spin, floor));
            }
        }
    }
    tally.end();
    Ok(())
}

/// Prints a row.
fn print(
    tally: &mut Tally,
    row: &Compared,
    held: &Held,
    (law, percent, spin, floor): (&Law, u32, &str, f64),
) {
    let share = format!("{percent} % of {:.0}", law.capacity());
    let head = format!("{:<28} {share:>14} {spin:>7}", row.name);
    tally.print(&head, held, row.is_alike.then_some(floor));
}

impl Law {
    /// All exchanges.
    const fn row(&self) -> Compared {
        Compared {
            name: self.name,
            which: Which::All,
            from: Since::Due,
            is_alike: true,
        }
    }

    /// Starts a server of this law for each round, loads it with `more` flags over so many
    /// connections, and holds what was measured against what it noted. On time is what left no
    /// later than `limit` microseconds.
    fn hold(
        &self,
        setting: &Setting,
        program: &Path,
        (connections, limit): (u32, f64),
        more: &[&str],
        rows: &[Compared],
    ) -> Result<Vec<Held>> {
        let file = super::ways::write(setting, "samples.ndjson", "")?;
        let more = [more, &["--samples", &file]].concat();
        hold(setting, rows, limit, || {
            let words = self.arguments();
            let server = Known::start(program, setting.server_cpu, self.warmup_ms, &words)?;
            let task = Task {
                warmup_ms: self.warmup_ms,
                ..task(setting, &server, connections, setting.seconds * self.times)
            };
            let cpus = ["--cpus", &task.cpu.to_string()];
            trial_of(&setting.programs, &task, &cpus, &more)?;
            let samples = fs::read_to_string(&file).context("triathlon load kept no exchanges")?;
            Joined::read(&samples, &server.noted()?)
        })
    }
}

/// Asks that server for so many seconds.
fn task<'a>(setting: &Setting, server: &Known, connections: u32, seconds: u32) -> Task<'a> {
    let ask = Ask {
        connections,
        ..Ask::of("/")
    };
    Task {
        address: server.address,
        ask,
        seconds,
        warmup_ms: 4_000,
        cpu: setting.cpu,
    }
}
