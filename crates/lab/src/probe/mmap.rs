//! `mmap()` of one page of a file beside so many mappings.

use std::fs::{File, OpenOptions};

use model::probe::AxisKind;
use sys::syscall::mapping::Mapping;

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "mmap",
    question: "mmap() of every second page of a file that is in memory, while all earlier \
               mappings stay",
    axis: "mappings",
    kind: AxisKind::Population,
    variants: &[],
    population: 25_000,
    needs: &[each(Resource::Mappings, 1), each(Resource::Memory, 9_000)],
    server: false,
    run,
};

/// What is mapped, and how far apart: every second page, so that neighbours do not merge.
const PAGE: usize = 4_096;
const STEP: usize = 2 * PAGE;
const STEP_BYTES: u64 = 8_192;

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let (mapped, _) = walk(task)?;
    Ok(vec![mapped.series()].into())
}

/// Maps page after page and touches each: both timed, whichever is asked for.
pub(super) fn walk(task: &Task) -> Result<(Stopwatch, Stopwatch), ProbeError> {
    let count = index(task.population);
    let file = primed(task, count)?;
    let mut mapped = Stopwatch::new("mmap", count);
    let mut touched = Stopwatch::new("touch", count);
    let mut mappings: Vec<Mapping> = Vec::with_capacity(count);
    for number in 0..u64::from(task.population) {
        let mapping = mapped
            .time(|| Mapping::of_file(&file, number * STEP_BYTES, PAGE))
            .doing(|| format!("mmap number {}", number + 1))?;
        touched.time(|| mapping.touch(0));
        mappings.push(mapping);
    }
    Ok((mapped, touched))
}

/// A file of two pages for each mapping, all of it in the page cache. It has no blocks on the
/// disk: pages of a hole are pages of the cache like any other.
fn primed(task: &Task, count: usize) -> Result<File, ProbeError> {
    let path = task.folder.join("mapped");
    let length = count * STEP;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .doing(|| format!("creating {}", path.display()))?;
    let bytes = u64::try_from(length).unwrap_or(u64::MAX);
    file.set_len(bytes)
        .doing(|| format!("making {} {length} bytes long", path.display()))?;
    let whole = Mapping::of_file(&file, 0, length)
        .doing(|| format!("mapping the whole of {}", path.display()))?;
    for page in 0..count {
        whole.touch(page * STEP);
    }
    Ok(file)
}
