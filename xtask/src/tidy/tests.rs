use super::*;

/// A tree of the given files.
fn tree(files: &[(&str, &str)]) -> Tree {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

/// `rule` complains about these files exactly at these places (`path:line`).
fn check(rule: fn(&Tree) -> Complaints, files: &[(&str, &str)], expected: &[&str]) {
    let complaints = rule(&tree(files));
    let places: Vec<String> = complaints
        .iter()
        .map(|complaint| {
            complaint
                .splitn(3, ':')
                .take(2)
                .collect::<Vec<_>>()
                .join(":")
        })
        .collect();
    assert_eq!(places, expected, "{complaints:#?}");
}

#[test]
fn imports_go_down_only() {
    let manifest = "[dependencies]\nmodel.workspace = true\n";
    check(floors::edges, &[("crates/wire/Cargo.toml", manifest)], &[]);
    let upward = "[dependencies]\nmodel.workspace = true\nload = { workspace = true }\n";
    check(
        floors::edges,
        &[("crates/wire/Cargo.toml", upward)],
        &["crates/wire/Cargo.toml:3"],
    );
    let sideways = "[package]\nname = \"lab\"\n[dev-dependencies]\nreport.workspace = true\n";
    check(
        floors::edges,
        &[("crates/lab/Cargo.toml", sideways)],
        &["crates/lab/Cargo.toml:4"],
    );
    let by_target = "[target.'cfg(unix)'.dependencies]\nsys.workspace = true\n";
    check(
        floors::edges,
        &[("crates/verdict/Cargo.toml", by_target)],
        &["crates/verdict/Cargo.toml:2"],
    );
}

#[test]
fn a_crate_nobody_knows_and_a_version_of_its_own_are_refused() {
    check(
        floors::edges,
        &[
            ("crates/attic/Cargo.toml", "[package]\n"),
            ("crates/wire/Cargo.toml", "[dependencies]\nmemchr = \"2\"\n"),
            (
                "fuzz/Cargo.toml",
                "[dependencies]\nlibfuzzer-sys = \"0.4\"\n",
            ),
        ],
        &["crates/attic/Cargo.toml:1", "crates/wire/Cargo.toml:2"],
    );
}

#[test]
fn dependencies_say_why() {
    let good = "[workspace.dependencies]\n# ours\nload = { path = \"crates/load\" }\n\
                # searching\nmemchr = \"2\"\n";
    check(floors::reasons, &[("Cargo.toml", good)], &[]);
    let bad = "[workspace.dependencies]\n# searching\nmemchr = \"2\"\nrand = \"1\"\n";
    check(floors::reasons, &[("Cargo.toml", bad)], &["Cargo.toml:4"]);
}

#[test]
fn unsafe_is_forbidden_everywhere_but_in_sys() {
    check(
        floors::forbid_unsafe,
        &[
            ("crates/sys/Cargo.toml", ""),
            ("crates/sys/src/lib.rs", "//! Kernel.\n"),
            ("crates/wire/Cargo.toml", ""),
            (
                "crates/wire/src/lib.rs",
                "//! Wire.\n#![forbid(unsafe_code)]\n",
            ),
            ("crates/load/Cargo.toml", ""),
            ("crates/load/src/lib.rs", "//! Load.\n"),
        ],
        &["crates/load/Cargo.toml:1"],
    );
}

#[test]
fn sizes_and_widths() {
    let long = "x\n".repeat(501);
    check(
        sources::sizes,
        &[
            ("a/src/fits.rs", &"x\n".repeat(500)),
            ("a/src/long.rs", &long),
            ("a/src/long/tests.rs", &long),
            ("a/tests/it/main.rs", &long),
        ],
        &["a/src/long.rs:500"],
    );
    let wide = format!("ä{}\n", "x".repeat(99));
    let wider = format!("\n{}\n", "x".repeat(101));
    let table = format!("|{}|\n", "x".repeat(120));
    let markup = format!("\"<p>{}</p>\"\n", "x".repeat(120));
    let sentence = format!("\"{}\"\n", "x".repeat(120));
    check(
        sources::columns,
        &[
            ("a.rs", &wide),
            ("b.rs", &wider),
            ("c.md", &table),
            ("d.md", &wider),
            ("e.rs", &markup),
            ("f.rs", &sentence),
            ("f/tests.rs", &sentence),
        ],
        &["b.rs:2", "d.md:2", "f.rs:1"],
    );
}

#[test]
fn what_files_begin_with_and_must_not_contain() {
    check(
        sources::headers,
        &[
            ("a.rs", "//! What.\n"),
            ("b.rs", "use std::fs;\n"),
            ("b/tests.rs", "use super::*;\n"),
        ],
        &["b.rs:1"],
    );
    let ignored = format!("//! What.\n#[ig{}]\n", "nore");
    check(sources::leftovers, &[("a.rs", &ignored)], &["a.rs:2"]);
    let path = format!("see\n/ho{}/x\n", "me");
    check(sources::machine_paths, &[("a.md", &path)], &["a.md:2"]);
}

#[test]
fn a_test_does_not_leave_without_a_word() {
    let within = |body: &str| format!("#[test]\nfn a() {{\n{body}}}\n");
    let silent = within("    if !has_nginx() {\n        return;\n    }\n");
    let or_else = within("    let Some(x) = x else {\n        // Why.\n        return;\n    };\n");
    let short = within("    if !has_nginx() { return; }\n");
    let loud = within("    if !has() {\n        return not_run(\"no nginx\");\n    }\n");
    let asked = within("    let Some([x]) = need(name, [\"x\"]) else {\n        return;\n    };\n");
    let helper = "fn serve() {\n    if is_closed() {\n        return;\n    }\n}\n";
    check(
        sources::silent_tests,
        &[
            ("a/tests.rs", &silent),
            ("a.rs", &silent),
            ("b/tests.rs", &or_else),
            ("c/tests/it/c.rs", &short),
            ("d/tests.rs", &loud),
            ("e/tests.rs", &asked),
            ("f/tests.rs", helper),
        ],
        &["a/tests.rs:4", "b/tests.rs:5", "c/tests/it/c.rs:3"],
    );
}

#[test]
fn documents_have_one_title() {
    check(
        documents::headings,
        &[
            ("a.md", "# Title\n\n```sh\n# a comment\n```\n"),
            ("b.md", "# Title\n\n# Another\n"),
            ("c.md", "no title\n"),
        ],
        &["b.md:1", "c.md:1"],
    );
}

#[test]
fn decisions_are_numbered_and_complete() {
    let body = "\n## Context\n\n## Decision\n\n## Alternatives rejected\n\n## Consequences\n";
    let first = format!("# 0001: Records\n{body}");
    let second = format!("# 0002: Threads\n{body}");
    let wrong = format!("# 0003: Threads\n{body}");
    check(
        documents::decisions,
        &[
            ("docs/adr/0001-records.md", &first),
            ("docs/adr/0002-threads.md", &second),
        ],
        &[],
    );
    check(
        documents::decisions,
        &[
            ("docs/adr/0001-records.md", &first),
            ("docs/adr/0003-threads.md", &wrong),
        ],
        &["docs/adr/0003-threads.md:1", "docs/adr/0003-threads.md:1"],
    );
    check(
        documents::decisions,
        &[(
            "docs/adr/0001-records.md",
            "# 0001: Records\n\n## Context\n",
        )],
        &["docs/adr/0001-records.md:1"],
    );
}

#[test]
fn the_map_has_every_crate_with_its_invariants() {
    let map = "# Map\n\n### `wire`\n\n**Invariant:** no I/O.\n\n### `sys`\n\nThe kernel.\n";
    check(
        documents::map,
        &[
            ("ARCHITECTURE.md", map),
            ("crates/wire/Cargo.toml", ""),
            ("crates/sys/Cargo.toml", ""),
            ("crates/load/Cargo.toml", ""),
        ],
        &["ARCHITECTURE.md:1", "ARCHITECTURE.md:1"],
    );
}

#[test]
fn this_tree_is_tidy() {
    let complaints = all(&read(&crate::root()).unwrap());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
