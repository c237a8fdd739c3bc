//! What users who came had no answer to is lost, too.

use super::Digest;

impl Digest {
    /// Exchanges that were due and had no right answer.
    pub fn lost(&self) -> u64 {
        self.outcomes.lost() + self.unanswered
    }
}

#[cfg(test)]
mod tests {
    use model::Trial;
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
