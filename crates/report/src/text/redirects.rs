//! Answers that sent elsewhere.

use model::Trial;
use verdict::words;

use super::Style;

/// How many there were, and what became of them. Nothing where there were none.
pub(super) fn redirects(trial: &Trial, style: Style) -> String {
    let total = &trial.record.total;
    if total.redirects == 0 {
        return String::new();
    }
    let mut text = words::plural(total.redirects, "answer");
    match trial.plan.follow {
        None => text.push_str(" that redirected, not followed"),
        Some(most) => {
            let others = total.redirects - total.followed.min(total.redirects);
            text.push_str(&format!(
                " that redirected, {} followed (up to {most} per exchange)",
                words::count(total.followed)
            ));
            if others > 0 {
                text.push_str(&format!(
                    "; {} led to another server or beyond that limit, and counted as the answer",
                    words::count(others)
                ));
            }
            text.push_str("; times are those of all requests of an exchange together");
        }
    }
    style.labelled("redirects", &text)
}
