//! When users come who take the steps once and leave.

use toml::Spanned;

use super::{Written, Wrong};
use crate::experiment::{ArrivalKind, RateText};
use crate::plan::{Arrivals, Stage, pace};

impl Written {
    /// How the rate changes at which users come.
    pub(super) fn stages(&self) -> Result<Vec<Stage>, Wrong> {
        let Some(written) = &self.user_stages else {
            return Ok(Vec::new());
        };
        let wrong = |why: String| (written.span(), format!("user_stages: {why}"));
        if self.user_rate.is_some() {
            return Err(wrong(
                "they say at which rate: leave out user_rate".to_owned(),
            ));
        }
        let stages = written.get_ref().split(',');
        let stages = stages.map(|one| one.trim().parse::<Stage>());
        let stages: Vec<Stage> = stages.collect::<Result<_, _>>().map_err(wrong)?;
        if pace::mean_rate(&stages).is_zero() {
            return Err(wrong("their mean rate is 0".to_owned()));
        }
        Ok(stages)
    }

    /// When users come who take the steps once.
    pub(super) fn arrivals(&self, stages: &[Stage]) -> Result<Arrivals, Wrong> {
        let law = self.user_arrivals.as_ref();
        let mean = || (!stages.is_empty()).then(|| pace::mean_rate(stages));
        let rate = self.user_rate.map(|RateText(rate)| rate).or_else(mean);
        match (rate, law.map(Spanned::get_ref)) {
            (None, None) => Ok(Arrivals::Closed),
            (None, Some(_)) => {
                let why = "it says how users come: give user_rate, too, as in user_rate = 50";
                let at = law.map(Spanned::span).unwrap_or_default();
                Err((at, why.to_owned()))
            }
            (Some(rate_per_1000_s), Some(ArrivalKind::Fixed)) => {
                Ok(Arrivals::Fixed { rate_per_1000_s })
            }
            (Some(rate_per_1000_s), None | Some(ArrivalKind::Poisson)) => {
                Ok(Arrivals::Poisson { rate_per_1000_s })
            }
        }
    }
}
