//! The parts of an `http:` or `https:` URL, and what is wrong with one that has others.

use std::fmt;

use super::PlanError;
use crate::redact;

/// The parts of an `http:` or `https:` URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Url {
    /// A name or a literal address, without brackets.
    pub host: String,
    /// 80 unless given, or 443 with TLS.
    pub port: u16,
    /// From the slash on, with the query, without the fragment.
    pub path: String,
    /// As it stands in the Host field: brackets and a port that is not the default.
    pub authority: String,
    /// Whether connections are made with TLS: `https`.
    pub is_secure: bool,
}

impl Url {
    /// What is wrong with one that says who asks. Some doors have another place for that.
    pub const NAMES_A_USER: &str = "it carries a user name, which a URL may not have here";

    /// Reads `http://host[:port][/path][?query]`; the scheme may be left out.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let wrong = |why| PlanError::Url {
            url: redact::url(text).into_owned(),
            why,
        };
        let (is_secure, rest) = match with_scheme(text) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some(_) => return Err(wrong("the scheme must be http:// or https://")),
            None if lacks_a_slash(text) => {
                return Err(wrong("two slashes follow the scheme: http://HOST/"));
            }
            None => (false, text),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        if authority.contains('@') {
            return Err(wrong(Self::NAMES_A_USER));
        }
        let (host, port) = split_authority(authority).map_err(wrong)?;
        let usual = if is_secure { 443 } else { 80 };
        let port = port.unwrap_or(usual);
        if path
            .bytes()
            .any(|byte| byte <= b' ' || byte == 0x7f || byte >= 0x80)
        {
            return Err(wrong(
                "the path has a blank, control or non-ASCII character; percent-encode it",
            ));
        }
        let path = match path.as_bytes().first() {
            None => "/".to_owned(),
            Some(b'?') => format!("/{path}"),
            Some(_) => path.to_owned(),
        };
        let bracketed = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        let authority = if port == usual {
            bracketed
        } else {
            format!("{bracketed}:{port}")
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            path,
            authority,
            is_secure,
        })
    }

    /// `url` as it is; a path alone is one of the server of `base`.
    ///
    /// # Errors
    ///
    /// It is a path, and no server is known.
    pub fn absolute(url: &str, base: Option<&str>) -> Result<String, String> {
        if !url.starts_with('/') {
            return Ok(url.to_owned());
        }
        let base =
            base.ok_or_else(|| format!("'{url}' is a path: give a URL of its server, too"))?;
        let start = with_scheme(base).map_or(0, |(scheme, _)| scheme.len() + 3);
        let end = base[start..]
            .find(['/', '?', '#'])
            .map_or(base.len(), |at| start + at);
        Ok(format!("{}{url}", &base[..end]))
    }

    /// The host and the port, the usual one among them.
    pub fn with_port(&self) -> String {
        let port = format!(":{}", self.port);
        match self.authority.ends_with(&port) {
            true => self.authority.clone(),
            false => format!("{}{port}", self.authority),
        }
    }

    /// Whether the same server is asked in the same way.
    pub fn has_server_of(&self, other: &Self) -> bool {
        let server = |url: &Self| (url.port, url.is_secure);
        self.host == other.host && server(self) == server(other)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

/// The scheme and the rest: what stands in a path or a query is none.
fn with_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    (!scheme.contains(['/', '?', '#'])).then_some((scheme, rest))
}

/// Whether it is `http:/x` or `http:x`, and not a host called `http` with its port.
fn lacks_a_slash(text: &str) -> bool {
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    let is_scheme = ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str());
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    is_scheme && (port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn split_authority(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest
            .split_once(']')
            .ok_or("the bracket of the IPv6 address is not closed")?;
        if host.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("what stands in brackets is not an IPv6 address");
        }
        (
            host,
            port.strip_prefix(':')
                .or_else(|| port.is_empty().then_some(""))
                .ok_or("a port follows a colon")?,
        )
    } else {
        match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address goes in brackets: http://[::1]/");
            }
            Some((_, "")) => return Err("the port is missing after the colon"),
            Some((host, port)) => (host, port),
            None => (authority, ""),
        }
    };
    if host.is_empty() {
        return Err("the host is missing");
    }
    if host.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
        return Err("the host has a blank, control or non-ASCII character");
    }
    let port = match port {
        "" => None,
        digits => match digits.parse::<u16>() {
            Ok(port) if port > 0 => Some(port),
            _ => return Err("the port is not a number from 1 to 65535"),
        },
    };
    Ok((host, port))
}
