//! The cookies of one user (RFC 6265). Each goes back to the host that set it, or to all hosts of
//! the domain that it names. There is no list of public suffixes here: a domain of one label, such
//! as `com`, is nobody's, and whoever writes `co.uk` into a cookie is believed.

use std::net::IpAddr;
use std::ops::Range;

use model::units::Span;
use wire::date;

use super::answer::trim;

/// The most cookies of one user (RFC 6265 §6.1: at least 50).
const COOKIES_MAX: usize = 64;
/// The longest cookie (RFC 6265 §6.1: at least 4096).
const COOKIE_MAX: usize = 4_096;

/// The longest Cookie field; servers take 8 KiB and more.
pub(super) const FIELD_MAX: usize = 16 * 1024;
/// `Cookie: ` and a line end.
const AROUND: usize = 10;

/// The cookies of one user. What would make the field too long is not kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Clone, Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    /// Where it goes back to.
    domain: Vec<u8>,
    /// To that host alone, and to none below it.
    is_of_host: bool,
    /// Over TLS alone.
    is_secure: bool,
    /// It is over then, since 1970; none where it lasts as long as its user.
    until: Option<Span>,
}

impl Jar {
    /// Somebody else has it.
    pub(super) fn clear(&mut self) {
        self.cookies.clear();
    }

    /// Keeps the cookie of a Set-Cookie field in the answer of `host`, in lower case, to `path`, or
    /// drops it, if its time is over at `now`, since 1970 (RFC 6265 §5.2, §5.3). Those whose time
    /// came meanwhile make room.
    pub(super) fn take(&mut self, field: &[u8], (host, path): (&[u8], &[u8]), now: Span) {
        let mut parts = field.split(|byte| *byte == b';');
        let pair = parts.next().unwrap_or_default();
        let Some(equals) = pair.iter().position(|byte| *byte == b'=') else {
            return;
        };
        let (name, value) = (trim(&pair[..equals]), trim(&pair[equals + 1..]));
        if name.is_empty() || name.len() + value.len() > COOKIE_MAX {
            return;
        }
        let (mut of_age, mut of_date) = (None, None);
        let mut path = default_path(path);
        let mut named = Vec::new();
        let mut is_secure = false;
        for part in parts {
            let (key, value) = match part.iter().position(|byte| *byte == b'=') {
                Some(equals) => (trim(&part[..equals]), trim(&part[equals + 1..])),
                None => (trim(part), &[][..]),
            };
            if key.eq_ignore_ascii_case(b"max-age") {
                of_age = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok());
            } else if key.eq_ignore_ascii_case(b"expires") {
                of_date = date::parse(value, now.as_ns() / 1_000_000_000);
            } else if key.eq_ignore_ascii_case(b"path") && value.first() == Some(&b'/') {
                path = value;
            } else if key.eq_ignore_ascii_case(b"secure") {
                is_secure = true;
            } else if key.eq_ignore_ascii_case(b"domain") {
                named = value
                    .strip_prefix(b".")
                    .unwrap_or(value)
                    .to_ascii_lowercase();
            }
        }
        let Some((domain, is_of_host)) = domain_of(host, &named) else {
            return;
        };
        let until = end(of_age, of_date, now);
        let has_come = |until: Option<Span>| until.is_some_and(|until| until <= now);
        let is_over = has_come(until);
        self.cookies.retain(|one| !has_come(one.until));
        let same = |one: &Cookie| one.name == name && one.path == path && one.domain == domain;
        match self.cookies.iter().position(same) {
            Some(at) if is_over => {
                self.cookies.remove(at);
            }
            Some(at) => {
                let kept = &mut self.cookies[at];
                (kept.is_of_host, kept.is_secure) = (is_of_host, is_secure);
                kept.until = until;
                kept.value.clear();
                kept.value.extend_from_slice(value);
                if self.length() > FIELD_MAX {
                    self.cookies.remove(at);
                }
            }
            None if is_over || self.cookies.len() == COOKIES_MAX => {}
            None if self.length() + name.len() + value.len() + 3 > FIELD_MAX => {}
            None => self.cookies.push(Cookie {
                name: name.to_vec(),
                value: value.to_vec(),
                path: path.to_vec(),
                domain: domain.to_vec(),
                is_of_host,
                is_secure,
                until,
            }),
        }
    }

    /// The length of a field with all cookies.
    fn length(&self) -> usize {
        let cookies = self.cookies.iter();
        let lengths = cookies.map(|cookie| cookie.name.len() + cookie.value.len() + 3);
        AROUND + lengths.sum::<usize>()
    }

    /// Writes the Cookie field for the target at `host`, which is asked over TLS or not `now`, that
    /// stands in this part of `out` to its end, if there is anything to send (RFC 6265 §5.4): what
    /// the request has of its `own`, and then the cookies, for a request has one such field.
    pub(super) fn write(
        &self,
        (host, over_tls, now): (&[u8], bool, Span),
        target: Range<usize>,
        own: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let query = out[target.clone()].iter().position(|byte| *byte == b'?');
        let path = target.start..query.map_or(target.end, |at| target.start + at);
        let start = out.len();
        out.extend_from_slice(b"Cookie: ");
        let begins = out.len();
        own(out);
        for cookie in &self.cookies {
            let is_for_host = match cookie.is_of_host {
                true => cookie.domain == host,
                false => is_within(host, &cookie.domain),
            };
            if !is_for_host
                || cookie.until.is_some_and(|until| until <= now)
                || (cookie.is_secure && !over_tls)
                || !is_below(&out[path.clone()], &cookie.path)
            {
                continue;
            }
            let before: &[u8] = if out.len() == begins { b"" } else { b"; " };
            for bytes in [before, &cookie.name, b"=", &cookie.value] {
                out.extend_from_slice(bytes);
            }
        }
        if out.len() == begins {
            out.truncate(start);
        } else {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// When a cookie is over that is set `now` and says its age in seconds, or a date.
fn end(age: Option<i64>, date: Option<u64>, now: Span) -> Option<Span> {
    match age {
        // What is negative is over at once.
        Some(seconds) => Some(now + Span::from_s(u64::try_from(seconds).unwrap_or(0))),
        None => date.map(Span::from_s),
    }
}

/// Where a cookie of `host` goes back to that names that domain, and whether to that host alone;
/// none where it has no say over that domain (RFC 6265 §5.3, steps 5 and 6).
fn domain_of<'t>(host: &'t [u8], named: &'t [u8]) -> Option<(&'t [u8], bool)> {
    if named.is_empty() {
        Some((host, true))
    } else if !named.contains(&b'.') || is_address(host) {
        (named == host).then_some((host, true))
    } else {
        is_within(host, named).then_some((named, false))
    }
}

/// Whether that host is in that domain (RFC 6265 §5.1.3).
fn is_within(host: &[u8], domain: &[u8]) -> bool {
    let above = host.strip_suffix(domain);
    above.is_some_and(|above| above.is_empty() || above.ends_with(b"."))
}

fn is_address(host: &[u8]) -> bool {
    let text = std::str::from_utf8(host);
    text.is_ok_and(|text| text.parse::<IpAddr>().is_ok())
}

/// RFC 6265 §5.1.4.
fn default_path(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    match slash {
        None | Some(0) => b"/",
        Some(at) => &path[..at],
    }
}

/// RFC 6265 §5.1.4.
fn is_below(path: &[u8], of: &[u8]) -> bool {
    path.strip_prefix(of)
        .is_some_and(|rest| rest.is_empty() || of.last() == Some(&b'/') || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In September 2001.
    const NOW: Span = Span::from_s(1_000_000_000);

    /// Set-Cookie fields of answers to /shop/item, and the Cookie field of a later request.
    fn check(fields: &[&str], target: &str, expected: &str) {
        let mut jar = Jar::default();
        for field in fields {
            jar.take(field.as_bytes(), (b"shop.test", b"/shop/item"), NOW);
        }
        let mut out = format!("GET {target}").into_bytes();
        let (start, end) = (4, out.len());
        jar.write((b"shop.test", false, NOW), start..end, |_| {}, &mut out);
        assert_eq!(String::from_utf8_lossy(&out[end..]), expected, "{fields:?}");
    }

    #[test]
    fn cookies_come_back_where_they_belong() {
        check(&["a=1"], "/shop/cart", "Cookie: a=1\r\n");
        check(&["a=1"], "/shop", "Cookie: a=1\r\n");
        check(&["a=1"], "/shopping", "");
        check(&["a=1; Path=/", "b=2;path=/x"], "/?q", "Cookie: a=1\r\n");
        check(
            &["a=1; Path=/", "b=2;path=/x"],
            "/x/y?/",
            "Cookie: a=1; b=2\r\n",
        );
        check(&["a=1; path=no"], "/shop/", "Cookie: a=1\r\n");
        check(&[" a = 1=2 ; HttpOnly"], "/shop/", "Cookie: a=1=2\r\n");
        check(&["a=1; secure", "b=2"], "/shop/", "Cookie: b=2\r\n");
    }

    #[test]
    fn a_secure_cookie_goes_over_tls_alone() {
        let mut jar = Jar::default();
        jar.take(b"a=1; Secure", (b"shop.test", b"/"), NOW);
        let sent = |jar: &Jar, over_tls: bool| {
            let mut out = b"/".to_vec();
            jar.write((b"shop.test", over_tls, NOW), 0..1, |_| {}, &mut out);
            String::from_utf8_lossy(&out[1..]).into_owned()
        };
        assert_eq!(sent(&jar, false), "");
        assert_eq!(sent(&jar, true), "Cookie: a=1\r\n");
        jar.take(b"a=2", (b"shop.test", b"/"), NOW);
        assert_eq!(sent(&jar, false), "Cookie: a=2\r\n");
    }

    #[test]
    fn a_cookie_is_replaced_and_dropped() {
        check(&["a=1", "b=2", "a=3"], "/shop/", "Cookie: a=3; b=2\r\n");
        check(&["a=1", "a=; Max-Age=0"], "/shop/", "");
        check(&["a=1; Max-Age=60"], "/shop/", "Cookie: a=1\r\n");
        let past = "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        check(&["a=1", past], "/shop/", "");
        check(
            &["a=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT"],
            "/shop/",
            "Cookie: a=1\r\n",
        );
        // RFC 6265 §5.3: Max-Age wins.
        let both = "a=1; Max-Age=5; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        check(&[both], "/shop/", "Cookie: a=1\r\n");
        check(&["=1", "a", ""], "/shop/", "");
        check(&[&format!("a={}", "x".repeat(5_000))], "/shop/", "");
    }

    /// RFC 6265 §5.4: a cookie is sent as long as it lasts.
    #[test]
    fn a_cookie_is_over_when_its_time_has_come() {
        let later = |ms| NOW + Span::from_ms(ms);
        let at = |jar: &Jar, now: Span| {
            let mut out = b"/".to_vec();
            jar.write((b"h", false, now), 0..1, |_| {}, &mut out);
            String::from_utf8_lossy(&out[1..]).into_owned()
        };
        let mut jar = Jar::default();
        jar.take(b"a=1; Max-Age=2", (b"h", b"/"), later(500));
        jar.take(b"b=2", (b"h", b"/"), later(500));
        let date = b"c=3; Expires=Sun, 09 Sep 2001 01:46:44 GMT";
        jar.take(date, (b"h", b"/"), later(500));
        assert_eq!(at(&jar, later(2_499)), "Cookie: a=1; b=2; c=3\r\n");
        assert_eq!(at(&jar, later(2_500)), "Cookie: b=2; c=3\r\n");
        assert_eq!(at(&jar, later(4_000)), "Cookie: b=2\r\n");
        // It lasts on where it is set again, and what is over makes room.
        jar.take(b"a=4; Max-Age=2", (b"h", b"/"), later(2_000));
        assert_eq!(at(&jar, later(3_999)), "Cookie: a=4; b=2; c=3\r\n");
        jar.take(b"b=2; Max-Age=-1", (b"h", b"/"), later(9_000));
        assert!(jar.cookies.is_empty());
        // The longest that can be said is no wrong time.
        let long = format!("a=1; Max-Age={}", i64::MAX);
        jar.take(long.as_bytes(), (b"h", b"/"), NOW);
        assert_eq!(at(&jar, later(1_000_000)), "Cookie: a=1\r\n");
    }

    #[test]
    fn a_host_hears_of_its_own_cookies_alone() {
        let mut jar = Jar::default();
        jar.take(b"a=1", (b"one.test", b"/"), NOW);
        jar.take(b"a=2", (b"two.test", b"/"), NOW);
        jar.take(b"b=3", (b"two.test", b"/"), NOW);
        assert_eq!(sent(&jar, "one.test"), "Cookie: a=1\r\n");
        assert_eq!(sent(&jar, "two.test"), "Cookie: a=2; b=3\r\n");
        assert_eq!(sent(&jar, "three.test"), "");
        jar.take(b"a=; Max-Age=0", (b"two.test", b"/"), NOW);
        assert_eq!(sent(&jar, "one.test"), "Cookie: a=1\r\n");
        assert_eq!(sent(&jar, "two.test"), "Cookie: b=3\r\n");
    }

    /// The Cookie field of a request of `/` at `host`.
    fn sent(jar: &Jar, host: &str) -> String {
        let mut out = b"/".to_vec();
        jar.write((host.as_bytes(), false, NOW), 0..1, |_| {}, &mut out);
        String::from_utf8_lossy(&out[1..]).into_owned()
    }

    #[test]
    fn a_cookie_goes_to_all_hosts_of_the_domain_that_it_names() {
        /// Whether a cookie of `by` that names `domain` goes to each of these hosts.
        fn check(by: &str, domain: &str, hosts: &[(&str, bool)]) {
            let mut jar = Jar::default();
            let field = format!("a=1; Domain={domain}");
            jar.take(field.as_bytes(), (by.as_bytes(), b"/"), NOW);
            for (host, expected) in hosts {
                let is_sent = !sent(&jar, host).is_empty();
                assert_eq!(is_sent, *expected, "{by} {domain} {host}");
            }
        }
        let all = [
            ("shop.test", true),
            ("www.shop.test", true),
            ("a.b.shop.test", true),
            ("myshop.test", false),
            ("test", false),
        ];
        for domain in ["shop.test", ".shop.test", "Shop.TEST"] {
            check("www.shop.test", domain, &all);
            check("shop.test", domain, &all);
        }
        // It has no say there.
        check(
            "shop.test",
            "www.shop.test",
            &[("www.shop.test", false), ("shop.test", false)],
        );
        check(
            "www.shop.test",
            "bank.test",
            &[("bank.test", false), ("www.shop.test", false)],
        );
        check(
            "shop.test",
            "test",
            &[("bank.test", false), ("shop.test", false)],
        );
        check(
            "127.0.0.1",
            "0.0.1",
            &[("127.0.0.1", false), ("0.0.1", false)],
        );
        check(
            "127.0.0.1",
            "127.0.0.1",
            &[("127.0.0.1", true), ("1.127.0.0.1", false)],
        );
        // Its own name alone.
        check(
            "localhost",
            "localhost",
            &[("localhost", true), ("www.localhost", false)],
        );
        check(
            "shop.test",
            "",
            &[("shop.test", true), ("www.shop.test", false)],
        );
    }

    #[test]
    fn a_cookie_is_replaced_by_one_of_the_same_domain() {
        let mut jar = Jar::default();
        jar.take(b"a=1; Domain=shop.test", (b"www.shop.test", b"/"), NOW);
        jar.take(b"a=2; Domain=shop.test", (b"img.shop.test", b"/"), NOW);
        jar.take(b"a=3", (b"www.shop.test", b"/"), NOW);
        assert_eq!(sent(&jar, "www.shop.test"), "Cookie: a=2; a=3\r\n");
        assert_eq!(sent(&jar, "img.shop.test"), "Cookie: a=2\r\n");
        jar.take(
            b"a=; Max-Age=0; Domain=shop.test",
            (b"img.shop.test", b"/"),
            NOW,
        );
        assert_eq!(sent(&jar, "www.shop.test"), "Cookie: a=3\r\n");
    }

    #[test]
    fn a_server_cannot_fill_the_memory() {
        let fields: Vec<String> = (0..500).map(|number| format!("c{number}=1")).collect();
        let mut jar = Jar::default();
        for field in &fields {
            jar.take(field.as_bytes(), (b"shop.test", b"/"), NOW);
        }
        assert_eq!(jar.cookies.len(), COOKIES_MAX);
        let mut jar = Jar::default();
        for number in 0..64 {
            let value = "x".repeat(1 + number * 50);
            jar.take(
                format!("c{number}={value}").as_bytes(),
                (b"shop.test", b"/"),
                NOW,
            );
        }
        jar.take(
            format!("c0={}", "x".repeat(4_000)).as_bytes(),
            (b"shop.test", b"/"),
            NOW,
        );
        let mut out = b"/".to_vec();
        jar.write((b"shop.test", false, NOW), 0..1, |_| {}, &mut out);
        let length = out.len() - 1;
        assert!((FIELD_MAX / 2..=FIELD_MAX).contains(&length), "{length}");
    }
}
