//! The memory of copied sends: one place of equal size for each that may be under way.

use std::io;
use std::ptr::NonNull;

use crate::syscall::mapping::Mapping;

/// Places for bytes that are sent from a copy. The system hands their pages out when they are first
/// written, and promises nothing before: a server for a million connections has room for two
/// million answers of 40 KiB, of which hardly any are under way at a time.
#[derive(Debug)]
pub(super) struct Copies {
    /// None where there are no places.
    memory: Option<Mapping>,
    each: usize,
}

// SAFETY: the memory belongs to this value alone, as that of a `Box<[u8]>` does.
unsafe impl Send for Copies {}

impl Copies {
    /// `places` places of `each` bytes.
    pub(super) fn new(places: u32, each: u32) -> io::Result<Self> {
        let (places, each) = (places as usize, each as usize);
        let length = places.saturating_mul(each);
        let memory = match length {
            0 => None,
            length => Some(Mapping::reserved(length).map_err(|error| {
                let gigabytes = length.div_ceil(1_000_000_000);
                io::Error::other(format!(
                    "{places} buffers of {each} bytes, {gigabytes} GB of address space, cannot be \
                     had ({error}): ask for fewer connections, or raise `ulimit -v`"
                ))
            })?),
        };
        Ok(Self { memory, each })
    }

    /// Where all places begin, and how many bytes they have.
    #[inline]
    fn all(&self) -> (NonNull<u8>, usize) {
        let memory = self.memory.as_ref();
        memory.map_or((NonNull::dangling(), 0), |memory| {
            (memory.start(), memory.length())
        })
    }

    /// How many bytes one place has.
    #[inline]
    pub(super) const fn each(&self) -> usize {
        self.each
    }

    /// The first `length` bytes of a place.
    #[inline]
    pub(super) fn get(&self, place: u32, length: usize) -> &[u8] {
        let (start, all) = self.all();
        // SAFETY: the range is mapped as long as this value lives, zeroed or written by us, and
        // nobody writes while it is borrowed.
        let all = unsafe { std::slice::from_raw_parts(start.as_ptr(), all) };
        let from = place as usize * self.each;
        &all[from..from + length]
    }

    /// Writes `bytes` to the start of a place.
    #[inline]
    #[expect(
        clippy::needless_pass_by_ref_mut,
        reason = "it writes what `get` lends"
    )]
    pub(super) fn write(&mut self, place: u32, bytes: &[u8]) {
        let (start, all) = self.all();
        // SAFETY: as in `get`, and it is borrowed mutably; the kernel at most reads.
        let all = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), all) };
        let from = place as usize * self.each;
        all[from..from + bytes.len()].copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_apart() {
        let mut copies = Copies::new(3, 4).unwrap();
        copies.write(1, b"abcd");
        copies.write(2, b"xy");
        assert_eq!(copies.get(0, 4), [0; 4]);
        assert_eq!(copies.get(1, 3), b"abc");
        assert_eq!(copies.get(2, 2), b"xy");
        assert_eq!(copies.each(), 4);
        assert!(Copies::new(0, 4).is_ok());
    }

    #[test]
    fn more_than_the_machine_has_is_only_promised() {
        // 80 GB for a million connections, of which a page is used.
        let mut copies = Copies::new(2_000_000, 40 * 1024).unwrap();
        copies.write(1_999_999, b"last");
        assert_eq!(copies.get(1_999_999, 4), b"last");
    }

    #[test]
    fn more_than_addresses_reach_is_refused_with_a_remedy() {
        let error = Copies::new(u32::MAX, u32::MAX).unwrap_err().to_string();
        assert!(error.contains("ask for fewer connections"), "{error}");
    }
}
