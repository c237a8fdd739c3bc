//! Apache httpd with the event MPM: processes of threads, enough for every connection.
//!
//! A process of the event MPM stops accepting when its connections outnumber its threads and twice
//! its idle ones, and closes keep-alive connections early when all are busy. The tuned preset has
//! a thread for each connection in each process, so that a point measures the server and not that
//! rule; all of them are started at once, or the first minute would measure forking.

use std::path::{Path, PathBuf};

use model::experiment::AccessLog;
use sys::process::Signal;

use super::{Launch, Preset, Product, Setup, fill};

pub(super) struct Apache;

impl Product for Apache {
    fn name(&self) -> &'static str {
        "apache"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["apache2", "httpd"]
    }

    fn install(&self) -> &'static str {
        "Debian, Ubuntu: apt install apache2; Fedora: dnf install httpd; Arch: pacman -S apache"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-v"]
    }

    fn version(&self, printed: &str) -> String {
        let line = printed
            .lines()
            .find_map(|line| line.strip_prefix("Server version: "));
        line.unwrap_or_else(|| printed.lines().next().unwrap_or_default())
            .trim()
            .to_owned()
    }

    fn launch(&self, setup: &Setup<'_>) -> Result<Launch, String> {
        let (text, processes) = match setup.preset {
            Preset::Template(template) => (fill(template, setup), 1),
            Preset::Stock => (configuration(setup, STOCK_LIMITS, STOCK_CONNECTIONS)?, 3),
            Preset::Tuned => {
                let (limits, processes) = tuned_limits(setup);
                (
                    configuration(setup, &limits, TUNED_CONNECTIONS)?,
                    processes + 1,
                )
            }
        };
        Ok(Launch {
            arguments: vec![
                "-d".into(),
                setup.directory.into(),
                "-f".into(),
                setup.directory.join("httpd.conf").into(),
                "-DFOREGROUND".into(),
            ],
            files: vec![("httpd.conf".to_owned(), text)],
            folders: vec!["run", "logs"],
            processes,
            stop: Some(Signal::Terminate),
        })
    }
}

/// Debian's mpm_event.conf, which is upstream's default but for the spare threads.
const STOCK_LIMITS: &str = "\
StartServers 2
MinSpareThreads 25
MaxSpareThreads 75
ThreadLimit 64
ThreadsPerChild 25
MaxRequestWorkers 150
MaxConnectionsPerChild 0
";

const STOCK_CONNECTIONS: &str = "\
Timeout 300
KeepAlive On
MaxKeepAliveRequests 100
KeepAliveTimeout 5
";

const TUNED_CONNECTIONS: &str = "\
Timeout 60
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
ListenBackLog 4096
EnableMMAP On
EnableSendfile On
";

/// A process has at most so many threads; beyond as many connections the queue has to do.
const THREADS_MAX: usize = 1024;

/// Every process has a thread for each connection: whichever accepts one can serve it. Where they
/// are divided, the process that happens to accept more than its share finds all of its threads
/// busy and closes connections that are kept alive: with 4 processes of 64 threads, 256 connections
/// lost one for each 560 answers.
fn tuned_limits(setup: &Setup<'_>) -> (String, usize) {
    let connections = usize::try_from(setup.connections).unwrap_or(usize::MAX);
    let threads = connections.saturating_add(64).min(THREADS_MAX);
    let processes = setup
        .workers()
        .max(connections.div_ceil(THREADS_MAX))
        .min(200);
    let all = processes * threads;
    // ThreadLimit comes first: ThreadsPerChild is held against it when it is read. Threads are
    // never ended for being spare; that takes a maximum of one process more than there are.
    let text = format!(
        "ThreadLimit {threads}
ServerLimit {processes}
StartServers {processes}
ThreadsPerChild {threads}
MaxRequestWorkers {all}
MinSpareThreads 1
MaxSpareThreads {}
MaxConnectionsPerChild 0
",
        all + threads
    );
    (text, processes)
}

fn configuration(setup: &Setup<'_>, limits: &str, connections: &str) -> Result<String, String> {
    let modules = modules_folder()?;
    let modules = modules.display();
    let (directory, site, port) = (setup.directory.display(), setup.site.display(), setup.port);
    let access_log = match setup.access_log {
        AccessLog::Off => String::new(),
        AccessLog::On => log_lines(setup, ""),
        AccessLog::Buffered => log_lines(setup, "BufferedLogs On\n"),
    };
    // Group names differ between systems; without these lines root's group would be kept.
    let user = if sys::process::effective_user() == 0 {
        "User nobody\nGroup #65534\n"
    } else {
        ""
    };
    Ok(format!(
        "ServerRoot \"{directory}\"
DefaultRuntimeDir \"{directory}/run\"
PidFile \"{directory}/run/httpd.pid\"
ServerName localhost
Listen 127.0.0.1:{port}
LoadModule mpm_event_module \"{modules}/mod_mpm_event.so\"
<IfModule !mod_unixd.c>
    LoadModule unixd_module \"{modules}/mod_unixd.so\"
</IfModule>
<IfModule !mod_log_config.c>
    LoadModule log_config_module \"{modules}/mod_log_config.so\"
</IfModule>
<IfModule !mod_authz_core.c>
    LoadModule authz_core_module \"{modules}/mod_authz_core.so\"
</IfModule>
<IfModule !mod_mime.c>
    LoadModule mime_module \"{modules}/mod_mime.so\"
</IfModule>
{limits}{user}ErrorLog \"{directory}/error.log\"
LogLevel error
{access_log}{connections}HostnameLookups Off
TypesConfig /dev/null
AddType text/html .html
AddType application/octet-stream .bin
DocumentRoot \"{site}\"
<Directory \"/\">
    Options FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
"
    ))
}

fn log_lines(setup: &Setup<'_>, buffering: &str) -> String {
    let log = setup.below("logs/access.log");
    format!(
        "{buffering}LogFormat \"%h %l %u %t \\\"%r\\\" %>s %O \\\"%{{Referer}}i\\\" \
         \\\"%{{User-Agent}}i\\\"\" combined
CustomLog \"{log}\" combined
"
    )
}

/// Where distributions keep the modules.
const MODULES: &[&str] = &[
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/lib64/apache2-event",
    "/usr/local/apache2/modules",
];

fn modules_folder() -> Result<PathBuf, String> {
    MODULES
        .iter()
        .map(PathBuf::from)
        .find(|folder| Path::new(folder).join("mod_mpm_event.so").is_file())
        .ok_or_else(|| {
            format!(
                "its module mod_mpm_event.so is in none of {}",
                MODULES.join(", ")
            )
        })
}
