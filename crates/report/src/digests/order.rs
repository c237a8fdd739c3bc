//! The order of names.

/// Each once, those of `order` first, the others by name.
pub(super) fn in_order(names: &mut Vec<String>, order: &[String]) {
    names.sort();
    names.dedup();
    names.sort_by_cached_key(|name| {
        let place = order.iter().position(|other| other == name);
        (place.unwrap_or(usize::MAX), natural(name))
    });
}

/// Text and numbers by turns, so that "2 cores" comes before "10 cores".
fn natural(text: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits_at = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (word, tail) = rest.split_at(digits_at);
        let end = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (number, tail) = tail.split_at(end);
        parts.push((word.to_lowercase(), number.parse().unwrap_or(0)));
        rest = tail;
    }
    parts.push((text.to_owned(), 0));
    parts
}
