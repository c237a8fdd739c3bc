//! `mmap` and the first touch of a page.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::NonNull;

/// Memory that the kernel mapped for us; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<libc::c_void>,
    length: usize,
}

impl Mapping {
    /// Maps a part of a file, to be read and shared.
    #[inline]
    pub fn of_file(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        let flags = libc::MAP_SHARED;
        Self::new(length, libc::PROT_READ, flags, file.as_raw_fd(), offset)
    }

    /// Maps fresh memory, to be written.
    #[inline]
    pub fn anonymous(length: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Self::new(length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    /// Maps fresh memory, to be written, of which there may be more than the machine has: its pages
    /// are handed out when they are first written, and none is promised before.
    pub fn reserved(length: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        Self::new(length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    }

    #[inline]
    fn new(
        length: usize,
        protection: libc::c_int,
        flags: libc::c_int,
        fd: libc::c_int,
        offset: libc::off_t,
    ) -> io::Result<Self> {
        let anywhere = std::ptr::null_mut();
        // SAFETY: the kernel chooses the place, so nothing that exists is mapped over.
        let start = unsafe { libc::mmap(anywhere, length, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start)
            .map(|start| Self { start, length })
            .ok_or_else(|| io::Error::other("the kernel mapped at address zero"))
    }

    /// How many bytes it holds.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// Where it begins.
    #[inline]
    pub(crate) const fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }

    /// Reads the byte at `offset`, for certain from memory.
    ///
    /// # Panics
    ///
    /// If `offset` is beyond the end.
    #[inline]
    pub fn touch(&self, offset: usize) -> u8 {
        assert!(offset < self.length, "{offset} of {}", self.length);
        let start: *mut u8 = self.start.as_ptr().cast();
        // SAFETY: the offset lies within the mapping.
        let place = unsafe { start.add(offset) };
        // SAFETY: the page is mapped readable. A file that was made shorter meanwhile raises
        // SIGBUS, which ends the process; it cannot make the read unsound.
        unsafe { place.read_volatile() }
    }

    /// Asks that no huge pages be used for it, so that each page is touched for the first time
    /// alone.
    pub fn forbid_huge_pages(&self) -> io::Result<()> {
        // SAFETY: the range is ours; the advice changes nothing that a program can observe.
        let result =
            unsafe { libc::madvise(self.start.as_ptr(), self.length, libc::MADV_NOHUGEPAGE) };
        super::check(result).map(drop)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by us and nobody can hold a reference into it.
        let _unmapped = unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}
