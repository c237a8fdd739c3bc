use model::point::{CONNECTIONS, Point, PointId, RATE, Value};
use model::trial::Context;
use model::{Environment, Rate, Record, Usage, Verdict};

use super::*;
use crate::experiment;

fn manifest() -> Manifest {
    let source = experiment::read("first-heat", &[]).unwrap();
    Manifest {
        format: FORMAT,
        experiment: source.experiment.file().clone(),
        source: source.name,
        command: vec!["triathlon".to_owned(), "lab".to_owned()],
        tool: model::environment::Tool::default(),
        time: "2026-11-20T10:32:00Z".to_owned(),
        order_seed: 7,
        notes: Vec::new(),
        scaled: Vec::new(),
        not_repeated: 0,
        left_out: None,
        server_cpus: vec![0],
        generator_cpus: vec![1],
        cpu_choice: String::new(),
        at_once: 16,
    }
}

fn trial(sequence: u32) -> Trial {
    let plan = serde_json::json!({
        "format": 1, "requests": [{ "url": "http://127.0.0.1:1/" }],
        "arrivals": { "kind": "closed" }, "stop": { "count": 1 }, "connections": 1,
        "timeout_ns": 1, "workers": 1
    });
    Trial {
        format: 1,
        point: Some(Point {
            id: PointId {
                execution: manifest().execution(),
                server: "nginx 2 cores".to_owned(),
                workload: "7-byte file".to_owned(),
                ..PointId::default()
            }
            .with(CONNECTIONS, Value::Count(16)),
            round: 1,
            sequence,
            ..Point::default()
        }),
        plan: serde_json::from_value(plan).unwrap(),
        environment: Environment::default(),
        record: Record::default(),
        usage: Usage::default(),
        context: Context::default(),
        verdict: Verdict::default(),
        void: None,
        thresholds: Vec::new(),
        recovery: None,
        agents: Vec::new(),
        servers_clock: None,
    }
}

fn gap(server: &str, round: Option<u32>) -> Gap {
    Gap {
        server: server.to_owned(),
        product: server.to_owned(),
        round,
        error: "it is not there".to_owned(),
        ..Gap::default()
    }
}

#[test]
fn what_is_stored_is_read_back_in_order() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "# text\n").unwrap();
    for sequence in [10, 2, 1] {
        store.put_trial(&trial(sequence)).unwrap();
    }
    store.put_gap(&gap("apache", None)).unwrap();
    store.put_gap(&gap("apache", Some(2))).unwrap();
    store.put_gap(&gap("apache", None)).unwrap();
    let trials: Vec<Trial> = store.trials().map(Result::unwrap).collect();
    let sequence: Vec<u32> = trials
        .iter()
        .map(|trial| trial.point.as_ref().unwrap().sequence)
        .collect();
    assert_eq!(sequence, [1, 2, 10]);
    assert_eq!(trials[0], trial(1));
    assert_eq!(store.gaps().unwrap().len(), 2);
    assert_eq!(store.manifest().unwrap(), manifest());
    assert_eq!(store.done(), BTreeSet::from([1, 2, 10]));
}

/// The permissions of a stored file.
fn mode_of(store: &Store, name: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    let found = fs::metadata(store.directory().join(name)).unwrap();
    found.permissions().mode() & 0o777
}

#[test]
fn credentials_leave_the_command_and_whoever_needs_no_experiment_reads_none() {
    let secret = "Bearer c0ffee-5-c0ffee";
    let text = format!(
        "[experiment]\nname = \"x\"\nquestion = \"?\"\nrounds = 1\nduration = \"1s\"\n\
         [[server]]\nproduct = \"nginx\"\n[[workload]]\nname = \"w\"\n\
         [[workload.request]]\nname = \"r\"\nbody = {{ bytes = 7 }}\n\
         headers = [[\"Authorization\", \"{secret}\"]]\n[load]\nconnections = 1\n"
    );
    let word = format!("workload.request.headers=[[\"Authorization\",\"{secret}\"]]");
    let experiment = experiment::parse("x.toml", &text, &[]).unwrap();
    let given = Manifest {
        experiment: experiment.file().clone(),
        command: vec!["triathlon".to_owned(), "lab".to_owned(), word],
        ..manifest()
    };
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &given, &text).unwrap();
    let stored = store.manifest().unwrap();
    assert_eq!(stored.experiment, given.experiment, "it is gone on with");
    let command = stored.command.join(" ");
    assert!(!command.contains("c0ffee"), "{command}");
    assert!(command.contains("Authorization"), "{command}");
    for name in ["manifest.json", "experiment.toml"] {
        assert_eq!(mode_of(&store, name), 0o600, "{name}");
        let text = fs::read_to_string(store.directory().join(name)).unwrap();
        store.put_file(name, &text).unwrap();
        assert_eq!(
            mode_of(&store, name),
            0o600,
            "{name}, as another machine sent it"
        );
    }
    // Others are for everybody.
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    assert_eq!(mode_of(&store, "experiment.toml"), 0o644);
    assert_eq!(mode_of(&store, "manifest.json"), 0o644);
}

#[test]
fn a_trial_takes_away_the_gaps_that_it_fills_and_no_others() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    let at = |rate: u64| {
        let mut trial = trial(1);
        let point = trial.point.as_mut().unwrap();
        let rate = Value::Rate(Rate::per_second(rate));
        point.id = point.id.clone().with(RATE, rate);
        trial
    };
    let missing = |rate: u64, round| {
        let point = at(rate).point.unwrap();
        Gap {
            workload: Some(point.id.workload),
            load: point.id.load,
            ..gap("nginx 2 cores", Some(round))
        }
    };
    for rate in [1_000, 2_000] {
        store.put_gap(&missing(rate, 1)).unwrap();
    }
    store.put_gap(&missing(1_000, 2)).unwrap();
    store.put_gap(&gap("nginx 2 cores", Some(1))).unwrap();
    store.put_gap(&gap("nginx 2 cores", Some(2))).unwrap();
    store.put_gap(&gap("apache", None)).unwrap();
    store.put_trial(&at(1_000)).unwrap();
    let mut left = store.gaps().unwrap();
    left.sort_by_key(|gap| (gap.server.clone(), gap.round, gap.load.clone()));
    let expected = [
        gap("apache", None),
        missing(2_000, 1),
        gap("nginx 2 cores", Some(2)),
        missing(1_000, 2),
    ];
    assert_eq!(left, expected);
}

#[test]
fn a_gap_of_an_earlier_version_is_read() {
    let old = serde_json::json!({
        "server": "nginx", "product": "nginx", "workload": "w", "connections": 16, "round": 2,
        "error": "it is not there"
    });
    let gap: Gap = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(gap.load.connections(), 16);
    assert_eq!(serde_json::to_value(&gap).unwrap(), old);
}

#[test]
fn trials_of_an_earlier_version_belong_to_the_execution_of_their_folder() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    let mut old = trial(1);
    let execution = &mut old.point.as_mut().unwrap().id.execution;
    execution.begun.clear();
    store.put_trial(&old).unwrap();
    store.put_trial(&trial(2)).unwrap();
    for trial in store.trials() {
        let point = trial.unwrap().point.unwrap();
        assert_eq!(point.id.execution, manifest().execution());
    }
}

#[test]
fn trials_of_a_round_are_completed_and_no_others() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    let of_round = |sequence, round| {
        let mut trial = trial(sequence);
        trial.point.as_mut().unwrap().round = round;
        trial
    };
    for (sequence, round) in [(1, 1), (2, 1), (3, 11), (4, 2)] {
        store.put_trial(&of_round(sequence, round)).unwrap();
    }
    let mut complete = |trial: &mut Trial| {
        trial.context.cpu_choice = Some("completed".to_owned());
        trial.point.as_ref().unwrap().sequence == 1
    };
    store.complete(1, &mut complete).unwrap();
    let mut expected = of_round(1, 1);
    expected.context.cpu_choice = Some("completed".to_owned());
    let trials: Vec<Trial> = store.trials().map(Result::unwrap).collect();
    let others = [of_round(2, 1), of_round(3, 11), of_round(4, 2)];
    assert_eq!(trials, [&[expected], &others[..]].concat());
}

#[test]
fn half_a_file_is_no_trial() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    store.put_trial(&trial(1)).unwrap();
    // What a power cut may leave: the temporary file, never the final name.
    fs::write(store.directory().join("trials/.abc.part"), "{\"format\":1,").unwrap();
    assert_eq!(store.done(), BTreeSet::from([1]));
    assert_eq!(store.trials().count(), 1);
    let left: Vec<_> = fs::read_dir(store.directory().join("trials"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 2, "writing leaves no temporary file of its own");
}

/// What of the folder is not as it was stored, and what a killed lab left.
fn said_of(store: &Store) -> (Vec<String>, Option<String>) {
    let found = digests::differences(store.directory()).expect("the folder can be read");
    (found.sentences(), found.unfinished_sentence())
}

/// As where the disk is full, or the lab is killed, between the two.
#[test]
fn no_trial_has_its_name_before_its_digest_is_in_the_list() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    store.put_trial(&trial(1)).unwrap();
    let list = store.directory().join(digests::FILE);
    let text = fs::read_to_string(&list).unwrap();
    fs::remove_file(&list).unwrap();
    fs::create_dir(&list).unwrap();
    assert!(store.put_trial(&trial(2)).is_err());
    assert!(store.put_probe(&trial(3), 1).is_err());
    fs::remove_dir(&list).unwrap();
    fs::write(&list, text).unwrap();
    assert_eq!(store.done(), BTreeSet::from([1]));
    assert_eq!(said_of(&store), (Vec::new(), None));
}

/// What a lab leaves that is killed before it gives `bytes` the name `name`.
fn kill_before_the_name(store: &Store, name: &str, bytes: &[u8]) {
    let (folder, _) = name.split_once('/').expect("it lies in a folder");
    let part = store.directory().join(folder).join(".abc.part");
    fs::write(part, bytes).expect("it can be written");
    digests::add(store.directory(), name, bytes).expect("it can be added");
}

#[test]
fn a_trial_that_was_being_stored_is_no_missing_one_and_gets_its_name() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    let first = store.put_trial(&trial(1)).unwrap();
    let other = Store::create(results.path(), &manifest(), "").unwrap();
    let bytes = fs::read(other.put_trial(&trial(2)).unwrap()).unwrap();
    let name = format!("trials/{}.json", stem_of(point_of(&trial(2))));
    for name in [name.clone(), name.replace("trials", SEARCHES)] {
        kill_before_the_name(&store, &name, &bytes);
    }
    let (said, unfinished) = said_of(&store);
    assert_eq!(said, Vec::<String>::new());
    let unfinished = unfinished.unwrap();
    let start = "2 trials were being stored, now or when the lab was killed: triathlon lab \
                 --resume ends that (trials/00002-";
    assert!(unfinished.starts_with(start), "{unfinished}");
    let known = digests::Digests::read(store.directory()).unwrap().unwrap();
    assert_eq!(
        known.of(&name),
        None,
        "who copies the trials has none of it"
    );
    assert_eq!(known.names().count(), 1);
    // It takes no other trial with it that is missing.
    let text = fs::read(&first).unwrap();
    fs::remove_file(&first).unwrap();
    let (said, _) = said_of(&store);
    assert!(
        said[0].starts_with("1 of 1 stored trial is missing"),
        "{said:?}"
    );
    fs::write(&first, text).unwrap();
    store.finish().unwrap();
    assert_eq!(store.done(), BTreeSet::from([1, 2]));
    assert_eq!(store.names(SEARCHES).len(), 1);
    assert_eq!(said_of(&store), (Vec::new(), None));
}

#[test]
fn a_trial_that_was_being_completed_is_no_changed_one() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    let path = store.put_trial(&trial(1)).unwrap();
    let (before, after) = (fs::read(&path).unwrap(), b"{}\n");
    let name = format!("trials/{}.json", stem_of(point_of(&trial(1))));
    kill_before_the_name(&store, &name, after);
    let (said, unfinished) = said_of(&store);
    assert_eq!(said, Vec::<String>::new());
    assert!(unfinished.unwrap().starts_with("1 trial was being stored"));
    let known = digests::Digests::read(store.directory()).unwrap().unwrap();
    assert_eq!(known.of(&name), Some(&*digests::digest(&before)));
    // Whoever changes it is seen all the same once the lab has gone on.
    store.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), after);
    assert_eq!(said_of(&store), (Vec::new(), None));
    fs::write(&path, before).unwrap();
    let (said, _) = said_of(&store);
    assert!(said[0].starts_with("1 trial was changed after"), "{said:?}");
}

#[test]
fn two_in_one_second_do_not_meet_and_the_newest_is_resumed() {
    let results = tempfile::tempdir().unwrap();
    let first = Store::create(results.path(), &manifest(), "").unwrap();
    let second = Store::create(results.path(), &manifest(), "").unwrap();
    assert_ne!(first.directory(), second.directory());
    fs::create_dir(results.path().join("first-heat/9999")).unwrap();
    let newest = Store::newest(results.path(), "first-heat").unwrap();
    assert_eq!(
        newest,
        second.directory(),
        "a folder without a manifest is none"
    );
    assert_eq!(Store::open(&newest).unwrap().1, manifest());
    assert_eq!(Store::newest(results.path(), "other"), None);
}

#[test]
fn a_folder_that_leads_nowhere_is_not_resumed() {
    let results = tempfile::tempdir().unwrap();
    let newest = || Store::newest(results.path(), "first-heat");
    let first = Store::create(results.path(), &manifest(), "").unwrap();
    let second = Store::create(results.path(), &manifest(), "").unwrap();
    let experiment = Experiment::try_from(manifest().experiment).unwrap();
    for variant in experiment.servers() {
        assert_eq!(newest().as_deref(), Some(second.directory()));
        let gap = Gap {
            server: variant.label.clone(),
            ..Gap::default()
        };
        second.put_gap(&gap).unwrap();
    }
    assert_eq!(newest().as_deref(), Some(first.directory()));
}

#[test]
fn a_folder_without_a_trial_is_removed_and_another_stays() {
    let results = tempfile::tempdir().unwrap();
    let first = Store::create(results.path(), &manifest(), "").unwrap();
    let second = Store::create(results.path(), &manifest(), "").unwrap();
    first.put_gap(&gap("nginx", None)).unwrap();
    let path = second.put_trial(&trial(1)).unwrap();
    assert!(first.remove_without_trials() && !second.remove_without_trials());
    assert!(!first.directory().exists() && second.directory().exists());
    fs::remove_file(path).unwrap();
    assert!(second.remove_without_trials());
    assert_eq!(fs::read_dir(results.path()).unwrap().count(), 0);
}

#[test]
fn no_place_for_results_is_a_clear_sentence() {
    let results = tempfile::tempdir().unwrap();
    let file = results.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::create(&file, &manifest(), "")
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot create "), "{error}");
    let full = LabError::file("write", "/x")(io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(
        full.to_string(),
        "cannot write /x: no space is left there; name another folder with --results DIR \
         (what was measured before is kept)"
    );
}

#[test]
fn a_full_disk_loses_nothing() {
    // /dev/full is a file, so a folder below it cannot be made: the kind of error does not matter,
    // what was there before does.
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    store.put_trial(&trial(1)).unwrap();
    fs::remove_dir(store.directory().join("gaps")).unwrap();
    assert!(store.put_gap(&gap("x", None)).is_err());
    assert_eq!(store.done(), BTreeSet::from([1]));
}

#[test]
fn a_damaged_file_is_named() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    fs::write(store.directory().join("trials/00001-x.json"), "{").unwrap();
    let error = store.trials().next().unwrap().unwrap_err().to_string();
    assert!(error.contains("00001-x.json is not a trial"), "{error}");
}

#[test]
fn slugs_are_names_of_files() {
    let check = |name: &str, expected: &str| assert_eq!(slug(name), expected);
    check("nginx", "nginx");
    check("7-byte file", "7-byte-file");
    check("../../etc/passwd", "etc-passwd");
    check("log on / 2 cores", "log-on-2-cores");
    check("nginx.conf", "nginx.conf");
    check("//", "unnamed");
}

/// Names differ, and what file names have of them does not.
#[test]
fn a_gap_never_takes_the_place_of_another() {
    let results = tempfile::tempdir().unwrap();
    let store = Store::create(results.path(), &manifest(), "").unwrap();
    let gap = |server: &str, workload: Option<&str>| Gap {
        server: server.to_owned(),
        workload: workload.map(str::to_owned),
        error: "it ended".to_owned(),
        ..Gap::default()
    };
    let all = [
        gap("apache", Some("event")),
        gap("apache event", None),
        gap("apache-event", None),
        gap("apache (event)", None),
    ];
    for one in all.iter().chain(&all) {
        store.put_gap(one).unwrap();
    }
    let mut found = store.gaps().unwrap();
    found.sort_by_key(|one| (one.server.clone(), one.workload.clone()));
    let mut expected = all.to_vec();
    expected.sort_by_key(|one| (one.server.clone(), one.workload.clone()));
    assert_eq!(found, expected);
    // What is found again with another cause is the same gap.
    let mut again = gap("apache event", None);
    again.error = "it does not start".to_owned();
    store.put_gap(&again).unwrap();
    let gaps = store.gaps().unwrap();
    assert_eq!(gaps.len(), 4);
    assert!(gaps.contains(&again));
}
