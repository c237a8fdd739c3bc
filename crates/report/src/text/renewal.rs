//! How connections come and go by the plan, in words.

use model::PlanFile;
use verdict::words;

/// What follows the number of connections; empty where the plan says nothing.
pub(super) fn renewal(plan: &PlanFile) -> String {
    let mut said = Vec::new();
    if let Some(rate) = plan.renewal.opened_per_1000_s {
        said.push(format!(
            "opened at {}/s",
            words::rate(rate.as_per_second_f64())
        ));
    }
    if let Some(lifetime) = plan.renewal.lifetime {
        said.push(format!("replaced after {lifetime}"));
    }
    if let Some(parts) = plan.renewal.last_of_million {
        let share = words::share(f64::from(parts) / 1e6);
        said.push(format!("replaced after {share} of the requests"));
    }
    if plan.renewal.keeps_source {
        said.push("each always from the same address".to_owned());
    }
    match said.as_slice() {
        [] => String::new(),
        said => format!(" ({})", said.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::Renewal;
    use model::units::{Rate, Span};

    use super::*;

    #[test]
    fn what_the_plan_says_is_told() {
        let mut plan = fixture::plan("http://127.0.0.1:1/", &[]);
        assert_eq!(renewal(&plan), "");
        plan.renewal = Renewal {
            opened_per_1000_s: Some(Rate::per_second(100)),
            lifetime: Some(Span::from_s(30)),
            last_of_million: Some(5_000),
            keeps_source: true,
        };
        assert_eq!(
            renewal(&plan),
            " (opened at 100/s, replaced after 30.0 s, replaced after 0.5 % of the requests, \
             each always from the same address)"
        );
    }
}
