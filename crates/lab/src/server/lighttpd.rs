//! lighttpd 1.4: one process per core that share one listening socket.
//!
//! With several workers its parent ends by `kill(0, SIGTERM)`: that is why every server leads a
//! session of its own. One worker is none to it (`max-worker = 1` becomes 0: no parent). Its access
//! log is always buffered (8 KB, 4 s), so `on` and `buffered` are the same thing.

use model::experiment::AccessLog;
use sys::process::Signal;

use super::{Launch, Preset, Product, Setup, fill};

pub(super) struct Lighttpd;

impl Product for Lighttpd {
    fn name(&self) -> &'static str {
        "lighttpd"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["lighttpd"]
    }

    fn install(&self) -> &'static str {
        "Debian, Ubuntu: apt install lighttpd; Fedora: dnf install lighttpd; Arch: pacman -S \
         lighttpd"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-v"]
    }

    fn version(&self, printed: &str) -> String {
        let line = printed.lines().next().unwrap_or_default();
        line.split(" (")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    fn launch(&self, setup: &Setup<'_>) -> Result<Launch, String> {
        let text = match setup.preset {
            Preset::Template(template) => fill(template, setup),
            Preset::Stock => configuration(setup, ""),
            Preset::Tuned => configuration(setup, &tuned(setup)),
        };
        let workers = setup.workers();
        Ok(Launch {
            arguments: vec![
                "-D".into(),
                "-f".into(),
                setup.directory.join("lighttpd.conf").into(),
            ],
            files: vec![("lighttpd.conf".to_owned(), text)],
            folders: vec!["run", "logs"],
            processes: if workers > 1 { 1 + workers } else { 1 },
            stop: Some(Signal::Terminate),
        })
    }
}

/// The limit of requests per connection has 16 bits and counts one less than it allows.
fn tuned(setup: &Setup<'_>) -> String {
    let connections = setup.connections.max(512) * 2;
    format!(
        "server.max-connections = {connections}
server.max-fds = {}
server.listen-backlog = 4096
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 60
server.network-backend = \"sendfile\"
server.stat-cache-engine = \"simple\"
",
        connections * 2 + 64
    )
}

fn configuration(setup: &Setup<'_>, advice: &str) -> String {
    let (directory, site, port) = (setup.directory.display(), setup.site.display(), setup.port);
    let workers = if setup.workers() > 1 {
        setup.workers()
    } else {
        0
    };
    let (modules, access_log) = match setup.access_log {
        AccessLog::Off => ("", String::new()),
        AccessLog::On | AccessLog::Buffered => (
            " \"mod_accesslog\" ",
            format!("accesslog.filename = \"{directory}/logs/access.log\"\n"),
        ),
    };
    format!(
        "server.modules = ({modules})
server.document-root = \"{site}\"
server.bind = \"127.0.0.1\"
server.port = {port}
server.pid-file = \"{directory}/run/lighttpd.pid\"
server.errorlog = \"{directory}/error.log\"
server.upload-dirs = ( \"{directory}/run\" )
server.max-worker = {workers}
{advice}{access_log}mimetype.assign = ( \".html\" => \"text/html\", \".bin\" => \
                                          \"application/octet-stream\" )
"
    )
}
