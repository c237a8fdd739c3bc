use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use model::event::Phase;
use model::record::Example;
use model::{Event, Outcome, PlanFile};

use super::*;
use crate::experiment;
use crate::generator::Watch;

/// A generator that measures nothing: it reports as many right answers as connections, and breaks
/// off, fails or finds wrong answers where it is told to.
#[derive(Default)]
struct Fake {
    plans: Vec<PlanFile>,
    interrupt_at: Option<usize>,
    fail_at: Option<usize>,
    wrong: bool,
    stop: Rc<Stop>,
}

/// Ctrl-C, which strikes when it is looked for the so-manieth time, or when it is told to.
#[derive(Default)]
struct Stop {
    looks: Cell<usize>,
    at_look: Option<usize>,
    raised: Cell<bool>,
}

impl Stop {
    fn is_raised(&self) -> bool {
        self.looks.set(self.looks.get() + 1);
        if self.at_look.is_some_and(|at| self.looks.get() >= at) {
            self.raised.set(true);
        }
        self.raised.get()
    }
}

impl Generator for Fake {
    fn run(&mut self, plan: &PlanFile, watch: &mut Watch<'_>) -> Result<Trial, LabError> {
        self.plans.push(plan.clone());
        if self.stop.is_raised() {
            return Err(LabError::Interrupted);
        }
        if self.interrupt_at == Some(self.plans.len()) {
            self.stop.raised.set(true);
            if self.fail_at.is_none() {
                return Err(LabError::Interrupted);
            }
        }
        if self.fail_at == Some(self.plans.len()) {
            return Err(LabError::Generator {
                why: "out of memory".to_owned(),
            });
        }
        for phase in [Phase::Measurement, Phase::Drain] {
            let monotonic_ns = sys::clock::monotonic();
            let event = Event::Phase {
                phase,
                monotonic_ns,
            };
            watch(&event, None);
        }
        let mut record = model::Record::default();
        if self.wrong {
            record.total.outcomes[Outcome::Status] = 1;
            record.examples.push(Example {
                outcome: Outcome::Status,
                text: "status 403 instead of 200".to_owned(),
                at: None,
            });
        } else {
            record.total.outcomes[Outcome::Ok] = u64::from(plan.connections);
        }
        Ok(Trial {
            format: 1,
            point: None,
            plan: plan.clone(),
            environment: Environment::default(),
            record,
            usage: model::Usage::default(),
            context: model::trial::Context::default(),
            verdict: model::Verdict::default(),
            void: None,
        })
    }
}

/// A results folder, and the search for programs on a machine whose `triathlon` is broken: origin
/// and the responder end as soon as they are started.
struct Bench {
    folder: tempfile::TempDir,
    search: Search,
    experiment: Experiment,
    manifest: Manifest,
}

impl Bench {
    fn new(overrides: &[&str]) -> Self {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let source = experiment::read("first-heat", &overrides).unwrap();
        let manifest = Manifest {
            format: 1,
            experiment: source.experiment.file().clone(),
            source: source.name,
            command: Vec::new(),
            tool: model::environment::Tool::default(),
            time: "2026-11-20T11:00:00Z".to_owned(),
            order_seed: 5,
            scaled: Vec::new(),
            server_cpus: vec![0],
            generator_cpus: vec![0],
            cpu_choice: "for a test".to_owned(),
        };
        Self {
            folder: tempfile::tempdir().unwrap(),
            search: Search::of_system(PathBuf::from("/bin/false")),
            experiment: source.experiment,
            manifest,
        }
    }

    fn store(&self) -> Store {
        Store::create(self.folder.path(), &self.manifest, "").unwrap()
    }

    fn run(&self, store: &Store, generator: &mut Fake) -> (Result<(), LabError>, Vec<Gap>) {
        let division = crate::cpus::divide(&[0], &BTreeMap::new(), 1);
        let mut gaps = Vec::new();
        let stop = Rc::clone(&generator.stop);
        let scratch = Scratch::create_in(self.folder.path(), "scratch-").unwrap();
        let lab = Lab {
            experiment: &self.experiment,
            manifest: &self.manifest,
            store,
            scratch: &scratch,
            environment: Environment::default(),
            search: &self.search,
            division: &division,
            generator,
            interrupted: &|| stop.is_raised(),
            news: &mut |news| {
                if let News::Gap(gap) = news {
                    gaps.push((*gap).clone());
                }
            },
        };
        (lab.run(), gaps)
    }

    /// Whether it is there; says so if it is not.
    fn needs_nginx(&self) -> bool {
        let is_there = self.search.program(&["nginx"]).is_some();
        if !is_there {
            crate::testing::not_run("nginx is not installed");
        }
        is_there
    }
}

fn sequences(store: &Store) -> Vec<u32> {
    store.done().into_iter().collect()
}

const SMALL: &[&str] = &[
    "server=nginx",
    "rounds=2",
    "connections=[1, 2]",
    "warmup=0s",
];

#[test]
fn every_point_is_measured_and_what_cannot_be_is_a_gap() {
    let bench = Bench::new(SMALL);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    let (result, gaps) = bench.run(&store, &mut Fake::default());
    result.unwrap();
    // The broken responder: there is no ceiling, and that is said once.
    let names: Vec<&str> = gaps.iter().map(|gap| gap.server.as_str()).collect();
    assert_eq!(names, [CEILING]);
    assert!(gaps[0].error.contains("it ended at once"), "{:?}", gaps[0]);
    let trials: Vec<Trial> = store.trials().map(Result::unwrap).collect();
    assert_eq!(trials.len(), 2 * 2 * 2);
    for trial in &trials {
        let server = trial.context.server.as_ref().unwrap();
        assert_eq!(server.product, "nginx");
        assert_eq!(server.listener_is_ours, Some(true));
        assert!(server.configuration.contains_key("nginx.conf"));
        assert!(trial.usage.server.as_ref().unwrap().memory_pss.is_some());
        assert_eq!(trial.context.shared_cpus, Some(vec![0]));
        assert_eq!(trial.context.ceiling, None);
        assert!(trial.environment.time.is_some());
    }
    assert!(store.directory().join("servers/nginx/nginx.conf").is_file());
}

#[test]
fn the_doctor_looks_at_every_server_for_the_connections_of_each_trial() {
    let bench = Bench::new(&[
        "server=nginx",
        "server[0].preset=stock",
        "rounds=1",
        "connections=[1, 5000]",
        "warmup=0s",
    ]);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    bench.run(&store, &mut Fake::default()).0.unwrap();
    for trial in store.trials().map(Result::unwrap) {
        let server = trial.context.server.as_ref().unwrap();
        let said = |rule: &str| server.doctor.iter().any(|finding| finding.rule == rule);
        let told = trial.verdict.findings.iter();
        // Stock nginx asks for a queue of 511.
        let too_many = trial.plan.connections > 511;
        assert_eq!(said("TCP-07"), too_many, "{:?}", server.doctor);
        assert_eq!(
            told.filter(|f| f.rule == "TCP-07").count(),
            usize::from(too_many)
        );
        assert!(!said("SRV-01") && !said("CPU-16"), "{:?}", server.doctor);
        assert!(!server.doctor_unknown.contains_key("TCP-07"));
    }
}

#[test]
fn an_interrupted_experiment_is_resumed_where_it_stopped() {
    let bench = Bench::new(SMALL);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    let mut first = Fake {
        // Two exchanges to verify, two more after the start, two points, and then Ctrl-C.
        interrupt_at: Some(7),
        ..Fake::default()
    };
    let (result, _) = bench.run(&store, &mut first);
    assert!(matches!(result, Err(LabError::Interrupted)));
    let before = sequences(&store);
    assert_eq!(before.len(), 2);
    let written = |store: &Store| -> Vec<_> {
        let folder = std::fs::read_dir(store.directory().join("trials")).unwrap();
        let mut times: Vec<_> = folder
            .map(|entry| {
                let entry = entry.unwrap();
                (
                    entry.file_name(),
                    entry.metadata().unwrap().modified().unwrap(),
                )
            })
            .collect();
        times.sort();
        times
    };
    let times = written(&store);
    let (store, manifest) = Store::open(store.directory()).unwrap();
    assert_eq!(manifest, bench.manifest);
    let mut second = Fake::default();
    bench.run(&store, &mut second).0.unwrap();
    assert_eq!(sequences(&store).len(), 8);
    let sources = |fake: &Fake| -> BTreeSet<_> {
        let plans = fake.plans.iter();
        plans.flat_map(|plan| plan.sources.clone()).collect()
    };
    assert!(sources(&first).is_disjoint(&sources(&second)));
    let after = written(&store);
    assert!(
        times.iter().all(|file| after.contains(file)),
        "nothing was measured twice"
    );
    // Only the ceiling is still open, and has no responder here: the server is asked, no more.
    let mut third = Fake::default();
    bench.run(&store, &mut third).0.unwrap();
    assert_eq!(third.plans.len(), 2);
    assert_eq!(written(&store), after);
}

/// Runs `first`, which must be interrupted, and goes on: there is no row for what was interrupted,
/// and nothing is missing in the end. Returns how many trials were kept.
fn check_interrupted(bench: &Bench, first: &mut Fake, when: &str) -> usize {
    let store = bench.store();
    let (result, gaps) = bench.run(&store, first);
    assert!(matches!(result, Err(LabError::Interrupted)), "{when}");
    // The responder of these tests is broken, which has nothing to do with Ctrl-C.
    let of_servers = |gaps: &[Gap]| gaps.iter().any(|gap| gap.server != CEILING);
    assert!(!of_servers(&gaps), "{when}: {gaps:?}");
    assert!(!of_servers(&store.gaps().unwrap()), "{when}");
    let kept = sequences(&store);
    let mut second = Fake::default();
    bench.run(&store, &mut second).0.unwrap();
    let all = sequences(&store);
    assert_eq!(all.len(), 4, "{when}: {all:?}");
    assert!(kept.iter().all(|one| all.contains(one)), "{when}");
    kept.len()
}

#[test]
fn wherever_an_interruption_strikes_the_rest_is_measured_later() {
    let bench = Bench::new(&["server=nginx", "rounds=1", "connections=[1, 2]"]);
    if !bench.needs_nginx() {
        return;
    }
    let mut whole = Fake::default();
    bench.run(&bench.store(), &mut whole).0.unwrap();
    let (plans, looks) = (whole.plans.len(), whole.stop.looks.get());
    // Two exchanges to verify; then two after the start, two warm-ups and four trials.
    assert_eq!(plans, 2 + 2 + 2 + 4);
    let at_look = |at| Fake {
        stop: Rc::new(Stop {
            at_look: Some(at),
            ..Stop::default()
        }),
        ..Fake::default()
    };
    let mut kept: Vec<usize> = (1..=looks)
        .map(|at| check_interrupted(&bench, &mut at_look(at), &format!("look {at} of {looks}")))
        .collect();
    // The generator fails because everything is stopped at once.
    kept.extend((1..=plans).map(|at| {
        let mut first = Fake {
            interrupt_at: Some(at),
            fail_at: Some(at),
            ..Fake::default()
        };
        check_interrupted(&bench, &mut first, &format!("plan {at} of {plans}"))
    }));
    // It struck before the first trial, between any two, and before the last.
    kept.sort_unstable();
    kept.dedup();
    assert_eq!(kept, (0..4).collect::<Vec<_>>());
}

#[test]
fn a_wrong_answer_is_a_row_and_not_the_end() {
    let bench = Bench::new(&["server=nginx,lighttpd", "rounds=1", "connections=[1]"]);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    let mut wrong = Fake {
        wrong: true,
        ..Fake::default()
    };
    let (result, gaps) = bench.run(&store, &mut wrong);
    let error = result.unwrap_err().to_string();
    assert!(
        error.starts_with("none of the servers of first-heat can be measured"),
        "{error}"
    );
    let nginx = gaps.iter().find(|gap| gap.server == "nginx").unwrap();
    assert_eq!(
        nginx.error,
        "wrong answer for '7-byte file': status 403 instead of 200"
    );
    assert_eq!(store.gaps().unwrap().len(), gaps.len());
}

#[test]
fn a_generator_that_fails_once_costs_one_point() {
    let bench = Bench::new(SMALL);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    let mut fake = Fake {
        fail_at: Some(5),
        ..Fake::default()
    };
    let (result, gaps) = bench.run(&store, &mut fake);
    result.unwrap();
    assert_eq!(sequences(&store).len(), 7);
    let gap = gaps.last().unwrap();
    assert_eq!(gap.error, "the generator failed: out of memory");
    assert!(gap.workload.is_some() && !gap.load.is_empty() && gap.round.is_some());
    let rows = |store: &Store| {
        let gaps = store.gaps().unwrap().into_iter();
        gaps.map(|gap| gap.server).collect::<Vec<_>>()
    };
    assert_eq!(rows(&store), [CEILING, "nginx"]);
    // Measured by a later start, it is a row no more.
    bench.run(&store, &mut Fake::default()).0.unwrap();
    assert_eq!(sequences(&store).len(), 8);
    assert_eq!(rows(&store), [CEILING]);
}

#[test]
fn a_missing_product_is_a_row_that_says_how_to_install_it() {
    let mut bench = Bench::new(&["server=apache,nginx,origin", "rounds=1"]);
    bench.search.folders = vec![Path::new("/no/such/folder").to_owned()];
    let store = bench.store();
    let (result, gaps) = bench.run(&store, &mut Fake::default());
    assert!(result.is_err());
    let is_news = gaps.iter().any(|gap| gap.server == "apache");
    assert!(!is_news, "it was known before: {gaps:?}");
    let rows = store.gaps().unwrap();
    let apache = rows.iter().find(|gap| gap.server == "apache").unwrap();
    assert!(
        apache.error.contains("apache is not installed"),
        "{apache:?}"
    );
    let remedy = apache.remedy.as_deref().unwrap();
    assert!(remedy.contains("apt install apache2"), "{remedy}");
}

#[test]
fn servers_that_this_machine_has_no_cores_for_are_rows() {
    let bench = Bench::new(&["server=nginx", "server[0].cores=[64]"]);
    let division = crate::cpus::divide(&[0, 1], &BTreeMap::new(), 64);
    let (_, missing) = present(&bench.experiment, &bench.search, &division);
    assert_eq!(
        missing[0].gap.error,
        "64 cores are more than the 1 that this machine has for servers"
    );
}

#[test]
fn restarting_before_each_trial_starts_afresh() {
    let bench = Bench::new(&[
        "server=nginx",
        "rounds=1",
        "connections=[1]",
        "restart=trial",
        "warmup=0s",
    ]);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    bench.run(&store, &mut Fake::default()).0.unwrap();
    let mut masters: Vec<_> = store
        .trials()
        .map(|trial| {
            trial
                .unwrap()
                .context
                .server
                .unwrap()
                .processes_before
                .unwrap()[0]
        })
        .collect();
    masters.dedup();
    assert_eq!(masters.len(), 2);
}
