//! Redirects: where they lead, and the exchanges that go on there.
//!
//! A plan asks one server, and what leads elsewhere on it is followed. What leads to another server
//! is the answer: nothing is sent there, credentials and cookies least of all.
//!
//! Cost: a request that is sent elsewhere is written when it begins; where nothing is followed,
//! a look at the status of an answer.

use std::collections::VecDeque;

use model::plan::{self, Plan, Url};
use model::units::{Instant, Span};
use wire::{Head, Request, RequestId, RequestParts};

use crate::flight::Flight;
use crate::session::fields;

/// A longer target is not followed.
const TARGET_MAX: usize = 4_096;

/// Whether an answer with this status sends elsewhere (RFC 9110 §15.4).
#[inline]
pub(crate) const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// What redirects have led to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Hop {
    /// From the slash on, with the query.
    target: String,
    /// It is asked for by GET, whatever was asked before, without content.
    is_get: bool,
    /// How many redirects led there.
    count: u32,
}

/// Says where the redirects of a plan lead.
#[derive(Debug)]
pub(crate) struct Guide {
    /// So many of an exchange are followed.
    most: u32,
    /// What stands before the path in the target of a request.
    origin: String,
    requests: Box<[plan::Request]>,
}

impl Guide {
    /// None where `plan` follows none.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        Some(Self {
            most: plan.file().follow?,
            origin: plan.origin_of(&plan.request().url),
            requests: plan.requests().into(),
        })
    }

    /// What an answer to the request of `class` leads to that was asked for what `before` had led
    /// to, however many redirects there were. None: it is the answer.
    pub(crate) fn lead(
        &self,
        class: u16,
        before: Option<&Hop>,
        status: u16,
        location: Option<&[u8]>,
    ) -> Option<Hop> {
        if !is_redirect(status) {
            return None;
        }
        let request = &self.requests[usize::from(class)];
        let base = before.map_or(request.url.path.as_str(), |hop| &hop.target);
        let location = std::str::from_utf8(location?).ok()?;
        // RFC 9110 §15.4: what was sent by POST is not sent again where 301 or 302 leads, as
        // browsers have it, and nothing is where 303 does.
        let is_rewritten = match status {
            301 | 302 => request.method == "POST",
            303 => request.method != "HEAD",
            _ => false,
        };
        Some(Hop {
            target: resolve(&request.url, base, location)?,
            is_get: is_rewritten || before.is_some_and(|hop| hop.is_get),
            count: before.map_or(0, |hop| hop.count) + 1,
        })
    }

    /// Whether it is followed: not so many redirects led there that it is the answer.
    pub(crate) const fn follows(&self, hop: &Hop) -> bool {
        hop.count <= self.most
    }

    /// The whole message that asks for it, as HTTP/1.1 has it.
    pub(crate) fn message(&self, class: u16, hop: &Hop, closes: bool) -> Vec<u8> {
        let request = &self.requests[usize::from(class)];
        let target = format!("{}{}", self.origin, hop.target);
        let is_of_content = |name: &str| name.to_ascii_lowercase().starts_with("content-");
        let fields = request.headers.iter();
        let fields = fields.filter(|(name, _)| !hop.is_get || !is_of_content(name));
        let fields: Vec<(String, String)> = fields.cloned().collect();
        let parts = RequestParts {
            method: if hop.is_get { "GET" } else { &request.method },
            target: &target,
            authority: &request.url.authority,
            fields: &fields,
            content: request.body.as_deref().filter(|_| !hop.is_get),
        };
        let compiled = Request::compile(RequestId(0), &parts, closes);
        compiled.h1_bytes().to_vec()
    }

    /// The longest such message.
    fn longest(&self) -> usize {
        let target = "/".repeat(TARGET_MAX);
        let hop = Hop {
            target,
            is_get: false,
            count: 1,
        };
        let classes = 0..u16::try_from(self.requests.len()).unwrap_or(u16::MAX);
        let lengths = classes.map(|class| self.message(class, &hop, true).len());
        lengths.max().unwrap_or(0)
    }
}

/// The most bytes that redirects of `plan` make anyone send at once; 0 where none is followed.
pub(crate) fn longest(plan: &Plan) -> usize {
    Guide::new(plan).map_or(0, |guide| guide.longest())
}

/// The target that `location` means in an answer to `base` of the server of `url` (RFC 3986 §5.2);
/// none where that is another server's.
pub(crate) fn resolve(url: &Url, base: &str, location: &str) -> Option<String> {
    let location = location.split('#').next().unwrap_or_default();
    let of_server = |text: &str| {
        let other = Url::parse(text).ok()?;
        other.has_server_of(url).then_some(other.path)
    };
    let path = base.split('?').next().unwrap_or_default();
    let target = if location.starts_with("//") {
        let scheme = if url.is_secure { "https" } else { "http" };
        of_server(&format!("{scheme}:{location}"))?
    } else if has_scheme(location) {
        of_server(Some(location).filter(|text| text.contains("://"))?)?
    } else if location.starts_with('/') {
        location.to_owned()
    } else if location.is_empty() {
        base.to_owned()
    } else if location.starts_with('?') {
        format!("{path}{location}")
    } else {
        let folder = path.rfind('/').map_or("/", |slash| &path[..=slash]);
        format!("{folder}{location}")
    };
    let may_be_sent =
        target.len() <= TARGET_MAX && target.bytes().all(|byte| byte.is_ascii_graphic());
    may_be_sent.then(|| without_dots(&target))
}

fn has_scheme(location: &str) -> bool {
    let is_scheme = |text: &str| {
        let may = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(may)
    };
    location
        .split_once(':')
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// RFC 3986 §5.2.4.
fn without_dots(target: &str) -> String {
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let mut kept = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_dots = matches!(segment, "." | "..");
        if segment == ".." {
            kept.pop();
        }
        if !is_dots {
            kept.push(segment);
        } else if segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}{query}", kept.join("/"))
}

/// When an exchange began that goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    /// When a connection was free for its first request.
    pub(crate) ready: Instant,
    /// When that was sent.
    pub(crate) sent: Instant,
    /// How late we began to make a connection for it.
    pub(crate) begun_late: Span,
}

/// An exchange that goes on elsewhere.
#[derive(Debug)]
struct Led {
    due: Instant,
    class: u16,
    since: Since,
    hop: Hop,
}

/// What is asked on a connection after a redirect.
#[derive(Debug)]
struct Asked {
    since: Since,
    hop: Hop,
    message: Vec<u8>,
}

/// The exchanges of one worker that were sent elsewhere. On each connection there is one at a time.
#[derive(Debug)]
pub(crate) struct Follower {
    guide: Guide,
    /// By connection: what is asked there now, if a redirect led to it.
    asked: Box<[Option<Asked>]>,
    /// By connection: what the answer that comes leads to.
    coming: Box<[Option<Hop>]>,
    /// Those that go on as soon as a connection has room.
    waiting: VecDeque<Led>,
    /// What the one goes on to that was taken last, and since when it is under way.
    taken: Option<(Hop, Since)>,
}

impl Follower {
    /// For so many connections; none where `plan` follows no redirect.
    pub(crate) fn new(plan: &Plan, connections: u32) -> Option<Self> {
        let count = connections as usize;
        Some(Self {
            guide: Guide::new(plan)?,
            asked: (0..count).map(|_| None).collect(),
            coming: (0..count).map(|_| None).collect(),
            waiting: VecDeque::with_capacity(count),
            taken: None,
        })
    }

    /// The head of a redirect has come to `place`: whether it is followed.
    pub(crate) fn hear(&mut self, place: u32, class: u16, head: &Head<'_>) -> bool {
        let place = place as usize;
        let mut all = fields(head.bytes);
        let location = all.find(|(name, _)| name.eq_ignore_ascii_case(b"location"));
        let location = location.map(|(_, value)| value);
        let before = self.asked[place].as_ref().map(|asked| &asked.hop);
        let next = self.guide.lead(class, before, head.status, location);
        self.coming[place] = next.filter(|hop| self.guide.follows(hop));
        self.coming[place].is_some()
    }

    /// That answer is complete: its exchange waits to go on.
    pub(crate) fn hold(&mut self, place: u32, flight: &Flight) {
        if let (Some(hop), Some(sent)) = (self.coming[place as usize].take(), flight.sent) {
            let since = Since {
                ready: flight.ready,
                sent,
                begun_late: flight.begun_late,
            };
            self.waiting.push_back(Led {
                due: flight.due,
                class: flight.class(),
                since,
                hop,
            });
        }
    }

    /// Whether an exchange waits to go on.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the exchange that goes on next: when it was due, and which request it is. It begins,
    /// or is given up, before another one is taken.
    pub(crate) fn take(&mut self) -> Option<(Instant, u16)> {
        let Led {
            due,
            class,
            since,
            hop,
        } = self.waiting.pop_front()?;
        self.taken = Some((hop, since));
        Some((due, class))
    }

    /// What was taken last does not go on: since when it was under way.
    pub(crate) fn give_up(&mut self) -> Option<Since> {
        self.taken.take().map(|(_, since)| since)
    }

    /// A request begins in `place`, that of the exchange which was taken last if it `goes_on`: its
    /// message, if a redirect led to it.
    pub(crate) fn begin(
        &mut self,
        place: u32,
        class: u16,
        goes_on: bool,
        closes: bool,
    ) -> Option<&[u8]> {
        let here = place as usize;
        self.coming[here] = None;
        let taken = self.taken.take().filter(|_| goes_on);
        self.asked[here] = taken.map(|(hop, since)| Asked {
            message: self.guide.message(class, &hop, closes),
            since,
            hop,
        });
        self.message(place)
    }

    /// Since when the exchange in `place` is under way, if a redirect led it there.
    pub(crate) fn since(&self, place: u32) -> Option<Since> {
        Some(self.asked[place as usize].as_ref()?.since)
    }

    /// What is asked in `place`, if a redirect led to it.
    #[inline]
    pub(crate) fn message(&self, place: u32) -> Option<&[u8]> {
        let asked = self.asked[place as usize].as_ref()?;
        Some(&asked.message)
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::{PlanFile, RequestFile};

    use super::*;

    fn guide(method: &str, most: u32) -> Guide {
        let text = |text: &str| text.to_owned();
        let plan = PlanFile {
            follow: Some(most),
            requests: vec![RequestFile {
                method: text(method),
                headers: vec![
                    (text("Content-Type"), text("text/plain")),
                    (text("Authorization"), text("Bearer x")),
                ],
                body_base64: (method == "POST").then(|| text("aGk=")),
                ..RequestFile::get("http://h:81/a/b?q")
            }],
            ..fixture::plan("http://h:81/a/b?q", &[])
        };
        Guide::new(&Plan::try_from(plan).unwrap()).expect("it follows")
    }

    #[test]
    fn a_location_is_resolved_and_another_server_is_not_asked() {
        let guide = guide("GET", 9);
        let check = |location: &str, expected: Option<&str>| {
            let hop = guide.lead(0, None, 302, Some(location.as_bytes()));
            let target = hop.map(|hop| hop.target);
            assert_eq!(target.as_deref(), expected, "{location}");
        };
        check("/x", Some("/x"));
        check("/x?y#z", Some("/x?y"));
        check("x", Some("/a/x"));
        check("../x/./y/..", Some("/x/"));
        check("../../../x?../y", Some("/x?../y"));
        check("?r", Some("/a/b?r"));
        check("", Some("/a/b?q"));
        check("#z", Some("/a/b?q"));
        check("http://h:81", Some("/"));
        check("HTTP://h:81/x?y", Some("/x?y"));
        check("//h:81/x", Some("/x"));
        for elsewhere in [
            "https://h:81/x",
            "http://h/x",
            "http://h:82/x",
            "http://other:81/x",
            "//other/x",
            "http://me@h:81/x",
            "mailto:me",
            "h:81/x",
            "/\u{fc}",
            "/a b",
            &format!("/{}", "x".repeat(TARGET_MAX)),
        ] {
            check(elsewhere, None);
        }
        assert_eq!(guide.lead(0, None, 302, None), None);
        assert_eq!(guide.lead(0, None, 304, Some(b"/x")), None);
    }

    #[test]
    fn so_many_redirects_are_followed() {
        let guide = guide("GET", 2);
        let first = guide.lead(0, None, 301, Some(b"/c/d"));
        let second = guide.lead(0, first.as_ref(), 307, Some(b"e"));
        assert_eq!(second.as_ref().map(|hop| hop.target.as_str()), Some("/c/e"));
        assert!(second.as_ref().is_some_and(|hop| guide.follows(hop)));
        let third = guide.lead(0, second.as_ref(), 301, Some(b"/f"));
        assert!(third.is_some_and(|hop| !guide.follows(&hop)));
        assert_eq!(
            guide.lead(0, second.as_ref(), 301, Some(b"http://other/")),
            None
        );
        assert_eq!(guide.lead(0, second.as_ref(), 200, Some(b"/f")), None);
    }

    #[test]
    fn methods_are_kept_or_become_get() {
        let check = |method: &str, status: u16, expected: &str| {
            let guide = guide(method, 9);
            let hop = guide.lead(0, None, status, Some(b"/x"));
            let message = guide.message(0, &hop.expect("it leads there"), false);
            assert_eq!(String::from_utf8_lossy(&message), expected, "{status}");
        };
        let head = "Host: h:81\r\nContent-Type: text/plain\r\nAuthorization: Bearer x\r\n";
        let bare = "GET /x HTTP/1.1\r\nHost: h:81\r\nAuthorization: Bearer x\r\n\r\n";
        let whole = format!("POST /x HTTP/1.1\r\n{head}Content-Length: 2\r\n\r\nhi");
        for status in [301, 302, 303] {
            check("POST", status, bare);
        }
        for status in [307, 308] {
            check("POST", status, &whole);
        }
        check("PUT", 302, &format!("PUT /x HTTP/1.1\r\n{head}\r\n"));
        check("PUT", 303, bare);
        check("HEAD", 303, &format!("HEAD /x HTTP/1.1\r\n{head}\r\n"));
        check("GET", 301, &format!("GET /x HTTP/1.1\r\n{head}\r\n"));
        // Once by GET, it stays that.
        let guide = guide("POST", 9);
        let first = guide.lead(0, None, 302, Some(b"/x"));
        let second = guide.lead(0, first.as_ref(), 307, Some(b"/y"));
        let message = guide.message(0, &second.expect("it leads there"), true);
        assert!(message.starts_with(b"GET /y HTTP/1.1\r\n"));
        assert!(message.ends_with(b"\r\nConnection: close\r\n\r\n"));
    }
}
