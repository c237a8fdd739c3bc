//! Commands as one could type them.

use model::experiment::Manifest;

/// The command that repeats an execution in its order: as it was given, with its seed, wherever
/// the program lay, whatever its file was called, and wherever its results went.
pub(super) fn repeating(manifest: &Manifest) -> Vec<String> {
    let mut words = Vec::with_capacity(manifest.command.len() + 1);
    let mut given = manifest.command.iter();
    words.extend(given.next().map(|_| "triathlon".to_owned()));
    while let Some(word) = given.next() {
        match word.as_str() {
            "--results" => drop(given.next()),
            word if word.starts_with("--results=") => {}
            word => words.push(word.to_owned()),
        }
    }
    let is_seed = |word: &String| word.starts_with("seed=") || word.starts_with("experiment.seed=");
    if manifest.experiment.experiment.seed.is_none() && !words.iter().any(is_seed) {
        words.push(format!("seed={}", manifest.order_seed));
    }
    words
}

/// A command as one could type it.
pub(crate) fn shell(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&b))
    };
    let quoted: Vec<String> = words
        .iter()
        .map(|word| match plain(word) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        })
        .collect();
    quoted.join(" ")
}
