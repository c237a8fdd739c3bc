//! Embeds the folders of `servers/`: a new one needs no line of code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Asked as it runs: a checkout may have been moved since this was compiled.
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.ok_or_else(|| io::Error::other("cargo sets CARGO_MANIFEST_DIR"))?;
    let root = here.join("../../servers");
    let root = fs::canonicalize(&root)?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut text = String::from("&[\n");
    for folder in entries(&root)?.into_iter().filter(|path| path.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = String::new();
        for file in entries(&folder)?.into_iter().filter(|path| path.is_file()) {
            println!("cargo::rerun-if-changed={}", file.display());
            let (name, path) = (name_of(&file), file.display().to_string());
            // Writing to a String cannot fail.
            let _ok = write!(files, "({name:?}, include_str!({path:?})), ");
        }
        let _ok = writeln!(text, "    ({:?}, &[{files}]),", name_of(&folder));
    }
    text.push_str("]\n");
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(out.join("servers.rs"), text)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    found.retain(|path| !name_of(path).starts_with('.'));
    found.sort();
    Ok(found)
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
