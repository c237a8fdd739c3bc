//! Before the first trial: what is installed, the documents, the limits; and a start and an
//! exchange of every server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use model::experiment::{AccessLog, Gap};
use model::tls::TlsFile;
use model::{Environment, Experiment, Span};

use super::present::{Missing, present};
use super::{CEILING, Depth, Ground, Lab, News, Progress};
use crate::certificate::Certificates;
use crate::error::LabError;
use crate::server::{self, Preset, Running, Start};
use crate::site::{Site, open_to_all, programs};
use crate::sweep::{self, Racer};

/// Descriptors that a server with few connections may want.
const OPEN_FILES_WANTED: u64 = 65_536;
/// A plan knows starts in such steps.
const START_STEP: Span = Span::from_ms(250);
/// With fewer no server starts: modules, logs and listeners alone take dozens.
const OPEN_FILES_MIN: u64 = 256;

/// Finds what is installed and builds what all servers share.
pub(super) fn ground(lab: &Lab<'_>) -> Result<(Ground, Vec<Missing>), LabError> {
    let (servers, missing) = present(lab.experiment, lab.search, lab.division);
    let responder = server::installed(server::null_responder(), lab.search)
        .map_err(|absent| LabError::Generator { why: absent.why })?;
    let most = lab.experiment.sockets_most();
    // As far as it goes: SRV-03 reads the limit that holds.
    let limit = sys::process::raise_open_files(OPEN_FILES_WANTED.max(u64::from(most) * 4));
    enough_files(limit.unwrap_or(u64::MAX))?;
    // Best effort: orphans are found by session.
    let _adopted = sys::process::become_subreaper();
    // Servers that root starts give up their rights and must still read their documents.
    open_to_all(lab.scratch.path(), 0o755)?;
    let site = Site::build(&lab.scratch.path().join("www"), lab.experiment)?;
    programs::build(&site, lab.experiment, lab.search)?;
    let certificates = Certificates::make(&lab.scratch.path().join("tls"), lab.experiment)?;
    let templates = templates(lab.experiment)?;
    let variants = lab.experiment.servers().iter();
    let ground = Ground {
        environment: Environment::default(),
        site,
        certificates,
        kinds: variants.map(|one| (one.cores, one.speech)).collect(),
        servers,
        responder,
        templates,
        wrong: BTreeSet::new(),
    };
    Ok((ground, missing))
}

/// Every server inherits the limit: where none could start, that is said once, before the first.
fn enough_files(limit: u64) -> Result<(), LabError> {
    if limit >= OPEN_FILES_MIN {
        return Ok(());
    }
    Err(LabError::OpenFiles {
        limit,
        needed: OPEN_FILES_MIN,
    })
}

/// The texts of presets that are files.
fn templates(experiment: &Experiment) -> Result<BTreeMap<String, String>, LabError> {
    experiment
        .servers()
        .iter()
        .filter(|variant| !matches!(variant.preset.as_str(), "stock" | "tuned"))
        .map(|variant| {
            let path = &variant.preset;
            let text = fs::read_to_string(path).map_err(|error| LabError::Server {
                server: variant.label.clone(),
                why: format!(
                    "a preset is stock, tuned or the path of a template, and '{path}' cannot be \
                     read: {error}"
                ),
            })?;
            Ok((path.clone(), text))
        })
        .collect()
}

/// Starts and asks every server once, and measures nothing. Returns whether all were right.
pub fn verify_all(mut lab: Lab<'_>) -> Result<bool, LabError> {
    let (mut ground, missing) = ground(&lab)?;
    for gap in missing.iter().map(|missing| &missing.gap) {
        lab.tell_gap(gap)?;
    }
    let present = |ground: &Ground| ground.servers.iter().flatten().count();
    let before = present(&ground);
    let (done, void) = (lab.store.done(), BTreeSet::new());
    let mut progress = Progress::new(done, void, lab.manifest.order_seed);
    lab.verify_before(&mut ground, &mut progress, Depth::Connections)?;
    let are_right = present(&ground) == before && ground.wrong.is_empty();
    Ok(are_right && !ground.responder.version.is_empty())
}

/// How long starts of servers took, without warm-up, by their labels.
pub type Starts = BTreeMap<String, Span>;

/// Starts, asks and ends every server once, and measures nothing but how long that takes, by its
/// label: a budget reckons with it. Who cannot be started is not in the list.
pub fn rehearse(mut lab: Lab<'_>) -> Result<Starts, LabError> {
    let (mut ground, _) = ground(&lab)?;
    let seed = lab.manifest.order_seed;
    let mut progress = Progress::new(BTreeSet::new(), BTreeSet::new(), seed);
    let mut starts = Starts::new();
    for racer in ground.racers(lab.experiment) {
        lab.check_interrupt()?;
        let begun = (lab.elapsed)();
        ground.environment = lab.host.environment();
        let workloads = ground.asked(racer, lab.experiment);
        match lab.start_and_ask(racer, &workloads, false, &ground, &mut progress) {
            Ok(mut asked) => {
                asked.running.read_condition();
                asked.running.stop();
                let took = (lab.elapsed)().saturating_sub(begun);
                starts.insert(lab.label(racer).to_owned(), in_steps(took));
            }
            // It is a row of the lab, which finds it again.
            Err(error) if lab.is_gap(&error)? => {}
            Err(error) => return Err(error),
        }
    }
    Ok(starts)
}

/// The next whole step: starts that differ by milliseconds make no other plan of the next run.
fn in_steps(took: Span) -> Span {
    let step = START_STEP.as_ns();
    Span::from_ns(took.as_ns().div_ceil(step) * step)
}

impl Lab<'_> {
    /// Starts a server, asks it for each document, stores its configuration, ends it. Returns what
    /// it did not answer rightly, if that is not all.
    pub(super) fn verify_racer(
        &mut self,
        racer: Racer,
        ground: &mut Ground,
        progress: &mut Progress,
        depth: Depth,
    ) -> Result<Vec<Gap>, LabError> {
        self.check_interrupt()?;
        let workloads = ground.asked(racer, self.experiment);
        let asked = self.start_and_ask(racer, &workloads, true, ground, progress)?;
        let (mut running, mut wrong) = (asked.running, asked.wrong);
        if !wrong.is_empty() && wrong.len() == workloads.len() {
            return Err(wrong.swap_remove(0).1);
        }
        let mut gaps = Vec::new();
        for (index, error) in &wrong {
            let gap = self.gap_of_workload(racer, *index, error);
            self.tell_gap(&gap)?;
            gaps.push(gap);
            ground.wrong.insert((racer, *index));
        }
        if depth == Depth::Connections {
            self.ask_by_all_connections(racer, &mut running, ground, progress)?;
        }
        for (name, text) in running.configuration() {
            self.store
                .put_configuration(self.label(racer), name, text)?;
        }
        running.stop();
        if !gaps.is_empty() {
            return Ok(gaps);
        }
        let version = ground
            .installed(racer)
            .map_or("", |installed| installed.version.as_str());
        let label = match racer {
            Racer::Ceiling { speech, .. }
                if sweep::ceilings(self.experiment, &|_| true).len() > 1 =>
            {
                format!("{CEILING} {}", speech.said())
            }
            Racer::Ceiling { .. } => CEILING.to_owned(),
            Racer::Server(index) => self.experiment.servers()[index].label.clone(),
        };
        (self.news)(&News::Verified {
            server: &label,
            version,
        });
        Ok(gaps)
    }

    /// Starts it. Where it `is_checked`, it tests its configuration before, if it can.
    pub(super) fn start(
        &self,
        racer: Racer,
        ground: &Ground,
        is_checked: bool,
    ) -> Result<Running, LabError> {
        let installed = ground
            .installed(racer)
            .expect("only what is installed is started");
        let label = self.label(racer);
        let (variant, cores, access_log, preset_name, speech) = match racer {
            Racer::Ceiling { cores, speech } => (None, cores, AccessLog::Off, "tuned", speech),
            Racer::Server(index) => {
                let one = &self.experiment.servers()[index];
                let preset = one.preset.as_str();
                (Some(one), one.cores, one.access_log, preset, one.speech)
            }
        };
        let certificate = speech.certificate.map(|key| ground.certificates.of(key));
        let demands = certificate.and_then(|files| {
            let file = files.certificate.display().to_string();
            let demands = self.experiment.tls_demands(speech, &file)?;
            Some(match self.host.is_asked_from_elsewhere {
                false => demands,
                // Other machines have no such file.
                true => TlsFile {
                    ca_file: None,
                    ca_pem: Some(files.pem.clone()),
                    ..demands
                },
            })
        });
        let directives = variant.map(|variant| installed.product.directives_of(variant));
        let pin = variant.map(|variant| variant.pin).unwrap_or_default();
        let way = variant.and_then(|variant| variant.variant.as_deref());
        let preset = match preset_name {
            "stock" => Preset::Stock,
            "tuned" => Preset::Tuned,
            path => Preset::Template {
                path,
                text: &ground.templates[path],
            },
        };
        let cpus = self.division.of_server(cores);
        let workloads = ground.workloads(racer, self.experiment).into_iter();
        let needs: Vec<String> = match racer {
            Racer::Ceiling { .. } => Vec::new(),
            Racer::Server(_) => workloads
                .flat_map(|workload| workload.needs.clone())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
        };
        Running::start(&Start {
            label,
            installed,
            preset,
            preset_name,
            access_log,
            protocol: speech.protocol,
            certificate,
            tls: demands.as_ref(),
            // More cores than there are: a ceiling for servers that are gaps themselves.
            cpus: cpus.unwrap_or(&self.division.server),
            address: self.host.listen,
            connections: self.experiment.sockets_most(),
            needs: &needs,
            variant: way.unwrap_or_else(|| installed.product.variant_default()),
            reload: self.experiment.reloads() && variant.is_some(),
            directives: &directives.unwrap_or_default(),
            pin,
            is_checked,
            site: &ground.site,
            scratch: self.scratch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_known_in_steps() {
        for (took, known) in [(0, 0), (1, 250), (250, 250), (251, 500), (1_310, 1_500)] {
            assert_eq!(
                in_steps(Span::from_ms(took)),
                Span::from_ms(known),
                "{took}"
            );
        }
    }

    #[test]
    fn too_few_open_files_are_told_once_and_before_the_start() {
        let said = enough_files(64).unwrap_err();
        assert!(!said.is_about_one_server(), "{said}");
        let said = said.to_string();
        for part in ["64 open files", "256", "ulimit -n"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        enough_files(256).unwrap();
    }
}
