//! Response times against those that a server noted itself, and capacities against one that follows
//! from a server's clock. The server is a program in C that shares nothing with us.

mod capacity;
mod known;
mod queue;
mod soak;

use anyhow::{Context as _, Result};
use serde_json::Value;

pub(super) use self::capacity::capacity;
use self::known::{Known, Noted};
pub(super) use self::soak::soak;
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
    rounds: u32,
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
        rounds: 5,
    },
    Law {
        name: "1 ms, 1 in 20 takes 20 ms",
        words: &["two", "1000", "20000", "50"],
        slots: 40,
        mean_us: 1_950.0,
        connections: 2_000,
        rounds: 5,
    },
    Law {
        name: "0.3 ms and more, heavy tail",
        words: &["pareto", "300", "1500"],
        slots: 20,
        // The mean of Pareto's distribution, cut off at 2 s.
        mean_us: 892.7,
        connections: 4_000,
        rounds: 5,
    },
    Law {
        name: "1 ms, stalls for 200 ms",
        words: &["stall", "1000", "10000", "200"],
        slots: 20,
        mean_us: 1_000.0,
        connections: 15_000,
        rounds: 10,
    },
];

/// The quantiles that are compared: their names in a trial, the share that is below, and by how
/// much they may differ beside what a machine's clocks and wake-ups take.
const QUANTILES: [(&str, f64, f64); 4] = [
    ("p50", 0.5, 0.01),
    ("p90", 0.9, 0.01),
    ("p99", 0.99, 0.01),
    ("p99_9", 0.999, 0.05),
];

/// Long enough for all connections to be made, in milliseconds: what waits for one is not known to
/// the server.
const WARMUP_MS: u32 = 4_000;

/// How the generator waits, and what its wake-ups may add, in microseconds.
const SPINS: [(&str, f64); 2] = [("always", 60.0), ("never", 120.0)];

/// What the generator measured: the trial that it wrote, and the number of the run.
struct Measured {
    trial: Value,
    number: usize,
}

/// The response times of all exchanges of the window, where they stand in a trial.
const RESPONSE_TIME: &str = "/record/response_time";

impl Measured {
    /// Its own verdict: valid, suspect or invalid.
    fn verdict(&self) -> &str {
        let status = self
            .trial
            .pointer("/verdict/status")
            .and_then(Value::as_str);
        status.unwrap_or_default()
    }

    /// The quantiles of the times that stand there, in microseconds; none where one is among those
    /// that got no answer.
    fn quantiles(&self, times: &str) -> Result<Vec<Option<f64>>> {
        let found = self.trial.pointer(times);
        let found = found.with_context(|| format!("the trial has no {times}"))?;
        let quantiles = QUANTILES.iter().map(|(name, ..)| found[*name].as_f64());
        Ok(quantiles.collect())
    }
}

/// What is counted of the runs of a table: all of them, and those that are valid.
#[derive(Default)]
struct Tally {
    quantiles: [u32; 2],
    beyond: [u32; 2],
}

pub(super) fn truth(setting: &Setting) -> Result<()> {
    let program = known::compile(&setting.site)?;
    begin();
    let mut tally = Tally::default();
    for law in &LAWS {
        for percent in [10, 50, 80] {
            let rate = format!("{:.0}", law.capacity() * f64::from(percent) / 100.0);
            for (spin, floor) in SPINS {
                let (measured, noted) = until_valid(setting, || {
                    let server = Known::start(&program, setting.server_cpu, &law.arguments())?;
                    let task = task(setting, &server, law.connections, law.rounds);
                    let more = ["-R", &rate, "--spin", spin];
                    Ok((measured(setting, &task, &more)?, server.noted()?))
                })?;
                print_start(law.name, law, percent, spin);
                tally.compare(&measured, RESPONSE_TIME, &noted.all, floor)?;
            }
        }
    }
    tally.print();
    Ok(())
}

/// Prints the head of a table.
fn begin() {
    println!(
        "  the server works on some requests at once: its capacity is their number by the mean of \
         its law, and shares of that are asked\n  each cell: what the server noted, in us, and \
         what the generator measured beyond it"
    );
    print!("  {:<28} {:>14} {:>7}", "", "share", "--spin");
    for (name, ..) in QUANTILES {
        print!(" {:>20}", name.replace('_', "."));
    }
    println!("  verdict");
}

/// Prints what a row is about.
fn print_start(about: &str, law: &Law, percent: u32, spin: &str) {
    let share = format!("{percent} % of {:.0}", law.capacity());
    print!("  {about:<28} {share:>14} {spin:>7}");
}

/// How users ask: the two requests of a visit, and how long they wait between and behind them.
struct Visit {
    name: &'static str,
    /// Whether they come at a rate, each for one visit, or stay.
    comes: bool,
}

const VISITS: [Visit; 2] = [
    Visit {
        name: "users who stay",
        comes: false,
    },
    Visit {
        name: "users who come at a rate",
        comes: true,
    },
];

impl Visit {
    /// The script of users who ask `rate` times per second together.
    fn script(&self, rate: f64) -> String {
        let come = match self.comes {
            true => format!("user_rate = {:.0}\n\n", rate / 2.0),
            false => String::new(),
        };
        let last = match self.comes {
            true => "",
            false => "\n[[step]]\nwait = \"exp:8ms\"\n",
        };
        format!(
            "{come}[[step]]\nget = \"/\"\n\n[[step]]\nwait = \"exp:8ms\"\n\n[[step]]\nname = \
             \"other\"\nget = \"/other\"\n{last}"
        )
    }

    /// How many there are, or how many places for those who come.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and some thousand"
    )]
    fn users(&self, rate: f64, law: &Law) -> u32 {
        match self.comes {
            true => law.connections,
            // A request and the wait behind it take 10 ms together.
            false => (rate / 100.0).clamp(1.0, 10_000.0) as u32,
        }
    }

    /// Where their connections come from. Each of those who come leaves a port that cannot be used
    /// again for a while: of one address there would soon be none left.
    const fn sources(&self) -> &'static [&'static str] {
        match self.comes {
            true => &["--interface", "127.2.0.0/20"],
            false => &[],
        }
    }

    /// What is held against what the server `noted`.
    ///
    /// Who stays has a connection before the window begins. Who comes makes one first, and what it
    /// asks first is due before that: the server knows of it when it was sent, and not before. What
    /// it asks after that is due when it has a connection.
    fn compared<'a>(&self, law: &Law, noted: &'a Noted) -> Vec<Compared<'a>> {
        if !self.comes {
            return vec![Compared {
                name: law.name,
                times: RESPONSE_TIME,
                noted: &noted.all,
                is_alike: true,
            }];
        }
        vec![
            Compared {
                name: "first request, from sent",
                times: "/record/classes/0/service_time",
                noted: &noted.first,
                is_alike: true,
            },
            Compared {
                name: "the same, from due",
                times: "/record/classes/0/response_time",
                noted: &noted.first,
                is_alike: false,
            },
            Compared {
                name: "second request, from due",
                times: "/record/classes/1/response_time",
                noted: &noted.later,
                is_alike: true,
            },
        ]
    }
}

/// Times of a trial and those that the server noted of the same exchanges.
struct Compared<'a> {
    /// What the row is called.
    name: &'static str,
    /// Where the times stand in a trial.
    times: &'static str,
    noted: &'a [u32],
    /// Whether both are from a request to its answer, so that they should be the same; else it is
    /// told how much is in one that is not in the other.
    is_alike: bool,
}

/// Users who follow a script and ask for shares of what the server gives: as many as that takes, or
/// as come for a visit.
pub(super) fn users(setting: &Setting) -> Result<()> {
    let program = known::compile(&setting.site)?;
    begin();
    println!(
        "  of users who come only like is compared with like: the connection that each makes first \
         is in its first\n  response time, and unknown to the server, so that row has no limits"
    );
    let mut tally = Tally::default();
    let law = &LAWS[1];
    for visit in &VISITS {
        println!("  {}", visit.name);
        for percent in [10, 50, 80] {
            let rate = law.capacity() * f64::from(percent) / 100.0;
            let script = super::ways::write(setting, "steps.toml", &visit.script(rate))?;
            for (spin, floor) in SPINS {
                let said = ["--script", &script, "--spin", spin];
                let more = [&said[..], visit.sources()].concat();
                let (measured, noted) = until_valid(setting, || {
                    let server = Known::start(&program, setting.server_cpu, &law.arguments())?;
                    let task = task(setting, &server, visit.users(rate, law), law.rounds);
                    Ok((measured(setting, &task, &more)?, server.noted()?))
                })?;
                for one in visit.compared(law, &noted) {
                    print_start(one.name, law, percent, spin);
                    if one.is_alike {
                        tally.compare(&measured, one.times, one.noted, floor)?;
                    } else {
                        let mut nobodys = Tally::default();
                        nobodys.compare(&measured, one.times, one.noted, f64::INFINITY)?;
                    }
                }
            }
        }
    }
    tally.print();
    Ok(())
}

fn task<'a>(setting: &Setting, server: &Known, connections: u32, rounds: u32) -> Task<'a> {
    let ask = Ask {
        connections,
        ..Ask::of("/")
    };
    Task {
        address: server.address,
        ask,
        seconds: setting.seconds * rounds,
        warmup_ms: WARMUP_MS,
        cpu: setting.cpu,
    }
}

/// Runs until a run is valid by its own verdict, at most once for each round: in the others the
/// machine took a CPU away, which is not what is asked here. Returns what the last one brought.
fn until_valid(
    setting: &Setting,
    mut run: impl FnMut() -> Result<(Measured, Noted)>,
) -> Result<(Measured, Noted)> {
    let mut number = 1;
    loop {
        let (mut measured, noted) = run()?;
        if measured.verdict() == "valid" || number >= setting.rounds {
            measured.number = number;
            return Ok((measured, noted));
        }
        number += 1;
    }
}

/// Lets the generator measure.
fn measured(setting: &Setting, task: &Task<'_>, more: &[&str]) -> Result<Measured> {
    let cpus = ["--cpus", &task.cpu.to_string()];
    let trial = trial_of(&setting.programs, task, &cpus, more)?;
    let trial = serde_json::from_str(&trial).context("the trial is no JSON")?;
    Ok(Measured { trial, number: 1 })
}

impl Tally {
    /// How many differ.
    fn print(&self) {
        println!(
            "  {} of {} quantiles differ by more than 1 % (5 % above p99) and by more than 60 us \
             (spinning) or 120 us (asleep): those with a !; of runs that are valid by their own \
             verdict, {} of {}",
            self.beyond[0], self.quantiles[0], self.beyond[1], self.quantiles[1]
        );
    }

    /// Prints the times of one run that stand there: their quantiles against what the server
    /// `noted`, in nanoseconds and in order.
    fn compare(
        &mut self,
        measured: &Measured,
        times: &str,
        noted: &[u32],
        floor: f64,
    ) -> Result<()> {
        let verdict = measured.verdict();
        let counted = if verdict == "valid" { 0..2 } else { 0..1 };
        let quantiles = measured.quantiles(times)?;
        for (&(_, share, relative), measured) in QUANTILES.iter().zip(&quantiles) {
            let truth = f64::from(quantile(noted, share)) / 1e3;
            let Some(measured) = measured else {
                print!(" {:>20}", format!("{truth:.0} no answer "));
                continue;
            };
            let beyond = measured - truth;
            let is_beyond = beyond.abs() > floor && beyond.abs() > truth * relative;
            let mark = if is_beyond { "!" } else { " " };
            print!(" {:>20}", format!("{truth:.0} {beyond:+.1}{mark}"));
            for which in counted.clone() {
                self.quantiles[which] += 1;
                self.beyond[which] += u32::from(is_beyond);
            }
        }
        println!("  {verdict}, run {}", measured.number);
        Ok(())
    }
}

/// The smallest of `sorted` that at least that share of them does not exceed.
fn quantile(sorted: &[u32], share: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "some million answers"
    )]
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let place = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let sorted: Vec<u32> = (1..=1_000).collect();
        let check = |share: f64, expected: u32| assert_eq!(quantile(&sorted, share), expected);
        check(0.5, 500);
        check(0.99, 990);
        check(0.999, 999);
        check(1.0, 1_000);
        assert_eq!(quantile(&[7], 0.001), 7);
        assert_eq!(quantile(&[], 0.5), 0);
    }

    #[test]
    fn times_are_read_where_they_stand() {
        let trial = r#"{"verdict":{"status":"suspect"},"record":{"response_time":{"p50":1.5},
            "classes":[{"service_time":{"p50":2.5,"p90":3.0,"p99":null}}]}}"#;
        let measured = Measured {
            trial: serde_json::from_str(trial).unwrap(),
            number: 1,
        };
        assert_eq!(measured.verdict(), "suspect");
        let read = |times| format!("{:?}", measured.quantiles(times).unwrap());
        assert_eq!(read(RESPONSE_TIME), "[Some(1.5), None, None, None]");
        let first = "/record/classes/0/service_time";
        assert_eq!(read(first), "[Some(2.5), Some(3.0), None, None]");
        assert!(
            measured
                .quantiles("/record/classes/1/service_time")
                .is_err()
        );
    }

    #[test]
    fn what_is_limited_is_like_what_the_server_noted() {
        let noted = Noted {
            answered: 3,
            all: vec![1, 2, 3],
            first: vec![1],
            later: vec![2, 3],
        };
        let compared = |visit: &Visit| -> Vec<(&str, usize)> {
            let all = visit.compared(&LAWS[1], &noted);
            let alike = all.iter().filter(|one| one.is_alike);
            alike.map(|one| (one.times, one.noted.len())).collect()
        };
        assert_eq!(compared(&VISITS[0]), [(RESPONSE_TIME, 3)]);
        let of_each = [
            ("/record/classes/0/service_time", 1),
            ("/record/classes/1/response_time", 2),
        ];
        assert_eq!(compared(&VISITS[1]), of_each);
    }
}
