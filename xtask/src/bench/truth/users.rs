//! The same of users who follow a script.

use anyhow::Result;

use super::held::{Compared, Since, Tally, Which, begin};
use super::{LAWS, Law, PERCENT, SPINS, known, print};
use crate::bench::Setting;
use crate::bench::ways::write;

/// How users ask: the two requests of a visit, and how long they wait between and behind them.
struct Visit {
    /// Whether they come at a rate, each for one visit, or stay.
    comes: bool,
}

const STAY: Visit = Visit { comes: false };
const COME: Visit = Visit { comes: true };

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

    /// What is held against what the server noted.
    ///
    /// Who stays has a connection before the window begins. Who comes makes one first, and what it
    /// asks first is due before that: the server knows of it when it was sent, and not before. What
    /// it asks after that is due when it has a connection.
    fn rows(&self, law: &Law) -> Vec<Compared> {
        if !self.comes {
            return vec![law.row()];
        }
        let row = |name, which, from, is_alike| Compared {
            name,
            which,
            from,
            is_alike,
        };
        vec![
            row("first request, from sent", Which::First, Since::Sent, true),
            row("the same, from due", Which::First, Since::Due, false),
            row("second request, from due", Which::Later, Since::Due, true),
        ]
    }
}

/// Users who follow a script and stay, as many as ask for shares of what the server gives.
pub(in crate::bench) fn users_who_stay(setting: &Setting) -> Result<()> {
    users(setting, &STAY)
}

/// Users who come for a visit, as many as ask for such shares.
pub(in crate::bench) fn users_who_come(setting: &Setting) -> Result<()> {
    println!(
        "  only like is compared with like: the connection that each makes first is in its first \
         response time, and\n  unknown to the server, so that row has no limits"
    );
    users(setting, &COME)
}

fn users(setting: &Setting, visit: &Visit) -> Result<()> {
    let program = known::compile(&setting.site)?;
    begin(setting);
    let mut tally = Tally::default();
    let law = &LAWS[1];
    let rows = visit.rows(law);
    for percent in PERCENT {
        let rate = law.capacity() * f64::from(percent) / 100.0;
        let script = write(setting, "steps.toml", &visit.script(rate))?;
        for (spin, floor) in SPINS {
            let said = ["--script", &script, "--spin", spin];
            let more = [&said[..], visit.sources()].concat();
            let places = (visit.users(rate, law), floor);
            let held = law.hold(setting, &program, places, &more, &rows)?;
            for (row, held) in rows.iter().zip(&held) {
                print(&mut tally, row, held, (law, percent, spin, floor));
            }
        }
    }
    tally.end();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_limited_is_like_what_the_server_noted() {
        let limited = |visit: &Visit| -> Vec<(Which, Since)> {
            let rows = visit.rows(&LAWS[1]);
            let alike = rows.iter().filter(|row| row.is_alike);
            alike.map(|row| (row.which, row.from)).collect()
        };
        assert_eq!(limited(&STAY), [(Which::All, Since::Due)]);
        let of_each = [(Which::First, Since::Sent), (Which::Later, Since::Due)];
        assert_eq!(limited(&COME), of_each);
    }
}
