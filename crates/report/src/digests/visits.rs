//! Users who come by a schedule and take what they want to the end: what is left of that when the
//! window is over.

use std::borrow::Cow;

use model::{Distribution, Trial};

use super::Digest;

/// Requests of users who had come that had no answer yet when the window ended: those under way and
/// those that were still to be asked. None are known of other loads.
///
/// A server that keeps up has hardly any. One that does not has answered a few users fast, and its
/// times would be those of them alone.
pub(super) fn unanswered(trial: &Trial) -> u64 {
    let script = trial.plan.script.as_ref();
    let each = script.and_then(|script| script.asked_by_each());
    let (Some(each), Some(users)) = (each, &trial.record.users) else {
        return 0;
    };
    let record = &trial.record;
    let ended = record.warmup_phase.outcomes.total() + record.total.outcomes.total();
    (users.came * each).saturating_sub(ended)
}

/// Response times, in which what is unanswered took longer than any answer, as what failed did.
pub(super) fn response_time(trial: &Trial) -> Cow<'_, Distribution> {
    let times = &trial.record.response_time;
    match unanswered(trial) {
        0 => Cow::Borrowed(times),
        many => {
            let mut times = times.clone();
            times.record_censored_n(many);
            Cow::Owned(times)
        }
    }
}

impl Digest {
    /// Exchanges that were due and had no right answer.
    pub fn lost(&self) -> u64 {
        self.outcomes.lost() + self.unanswered
    }
}

#[cfg(test)]
mod tests {
    use model::fixture::first_heat;
    use model::plan::{Arrivals, ScriptFile, StepFile};
    use model::record::UsersRecord;
    use model::units::Rate;

    use super::*;

    #[test]
    fn who_is_not_answered_in_the_window_is_lost_and_waits_for_long() {
        let mut trial = first_heat().swap_remove(1);
        let right = trial.record.total.outcomes.total();
        let before = trial.record.warmup_phase.outcomes.total();
        let p50 = |trial: &Trial| {
            let digest = Digest::of(trial, 0);
            (digest.lost(), digest.response(0).map(|time| time.is_bound))
        };
        assert_eq!(p50(&trial), (0, Some(false)));
        trial.plan.script = Some(ScriptFile {
            arrivals: Arrivals::Fixed {
                rate_per_1000_s: Rate::per_second(9),
            },
            steps: vec![StepFile::Ask(0), StepFile::Ask(0)],
            ..ScriptFile::default()
        });
        let came = |half: u64| UsersRecord {
            came: (right + before + half) / 2,
            ..UsersRecord::default()
        };
        trial.record.users = Some(came(1));
        assert_eq!(p50(&trial), ((right + before) % 2, Some(false)));
        trial.record.users = Some(came(4 * right));
        let (lost, is_bound) = p50(&trial);
        assert!(lost >= 4 * right - 1 && is_bound == Some(true), "{lost}");
    }
}
