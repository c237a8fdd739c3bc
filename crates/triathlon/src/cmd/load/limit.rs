//! What ends a run before its plan does.

use load::Notice;
use model::event::Phase;
use model::plan::{PlanFile, Stop};
use model::units::{Instant, Span};
use sys::clock;

/// How long the window may be, where something else ends it too.
pub(super) struct Limit {
    most: Option<Span>,
    end: Option<Instant>,
}

impl Limit {
    pub(super) const fn new(most: Option<Span>) -> Self {
        Self { most, end: None }
    }

    /// Whether the window has been that long.
    pub(super) fn is_over(&mut self, notice: Option<&Notice>) -> bool {
        if let (Some(most), Some(Notice::Phase(Phase::Measurement, at))) = (self.most, notice) {
            self.end = Some(*at + most);
        }
        self.end.is_some_and(|end| clock::monotonic() >= end)
    }
}

/// So long a run of a count waits for a server that takes no connection, if its timeout is shorter:
/// a server that is started again is back by then.
const PATIENCE: Span = Span::from_s(10);

/// Whether the server has gone for good. A run of a time ends with it; one of a count would wait
/// for each of its requests.
pub(super) struct Gone {
    /// None where it does not matter.
    patience: Option<Span>,
    since: Option<Span>,
    is_over: bool,
}

impl Gone {
    pub(super) fn new(plan: &PlanFile) -> Self {
        let is_counted = matches!(plan.stop, Stop::Count(_));
        Self {
            patience: is_counted.then(|| plan.longest_wait().max(PATIENCE)),
            since: None,
            is_over: false,
        }
    }

    /// Whether it takes no connection any more, and has not for longer than anybody waits.
    pub(super) fn is_over(&mut self, notice: Option<&Notice>) -> bool {
        if let (Some(patience), Some(Notice::Interval(interval))) = (self.patience, notice) {
            if interval.connections > 0 || interval.ok > 0 {
                self.since = None;
            } else {
                let since = *self.since.get_or_insert(interval.start);
                let until = interval.start + interval.length;
                self.is_over |= until.saturating_sub(since) >= patience;
            }
        }
        self.is_over
    }

    /// What a record says of that; nothing where it is there.
    pub(super) fn note(&self) -> Option<String> {
        let patience = self.patience.filter(|_| self.is_over)?;
        Some(format!(
            "the server took no connection for {patience}: the run was ended there"
        ))
    }
}

#[cfg(test)]
mod tests {
    use load::progress::Published;
    use model::Distribution;

    use super::*;

    fn second(number: u64, connections: u64, ok: u64) -> Notice {
        Notice::Interval(Published {
            start: Span::from_s(number),
            length: Span::from_s(1),
            ok,
            failures: 1,
            connections,
            response_time: Distribution::default(),
            counts: None,
        })
    }

    fn ends_after(stop: Stop, timeout: Span, seconds: &[(u64, u64)]) -> Option<usize> {
        let plan = PlanFile {
            stop,
            timeout,
            ..model::fixture::closed().plan
        };
        let mut gone = Gone::new(&plan);
        let mut each = (0..).zip(seconds);
        let found = each.position(|(number, &(connections, ok))| {
            gone.is_over(Some(&second(number, connections, ok)))
        });
        assert_eq!(gone.note().is_some(), found.is_some());
        found
    }

    #[test]
    fn a_run_of_a_count_ends_when_its_server_has_gone() {
        let (here, gone) = ((2, 100), (0, 0));
        let always = |one| vec![one; 30];
        let count = Stop::Count(1_000);
        let second = Span::from_s(1);
        assert_eq!(ends_after(count, second, &always(gone)), Some(9));
        assert_eq!(ends_after(count, Span::from_s(15), &always(gone)), Some(14));
        assert_eq!(ends_after(count, second, &always(here)), None);
        // It makes a connection for each answer, or waits for an answer.
        assert_eq!(ends_after(count, second, &always((0, 1))), None);
        assert_eq!(ends_after(count, second, &always((2, 0))), None);
        let back = [vec![gone; 9], vec![here], vec![gone; 10]].concat();
        assert_eq!(ends_after(count, second, &back), Some(19));
        let time = Stop::DurationNs(Span::from_s(60));
        assert_eq!(ends_after(time, second, &always(gone)), None);
    }
}
