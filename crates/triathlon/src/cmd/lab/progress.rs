//! Progress on stderr: one line that is rewritten at a terminal, a line for each block elsewhere.

use lab::capacity::Made;
use lab::execution::{CEILING, News};
use model::Span;
use model::experiment::Gap;
use model::trial::Waited;
use verdict::words;

use crate::out;

/// What is left below this is not worth a word.
const SHORT: Span = Span::from_s(1);

/// Where progress is shown.
pub(super) struct Screen {
    live: bool,
    left: Option<Span>,
    block: String,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self {
            live: out::draws(),
            left: None,
            block: String::new(),
        }
    }

    pub(super) fn show(&mut self, news: &News<'_>) {
        match news {
            News::Verified { server, version } => {
                self.line(&format!("{server:<16} answers correctly ({version})"));
            }
            News::Gap(gap) => {
                self.line(&not_measured(gap));
            }
            News::Block {
                round,
                rounds,
                attempt,
                servers,
                trials,
            } => {
                self.block = block(*round, *rounds, servers);
                if *attempt > 0 {
                    let trials = words::plural(*trials as u64, "trial");
                    self.block
                        .push_str(&format!(": {trials} again, as something disturbed them"));
                }
                if self.live {
                    self.rewrite(&self.block);
                } else {
                    let left = self
                        .left
                        .filter(|left| *left >= SHORT)
                        .map_or_else(String::new, |left| format!(", {} left", left.people()));
                    out::note(format_args!("{}{left}", self.block));
                }
            }
            News::Warm { server, warming } => {
                self.line(&format!("{server:<16} was warmed up for {warming}"));
            }
            News::Cut { trials } => self.line(&measured_again(*trials)),
            News::Restless(waited) => self.line(&restless(waited)),
            News::Probe { server, made } => {
                if self.live {
                    self.rewrite(&format!("{}: {server} {}", self.block, probe(made)));
                }
            }
            News::Trial {
                trial,
                done,
                all,
                is_void,
                left,
            } => {
                self.left = Some(*left);
                if let (true, Some(point)) = (self.live, &trial.point) {
                    self.rewrite(&format!(
                        "{}: {}, {}, {}: {:.0}/s, {} ({done} of {all}{})",
                        self.block,
                        point.id.server,
                        point.id.workload,
                        point.id.load.text(),
                        trial.record.achieved_rate,
                        if *is_void {
                            "disturbed".to_owned()
                        } else {
                            trial.verdict.status.to_string()
                        },
                        match *left >= SHORT {
                            true => format!(", {} left", left.people()),
                            false => String::new(),
                        }
                    ));
                }
            }
        }
    }

    /// Leaves the terminal with a clean line.
    pub(super) fn end(&self) {
        if self.live {
            self.rewrite("");
        }
    }

    fn line(&self, text: &str) {
        if self.live {
            self.rewrite("");
        }
        out::note(text);
    }

    fn rewrite(&self, text: &str) {
        out::progress(format_args!("\r\x1b[2K{text}"));
    }
}

/// What is measured again because something beside it is missing.
fn measured_again(trials: usize) -> String {
    let (are, them, ones) = match trials {
        1 => ("is", "it", "one is"),
        _ => ("are", "them", "ones are"),
    };
    let trials = words::plural(trials as u64, "trial");
    format!(
        "{trials} of an earlier start {are} measured again if what is missing beside {them} can be \
         measured now; the earlier {ones} kept in interrupted/"
    )
}

/// What the machine still had to do when a trial began.
fn restless(waited: &Waited) -> String {
    let left = waited.left.join("; ");
    let took = waited.took;
    format!("the machine did not settle within {took}: {left}")
}

/// A trial of a search, and what came of it.
fn probe(made: &Made) -> String {
    let rate = words::rate(made.rate.as_per_second_f64());
    format!("at {rate}/s: {}", made.came.words())
}

/// What could not be measured.
fn not_measured(gap: &Gap) -> String {
    let mut place = gap.server.clone();
    if let Some(round) = gap.round {
        place.push_str(&format!(", round {round}"));
    }
    let remedy = gap.remedy.as_deref();
    let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
    format!("not measured: {place}: {}{remedy}", gap.error)
}

/// Which round it is.
fn block(round: u32, rounds: u32, servers: &[&str]) -> String {
    let servers = who(servers);
    if round > rounds {
        let number = round - rounds;
        format!("spare round {number}{servers}, for rounds that do not count")
    } else {
        format!("round {round} of {rounds}{servers}")
    }
}

/// Who runs alone; of several their number is enough, as each trial names its own.
fn who(servers: &[&str]) -> String {
    match servers {
        [one] if *one == CEILING => ": the generator's ceiling".to_owned(),
        [one] => format!(": {one}"),
        several => format!(": {} servers in turn", several.len()),
    }
}
