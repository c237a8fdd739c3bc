//! The tables of HPACK (RFC 7541 §2.3): one that never changes, and one of what was sent before.
//!
//! Cost: the second one has no memory until something is put into it.

use std::collections::VecDeque;

use crate::static_table::StaticTable;

/// Where to look for those of the first.
pub(super) static KNOWN: StaticTable<61> = StaticTable::new(&STATIC);

/// The fields that every peer knows, from index 1 on (RFC 7541 appendix A).
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// What an entry counts beside its bytes (RFC 7541 §4.1).
const ENTRY: usize = 32;
/// How large the table may be unless something else is agreed (RFC 9113 §6.5.2).
pub(crate) const SIZE: usize = 4096;
/// The table never has more entries.
pub(crate) const ENTRIES: usize = SIZE / ENTRY;

/// What one field takes in the table.
pub(crate) const fn size_of(name: &[u8], value: &[u8]) -> usize {
    name.len() + value.len() + ENTRY
}

/// Where the bytes of an entry lie.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    name: usize,
    value: usize,
}

/// The table of what was sent before: the newest has the lowest index.
#[derive(Debug)]
pub(super) struct Table {
    /// The bytes of the entries in their order, behind those that are gone.
    pub(super) bytes: Vec<u8>,
    entries: VecDeque<Entry>,
    /// Of the entries, as it is counted.
    pub(super) size: usize,
    limit: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            entries: VecDeque::new(),
            size: 0,
            limit: SIZE,
        }
    }
}

impl Table {
    /// The field at `index` of both tables, if there is one.
    #[inline]
    pub(super) fn at(&self, index: usize) -> Option<(&[u8], &[u8])> {
        if let Some((name, value)) = index.checked_sub(1).and_then(|index| STATIC.get(index)) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(index.checked_sub(STATIC.len() + 1)?)?;
        let (name, rest) = self.bytes[entry.start..].split_at(entry.name);
        Some((name, &rest[..entry.value]))
    }

    /// Puts a field into it, and the oldest out as far as the limit wants.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = size_of(name, value);
        self.shrink_to(self.limit.saturating_sub(size));
        if size > self.limit {
            return;
        }
        if self.bytes.len() + name.len() + value.len() > self.bytes.capacity() {
            self.make_room();
        }
        self.entries.push_front(Entry {
            start: self.bytes.len(),
            name: name.len(),
            value: value.len(),
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += size;
    }

    /// Sets how large it may be.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.shrink_to(limit);
    }

    fn shrink_to(&mut self, most: usize) {
        while self.size > most
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.name + oldest.value + ENTRY;
        }
        if self.entries.is_empty() {
            self.bytes.clear();
        }
    }

    /// Moves what is left to the front of the bytes: they never grow beyond twice the limit.
    #[cold]
    fn make_room(&mut self) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(2 * SIZE);
            self.entries.reserve_exact(ENTRIES);
            return;
        }
        let start = self
            .entries
            .back()
            .map_or(self.bytes.len(), |entry| entry.start);
        self.bytes.drain(..start);
        for entry in &mut self.entries {
            entry.start -= start;
        }
    }
}
