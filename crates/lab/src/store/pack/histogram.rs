//! An HdrHistogram without compression, as what it counts: the buckets that are not empty.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use model::distribution::zigzag::{put, take};

/// What it begins with, and the bytes before its counts.
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
const HEADER: usize = 40;
/// No histogram has so many buckets.
pub(super) const INDEX_MAX: i64 = 1 << 32;

/// The buckets that are not empty, in order, with what they count.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts(pub(super) Vec<(i64, i64)>);

impl Counts {
    /// What is left of it where the counts of `other` are taken away.
    pub(super) fn without(&self, other: &Self) -> Self {
        self.merged(other, i64::wrapping_sub)
    }

    /// It with the counts of `other`.
    pub(super) fn with(&self, other: &Self) -> Self {
        self.merged(other, i64::wrapping_add)
    }

    fn merged(&self, other: &Self, merge: fn(i64, i64) -> i64) -> Self {
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut all = Vec::new();
        loop {
            let index = match (own.peek(), others.peek()) {
                (None, None) => return Self(all),
                (Some((index, _)), None) | (None, Some((index, _))) => *index,
                (Some((one, _)), Some((two, _))) => *one.min(two),
            };
            let here = |(at, _): &&(i64, i64)| *at == index;
            let count = own.next_if(here).map_or(0, |(_, count)| *count);
            let count = merge(count, others.next_if(here).map_or(0, |(_, count)| *count));
            if count != 0 {
                all.push((index, count));
            }
        }
    }
}

/// The head and the counts of a histogram in JSON; none where its text would not be made of them
/// again, letter by letter.
pub(super) fn read(text: &str) -> Option<(Vec<u8>, Counts)> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let bytes = BASE64.decode(inner).ok()?;
    let mut rest = bytes.get(HEADER..)?;
    let (mut counts, mut index) = (Counts::default(), 0_i64);
    while !rest.is_empty() {
        let number = take(&mut rest)?;
        if number > 0 {
            counts.0.push((index, number));
        }
        index = index.checked_add(if number > 0 {
            1
        } else {
            number.checked_neg()?.max(1)
        })?;
        if index > INDEX_MAX {
            return None;
        }
    }
    let head = bytes[8..HEADER].to_vec();
    (write(&head, &counts) == inner).then_some((head, counts))
}

/// The text of a histogram.
pub(super) fn write(head: &[u8], counts: &Counts) -> String {
    let mut numbers = Vec::new();
    let mut next = 0;
    for (index, count) in &counts.0 {
        match index - next {
            0 => {}
            1 => put(0, &mut numbers),
            more => put(-more, &mut numbers),
        }
        put(*count, &mut numbers);
        next = index + 1;
    }
    if numbers.is_empty() {
        put(0, &mut numbers);
    }
    let mut bytes = COOKIE.to_vec();
    let length = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    bytes.extend(length.to_be_bytes());
    bytes.extend(head);
    bytes.extend(numbers);
    BASE64.encode(bytes)
}
