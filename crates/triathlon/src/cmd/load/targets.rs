//! The flags that say what is asked, and of whom: URLs, lists of them, requests in files, fields,
//! content, credentials, other addresses.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use model::plan::{FromFile, HttpProxy, RequestFile, ScriptFile, ServerAddresses, Stage, Url};
use model::redact::{self, REDACTED};
use model::script::har::{self, LeftOut};
use model::script::{self, Script};

use super::form::Forms;
use super::places::Rules;
use super::{credentials, lists, server};
use crate::exit::UsageError;
use crate::out;
use crate::whole;

/// What is asked, and of whom.
#[derive(clap::Args, Debug)]
pub(super) struct Targets {
    /// What to ask: an http or https URL with host, port and path, or several, which are mixed. A
    /// host with several addresses is asked at each that answers; of several hosts, each has
    /// connections of its own, by weight
    #[arg(value_name = "URL", conflicts_with = "plan")]
    urls: Vec<String>,

    /// How often each URL is asked in relation to the others, in their order: 9,1 [default: equally
    /// often]. Several hosts have connections in that relation; where no rate is given, one that
    /// answers faster is asked more often than that
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        requires = "urls",
        value_parser = whole::weight
    )]
    weights: Vec<u32>,

    /// Read what to ask from FILE, or stdin (-): a URL on each line, with or without a weight after
    /// it; or vegeta's targets, as text or as JSON. A path alone belongs to the server of URL
    #[arg(
        long = "urls",
        value_name = "FILE|-",
        id = "list",
        conflicts_with = "weights"
    )]
    list: Option<PathBuf>,

    /// Read one request from FILE as it goes over the wire: request line, fields, an empty line,
    /// content. Its Host field, or URL, says whom to ask
    #[arg(
        long,
        value_name = "FILE",
        id = "raw",
        conflicts_with_all = ["list", "weights", "data", "request", "forms"]
    )]
    raw: Option<PathBuf>,

    /// Users who each follow the script in FILE, again and again: requests, waits, repeats,
    /// branches. -c says how many. docs/script.md has every key. A path alone belongs
    /// to the server of URL
    #[arg(
        long,
        value_name = "FILE",
        id = "script",
        conflicts_with_all = ["list", "raw", "weights", "data", "request", "forms"]
    )]
    script: Option<PathBuf>,

    /// Users who each repeat what a browser recorded in FILE (HAR), again and again: the requests
    /// in their order, with the waits between, to the server of URL, or else to that in FILE, and
    /// to other servers where --resolve or --connect-to says where those are, or through --proxy
    #[arg(
        long,
        value_name = "FILE",
        id = "har",
        conflicts_with_all = ["list", "raw", "script", "weights", "data", "request", "forms"]
    )]
    har: Option<PathBuf>,

    /// A header field, 'Name: value'; may be given several times
    #[arg(short = 'H', long = "header", value_name = "FIELD")]
    headers: Vec<String>,

    /// The content to send, or @FILE; the method is then POST by default
    #[arg(long, value_name = "TEXT|@FILE")]
    data: Option<String>,

    #[command(flatten)]
    forms: Forms,

    /// The method [default: GET, or POST with --data or --form]
    #[arg(long, value_name = "METHOD")]
    request: Option<String>,

    /// Ask for encoded content: the codings that Accept-Encoding names, gzip, br and zstd unless
    /// given. Answers are counted by how they came, and checked as they came; --decode decodes them
    #[arg(
        long,
        value_name = "CODING,...",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_values = ["gzip", "br", "zstd"]
    )]
    compressed: Option<Vec<Accepted>>,

    /// A name and a password, NAME:PASSWORD, for basic authentication. Other users of this machine
    /// do not see them, and no result holds them
    #[arg(long, value_name = "NAME:PASSWORD", conflicts_with = "bearer")]
    user: Option<String>,

    /// A token for bearer authentication, kept from others as --user is
    #[arg(long, value_name = "TOKEN")]
    bearer: Option<String>,

    /// Connect elsewhere than the URL says, HOST:PORT:OTHER-HOST:OTHER-PORT as in curl; an
    /// empty HOST or PORT stands for any. The Host field stays
    #[arg(long, value_name = "HOST:PORT:HOST:PORT")]
    connect_to: Vec<String>,

    /// Connect to the Unix socket at PATH, whatever host the URL names, as in curl. The Host
    /// field stays
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["connect_to", "resolve", "sources", "http3"]
    )]
    unix_socket: Option<String>,

    /// Ask through the HTTP proxy at URL, http://HOST:PORT: it is given the whole URL or, where
    /// that says https, makes a tunnel to the server (CONNECT) for each connection
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["connect_to", "resolve", "unix_socket", "http3"]
    )]
    proxy: Option<String>,

    /// With --proxy: a name and a password for it, NAME:PASSWORD, kept from others as --user is
    #[arg(long, value_name = "NAME:PASSWORD")]
    proxy_user: Option<String>,

    /// With --proxy: let it make a tunnel for http URLs, too, as in curl
    #[arg(long, requires = "proxy")]
    proxytunnel: bool,

    /// Use these addresses for a host and port, HOST:PORT:ADDRESS,ADDRESS, as in curl
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    resolve: Vec<String>,
}

/// How content may be encoded.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Accepted {
    Gzip,
    Br,
    Zstd,
    Deflate,
}

impl Accepted {
    const fn name(&self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Br => "br",
            Self::Zstd => "zstd",
            Self::Deflate => "deflate",
        }
    }
}

/// What the flags of this file come to.
pub(super) struct Asks {
    pub(super) requests: Vec<RequestFile>,
    pub(super) script: Option<ScriptFile>,
    /// How the rate changes at which users come; empty: not at all.
    pub(super) stages: Vec<Stage>,
    /// Where connections lead, if there is one server; else `resolve` says it.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) resolve: Vec<ServerAddresses>,
    pub(super) unix_socket: Option<String>,
    pub(super) http_proxy: Option<HttpProxy>,
    /// Where the servers are, for whoever looks for their processes: at least one.
    pub(super) places: Vec<Url>,
}

impl Targets {
    /// Whether nothing says what to ask.
    pub(super) fn is_empty(&self) -> bool {
        let files = [&self.list, &self.raw, &self.script, &self.har];
        self.urls.is_empty() && files.iter().all(|file| file.is_none())
    }

    /// The requests and the addresses.
    pub(super) fn read(&self) -> anyhow::Result<Asks> {
        let fields = self.fields()?;
        let script = match (&self.script, &self.har) {
            (Some(path), _) => Some(self.follow(path)?),
            (None, Some(path)) => Some(self.repeat(path)?),
            (None, None) => None,
        };
        let (mut requests, script, stages) = match script {
            Some(script) => (script.requests, Some(script.steps), script.stages),
            None => (self.requests()?, None, Vec::new()),
        };
        if let Some(path) = &self.har {
            let all = requests.iter_mut().map(|request| &mut request.headers);
            let replaced = credentials::replace(all, &fields);
            if !replaced.is_empty() {
                out::note(format_args!(
                    "{}: the command line replaces what was recorded of {}",
                    path.display(),
                    replaced.join(", ")
                ));
            }
        }
        for request in &mut requests {
            request.headers.extend(fields.iter().cloned());
            self.accept_encodings(&mut request.headers);
            credentials::one_of_each(&request.headers, Some(&request.url))?;
        }
        if self.compressed.is_some()
            && let Some(answer) = script.as_ref().and_then(looks_into_content)
        {
            let url = redact::url(&requests[usize::from(answer)].url);
            return Err(UsageError(format!(
                "--compressed: a step looks into the content of its answer (take or contains), \
                 which would come encoded: {url}; leave --compressed out"
            ))
            .into());
        }
        if requests.is_empty() {
            return Err(UsageError(match self.script {
                None => "--urls: there is nothing to ask: write a URL on each line".to_owned(),
                Some(_) => {
                    "--script: there is nothing to ask: write [[step]] with a get".to_owned()
                }
            })
            .into());
        }
        let mut places = server::all(&requests)?;
        let has_tunnel = self.proxytunnel || places[0].is_secure;
        let for_proxy = credentials::for_proxy(self.proxy_user.as_deref(), self.proxy.as_deref())?;
        if let Some(value) = for_proxy.as_ref().filter(|_| !has_tunnel) {
            let field = ("Proxy-Authorization".to_owned(), value.clone());
            let all = requests.iter_mut();
            all.for_each(|request| request.headers.push(field.clone()));
        }
        let (addresses, resolve) = self.rules().lead(&mut places)?;
        Ok(Asks {
            requests,
            script,
            stages,
            addresses,
            resolve,
            unix_socket: self.unix_socket.clone(),
            http_proxy: self.proxy.as_deref().map(|proxy| HttpProxy {
                url: with_scheme(proxy),
                tunnel: has_tunnel,
                authorization: for_proxy.filter(|_| has_tunnel),
            }),
            places,
        })
    }

    fn rules(&self) -> Rules<'_> {
        Rules {
            resolve: &self.resolve,
            connect_to: &self.connect_to,
        }
    }

    /// What users do who follow the script at `path`.
    fn follow(&self, path: &Path) -> anyhow::Result<Script> {
        let base = self.only_server("--script")?;
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("--script: cannot read {name}"))?;
        let around = Beside(path.parent().unwrap_or_else(|| Path::new("")));
        let read = script::read(&name, &text, base, &around);
        Ok(read.map_err(|mistake| UsageError(format!("--script: {mistake}")))?)
    }

    /// What users do who repeat the recording at `path`.
    fn repeat(&self, path: &Path) -> anyhow::Result<Script> {
        let base = self.only_server("--har")?;
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("--har: cannot read {}", path.display()))?;
        let rules = self.rules();
        // A proxy finds them itself.
        let is_known = |url: &Url| {
            self.proxy.is_some() || rules.addresses(url).is_ok_and(|found| !found.is_empty())
        };
        let recorded = har::read(&text, base, &is_known);
        let recorded = recorded.map_err(|why| named("--har", path.display(), &why))?;
        if recorded.left_out != LeftOut::default() {
            let (name, left_out) = (path.display(), recorded.left_out);
            let remedy = match left_out.elsewhere {
                0 => "",
                _ => " (--resolve and --connect-to say where others are, or a --proxy finds them)",
            };
            out::note(format_args!(
                "{name}: requests left out: {left_out}{remedy}"
            ));
        }
        Ok(recorded.script)
    }

    /// The URL of the server that `flag` is about, if there is one.
    fn only_server(&self, flag: &str) -> Result<Option<&str>, UsageError> {
        match self.urls.get(1) {
            None => Ok(self.urls.first().map(String::as_str)),
            Some(more) => Err(UsageError(format!(
                "{flag}: '{more}' is too much: give the URL of one server"
            ))),
        }
    }

    fn requests(&self) -> anyhow::Result<Vec<RequestFile>> {
        if let Some(path) = &self.raw {
            let base = self.only_server("--raw")?;
            let bytes = std::fs::read(path)
                .with_context(|| format!("--raw: cannot read {}", path.display()))?;
            let request = lists::raw(&bytes, base);
            return Ok(vec![
                request.map_err(|why| named("--raw", path.display(), &why))?,
            ]);
        }
        let mut requests = match &self.list {
            Some(path) => lists::read(path, self.only_server("--urls")?)?,
            None => self.urls.iter().map(RequestFile::get).collect(),
        };
        self.weigh(&mut requests)?;
        let (content, kind) = self.content()?;
        for request in &mut requests {
            if content.is_some() {
                "POST".clone_into(&mut request.method);
            }
            if let Some(method) = &self.request {
                request.method.clone_from(method);
            }
            if let Some(content) = &content {
                request.body_base64 = Some(BASE64.encode(content));
            }
            let is_said = |line: &String| {
                let name = line.split(':').next().unwrap_or_default();
                name.trim().eq_ignore_ascii_case("content-type")
            };
            if let Some(kind) = kind.as_ref().filter(|_| !self.headers.iter().any(is_said)) {
                let field = ("Content-Type".to_owned(), kind.clone());
                request.headers.push(field);
            }
        }
        Ok(requests)
    }

    fn weigh(&self, requests: &mut [RequestFile]) -> Result<(), UsageError> {
        if self.weights.is_empty() {
            return Ok(());
        }
        if self.weights.len() != requests.len() {
            return Err(UsageError(format!(
                "--weights: {} for {} URLs: give one for each",
                self.weights.len(),
                requests.len()
            )));
        }
        for (request, weight) in requests.iter_mut().zip(&self.weights) {
            request.weight = *weight;
        }
        Ok(())
    }

    /// The content, and its type where that is known.
    fn content(&self) -> anyhow::Result<(Option<Vec<u8>>, Option<String>)> {
        if let Some((content, kind)) = self.forms.content()? {
            return Ok((Some(content), Some(kind)));
        }
        let content = match self.data.as_deref() {
            None => None,
            Some(text) => Some(match text.strip_prefix('@') {
                None => text.as_bytes().to_vec(),
                Some(path) => {
                    std::fs::read(path).with_context(|| format!("--data: cannot read {path}"))?
                }
            }),
        };
        Ok((content, None))
    }

    /// Asks for encoded content, unless these fields do.
    fn accept_encodings(&self, fields: &mut Vec<(String, String)>) {
        let is_said = |(name, _): &(String, String)| name.eq_ignore_ascii_case("accept-encoding");
        if let Some(codings) = &self.compressed
            && !fields.iter().any(is_said)
        {
            let names: Vec<&str> = codings.iter().map(Accepted::name).collect();
            fields.push(("Accept-Encoding".to_owned(), names.join(", ")));
        }
    }

    /// What is sent with every request.
    fn fields(&self) -> Result<Vec<(String, String)>, UsageError> {
        let mut fields: Vec<(String, String)> = self
            .headers
            .iter()
            .map(|line| {
                line.split_once(':')
                    .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                    .ok_or_else(|| without_colon(line))
            })
            .collect::<Result<_, _>>()?;
        if let Some(value) = credentials::of_user(self.user.as_deref(), self.bearer.as_deref())? {
            fields.push(("Authorization".to_owned(), value));
        }
        credentials::one_of_each(&fields, None)?;
        Ok(fields)
    }
}

/// What a script in this folder finds outside of itself.
struct Beside<'a>(&'a Path);

impl script::Around for Beside<'_> {
    fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        let file = self.0.join(name);
        std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
    }

    fn environment(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// The first request of the script into whose content a step looks.
fn looks_into_content(script: &ScriptFile) -> Option<u16> {
    let mut answers = script.answers.iter();
    let found = answers.find(|answer| {
        let mut takes = answer.takes.iter();
        answer.contains.is_some() || takes.any(|take| !matches!(take.from, FromFile::Header(_)))
    });
    found.map(|answer| answer.request)
}

/// The URL of a proxy, which may be written without its scheme, as curl has it.
fn with_scheme(proxy: &str) -> String {
    match proxy.contains("://") {
        true => proxy.to_owned(),
        false => format!("http://{proxy}"),
    }
}

fn named(flag: &str, of: impl std::fmt::Display, why: &str) -> UsageError {
    UsageError(format!("{flag}: {of}: {why}"))
}

/// What is wrong with a field that is no field, without what may be its secret.
fn without_colon(line: &str) -> UsageError {
    let name = line.split_whitespace().next().unwrap_or_default();
    let shown = if redact::is_secret(name) {
        format!("{name} {REDACTED}")
    } else {
        line.to_owned()
    };
    UsageError(format!(
        "-H/--header: '{shown}' has no colon: write 'Name: value'"
    ))
}
