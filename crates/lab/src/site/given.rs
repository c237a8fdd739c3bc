//! Folders that were given: what lies in them, and copies of it for the servers.
//!
//! Servers get copies, so that a file that is changed meanwhile changes no result, and none needs a
//! right to read the folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use model::plan::REQUESTS_MAX;
use model::{Bytes, Experiment, hex};
use sha2::{Digest as _, Sha256};
use verdict::words;

use super::{Document, open_to_all, put};
use crate::error::LabError;

/// Folders within folders that are looked through.
const DEPTH_MAX: u32 = 16;

/// So many things that are left out are named; the others are counted.
const NAMED: usize = 5;

/// What lies in a folder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Listed {
    /// Its files, by their paths below it, in order.
    pub files: Vec<String>,
    /// What is no such file, by its path below it, and why.
    left_out: Vec<(String, &'static str)>,
}

impl Listed {
    /// What is left out of the folder and why, in a sentence; none where nothing is.
    pub fn left_out(&self, folder: &str) -> Option<String> {
        let mut names: Vec<String> = self.left_out[..self.left_out.len().min(NAMED)]
            .iter()
            .map(|(name, why)| format!("{name} ({why})"))
            .collect();
        if let Some(more) = self
            .left_out
            .len()
            .checked_sub(NAMED)
            .filter(|more| *more > 0)
        {
            names.push(format!("{more} more"));
        }
        let names = words::list(&names);
        (!names.is_empty()).then(|| format!("not served from {folder}: {names}"))
    }
}

/// The files of the folder and of the folders in it. Those whose names begin with a dot are left
/// out, as most servers hide them, and links to folders, which can lead in a circle. An error is a
/// sentence.
pub fn files(folder: &Path) -> Result<Listed, String> {
    let mut listed = Listed::default();
    collect(folder, "", DEPTH_MAX, &mut listed)?;
    listed.files.sort();
    listed.left_out.sort();
    if listed.files.len() > REQUESTS_MAX {
        return Err(format!(
            "{} has {} files, and a workload asks for at most {REQUESTS_MAX}: name some of them \
             by [[workload.request]] file",
            folder.display(),
            listed.files.len()
        ));
    }
    Ok(listed)
}

fn collect(folder: &Path, below: &str, depth: u32, listed: &mut Listed) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().into_string().map_err(|name| {
            let path = folder.join(name);
            format!("the name of {} is not UTF-8, and a URL is", path.display())
        })?;
        let path = entry.path();
        let is_hidden = name.starts_with('.');
        let below = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        let kind = entry.file_type().map_err(cannot)?;
        let why = if is_hidden {
            "its name begins with a dot"
        } else if kind.is_dir() && depth > 0 {
            collect(&path, &below, depth - 1, listed)?;
            continue;
        } else if path.is_file() {
            listed.files.push(below);
            continue;
        } else if kind.is_dir() {
            "it is nested too deeply"
        } else if path.is_dir() {
            "a link to a folder"
        } else if kind.is_symlink() {
            "a link to a missing file"
        } else {
            "neither file nor folder"
        };
        listed.left_out.push((below, why));
    }
    Ok(())
}

/// Copies what the workloads ask for below `root`, readable for everyone.
pub(super) fn copy(
    root: &Path,
    experiment: &Experiment,
) -> Result<BTreeMap<(String, String), Document>, LabError> {
    let mut folders: Vec<&str> = Vec::new();
    let mut copies = BTreeMap::new();
    for (site, file) in experiment.workloads().iter().flat_map(|one| one.files()) {
        let number = folders.iter().position(|one| *one == site);
        let number = number.unwrap_or_else(|| {
            folders.push(site);
            folders.len() - 1
        });
        let key = (site.to_owned(), file.to_owned());
        if copies.contains_key(&key) {
            continue;
        }
        let from = Path::new(site).join(file);
        let content = fs::read(&from).map_err(LabError::file("read", &from))?;
        let name = format!("site-{}/{file}", number + 1);
        let to = root.join(&name);
        make_folders(root, &name)?;
        put(&to, &content)?;
        let document = Document {
            path: format!("/{}", encode(&name)),
            bytes: Bytes::new(content.len() as u64),
            sha256: hex(&Sha256::digest(&content)),
        };
        copies.insert(key, document);
    }
    Ok(copies)
}

/// The folders that the file of that path lies in.
fn make_folders(root: &Path, file: &str) -> Result<(), LabError> {
    for (end, _) in file.match_indices('/') {
        let folder = root.join(&file[..end]);
        fs::create_dir_all(&folder).map_err(LabError::file("create", &folder))?;
        open_to_all(&folder, 0o755)?;
    }
    Ok(())
}

/// A path as a URL has it (RFC 3986 §2.3): all but unreserved characters and slashes in per cent.
fn encode(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    fn www() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("css")).unwrap();
        for (name, text) in [
            ("index.html", "<p>hello"),
            ("css/main 1.css", "p {}"),
            (".git", "secret"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn read(requests: &str, www: &Path) -> Result<Experiment, experiment::ReadError> {
        let text = format!(
            "[experiment]\nname = 'own'\nquestion = '?'\nrounds = 1\nduration = '1s'\n\
             [[server]]\nproduct = 'origin'\n[[workload]]\nname = 'mine'\nsite = '{}'\n\
             {requests}[load]\nconnections = 1\n",
            www.display()
        );
        experiment::parse("own.toml", &text, &[])
    }

    #[test]
    fn a_folder_is_a_list_of_its_files() {
        let www = www();
        let experiment = read("", www.path()).unwrap();
        let workload = &experiment.workloads()[0];
        let files: Vec<&str> = workload.files().map(|(_, file)| file).collect();
        assert_eq!(files, ["css/main 1.css", "index.html"]);
        assert_eq!(workload.needs, ["static"]);
        let root = tempfile::tempdir().unwrap();
        let copies = copy(root.path(), &experiment).unwrap();
        let site = www.path().display().to_string();
        let style = &copies[&(site, "css/main 1.css".to_owned())];
        assert_eq!(style.path, "/site-1/css/main%201.css");
        assert_eq!(style.bytes, Bytes::new(4));
        let copied = fs::read(root.path().join("site-1/css/main 1.css")).unwrap();
        assert_eq!(style.sha256, hex(&Sha256::digest(copied)));
    }

    #[test]
    fn what_is_left_out_of_a_folder_is_told() {
        let www = www();
        let listed = || files(www.path()).unwrap();
        let hidden = "not served from www: .git (its name begins with a dot)";
        assert_eq!(listed().left_out("www").as_deref(), Some(hidden));
        for (name, target) in [
            ("old", "css"),
            ("dead", "nowhere"),
            ("css/a.css", "main 1.css"),
        ] {
            std::os::unix::fs::symlink(target, www.path().join(name)).unwrap();
        }
        let socket = std::os::unix::net::UnixListener::bind(www.path().join("s")).unwrap();
        assert_eq!(
            listed().files,
            ["css/a.css", "css/main 1.css", "index.html"]
        );
        assert_eq!(
            listed().left_out("www").unwrap(),
            "not served from www: .git (its name begins with a dot), dead (a link to a missing \
             file), old (a link to a folder) and s (neither file nor folder)"
        );
        drop(socket);
        for name in [".a", ".b"] {
            fs::write(www.path().join(name), "").unwrap();
        }
        let said = listed().left_out("www").unwrap();
        assert!(
            said.ends_with(" old (a link to a folder) and 1 more"),
            "{said}"
        );
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(files(empty.path()).unwrap().left_out("www"), None);
    }

    #[test]
    fn requests_name_some_of_the_files_with_weights() {
        let www = www();
        let requests = "[[workload.request]]\nfile = 'index.html'\nweight = 9\n";
        let experiment = read(requests, www.path()).unwrap();
        let asked = &experiment.workloads()[0].requests;
        assert_eq!((asked.len(), asked[0].weight), (1, 9));
    }

    #[test]
    fn what_is_not_in_the_folder_is_a_mistake_with_its_line() {
        let www = www();
        let check = |requests: &str, why: &str| {
            let error = read(requests, www.path()).unwrap_err().to_string();
            assert!(
                error.starts_with("own.toml:") && error.contains(why),
                "{error}"
            );
        };
        let request = |file: &str| format!("[[workload.request]]\nfile = '{file}'\n");
        check(&request("missing.html"), "there is no file");
        check(&request("../secret"), "below the site's folder");
        let empty = tempfile::tempdir().unwrap();
        let error = read("", empty.path()).unwrap_err().to_string();
        assert!(error.contains("there is no file in this folder"), "{error}");
        let error = read("", &empty.path().join("no")).unwrap_err().to_string();
        assert!(error.contains("cannot read"), "{error}");
    }
}
