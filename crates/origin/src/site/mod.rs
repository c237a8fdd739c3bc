//! What is answered to whom: the files of a folder, and answers made to order where that is
//! enabled.
//!
//! One per worker. It knows requests and answers, and nothing of connections.

mod content;
mod listing;

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;
use std::sync::Arc;

use model::{Instant, Random};
use sys::file::Folder;
use sys::reactor::{Reactor, Stored};
use wire::h1::request::{RequestBody, RequestHead};
use wire::{Handler, Part, Persistence, Repeat};

use crate::Settings;
use crate::answers::{Answer, Answers, Place};
use crate::file::Files;
use crate::head::{HeadWriter, Today, date_offset};
use crate::log::{self, AccessLog};
use crate::route::{self, RESERVED, Unroutable};
use crate::synthetic::{self, Filler, Order};

/// What files and orders allow; anything else is 405 or 501.
const ALLOWED: &str = "GET, HEAD, OPTIONS";
/// Methods that exist, and are not for files (RFC 9110 §9.3, RFC 5789).
const NOT_ALLOWED: [&str; 6] = ["POST", "PUT", "DELETE", "PATCH", "CONNECT", "TRACE"];

/// A larger buffer is not kept for the next connection.
const SPARE_LIMIT: usize = 64 * 1024;

/// One worker's view of what is served.
#[derive(Debug)]
pub(crate) struct Site {
    files: Files,
    index: String,
    listing: bool,
    dot_files: bool,
    synthetic: Option<Synthetic>,
    /// Whether connections are inside TLS.
    over_tls: bool,
    answers: Answers,
    /// A buffer for the next connection that writes.
    spare: Vec<u8>,
    log: Option<AccessLog>,
    now: Instant,
    today: Today,
    /// Who asks, for the log.
    peer: IpAddr,
    /// Where else the site is, as a field of answers.
    alternative: Option<String>,
    requests: u64,
}

#[derive(Debug)]
struct Synthetic {
    random: Random,
    filler: Filler,
}

/// An answer, as the log and the store of answers need to know it.
struct Reply {
    status: u16,
    /// Content, in bytes.
    length: u64,
    parts: Vec<Part<Arc<File>>>,
    /// Until when the same answer may be given again without a further look.
    holds_until: Option<Instant>,
    has_date: bool,
}

impl Reply {
    /// An answer that was written whole.
    fn written(status: u16, length: u64) -> Self {
        Self {
            status,
            length,
            parts: Vec::new(),
            holds_until: None,
            has_date: true,
        }
    }
}

impl Site {
    /// What `settings` say, for worker number `worker`.
    pub(crate) fn new(settings: &Settings, folder: Folder, worker: u64) -> io::Result<Self> {
        let synthetic = if settings.synthetic {
            Some(Synthetic {
                random: Random::stream(settings.seed, worker),
                filler: Filler::new()?,
            })
        } else {
            None
        };
        let open = |target| AccessLog::open(target, settings.log_buffer);
        let log = settings.access_log.as_ref().map(open).transpose()?;
        let log = log.map(|log| log.heard_by(settings.log_failed));
        Ok(Self {
            files: Files::new(folder, settings.revalidation),
            index: settings.index.clone(),
            listing: settings.listing,
            dot_files: settings.dot_files,
            synthetic,
            over_tls: settings.tls.is_some(),
            answers: Answers::new(),
            spare: Vec::new(),
            log,
            now: Instant::ZERO,
            today: Today::at(0),
            peer: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            alternative: None,
            requests: 0,
        })
    }

    /// Every answer says that the site is there over HTTP/3, too, on these ports (RFC 7838 §3).
    pub(crate) fn offer_http3(&mut self, ports: &[u16]) {
        let each = ports.iter().map(|port| format!("h3=\":{port}\"; ma=86400"));
        let each: Vec<String> = each.collect();
        self.alternative = Some(format!("Alt-Svc: {}\r\n", each.join(", ")));
    }

    /// The time of what follows: monotonic, and in seconds since 1970.
    #[inline]
    pub(crate) fn set_time(&mut self, now: Instant, second: u64) {
        self.now = now;
        if second != self.today.second {
            self.today = Today::at(second);
        }
    }

    /// Who asks what follows.
    #[inline]
    pub(crate) fn set_peer(&mut self, peer: IpAddr) {
        self.peer = peer;
    }

    /// By what the reactor knows a kept answer.
    #[inline]
    pub(crate) fn stored(&self, kept: &Answer, reactor: &mut impl Reactor) -> Stored {
        kept.stored(&self.today, reactor)
    }

    /// Lets the reactor forget answers that are kept no more.
    #[inline]
    pub(crate) fn discard(&mut self, reactor: &mut impl Reactor) {
        self.answers.discard(reactor);
    }

    /// Requests answered so far.
    pub(crate) const fn requests(&self) -> u64 {
        self.requests
    }

    /// Whether log lines wait to be written.
    pub(crate) fn is_log_pending(&self) -> bool {
        self.log.as_ref().is_some_and(AccessLog::is_pending)
    }

    /// Writes the log lines that wait.
    pub(crate) fn flush_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.flush();
        }
    }

    /// Opens the log anew; whether that went well.
    pub(crate) fn reopen_log(&mut self) -> bool {
        self.log.as_mut().is_none_or(|log| log.reopen().is_ok())
    }

    /// Writes of the log that failed.
    pub(crate) fn log_failures(&self) -> u64 {
        self.log.as_ref().map_or(0, AccessLog::failures)
    }

    fn reply(
        &mut self,
        request: &RequestHead<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        if request.method == "OPTIONS" && request.target == "*" {
            return self.options(persistence, out);
        }
        let target = match self.origin_form(request).and_then(route::route) {
            Ok(target) => target,
            Err(_) if request.method == "CONNECT" => {
                return self.not_allowed(request, persistence, out);
            }
            Err(Unroutable::Bad) => return self.error(request, 400, persistence, out),
            Err(Unroutable::Nowhere) => return self.error(request, 404, persistence, out),
        };
        if self.synthetic.is_some()
            && let Ok(path) = std::str::from_utf8(&target.path)
            && let Some(order) = synthetic::order(path, target.query)
        {
            return match order {
                Ok(order) => self.made_to_order(request, order, persistence, out),
                Err(why) => self.bad_order(request, &why, persistence, out),
            };
        }
        match request.method {
            "GET" | "HEAD" => self.content(request, &target, persistence, out),
            "OPTIONS" => self.options(persistence, out),
            _ => self.not_allowed(request, persistence, out),
        }
    }

    fn made_to_order(
        &mut self,
        request: &RequestHead<'_>,
        order: Order,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        let has_content = request.method != "HEAD";
        let Some(synthetic) = &mut self.synthetic else {
            return self.error(request, 404, persistence, out);
        };
        let filler = &synthetic.filler;
        match order {
            Order::Null { bytes } => {
                let (length, parts) =
                    synthetic::answer_null(bytes, filler, has_content, persistence, out);
                Reply {
                    parts,
                    holds_until: Some(Instant::FAR_FUTURE),
                    has_date: false,
                    ..Reply::written(200, length)
                }
            }
            Order::Synthetic(recipe) => {
                let random = &mut synthetic.random;
                let today = &self.today;
                let (length, parts) = synthetic::answer(
                    &recipe,
                    filler,
                    has_content,
                    persistence,
                    today,
                    random,
                    out,
                );
                Reply {
                    parts,
                    holds_until: recipe.is_fixed().then_some(Instant::FAR_FUTURE),
                    ..Reply::written(recipe.status(), length)
                }
            }
        }
    }

    fn origin_form<'r>(&self, request: &RequestHead<'r>) -> Result<&'r str, Unroutable> {
        route::origin_form(request.target, self.over_tls)
    }

    fn bad_order(
        &self,
        request: &RequestHead<'_>,
        why: &str,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        let text = format!("{why}\n");
        let length = text.len() as u64;
        HeadWriter::begin(out, 400, &self.today)
            .field("Content-Type", "text/plain; charset=utf-8")
            .length(length)
            .end(persistence);
        if request.method == "HEAD" {
            return Reply::written(400, 0);
        }
        out.extend_from_slice(text.as_bytes());
        Reply::written(400, length)
    }

    fn options(&self, persistence: Persistence, out: &mut Vec<u8>) -> Reply {
        HeadWriter::begin(out, 204, &self.today)
            .field("Allow", ALLOWED)
            .end(persistence);
        Reply::written(204, 0)
    }

    fn not_allowed(
        &self,
        request: &RequestHead<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        if NOT_ALLOWED.contains(&request.method) {
            self.error(request, 405, persistence, out)
        } else {
            self.error(request, 501, persistence, out)
        }
    }

    fn error(
        &self,
        request: &RequestHead<'_>,
        status: u16,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        let is_head = request.method == "HEAD";
        Reply::written(
            status,
            content::write_error(out, status, &self.today, is_head, persistence),
        )
    }

    /// Puts what says where else the site is into the head at `start`, as its last field.
    fn offer(&self, start: usize, out: &mut Vec<u8>) {
        if let Some(field) = &self.alternative
            && let Some(end) = memchr::memmem::find(&out[start..], b"\r\n\r\n")
        {
            let at = start + end + 2;
            out.splice(at..at, field.bytes());
        }
    }

    /// Counts, logs, and keeps an answer that stands in `out` from `start` on.
    fn note(
        &mut self,
        request: &RequestHead<'_>,
        reply: &Reply,
        persistence: Persistence,
        answer: &[u8],
    ) {
        self.requests += 1;
        let mut tail = Vec::new();
        if let Some(log) = &mut self.log {
            tail = log::tail(&log::Line {
                request: line(request.bytes),
                status: reply.status,
                bytes: reply.length,
                referer: request.field("referer"),
                agent: request.field("user-agent"),
            });
            log.write(self.peer, self.today.second, &tail);
        }
        let Some(holds_until) = reply.holds_until else {
            return;
        };
        let rest = match reply.parts.as_slice() {
            [] => None,
            [part @ (Part::Cycle { .. } | Part::File { .. })] => Some(part.clone()),
            _ => return,
        };
        if persistence == Persistence::Usual
            && request.body == RequestBody::Length(0)
            && Answers::keeps(request.bytes, answer)
        {
            self.answers.keep(Answer {
                request: request.bytes.into(),
                bytes: answer.into(),
                rest,
                date_at: reply.has_date.then(|| date_offset(reply.status)),
                holds_until,
                log_tail: tail.into(),
                place: Place::default(),
            });
        }
    }
}

fn line(head: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\r', head).unwrap_or(head.len());
    &head[..end]
}

impl Handler for Site {
    type File = Arc<File>;
    type Kept = Rc<Answer>;

    fn set_peer(&mut self, peer: IpAddr) {
        self.peer = peer;
    }

    #[inline]
    fn repeat(&mut self, bytes: &[u8]) -> Option<Repeat<Arc<File>, Rc<Answer>>> {
        let answer = self.answers.find(bytes, self.now)?;
        if let Some(log) = &mut self.log {
            log.write(self.peer, self.today.second, &answer.log_tail);
        }
        self.requests += 1;
        Some(Repeat {
            request_length: answer.request.len(),
            kept: Rc::clone(answer),
            rest: answer.rest.clone(),
        })
    }

    fn copy(&mut self, kept: &Rc<Answer>, out: &mut Vec<u8>) {
        kept.copy(&self.today, out);
    }

    fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    fn take_back(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        if buffer.capacity() > self.spare.capacity() && buffer.capacity() <= SPARE_LIMIT {
            self.spare = buffer;
        }
    }

    fn read(&mut self, file: &Arc<File>, offset: u64, length: usize, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + length, 0);
        file.read_exact_at(&mut out[start..], offset).is_ok()
    }

    fn wants_body(&mut self, request: &RequestHead<'_>) -> bool {
        let is_reserved = |target: &str| target.starts_with(RESERVED);
        let is_order = self.synthetic.is_some() && self.origin_form(request).is_ok_and(is_reserved);
        is_order || matches!(request.method, "GET" | "HEAD" | "OPTIONS")
    }

    fn answer(
        &mut self,
        request: &RequestHead<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Vec<Part<Arc<File>>> {
        let start = out.len();
        let reply = self.reply(request, persistence, out);
        self.offer(start, out);
        self.note(request, &reply, persistence, &out[start..]);
        reply.parts
    }

    fn reject(&mut self, status: u16, request: &[u8], why: &str, out: &mut Vec<u8>) {
        let text = format!("{why}\n");
        let length = text.len() as u64;
        // RFC 9110 §9.3.2: whatever is wrong with it, HEAD has no content.
        let is_head = request.split(|byte| *byte == b' ').next() == Some(b"HEAD");
        let text = if is_head { "" } else { &text };
        HeadWriter::begin(out, status, &self.today)
            .field("Content-Type", "text/plain; charset=utf-8")
            .length(length)
            .end(Persistence::Close);
        out.extend_from_slice(text.as_bytes());
        self.requests += 1;
        if let Some(log) = &mut self.log {
            let tail = log::tail(&log::Line {
                request,
                status,
                bytes: text.len() as u64,
                referer: None,
                agent: None,
            });
            log.write(self.peer, self.today.second, &tail);
        }
    }
}
