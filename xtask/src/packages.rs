//! What the full test suite needs beside Rust: the real web servers, the peers, a browser.
//!
//! On Debian and its kin they are installed by name. Services stay stopped: a `policy-rc.d` that
//! forbids their start is in place while apt works, and what stood there before is put back.

use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::command::{command, output, step};

/// Debian packages that belong together, with the program that proves they are there and what it
/// is for.
const PACKAGES: &[(&str, &str, &str)] = &[
    (
        "nginx",
        "nginx",
        "a server under test, and the second opinion on our counts",
    ),
    ("apache2", "apache2", "a server under test"),
    ("lighttpd", "lighttpd", "a server under test"),
    ("h2o", "h2o", "a server under test"),
    ("caddy", "caddy", "a server under test"),
    ("varnish", "varnishd", "a cache under test"),
    ("haproxy", "haproxy", "a proxy under test"),
    ("trafficserver", "traffic_server", "a cache under test"),
    ("mini-httpd", "mini_httpd", "a server under test"),
    ("mighttpd2", "mighty", "a server under test"),
    ("webfs", "webfsd", "a server under test"),
    (
        "jetty9",
        "/usr/share/jetty9/start.jar",
        "a server under test, in Java",
    ),
    (
        "libapache2-mod-perl2",
        "/usr/lib/apache2/modules/mod_perl.so",
        "answers inside Apache",
    ),
    (
        "libnginx-mod-http-perl",
        "/usr/lib/nginx/modules/ngx_http_perl_module.so",
        "answers inside nginx",
    ),
    (
        "libnginx-mod-http-js",
        "/usr/lib/nginx/modules/ngx_http_js_module.so",
        "answers inside nginx",
    ),
    ("fcgiwrap", "fcgiwrap", "starts programs for nginx (CGI)"),
    ("php8.2-fpm", "php-fpm8.2", "answers by FastCGI"),
    (
        "libapache2-mpm-itk",
        "/usr/lib/apache2/modules/mpm_itk.so",
        "a way in which Apache shares its work",
    ),
    (
        "tomcat10",
        "/usr/share/tomcat10/bin/catalina.sh",
        "a server under test, in Java",
    ),
    (
        "lighttpd-mod-openssl",
        "/usr/lib/lighttpd/mod_openssl.so",
        "TLS for lighttpd",
    ),
    (
        "lighttpd-modules-lua",
        "/usr/lib/lighttpd/mod_magnet.so",
        "answers inside lighttpd",
    ),
    ("wrk", "wrk", "a stranger that drives origin"),
    ("apache2-utils", "ab", "a stranger that drives origin"),
    ("nghttp2-client", "h2load", "a stranger that drives origin"),
    (
        "nghttp2-server",
        "nghttpd",
        "a stranger that `load` drives over HTTP/2",
    ),
    ("hey", "hey", "a stranger whose output ours is held against"),
    ("curl", "curl", "a stranger that drives origin"),
    ("nats-server", "nats-server", "the broker of agents"),
    ("python3", "python3", "a stranger that drives origin"),
    (
        "python3-pip",
        "pip3",
        "brings the strangers that Debian lacks",
    ),
    ("chromium", "chromium", "opens reports as a reader would"),
    ("poppler-utils", "pdftoppm", "looks at printed reports"),
    ("iproute2", "ip", "network namespaces for tests"),
    ("strace", "strace", "counts the generator's system calls"),
    (
        "gcc libc6-dev",
        "cc",
        "builds the small programs that probes compare themselves with",
    ),
];

/// Python's packages that Debian lacks, at the version that the tests were written for: the
/// requirement, the folder that proves it is there, and what it is for.
const PYTHON_PACKAGES: &[(&str, &str, &str)] = &[
    (
        "aioquic==1.7.2",
        "aioquic",
        "a stranger over HTTP/3, on both sides",
    ),
    ("h2==4.4.1", "h2", "a client of HTTP/2"),
    ("httpx==0.28.1", "httpx", "a client of HTTP/2, above h2"),
];

/// Debian packages that are unpacked and never installed, the program that proves that they are
/// there, and what it is for. Installed, chrony takes the place of what keeps the machine's clock:
/// it conflicts with every other package that does.
const UNPACKED: &[(&str, &str, &str)] = &[(
    "chrony",
    "usr/sbin/chronyd",
    "keeps a clock that is asked for, and sets none",
)];

/// The services that these packages bring.
const SERVICES: [&str; 17] = [
    "nginx",
    "apache2",
    "lighttpd",
    "h2o",
    "caddy",
    "varnish",
    "varnishncsa",
    "haproxy",
    "trafficserver",
    "mini-httpd",
    "nats-server",
    "webfs",
    "jetty9",
    "fcgiwrap.service",
    "fcgiwrap.socket",
    "php8.2-fpm",
    "tomcat10",
];

/// Programs that Debian puts where a plain PATH does not look.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// What is missing and is to be installed.
pub(crate) struct Wanted {
    /// Debian's packages.
    debian: Vec<&'static str>,
    /// Requirements of Python's packages.
    python: Vec<&'static str>,
    /// Debian's packages that are not to be installed.
    unpacked: Vec<&'static str>,
}

/// Finds what is missing and may be installed, for which it asks unless told to; names it
/// elsewhere. A password that is needed is asked for here, and not amid what else is printed.
pub(crate) fn wanted(install: bool) -> Result<Wanted> {
    let missing: Vec<_> = PACKAGES
        .iter()
        .filter(|(_, program, _)| find(program).is_none())
        .collect();
    let of_python: Vec<_> = PYTHON_PACKAGES
        .iter()
        .filter(|(_, folder, _)| !strangers().join(folder).is_dir())
        .collect();
    let to_unpack: Vec<_> = UNPACKED
        .iter()
        .filter(|(package, program, _)| !unpacked(package).join(program).is_file())
        .filter(|(_, program, _)| find(name_of(program)).is_none())
        .collect();
    let mut wanted = Wanted {
        debian: Vec::new(),
        python: Vec::new(),
        unpacked: Vec::new(),
    };
    if missing.is_empty() && of_python.is_empty() && to_unpack.is_empty() {
        return Ok(wanted);
    }
    println!("Missing for the full test suite:");
    for (package, program, purpose) in missing.iter().chain(&of_python).chain(&to_unpack) {
        println!("  {package:<16} {program}: {purpose}");
    }
    let has_apt = missing.is_empty() && to_unpack.is_empty() || find("apt-get").is_some();
    if !has_apt {
        println!("This system has no apt; install them by its own means, under their names here.");
    }
    if !install && !agreed()? {
        println!("Going on without them: the tests that need them are listed as not run.");
        return Ok(wanted);
    }
    if has_apt && !missing.is_empty() {
        finish(&mut privileged("true"), "install packages")?;
        let names = missing.iter().flat_map(|(names, ..)| names.split(' '));
        wanted.debian.extend(names);
    }
    let requirements = of_python.iter().map(|(requirement, ..)| requirement);
    wanted.python.extend(requirements);
    if has_apt {
        let names = to_unpack.iter().map(|(package, ..)| package);
        wanted.unpacked.extend(names);
    }
    Ok(wanted)
}

impl Wanted {
    /// Installs it.
    pub(crate) fn install(&self) -> Result<()> {
        if !self.debian.is_empty() {
            install_packages(&self.debian)?;
        }
        for requirement in &self.python {
            install_python(requirement);
        }
        for package in &self.unpacked {
            unpack(package);
        }
        Ok(())
    }
}

/// Where Python's packages are put: nothing of the system's is touched.
fn strangers() -> PathBuf {
    crate::root().join("target/strangers")
}

/// The tests that need one that cannot be had are listed as not run.
fn install_python(requirement: &str) {
    let mut pip = command("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--target"])
        .arg(strangers())
        .arg(requirement);
    if step(requirement, &mut pip).is_err() {
        println!("{requirement} could not be installed");
    }
}

/// Where a package is that is not installed.
fn unpacked(package: &str) -> PathBuf {
    crate::root().join("target/unpacked").join(package)
}

/// The name of a program at this path.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Fetches a package and unpacks it; nothing of the system is touched, and none of its scripts
/// runs. Tests that need one that cannot be had are listed as not run.
fn unpack(package: &str) {
    let folder = unpacked(package);
    let script = "apt-get -o Acquire::Retries=3 -qq download \"$1\" && dpkg -x \"$1\"_*.deb .";
    let mut shell = command("sh");
    shell
        .args(["-c", script, "sh", package])
        .current_dir(&folder);
    let made = fs::create_dir_all(&folder).is_ok();
    if !made || step(package, &mut shell).is_err() {
        println!("{package} could not be unpacked");
    }
}

/// Where a program is, if it is anywhere.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

fn agreed() -> Result<bool> {
    print!("Install them now with apt-get and pip, services not started? [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn install_packages(names: &[&str]) -> Result<()> {
    let quiet = Quiet::begin()?;
    let services = running_units();
    let refresh = ["-o", "Acquire::Retries=3", "-qq", "update"];
    // A mirror that is down for one source must not stop what the others can give.
    if let Err(error) = step("apt-get update", apt().args(refresh)) {
        println!("{error:#}; trying with the lists that are there");
    }
    let how = [
        "-o",
        "Acquire::Retries=3",
        "-o",
        "Dpkg::Use-Pty=0",
        "-qq",
        "--yes",
        "--no-install-recommends",
        "install",
    ];
    if step("apt-get install", apt().args(how).args(names)).is_err() {
        // One package that this release lacks must not cost us the others.
        for name in names {
            if step(name, apt().args(how).arg(name)).is_err() {
                println!("{name} could not be installed");
            }
        }
    }
    leave_disabled(&services);
    quiet.end()
}

/// `apt-get`, as root, asking nothing.
fn apt() -> Command {
    let mut apt = privileged("env");
    apt.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    apt
}

fn is_root() -> bool {
    output(command("id").arg("-u")).as_deref() == Some("0")
}

fn privileged(program: &str) -> Command {
    if is_root() {
        return command(program);
    }
    let mut sudo = command("sudo");
    sudo.arg(program);
    sudo
}

/// The servers' units that are enabled, so that the others can be disabled again.
fn running_units() -> Vec<&'static str> {
    SERVICES
        .into_iter()
        .filter(|unit| output(command("systemctl").args(["is-enabled", unit])).is_some())
        .collect()
}

/// A package enables its service for the next boot; one that was not there before stays off.
fn leave_disabled(before: &[&str]) {
    if !Path::new("/run/systemd/system").exists() {
        return;
    }
    for unit in running_units() {
        if !before.contains(&unit) {
            let disabled = output(privileged("systemctl").args(["disable", "--quiet", unit]));
            if disabled.is_none() {
                println!("{unit} is enabled for the next boot: sudo systemctl disable {unit}");
            }
        }
    }
}

/// Keeps packages from starting services while it lives: Debian's `policy-rc.d`.
struct Quiet {
    /// What stood there before, moved aside.
    aside: Option<PathBuf>,
}

impl Quiet {
    const POLICY: &str = "/usr/sbin/policy-rc.d";

    fn begin() -> Result<Self> {
        let policy = Path::new(Self::POLICY);
        let aside = policy.with_extension("d.aside");
        // One that lies aside already was left there by a run that was killed: it is the one to
        // put back, and what stands in its place is ours.
        if policy.exists() && !aside.exists() {
            privileged_move(policy, &aside)?;
        }
        let aside = aside.exists().then_some(aside);
        let own = std::env::temp_dir().join(format!("policy-rc.d.{}", std::process::id()));
        fs::write(&own, "#!/bin/sh\nexit 101\n").context("cannot write policy-rc.d")?;
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755))?;
        privileged_move(&own, policy)?;
        Ok(Self { aside })
    }

    fn end(self) -> Result<()> {
        let policy = Path::new(Self::POLICY);
        match &self.aside {
            Some(aside) => privileged_move(aside, policy),
            None => finish(privileged("rm").arg(policy), "remove policy-rc.d"),
        }
    }
}

fn privileged_move(from: &Path, to: &Path) -> Result<()> {
    finish(privileged("mv").arg(from).arg(to), "set policy-rc.d")
}

fn finish(command: &mut Command, what: &str) -> Result<()> {
    if !command.status().is_ok_and(|status| status.success()) {
        bail!("cannot {what}; run as root or where sudo is allowed");
    }
    Ok(())
}
