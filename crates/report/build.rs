//! Finds the ECharts script in the source of the crate `charming` and hands it to the compiler.
//!
//! Cargo has unpacked that crate before this runs, because `report` depends on it; so neither a
//! network nor another package manager is needed. It lies in Cargo's registry, or, where the
//! registry was replaced (`cargo vendor`, a patch), where Cargo says.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the script lies in the crate's source.
const ASSET: &str = "src/asset/echarts-5.5.1.min.js";

/// The crate that carries it.
const CRATE: &str = "charming-0.6.0";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Some(source) = in_registry().or_else(by_metadata) else {
        println!(
            "cargo::error=the ECharts script ({ASSET}) of the crate {CRATE} was found neither in \
             Cargo's registry nor by `cargo metadata`; run `cargo fetch` and build again"
        );
        return;
    };
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rustc-env=ECHARTS_SCRIPT={}", source.display());
}

/// Looks through the registries that Cargo has unpacked.
fn in_registry() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let user: OsString = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"))?;
        Some(Path::new(&user).join(".cargo"))
    })?;
    fs::read_dir(home.join("registry").join("src"))
        .ok()?
        .filter_map(Result::ok)
        .map(|registry| registry.path().join(CRATE).join(ASSET))
        .find(|path| path.is_file())
}

/// Asks Cargo where the crate's manifest is.
fn by_metadata() -> Option<PathBuf> {
    let output = Command::new(env::var_os("CARGO")?)
        .args(["metadata", "--format-version", "1", "--offline"])
        .arg("--filter-platform")
        .arg(env::var_os("TARGET")?)
        .arg("--manifest-path")
        .arg(Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("Cargo.toml"))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    // One path is wanted of a large document: the one that ends with the asset's own crate.
    text.split('"')
        .filter(|text| text.ends_with("Cargo.toml"))
        .filter_map(|manifest| Some(Path::new(manifest).parent()?.join(ASSET)))
        .find(|path| path.is_file())
}
