//! Whether void trials fell on the servers of an experiment alike: a server that is measured only
//! while its rivals are disturbed, or the other way round, is not compared with them.

use statrs::distribution::{Discrete as _, Hypergeometric};

use crate::thresholds::VOID_UNEQUAL;

/// How many trials of one server were void.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VoidCount {
    /// The server's label.
    pub server: String,
    /// Void trials.
    pub void: u64,
    /// All trials, repetitions included.
    pub trials: u64,
}

/// The server whose share of void trials differs most surely from that of all others together, if
/// that is surer than chance allows: then comparisons are suspect.
pub fn void_shares(counts: &[VoidCount]) -> Option<&VoidCount> {
    let (void, trials) = counts.iter().fold((0, 0), |(void, trials), one| {
        (void + one.void, trials + one.trials)
    });
    let (least, unlikeliest) = counts
        .iter()
        .filter_map(|one| Some((chance(one, void, trials)?, one)))
        .min_by(|(one, _), (other, _)| one.total_cmp(other))?;
    #[expect(clippy::cast_precision_loss, reason = "a number of servers")]
    let of_all = (least * counts.len() as f64).min(1.0);
    VOID_UNEQUAL.severity(1.0 - of_all).map(|_| unlikeliest)
}

/// Fisher's exact test, two-sided: how likely a server with so many trials has a share of void ones
/// as odd as this or odder, if they fall on trials by chance.
fn chance(one: &VoidCount, void: u64, trials: u64) -> Option<f64> {
    if one.trials == trials {
        return None;
    }
    let law = Hypergeometric::new(trials, void, one.trials).ok()?;
    let seen = law.pmf(one.void);
    let fewest = (void + one.trials).saturating_sub(trials);
    let all = fewest..=void.min(one.trials);
    let odd = all
        .map(|count| law.pmf(count))
        .filter(|p| *p <= seen * (1.0 + 1e-9));
    Some(odd.sum::<f64>().min(1.0))
}
