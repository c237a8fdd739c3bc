//! The results of a lab, file by file, on their way from one machine to the other.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::words::File;

/// What stands beside folders.
const BESIDE: [&str; 3] = ["SHA256SUMS", "experiment.toml", "manifest.json"];
/// The folders of results.
const FOLDERS: [&str; 5] = ["gaps", "interrupted", "searches", "servers", "trials"];

/// What tells one version of a file from the next: files are written anew, and renamed.
type Mark = (u64, u64, i64, i64);

/// A folder of results whose files are sent when they change.
#[derive(Debug)]
pub(super) struct Mirror {
    folder: PathBuf,
    sent: BTreeMap<String, Mark>,
}

/// What has changed.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Change {
    /// A file is there, or is another one.
    File(File),
    /// It is there no more.
    Gone(String),
}

impl Mirror {
    /// Of a folder nothing of which was sent.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            sent: BTreeMap::new(),
        }
    }

    /// What has changed since it was asked last.
    pub(super) fn changes(&mut self) -> io::Result<Vec<Change>> {
        let mut there = BTreeMap::new();
        for name in BESIDE {
            note(&self.folder, name, &mut there)?;
        }
        for name in FOLDERS {
            walk(&self.folder, name, &mut there)?;
        }
        let mut changes = Vec::new();
        for (name, mark) in &there {
            if self.sent.get(name) != Some(mark) {
                changes.push(Change::File(File {
                    name: name.clone(),
                    text: fs::read_to_string(self.folder.join(name))?,
                }));
            }
        }
        // Last, as what has another name now would be nowhere for a moment.
        let gone = self.sent.keys().filter(|name| !there.contains_key(*name));
        changes.extend(gone.cloned().map(Change::Gone));
        self.sent = there;
        Ok(changes)
    }
}

/// The files of a folder, and of those in it. One that is being written has a name of its own.
fn walk(root: &Path, folder: &str, there: &mut BTreeMap<String, Mark>) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{folder}/{name}");
        match entry.file_type()?.is_dir() {
            _ if name.starts_with('.') => {}
            true => walk(root, &path, there)?,
            false => note(root, &path, there)?,
        }
    }
    Ok(())
}

fn note(root: &Path, name: &str, there: &mut BTreeMap<String, Mark>) -> io::Result<()> {
    match fs::metadata(root.join(name)) {
        Ok(meta) => {
            let mark = (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
            there.insert(name.to_owned(), mark);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Where a file of results of that name lies below `folder`; none for a name that no such file has:
/// whoever sends it has no say in what else is written.
pub(super) fn place(folder: &Path, name: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = Path::new(name)
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str().filter(|part| !part.starts_with('.')),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let is_one = match parts.as_slice() {
        [name] => BESIDE.contains(name),
        [folder, _] => FOLDERS.contains(folder),
        ["servers", _, _] => true,
        _ => false,
    };
    (is_one && !name.contains('\0')).then(|| folder.join(parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_sent_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let part = folder.path().join("trials/.part");
            fs::create_dir_all(folder.path().join("trials")).unwrap();
            fs::write(&part, text).unwrap();
            fs::rename(part, path).unwrap();
        };
        let file = |name: &str, text: &str| {
            Change::File(File {
                name: name.to_owned(),
                text: text.to_owned(),
            })
        };
        let mut mirror = Mirror::new(folder.path());
        assert_eq!(mirror.changes().unwrap(), []);
        write("manifest.json", "{}");
        write("gaps/a.json", "1");
        write("servers/nginx/nginx.conf", "x");
        write("trials/.hidden", "no");
        write("report.html", "no");
        assert_eq!(
            mirror.changes().unwrap(),
            [
                file("gaps/a.json", "1"),
                file("manifest.json", "{}"),
                file("servers/nginx/nginx.conf", "x"),
            ]
        );
        assert_eq!(mirror.changes().unwrap(), []);
        write("trials/1.json", "2");
        fs::remove_file(folder.path().join("gaps/a.json")).unwrap();
        assert_eq!(
            mirror.changes().unwrap(),
            [
                file("trials/1.json", "2"),
                Change::Gone("gaps/a.json".to_owned()),
            ]
        );
        // As long and as new, and another one.
        write("trials/1.json", "3");
        assert_eq!(mirror.changes().unwrap(), [file("trials/1.json", "3")]);
    }

    #[test]
    fn only_files_of_results_have_a_place() {
        let folder = Path::new("/results");
        let good = |name: &str| {
            assert_eq!(place(folder, name), Some(folder.join(name)), "{name}");
        };
        good("SHA256SUMS");
        good("trials/00001-round-1-nginx.json");
        good("servers/nginx/nginx.conf");
        let bad = |name: &str| assert_eq!(place(folder, name), None, "{name}");
        bad("");
        bad("report.html");
        bad("/etc/passwd");
        bad("../x");
        bad("trials/../../x");
        bad("trials/.x");
        bad("trials");
        bad("trials/a/b");
        bad("servers/a/b/c");
        bad("servers/../x/y");
    }
}
