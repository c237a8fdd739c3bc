//! Response times against those that a server noted itself, and capacities against one that follows
//! from a server's clock. The server is a program in C that shares nothing with us.

mod known;
mod queue;
mod soak;

use anyhow::{Context as _, Result};

use self::known::Known;
pub(super) use self::soak::soak;
use super::Setting;
use super::generator::{Ask, Task, number_after, trial_of};

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

/// What the generator measured.
struct Measured {
    /// The quantiles of response times, in microseconds; none where one is among those that got no
    /// answer.
    quantiles: Vec<Option<f64>>,
    /// Its own verdict: valid, suspect or invalid.
    verdict: String,
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
                let server = Known::start(&program, setting.server_cpu, &law.arguments())?;
                let task = task(setting, &server, law.connections, law.rounds);
                let more = ["-R", &rate, "--spin", spin];
                let measured = measured(setting, &task, &more)?;
                print_start(law, percent, spin);
                tally.compare(&measured, &server.noted()?.1, floor);
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
fn print_start(law: &Law, percent: u32, spin: &str) {
    let share = format!("{percent} % of {:.0}", law.capacity());
    print!("  {:<28} {share:>14} {spin:>7}", law.name);
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
}

/// Users who follow a script and ask for shares of what the server gives: as many as that takes, or
/// as come for a visit. Whoever comes makes a connection first, of which the server does not know.
pub(super) fn users(setting: &Setting) -> Result<()> {
    let program = known::compile(&setting.site)?;
    begin();
    let mut tally = Tally::default();
    let law = &LAWS[1];
    for visit in &VISITS {
        println!("  {}", visit.name);
        for percent in [10, 50, 80] {
            let rate = law.capacity() * f64::from(percent) / 100.0;
            let script = super::ways::write(setting, "steps.toml", &visit.script(rate))?;
            for (spin, floor) in SPINS {
                let server = Known::start(&program, setting.server_cpu, &law.arguments())?;
                let task = task(setting, &server, visit.users(rate, law), law.rounds);
                let measured = measured(setting, &task, &["--script", &script, "--spin", spin])?;
                print_start(law, percent, spin);
                tally.compare(&measured, &server.noted()?.1, floor);
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

/// Lets the generator measure.
fn measured(setting: &Setting, task: &Task<'_>, more: &[&str]) -> Result<Measured> {
    let cpus = ["--cpus", &task.cpu.to_string()];
    let trial = trial_of(&setting.programs, task, &cpus, more)?;
    let times = trial
        .find("\"achieved_rate\"")
        .and_then(|from| trial[from..].split_once("\"response_time\":"));
    let (_, times) = times.context("the trial has no response times")?;
    let of = |(name, ..): &(&str, f64, f64)| number_after(times, &[&format!("\"{name}\":")]);
    let quantiles = QUANTILES.iter().map(of).collect();
    let status = trial
        .split_once("\"verdict\"")
        .and_then(|(_, verdict)| verdict.split_once("\"status\":"));
    let (_, status) = status.context("the trial has no verdict")?;
    Ok(Measured {
        quantiles,
        verdict: status.split('"').nth(1).unwrap_or_default().to_owned(),
    })
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

    /// Prints one run: its measured quantiles against what the server `noted`, in nanoseconds and
    /// in order.
    fn compare(&mut self, measured: &Measured, noted: &[u32], floor: f64) {
        let counted = if measured.verdict == "valid" {
            0..2
        } else {
            0..1
        };
        for (&(_, share, relative), measured) in QUANTILES.iter().zip(&measured.quantiles) {
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
        println!("  {}", measured.verdict);
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

/// What the server that gives one answer after the other gives per second.
const PACE: f64 = 2_000.0;
/// The longest that 99 % of the answers may take, in seconds.
const LIMIT: f64 = 0.01;
/// How long a trial of a search lasts in seconds: as long as by default, or as in a quick run.
const TRIALS: [u32; 2] = [20, 4];

pub(super) fn capacity(setting: &Setting) -> Result<()> {
    let program = known::compile(&setting.site)?;
    let seconds = TRIALS[usize::from(setting.seconds == 1)];
    println!(
        "  p(99) < 10 ms, from a server that gives {PACE:.0} answers/s one after the other; trials \
         of {seconds} s"
    );
    println!("  {:<28} {:>9} {:>20}", "arrivals", "computed", "found");
    let even = (
        PACE * (1.0 + (LIMIT - 1.0 / PACE) / (0.99 * f64::from(seconds))),
        "evenly",
    );
    let poisson = (queue::highest_rate(PACE, LIMIT, 0.99), "Poisson");
    for (computed, name) in [even, poisson] {
        let pace = format!("{PACE:.0}");
        let server = Known::start(&program, setting.server_cpu, &["paced".to_owned(), pace])?;
        let task = Task {
            seconds,
            ..task(setting, &server, 200, 1)
        };
        let poisson = (name == "Poisson").then_some("--poisson");
        let mut more = vec!["--capacity", "p(99)<10ms"];
        more.extend(poisson);
        let cpus = ["--cpus", &task.cpu.to_string()];
        let found = trial_of(&setting.programs, &task, &cpus, &more)?;
        let rate = |key: &str| number_after(&found, &["\"answer\"", key]).map(|rate| rate / 1e3);
        let bounds = (rate("\"lower_per_1000_s\":"), rate("\"upper_per_1000_s\":"));
        let (Some(lower), Some(upper)) = bounds else {
            println!("  {name:<28} {computed:>9.0} no interval: {found}");
            continue;
        };
        let off = (f64::midpoint(lower, upper) / computed - 1.0) * 100.0;
        let found = format!("{lower:.0} to {upper:.0}");
        let met = if off.abs() <= 2.0 { "met" } else { "NOT met" };
        println!("  {name:<28} {computed:>9.0} {found:>20}  {off:+.2} %, at most 2 %: {met}");
    }
    Ok(())
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
}
