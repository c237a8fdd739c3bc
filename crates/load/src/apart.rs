//! Runs with authors, on a thread of their own.
//!
//! An author that never returns keeps its worker for ever: LuaJIT calls no hook from a loop that it
//! has compiled, an error raised by one may not pass through frames of ours, and a thread cannot be
//! ended from outside. So whoever waits for such a run leaves it behind, with the threads that do
//! not return and what these have measured, and takes what the others have measured.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use model::plan::{Plan, Stop};
use model::record::Record;
use model::units::{Instant, Span};

use crate::author::{Asked, Seat};
use crate::observer::LOOK;
use crate::run::{LoadError, Notice, run_whole};

/// An author that has been at one call for so long does not return.
const STUCK: Span = Span::from_s(1);

/// What the thread of a run says.
#[derive(Debug)]
pub(crate) enum Said {
    Notice(Notice),
    /// The run is over, or was left behind: nobody listens to what is said after that.
    Over(Box<Result<Record, LoadError>>),
}

/// Makes the load of `plan` with an author for each worker: `notice` is called on this thread.
pub(crate) fn run(
    plan: &Plan,
    seats: Vec<Seat>,
    stop: &Arc<AtomicBool>,
    notice: &mut dyn FnMut(Option<Notice>),
) -> Result<Record, LoadError> {
    let (say, said) = channel();
    let (plan, stop) = (plan.clone(), Arc::clone(stop));
    thread::spawn(move || {
        let leave = Some(say.clone());
        let made = run_whole(&plan, (seats, leave), &stop, &mut |notice| {
            if let Some(notice) = notice {
                let _unheard = say.send(Said::Notice(notice));
            }
        });
        let _unheard = say.send(Said::Over(Box::new(made)));
    });
    loop {
        match said.recv_timeout(LOOK) {
            Ok(Said::Notice(one)) => notice(Some(one)),
            Ok(Said::Over(made)) => return *made,
            Err(RecvTimeoutError::Timeout) => notice(None),
            Err(RecvTimeoutError::Disconnected) => unreachable!("a run does not panic"),
        }
    }
}

/// Watches whether authors return.
#[derive(Debug)]
pub(crate) struct Patience<'a> {
    /// Of each worker: its author, the last call that was seen there, and since when.
    calls: Vec<(&'a Asked, u64, Instant)>,
    /// When the last exchange of the run ends at the latest, if its time ends it.
    end: Instant,
}

impl<'a> Patience<'a> {
    /// For a run of `plan` that begins at `start`.
    pub(crate) fn new(plan: &Plan, start: Instant, authors: &'a [Arc<Asked>]) -> Self {
        let file = plan.file();
        let calls = authors.iter().map(|asked| (&**asked, 0, start));
        Self {
            calls: calls.collect(),
            end: match file.stop {
                Stop::DurationNs(span) => start + file.warmup + span + file.timeout,
                Stop::Count(_) => Instant::FAR_FUTURE,
            },
        }
    }

    /// Whether the run should be over, and nothing keeps it but authors that do not return.
    pub(crate) fn is_over(
        &mut self,
        is_finished: impl Fn(usize) -> bool,
        is_stopped: bool,
        now: Instant,
    ) -> bool {
        let mut are_stuck = !self.calls.is_empty();
        for (worker, (asked, last, since)) in self.calls.iter_mut().enumerate() {
            let call = asked.call();
            if call != *last {
                (*last, *since) = (call, now);
            }
            let is_stuck = Asked::is_call(call) && now.saturating_since(*since) >= STUCK;
            are_stuck &= is_stuck || is_finished(worker);
        }
        are_stuck && (is_stopped || now >= self.end)
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::PlanFile;

    use super::*;
    use crate::author::Call;

    const fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    /// A second of warm-up, ten seconds of measurement, five seconds for the last answer.
    fn plan() -> Plan {
        let file = PlanFile {
            warmup: Span::from_s(1),
            stop: Stop::DurationNs(Span::from_s(10)),
            timeout: Span::from_s(5),
            ..fixture::plan("http://127.0.0.1:1/", &[])
        };
        Plan::try_from(file).unwrap()
    }

    #[test]
    fn an_author_that_returns_is_waited_for() {
        let authors = [Arc::<Asked>::default()];
        let mut patience = Patience::new(&plan(), at(0), &authors);
        for ms in (0..60_000).step_by(1_000) {
            authors[0].begin(Call::Answer);
            assert!(!patience.is_over(|_| false, true, at(ms)), "{ms}");
            authors[0].end();
            assert!(!patience.is_over(|_| false, true, at(ms + 500)), "{ms}");
        }
        // Between two calls it is the worker that is busy.
        assert!(!patience.is_over(|_| false, true, at(90_000)));
        assert!(!authors[0].is_under_way());
    }

    #[test]
    fn an_author_that_does_not_return_is_left_behind() {
        let authors = [Arc::<Asked>::default(), Arc::default()];
        let mut patience = Patience::new(&plan(), at(0), &authors);
        authors[0].begin(Call::Request);
        assert!(!patience.is_over(|_| false, false, at(100)));
        // Nobody has asked for an end, and the time of the run is not over.
        assert!(!patience.is_over(|worker| worker == 1, false, at(9_000)));
        // The other worker is still at work.
        assert!(!patience.is_over(|_| false, true, at(9_000)));
        assert!(patience.is_over(|worker| worker == 1, true, at(9_000)));
        assert!(!patience.is_over(|worker| worker == 1, false, at(15_999)));
        assert!(patience.is_over(|worker| worker == 1, false, at(16_000)));
        assert!(authors[0].is_under_way());
        assert_eq!(Asked::function(authors[0].call()), "request()");
    }

    #[test]
    fn where_there_is_no_author_nobody_is_left_behind() {
        let mut patience = Patience::new(&plan(), at(0), &[]);
        assert!(!patience.is_over(|_| true, true, at(90_000)));
    }
}
