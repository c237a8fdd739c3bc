//! Where results of probes lie: `results/probe/TIME/`, one file for each probe, written whole.

use std::fs;
use std::path::{Path, PathBuf};

use model::{Json as _, ProbeResult};

use super::{Doing as _, PROBES, ProbeError};
use crate::environment::rfc3339;
use crate::store::{folder_name, fresh_folder, write_whole};

/// A new folder below `root`, named after the time.
pub fn create(root: &Path) -> Result<PathBuf, ProbeError> {
    fs::create_dir_all(root).doing(|| format!("creating {}", root.display()))?;
    let stem = folder_name(&rfc3339(sys::clock::realtime()));
    fresh_folder(root, &stem).map_err(|error| ProbeError::Missing(error.to_string()))
}

/// The folders that [`create`] will make on the way to `root`, the innermost first.
pub fn missing(root: &Path) -> Vec<PathBuf> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    root.ancestors()
        .take_while(is_missing)
        .map(Path::to_owned)
        .collect()
}

/// Takes out a folder that holds no results, and those that were made for it.
pub fn discard(folder: &Path, made: &[PathBuf]) {
    for empty in std::iter::once(folder).chain(made.iter().map(PathBuf::as_path)) {
        // What is not empty stays.
        let _removed = fs::remove_dir(empty);
    }
}

/// Writes a result, or writes it again with more passes in it.
pub fn put(folder: &Path, result: &ProbeResult) -> Result<(), ProbeError> {
    let text = result
        .to_json()
        .map_err(std::io::Error::other)
        .doing(|| format!("writing down {}", result.label()))?;
    put_file(folder, &format!("{}.json", result.label()), text.as_bytes()).map(drop)
}

/// Writes any other file: the report.
pub fn put_file(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, ProbeError> {
    let path = folder.join(name);
    write_whole(&path, bytes).doing(|| format!("writing {}", path.display()))?;
    Ok(path)
}

/// The results at `path`, which is one file or a folder of them, in the order of the table.
pub fn read(path: &Path) -> Result<Vec<ProbeResult>, ProbeError> {
    let mut results = Vec::new();
    if path.is_dir() {
        let entries = fs::read_dir(path).doing(|| format!("reading {}", path.display()))?;
        for entry in entries {
            let file = entry
                .doing(|| format!("reading {}", path.display()))?
                .path();
            let json = file
                .extension()
                .is_some_and(|extension| extension == "json");
            // A folder may hold other documents too.
            if json && let Ok(result) = read_one(&file) {
                results.push(result);
            }
        }
    } else {
        results.push(read_one(path)?);
    }
    let place = |result: &ProbeResult| PROBES.iter().position(|one| one.name == result.probe);
    results.sort_by_key(|result| (place(result), result.label()));
    if results.is_empty() {
        return Err(ProbeError::Missing(format!(
            "{} holds no result of 'triathlon probe'",
            path.display()
        )));
    }
    Ok(results)
}

fn read_one(file: &Path) -> Result<ProbeResult, ProbeError> {
    let text = fs::read_to_string(file).doing(|| format!("reading {}", file.display()))?;
    ProbeResult::from_json(text.as_bytes())
        .map_err(std::io::Error::other)
        .doing(|| format!("{} is not a result of 'triathlon probe'", file.display()))
}
