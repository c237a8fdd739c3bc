//! `pipe2()`, and a byte through the newest one.

use std::io::{PipeReader, PipeWriter, Read as _, Write as _};

use model::probe::AxisKind;

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "pipe",
    question: "pipe2(), and one byte written to and read from the newest pipe, while all earlier \
               ones stay open",
    axis: "open pipes",
    kind: AxisKind::Population,
    variants: &[],
    population: 5_000,
    needs: &[each(Resource::OpenFiles, 2), each(Resource::Memory, 6_000)],
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut made = Stopwatch::new("pipe", count);
    let mut passed = Stopwatch::new("byte", count);
    let mut pipes: Vec<(PipeReader, PipeWriter)> = Vec::with_capacity(count);
    for number in 1..=task.population {
        let (mut reader, mut writer) = made
            .time(std::io::pipe)
            .doing(|| format!("pipe number {number}"))?;
        passed
            .time(|| {
                writer.write_all(b"!")?;
                reader.read_exact(&mut [0])
            })
            .doing(|| "a byte through a pipe".to_owned())?;
        pipes.push((reader, writer));
    }
    Ok(vec![made.series(), passed.series()].into())
}
