//! A run as it goes on, for whoever watches at a terminal: some lines that are drawn anew with each
//! interval and are gone at the end.
//!
//! The result has all of it, and more exactly. The lines are on standard error, so that what is
//! measured can go elsewhere.

use std::collections::VecDeque;

use fleet::Interval;
use load::Notice;
use load::progress::Published;
use model::event::Phase;
use model::plan::{Plan, PlanFile, Stop};
use model::units::{Instant, Span};
use sys::clock;

use super::output::rate;
use crate::out;

/// The most intervals that a line shows.
const PAST: usize = 120;
/// Where values begin, and where their pictures do.
const COLUMNS: [usize; 2] = [12, 30];
/// Of a terminal that does not say how large it is: columns and rows.
const SIZE: [usize; 2] = [80, 24];
/// From low to high.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The lines, and what they are made of.
#[derive(Debug)]
pub(super) struct View {
    stop: Stop,
    /// Threads that make the load in this process; none where others make it.
    workers: Option<u32>,
    width: usize,
    height: usize,
    /// The terminal shows more than ASCII.
    has_pictures: bool,
    phase: Phase,
    past: VecDeque<Past>,
    end: Span,
    right: u64,
    failed: u64,
    connections: u64,
    /// Where agents make the load, those that told nothing of the last interval.
    missing: Option<Vec<String>>,
    /// When the CPU time was read last, and what it was.
    cpu: Option<(Instant, Span)>,
    /// Of the workers' CPUs, in the last interval.
    busy: Option<f64>,
    /// So many lines stand there.
    drawn: usize,
}

/// One interval.
#[derive(Clone, Copy, Debug)]
struct Past {
    /// None where not all of it was told.
    rate: Option<f64>,
    median: Option<Span>,
    p99: Option<Span>,
}

impl View {
    /// Of a run of `plan`, if somebody watches.
    pub(super) fn new(plan: &Plan) -> Option<Self> {
        let is_here = || load::divide(plan).is_ok_and(|parts| parts.len() == 1);
        let file = plan.file();
        Self::at_terminal(file.stop, || is_here().then_some(file.workers))
    }

    /// Of a run of `plan` by agents, if somebody watches.
    pub(super) fn of_agents(plan: &PlanFile) -> Option<Self> {
        let view = Self::at_terminal(plan.stop, || None)?;
        Some(Self {
            missing: Some(Vec::new()),
            ..view
        })
    }

    fn at_terminal(stop: Stop, workers: impl FnOnce() -> Option<u32>) -> Option<Self> {
        if !out::draws() {
            return None;
        }
        Some(Self::with(stop, workers(), SIZE, speaks_utf8()))
    }

    fn with(
        stop: Stop,
        workers: Option<u32>,
        [width, height]: [usize; 2],
        has_pictures: bool,
    ) -> Self {
        Self {
            stop,
            workers,
            width,
            height,
            has_pictures,
            phase: Phase::Reference,
            past: VecDeque::with_capacity(PAST),
            end: Span::ZERO,
            right: 0,
            failed: 0,
            connections: 0,
            missing: None,
            cpu: None,
            busy: None,
            drawn: 0,
        }
    }

    /// Something happened during the run.
    pub(super) fn notice(&mut self, notice: &Notice) {
        let cpu = clock::process_cpu().unwrap_or_default();
        self.hear(notice, clock::monotonic(), cpu);
        self.show();
    }

    /// Agents are in this phase.
    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.show();
    }

    /// Agents told of an interval.
    pub(super) fn hear_agents(&mut self, interval: &Interval) {
        self.add_agents(interval);
        self.show();
    }

    /// Draws what fits the terminal as large as it is now.
    fn show(&mut self) {
        if let Some((columns, rows)) = terminal_size::terminal_size_of(std::io::stderr()) {
            self.width = usize::from(columns.0);
            self.height = usize::from(rows.0);
        }
        out::progress(self.draw());
    }

    /// Says `text` above the lines, where it stays.
    pub(super) fn say(&mut self, text: &str) {
        out::progress(self.above(text));
    }

    fn above(&mut self, text: &str) -> String {
        let erased = self.erase();
        format!("{erased}{text}\n{}", self.draw())
    }

    fn add_agents(&mut self, interval: &Interval) {
        // A load of a count has no other sign of it.
        self.phase = self.phase.max(Phase::Measurement);
        let is_whole = interval.missing.is_empty();
        self.push(Past {
            rate: is_whole.then(|| rate(interval.right, interval.length)),
            median: None,
            p99: interval.response_time_p99_at_most,
        });
        self.end = interval.start + interval.length;
        self.right += interval.right;
        self.failed += interval.failed;
        self.connections = interval.connections;
        let names = interval.missing.iter().map(ToString::to_string);
        self.missing = Some(names.collect());
    }

    /// The same at `now`, when this process has used so much CPU time.
    fn hear(&mut self, notice: &Notice, now: Instant, cpu: Span) {
        match notice {
            Notice::Phase(phase, _) => {
                self.phase = *phase;
                self.cpu = Some((now, cpu));
            }
            Notice::Interval(interval) => {
                self.add(interval);
                let before = self.cpu.replace((now, cpu));
                self.busy = before.zip(self.workers).map(|((then, used), workers)| {
                    let could = now.saturating_since(then).as_s_f64() * f64::from(workers);
                    let did = Span::from_ns(cpu.as_ns().saturating_sub(used.as_ns()));
                    (did.as_s_f64() / could.max(1e-9)).min(1.0)
                });
            }
        }
    }

    fn add(&mut self, interval: &Published) {
        let quantile = |q| interval.response_time.quantile(q);
        self.push(Past {
            rate: Some(rate(interval.ok, interval.length)),
            median: quantile(0.5),
            p99: quantile(0.99),
        });
        self.end = interval.start + interval.length;
        self.right += interval.ok;
        self.failed += interval.failures;
        self.connections = interval.connections;
    }

    fn push(&mut self, past: Past) {
        if self.past.len() == PAST {
            self.past.pop_front();
        }
        self.past.push_back(past);
    }

    /// What takes the place of the lines that stand there.
    fn draw(&mut self) -> String {
        let lines = match self.phase {
            Phase::Done => Vec::new(),
            _ => self.lines(),
        };
        let erased = self.erase();
        self.drawn = lines.len();
        erased + &lines.join("\n")
    }

    /// What takes the lines away that stand there.
    fn erase(&mut self) -> String {
        let up = match std::mem::take(&mut self.drawn) {
            0 | 1 => String::new(),
            lines => format!("\x1b[{}A", lines - 1),
        };
        format!("\r{up}\x1b[J")
    }

    /// As many as the terminal has rows for, each of which fits its width.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.head()];
        if let Some(last) = self.past.back() {
            let time = |time: Option<Span>| time.map_or_else(|| "-".to_owned(), |t| t.to_string());
            let past = || self.past.iter();
            let ns = |time: Option<Span>| time.map(Span::as_us_f64);
            let rate = last
                .rate
                .map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
            lines.push(self.line("right per s", &rate, past().map(|one| one.rate)));
            // No median of several machines follows from theirs.
            let p99 = match &self.missing {
                Some(_) => "p99 at most",
                None => {
                    let medians = past().map(|one| ns(one.median));
                    lines.push(self.line("median", &time(last.median), medians));
                    "p99"
                }
            };
            lines.push(self.line(p99, &time(last.p99), past().map(|one| ns(one.p99))));
            let of = format!("{} of {}", self.failed, self.failed + self.right);
            let over = format!("{of}, over {} connections", self.connections);
            lines.push(self.fitting("failed", &[over, of, self.failed.to_string()]));
            if let Some(missing) = self.missing.as_ref().filter(|names| !names.is_empty()) {
                let count = format!("{} agents", missing.len());
                lines.push(self.fitting("missing", &[missing.join(", "), count]));
            }
            lines.push(self.headroom());
        }
        lines.into_iter().flatten().take(self.height).collect()
    }

    /// `name` and the first of `told`, from long to short, that fits the width. None where none
    /// does: half a number reads as another one.
    fn fitting(&self, name: &str, told: &[String]) -> Option<String> {
        let first = COLUMNS[0];
        let mut lines = told.iter().map(|told| format!("{name:<first$}{told}"));
        lines.find(|line| line.chars().count() < self.width)
    }

    /// The phase, and how far it is.
    fn head(&self) -> Option<String> {
        let Phase::Measurement = self.phase else {
            let line = format!("{:?} ...", self.phase);
            return Some(line.chars().take(self.width.saturating_sub(1)).collect());
        };
        let (done, now, all) = match self.stop {
            Stop::DurationNs(window) => (
                self.end.as_s_f64() / window.as_s_f64().max(1e-9),
                self.end.to_string(),
                window.to_string(),
            ),
            Stop::Count(count) => {
                let ended = self.right + self.failed;
                #[expect(clippy::cast_precision_loss, reason = "a picture")]
                let done = ended as f64 / count.max(1) as f64;
                (done, ended.to_string(), count.to_string())
            }
        };
        let head = self.fitting("measuring", &[format!("{now} of {all}"), now])?;
        let room = self.width.saturating_sub(COLUMNS[1] + 1);
        if !self.has_pictures || head.chars().count() >= COLUMNS[1] || room < LEVELS.len() {
            return Some(head);
        }
        let full = (0..room).filter(|cell| (index(*cell) + 0.5) / index(room) < done);
        let full = full.count();
        let (full, rest) = ("█".repeat(full), "░".repeat(room - full));
        Some(format!("{head:<0$}{full}{rest}", COLUMNS[1]))
    }

    /// A value with those before it as a picture, from 0 to the highest of them.
    fn line(
        &self,
        name: &str,
        value: &str,
        past: impl DoubleEndedIterator<Item = Option<f64>>,
    ) -> Option<String> {
        let second = COLUMNS[1];
        let line = self.fitting(name, &[value.to_owned()])?;
        if !self.has_pictures || line.chars().count() >= second {
            return Some(line);
        }
        let room = self.width.saturating_sub(second + 1);
        let mut shown: Vec<Option<f64>> = past.rev().take(room).collect();
        shown.reverse();
        let most = shown.iter().flatten().copied().fold(0.0, f64::max);
        let level = |value: f64| {
            let at_most = |level: &usize| value <= most * index(level + 1) / index(LEVELS.len());
            let level = (0..LEVELS.len()).find(at_most);
            LEVELS[level.unwrap_or(LEVELS.len() - 1)]
        };
        let picture: String = shown.iter().map(|value| value.map_or(' ', level)).collect();
        let line = format!("{line:<second$}{picture}");
        Some(line.trim_end().to_owned())
    }

    /// What the generator has left of its CPUs: without it, what is measured is the generator.
    fn headroom(&self) -> Option<String> {
        let left = format!("{:.0} %", (1.0 - self.busy?) * 100.0);
        let of = format!("{left} of the generator's CPUs");
        self.fitting("headroom", &[of, left])
    }
}

#[expect(clippy::cast_precision_loss, reason = "a position on a screen")]
const fn index(position: usize) -> f64 {
    position as f64
}

/// Whether the terminal says so, as locale(7) has it: the first of these that is set decides.
fn speaks_utf8() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).unwrap_or_default());
    let first = set.iter().find(|value| !value.is_empty());
    let first = first.map(|value| value.to_ascii_lowercase().replace('-', ""));
    first.is_some_and(|value| value.contains("utf8"))
}

#[cfg(test)]
mod tests {
    use model::distribution::{Distribution, Shape};

    use super::*;

    fn interval(second: u64, ok: u64, failures: u64) -> Notice {
        let mut response_time = Distribution::new(Shape::INTERVAL);
        response_time.record_n(Span::from_us(100 * (second + 1)), ok);
        Notice::Interval(Published {
            start: Span::from_s(second),
            length: Span::from_s(1),
            ok,
            failures,
            connections: 64,
            response_time,
            counts: None,
        })
    }

    /// A run of ten seconds by two threads, each busy for three quarters of the time.
    fn after(view: &mut View, seconds: u64) -> Vec<String> {
        let at = |second| Instant::from_ns(second * 1_000_000_000);
        let cpu = |second| Span::from_ms(second * 1_500);
        view.hear(&Notice::Phase(Phase::Measurement, at(0)), at(0), cpu(0));
        for second in 0..seconds {
            let notice = interval(second, 1_000 * (second % 4), second);
            view.hear(&notice, at(second + 1), cpu(second + 1));
        }
        view.lines()
    }

    fn ten_seconds(width: usize, has_pictures: bool) -> View {
        let stop = Stop::DurationNs(Span::from_s(10));
        View::with(stop, Some(2), [width, 24], has_pictures)
    }

    #[test]
    fn what_happens_is_drawn() {
        let mut view = ten_seconds(60, true);
        insta::assert_snapshot!(after(&mut view, 5).join("\n"));
        assert!(view.lines().iter().all(|line| line.chars().count() < 60));
    }

    #[test]
    fn a_narrow_terminal_and_one_of_ascii_have_numbers() {
        let mut plain = ten_seconds(60, false);
        let lines = after(&mut plain, 5);
        assert!(lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
        assert_eq!(lines[0], "measuring   5.00 s of 10.0 s");
        assert_eq!(lines[1], "right per s 0");
    }

    /// What has no room is left out as a whole: half a number would read as another one.
    #[test]
    fn a_small_terminal_shows_whole_numbers_or_none() {
        let shown = |width: usize, height: usize| {
            let mut view = View::with(Stop::Count(1_234_567), Some(2), [width, height], true);
            after(&mut view, 5);
            view.right = 1_234_000;
            view.lines()
        };
        let expected = [
            "measuring   1234010",
            "right per s 0",
            "median      -",
            "p99         -",
            "failed      10 of 1234010",
            "headroom    25 %",
        ];
        assert_eq!(shown(26, 8), expected);
        assert_eq!(shown(26, 3), expected[..3]);
        assert_eq!(shown(25, 8)[4], "failed      10");
        let fewer = ["right per s 0", "median      -", "p99         -"];
        assert_eq!(shown(14, 8), fewer);
        for width in 0..100 {
            for height in 0..10 {
                let lines = shown(width, height);
                assert!(lines.len() <= height, "{width} x {height}: {lines:#?}");
                let fits = |line: &String| line.chars().count() < width;
                assert!(lines.iter().all(fits), "{width} x {height}: {lines:#?}");
            }
        }
    }

    /// Each drawing covers the one before, and the last leaves nothing.
    #[test]
    fn lines_are_drawn_over_each_other() {
        let mut view = ten_seconds(60, true);
        after(&mut view, 1);
        let first = view.draw();
        assert!(first.starts_with("\r\x1b[Jmeasuring"), "{first:?}");
        let again = view.draw();
        assert!(again.starts_with("\r\x1b[5A\x1b[Jmeasuring"), "{again:?}");
        view.hear(
            &Notice::Phase(Phase::Done, Instant::ZERO),
            Instant::ZERO,
            Span::ZERO,
        );
        assert_eq!(view.draw(), "\r\x1b[5A\x1b[J");
        assert_eq!(view.draw(), "\r\x1b[J");
    }

    /// What two agents told of so many seconds of ten, of the last without one of them.
    #[test]
    fn what_is_said_stays_above_the_lines() {
        let mut view = ten_seconds(60, true);
        after(&mut view, 5);
        view.draw();
        let count = view.drawn;
        assert!(count > 1);
        let said = view.above("the connection is lost");
        let up = format!(
            "\r\x1b[{}A\x1b[Jthe connection is lost\n\r\x1b[J",
            count - 1
        );
        assert!(said.starts_with(&up), "{said:?}");
        assert_eq!(view.drawn, count);
    }

    #[test]
    fn what_agents_tell_is_drawn_and_so_is_who_is_missing() {
        let mut view = ten_seconds(60, true);
        view.missing = Some(Vec::new());
        view.workers = None;
        let mut tell = |second: u64, missing: &[&str]| {
            view.add_agents(&Interval {
                start: Span::from_s(second),
                length: Span::from_s(1),
                right: 1_000 * (second + 1),
                failed: second,
                connections: 64,
                bytes_received: model::Bytes::new(7),
                response_time_p99_at_most: Some(Span::from_us(100 * (second + 1))),
                missing: missing.iter().map(|name| name.parse().unwrap()).collect(),
            });
            view.lines().join("\n")
        };
        tell(0, &[]);
        let whole = tell(1, &[]);
        assert!(whole.contains("right per s 2000"), "{whole}");
        assert!(!whole.contains("missing"), "{whole}");
        tell(2, &["gen2"]);
        insta::assert_snapshot!(tell(3, &["gen1", "gen2"]));
        let again = tell(4, &[]);
        assert!(!again.contains("missing"), "{again}");
    }

    #[test]
    fn a_run_of_a_count_says_how_many_there_were() {
        let mut view = View::with(Stop::Count(10_000), None, [60, 24], false);
        let lines = after(&mut view, 4);
        assert_eq!(lines[0], "measuring   6006 of 10000");
        assert_eq!(lines[4], "failed      6 of 6006, over 64 connections");
    }
}
