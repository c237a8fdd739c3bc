//! Agents that have not told how their order ended: whether they are there, and still work on it.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::Coordinator;
use super::roll::Roll;
use crate::error::FleetError;
use crate::message::{Ask, Tell, subject_of};

/// They are asked so often.
const AGAIN: Duration = Duration::from_secs(1);
/// Who is there answers within this time; who hangs does not.
const ANSWER: Duration = Duration::from_secs(1);
/// An agent that has lost its connection is back within this time.
const BACK: Duration = Duration::from_secs(10);

/// What an agent says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// It works on the order, or says nothing.
    AtWork,
    /// Nobody listens under its name.
    Gone,
    /// It does something else, or nothing.
    Elsewhere,
}

/// Since when each of a crew does not work on the order.
#[derive(Debug)]
pub(super) struct Missing {
    since: Vec<Option<Instant>>,
    asked: Option<Instant>,
}

impl Missing {
    pub(super) fn new(crew: usize) -> Self {
        Self {
            since: vec![None; crew],
            asked: None,
        }
    }

    /// Asks those who have not told how they ended, where that is long enough ago.
    pub(super) async fn ask(
        &mut self,
        coordinator: &Coordinator,
        order: &str,
        roll: &Roll<'_>,
    ) -> Result<(), FleetError> {
        if self.asked.is_some_and(|asked| asked.elapsed() < AGAIN) {
            return Ok(());
        }
        for (position, name) in roll.missing() {
            let subject = subject_of(&name);
            let asked = coordinator.broker.ask::<_, Tell>(&subject, &Ask::Hello);
            let state = match timeout(ANSWER, asked).await {
                Ok(Ok(Some(Tell::Hello(hello)))) if hello.busy.as_deref() != Some(order) => {
                    State::Elsewhere
                }
                Ok(Ok(None)) => State::Gone,
                _ => State::AtWork,
            };
            if let Some(why) = self.note(position, state, Instant::now()) {
                return Err(roll.objection(position, why));
            }
        }
        self.asked = Some(Instant::now());
        Ok(())
    }

    /// What the agent in this position lacks, once that is sure.
    fn note(&mut self, position: usize, state: State, now: Instant) -> Option<&'static str> {
        let since = self.since.get_mut(position)?;
        let why = match state {
            State::AtWork => {
                *since = None;
                return None;
            }
            State::Gone => {
                "it has gone: its program has ended, or its machine or its network is down"
            }
            State::Elsewhere => {
                "it does not work on the order any more: it was started again, or what it said is \
                 lost"
            }
        };
        let since = *since.get_or_insert(now);
        (now.duration_since(since) >= BACK).then_some(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_come_back_is_told() {
        let start = Instant::now();
        let mut missing = Missing::new(2);
        let mut check = |seconds: u64, state: State, words: Option<&str>| {
            let said = missing.note(1, state, start + Duration::from_secs(seconds));
            let is_so = match (said, words) {
                (Some(said), Some(words)) => said.contains(words),
                (said, words) => said == words,
            };
            assert!(is_so, "after {seconds} s: {said:?}");
        };
        check(0, State::Gone, None);
        check(9, State::Gone, None);
        // It was on its way back.
        check(10, State::AtWork, None);
        check(11, State::Gone, None);
        check(20, State::Elsewhere, None);
        check(21, State::Elsewhere, Some("was started again"));
        check(22, State::Gone, Some("it has gone"));
        assert_eq!(missing.note(0, State::Gone, start), None);
        assert_eq!(missing.note(7, State::Gone, start), None);
    }
}
