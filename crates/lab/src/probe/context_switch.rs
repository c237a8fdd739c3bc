//! To another thread and back, among so many that wait.

use std::io::{PipeWriter, Read as _, Write as _};
use std::thread::JoinHandle;

use model::probe::AxisKind;

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Need, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "context-switch",
    question: "a byte to the newest thread and one back through pipes, on one CPU: two context \
               switches, while all earlier threads wait",
    axis: "threads",
    kind: AxisKind::Population,
    variants: &[],
    population: 2_000,
    needs: &[
        each(Resource::OpenFiles, 3),
        each(Resource::Mappings, 4),
        Need {
            resource: Resource::Processes,
            per_1000: 1_000,
            fixed: 8,
        },
        each(Resource::Memory, 48_000),
    ],
    server: false,
    run,
};

/// Small, so that thousands fit.
const STACK: usize = 64 << 10;

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut timed = Stopwatch::new("round trip", count);
    let (mut back, answer) = std::io::pipe().doing(|| "a pipe for answers".to_owned())?;
    let mut threads: Vec<(PipeWriter, JoinHandle<()>)> = Vec::with_capacity(count);
    for number in 1..=task.population {
        let (mut question, mut ask) = std::io::pipe().doing(|| format!("pipe number {number}"))?;
        let mut answer = answer
            .try_clone()
            .doing(|| format!("descriptor number {number}"))?;
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || {
                let mut byte = [0];
                // Ends when the asking side closes, or nobody reads the answers any more.
                while question.read_exact(&mut byte).is_ok() && answer.write_all(&byte).is_ok() {}
            })
            .doing(|| format!("thread number {number}"))?;
        let mut there_and_back = || {
            ask.write_all(b"!")?;
            back.read_exact(&mut [0])
        };
        // The first time it has to start; what is asked is the switch.
        there_and_back().doing(|| "a byte to a new thread".to_owned())?;
        timed
            .time(there_and_back)
            .doing(|| "a byte there and back".to_owned())?;
        threads.push((ask, thread));
    }
    for (ask, thread) in threads {
        drop(ask);
        let _ended = thread.join();
    }
    Ok(vec![timed.series()].into())
}
