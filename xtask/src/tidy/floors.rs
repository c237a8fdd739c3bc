//! The rule of floors, read from the manifests: who may import whom.

use super::{Complaints, Tree};

/// Each crate with its floor and what it may import. The architecture, as a table.
pub(super) const CRATES: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("wire", &["model"]),
    ("sys", &["model"]),
    ("load", &["model", "wire", "sys"]),
    ("origin", &["model", "wire", "sys"]),
    ("verdict", &["model"]),
    ("lab", &["model", "sys", "verdict"]),
    ("report", &["model", "verdict"]),
    ("fleet", &["model"]),
    (
        "triathlon",
        &[
            "model", "wire", "sys", "load", "origin", "verdict", "lab", "report", "fleet",
        ],
    ),
    ("xtask", &[]),
];

/// An entry of a manifest's dependency tables, with its line number.
struct Entry<'a> {
    line: usize,
    name: &'a str,
    written: &'a str,
}

/// Every import between our crates is in the table, and every other one is inherited.
pub(super) fn edges(tree: &Tree) -> Complaints {
    let mut complaints = Complaints::new();
    for (path, text) in tree {
        let Some(name) = crate_of_manifest(path) else {
            continue;
        };
        let Some((_, allowed)) = CRATES.iter().find(|(known, _)| *known == name) else {
            complaints.push(format!("{path}:1: crate '{name}' stands on no floor"));
            continue;
        };
        for entry in dependencies(text) {
            let ours = CRATES.iter().any(|(known, _)| *known == entry.name);
            if ours && !allowed.contains(&entry.name) {
                complaints.push(format!(
                    "{path}:{}: `{name}` may not import `{}`",
                    entry.line, entry.name
                ));
            }
            if !entry.written.replace(' ', "").contains("workspace=true") {
                complaints.push(format!(
                    "{path}:{}: '{}' must be inherited: {0}.workspace = true",
                    entry.line, entry.name
                ));
            }
        }
    }
    complaints
}

/// In the root manifest each dependency follows a comment.
pub(super) fn reasons(tree: &Tree) -> Complaints {
    let text = tree.get("Cargo.toml").map_or("", String::as_str);
    let mut complaints = Complaints::new();
    let mut inside = false;
    let mut explained = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('[') {
            inside = line.trim() == "[workspace.dependencies]";
            explained = false;
        } else if inside && line.starts_with('#') {
            explained = true;
        } else if inside && line.contains('=') && !line.starts_with([' ', ']', '}']) {
            let ours = line.contains("path = \"crates/");
            if !explained && !ours {
                complaints.push(format!("Cargo.toml:{number}: why is this here? {line}"));
            }
            explained = ours;
        }
    }
    complaints
}

/// Every crate but `sys` forbids `unsafe` at its root.
pub(super) fn forbid_unsafe(tree: &Tree) -> Complaints {
    tree.keys()
        .filter_map(|path| Some((path, crate_of_manifest(path)?)))
        .filter(|(_, name)| *name != "sys")
        .filter_map(|(path, name)| {
            let folder = path.strip_suffix("Cargo.toml")?;
            let roots = ["src/lib.rs", "src/main.rs"].map(|root| format!("{folder}{root}"));
            let forbidden = roots
                .iter()
                .filter_map(|root| tree.get(root))
                .all(|text| text.contains("#![forbid(unsafe_code)]"));
            (!forbidden).then(|| format!("{path}:1: `{name}` lacks #![forbid(unsafe_code)]"))
        })
        .collect()
}

/// `crates/x/Cargo.toml` is the manifest of `x`; `xtask/Cargo.toml` that of `xtask`.
fn crate_of_manifest(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    match folder.strip_prefix("crates/") {
        Some(name) if !name.contains('/') => Some(name),
        None if folder == "xtask" => Some(folder),
        _ => None,
    }
}

/// Entries of all dependency tables, development and build ones included.
fn dependencies(text: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            inside = table.trim_end_matches(']').ends_with("dependencies");
        } else if inside
            && !line.starts_with('#')
            && let Some((key, _)) = line.split_once('=')
        {
            entries.push(Entry {
                line: number,
                name: key.split('.').next().unwrap_or_default().trim(),
                written: line,
            });
        }
    }
    entries
}
