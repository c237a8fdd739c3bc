//! The cookies of one user (RFC 6265). Each goes back to the host that set it, and to no other: as
//! if none named a domain.

use std::ops::Range;

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
    /// Which host set it.
    host: u16,
}

impl Jar {
    /// Somebody else has it.
    pub(super) fn clear(&mut self) {
        self.cookies.clear();
    }

    /// Keeps the cookie of a Set-Cookie field in the answer of `host` to `path`, or drops it, if
    /// its time is over at `now`, in seconds since 1970 (RFC 6265 §5.2, §5.3).
    pub(super) fn take(&mut self, field: &[u8], (host, path): (u16, &[u8]), now: u64) {
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
                of_date = date::parse(value, now);
            } else if key.eq_ignore_ascii_case(b"path") && value.first() == Some(&b'/') {
                path = value;
            }
        }
        let is_over = match of_age {
            Some(seconds) => seconds <= 0,
            None => of_date.is_some_and(|date| date <= now),
        };
        let same = |one: &Cookie| one.name == name && one.path == path && one.host == host;
        match self.cookies.iter().position(same) {
            Some(at) if is_over => {
                self.cookies.remove(at);
            }
            Some(at) => {
                let kept = &mut self.cookies[at].value;
                kept.clear();
                kept.extend_from_slice(value);
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
                host,
            }),
        }
    }

    /// The length of a field with all cookies.
    fn length(&self) -> usize {
        let cookies = self.cookies.iter();
        let lengths = cookies.map(|cookie| cookie.name.len() + cookie.value.len() + 3);
        AROUND + lengths.sum::<usize>()
    }

    /// Writes the Cookie field for the target at `host` that stands in this part of `out` to its
    /// end, if there is anything to send (RFC 6265 §5.4).
    pub(super) fn write(&self, host: u16, target: Range<usize>, out: &mut Vec<u8>) {
        let query = out[target.clone()].iter().position(|byte| *byte == b'?');
        let path = target.start..query.map_or(target.end, |at| target.start + at);
        let mut is_first = true;
        for cookie in &self.cookies {
            if cookie.host != host || !is_below(&out[path.clone()], &cookie.path) {
                continue;
            }
            let before: &[u8] = if is_first { b"Cookie: " } else { b"; " };
            is_first = false;
            for bytes in [before, &cookie.name, b"=", &cookie.value] {
                out.extend_from_slice(bytes);
            }
        }
        if !is_first {
            out.extend_from_slice(b"\r\n");
        }
    }
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

    /// Set-Cookie fields of answers to /shop/item, and the Cookie field of a later request.
    fn check(fields: &[&str], target: &str, expected: &str) {
        let mut jar = Jar::default();
        for field in fields {
            jar.take(field.as_bytes(), (0, b"/shop/item"), 1_000_000_000);
        }
        let mut out = format!("GET {target}").into_bytes();
        let (start, end) = (4, out.len());
        jar.write(0, start..end, &mut out);
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
        check(
            &[" a = 1=2 ; HttpOnly; Secure"],
            "/shop/",
            "Cookie: a=1=2\r\n",
        );
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

    #[test]
    fn a_host_hears_of_its_own_cookies_alone() {
        let mut jar = Jar::default();
        jar.take(b"a=1", (0, b"/"), 0);
        jar.take(b"a=2", (1, b"/"), 0);
        jar.take(b"b=3", (1, b"/"), 0);
        let sent = |jar: &Jar, host: u16| {
            let mut out = b"/".to_vec();
            jar.write(host, 0..1, &mut out);
            String::from_utf8_lossy(&out[1..]).into_owned()
        };
        assert_eq!(sent(&jar, 0), "Cookie: a=1\r\n");
        assert_eq!(sent(&jar, 1), "Cookie: a=2; b=3\r\n");
        assert_eq!(sent(&jar, 2), "");
        jar.take(b"a=; Max-Age=0", (1, b"/"), 0);
        assert_eq!(sent(&jar, 0), "Cookie: a=1\r\n");
        assert_eq!(sent(&jar, 1), "Cookie: b=3\r\n");
    }

    #[test]
    fn a_server_cannot_fill_the_memory() {
        let fields: Vec<String> = (0..500).map(|number| format!("c{number}=1")).collect();
        let mut jar = Jar::default();
        for field in &fields {
            jar.take(field.as_bytes(), (0, b"/"), 0);
        }
        assert_eq!(jar.cookies.len(), COOKIES_MAX);
        let mut jar = Jar::default();
        for number in 0..64 {
            let value = "x".repeat(1 + number * 50);
            jar.take(format!("c{number}={value}").as_bytes(), (0, b"/"), 0);
        }
        jar.take(format!("c0={}", "x".repeat(4_000)).as_bytes(), (0, b"/"), 0);
        let mut out = b"/".to_vec();
        jar.write(0, 0..1, &mut out);
        let length = out.len() - 1;
        assert!((FIELD_MAX / 2..=FIELD_MAX).contains(&length), "{length}");
    }
}
