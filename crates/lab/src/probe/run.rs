//! All passes of all probes that were asked for, each in a process of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use model::Environment;
use model::probe::{AxisKind, FORMAT, Pass, ProbeResult};
use sys::counters::process;
use sys::process::{Confinement, Interrupt, Signal, start};

use super::asked::{Standing, WAITS_BY, waits_by};
use super::pass::Answer;
use super::select::Job;
use super::{Doing as _, ProbeError, neighbours};
use crate::scratch::Scratch;
use crate::server::Search;

/// How probes are run.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// This program: it is started again for each pass.
    pub program: PathBuf,
    /// A private folder on the disk to be probed, in which servers have theirs.
    pub scratch: &'a Scratch,
    /// Where servers are looked for.
    pub search: Search,
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
    settings: &Settings<'_>,
    interrupt: Interrupt,
    keep: &mut dyn FnMut(&ProbeResult) -> Result<(), ProbeError>,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Finished, ProbeError> {
    let mut results: Vec<ProbeResult> = jobs.iter().map(|job| empty(job, settings)).collect();
    let mut failed = vec![false; jobs.len()];
    let mut seen = vec![neighbours::Seen::default(); jobs.len()];
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
            let answer = ask(job, number, settings, interrupt, &mut seen[index])?;
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

/// One pass, with the server that it asks where that is one of the lab; none if it was interrupted.
fn ask(
    job: &Job,
    number: u32,
    settings: &Settings<'_>,
    interrupt: Interrupt,
    seen: &mut neighbours::Seen,
) -> Result<Option<Answer>, ProbeError> {
    let server = job.server.as_ref();
    let started = server.map(|server| server.start(&settings.search, settings.scratch));
    let mut server = match started.transpose() {
        Ok(server) => server,
        Err(why) => return Ok(Some(Answer::Failed(why.to_string()))),
    };
    let process = server.as_ref().map_or(settings.server, Standing::pid);
    let url = server.as_ref().map(|server| server.url.as_str());
    let url = url.or(settings.url.as_deref());
    let before = neighbours::read(Path::new("/proc"), process);
    let mut answer = one(job, number, url, settings, interrupt)?;
    seen.add(before, neighbours::read(Path::new("/proc"), process));
    match (&mut answer, &mut server) {
        (Some(Answer::Measured(pass)), Some(server)) => pass.facts.extend(server.facts()),
        (Some(Answer::Failed(why)), Some(server)) => why.push_str(&server.complaint()),
        _ => {}
    }
    Ok(answer)
}

fn empty(job: &Job, settings: &Settings<'_>) -> ProbeResult {
    ProbeResult {
        probe_format: FORMAT,
        probe: job.probe.name.to_owned(),
        variant: job.variant.map(|variant| variant.name.to_owned()),
        server: job.server.as_ref().map(|server| server.label().to_owned()),
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
fn asked(job: &Job, settings: &Settings<'_>) -> BTreeMap<String, String> {
    let url = settings.url.as_deref().unwrap_or("origin, one worker");
    if !job.probe.asks_requests() || job.server.is_some() {
        return BTreeMap::new();
    }
    // Who listens may leave the waiting to those that it started.
    let tree = settings
        .server
        .map(|pid| process::tree(Path::new("/proc"), pid));
    let way = tree.and_then(|tree| waits_by(tree.into_iter().map(|stat| stat.pid)));
    let way = way.map(|way| (WAITS_BY.to_owned(), way.to_owned()));
    let server = ("server".to_owned(), url.to_owned());
    [server].into_iter().chain(way).collect()
}

fn add(result: &mut ProbeResult, pass: Pass) {
    for (name, value) in &pass.facts {
        match result.facts.get_mut(name) {
            Some(known) if known != value => {
                // Each value once: each pass has its own beside its points.
                if known.split(" or ").all(|other| other != value) {
                    known.push_str(" or ");
                    known.push_str(value);
                }
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
    url: Option<&str>,
    settings: &Settings<'_>,
    interrupt: Interrupt,
) -> Result<Option<Answer>, ProbeError> {
    if interrupt.is_raised() {
        return Ok(None);
    }
    let folder = settings.scratch.path();
    let out = folder.join("pass.json");
    let mut command = Command::new(&settings.program);
    command
        .args(["probe", "--one"])
        .arg(job.way())
        .args(["--population", &job.population.to_string()])
        .args(["--pass", &number.to_string()])
        .arg("--folder")
        .arg(folder)
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(url) = url {
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
