//! The far ends of the comparisons: started on one CPU, on a port that was free, ended with us.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::programs::Programs;
use super::speech::{Certificate, Speech};
use crate::packages::find;

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Each server here is a single process, so that ending it leaves nobody behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    /// The bare null server.
    pub(crate) fn null(programs: &Programs, cpu: u32, more: &[&str]) -> Result<Self> {
        let mut command = Command::new(programs.bare("null_server")?);
        command.args(["--port", "0", "--cpu", &cpu.to_string()]);
        command.args(more);
        Self::that_tells_its_port("null", command)
    }

    /// Our own server on the files in `folder`, and its null responder; over TLS, with HTTP/3
    /// beside it, where there is a certificate.
    pub(crate) fn origin(
        programs: &Programs,
        folder: &Path,
        cpu: u32,
        certificate: Option<&Certificate>,
    ) -> Result<Self> {
        let mut command = Command::new(&programs.triathlon);
        command
            .arg("serve")
            .arg(folder)
            .args(["--listen", "127.0.0.1:0", "--workers", "1", "--synthetic"])
            .args(["--cpus", &cpu.to_string()]);
        if let Some(certificate) = certificate {
            command.arg("--tls-cert").arg(&certificate.chain);
            command.arg("--tls-key").arg(&certificate.key);
            command.arg("--http3");
        }
        Self::that_tells_its_port("origin", command)
    }

    /// nginx on the files in `folder`; none where it is not installed.
    pub(crate) fn nginx(folder: &Path, cpu: u32) -> Result<Option<Self>> {
        Self::nginx_that_speaks(Speech::Http1, None, folder, cpu)
    }

    /// The same in that protocol: over TLS 1.3 with the group and the suite that all clients here
    /// share, where there is a certificate.
    pub(crate) fn nginx_that_speaks(
        speech: Speech,
        certificate: Option<&Certificate>,
        folder: &Path,
        cpu: u32,
    ) -> Result<Option<Self>> {
        let Some(program) = find("nginx") else {
            return Ok(None);
        };
        let address = free_address()?;
        let private = private_folder(folder, "nginx")?;
        let is_http2 = matches!(speech, Speech::Http2(_) | Speech::SecureHttp2(_));
        let listens = match (speech.is_secure(), is_http2) {
            (false, false) => "",
            (false, true) => " http2",
            (true, false) => " ssl",
            (true, true) => " ssl http2",
        };
        // Over HTTP/2 a file that is sent apart from its head waits 40 ms for an acknowledgement.
        let apart = if is_http2 { "off" } else { "on" };
        let secured = certificate.map_or_else(String::new, |certificate| {
            format!(
                "ssl_certificate {};\nssl_certificate_key {};\nssl_protocols TLSv1.3;\n\
                 ssl_ecdh_curve X25519;\n\
                 ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;\n",
                certificate.chain.display(),
                certificate.key.display()
            )
        });
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind}_temp;\n"))
            .concat();
        let text = format!(
            "daemon off;\nmaster_process off;\nworker_processes 1;\npid nginx.pid;\n\
             error_log error.log;\nevents {{ worker_connections 4096; }}\nhttp {{\n\
             {temporary}access_log off;\nsendfile {apart};\ntcp_nopush on;\ntcp_nodelay on;\n\
             keepalive_requests 1000000000;\nkeepalive_timeout 600s;\n\
             open_file_cache max=100 inactive=600s;\nserver {{\nlisten {address}{listens};\n\
             {secured}root {};\n}}\n}}\n",
            folder.display()
        );
        let configuration = private.join("nginx.conf");
        fs::write(&configuration, text)?;
        let mut command = on_cpu(&program, cpu);
        command
            .arg("-p")
            .arg(&private)
            .arg("-c")
            .arg(&configuration);
        Self::at("nginx", command, address).map(Some)
    }

    /// lighttpd on the files in `folder`; none where it is not installed.
    pub(crate) fn lighttpd(folder: &Path, cpu: u32) -> Result<Option<Self>> {
        let Some(program) = find("lighttpd") else {
            return Ok(None);
        };
        let address = free_address()?;
        let private = private_folder(folder, "lighttpd")?;
        let text = format!(
            "server.document-root = \"{}\"\nserver.bind = \"127.0.0.1\"\nserver.port = {}\n\
             server.errorlog = \"{}\"\nserver.max-keep-alive-requests = 1000000000\n\
             server.max-keep-alive-idle = 600\nserver.max-fds = 8192\n\
             server.network-backend = \"sendfile\"\n",
            folder.display(),
            address.port(),
            private.join("error.log").display(),
        );
        let configuration = private.join("lighttpd.conf");
        fs::write(&configuration, text)?;
        let mut command = on_cpu(&program, cpu);
        command.arg("-D").arg("-f").arg(&configuration);
        Self::at("lighttpd", command, address).map(Some)
    }

    /// Caddy on the files in `folder`, over TLS with HTTP/3 beside it; none where it is not
    /// installed.
    pub(crate) fn caddy(
        certificate: &Certificate,
        folder: &Path,
        cpu: u32,
    ) -> Result<Option<Self>> {
        let Some(program) = find("caddy") else {
            return Ok(None);
        };
        let address = free_address()?;
        let private = private_folder(folder, "caddy")?;
        let text = format!(
            "{{\n\tadmin off\n\tauto_https off\n}}\n\
             https://127.0.0.1:{} {{\n\tbind 127.0.0.1\n\ttls {} {}\n\troot * {}\n\
             \tfile_server\n}}\n",
            address.port(),
            certificate.chain.display(),
            certificate.key.display(),
            folder.display(),
        );
        let configuration = private.join("Caddyfile");
        fs::write(&configuration, text)?;
        let mut command = on_cpu(&program, cpu);
        command
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(&configuration)
            .env("XDG_DATA_HOME", &private)
            .env("XDG_CONFIG_HOME", &private);
        Self::at("caddy", command, address).map(Some)
    }

    /// CPU time that it has used so far, in nanoseconds, over all its threads.
    pub(crate) fn cpu_ns(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.child.id());
        let Ok(tasks) = fs::read_dir(tasks) else {
            return 0;
        };
        tasks
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
            .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
            .sum()
    }

    /// One that prints the port it listens on in its first line, at the end of a word.
    fn that_tells_its_port(name: &'static str, mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let stdout = child.stdout.take().context("stdout was piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let port = line
            .split(|c: char| !c.is_ascii_digit())
            .rfind(|word| !word.is_empty())
            .and_then(|word| word.parse().ok());
        let Some(port) = port else {
            drop(child.kill());
            bail!("{name} did not say where it listens but: {line}");
        };
        let address = (Ipv4Addr::LOCALHOST, port).into();
        Ok(Self {
            name,
            address,
            child,
        })
    }

    /// One that was told where to listen.
    fn at(name: &'static str, mut command: Command, address: SocketAddr) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let server = Self {
            name,
            address,
            child,
        };
        let patience = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > patience {
                bail!("{name} does not listen on {address}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
}

/// `program`, bound to `cpu`.
pub(crate) fn on_cpu(program: &Path, cpu: u32) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(program);
    command
}

pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn private_folder(folder: &Path, name: &str) -> Result<PathBuf> {
    let private = folder.with_extension(name);
    fs::create_dir_all(&private)?;
    Ok(private)
}
