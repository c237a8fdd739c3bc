//! Heads of answers that were parsed before, so that their like is recognised and not parsed again.
//!
//! Servers repeat themselves: from answer to answer a head changes in the values of a few fields
//! (Date, Age, an id), and hardly ever in what frames the message or keeps the connection. A head
//! is remembered by request and status, as bytes and lines. Another one is of its like if it
//! differs only within values that neither frame nor close; its changed values must still obey the
//! grammar. Cost: one comparison of the bytes; where they differ, one pass over them without a
//! branch if all values are as long as before, else a search for each line end.

use crate::h1::parse::{self, ResponseHead};

/// Heads above this are not remembered.
const REMEMBERED_BYTES: usize = 4096;
/// Heads with more lines are not remembered.
const LINES: usize = 64;
/// Different statuses that are remembered for one request.
const STATUSES: usize = 4;
/// A head whose values have other lengths than the remembered one takes its place now and then: an
/// Age that has come to 10 stays two digits long.
const OTHER_LENGTHS: u8 = 16;
/// So many bytes are compared at a time.
const STEP: usize = size_of::<u128>();

/// What was remembered of the answers to each request.
#[derive(Debug)]
pub struct KnownHeads {
    requests: Box<[Statuses]>,
}

impl KnownHeads {
    /// For so many requests; everything it will ever need is allocated here.
    pub fn new(requests: usize) -> Self {
        Self {
            requests: (0..requests.max(1)).map(|_| Statuses::new()).collect(),
        }
    }

    /// If `bytes` start with a head like one that was remembered for this request: what it says,
    /// and its length.
    #[inline]
    pub fn recognise(&mut self, request: usize, bytes: &[u8]) -> Option<(ResponseHead, usize)> {
        self.requests.get_mut(request)?.recognise(bytes)
    }

    /// Remembers the head that [`parse::response`] has just parsed from `bytes`.
    pub fn remember(&mut self, request: usize, bytes: &[u8], head: ResponseHead) {
        if let Some(statuses) = self.requests.get_mut(request) {
            statuses.remember(bytes, head);
        }
    }
}

/// The heads of one request, one for each of the latest statuses.
#[derive(Debug)]
struct Statuses {
    heads: [KnownHead; STATUSES],
    /// Which one came last: the next answer is most likely of its like.
    latest: usize,
}

impl Statuses {
    fn new() -> Self {
        Self {
            heads: std::array::from_fn(|_| KnownHead::new()),
            latest: 0,
        }
    }

    #[inline]
    fn recognise(&mut self, bytes: &[u8]) -> Option<(ResponseHead, usize)> {
        if let Some(known) = self.heads[self.latest].recognise(bytes) {
            return Some(known);
        }
        self.recognise_another(bytes)
    }

    /// The same for a head of another status than the latest.
    #[cold]
    fn recognise_another(&mut self, bytes: &[u8]) -> Option<(ResponseHead, usize)> {
        let status = parse::status_digits(bytes)?;
        let at = self.position_of(status)?;
        if at == self.latest {
            return None;
        }
        self.latest = at;
        self.heads[at].recognise(bytes)
    }

    fn position_of(&self, status: u16) -> Option<usize> {
        self.heads
            .iter()
            .position(|known| known.head.is_some_and(|head| head.status == status))
    }

    #[cold]
    fn remember(&mut self, bytes: &[u8], head: ResponseHead) {
        self.latest = self
            .position_of(head.status)
            .or_else(|| self.heads.iter().position(|known| known.head.is_none()))
            .unwrap_or((self.latest + 1) % STATUSES);
        self.heads[self.latest].remember(bytes, head);
    }
}

/// One line of a known head.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Where its value begins; its end where the value must not change.
    value: usize,
    /// The position after its line feed.
    end: usize,
}

/// One head that was parsed.
#[derive(Debug)]
struct KnownHead {
    bytes: Vec<u8>,
    /// For each byte: all bits where it must not change, none in a value that may.
    fixed: Vec<u8>,
    lines: Vec<Line>,
    head: Option<ResponseHead>,
    /// Heads since it was remembered whose values had other lengths.
    other_lengths: u8,
}

impl KnownHead {
    fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(REMEMBERED_BYTES),
            fixed: Vec::with_capacity(REMEMBERED_BYTES),
            lines: Vec::with_capacity(LINES),
            head: None,
            other_lengths: 0,
        }
    }

    #[inline]
    fn recognise(&mut self, bytes: &[u8]) -> Option<(ResponseHead, usize)> {
        let head = self.head?;
        let length = self.bytes.len();
        if bytes.get(..length).is_some_and(|same| same == self.bytes) {
            return Some((head, length));
        }
        Some((head, self.recognise_changed(bytes)?))
    }

    /// The length of a head at the start of `theirs` whose values are not all the same.
    #[inline(never)]
    fn recognise_changed(&mut self, theirs: &[u8]) -> Option<usize> {
        let length = self.bytes.len();
        if let Some(theirs) = theirs.get(..length)
            && is_like(&self.bytes, &self.fixed, theirs)
        {
            // The new values become the known ones, so that a Date is looked at once a second.
            self.bytes.copy_from_slice(theirs);
            return Some(length);
        }
        let length = self.length_of_like(theirs)?;
        self.other_lengths += 1;
        if self.other_lengths == OTHER_LENGTHS
            && let Some(head) = self.head
        {
            self.remember(&theirs[..length], head);
        }
        Some(length)
    }

    /// The length of a head at the start of `theirs` that differs from this one only in values
    /// that may change, in their lengths, too.
    fn length_of_like(&self, theirs: &[u8]) -> Option<usize> {
        let mut lines = self.lines.iter();
        // How far we have come in the known head, and in the other one.
        let (mut ours_at, mut theirs_at) = (0, 0);
        loop {
            let ours = &self.bytes[ours_at..];
            let rest = theirs.get(theirs_at..)?;
            let same = shared_prefix(ours, rest);
            if same == ours.len() {
                return Some(theirs_at + same);
            }
            let differs_at = ours_at + same;
            let line = lines.find(|line| differs_at < line.end)?;
            if differs_at < line.value {
                return None;
            }
            let value = &rest[same..];
            let length = memchr::memchr(b'\n', value)?;
            let after_return = rest[..same].last() == Some(&b'\r');
            if !is_end_of_value(&value[..length]) || (after_return && length > 0) {
                return None;
            }
            let their_end = theirs_at + same + length + 1;
            ours_at = line.end;
            theirs_at = their_end;
        }
    }

    fn remember(&mut self, bytes: &[u8], head: ResponseHead) {
        self.head = None;
        self.other_lengths = 0;
        self.bytes.clear();
        self.fixed.clear();
        self.lines.clear();
        if bytes.len() > REMEMBERED_BYTES {
            return;
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes).map(|feed| feed + 1) {
            if self.lines.len() == LINES {
                return;
            }
            let value = free_value(&bytes[start..end]).map_or(end, |value| start + value);
            self.lines.push(Line { value, end });
            self.fixed.resize(value, u8::MAX);
            let ending = if bytes[..end].ends_with(b"\r\n") {
                2
            } else {
                1
            };
            self.fixed.resize((end - ending).max(value), 0);
            self.fixed.resize(end, u8::MAX);
            start = end;
        }
        self.bytes.extend_from_slice(bytes);
        self.head = Some(head);
    }
}

/// Where in `line` a value begins that may change without changing what the head says; none in the
/// status line, in fields that frame the message, say how its content is encoded or speak of the
/// connection, in folded lines and
/// at the end of the head.
fn free_value(line: &[u8]) -> Option<usize> {
    let colon = memchr::memchr(b':', line)?;
    let name = &line[..colon];
    let is_name = name
        .iter()
        .all(|byte| byte.is_ascii_graphic() && *byte != b'/');
    let speaks = [
        b"connection".as_slice(),
        b"content-encoding",
        b"content-length",
        b"transfer-encoding",
    ];
    let is_free =
        !name.is_empty() && is_name && !speaks.iter().any(|field| name.eq_ignore_ascii_case(field));
    is_free.then_some(colon + 1)
}

/// Whether `bytes` may end a field value (RFC 9110 §5.5): no control characters but tabs, and a
/// carriage return only at the end of the line.
fn is_end_of_value(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    // Without an early end the compiler looks at many bytes at once.
    !bytes.iter().fold(false, |is_bad, byte| {
        is_bad | ((*byte < b' ') & (*byte != b'\t')) | (*byte == 0x7f)
    })
}

/// Whether `theirs`, which is as long as `ours`, differs only where `fixed` has no bits, and has no
/// control characters there. A tab is one for this purpose: it is looked at more closely elsewhere.
/// Eight bytes at a time, without a branch.
fn is_like(ours: &[u8], fixed: &[u8], theirs: &[u8]) -> bool {
    let (ours, our_rest) = ours.as_chunks::<8>();
    let (fixed, fixed_rest) = fixed.as_chunks::<8>();
    let (theirs, their_rest) = theirs.as_chunks::<8>();
    let words = ours.iter().zip(fixed).zip(theirs);
    let bad = words.fold(0, |bad, ((ours, fixed), theirs)| {
        bad | difference(*ours, *fixed, *theirs)
    });
    let word = |rest: &[u8]| {
        let mut word = [u8::MAX; 8];
        word[..rest.len()].copy_from_slice(rest);
        word
    };
    bad | difference(word(our_rest), word(fixed_rest), word(their_rest)) == 0
}

/// 0 if `theirs` may stand where `ours` stood.
#[inline]
fn difference(ours: [u8; 8], fixed: [u8; 8], theirs: [u8; 8]) -> u64 {
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let [ours, fixed, theirs] = [ours, fixed, theirs].map(u64::from_ne_bytes);
    // Where no change is allowed, no control character is looked for.
    let values = theirs | fixed;
    // The highest bit of a byte is set by the first that is below a space, or that is DEL.
    let controls = values.wrapping_sub(all(b' ')) & !values;
    let without_del = values ^ all(0x7f);
    let deletes = without_del.wrapping_sub(all(1)) & !without_del;
    ((ours ^ theirs) & fixed) | ((controls | deletes) & all(0x80))
}

/// How many bytes `one` and `other` have in common at their start.
#[inline]
fn shared_prefix(one: &[u8], other: &[u8]) -> usize {
    let steps = one.as_chunks::<STEP>().0.iter().zip(other.as_chunks().0);
    let mut same = 0;
    for (ours, theirs) in steps {
        let differ = u128::from_le_bytes(*ours) ^ u128::from_le_bytes(*theirs);
        if differ != 0 {
            return same + differ.trailing_zeros() as usize / 8;
        }
        same += STEP;
    }
    let tail = one[same..].iter().zip(&other[same..]);
    same + tail.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Framing;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nServer: test\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Age: 7\r\nContent-Length: 5\r\nX-Request-Id: 0123456789abcdef\r\n\r\n";

    fn known() -> KnownHeads {
        let mut heads = KnownHeads::new(2);
        heads.remember(
            0,
            HEAD.as_bytes(),
            parse::response(HEAD.as_bytes()).unwrap(),
        );
        heads
    }

    #[test]
    fn a_head_is_recognised_if_it_differs_in_free_values_alone() {
        for (from, to) in [
            ("", ""),
            ("00:00:00", "12:34:56"),
            ("Age: 7", "Age: 1234"),
            ("Age: 7", "Age:"),
            ("Age: 7\r\n", "Age: 7\n"),
            ("0123456789abcdef", "fedcba9876543210"),
            ("0123456789abcdef", "\u{e4}\t!"),
        ] {
            let head = HEAD.replacen(from, to, 1);
            let bytes = format!("{head}hello");
            let (told, length) = known().recognise(0, bytes.as_bytes()).expect(to);
            assert_eq!(length, head.len(), "{from} -> {to}");
            assert_eq!(told, parse::response(head.as_bytes()).unwrap());
        }
    }

    #[test]
    fn what_frames_or_closes_or_breaks_the_grammar_is_not_recognised() {
        for (from, to) in [
            ("200 OK", "404 OK"),
            ("200 OK", "200 Ok"),
            ("Length: 5", "Length: 6"),
            ("Length: 5", "Length: 55"),
            ("Age: 7", "Age: 7\r\n folded"),
            ("Age: 7", "Age: 7\r\nConnection: close"),
            ("Age: 7\r\n", ""),
            ("Age", "Agf"),
            ("Age: 7", "Age: \u{1}"),
            ("Age: 7", "Age: 7\rx"),
            ("Server: test", "Server: test\r\nTransfer-Encoding: chunked"),
            ("Server: test", "Content-Encoding: test"),
            ("abcdef\r\n\r\n", "abcdef\r\n"),
        ] {
            let bytes = HEAD.replacen(from, to, 1);
            let told = known().recognise(0, bytes.as_bytes());
            assert_eq!(told, None, "{from:?} -> {to:?}");
        }
        assert_eq!(
            known().recognise(1, HEAD.as_bytes()),
            None,
            "another request"
        );
        for end in 0..HEAD.len() {
            assert_eq!(known().recognise(0, &HEAD.as_bytes()[..end]), None, "{end}");
        }
    }

    /// Whatever byte stands in whatever place: what is recognised is what a parser would say.
    #[test]
    fn what_is_recognised_is_what_parsing_says() {
        let (mut recognised, mut refused) = (0, 0);
        for at in 0..HEAD.len() {
            for byte in 0..=u8::MAX {
                let mut bytes = HEAD.as_bytes().to_vec();
                bytes[at] = byte;
                let Some((told, length)) = known().recognise(0, &bytes) else {
                    refused += 1;
                    continue;
                };
                recognised += 1;
                let parsed = parse::response(&bytes[..length]).unwrap();
                assert_eq!(told, parsed, "{byte:#x} at {at}");
                assert_eq!(parse::head_end(&bytes, 0), Ok(Some(length)));
            }
        }
        // Of each value's bytes all may stand there but control characters, and what it was.
        assert!(recognised > 50 * 200, "{recognised} of {refused}");
    }

    /// Values that have come to another length are the known ones before long.
    #[test]
    fn a_value_of_another_length_becomes_the_known_one() {
        let mut heads = known();
        let longer = HEAD.replace("Age: 7", "Age: 10");
        for _ in 0..OTHER_LENGTHS {
            assert!(heads.recognise(0, longer.as_bytes()).is_some());
        }
        let known = &heads.requests[0].heads[heads.requests[0].latest];
        assert_eq!(known.bytes, longer.as_bytes());
        assert_eq!(known.bytes.len(), known.fixed.len());
        assert!(heads.recognise(0, HEAD.as_bytes()).is_some());
    }

    #[test]
    fn each_status_is_remembered_beside_the_others() {
        let mut heads = known();
        let busy = HEAD.replace("200 OK", "503 Busy");
        heads.remember(
            0,
            busy.as_bytes(),
            parse::response(busy.as_bytes()).unwrap(),
        );
        for _ in 0..2 {
            let (told, _) = heads.recognise(0, HEAD.as_bytes()).unwrap();
            assert_eq!((told.status, told.framing), (200, Framing::Length(5)));
            assert_eq!(heads.recognise(0, busy.as_bytes()).unwrap().0.status, 503);
        }
        for status in 300..310 {
            let other = HEAD.replace("200 OK", &format!("{status} Other"));
            heads.remember(
                0,
                other.as_bytes(),
                parse::response(other.as_bytes()).unwrap(),
            );
            assert!(heads.recognise(0, other.as_bytes()).is_some());
        }
    }
}
