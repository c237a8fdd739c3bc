//! Where results go: a file takes one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Two flags that would write the same file, however its path is written, and that path.
pub(crate) fn twice<'a>(
    files: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
) -> Option<(&'static str, &'static str, &'a Path)> {
    let mut known: BTreeMap<PathBuf, &'static str> = BTreeMap::new();
    for (flag, path) in files {
        let Some(path) = path.filter(|path| !takes_many(path)) else {
            continue;
        };
        if let Some(other) = known.insert(place(path), flag) {
            return Some((other, flag, path));
        }
    }
    None
}

/// Whether several may write there: standard output, a device, a pipe.
fn takes_many(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|facts| !facts.is_file())
}

/// The path by which the system knows a file that is there, or that may be made.
fn place(path: &Path) -> PathBuf {
    if let Ok(there) = path.canonicalize() {
        return there;
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or_else(|| Path::new(".")).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let [plain, round, other] = ["x", "./sub/../x", "y"].map(|name| folder.path().join(name));
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let is_same = |other: &Path| {
            let found = twice([("--a", Some(plain.as_path())), ("--b", Some(other))]);
            found.is_some_and(|(one, two, path)| (one, two, path) == ("--a", "--b", other))
        };
        assert!(is_same(&round) && !is_same(&other));
        std::fs::write(&plain, "").unwrap();
        std::os::unix::fs::symlink(&plain, &other).unwrap();
        assert!(is_same(&other));
        for shared in ["-", "/dev/null"].map(Path::new) {
            assert_eq!(twice([("--a", Some(shared)), ("--b", Some(shared))]), None);
        }
    }
}
