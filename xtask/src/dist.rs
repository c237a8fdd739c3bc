//! `cargo xtask dist`: a static binary with its man pages, completions, licences and documents, as
//! an archive and as a Debian package.
//!
//! The binary is linked with a static glibc, so that it runs on any Linux of the same processor.
//! glibc resolves names from files and by DNS without shared libraries since version 2.34.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::command::{cargo, command, output, step};

/// Where a package and an archive are put together.
const STAGE: &str = "target/dist";

/// What is installed, from the workspace or the folder of generated files (`generated/`), and where
/// to in a Debian system; a source that ends in `*` is every file that begins so.
const FILES: &[(&str, &str)] = &[
    ("generated/man1/*", "usr/share/man/man1"),
    (
        "generated/triathlon.bash",
        "usr/share/bash-completion/completions/triathlon",
    ),
    (
        "generated/_triathlon",
        "usr/share/zsh/vendor-completions/_triathlon",
    ),
    (
        "generated/triathlon.fish",
        "usr/share/fish/vendor_completions.d/triathlon.fish",
    ),
    ("README.md", "usr/share/doc/triathlon/README.md"),
    ("METHODOLOGY.md", "usr/share/doc/triathlon/METHODOLOGY.md"),
    ("CHANGELOG.md", "usr/share/doc/triathlon/changelog"),
    ("LICENSE-APACHE", "usr/share/doc/triathlon/LICENSE-APACHE"),
    ("LICENSE-MIT", "usr/share/doc/triathlon/copyright"),
    ("experiments/*", "usr/share/doc/triathlon/examples"),
];

/// Runs it. With `--try`, the package is installed in a clean Debian root and the program runs
/// there.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let tried = match arguments {
        [] => false,
        [flag] if flag == "--try" => true,
        _ => bail!("usage: cargo xtask dist [--try]"),
    };
    let host = host()?;
    let program = build(&host)?;
    let generated = generate(&program)?;
    let archive = archive(&host, &program, &generated)?;
    let package = package(&program, &generated)?;
    println!("{}\n{}", archive.display(), package.display());
    if tried {
        try_in_a_clean_root(&package)?;
    }
    Ok(())
}

fn host() -> Result<String> {
    let rustc = output(command("rustc").arg("-vV")).context("cannot ask rustc for its host")?;
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// The static binary. `--target` keeps the flags from programs that run during the build.
fn build(host: &str) -> Result<PathBuf> {
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" -C target-feature=+crt-static -C strip=debuginfo");
    let mut build = cargo(&["build", "--release", "--locked", "--package=triathlon"]);
    build
        .args(["--target", host])
        .env("RUSTFLAGS", flags.trim());
    step("static binary", &mut build)?;
    let program = crate::root().join(format!("target/{host}/release/triathlon"));
    let kind = output(command("ldd").arg(&program));
    // ldd fails for a static binary, or says so, as its version has it.
    if kind.is_some_and(|said| said.contains("=>")) {
        bail!("{} needs shared libraries", program.display());
    }
    Ok(program)
}

fn generate(program: &Path) -> Result<PathBuf> {
    let folder = fresh("generated")?;
    step(
        "man pages and completions",
        command(program).arg("generate").arg(&folder),
    )?;
    Ok(folder)
}

/// An empty folder below the stage.
fn fresh(name: &str) -> Result<PathBuf> {
    let folder = crate::root().join(STAGE).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn archive(host: &str, program: &Path, generated: &Path) -> Result<PathBuf> {
    let name = format!("triathlon-{}-{host}", version()?);
    let stage = fresh(&name)?;
    copy(program, &stage.join("triathlon"))?;
    for (source, target) in FILES {
        let target = target.trim_start_matches("usr/share/");
        let target = target.trim_start_matches("doc/triathlon/");
        copy_all(generated, source, &stage.join(target))?;
    }
    let archive = crate::root().join(format!("target/{name}.tar.gz"));
    let mut tar = command("tar");
    tar.args(["--create", "--gzip", "--owner=0", "--group=0", "--file"])
        .arg(&archive)
        .arg("--directory")
        .arg(crate::root().join(STAGE))
        .arg(&name);
    step("archive", &mut tar)?;
    Ok(archive)
}

fn package(program: &Path, generated: &Path) -> Result<PathBuf> {
    let architecture = output(command("dpkg").arg("--print-architecture"))
        .context("cannot ask dpkg for the architecture; a package is made on Debian and its kin")?;
    let version = version()?;
    let stage = fresh("debian")?;
    copy(program, &stage.join("usr/bin/triathlon"))?;
    for (source, target) in FILES {
        copy_all(generated, source, &stage.join(target))?;
    }
    let pages = sorted(&stage.join("usr/share/man/man1"))?;
    let changes = stage.join("usr/share/doc/triathlon/changelog");
    let mut gzip = command("gzip");
    gzip.arg("-9n").args(pages).arg(changes);
    step("compressed pages", &mut gzip)?;
    let kilobytes = size(&stage)?.div_ceil(1_024);
    let control = format!(
        "Package: triathlon\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The Triathlon authors <triathlon@localhost>\n\
         Installed-Size: {kilobytes}\n\
         Section: web\n\
         Priority: optional\n\
         Suggests: nginx, apache2, lighttpd\n\
         Description: web-server benchmarks that can be defended\n \
         A load generator that checks every answer and knows its own ceiling, a lab that\n \
         starts, pins, drives and meters real web servers, an embedded web server to\n \
         calibrate against, and a verdict on every result.\n"
    );
    let folder = stage.join("DEBIAN");
    fs::create_dir_all(&folder).context("cannot make DEBIAN")?;
    fs::write(folder.join("control"), control).context("cannot write DEBIAN/control")?;
    let package = crate::root().join(format!("target/triathlon_{version}_{architecture}.deb"));
    let mut build = command("dpkg-deb");
    build
        .args(["--build", "--root-owner-group"])
        .arg(&stage)
        .arg(&package);
    step("Debian package", &mut build)?;
    Ok(package)
}

/// Installs the package in a Debian root that holds nothing else, and runs the program there: as
/// root, for a root file system needs device files.
fn try_in_a_clean_root(package: &Path) -> Result<()> {
    if output(command("mmdebstrap").arg("--version")).is_none() {
        bail!("--try needs mmdebstrap: apt install mmdebstrap");
    }
    let root = fresh("root")?;
    let release = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let release = release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .context("/etc/os-release names no release")?;
    let mut bootstrap = command("mmdebstrap");
    bootstrap.args(["--variant=minbase", release]).arg(&root);
    step("clean root", &mut bootstrap)?;
    copy(package, &root.join("triathlon.deb"))?;
    let script = "\
        set -e\n\
        dpkg --install /triathlon.deb\n\
        triathlon --version\n\
        test -e /usr/share/man/man1/triathlon-load.1.gz || \
            grep -q path-exclude /etc/dpkg/dpkg.cfg.d/*\n\
        mkdir /site && echo hello > /site/index.html\n\
        triathlon serve /site --listen 127.0.0.1:0 > /said & server=$!\n\
        until grep -q http /said; do kill -0 $server; done\n\
        url=$(grep -o 'http://[^ ]*' /said | head -n 1)\n\
        triathlon load $url -n 100 -c 2 || test $? = 3\n\
        kill $server\n\
        dpkg --remove triathlon\n";
    let mut inside = command("chroot");
    inside.arg(&root).args(["sh", "-c", script]);
    step("install and run in the clean root", &mut inside)?;
    fs::remove_dir_all(&root).context("cannot remove the clean root")
}

fn version() -> Result<String> {
    let text = fs::read_to_string(crate::root().join("Cargo.toml"))?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("version = \""))
        .and_then(|rest| rest.strip_suffix('"'));
    Ok(version.context("Cargo.toml names no version")?.to_owned())
}

/// Copies what `source` names to `target`, or into it.
fn copy_all(generated: &Path, source: &str, target: &Path) -> Result<()> {
    let path = match source.strip_prefix("generated/") {
        Some(rest) => generated.join(rest),
        None => crate::root().join(source),
    };
    if !source.ends_with('*') {
        return copy(&path, target);
    }
    let folder = path.parent().context("a file is in a folder")?;
    for file in sorted(folder)? {
        let name = file.file_name().context("a file has a name")?;
        copy(&file, &target.join(name))?;
    }
    Ok(())
}

fn copy(source: &Path, target: &Path) -> Result<()> {
    let folder = target.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::copy(source, target)
        .with_context(|| format!("cannot copy {} to {}", source.display(), target.display()))?;
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()));
    let mut files = entries?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

/// Bytes of all files below `folder`.
fn size(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        sum += if meta.is_dir() {
            size(&entry.path())?
        } else {
            meta.len()
        };
    }
    Ok(sum)
}
