//! The answer of a set of probes in a sentence, before the table that it sums up.

use model::probe::Class;
use verdict::words;

use super::Operation;
use crate::number::plural;

/// When an operation has a class of growth.
pub const HOW: &str = "An operation has a class of growth where the 95 % bounds over the passes \
    leave only one; otherwise it lies between two. It is flat where it costs at most a quarter \
    more or less than at the beginning, and it grows where it costs at least 1.35 times as much; \
    in between, nothing is decided. The beginning is the first sixth of a curve, the end the last.";

/// `Of 3 operations 1 has a cost that changes: mmap (linear). 1 is flat, 1 lies between two
/// classes.`: of each operation on its first side; none where there are not several.
pub fn answer(operations: &[Operation<'_>]) -> Option<String> {
    let (mut changing, mut flat, mut between, mut unclear) = (Vec::new(), 0, 0, 0);
    for operation in operations {
        let Some((_, growth)) = operation.growth().into_iter().next() else {
            continue;
        };
        let changes = || format!("{} ({})", operation.name(), growth.word());
        match growth.classes.as_slice() {
            [] => unclear += 1,
            [Class::Flat] => flat += 1,
            [_] => changing.push(changes()),
            // Which growth it is cannot be told, and that it grows can.
            several if several.iter().all(|class| class.grows()) => changing.push(changes()),
            _ => between += 1,
        }
    }
    let all = changing.len() + flat + between + unclear;
    if all < 2 {
        return None;
    }
    let change = match changing.len() {
        0 => "none has a cost that surely changes with how many there are".to_owned(),
        1 => format!("1 has a cost that changes: {}", changing[0]),
        some => format!(
            "{some} have a cost that changes: {}",
            words::list(&changing)
        ),
    };
    let rest: Vec<String> = [
        (flat, "is flat", "are flat"),
        (
            between,
            "lies between two classes",
            "lie between two classes",
        ),
        (
            unclear,
            "has too few points to tell",
            "have too few points to tell",
        ),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, one, several)| format!("{count} {}", if count == 1 { one } else { several }))
    .collect();
    let rest = match rest.is_empty() {
        true => String::new(),
        false => format!(" {}.", words::list(&rest)),
    };
    Some(format!("Of {} {change}.{rest}", plural(all, "operation")))
}
