//! Comparisons of other protocols than HTTP/1.1 in clear.

use anyhow::Result;

use super::generator::{Ask, Generator};
use super::server::Server;
use super::speech::{Certificate, Speech};
use super::table::{cpu_ratio, server_cpu_ratio, table};
use super::{Contest, Setting, contest, generators};

const PATH: &str = "/7.txt";

/// A certificate, if one can be made.
fn certificate(setting: &Setting) -> Result<Option<Certificate>> {
    let certificate = Certificate::in_folder(&setting.site)?;
    if certificate.is_none() {
        println!("  openssl is not installed (apt-get install openssl)");
    }
    Ok(certificate)
}

/// nginx in that protocol, if it is installed and what it needs can be made.
fn nginx(setting: &Setting, speech: Speech) -> Result<Option<Server>> {
    let certificate = match speech.is_secure() {
        true => certificate(setting)?,
        false => None,
    };
    if speech.is_secure() && certificate.is_none() {
        return Ok(None);
    }
    let (site, cpu) = (&setting.site, setting.server_cpu);
    let server = Server::nginx_that_speaks(speech, certificate.as_ref(), site, cpu)?;
    if server.is_none() {
        println!("  nginx is not installed (apt-get install nginx)");
    }
    Ok(server)
}

pub(super) fn tls(setting: &Setting) -> Result<()> {
    let Some(server) = nginx(setting, Speech::Tls)? else {
        return Ok(());
    };
    let everyone = [
        Generator::Wrk,
        Generator::H2load,
        Generator::TriathlonUring,
        Generator::TriathlonReadiness,
    ];
    let ask = Ask::of(PATH).over(Speech::Tls);
    let measured = generators(setting, &server, ask, &everyone)?;
    table(&measured, &["wrk", "h2load --h1"]);
    let ours = Generator::TriathlonUring.name();
    cpu_ratio(&measured, ours, Generator::Wrk.name(), Some(0.8));
    cpu_ratio(&measured, ours, Generator::H2load.name(), Some(0.8));
    Ok(())
}

pub(super) fn handshakes(setting: &Setting) -> Result<()> {
    let Some(server) = nginx(setting, Speech::Handshakes)? else {
        return Ok(());
    };
    let everyone = [Generator::Ab, Generator::H2load, Generator::TriathlonUring];
    let ask = Ask::of(PATH).over(Speech::Handshakes);
    let measured = generators(setting, &server, ask, &everyone)?;
    table(&measured, &["ab"]);
    let ours = Generator::TriathlonUring.name();
    cpu_ratio(&measured, ours, Generator::Ab.name(), Some(0.4));
    cpu_ratio(&measured, ours, Generator::H2load.name(), Some(1.0));
    Ok(())
}

/// nginx sends head and content of an answer apart, origin together: what an answer costs those who
/// ask depends on that.
pub(super) fn http2(setting: &Setting, streams: u32) -> Result<()> {
    let speech = Speech::Http2(streams);
    let (site, cpu) = (&setting.site, setting.server_cpu);
    let origin = Server::origin(&setting.programs, site, cpu, None)?;
    let servers = nginx(setting, speech)?.into_iter().chain([origin]);
    let everyone = [
        Generator::H2loadHttp2,
        Generator::TriathlonUring,
        Generator::TriathlonReadiness,
    ];
    for server in servers {
        println!("  {}:", server.name);
        let measured = generators(setting, &server, Ask::of(PATH).over(speech), &everyone)?;
        table(&measured, &["h2load"]);
        let ours = Generator::TriathlonUring.name();
        cpu_ratio(&measured, ours, Generator::H2loadHttp2.name(), Some(0.75));
    }
    Ok(())
}

pub(super) fn http3(setting: &Setting) -> Result<()> {
    let Some(certificate) = certificate(setting)? else {
        return Ok(());
    };
    let (site, cpu) = (&setting.site, setting.server_cpu);
    let origin = Server::origin(&setting.programs, site, cpu, Some(&certificate))?;
    let caddy = Server::caddy(&certificate, site, cpu)?;
    let ask = Ask::of(PATH);
    let (two, three) = (Speech::SecureHttp2(10), Speech::Http3(10));
    let ours = Generator::TriathlonUring;
    let mut contests: Vec<Contest<'_>> = vec![
        ("origin, HTTP/2 over TLS", ours, &origin, ask.over(two)),
        ("origin, HTTP/3", ours, &origin, ask.over(three)),
    ];
    match &caddy {
        Some(caddy) => contests.extend([
            ("Caddy, HTTP/2 over TLS", ours, caddy, ask.over(two)),
            ("Caddy, HTTP/3", ours, caddy, ask.over(three)),
        ]),
        None => println!("  caddy is not installed (apt-get install caddy)"),
    }
    // No package has a generator of HTTP/3.
    let oha = Generator::OhaHttp3;
    if oha.missing().is_some() {
        println!("  oha is not installed (cargo install --locked oha --features http3)");
    } else {
        contests.push(("origin, HTTP/3, oha", oha, &origin, ask.over(three)));
        if let Some(caddy) = &caddy {
            contests.push(("Caddy, HTTP/3, oha", oha, caddy, ask.over(three)));
        }
    }
    let rows = contest(setting, &contests)?;
    table(&rows, &["origin, HTTP/2 over TLS"]);
    cpu_ratio(&rows, "origin, HTTP/3", "origin, HTTP/2 over TLS", None);
    cpu_ratio(&rows, "Caddy, HTTP/3", "Caddy, HTTP/2 over TLS", None);
    server_cpu_ratio(&rows, "origin, HTTP/3", "origin, HTTP/2 over TLS", None);
    server_cpu_ratio(&rows, "origin, HTTP/3", "Caddy, HTTP/3", None);
    cpu_ratio(&rows, "origin, HTTP/3", "origin, HTTP/3, oha", None);
    cpu_ratio(&rows, "Caddy, HTTP/3", "Caddy, HTTP/3, oha", None);
    Ok(())
}

/// What an answer costs origin, against what it costs nginx.
pub(super) fn origin(setting: &Setting, speech: Speech, most: f64) -> Result<()> {
    let Some(nginx) = nginx(setting, speech)? else {
        return Ok(());
    };
    let certificate = match speech.is_secure() {
        true => certificate(setting)?,
        false => None,
    };
    let (site, cpu) = (&setting.site, setting.server_cpu);
    let origin = Server::origin(&setting.programs, site, cpu, certificate.as_ref())?;
    let ask = Ask::of(PATH).over(speech);
    let ours = Generator::TriathlonUring;
    let contests: [Contest<'_>; 2] = [("origin", ours, &origin, ask), ("nginx", ours, &nginx, ask)];
    let rows = contest(setting, &contests)?;
    table(&rows, &["nginx"]);
    server_cpu_ratio(&rows, "origin", "nginx", Some(most));
    Ok(())
}
