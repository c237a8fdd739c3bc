//! STA-01: a quantile needs values beyond it.
//!
//! Fewer than 10: it is not shown. Fewer than 100: its rank is known within 20 % at best.

use model::finding::Claim::Latency;
use model::finding::Severity::{Invalid, Note, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::summary::{QUANTILES, Support, support};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-01",
    name: "too-few-samples",
    claims: &[Latency],
    mandatory: true,
    source: "Order statistics of the binomial distribution",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let times = &facts.record.response_time;
    let count = times.count() + times.censored();
    let with = |wanted: Support| -> Vec<&str> {
        QUANTILES
            .iter()
            .filter(|quantile| support(count, quantile.q) == wanted)
            .map(|quantile| quantile.label)
            .collect()
    };
    let (hidden, thin) = (with(Support::TooFew), with(Support::Thin));
    if hidden.is_empty() && thin.is_empty() {
        return Judgement::Silent;
    }
    let severity = if support(count, 0.5) == Support::TooFew {
        Invalid
    } else if support(count, 0.99) == Support::TooFew {
        Suspect
    } else {
        Note
    };
    let mut say = words::plural(count, "response time");
    if !hidden.is_empty() {
        say += &format!(" cannot support {}", words::list(&hidden));
    }
    if !thin.is_empty() {
        let and = if hidden.is_empty() { "" } else { ", and" };
        say += &format!("{and} give {} only roughly", words::list(&thin));
    }
    Found::new(&[(Latency, severity)], say + ".")
        .evidence("count", count)
        .evidence("hidden", hidden)
        .evidence("thin", thin)
        .fix("Measure longer (load: -d; lab: duration of [experiment])")
        .into()
}
