//! What cargo compiled for the tests, looked at again: lints and docs.
//!
//! `cargo clippy` and `cargo doc` check every dependency anew, for files that code is not made
//! from. Here this program stands before the compiler of the workspace's own crates and writes down
//! what it is told; lints and docs are told the same afterwards, and so take the dependencies that
//! the tests are made from. What has not changed since it was found right is not looked at again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::command::{Start, cargo, command, over};

/// Where what a compiler was told is written down, for whoever of us stands before it.
const RECORDS: &str = "XTASK_RECORDS";

/// How variables begin that cargo sets for a compiler, by itself or as our build scripts say.
const SET: [&str; 3] = ["CARGO", "OUT_DIR", "TRIATHLON_"];

/// One thing that cargo compiled, by its source and whether it is a test of it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Unit {
    /// The source that the compiler was given, from the workspace's folder.
    source: String,
    /// Whether it was compiled with its tests.
    is_test: bool,
    /// Whether it has docs: a library or a program.
    is_documented: bool,
}

impl Unit {
    /// What a message of cargo tells of something that is our own; none for others' and for what
    /// was not compiled.
    pub(super) fn of(message: &Value) -> Option<Self> {
        let target = &message["target"];
        let source = Path::new(target["src_path"].as_str()?);
        let source = source.strip_prefix(crate::root()).ok()?;
        let is_test = message["profile"]["test"] == true;
        let kinds = target["kind"].as_array()?;
        Some(Self {
            source: source.to_str()?.to_owned(),
            is_test,
            is_documented: !is_test && kinds.iter().any(|kind| kind == "lib" || kind == "bin"),
        })
    }

    /// The name of the file with what the compiler was told.
    fn record(&self) -> String {
        let source = self.source.replace('/', "+");
        let test = if self.is_test { "+test" } else { "" };
        format!("{source}{test}.json")
    }
}

/// Where records are.
fn records() -> PathBuf {
    crate::root().join("target/suite/told")
}

/// Cargo, with us before the compiler of our own crates.
pub(super) fn recording(arguments: &[&str]) -> Result<Command> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let records = records();
    fs::create_dir_all(&records).with_context(|| format!("cannot make {}", records.display()))?;
    let mut cargo = cargo(arguments);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", own);
    cargo.env(RECORDS, records);
    Ok(cargo)
}

/// The folder for records, where cargo has started us instead of a compiler.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os(RECORDS).map(PathBuf::from)
}

/// Writes down in `folder` what the compiler is told, and becomes the compiler. Returns where it
/// cannot.
pub(crate) fn compile(folder: &Path, words: &[String]) -> Result<()> {
    let (compiler, arguments) = words.split_first().context("no compiler was named")?;
    // Cargo asks other things of it, too.
    if let Some(unit) = told_of(arguments) {
        let of_cargo = |(name, _): &(String, String)| SET.iter().any(|set| name.starts_with(set));
        let environment: BTreeMap<String, String> = std::env::vars().filter(of_cargo).collect();
        let record = json!({
            "compiler": compiler, "arguments": arguments, "environment": environment,
        });
        let file = folder.join(unit.record());
        fs::write(&file, record.to_string())
            .with_context(|| format!("cannot write {}", file.display()))?;
        for look in [&LINTS, &DOCS] {
            let found = file.with_extension(look.passed);
            if found.exists() {
                fs::remove_file(&found)
                    .with_context(|| format!("cannot remove {}", found.display()))?;
            }
        }
    }
    let error = Command::new(compiler)
        .args(arguments)
        .env_remove(RECORDS)
        .exec();
    Err(error).with_context(|| format!("cannot start {compiler}"))
}

/// What is compiled with these arguments.
fn told_of(arguments: &[String]) -> Option<Unit> {
    let source = arguments
        .iter()
        .find(|word| word.ends_with(".rs") && !word.starts_with('-'))?;
    let is_cfg = |pair: &[String]| pair == ["--cfg", "test"];
    let source = Path::new(source);
    let source = source.strip_prefix(crate::root()).unwrap_or(source);
    Some(Unit {
        source: source.to_str()?.to_owned(),
        is_test: arguments.iter().any(|word| word == "--test") || arguments.windows(2).any(is_cfg),
        is_documented: false,
    })
}

/// A second look at what was compiled.
struct Look {
    title: &'static str,
    /// The ending of the file that says that nothing was found, beside the record.
    passed: &'static str,
    /// What is looked at.
    wanted: fn(&Unit) -> bool,
    /// The program that looks, with what the compiler was told, and where it may write.
    command: fn(&Told, &Path) -> Command,
}

const LINTS: Look = Look {
    title: "lints",
    passed: "linted",
    wanted: |_| true,
    command: |told, folder| {
        let mut driver = command(told.beside("clippy-driver"));
        driver.arg(&told.compiler).args(for_lints(&told.arguments));
        driver.arg("--emit=metadata").arg("--out-dir").arg(folder);
        // As `cargo clippy -- -Dwarnings` tells it.
        driver.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
        driver
    },
};

const DOCS: Look = Look {
    title: "docs",
    passed: "documented",
    wanted: |unit| unit.is_documented,
    command: |told, _| {
        let mut rustdoc = command(told.beside("rustdoc"));
        rustdoc.args(for_docs(&told.arguments));
        rustdoc.args(["--document-private-items", "-Dwarnings", "--out-dir"]);
        rustdoc.arg(crate::root().join("target/doc"));
        rustdoc
    },
};

/// Lints all of `units`; a warning is an error.
pub(super) fn lints(units: &[Unit]) -> Result<()> {
    look(&LINTS, units)
}

/// Makes the docs of `units`; a warning is an error.
pub(super) fn docs(units: &[Unit]) -> Result<()> {
    look(&DOCS, units)
}

/// What the compiler was told.
struct Told {
    compiler: PathBuf,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl Told {
    fn read(file: &Path) -> Result<Self> {
        let what = || format!("cannot read {}; `cargo clean` helps", file.display());
        let text = fs::read_to_string(file).with_context(what)?;
        let record: Value = serde_json::from_str(&text).with_context(what)?;
        let words = |name: &str| serde_json::from_value(record[name].clone()).with_context(what);
        Ok(Self {
            compiler: record["compiler"].as_str().with_context(what)?.into(),
            arguments: words("arguments")?,
            environment: serde_json::from_value(record["environment"].clone())
                .with_context(what)?,
        })
    }

    /// A program of the same toolchain.
    fn beside(&self, name: &str) -> PathBuf {
        self.compiler.with_file_name(name)
    }
}

/// What the compiler was told, but for what it was to write and how it was to speak.
fn for_lints(arguments: &[String]) -> Vec<&str> {
    const DROPPED: [&str; 3] = ["--emit=", "--error-format=", "--json="];
    let is_kept = |option: &[&str]| match option {
        ["--out-dir", _] => false,
        ["-C", setting] => !setting.starts_with("incremental="),
        [word] => !DROPPED.iter().any(|start| word.starts_with(start)),
        _ => true,
    };
    kept(arguments, is_kept)
}

/// The same without what is about code.
fn for_docs(arguments: &[String]) -> Vec<&str> {
    const DROPPED: [&str; 4] = ["--emit=", "--error-format=", "--json=", "-C"];
    let is_kept = |option: &[&str]| match option {
        ["--out-dir" | "-C", _] => false,
        [word] => !DROPPED.iter().any(|start| word.starts_with(start)),
        _ => true,
    };
    kept(arguments, is_kept)
}

/// Options that have their value in the next argument.
const WITH_VALUE: [&str; 8] = [
    "--cap-lints",
    "--cfg",
    "--check-cfg",
    "--crate-name",
    "--crate-type",
    "--extern",
    "--out-dir",
    "-L",
];

/// The arguments of those options that `is_kept` wants.
fn kept(arguments: &[String], is_kept: impl Fn(&[&str]) -> bool) -> Vec<&str> {
    let mut words = arguments.iter().map(String::as_str);
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let mut option = vec![word];
        if word == "-C" || WITH_VALUE.contains(&word) {
            option.extend(words.next());
        }
        if is_kept(&option) {
            all.extend(option);
        }
    }
    all
}

/// Looks at what has changed since it was found right, as many at a time as there are CPUs.
fn look(look: &Look, units: &[Unit]) -> Result<()> {
    println!("== {}", look.title);
    let start = Start::now();
    let rules = fs::read_to_string(crate::root().join("clippy.toml")).context("no clippy.toml")?;
    let folder = records().join("metadata");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let wanted = units.iter().filter(|unit| (look.wanted)(unit));
    let queue = Mutex::new(wanted);
    let next = || queue.lock().expect("nobody panics with it").next();
    let work = || -> Result<u32> {
        let mut failed = 0;
        while let Some(unit) = next() {
            let file = records().join(unit.record());
            let passed = file.with_extension(look.passed);
            if fs::read_to_string(&passed).is_ok_and(|text| text == rules) {
                continue;
            }
            let told = Told::read(&file)?;
            let mut command = (look.command)(&told, &folder);
            // Whom it names to share CPUs with is gone.
            command
                .envs(&told.environment)
                .env_remove("CARGO_MAKEFLAGS");
            let status = command.status();
            let status =
                status.with_context(|| format!("cannot start {:?}", command.get_program()))?;
            if status.success() {
                fs::write(&passed, &rules)
                    .with_context(|| format!("cannot write {}", passed.display()))?;
            } else {
                failed += 1;
            }
        }
        Ok(failed)
    };
    let failed = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .sum::<Result<u32>>()
    })?;
    if failed > 0 {
        bail!("{} failed", look.title);
    }
    over(look.title, start);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    const TOLD: &str = "--crate-name model --edition=2024 crates/model/src/lib.rs \
        --error-format=json --json=artifacts --emit=dep-info,metadata,link --warn=clippy::use_self \
        -C opt-level=1 -C incremental=/t/i -Cpanic=abort --cfg unix --out-dir /t -L dependency=/t \
        --extern serde=/t/libserde.rmeta";

    #[test]
    fn lints_and_docs_are_told_what_the_compiler_was_told() {
        let told = words(TOLD);
        let lints = "--crate-name model --edition=2024 crates/model/src/lib.rs \
            --warn=clippy::use_self -C opt-level=1 -Cpanic=abort --cfg unix -L dependency=/t \
            --extern serde=/t/libserde.rmeta";
        assert_eq!(for_lints(&told), words(lints));
        let docs = "--crate-name model --edition=2024 crates/model/src/lib.rs \
            --warn=clippy::use_self --cfg unix -L dependency=/t --extern serde=/t/libserde.rmeta";
        assert_eq!(for_docs(&told), words(docs));
    }

    #[test]
    fn what_cargo_tells_and_what_the_compiler_is_told_have_one_record() {
        let check = |kind: &str, source: &str, test: &str, record: &str, is_documented: bool| {
            let path = crate::root().join(source);
            let message = json!({
                "target": {"kind": [kind], "src_path": path}, "profile": {"test": !test.is_empty()},
            });
            let unit = Unit::of(&message).unwrap();
            assert_eq!(
                (unit.record().as_str(), unit.is_documented),
                (record, is_documented)
            );
            let told = words(&format!(
                "--crate-name x --edition=2024 {source} {test} -C a=b"
            ));
            assert_eq!(told_of(&told).unwrap().record(), record);
        };
        let library = "crates/a/src/lib.rs";
        check("lib", library, "", "crates+a+src+lib.rs.json", true);
        check(
            "lib",
            library,
            "--test",
            "crates+a+src+lib.rs+test.json",
            false,
        );
        let bench = "crates/a/benches/b.rs";
        check(
            "bench",
            bench,
            "--cfg test",
            "crates+a+benches+b.rs+test.json",
            false,
        );
        check(
            "bin",
            "xtask/src/main.rs",
            "",
            "xtask+src+main.rs.json",
            true,
        );
        assert_eq!(
            told_of(&words("- --crate-name ___ --print=file-names")),
            None
        );
        let other = json!({"target": {"kind": ["lib"], "src_path": "/other/src/lib.rs"}});
        assert_eq!(Unit::of(&other), None);
    }
}
