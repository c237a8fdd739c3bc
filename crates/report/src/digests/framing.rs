//! How a server tells where the content of its answers ends, as the generator saw it.

use std::collections::BTreeSet;

use model::Trial;
use model::record::Reference;

/// In words: one way, or several where there are several requests; nothing where no answer was
/// fetched before the load.
pub(super) fn framing(trial: &Trial) -> BTreeSet<&'static str> {
    let classes = trial.record.classes.iter();
    let references = classes.filter_map(|class| class.reference.as_ref());
    let all = trial.record.reference.iter().chain(references);
    all.filter_map(words).collect()
}

fn words(reference: &Reference) -> Option<&'static str> {
    Some(match reference.framing.as_str() {
        "chunked" => "the last of its chunks",
        "close" => "the end of its connection",
        "frames" => "the end of its stream",
        "length" => "its length (Content-Length)",
        "none" => "its head: there is none",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use model::fixture::closed;
    use model::record::Class;

    use super::*;

    #[test]
    fn each_request_tells_how_its_content_ends() {
        let mut trial = closed();
        let ways = |trial: &Trial| framing(trial).into_iter().collect::<Vec<_>>();
        assert_eq!(ways(&trial), ["its length (Content-Length)"]);
        let reference = trial.record.reference.take();
        assert!(ways(&trial).is_empty());
        for way in ["chunked", "close", "chunked", "unheard of"] {
            let reference = reference.clone().map(|reference| Reference {
                framing: way.to_owned(),
                ..reference
            });
            trial.record.classes.push(Class {
                reference,
                ..Class::default()
            });
        }
        assert_eq!(
            ways(&trial),
            ["the end of its connection", "the last of its chunks"]
        );
    }
}
