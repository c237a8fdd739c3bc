//! From which addresses connections came.

use model::Trial;
use verdict::words;

use super::Style;

/// How many addresses were used, and how many connections came from each. Nothing where the plan
/// names none.
pub(super) fn sources(trial: &Trial, style: Style) -> String {
    let record = &trial.record;
    let Some(used) = record.sources_used() else {
        return String::new();
    };
    let all = record.connections_from.len() as u64;
    let mut text = words::plural(all, "address");
    if used < all {
        text.push_str(&format!(", {} of them used", words::count(used)));
    }
    let counts = || record.connections_from.iter().copied();
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    text.push_str(&match least == most {
        true => format!(", {} from each", words::plural(most, "connection")),
        false => format!(
            ", {} to {} from each",
            words::count(least),
            words::plural(most, "connection")
        ),
    });
    style.labelled("sources", &text)
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;

    #[test]
    fn addresses_are_counted_and_their_connections() {
        let check = |counts: &[u64], wanted: &str| {
            let mut trial = fixture::closed();
            trial.record.connections_from = counts.to_vec();
            let told = sources(&trial, Style::new(false, None));
            assert_eq!(told.trim_end().trim_start_matches("sources").trim(), wanted);
        };
        check(&[], "");
        check(&[4; 12_000], "12,000 addresses, 4 connections from each");
        check(
            &[0, 2, 1],
            "3 addresses, 2 of them used, 0 to 2 connections from each",
        );
        check(&[1], "1 address, 1 connection from each");
    }
}
