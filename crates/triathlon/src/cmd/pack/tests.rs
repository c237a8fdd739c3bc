use lab::store::Store;
use model::Manifest;
use model::experiment::Gap;
use model::fixture::spoilt_heat;
use model::probe::{Pass, ProbeResult, Series};
use report::Run;

use super::super::later::Later;
use super::super::probe::question_of;
use super::super::report::read as read_pages;
use super::super::stored::Opened;
use super::super::study;
use super::*;

const EXPERIMENT: &str = "\
[experiment]
name = \"small\"
question = \"Which is faster?\"
rounds = 6
duration = \"2s\"

[[server]]
product = \"nginx\"

[[server]]
product = \"origin\"

[[server]]
product = \"lighttpd\"

[[workload]]
name = \"seven-bytes\"
body = { bytes = 7 }

[load]
connections = [1, 16, 64, 256]

[[published]]
what = \"nginx, long ago\"
rate = 1000
server = \"nginx\"
workload = \"seven-bytes\"

[[asked]]
who = \"comment 8\"
demand = \"Was the generator the limit?\"
show = \"headroom\"
server = \"nginx\"
connections = 16

[[asked]]
who = \"comment 9\"
demand = \"Is nginx faster than lighttpd?\"
show = \"rate\"
server = \"nginx\"
against = \"lighttpd\"
connections = 64

[[asked]]
who = \"ours\"
demand = \"And on FreeBSD?\"
not = \"one system\"
";

/// Somebody's home, which no pack tells.
fn home() -> String {
    format!("/{}/secretperson", "home")
}

/// A results folder with what spoils trials in it, and the word that is hidden.
fn results(parent: &Path) -> PathBuf {
    let experiment = lab::experiment::parse("small.toml", EXPERIMENT, &[]).unwrap();
    let trials = spoilt_heat();
    let execution = trials[0].point.as_ref().unwrap().id.execution.clone();
    let manifest = Manifest {
        format: model::plan::FORMAT,
        experiment: experiment.file().clone(),
        source: format!("{}/small.toml", home()),
        command: vec!["triathlon".to_owned(), "lab".to_owned()],
        tool: model::environment::Tool::default(),
        time: execution.begun.clone(),
        order_seed: execution.order_seed,
        scaled: Vec::new(),
        not_repeated: 0,
        left_out: None,
        notes: Vec::new(),
        server_cpus: Vec::new(),
        generator_cpus: Vec::new(),
        cpu_choice: String::new(),
        at_once: 0,
    };
    let store = Store::create(parent, &manifest, EXPERIMENT).unwrap();
    for trial in &trials {
        store.put_trial(trial).unwrap();
    }
    let gap = Gap {
        server: "caddy".to_owned(),
        product: "caddy".to_owned(),
        error: format!("it is not in {}/bin", home()),
        ..Gap::default()
    };
    store.put_gap(&gap).unwrap();
    store.directory().to_owned()
}

#[test]
fn a_pack_gives_the_same_report_as_its_folder_and_tells_no_names() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = results(scratch.path());
    let bundle = scratch.path().join("bundle");
    // What is handed out has other words than what was stored, so both are compared without them.
    Cleaned::write(std::slice::from_ref(&folder), &bundle, &[]).unwrap();
    let args = Args {
        folder,
        output: scratch.path().join("small.pack"),
        hide: Vec::new(),
    };
    run(&args).unwrap();
    let opened = Opened::of(std::slice::from_ref(&args.output)).unwrap();
    let pages = |opened: &Opened| {
        let (pages, exit) = read_pages(opened).unwrap();
        assert_eq!(exit, Exit::Done);
        pages
    };
    let bundle = Opened::of(std::slice::from_ref(&bundle)).unwrap();
    let (whole, packed) = (pages(&bundle), pages(&opened));
    let rows = |pages: &[super::super::report::Page]| {
        let runs: Vec<&Run> = pages.iter().map(|page| &page.run).collect();
        report::csv::rows(&runs)
    };
    assert_eq!(rows(&whole), rows(&packed));
    let (one, other) = (&whole[0].run, &packed[0].run);
    assert_eq!(report::html::page(one), report::html::page(other));
    let style = out::style();
    assert_eq!(
        report::text::analysis(one, style),
        report::text::analysis(other, style)
    );
    assert!(whole.len() == 1 && report::html::page(other).contains("caddy"));
    for path in [&opened.paths[0].join("manifest.json"), &args.output] {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        assert!(!text.contains("secretperson"), "{}", path.display());
    }
    let trial = opened.paths[0].join("trials/00001.json");
    assert_eq!(opened.shown(&trial), args.output.join("trials/00001.json"));
}

/// Packs of this form stay readable: this one was written when it was new. `cargo xtask bless
/// --accept` makes it where it is missing.
#[test]
fn a_pack_that_lies_in_a_repository_is_read_and_makes_its_page() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cmd/pack");
    let file = own.join("fixture.pack");
    if !file.exists() && std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let scratch = tempfile::tempdir().unwrap();
        let folder = results(scratch.path());
        let hide = Vec::new();
        run(&Args {
            folder,
            output: file.clone(),
            hide,
        })
        .unwrap();
    }
    let opened = Opened::of(std::slice::from_ref(&file)).unwrap();
    let (pages, _) = read_pages(&opened).unwrap();
    let page = Path::new("docs/studies/small.md");
    let record = Path::new("record/small/results.pack");
    let notes = own.join("fixture.txt");
    let made = study::make(&pages[0].run, page, record, Some(&notes), None).unwrap();
    insta::assert_snapshot!(made.page);
    assert_eq!(made.drawings.len(), 2);
}

/// A page is held against one other run of its experiment.
#[test]
fn a_second_run_is_one_run_of_the_same_experiment() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pack = own.join("src/cmd/pack/fixture.pack");
    let opened = Opened::of(std::slice::from_ref(&pack)).unwrap();
    let (pages, _) = read_pages(&opened).unwrap();
    let mut first = pages[0].run.clone();
    let check = |first: &Run, path: &Path, said: &str| {
        let error = study::second_run(first, path).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    };
    check(&first, &pack, "these are the trials of the page itself");
    let all = first.digests().len();
    first.add(&model::fixture::closed());
    let again = study::second_run(&first, &pack).unwrap();
    assert_eq!(again.digests().len(), all);
    let other = own.join("../../record/slashdotting/again.pack");
    check(
        &first,
        &other,
        "this is the experiment 'slashdotting', and the page is of",
    );
    let probes = own.join("../../record/scalable-2003/results.pack");
    check(&first, &probes, "no trial found there");
}

/// Every point of probes comes back, and the page of their study is made of them.
#[test]
fn results_of_probes_make_a_pack_and_a_page() {
    let scratch = Scratch::create().unwrap();
    let folder = scratch.path().join("scalable-2003/2026-11-23T10-00-00Z");
    fs::create_dir_all(&folder).unwrap();
    let (_, text) = lab::probe::question::BUILT_IN[0];
    fs::write(folder.join("experiment.toml"), text).unwrap();
    let result = ProbeResult {
        probe: "socket".to_owned(),
        variant: Some("2003-10".to_owned()),
        population: 7,
        passes: vec![Pass {
            number: 1,
            series: vec![Series::counted("socket", (1..=7).collect())],
            ..Pass::default()
        }],
        ..ProbeResult::default()
    };
    shelf::put(&folder, &result).unwrap();
    let output = scratch.path().join("probes.pack");
    let args = Args {
        folder: scratch.path().join("scalable-2003"),
        output: output.clone(),
        hide: Vec::new(),
    };
    run(&args).unwrap();
    let opened = Opened::of(std::slice::from_ref(&output)).unwrap();
    assert_eq!(shelf::read(&opened.paths[0]).unwrap(), [result]);
    let question = question_of(&opened.paths[0]).unwrap().unwrap();
    let results = shelf::read(&opened.paths[0]).unwrap();
    let page = Path::new("docs/studies/scalable-2003.md");
    let record = Path::new("record/scalable-2003/results.pack");
    let made = study::make_of_probes(&question.file, &results, page, record, None, None, None);
    let made = made.unwrap();
    for part in [
        "# scalable-2003\n",
        "(../../record/scalable-2003/results.pack)",
    ] {
        assert!(made.page.contains(part), "{}", made.page);
    }
}

/// What lies in `docs/studies` is what the command makes of what lies in `record`.
#[test]
fn the_pages_of_studies_are_those_of_their_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let records = fs::read_dir(root.join("record"));
    let names = records.into_iter().flatten().map(|entry| {
        let name = entry.unwrap().file_name();
        name.to_string_lossy().into_owned()
    });
    let is_study = |name: &String| root.join(record_of(name)).is_file();
    let names: Vec<String> = names.filter(is_study).collect();
    // Side by side, because some are long.
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| is_of_its_record(&root, name));
        }
    });
}

fn record_of(study: &str) -> PathBuf {
    PathBuf::from(format!("record/{study}/results.pack"))
}

/// Rate and CPU time of a point are medians of their own. Where rules strike rounds by their
/// results, the two may come from different rounds, and together be far more than any round had. A
/// tenth more is no sign of that: one round may count for one of them alone, with good reason, and
/// medians of five rounds and of six lie apart where rounds fall into two camps.
fn uses_no_more_than_its_rounds(run: &Run) {
    let mut points = 0;
    for workload in run.workloads() {
        for cell in run.cells(&workload) {
            let cost = cell.value(model::Claim::Resources, |digest| digest.cpu_us);
            let Some((rate, cost)) = cell.rate().zip(cost) else {
                continue;
            };
            let of_rounds = cell.rounds.iter();
            let of_rounds = of_rounds.filter_map(|round| Some(round.rate * round.cpu_us?));
            let most = of_rounds.fold(0.0, f64::max) / 1e6;
            let used = rate.median * cost.median / 1e6;
            let (server, place) = (cell.server(), cell.place());
            assert!(
                used <= most * 1.1,
                "{server} at {place:?}, {workload}: {used} cores, and {most} in its busiest round"
            );
            points += 1;
        }
    }
    assert!(points > 0, "there are points with both");
}

/// The page of this study is made of its record, and of the questions of its experiment.
fn is_of_its_record(root: &Path, name: &str) {
    let record = record_of(name);
    let opened = Opened::of(&[root.join(&record)]).unwrap();
    let (mut pages, _) = read_pages(&opened).unwrap();
    let experiment = root.join(format!("experiments/{name}.toml"));
    let later = Later::read(&experiment.display().to_string()).unwrap();
    let notes = root.join(format!("record/{name}/notes.txt"));
    let notes = notes.is_file().then_some(notes);
    let page = PathBuf::from(format!("docs/studies/{name}.md"));
    let again = PathBuf::from(format!("record/{name}/again.pack"));
    let path = root.join(&again);
    let path = path.is_file().then_some(path);
    let notes = notes.as_deref();
    let made = match pages.first_mut() {
        Some(found) => {
            later.ask(&mut found.run).unwrap();
            uses_no_more_than_its_rounds(&found.run);
            let second = path.map(|path| study::second_run(&found.run, &path).unwrap());
            let second = second.as_ref().map(|run| (run, again.as_path()));
            study::make(&found.run, &page, &record, notes, second)
        }
        None => {
            let folder = &opened.paths[0];
            let mut question = question_of(folder).unwrap().unwrap();
            let said = later.ask_probes(&mut question).unwrap();
            let results = shelf::read(folder).unwrap();
            let file = &question.file;
            let second = path.map(|path| study::second_probes(file, &path).unwrap());
            let second = second.as_deref().map(|found| (found, again.as_path()));
            let said = said.as_deref();
            study::make_of_probes(file, &results, &page, &record, notes, second, said)
        }
    };
    let made = made.unwrap();
    let stale = "make it again: cargo xtask studies";
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    assert!(read(root.join(&page)) == made.page, "{name}: {stale}");
    for (file, drawing) in made.drawings {
        let path = root.join("docs/studies").join(&file);
        assert!(read(path) == drawing, "{file}: {stale}");
    }
}
