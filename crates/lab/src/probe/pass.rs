//! One pass of one probe, in a process that exists for it alone.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use model::probe::Pass;
use serde::{Deserialize, Serialize};
use sys::clock;

use super::select::named;
use super::{Doing as _, ProbeError, Task, stopwatch};

/// What a pass's process leaves behind for the one that started it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What was measured.
    Measured(Pass),
    /// Why nothing was.
    Failed(String),
}

/// Runs one pass of the probe `name` (`bind:2003-11`) and writes its answer to `out`.
///
/// Everything that it opens, maps and starts ends with the process that calls this.
pub fn run(name: &str, task: &Task, out: &Path) -> Result<(), ProbeError> {
    let answer = match measure(name, task) {
        Ok(pass) => Answer::Measured(pass),
        Err(error) => Answer::Failed(error.to_string()),
    };
    let text = serde_json::to_string(&answer)
        .map_err(std::io::Error::other)
        .doing(|| "writing down the pass".to_owned())?;
    let unfinished = out.with_extension("new");
    File::create(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&unfinished, out))
        .doing(|| format!("writing {}", out.display()))
}

fn measure(name: &str, task: &Task) -> Result<Pass, ProbeError> {
    let (probe, variant) = *named(name)?
        .first()
        .ok_or_else(|| ProbeError::Unknown(format!("there is no probe '{name}'")))?;
    let mut task = task.clone();
    task.variant = variant.map(|variant| variant.name.to_owned());
    // As far as it goes; what is missing shows when it is needed, in a sentence.
    let wanted = u64::from(task.population) * 3 + 1_024;
    let _raised = sys::process::raise_open_files(wanted);
    if let Some(cpu) = task.cpu {
        // On a machine that forbids it the pass runs wherever it is put.
        let _pinned = sys::cpu::pin(cpu);
    }
    // Where something waits for a child or a thread, work of others on the same CPU would be part
    // of every point. Without the privilege it is, as it is for every program.
    let first = sys::syscall::limit::go_first().is_ok();
    let cost = stopwatch::cost_ns();
    let start = clock::monotonic();
    let measured = (probe.run)(&task)?;
    let took = clock::monotonic() - start;
    let mut facts = measured.facts;
    if !first {
        // Named for those who wonder about points that another user's do not have.
        let fact = "that of any program (root's probes go before others)";
        facts.insert("priority".to_owned(), fact.to_owned());
    }
    Ok(Pass {
        number: task.pass,
        timer_cost_ns: measured.timer_cost_ns.unwrap_or(cost),
        took_ns: took.as_ns(),
        series: measured.series,
        facts,
    })
}
