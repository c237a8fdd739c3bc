//! `open()`, `mmap()` and the first byte of one small file after the other.
//!
//! Many mappings of one file are the worst case of an optimisation that some kernels have; many
//! files are what a server meets.

use std::fs::{self, File};
use std::path::PathBuf;

use model::probe::AxisKind;
use sys::syscall::mapping::Mapping;

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "many-files",
    question: "open(), mmap() and reading the first byte of one small file after the other, while \
               all earlier ones stay open and mapped",
    axis: "open and mapped files",
    kind: AxisKind::Population,
    variants: &[],
    population: 10_000,
    needs: &[
        each(Resource::OpenFiles, 1),
        each(Resource::Mappings, 1),
        each(Resource::Memory, 12_000),
        each(Resource::Disk, 4_096),
    ],
    server: false,
    run,
};

/// About the size of those of 2003.
const CONTENT: &[u8] = b"<!DOCTYPE html><html><head><title>One of many</title></head><body><p>A \
small file, as there are many of them on a server.</p></body></html>\n";

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let paths = prepared(task)?;
    let mut opened = Stopwatch::new("open", count);
    let mut mapped = Stopwatch::new("mmap", count);
    let mut touched = Stopwatch::new("read", count);
    let mut held: Vec<(File, Mapping)> = Vec::with_capacity(count);
    for path in &paths {
        let file = opened
            .time(|| File::open(path))
            .doing(|| format!("opening {}", path.display()))?;
        let mapping = mapped
            .time(|| Mapping::of_file(&file, 0, 4_096))
            .doing(|| format!("mapping {}", path.display()))?;
        touched.time(|| mapping.touch(0));
        held.push((file, mapping));
    }
    Ok(vec![opened.series(), mapped.series(), touched.series()].into())
}

/// The files, a hundred to a folder, written where they are missing, and read once so that they
/// are in memory.
fn prepared(task: &Task) -> Result<Vec<PathBuf>, ProbeError> {
    let root = task.folder.join("many");
    let mut paths = Vec::with_capacity(index(task.population));
    for number in 0..task.population {
        let folder = root.join((number / 100).to_string());
        if number % 100 == 0 {
            fs::create_dir_all(&folder).doing(|| format!("creating {}", folder.display()))?;
        }
        let path = folder.join(format!("{number}.html"));
        if fs::read(&path).ok().as_deref() != Some(CONTENT) {
            fs::write(&path, CONTENT).doing(|| format!("writing {}", path.display()))?;
            fs::read(&path).doing(|| format!("reading {}", path.display()))?;
        }
        paths.push(path);
    }
    Ok(paths)
}
