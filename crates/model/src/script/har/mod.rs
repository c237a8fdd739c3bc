//! Recordings of browsers (HAR 1.2) as scripts: their requests in order, and the waits between.
//!
//! A user asks for what was recorded in its order, and waits where nothing was under way then: that
//! is when the person looked at a page. What was asked while something else was under way is asked
//! together, up to as many at once as a browser has connections to a server; the document that a
//! page begins with comes before its parts, which nobody knows before. What the recording says to
//! be of one page stays one, whatever the browser did between its parts, unless that took a second.

mod content;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use toml::value::{Datetime, Offset};

use self::content::Content;
use super::{Script, unique};
use crate::plan::{Expectation, ScriptFile, StepFile, Think, Url};
use crate::request::{Request, RequestFile};
use crate::units::Span;

/// A pause that is shorter is the browser's.
const WAIT_MIN: Span = Span::from_ms(1);

/// Within a page, one that is shorter is the browser's, too: it reads what came, and nobody else.
const READING: Span = Span::from_s(1);

/// Connections that browsers make to a server over HTTP/1.1.
const CONNECTIONS: u32 = 6;

/// Fields that belong to a connection, or that the generator writes itself.
const NOT_SENT: &[&str] = &[
    "connection",
    "content-length",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What a recording comes to.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What users do.
    pub script: Script,
    /// What they do not.
    pub left_out: LeftOut,
}

/// How many requests of a recording nobody sends.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LeftOut {
    /// They went to other servers than the first, and nobody said where those are.
    pub elsewhere: usize,
    /// The browser had the answer.
    pub from_cache: usize,
    /// They are no HTTP, as those of WebSockets.
    pub not_http: usize,
    /// No answer was recorded.
    pub unanswered: usize,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("to other servers", self.elsewhere),
            ("answered from the browser's cache", self.from_cache),
            ("not HTTP", self.not_http),
            ("without an answer", self.unanswered),
        ];
        let told = all.iter().filter(|(_, count)| *count > 0);
        let told: Vec<String> = told
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        f.write_str(&told.join(", "))
    }
}

/// Reads a recording. What went to the server of its first request goes to that of `base`, if there
/// is one; where that request was blocked or failed, the server is that of the first page. What
/// went elsewhere is left out, unless `is_known` says of its URL that the server is known: a
/// recording of a page asks servers of strangers, whom nobody means to load.
///
/// # Errors
///
/// It is no such file, or one of its requests cannot be sent.
pub fn read(
    text: &str,
    base: Option<&str>,
    is_known: &dyn Fn(&Url) -> bool,
) -> Result<Recorded, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: File =
        serde_json::from_str(text).map_err(|error| format!("it is not a HAR file: {error}"))?;
    let mut entries = Vec::new();
    for (entry, number) in file.log.entries.into_iter().zip(1..) {
        let begun = begun(&entry.started).ok_or_else(|| {
            let started = &entry.started;
            format!("entry {number}: '{started}' is not a time, as in 2025-01-31T12:00:00.250Z")
        })?;
        entries.push((begun, number, entry));
    }
    entries.sort_by_key(|(begun, number, _)| (*begun, *number));
    let mut reader = Reader {
        base,
        is_known,
        server: server_of_first_page(entries.iter().map(|(.., entry)| entry)),
        requests: Vec::new(),
        classes: BTreeMap::new(),
        names: BTreeSet::new(),
        left_out: LeftOut::default(),
    };
    let mut steps = Vec::new();
    let mut burst = Burst::default();
    let mut page = None;
    let mut busy_until = None;
    for (begun, number, entry) in entries {
        let ask = reader.ask(&entry);
        let ask = ask.map_err(|why| format!("entry {number}: {why}"))?;
        if ask.is_none() && reader.requests.is_empty() {
            // Nobody waits for what came before the first request.
            continue;
        }
        let is_idle = busy_until.is_none_or(|until| begun >= until);
        let idle = busy_until.map_or(0, |until| begun.saturating_sub(until));
        let is_new = entry.page.is_some() && entry.page != page;
        let time = Span::from_ns(idle);
        let is_same_page = entry.page.is_some() && !is_new && time < READING;
        if is_idle || is_new {
            burst.end(&mut steps);
            burst.has_document = is_new || entry.response.is_document();
            burst.is_of_parts = is_same_page && !burst.has_document;
        }
        // What is left out keeps its user from nothing, but a wait lasts until it began. What a
        // browser does within a page is its own work, and no user's wait.
        if time >= WAIT_MIN && !is_same_page {
            steps.push(StepFile::Wait(Think::Constant { time }));
        }
        burst.asked.extend(ask);
        page = entry.page.or(page);
        busy_until = busy_until.max(Some(begun + nanoseconds(entry.time)));
    }
    burst.end(&mut steps);
    // After the last step comes the first: a user stayed until the last request began, sent or left
    // out.
    let asks = |step: &StepFile| !matches!(step, StepFile::Wait(_));
    if !steps.iter().any(asks) {
        let why = "there is nothing to ask: record a page with the browser's developer tools, and \
                   export all of it";
        return Err(why.to_owned());
    }
    let mut script = ScriptFile {
        steps,
        ..ScriptFile::default()
    };
    script.user_connections = (script.together() > 1).then_some(CONNECTIONS);
    Ok(Recorded {
        script: Script {
            requests: reader.requests,
            steps: script,
            stages: Vec::new(),
        },
        left_out: reader.left_out,
    })
}

/// What was asked without a moment in which nothing was under way.
#[derive(Default)]
struct Burst {
    asked: Vec<u16>,
    /// The first of it is a document, or a page begins with it.
    has_document: bool,
    /// It belongs to a page that began before.
    is_of_parts: bool,
}

impl Burst {
    /// It is over: its steps, and the next is empty.
    fn end(&mut self, steps: &mut Vec<StepFile>) {
        let asked = std::mem::take(&mut self.asked);
        let (alone, together) = asked.split_at(usize::from(self.has_document).min(asked.len()));
        steps.extend(alone.iter().map(|class| StepFile::Ask(*class)));
        match together {
            [] => {}
            [one] if !self.is_of_parts && alone.is_empty() => steps.push(StepFile::Ask(*one)),
            several => steps.push(StepFile::Together(several.to_vec())),
        }
    }
}

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "startedDateTime")]
    started: String,
    /// In milliseconds.
    #[serde(default)]
    time: Option<f64>,
    request: Asked,
    #[serde(default)]
    response: Answered,
    /// Which page it belongs to.
    #[serde(default, rename = "pageref")]
    page: Option<String>,
    #[serde(default, rename = "_fromCache")]
    from_cache: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Asked {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Field>,
    #[serde(default, rename = "postData")]
    content: Option<Content>,
    /// Of the content; below nothing where nobody knows.
    #[serde(default, rename = "bodySize")]
    content_bytes: Option<f64>,
}

impl Asked {
    fn is_http(&self) -> bool {
        let scheme = self.url.split("://").next().unwrap_or_default();
        ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str())
    }

    /// Whether content was sent that the recording lacks: some programs write an empty text then.
    fn lacks_content(&self) -> bool {
        let Some(content) = &self.content else {
            return false;
        };
        let of_field = |field: &Field| {
            let is_length = field.name.eq_ignore_ascii_case("content-length");
            is_length
                && field
                    .value
                    .trim()
                    .parse()
                    .is_ok_and(|length: u64| length > 0)
        };
        let had_some = self.content_bytes.is_some_and(|bytes| bytes > 0.0)
            || self.headers.iter().any(of_field);
        content
            .text()
            .is_none_or(|text| text.is_empty() && had_some)
    }
}

#[derive(Deserialize)]
struct Field {
    name: String,
    value: String,
}

#[derive(Default, Deserialize)]
struct Answered {
    #[serde(default)]
    status: i64,
    #[serde(default)]
    content: Delivered,
    /// Bytes that came over the network, heads and all, as Chromium tells.
    #[serde(default, rename = "_transferSize")]
    transferred: Option<f64>,
}

#[derive(Default, Deserialize)]
struct Delivered {
    #[serde(default, rename = "mimeType")]
    kind: Option<String>,
}

impl Answered {
    /// Whether it may have parts that nobody knew before it came.
    fn is_document(&self) -> bool {
        let kind = self.content.kind.as_deref().unwrap_or_default();
        kind.starts_with("text/html") || kind.starts_with("application/xhtml")
    }
}

struct Reader<'a> {
    base: Option<&'a str>,
    is_known: &'a dyn Fn(&Url) -> bool,
    /// The host that the recording is about.
    server: Option<String>,
    requests: Vec<RequestFile>,
    /// By URL: what is asked in the same way is one request.
    classes: BTreeMap<String, Vec<u16>>,
    names: BTreeSet<String>,
    left_out: LeftOut,
}

/// The host of a URL that need not be one we can ask.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The host of the first page that came, if the first request had no answer: what was blocked or
/// broken off says nothing of the server that a recording is about.
fn server_of_first_page<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<String> {
    let mut entries = entries.filter(|entry| entry.request.is_http()).peekable();
    if entries.peek()?.response.status > 0 {
        return None;
    }
    let page = entries.find(|one| one.response.status > 0 && one.response.is_document())?;
    Some(host_of(&page.request.url).to_owned())
}

impl Reader<'_> {
    /// Whether the server of a URL that need not be one we can ask is `server`, or another one that
    /// is known.
    fn is_asked(&self, url: &str, server: &str) -> bool {
        let host = host_of(url);
        let is_known = || {
            let end = url.find("://").map_or(0, |at| at + 3);
            let length = url[end..].find(['/', '?', '#']).unwrap_or(url.len() - end);
            let root = Url::parse(&format!("{}/", &url[..end + length]));
            root.is_ok_and(|root| (self.is_known)(&root))
        };
        host.eq_ignore_ascii_case(server) || is_known()
    }

    /// The request of an entry; none if it is left out.
    fn ask(&mut self, entry: &Entry) -> Result<Option<u16>, String> {
        let asked = &entry.request;
        if !asked.is_http() {
            self.left_out.not_http += 1;
            return Ok(None);
        }
        let is_answered = entry.response.status > 0;
        let url = match (Url::parse(&asked.url), &self.server) {
            (Ok(url), _) => url,
            // Nobody asks a stranger's server, whatever its URLs look like.
            (Err(_), Some(server)) if !self.is_asked(&asked.url, server) => {
                self.left_out.elsewhere += 1;
                return Ok(None);
            }
            (Err(_), _) if !is_answered => {
                self.left_out.unanswered += 1;
                return Ok(None);
            }
            (Err(error), _) => return Err(error.to_string()),
        };
        let server = self.server.get_or_insert_with(|| url.host.clone());
        let is_elsewhere = !url.host.eq_ignore_ascii_case(server);
        if is_elsewhere && !(self.is_known)(&url) {
            self.left_out.elsewhere += 1;
            return Ok(None);
        }
        // An answer that travelled has a head at least. Not everybody who records with Chromium
        // says where it came from otherwise.
        let did_not_travel = is_answered && entry.response.transferred == Some(0.0);
        if entry.from_cache.is_some() || did_not_travel {
            self.left_out.from_cache += 1;
            return Ok(None);
        }
        if !is_answered {
            self.left_out.unanswered += 1;
            return Ok(None);
        }
        let Ok(status) = u16::try_from(entry.response.status) else {
            return Err(format!("{} is not a status", entry.response.status));
        };
        let target = match self.base {
            Some(_) if !is_elsewhere => Url::absolute(&url.path, self.base)?,
            _ => url.to_string(),
        };
        let is_sent = |name: &str| {
            !name.starts_with(':') && !NOT_SENT.contains(&name.to_ascii_lowercase().as_str())
        };
        let fields = asked.headers.iter().filter(|field| is_sent(&field.name));
        if asked.lacks_content() {
            return Err("the content that was sent is not in the recording".to_owned());
        }
        let text = asked.content.as_ref().and_then(Content::text);
        let body = text.map(|text| BASE64.encode(text.as_bytes()));
        let request = RequestFile {
            method: asked.method.clone(),
            headers: fields
                .map(|field| (field.name.clone(), field.value.clone()))
                .collect(),
            body_base64: body,
            // Where nothing else is said, an answer with an error is wrong.
            expect: (status >= 400).then(|| Expectation {
                status: Some(status),
                ..Expectation::default()
            }),
            ..RequestFile::get(target)
        };
        self.class(request).map(Some)
    }

    /// The position of a request, which may have been there before.
    fn class(&mut self, mut request: RequestFile) -> Result<u16, String> {
        let same = self.classes.entry(request.url.clone()).or_default();
        let is_same = |class: &u16| {
            let other = &self.requests[usize::from(*class)];
            let key = |one: &RequestFile| {
                let RequestFile {
                    method,
                    headers,
                    body_base64,
                    expect,
                    ..
                } = one.clone();
                (method, headers, body_base64, expect)
            };
            key(other) == key(&request)
        };
        if let Some(class) = same.iter().copied().find(is_same) {
            return Ok(class);
        }
        let class = u16::try_from(self.requests.len())
            .map_err(|_| "a script has at most 65,536 requests".to_owned())?;
        let meant = Request::read(&request, &Expectation::default());
        let meant = meant.map_err(|error| super::in_words(&error))?;
        request.name = Some(unique(&mut self.names, &meant.name));
        same.push(class);
        self.requests.push(request);
        Ok(class)
    }
}

/// In nanoseconds since some instant: RFC 3339, with an offset.
fn begun(text: &str) -> Option<u64> {
    let read: Datetime = text.trim().parse().ok()?;
    let (date, time) = (read.date?, read.time?);
    let offset = match read.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    // Days since the beginning of March in the year 0: leap days come at the end of a year.
    let (year, month) = (i64::from(date.year), i64::from(date.month));
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + i64::from(date.day);
    let minutes = (days - 719_469) * 24 * 60 + i64::from(time.hour) * 60 + i64::from(time.minute);
    let seconds = (minutes - offset) * 60 + time.second.map_or(0, i64::from);
    let nanoseconds = time.nanosecond.map_or(0, u64::from);
    u64::try_from(seconds)
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(nanoseconds)
}

/// Of so many milliseconds; what is not known is nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 to a day"
)]
fn nanoseconds(ms: Option<f64>) -> u64 {
    (ms.unwrap_or(0.0).clamp(0.0, 86_400_000.0) * 1e6).round() as u64
}

#[cfg(test)]
mod tests;
