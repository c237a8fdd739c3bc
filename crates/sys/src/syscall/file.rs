//! What a file's pages and extents are up to.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};

use super::check;

/// A run of blocks that lie together on the disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extent {
    /// Where it begins in the file, in bytes.
    pub logical: u64,
    /// Where it begins on the device, in bytes.
    pub physical: u64,
    /// How long it is, in bytes.
    pub length: u64,
}

/// Writes a file's pages to the disk and forgets them, so that the next read asks the disk.
pub fn forget_pages(file: &File) -> io::Result<()> {
    file.sync_data()?;
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Reserves blocks for a part of a file without writing them.
pub fn reserve(file: &File, offset: u64, length: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), offset, length)?)
}

/// Takes a part out of a file: what lies behind it moves up, on the disk it stays where it is.
pub fn cut(file: &File, offset: u64, length: u64) -> io::Result<()> {
    Ok(fallocate(
        file,
        FallocateFlags::COLLAPSE_RANGE,
        offset,
        length,
    )?)
}

/// How many extents one call asks for.
const BATCH: usize = 256;

/// `struct fiemap` of linux/fiemap.h with room for a batch of `struct fiemap_extent`.
#[repr(C)]
struct FieMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FieMapExtent; BATCH],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FieMapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `_IOWR('f', 11, struct fiemap)`: the size of the header alone.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B;
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;

/// Where a file's blocks lie, in the order of the file; an error where the file system does not
/// tell. At most `most` extents.
pub fn extents(file: &File, most: usize) -> io::Result<Vec<Extent>> {
    let mut found = Vec::new();
    let mut start = 0;
    while found.len() < most {
        let mut map = Box::new(FieMap {
            start,
            length: u64::MAX - start,
            flags: FIEMAP_FLAG_SYNC,
            mapped_extents: 0,
            extent_count: u32::try_from(BATCH).unwrap_or(0),
            reserved: 0,
            extents: [FieMapExtent::default(); BATCH],
        });
        let place: *mut FieMap = &raw mut *map;
        // SAFETY: the kernel reads the header and writes at most `extent_count` extents behind it,
        // for all of which there is room.
        check(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, place) })?;
        let count = usize::try_from(map.mapped_extents).unwrap_or(0).min(BATCH);
        for extent in &map.extents[..count] {
            found.push(Extent {
                logical: extent.logical,
                physical: extent.physical,
                length: extent.length,
            });
            if extent.flags & FIEMAP_EXTENT_LAST != 0 {
                return Ok(found);
            }
        }
        let Some(last) = found.last().filter(|_| count > 0) else {
            return Ok(found);
        };
        start = last.logical + last.length;
    }
    Ok(found)
}
