//! Words of command lines that are printed to be pasted into a shell.

use std::path::Path;

/// The command line of this process, as it is shown: bytes that are no text have a mark in their
/// place.
pub(crate) fn command_line() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// As a word of a command line.
pub(crate) fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(word(Path::new("/srv/b-1/x.conf")), "/srv/b-1/x.conf");
        assert_eq!(word(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
