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

/// An author that is at the same call for so long after the run was stopped does not return.
const AFTER_STOP: Span = Span::from_s(1);

/// The same after the time of the run: nobody is in a hurry, and the author may only be slow.
const AFTER_END: Span = Span::from_s(10);

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
                Stop::DurationNs(span) => start + file.warmup + span + file.longest_wait(),
                Stop::Count(_) => Instant::FAR_FUTURE,
            },
        }
    }

    /// Whether the run should be over, and nothing keeps it but authors that do not return. It may
    /// have been `stopped` before `now`.
    pub(crate) fn is_over(
        &mut self,
        is_finished: impl Fn(usize) -> bool,
        stopped: Option<Instant>,
        now: Instant,
    ) -> bool {
        let mut are_stuck = !self.calls.is_empty();
        for (worker, (asked, last, since)) in self.calls.iter_mut().enumerate() {
            let call = asked.call();
            if call != *last {
                (*last, *since) = (call, now);
            }
            let is_late = |end: Instant, wait| now.saturating_since(end.max(*since)) >= wait;
            let is_stuck = Asked::is_call(call)
                && (stopped.is_some_and(|at| is_late(at, AFTER_STOP))
                    || is_late(self.end, AFTER_END));
            are_stuck &= is_stuck || is_finished(worker);
        }
        are_stuck
    }

    /// The call that was seen last of each worker: where [`Self::is_over`] has said so, each worker
    /// that had not finished is at this one.
    pub(crate) fn into_calls(self) -> Vec<u64> {
        self.calls.into_iter().map(|(_, call, _)| call).collect()
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
            assert!(!patience.is_over(|_| false, Some(at(0)), at(ms)), "{ms}");
            authors[0].end();
            assert!(
                !patience.is_over(|_| false, Some(at(0)), at(ms + 500)),
                "{ms}"
            );
        }
        // Between two calls it is the worker that is busy.
        assert!(!patience.is_over(|_| false, Some(at(0)), at(90_000)));
        assert!(!Asked::is_call(patience.into_calls()[0]));
    }

    #[test]
    fn an_author_that_does_not_return_is_left_behind() {
        let authors = [Arc::<Asked>::default(), Arc::default()];
        let mut patience = Patience::new(&plan(), at(0), &authors);
        let other = |worker| worker == 1;
        authors[0].begin(Call::Request);
        assert!(!patience.is_over(|_| false, None, at(100)));
        // Nobody has asked for an end, and the time of the run is not over.
        assert!(!patience.is_over(other, None, at(9_000)));
        // The other worker is still at work.
        assert!(!patience.is_over(|_| false, Some(at(3_000)), at(9_000)));
        // The time that it has begins when the run is stopped, however long it has been at it.
        assert!(!patience.is_over(other, Some(at(8_001)), at(9_000)));
        assert!(patience.is_over(other, Some(at(8_000)), at(9_000)));
        // What has returned meanwhile is at the call that was seen.
        authors[0].end();
        assert_eq!(Asked::function(patience.into_calls()[0]), "request()");
    }

    #[test]
    fn an_author_that_is_slow_at_the_end_is_waited_for() {
        let authors = [Arc::<Asked>::default()];
        let mut patience = Patience::new(&plan(), at(0), &authors);
        authors[0].begin(Call::Answer);
        // The time of the run is over at 16 s.
        assert!(!patience.is_over(|_| false, None, at(15_500)));
        assert!(!patience.is_over(|_| false, None, at(25_999)));
        assert!(patience.is_over(|_| false, None, at(26_000)));
        // One that begins behind the end has as long.
        authors[0].end();
        authors[0].begin(Call::Answer);
        assert!(!patience.is_over(|_| false, None, at(27_000)));
        assert!(!patience.is_over(|_| false, None, at(36_999)));
        assert!(patience.is_over(|_| false, None, at(37_000)));
        // Whoever has waited enough stops it.
        authors[0].end();
        authors[0].begin(Call::Delay);
        assert!(!patience.is_over(|_| false, None, at(40_000)));
        assert!(!patience.is_over(|_| false, Some(at(41_000)), at(41_999)));
        assert!(patience.is_over(|_| false, Some(at(41_000)), at(42_000)));
    }

    #[test]
    fn nothing_but_a_stop_ends_a_run_of_so_many_exchanges() {
        let file = PlanFile {
            stop: Stop::Count(9),
            ..plan().file().clone()
        };
        let authors = [Arc::<Asked>::default()];
        let plan = Plan::try_from(file).unwrap();
        let mut patience = Patience::new(&plan, at(0), &authors);
        authors[0].begin(Call::Delay);
        assert!(!patience.is_over(|_| false, None, at(900_000)));
        assert!(patience.is_over(|_| false, Some(at(900_000)), at(901_000)));
    }

    #[test]
    fn where_there_is_no_author_nobody_is_left_behind() {
        let mut patience = Patience::new(&plan(), at(0), &[]);
        assert!(!patience.is_over(|_| true, Some(at(0)), at(90_000)));
    }
}
