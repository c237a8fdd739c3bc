use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use model::event::Phase;
use model::plan::Stop as End;
use model::record::Example;
use model::trial::Freezing;
use model::{Environment, Event, Outcome, PlanFile};

use super::*;
use crate::experiment;
use crate::generator::Watch;
use sys::counters::process;

/// A generator that measures nothing: it reports as many right answers as connections, and breaks
/// off, fails or finds wrong answers where it is told to.
#[derive(Default)]
struct Fake {
    plans: Vec<PlanFile>,
    interrupt_at: Option<usize>,
    fail_at: Option<usize>,
    wrong: bool,
    /// What is answered wrongly though all else is right.
    wrong_at: Option<String>,
    /// The first that is killed is killed by what it was asked then: from then on that is wrong.
    wrong_once_killed: bool,
    /// What the machine reads as, from then on.
    kernels: Vec<&'static str>,
    /// The server of that program is killed once, while it is measured.
    kill: Option<&'static str>,
    /// Sequence numbers of trials that something spoils.
    void: BTreeSet<u32>,
    /// So many requests per second the server answers, and above that none.
    capacity: Option<u64>,
    /// So many the generator sends.
    sends: Option<u64>,
    /// As long as fewer trials count, a comparison lacks rounds.
    lacks: Option<usize>,
    /// How long all of it may take, by a clock on which each trial takes a second and nothing else
    /// takes any time.
    budget: Option<Span>,
    elapsed: Rc<Cell<Span>>,
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
        if matches!(plan.stop, End::DurationNs(_)) {
            self.elapsed.set(self.elapsed.get() + Span::from_s(1));
        }
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
        if matches!(plan.stop, End::DurationNs(_))
            && let Some(program) = self.kill
            && kill(plan.addresses[0].port(), program)
        {
            self.kill = None;
            if self.wrong_once_killed {
                self.wrong_at = Some(path(plan));
            }
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
        if self.wrong || self.wrong_at.as_ref() == Some(&path(plan)) {
            record.total.outcomes[Outcome::Status] = 1;
            record.examples.push(Example {
                outcome: Outcome::Status,
                text: "status 403 instead of 200".to_owned(),
                request: None,
                at: None,
            });
        } else {
            record.total.outcomes[Outcome::Ok] = u64::from(plan.connections);
        }
        self.answer_at_its_rate(plan, &mut record);
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
            thresholds: Vec::new(),
            recovery: None,
            agents: Vec::new(),
            servers_clock: None,
        })
    }
}

impl Fake {
    /// What comes of a schedule, where there is one.
    fn answer_at_its_rate(&self, plan: &PlanFile, record: &mut model::Record) {
        let capacity = Rate::per_second(self.capacity.unwrap_or(u64::MAX));
        let rate = plan.arrivals.rate().unwrap_or(capacity);
        record.achieved_rate = rate.min(capacity).as_per_second_f64();
        (record.total.due, record.total.sent) = (100, 100);
        if rate > capacity {
            // It refuses them, so that no other work on this machine is the reason.
            record.total.outcomes[Outcome::Status] = 100;
        }
        let is_open = plan.arrivals.rate().is_some();
        if is_open && self.sends.is_some_and(|most| rate > Rate::per_second(most)) {
            record.total.sent = 10;
            record.late_time.record(Span::from_s(1));
        }
    }
}

/// What the first request of a plan asks for.
fn path(plan: &PlanFile) -> String {
    let url = &plan.requests[0].url;
    let path = url.splitn(4, '/').nth(3);
    path.expect("an absolute URL").to_owned()
}

/// Kills with SIGKILL whoever of that name listens on `port`; false if that is nobody.
fn kill(port: u16, program: &str) -> bool {
    let root = Path::new("/proc");
    let listeners = sys::counters::socket::listeners(port).unwrap();
    let owns = |pid: &u32| {
        let is_named = process::stat(root, *pid).is_ok_and(|stat| stat.name == program);
        let sockets = process::sockets(root, *pid).unwrap_or_default();
        is_named && listeners.iter().any(|one| sockets.contains(&one.inode))
    };
    let owners: Vec<u32> = process::all(root).into_iter().filter(owns).collect();
    for pid in &owners {
        let mut command = std::process::Command::new("/bin/kill");
        command.args(["-9", &pid.to_string()]).status().unwrap();
        // A signal takes its time.
        while process::stat(root, *pid).is_ok_and(|stat| stat.state != 'Z') {}
    }
    !owners.is_empty()
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
            notes: Vec::new(),
            scaled: Vec::new(),
            not_repeated: 0,
            left_out: None,
            server_cpus: vec![0],
            generator_cpus: vec![0],
            cpu_choice: "for a test".to_owned(),
            at_once: 16,
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
        let (kernels, void) = (generator.kernels.clone(), generator.void.clone());
        let (lacks, budget) = (generator.lacks, generator.budget);
        let elapsed = Rc::clone(&generator.elapsed);
        let reads = Cell::new(0);
        let scratch = Scratch::create_in(self.folder.path(), "scratch-").unwrap();
        let read_machine = || {
            let read = reads.get();
            reads.set(read + 1);
            let kernel = kernels.get(read).or_else(|| kernels.last());
            Environment {
                kernel: kernel.map(ToString::to_string),
                ..Environment::default()
            }
        };
        let lab = Lab {
            experiment: &self.experiment,
            manifest: &self.manifest,
            store,
            scratch: &scratch,
            host: Host::of(&self.experiment, &read_machine),
            is_void: &|trial| {
                let point = trial.point.as_ref().unwrap();
                void.contains(&point.sequence)
            },
            short: &|store, spares| {
                let count = turns(store)
                    .iter()
                    .filter(|turn| !void.contains(&turn.0))
                    .count();
                assert!(spares > 0);
                let is_short = lacks.is_some_and(|least| count < least);
                let short = Short {
                    workload: SHORT.to_owned(),
                    connections: 2,
                    rate: None,
                };
                Ok(is_short.then_some(short).into_iter().collect())
            },
            search: &self.search,
            division: &division,
            calm: Calm::of(&crate::calm::Here, Span::ZERO),
            generator,
            budget,
            elapsed: &|| elapsed.get(),
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
    // Every third look is enough to strike within and between all that happens.
    let mut kept: Vec<usize> = (1..=looks)
        .step_by(3)
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

/// The path of the workload that comes first in the experiment.
fn first_path(bench: &Bench) -> String {
    let mut whole = Fake::default();
    bench.run(&bench.store(), &mut whole).0.unwrap();
    path(&whole.plans[0])
}

fn workloads_of(store: &Store) -> Vec<String> {
    let trials = store.trials().map(Result::unwrap);
    trials
        .map(|trial| trial.point.unwrap().id.workload)
        .collect()
}

#[test]
fn what_is_answered_wrongly_is_asked_once_and_a_row_and_the_rest_is_measured() {
    let bench = Bench::new(&["server=nginx", "rounds=2", "connections=[1]"]);
    if !bench.needs_nginx() {
        return;
    }
    let wrong_at = first_path(&bench);
    let mut wrong = Fake {
        wrong_at: Some(wrong_at.clone()),
        ..Fake::default()
    };
    let store = bench.store();
    let (result, gaps) = bench.run(&store, &mut wrong);
    result.unwrap();
    let of_nginx: Vec<&Gap> = gaps.iter().filter(|gap| gap.server == "nginx").collect();
    let [gap] = of_nginx.as_slice() else {
        panic!("{of_nginx:?}");
    };
    assert_eq!(gap.workload.as_deref(), Some("7-byte file"));
    assert_eq!(
        gap.error,
        "wrong answer for '7-byte file': status 403 instead of 200"
    );
    assert_eq!(workloads_of(&store), ["100 KB file", "100 KB file"]);
    let asked = wrong.plans.iter().filter(|plan| path(plan) == wrong_at);
    assert_eq!(asked.count(), 1);
    // It is asked anew when the lab is started anew.
    bench.run(&store, &mut Fake::default()).0.unwrap();
    assert_eq!(workloads_of(&store).len(), 4);
}

#[test]
fn a_server_that_is_started_anew_is_asked_for_what_is_still_to_be_measured() {
    let bench = Bench::new(&["server=nginx", "rounds=1", "connections=[1]"]);
    if !bench.needs_nginx() {
        return;
    }
    let mut killed = Fake {
        kill: Some("nginx"),
        wrong_once_killed: true,
        ..Fake::default()
    };
    let store = bench.store();
    let (result, gaps) = bench.run(&store, &mut killed);
    result.unwrap();
    let wrong_at = killed.wrong_at.expect("a server that was killed");
    let last = killed.plans.last().unwrap();
    assert_ne!(path(last), wrong_at);
    let mut measured = workloads_of(&store);
    measured.sort();
    assert_eq!(measured, ["100 KB file", "7-byte file"], "{gaps:?}");
    let is_wrong = |gap: &&Gap| gap.error.starts_with("wrong answer");
    assert_eq!(gaps.iter().find(is_wrong), None);
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

const TWO: &[&str] = &[
    "server=nginx,lighttpd",
    "rounds=2",
    "connections=[1, 2]",
    "warmup=0s",
];

/// A bench with two servers; none where this machine lacks one, which is said.
fn needs_two_servers(overrides: &[&str]) -> Option<Bench> {
    let bench = Bench::new(overrides);
    let lacks = |name: &&&str| bench.search.program(&[**name]).is_none();
    let missing = ["nginx", "lighttpd"].iter().find(lacks);
    if let Some(name) = missing {
        crate::testing::not_run(&format!("there is no {name}"));
    }
    missing.is_none().then_some(bench)
}

fn trials(store: &Store) -> Vec<Trial> {
    store.trials().map(Result::unwrap).collect()
}

#[test]
fn who_is_not_measured_stands_still_and_both_have_been_started_once() {
    let Some(bench) = needs_two_servers(TWO) else {
        return;
    };
    let store = bench.store();
    bench.run(&store, &mut Fake::default()).0.unwrap();
    let trials = trials(&store);
    assert_eq!(trials.len(), 2 * 2 * 2 * 2);
    for round in [1, 2] {
        let mut masters = BTreeSet::new();
        let mut held: BTreeMap<String, u32> = BTreeMap::new();
        for trial in &trials {
            let point = trial.point.as_ref().unwrap();
            if point.round != round {
                continue;
            }
            let server = trial.context.server.as_ref().unwrap();
            let standing = server.standing.unwrap();
            assert_eq!(standing.neighbours, 1);
            assert_ne!(standing.freezing, Freezing::None);
            // Warmed up by the most connections of the load.
            let held = held.entry(point.id.server.clone()).or_insert(2);
            assert_eq!(standing.connections_before, *held);
            assert_eq!(server.processes_before, server.processes_after);
            masters.insert(server.processes_before.as_ref().unwrap()[0]);
        }
        assert_eq!(masters.len(), 2, "round {round}");
    }
    // Neighbours in time are rivals at one cell.
    for pair in trials.chunks(2) {
        let [one, other] = [&pair[0], &pair[1]].map(|trial| trial.point.as_ref().unwrap());
        assert_ne!(one.id.server, other.id.server);
        assert_eq!(
            (one.round, &one.id.workload, one.id.connections()),
            (other.round, &other.id.workload, other.id.connections())
        );
    }
}

#[test]
fn server_by_server_each_is_alone() {
    let overrides = [TWO, &["order=server"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let store = bench.store();
    bench.run(&store, &mut Fake::default()).0.unwrap();
    let trials = trials(&store);
    assert_eq!(trials.len(), 2 * 2 * 2 * 2);
    for trial in &trials {
        let server = trial.context.server.as_ref().unwrap();
        let standing = server.standing.unwrap();
        assert_eq!(
            (standing.neighbours, standing.freezing),
            (0, Freezing::None)
        );
    }
    for of_one in trials.chunks(4) {
        let name = |trial: &Trial| trial.point.as_ref().unwrap().id.server.clone();
        assert!(of_one.iter().all(|trial| name(trial) == name(&of_one[0])));
    }
}

#[test]
fn one_server_can_be_started_for_each_trial_beside_others_that_stay() {
    let overrides = [TWO, &["server[1].restart=trial", "rounds=1"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let store = bench.store();
    bench.run(&store, &mut Fake::default()).0.unwrap();
    let masters = |name: &str| -> BTreeSet<(u32, u64)> {
        let of_it = trials(&store);
        let servers = of_it
            .iter()
            .filter(|trial| trial.point.as_ref().unwrap().id.server == name)
            .map(|trial| trial.context.server.as_ref().unwrap());
        servers
            .map(|server| server.processes_before.as_ref().unwrap()[0])
            .collect()
    };
    assert_eq!((masters("nginx").len(), masters("lighttpd").len()), (1, 4));
    for trial in trials(&store) {
        let point = trial.point.unwrap();
        let standing = trial.context.server.unwrap().standing.unwrap();
        if point.id.server == "lighttpd" {
            // What memory claims are made of: no more connections than its own.
            assert_eq!(standing.connections_before, point.id.connections());
        }
    }
}

#[test]
fn what_is_changed_in_mid_run_is_seen() {
    let overrides = [TWO, &["order=server", "rounds=1"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let store = bench.store();
    let mut fake = Fake {
        kernels: vec!["Linux 6.1", "Linux 6.2"],
        ..Fake::default()
    };
    bench.run(&store, &mut fake).0.unwrap();
    let trials = trials(&store);
    let kernels: Vec<_> = trials
        .iter()
        .map(|trial| trial.environment.kernel.as_deref().unwrap())
        .collect();
    let expected = [["Linux 6.1"; 4], ["Linux 6.2"; 4]].concat();
    assert_eq!(kernels, expected);
    let mut set = verdict::TrialSet::default();
    for trial in &trials {
        set.add(trial);
    }
    let is_seen = |verdict: &model::Verdict| verdict.findings.iter().any(|f| f.rule == "ENV-01");
    assert!(set.verdicts().iter().all(is_seen));
}

#[test]
fn a_crash_is_a_row_and_nobody_else_s_business() {
    for order in ["order=cell", "order=server"] {
        let overrides = [TWO, &["rounds=1", order]].concat();
        let Some(bench) = needs_two_servers(&overrides) else {
            return;
        };
        let store = bench.store();
        let mut fake = Fake {
            kill: Some("nginx"),
            ..Fake::default()
        };
        let (result, gaps) = bench.run(&store, &mut fake);
        result.unwrap();
        let rows: Vec<&Gap> = gaps.iter().filter(|gap| gap.server == "nginx").collect();
        let [row] = rows[..] else {
            panic!("{order}: {gaps:?}");
        };
        assert!(row.error.contains("signal 9"), "{order}: {row:?}");
        assert!(row.workload.is_some() && !row.load.is_empty() && row.round == Some(1));
        assert!(store.gaps().unwrap().contains(row), "{order}");
        // It is started afresh for its next cell, and the others stay as they were.
        let trials = trials(&store);
        assert_eq!(trials.len(), 8, "{order}");
        let exits = trials
            .iter()
            .filter_map(|trial| trial.context.server.as_ref()?.exit.clone());
        assert_eq!(exits.count(), 1, "{order}");
        let masters = |name: &str| {
            let of_it = trials
                .iter()
                .filter(|trial| trial.point.as_ref().unwrap().id.server == name)
                .filter_map(|trial| trial.context.server.as_ref()?.processes_before.clone());
            of_it.map(|all| all[0]).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(
            (masters("lighttpd"), masters("nginx") <= 2),
            (1, true),
            "{order}"
        );
    }
}

/// Sequence number, server and attempt of every trial.
fn turns(store: &Store) -> Vec<(u32, String, u32)> {
    let points = trials(store).into_iter().map(|trial| trial.point.unwrap());
    points
        .map(|point| (point.sequence, point.id.server, point.attempt))
        .collect()
}

#[test]
fn the_cell_of_a_void_trial_is_measured_again_for_everybody_while_that_helps() {
    for order in ["order=cell", "order=server"] {
        let overrides = [TWO, &["rounds=1", "connections=[1]", order]].concat();
        let Some(bench) = needs_two_servers(&overrides) else {
            return;
        };
        let plain = bench.store();
        bench.run(&plain, &mut Fake::default()).0.unwrap();
        let struck = turns(&plain)[0].0;
        let size = turns(&plain).len();
        assert_eq!(size, 4);

        let once = bench.store();
        let with = |void: &[u32]| Fake {
            void: void.iter().copied().collect(),
            ..Fake::default()
        };
        bench.run(&once, &mut with(&[struck])).0.unwrap();
        let again: Vec<_> = turns(&once).split_off(size);
        assert_eq!(again.len(), 2, "{order}: {again:?}");
        assert!(again.iter().all(|(_, _, attempt)| *attempt == 1));
        assert_ne!(again[0].1, again[1].1, "{order}: one of each server");
        // Spoilt for ever: the trials are kept, and it ends once a repeat did not help.
        let ever = bench.store();
        let all: Vec<u32> = (0..1_000).collect();
        bench.run(&ever, &mut with(&all)).0.unwrap();
        let attempts: Vec<u32> = turns(&ever)
            .iter()
            .map(|(_, _, attempt)| *attempt)
            .collect();
        assert_eq!(attempts, [[0; 4], [1; 4]].concat(), "{order}");
        // Nothing is owed any more.
        let mut after = with(&all);
        bench.run(&ever, &mut after).0.unwrap();
        assert_eq!(turns(&ever).len(), 2 * size, "{order}");
    }
}

#[test]
fn repeats_that_were_interrupted_are_made_up_for() {
    let overrides = [TWO, &["rounds=1", "connections=[1]"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let plain = bench.store();
    bench.run(&plain, &mut Fake::default()).0.unwrap();
    let void: BTreeSet<u32> = [turns(&plain)[0].0].into();
    let with = |interrupt_at| Fake {
        void: void.clone(),
        interrupt_at,
        ..Fake::default()
    };
    let whole = bench.store();
    let mut all = with(None);
    bench.run(&whole, &mut all).0.unwrap();
    let expected = turns(&whole);
    assert_eq!(expected.len(), 4 + 2);
    // The last trials are the repeats; each comes after a question.
    let last = all.plans.len();
    for at in last - 5..=last {
        let store = bench.store();
        let (result, _) = bench.run(&store, &mut with(Some(at)));
        assert!(matches!(result, Err(LabError::Interrupted)), "plan {at}");
        assert!(turns(&store).len() < 6, "plan {at}");
        bench.run(&store, &mut with(None)).0.unwrap();
        assert_eq!(turns(&store), expected, "interrupted at plan {at}");
    }
}

/// Of which workload rounds are lost.
const SHORT: &str = "7-byte file";

#[test]
fn a_comparison_that_lacks_rounds_gets_spare_ones() {
    let overrides = [TWO, &["rounds=4", "connections=[1, 2]"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let plain = bench.store();
    bench.run(&plain, &mut Fake::default()).0.unwrap();
    let size = turns(&plain).len();
    let with = |more: usize, interrupt_at| Fake {
        lacks: Some(size + more),
        interrupt_at,
        ..Fake::default()
    };
    // One spare round of that cell has all of its servers, and no other cell.
    let once = bench.store();
    let mut all = with(2, None);
    bench.run(&once, &mut all).0.unwrap();
    let expected = turns(&once);
    let spare: Vec<Trial> = trials(&once).split_off(size);
    let servers: BTreeSet<&str> = spare
        .iter()
        .map(|trial| trial.point.as_ref().unwrap().id.server.as_str())
        .collect();
    assert_eq!((spare.len(), servers.len()), (2, 2));
    for trial in &spare {
        let point = trial.point.as_ref().unwrap();
        assert_eq!((point.round, point.id.connections()), (5, 2));
        assert_eq!(point.id.workload, SHORT);
    }
    // There are half as many as were planned, and then it ends.
    let ever = bench.store();
    bench.run(&ever, &mut with(1_000, None)).0.unwrap();
    let rounds = trials(&ever)
        .iter()
        .map(|trial| trial.point.as_ref().unwrap().round)
        .max();
    assert_eq!((turns(&ever).len(), rounds), (size + 4, Some(6)));
    // Interrupted in the spare round, it goes on there.
    let last = all.plans.len();
    for at in [last - 2, last] {
        let store = bench.store();
        let (result, _) = bench.run(&store, &mut with(2, Some(at)));
        assert!(matches!(result, Err(LabError::Interrupted)), "plan {at}");
        assert!(turns(&store).len() < expected.len(), "plan {at}");
        bench.run(&store, &mut with(2, None)).0.unwrap();
        assert_eq!(turns(&store), expected, "interrupted at plan {at}");
    }
}

/// The numbers of the rounds of which there are trials.
fn rounds_of(store: &Store) -> BTreeSet<u32> {
    let points = trials(store).into_iter().map(|trial| trial.point.unwrap());
    points.map(|point| point.round).collect()
}

/// A trial takes longer than reckoned, as its window is of 100 ms.
#[test]
fn a_budget_that_is_used_up_costs_rounds_and_never_those_that_are_needed() {
    let overrides = [TWO, &["rounds=9", "connections=[1]", "duration=100ms"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let plain = bench.store();
    bench.run(&plain, &mut Fake::default()).0.unwrap();
    let all = turns(&plain);
    assert_eq!((all.len(), rounds_of(&plain).len()), (9 * 4, 9));
    assert_eq!(plain.manifest().unwrap(), bench.manifest);
    // Two comparisons need seven rounds.
    for (seconds, rounds) in [(36, 9), (33, 8), (30, 7), (5, 7)] {
        let store = bench.store();
        let mut fake = Fake {
            budget: Some(Span::from_s(seconds)),
            ..Fake::default()
        };
        bench.run(&store, &mut fake).0.unwrap();
        assert_eq!(turns(&store), all[..rounds * 4], "{seconds} s");
        let manifest = store.manifest().unwrap();
        assert_eq!(manifest.experiment.experiment.rounds as usize, rounds);
        let said =
            format!("{rounds} rounds instead of 9, as starts and trials took longer than reckoned");
        let said = (rounds < 9).then_some(said);
        assert_eq!(
            manifest.scaled,
            said.into_iter().collect::<Vec<_>>(),
            "{seconds} s"
        );
        assert_eq!(manifest.not_repeated, 0);
    }
}

#[test]
fn what_a_budget_has_no_time_to_repeat_stays_and_a_later_start_makes_up_for_it() {
    for order in ["order=cell", "order=server"] {
        let overrides = [TWO, &["rounds=7", "connections=[1]", order]].concat();
        let Some(bench) = needs_two_servers(&overrides) else {
            return;
        };
        let plain = bench.store();
        bench.run(&plain, &mut Fake::default()).0.unwrap();
        assert_eq!(turns(&plain).len(), 7 * 4);
        // One trial of each round.
        let void: BTreeSet<u32> = turns(&plain)
            .into_iter()
            .step_by(4)
            .map(|one| one.0)
            .collect();
        let with = |budget: Option<u64>| Fake {
            void: void.clone(),
            budget: budget.map(Span::from_s),
            ..Fake::default()
        };
        let whole = bench.store();
        bench.run(&whole, &mut with(None)).0.unwrap();
        let expected = turns(&whole);
        assert_eq!(expected.len(), 7 * 6, "{order}");
        for (seconds, repeated) in [(60, 7), (33, 2), (28, 0), (5, 0)] {
            let store = bench.store();
            let mut fake = with(Some(seconds));
            bench.run(&store, &mut fake).0.unwrap();
            let when = format!("{order}, {seconds} s");
            assert_eq!(turns(&store).len(), 7 * 4 + 2 * repeated, "{when}");
            assert!(
                fake.elapsed.get() <= Span::from_s(seconds.max(28)),
                "{when}"
            );
            let manifest = store.manifest().unwrap();
            assert_eq!(manifest.not_repeated as usize, 7 - repeated, "{when}");
            assert!(manifest.scaled.is_empty(), "{when}");
            bench.run(&store, &mut with(None)).0.unwrap();
            assert_eq!(turns(&store), expected, "{when}");
            assert_eq!(store.manifest().unwrap().not_repeated, 0, "{when}");
        }
    }
}

/// No spare round is begun that does not fit.
#[test]
fn a_budget_has_spare_rounds_as_far_as_they_fit() {
    let overrides = [TWO, &["rounds=7", "connections=[1, 2]"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    for (seconds, spare) in [(100, 3), (61, 2), (59, 1), (56, 0), (5, 0)] {
        let store = bench.store();
        let mut fake = Fake {
            lacks: Some(1_000),
            budget: Some(Span::from_s(seconds)),
            ..Fake::default()
        };
        bench.run(&store, &mut fake).0.unwrap();
        assert_eq!(rounds_of(&store).len(), 7 + spare, "{seconds} s");
    }
}

const SEARCHED: &[&str] = &[
    "server=nginx",
    "rounds=1",
    "connections=[2]",
    "warmup=0s",
    "mode=capacity",
    "objective=errors<1%",
];

/// The trials of the run that are no ceilings.
fn of_servers(store: &Store) -> Vec<Trial> {
    let trials = store.trials().map(Result::unwrap);
    trials
        .filter(|trial| !trial.point.as_ref().unwrap().ceiling)
        .collect()
}

/// How many files lie in that folder of the results.
fn count_of(store: &Store, folder: &str) -> usize {
    std::fs::read_dir(store.directory().join(folder))
        .unwrap()
        .count()
}

#[test]
fn a_search_keeps_a_trial_at_what_it_found_and_its_own_apart() {
    let bench = Bench::new(SEARCHED);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    let mut fake = Fake {
        capacity: Some(10_000),
        ..Fake::default()
    };
    bench.run(&store, &mut fake).0.unwrap();
    let trials = of_servers(&store);
    let mut probes = 0;
    for trial in &trials {
        let found = trial.context.search.as_ref().unwrap();
        let (low, high) = (found.answer.lower().unwrap(), found.answer.upper().unwrap());
        let is_in = low <= Rate::per_second(10_000) && high > Rate::per_second(10_000);
        assert!(is_in, "{:?}", found.answer);
        assert_eq!(trial.plan.arrivals.rate(), Some(low), "it was made there");
        assert_eq!(trial.point.as_ref().unwrap().id.rate(), None);
        assert!(trial.thresholds.iter().all(|one| one.met));
        assert_eq!(found.objective, ["errors<1%"]);
        // The closed loop before the search is one, too.
        probes += found.trials.len() + 1;
    }
    assert_eq!(trials.len(), bench.experiment.workloads().len());
    assert_eq!(count_of(&store, "searches"), probes);
    // Nothing is left to be measured: what is asked belongs to the ceiling, which is missing.
    let mut again = Fake::default();
    bench.run(&store, &mut again).0.unwrap();
    let is_asked = |plan: &PlanFile| matches!(plan.stop, End::Count(_));
    assert!(again.plans.iter().all(is_asked));
}

#[test]
fn where_the_generator_is_the_limit_the_search_says_so() {
    let bench = Bench::new(SEARCHED);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    let mut fake = Fake {
        capacity: Some(10_000),
        sends: Some(5_000),
        ..Fake::default()
    };
    bench.run(&store, &mut fake).0.unwrap();
    for trial in of_servers(&store) {
        let answer = trial.context.search.unwrap().answer;
        let low = answer.lower().unwrap();
        assert!(
            matches!(answer, crate::capacity::Answer::GeneratorLimit { .. })
                && low <= Rate::per_second(5_000),
            "{answer:?}"
        );
    }
}

#[test]
fn a_server_that_meets_its_objective_at_no_rate_is_a_row() {
    let bench = Bench::new(SEARCHED);
    if !bench.needs_nginx() {
        return;
    }
    let store = bench.store();
    let mut fake = Fake {
        capacity: Some(0),
        ..Fake::default()
    };
    let (result, gaps) = bench.run(&store, &mut fake);
    result.unwrap();
    assert!(of_servers(&store).is_empty());
    let gap = gaps.last().unwrap();
    assert_eq!(gap.error, "not even 1/s meets the objective");
    assert!(gap.workload.is_some() && gap.round.is_some());
}

/// How many trials were set aside, and that the list of digests agrees with all files.
fn set_aside(store: &Store) -> usize {
    let differences = crate::store::digests::differences(store.directory()).unwrap();
    assert_eq!(differences.sentences(), Vec::<String>::new());
    match std::fs::read_dir(store.directory().join("interrupted")) {
        Ok(files) => files.count(),
        Err(_) => 0,
    }
}

/// Runs `first`, which leaves some cells with one of their two trials, and goes on: whoever is
/// compared was measured in one start.
fn check_cells_are_whole(overrides: &[&str], first: &mut Fake, when: &str) -> usize {
    let Some(bench) = needs_two_servers(overrides) else {
        return 0;
    };
    let store = bench.store();
    let (result, _) = bench.run(&store, first);
    assert_eq!(result.is_err(), first.interrupt_at.is_some(), "{when}");
    let before = sequences(&store);
    let mut second = Fake {
        kernels: vec!["the second start"],
        ..Fake::default()
    };
    bench.run(&store, &mut second).0.unwrap();
    let mut starts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for trial in trials(&store) {
        let id = trial.point.unwrap().id;
        let start = trial.environment.kernel;
        starts
            .entry((id.workload, id.load))
            .or_default()
            .push(start);
    }
    assert_eq!(starts.len(), 4, "{when}");
    for (cell, starts) in &starts {
        assert_eq!(starts.len(), 2, "{when}: {cell:?}");
        assert_eq!(starts[0], starts[1], "{when}: {cell:?}");
    }
    let aside = set_aside(&store);
    assert!(aside <= 1 || overrides.contains(&"order=server"), "{when}");
    let is_there = |one: &u32| sequences(&store).contains(one);
    assert!(before.iter().all(is_there), "{when}");
    // Nothing is left to do, and nothing is measured a third time.
    let mut third = Fake {
        kernels: vec!["the third start"],
        ..Fake::default()
    };
    bench.run(&store, &mut third).0.unwrap();
    let is_third = |trial: &Trial| trial.environment.kernel.as_deref() == Some("the third start");
    assert!(!trials(&store).iter().any(is_third), "{when}");
    assert_eq!(set_aside(&store), aside, "{when}");
    aside
}

#[test]
fn servers_that_are_compared_were_measured_in_one_start() {
    for (order, most) in [("order=cell", 1), ("order=server", 4)] {
        let overrides = [TWO, &["rounds=1", order]].concat();
        let Some(bench) = needs_two_servers(&overrides) else {
            return;
        };
        let mut whole = Fake::default();
        bench.run(&bench.store(), &mut whole).0.unwrap();
        let mut aside = BTreeSet::new();
        for at in (1..=whole.plans.len()).rev().step_by(5) {
            let mut first = Fake {
                interrupt_at: Some(at),
                ..Fake::default()
            };
            let when = format!("{order}, plan {at}");
            aside.insert(check_cells_are_whole(&overrides, &mut first, &when));
        }
        assert_eq!(aside.last(), Some(&most), "{order}: {aside:?}");
    }
}

/// Nothing is given up for a server that fails again.
#[test]
fn what_is_there_stays_where_what_is_missing_fails_again() {
    let overrides = [TWO, &["rounds=1"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let mut whole = Fake::default();
    bench.run(&bench.store(), &mut whole).0.unwrap();
    let mut has_failed_again = false;
    for at in 7..=14 {
        let store = bench.store();
        let mut first = Fake {
            fail_at: Some(whole.plans.len()),
            ..Fake::default()
        };
        bench.run(&store, &mut first).0.unwrap();
        let before: Vec<_> = trials(&store);
        assert_eq!(before.len(), 7);
        let mut second = Fake {
            fail_at: Some(at),
            ..Fake::default()
        };
        bench.run(&store, &mut second).0.unwrap();
        if trials(&store).len() == 7 && second.plans.len() >= at {
            assert_eq!(
                (set_aside(&store), trials(&store)),
                (0, before),
                "plan {at}"
            );
            has_failed_again = true;
        }
    }
    assert!(has_failed_again);
}

#[test]
fn what_failed_alone_is_measured_later_with_what_it_is_compared_with() {
    let overrides = [TWO, &["rounds=1"]].concat();
    let Some(bench) = needs_two_servers(&overrides) else {
        return;
    };
    let mut whole = Fake::default();
    bench.run(&bench.store(), &mut whole).0.unwrap();
    let mut first = Fake {
        fail_at: Some(whole.plans.len()),
        ..Fake::default()
    };
    let aside = check_cells_are_whole(&overrides, &mut first, "the last plan failed");
    assert_eq!(aside, 1);
}
