//! The memory of a process tree.

use std::io;
use std::path::Path;

use model::Bytes;
use model::usage::{GroupUsage, MemoryPart};
use sys::counters::process;

use super::{Group, at_work};

/// Memory of a tree: the kernel walks its page tables, so this is read after the window. The sum of
/// a part is no figure of the whole, and is kept apart.
pub fn memory(root: &Path, group: Group<'_>, usage: &mut GroupUsage) {
    let mut part = MemoryPart::default();
    let mut resident = Bytes::ZERO;
    for pid in at_work(root, group) {
        match process::memory(root, pid) {
            Ok(memory) => {
                part.read += 1;
                part.pss += memory.proportional;
                resident += memory.resident;
            }
            // One that ended between the two readings has no memory; one that may not be read does.
            Err(error) if !is_refused(&error) => {}
            Err(_) => part.unread += 1,
        }
    }
    if part.unread > 0 {
        usage.memory_part = Some(part);
    } else if resident > Bytes::ZERO {
        usage.memory_pss = Some(part.pss);
        usage.memory_rss = Some(resident);
    }
}

/// Whether there is something that we may not read, or not understand.
fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, PermissionDenied};
    matches!(error.kind(), PermissionDenied | InvalidData)
}
