//! nginx: a master and one worker per core, each bound to its CPU by nginx itself.
//!
//! `worker_processes auto` and `worker_cpu_affinity auto` count the CPUs of the machine, whatever
//! mask they are started under, so both are given in full. Debian compiles absolute paths for
//! temporary files in: all five are named.

use std::fmt::Write as _;

use model::experiment::AccessLog;
use sys::process::Signal;

use super::{Launch, Preset, Product, Setup, fill};

pub(super) struct Nginx;

impl Product for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["nginx"]
    }

    fn install(&self) -> &'static str {
        "Debian, Ubuntu: apt install nginx-light; Fedora: dnf install nginx; Arch: pacman -S nginx"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-v"]
    }

    fn version(&self, printed: &str) -> String {
        let line = printed.lines().next().unwrap_or_default();
        line.trim_start_matches("nginx version: ").trim().to_owned()
    }

    fn foreground(&self) -> &'static str {
        "write 'daemon off;' at the beginning of its configuration"
    }

    fn launch(&self, setup: &Setup<'_>) -> Result<Launch, String> {
        let text = match setup.preset {
            Preset::Template(template) => fill(template, setup),
            Preset::Stock => configuration(setup, STOCK, ""),
            Preset::Tuned => configuration(setup, TUNED, LARGE_FILES),
        };
        let prefix = setup.below("");
        Ok(Launch {
            arguments: vec![
                "-p".into(),
                prefix.into(),
                "-c".into(),
                setup.directory.join("nginx.conf").into(),
                "-e".into(),
                setup.directory.join("error.log").into(),
            ],
            files: vec![("nginx.conf".to_owned(), text)],
            folders: vec!["tmp", "logs"],
            processes: 1 + setup.workers(),
            stop: Some(Signal::Terminate),
        })
    }
}

/// What nginx itself would do is left alone.
const STOCK: &str = "";

/// Its documentation's advice for static files: no descriptor opened per request, connections that
/// last. A limit on requests per connection would be felt as reconnects (HTTP-09).
const TUNED: &str = "\
    tcp_nodelay on;
    keepalive_timeout 65s;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=60s;
    open_file_cache_valid 30s;
";

/// For a small file sendfile is a system call more; for a large one it saves a copy.
const LARGE_FILES: &str = "\
        location /large/ {
            sendfile on;
            tcp_nopush on;
        }
";

fn configuration(setup: &Setup<'_>, advice: &str, locations: &str) -> String {
    let (directory, site) = (setup.directory.display(), setup.site.display());
    let workers = setup.workers();
    // The worker's connections count every descriptor: listener, files, the channel to the master.
    // Its limit of open files is inherited: the lab raised it as far as this system lets it.
    let connections = (setup.connections * 2 + 512).max(1024);
    let affinity = affinity(setup.cpus);
    let port = setup.port;
    let access_log = match setup.access_log {
        AccessLog::Off => "off".to_owned(),
        AccessLog::On => format!("\"{directory}/logs/access.log\" combined"),
        AccessLog::Buffered => {
            format!("\"{directory}/logs/access.log\" combined buffer=64k flush=1s")
        }
    };
    let listen = if advice.is_empty() {
        format!("127.0.0.1:{port}")
    } else {
        format!("127.0.0.1:{port} reuseport backlog=4096")
    };
    let mut text = format!(
        "daemon off;
worker_processes {workers};
{affinity}pid \"{directory}/nginx.pid\";
error_log \"{directory}/error.log\" error;
events {{
    worker_connections {connections};
}}
http {{
    access_log {access_log};
"
    );
    for (name, folder) in [
        ("client_body", "b"),
        ("proxy", "p"),
        ("fastcgi", "f"),
        ("uwsgi", "u"),
        ("scgi", "s"),
    ] {
        // Writing to a String cannot fail.
        let _ok = writeln!(text, "    {name}_temp_path \"{directory}/tmp/{folder}\";");
    }
    text.push_str("    types { text/html html; application/octet-stream bin; }\n");
    text.push_str("    default_type application/octet-stream;\n");
    text.push_str(advice);
    let _ok = write!(
        text,
        "    server {{
        listen {listen};
        root \"{site}\";
{locations}    }}
}}
"
    );
    text
}

/// One bit mask per worker, the rightmost bit is CPU 0.
fn affinity(cpus: &[u32]) -> String {
    let Some(last) = cpus.iter().max() else {
        return String::new();
    };
    let masks: Vec<String> = cpus
        .iter()
        .map(|cpu| {
            (0..=*last)
                .rev()
                .map(|bit| if bit == *cpu { '1' } else { '0' })
                .collect()
        })
        .collect();
    format!("worker_cpu_affinity {};\n", masks.join(" "))
}
