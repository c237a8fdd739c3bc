//! All passes of all probes that were asked for, each in a process of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use model::Environment;
use model::probe::{AxisKind, FORMAT, Pass, ProbeResult};
use sys::process::{Confinement, Interrupt, Signal, start};

use super::pass::Answer;
use super::select::Job;
use super::{Doing as _, ProbeError, neighbours};

/// How probes are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// This program: it is started again for each pass.
    pub program: PathBuf,
    /// A private folder on the disk to be probed, removed by its owner.
    pub folder: PathBuf,
    /// How many passes.
    pub passes: u32,
    /// A server to be asked instead of our own.
    pub url: Option<String>,
    /// Its process, where it is one of this machine that can be found.
    pub server: Option<u32>,
    /// Where it runs.
    pub environment: Environment,
}

/// What happens, for those who watch.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A pass begins: so many of all passes are done.
    Begins {
        /// Which probe.
        job: &'a Job,
        /// Which pass of it, from 1.
        pass: u32,
        /// Passes that ended.
        done: u32,
        /// Passes in all.
        all: u32,
    },
    /// A probe cannot be run, or not any further.
    Failed {
        /// Which probe.
        job: &'a Job,
        /// Why.
        why: &'a str,
    },
}

/// A pass that takes longer is ended: the largest of the usual ones takes about three seconds.
const LONGEST_PASS: Duration = Duration::from_secs(120);

/// How often an interrupt is looked for.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What came of it.
#[derive(Debug)]
pub struct Finished {
    /// One for each job, in their order.
    pub results: Vec<ProbeResult>,
    /// Whether it was interrupted: then the last passes are missing.
    pub interrupted: bool,
}

/// Runs all passes, those of different probes in turn, so that a disturbance of some seconds meets
/// one pass of each and not all passes of one. `keep` gets each result whenever it has grown.
pub fn run(
    jobs: &[Job],
    settings: &Settings,
    interrupt: Interrupt,
    keep: &mut dyn FnMut(&ProbeResult) -> Result<(), ProbeError>,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Finished, ProbeError> {
    let mut results: Vec<ProbeResult> = jobs.iter().map(|job| empty(job, settings)).collect();
    let mut failed = vec![false; jobs.len()];
    let mut seen = vec![neighbours::Seen::default(); jobs.len()];
    let proc_root = Path::new("/proc");
    let all = settings.passes * u32::try_from(jobs.len()).unwrap_or(u32::MAX);
    let mut done = 0;
    for number in 1..=settings.passes {
        for (index, job) in jobs.iter().enumerate() {
            done += 1;
            if failed[index] {
                continue;
            }
            watch(Progress::Begins {
                job,
                pass: number,
                done: done - 1,
                all,
            });
            let before = neighbours::read(proc_root, settings.server);
            let answer = one(job, number, settings, interrupt)?;
            seen[index].add(before, neighbours::read(proc_root, settings.server));
            results[index].busy_elsewhere = seen[index].share();
            match answer {
                Some(Answer::Measured(pass)) => add(&mut results[index], pass),
                Some(Answer::Failed(why)) => {
                    watch(Progress::Failed { job, why: &why });
                    failed[index] = true;
                    let note = &mut results[index].note;
                    *note = Some(match note.take() {
                        Some(before) => format!("{before}; {why}"),
                        None => why,
                    });
                }
                None => {
                    return Ok(Finished {
                        results,
                        interrupted: true,
                    });
                }
            }
            results[index].growth = growth(&results[index]);
            keep(&results[index])?;
        }
    }
    Ok(Finished {
        results,
        interrupted: false,
    })
}

fn empty(job: &Job, settings: &Settings) -> ProbeResult {
    ProbeResult {
        probe_format: FORMAT,
        probe: job.probe.name.to_owned(),
        variant: job.variant.map(|variant| variant.name.to_owned()),
        question: match job.variant {
            Some(variant) => format!("{}; {}", job.probe.question, variant.what),
            None => job.probe.question.to_owned(),
        },
        axis: job.probe.axis.to_owned(),
        kind: job.probe.kind,
        population_asked: job.asked,
        population: job.population,
        note: job.note.clone(),
        limits: job.limits.clone(),
        facts: asked(job, settings),
        environment: settings.environment.clone(),
        ..ProbeResult::default()
    }
}

/// Which server, where one is asked.
fn asked(job: &Job, settings: &Settings) -> BTreeMap<String, String> {
    let url = settings.url.as_deref().unwrap_or("origin, one worker");
    let server = job.probe.server && job.probe.kind == AxisKind::Population;
    let fact = server.then(|| ("server".to_owned(), url.to_owned()));
    fact.into_iter().collect()
}

fn add(result: &mut ProbeResult, pass: Pass) {
    for (name, value) in &pass.facts {
        match result.facts.get_mut(name) {
            Some(known) if known != value => {
                // The first pass's and the last one's: each pass has its own beside its points.
                let first = known.split(" to ").next().unwrap_or_default();
                *known = if first == value {
                    value.clone()
                } else {
                    format!("{first} to {value}")
                };
            }
            Some(_) => {}
            None => {
                result.facts.insert(name.clone(), value.clone());
            }
        }
    }
    result.passes.push(pass);
}

fn growth(result: &ProbeResult) -> Vec<model::probe::Growth> {
    match result.kind {
        AxisKind::Population => verdict::growth::of_result(result),
        AxisKind::Progress => Vec::new(),
    }
}

/// One pass in a process of its own; none if it was interrupted.
fn one(
    job: &Job,
    number: u32,
    settings: &Settings,
    interrupt: Interrupt,
) -> Result<Option<Answer>, ProbeError> {
    if interrupt.is_raised() {
        return Ok(None);
    }
    let out = settings.folder.join("pass.json");
    let mut command = Command::new(&settings.program);
    command
        .args(["probe", "--one"])
        .arg(job.name())
        .args(["--population", &job.population.to_string()])
        .args(["--pass", &number.to_string()])
        .arg("--folder")
        .arg(&settings.folder)
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(url) = &settings.url {
        command.args(["--url", url]);
    }
    let mut child = start(&mut command, Confinement::default())
        .doing(|| format!("starting {}", settings.program.display()))?;
    let mut waited = Duration::ZERO;
    let ended = loop {
        if let Some(ended) = child.wait(BETWEEN_LOOKS) {
            break ended;
        }
        waited += BETWEEN_LOOKS;
        if interrupt.is_raised() {
            child.stop(Signal::Kill, Duration::ZERO, None);
            return Ok(None);
        }
        if waited > LONGEST_PASS {
            child.stop(Signal::Kill, Duration::ZERO, None);
            return Ok(Some(Answer::Failed(format!(
                "a pass took longer than {} s and was ended",
                LONGEST_PASS.as_secs()
            ))));
        }
    };
    let answer = read(&out).unwrap_or_else(|| {
        Answer::Failed(format!(
            "the process of pass {number} left no result: {ended}"
        ))
    });
    Ok(Some(answer))
}

/// Takes the answer, so that the next pass finds none.
fn read(out: &Path) -> Option<Answer> {
    let text = fs::read_to_string(out).ok()?;
    let _removed = fs::remove_file(out);
    serde_json::from_str(&text).ok()
}
