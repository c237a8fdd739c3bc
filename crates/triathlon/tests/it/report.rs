//! Reports made from files, and opened in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;

use model::experiment::ExperimentFile;
use model::fixture::{Heat, spoilt_heat};
use model::probe::{Pass, ProbeResult, Series};
use model::{Json as _, Trial};
use serde_json::Value;

use crate::support::need;
use crate::support::process::{Running, command, triathlon};

/// Writes `trials` as a lab would, judged.
fn store(folder: &Path, mut trials: Vec<Trial>) {
    let verdicts = verdict::judge_set(&trials);
    fs::create_dir(folder.join("trials")).expect("a folder can be made");
    for (number, (trial, verdict)) in trials.iter_mut().zip(verdicts).enumerate() {
        trial.verdict = verdict;
        let text = serde_json::to_string(trial).expect("a trial is JSON");
        fs::write(folder.join(format!("trials/{number:05}.json")), text)
            .expect("a trial can be written");
    }
}

fn small() -> Vec<Trial> {
    Heat {
        servers: vec!["nginx", "origin"],
        workloads: vec![("seven-bytes", 7)],
        connections: vec![1, 64],
        rounds: 2,
        ..Heat::default()
    }
    .trials()
}

#[test]
fn a_terminal_is_as_wide_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    store(folder.path(), small());
    let longest = |columns: u32| {
        let program = command(["judge"]).get_program().to_owned();
        let line = format!(
            "stty rows 24 cols {columns}; {} judge {}",
            program.display(),
            folder.path().display()
        );
        // From bsdutils, which every Debian has: it runs a command in a terminal of its own.
        let mut script = Command::new("script");
        script.args(["--quiet", "--command", &line, "/dev/null"]);
        let output = script.env("NO_COLOR", "1").output().expect("script runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("origin has"), "{text}");
        let lines = text.lines().map(|line| line.trim_end().chars().count());
        lines.max().unwrap_or(0)
    };
    let folder_name = folder.path().display().to_string().chars().count() + 20;
    assert!(longest(60) <= 60.max(folder_name));
    assert!((81..=100.max(folder_name)).contains(&longest(200)));
}

#[test]
fn keys_in_trials_of_earlier_versions_are_not_shown() {
    let key = "2c0d1a6f-8a6c4c1b-51a7b5a2-6f0e0f3c";
    let folder = tempfile::tempdir().expect("a folder");
    let mut trials = small();
    for trial in &mut trials {
        let environment = &mut trial.environment;
        let name = "net.ipv4.tcp_fastopen_key".to_owned();
        environment.sysctls.insert(name, key.to_owned());
        environment.command_line = Some(format!("quiet root=UUID={key}"));
    }
    let mut alone = trials[0].clone();
    alone.point = None;
    let server = alone.context.server.get_or_insert_default();
    server.command = vec!["other".to_owned(), format!("--key={key}")];
    store(folder.path(), trials);
    let alone_file = folder.path().join("alone.json");
    let text = serde_json::to_string(&alone).expect("a trial is JSON");
    fs::write(&alone_file, text).expect("a trial can be written");
    for path in [folder.path(), &alone_file] {
        let page = folder.path().join("page.html");
        let (path, page_name) = (path.display().to_string(), page.display().to_string());
        triathlon(["report", &path, "--html", &page_name]).expect_code(0);
        let html = fs::read_to_string(page).expect("the page is there");
        assert!(!html.contains(key) && !html.contains("fastopen_key"));
        assert!(html.contains("net.core.somaxconn") && html.contains("root=..."));
    }
}

/// What is asked decides how servers compare, so every command gives the answer of the report.
#[test]
fn judge_and_report_give_the_same_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut trials = small();
    trials.extend(small().into_iter().map(|mut trial| {
        trial.point.as_mut().expect("it has a point").round += 2;
        trial
    }));
    store(folder.path(), trials);
    let csv = triathlon(["report", &folder.path().display().to_string(), "--csv", "-"]);
    let csv = csv.expect_code(0).stdout;
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = rows.next().expect("a heading");
    let column = |name: &str| {
        let mut all = heads.iter();
        all.position(|head| *head == name).expect("it is there")
    };
    let mut ratios = rows.map(|row| row[column("ratio")]);
    let ratio = ratios
        .find(|ratio| !ratio.is_empty())
        .expect("a comparison");
    let ratio: f64 = ratio.parse().expect("a number");
    let files = fs::read_dir(folder.path().join("trials")).expect("trials are there");
    let mut words = vec!["judge".to_owned()];
    words.extend(files.map(|file| file.expect("an entry").path().display().to_string()));
    let judged = Running::start(&mut command(&words)).finish().stdout;
    let times = verdict::number::times(ratio);
    let said = format!("{times} times the rate of nginx");
    let first = judged.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(first.contains(&said), "{said}: {judged}");
}

/// Two executions of one experiment, six trials of a point each.
fn two_results() -> tempfile::TempDir {
    let results = tempfile::tempdir().expect("a folder");
    for (name, begun) in [("a", "2026-11-20T10:00:00Z"), ("b", "2026-11-20T11:00:00Z")] {
        let folder = results.path().join(name);
        fs::create_dir(&folder).expect("a folder can be made");
        let mut trials = small();
        for trial in &mut trials {
            let point = trial.point.as_mut().expect("a lab's trial has a point");
            begun.clone_into(&mut point.id.execution.begun);
        }
        store(&folder, trials);
    }
    results
}

#[test]
fn two_executions_have_a_page_each_and_are_never_pooled() {
    let results = two_results();
    let path = |name: &str| results.path().join(name).display().to_string();
    let pages = || {
        ["a", "b"].map(|name| {
            let page = results.path().join(name).join("report.html");
            fs::read_to_string(page).expect("each has a page")
        })
    };
    for name in ["a", "b"] {
        triathlon(["report", &path(name)]).expect_code(0);
    }
    let apart = pages();
    triathlon(["report", &path("a"), &path("b")]).expect_code(0);
    assert!(pages() == apart, "given together they are as given apart");
    let one = path("one.html");
    triathlon(["report", &path("a"), &path("b"), "--html", &one])
        .expect_code(2)
        .expect_complaint(&["2 executions", "2026-11-20T11:00:00Z"]);
    let csv = path("all.csv");
    triathlon(["report", &path("a"), &path("b"), "--csv", &csv]).expect_code(0);
    let rows = fs::read_to_string(csv).expect("the table is there");
    assert_eq!(rows.lines().count(), 1 + 2 * 12);
    assert!(rows.contains("first-heat,2026-11-20T10:00:00Z,nginx"));
}

#[test]
fn executions_are_judged_apart() {
    let results = two_results();
    let files = |name: &str| -> Vec<String> {
        let entries = fs::read_dir(results.path().join(name).join("trials")).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path().display().to_string());
        let mut paths: Vec<String> = paths.collect();
        paths.sort();
        paths
    };
    let judge = |files: &[String]| {
        let mut arguments = vec!["judge".to_owned(), "--json".to_owned()];
        arguments.extend(files.iter().cloned());
        triathlon(arguments).stdout
    };
    let (a, b) = (files("a"), files("b"));
    let both: Vec<String> = a.iter().chain(&b).cloned().collect();
    // Two rounds are too few to compare: four of two executions are not four.
    assert!(judge(&a).contains("STA-02"));
    assert_eq!(judge(&both), judge(&a) + &judge(&b));
    // Each line names its file.
    for (line, file) in judge(&both).lines().zip(&both) {
        assert!(line.contains(&format!("\"file\":\"{file}\"")), "{line}");
    }
}

#[test]
fn what_is_no_trial_any_more_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    store(folder.path(), small());
    let path = |name: &str| folder.path().join("trials").join(name);
    let text = fs::read_to_string(path("00000.json")).expect("a trial");
    let earlier = text.replace("\"format\":2", "\"format\":1");
    fs::write(path("00000.json"), &earlier).expect("a file");
    let file = path("00000.json").display().to_string();
    triathlon(["judge", &file]).expect_code(0);
    let other = text.replacen("\"format\":2", "\"format\":99", 1);
    fs::write(path("00000.json"), &other).expect("a file");
    fs::write(path("00001.json"), &text[..text.len() / 2]).expect("a file");
    let name = folder.path().display().to_string();
    let run = triathlon(["report", &name]).expect_code(1);
    let html = fs::read_to_string(folder.path().join("report.html")).expect("the page is there");
    assert!(!html.contains(&name), "the page names a folder");
    for (file, why) in [
        ("00000.json", "has format 99"),
        ("00001.json", "is not a trial"),
    ] {
        for text in [&run.stderr, &html] {
            assert!(
                text.contains(file) && text.contains(why),
                "{file}: {run:#?}"
            );
        }
        let file = path(file).display().to_string();
        for command in ["judge", "report"] {
            let run = triathlon([command, &file]).expect_code(1);
            assert!(run.expect_complaint(&[why]).stdout.is_empty());
        }
    }
}

#[test]
fn a_report_is_made_from_stored_trials() {
    let folder = tempfile::tempdir().expect("a folder");
    store(folder.path(), small());
    let csv = folder.path().join("trials.csv");
    let csv_name = csv.display().to_string();
    let folder_name = folder.path().display().to_string();
    let page = folder.path().join("report.html");
    let run = triathlon([
        "report",
        &folder_name,
        "--html",
        &page.display().to_string(),
    ]);
    assert!(run.expect_code(0).stdout.contains("report.html"));
    let html = fs::read_to_string(page).expect("the page is there");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("Rate against connections"));
    triathlon(["report", &folder_name, "--csv", &csv_name]).expect_code(0);
    let rows = fs::read_to_string(csv).expect("the table is there");
    // 2 servers and the ceiling, at 2 counts, in 2 rounds, under one heading.
    assert_eq!(rows.lines().count(), 13);
}

#[test]
fn a_report_of_nothing_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().display().to_string();
    triathlon(["report", &name])
        .expect_code(1)
        .expect_complaint(&["no trial", "results directory"]);
    triathlon(["report", &format!("{name}/missing")])
        .expect_code(1)
        .expect_complaint(&["does not exist"]);
    let odd = folder.path().join("odd.json");
    fs::write(&odd, "{}").expect("a file can be written");
    triathlon(["report", &odd.display().to_string()])
        .expect_code(1)
        .expect_complaint(&["odd.json", "is not a trial"]);
    // The others are shown, and the page says what is missing, however they were given.
    let good = folder.path().join("good.json").display().to_string();
    let text = model::fixture::closed().to_json().expect("JSON");
    fs::write(&good, &text).expect("a file can be written");
    fs::write(&odd, &text[..text.len() / 2]).expect("a file can be written");
    let odd = odd.display().to_string();
    for given in [&[odd.as_str(), &good][..], &[&name]] {
        let page = folder.path().join("page.html");
        let to = page.display().to_string();
        let words = ["report", "--html", &to].into_iter();
        triathlon(words.chain(given.iter().copied()))
            .expect_code(1)
            .expect_complaint(&["odd.json"]);
        let page = fs::read_to_string(&page).expect("a page");
        assert!(page.contains("odd.json"), "{given:?}");
    }
}

#[test]
fn probes_are_not_left_out_beside_trials() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trial, probes) = (
        folder.path().join("trial.json"),
        folder.path().join("probes"),
    );
    let text = model::fixture::closed().to_json().expect("JSON");
    fs::write(&trial, text).expect("a file can be written");
    fs::create_dir(&probes).expect("a folder can be made");
    let result = ProbeResult {
        probe_format: model::probe::FORMAT,
        probe: "socket".to_owned(),
        ..ProbeResult::default()
    };
    let text = result.to_json().expect("JSON");
    fs::write(probes.join("socket.json"), text).expect("a file can be written");
    let [trial, probes] = [trial, probes].map(|path| path.display().to_string());
    triathlon(["report", &probes, &trial, "--html", "-"])
        .expect_code(2)
        .expect_complaint(&[&probes, "a page of their own", "alone"]);
}

/// What a later reader asks of nginx and of a server that was not there, and what was published of
/// another machine.
const LATER: &str = "\
[experiment]
name = \"mine\"
question = \"?\"
rounds = 6
duration = \"1s\"
[[server]]
product = \"nginx\"
[[server]]
product = \"nobody\"
[[workload]]
name = \"seven-bytes\"
body = { bytes = 7 }
[load]
connections = [1, 64]
[[published]]
what = \"another machine\"
show = \"cpu\"
value = \"95us\"
server = \"nginx\"
workload = \"seven-bytes\"
connections = 64
[[asked]]
who = \"a later reader\"
demand = \"How fast?\"
show = \"rate\"
server = \"nginx\"
connections = 64
[[asked]]
who = \"another\"
demand = \"And who was not there?\"
show = \"rate\"
server = \"nobody\"
";

/// Trials of an experiment with another question, as a lab stores them.
fn asked_early(folder: &Path) {
    store(folder, small());
    let experiment: ExperimentFile = serde_json::from_value(serde_json::json!({
        "experiment": {"name": "mine", "question": "?", "rounds": 2, "duration": "2s"},
        "server": [{"product": "nginx"}, {"product": "origin"}],
        "workload": [{"name": "seven-bytes", "body": {"bytes": 7}}],
        "load": {"connections": [1, 64]},
        "asked": [{"who": "an early reader", "demand": "Why?", "not": "it is so"}],
    }))
    .expect("an experiment");
    let manifest = serde_json::json!({
        "format": model::plan::FORMAT, "experiment": experiment, "source": "mine.toml",
        "command": [], "tool": model::environment::Tool::default(),
        "time": "2026-11-20T10:00:00Z", "order_seed": 1,
    });
    fs::write(folder.join("manifest.json"), manifest.to_string()).expect("a file");
}

/// A question that comes after a measurement is answered from its record, and the page says that
/// the record has another one, or none.
#[test]
fn questions_of_a_later_file_are_answered_from_a_record() {
    let folder = tempfile::tempdir().expect("a folder");
    asked_early(folder.path());
    let other = tempfile::tempdir().expect("a folder");
    fs::write(other.path().join("later.toml"), LATER).expect("a file");
    let record = folder.path().display().to_string();
    let [later, html, markdown] =
        ["later.toml", "page.html", "page.md"].map(|name| other.path().join(name));
    let [file, to, page] = [&later, &html, &markdown].map(|path| path.display().to_string());
    let read = |path: &Path| fs::read_to_string(path).expect("the page is there");
    triathlon(["report", &record, "--html", &to]).expect_code(0);
    let stored = read(&html);
    assert!(stored.contains("an early reader") && !stored.contains("a later file"));
    triathlon([
        "report",
        &record,
        "--asked",
        &file,
        "--html",
        &to,
        "--markdown",
        &page,
    ])
    .expect_code(0);
    for made in [read(&html), read(&markdown)] {
        for part in [
            "those of later.toml, a later file than the record",
            "How fast?",
            "right answers, nginx, seven-bytes, 64 connections",
            "not measured here: no trial has this point (nobody, seven-bytes)",
            "another machine",
            "95.0 µs",
        ] {
            assert!(made.contains(part), "{part}: {made}");
        }
        assert!(!made.contains("an early reader"), "{made}");
    }
    // Whatever another experiment asks, that it was not measured is an answer.
    triathlon([
        "report",
        &record,
        "--asked",
        "real-load-2022",
        "--html",
        &to,
    ])
    .expect_code(0);
    let made = read(&html);
    assert!(made.contains("those of real-load-2022, a later file"));
    assert!(made.contains("not measured here: no trial has this point"));
}

#[test]
fn a_later_file_that_cannot_be_asked_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    asked_early(folder.path());
    let file = folder.path().join("later.toml");
    fs::write(&file, LATER).expect("a file");
    let [record, file] = [folder.path(), &file].map(|path| path.display().to_string());
    for (words, complaint) in [
        (
            ["--asked", &file, "--csv", "-"],
            "a table of trials answers no questions",
        ),
        (
            ["--asked", "real-load-2023", "--html", "-"],
            "did you mean 'real-load-2022'?",
        ),
        (
            ["--asked", "scalable-2003", "--html", "-"],
            "its questions are for probes, and the results that were given are trials",
        ),
        (
            ["--asked", &file, "--publish", "handed-out"],
            "'--publish <DIR>'",
        ),
    ] {
        let words = ["report", &record].into_iter().chain(words);
        triathlon(words)
            .expect_code(2)
            .expect_complaint(&[complaint]);
    }
}

/// The same of probes.
#[test]
fn questions_of_a_later_file_are_answered_from_probes() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("probes");
    fs::create_dir(&folder).expect("a folder can be made");
    let asks = "[experiment]\nname = \"small\"\n[[probe]]\nname = \"socket\"\n";
    let later = format!(
        "{asks}[[asked]]\nwho = \"ours\"\ndemand = \"How many were there?\"\n\
         show = \"population\"\nprobe = \"socket:2003-10\"\n"
    );
    fs::write(folder.join("experiment.toml"), asks).expect("a file can be written");
    let file = place.path().join("later.toml");
    fs::write(&file, later).expect("a file can be written");
    let result = ProbeResult {
        probe_format: model::probe::FORMAT,
        probe: "socket".to_owned(),
        variant: Some("2003-10".to_owned()),
        population_asked: 7,
        population: 7,
        passes: vec![Pass {
            number: 1,
            series: vec![Series::counted("socket", (1..=7).collect())],
            ..Pass::default()
        }],
        ..ProbeResult::default()
    };
    let text = result.to_json().expect("JSON");
    fs::write(folder.join("socket-2003-10.json"), text).expect("a file can be written");
    let page = place.path().join("page.html");
    let [folder, file, to] = [&folder, &file, &page].map(|path| path.display().to_string());
    let page = |words: &[&str]| {
        let given = ["report", &folder, "--html", &to].into_iter();
        triathlon(given.chain(words.iter().copied())).expect_code(0);
        fs::read_to_string(&page).expect("the page is there")
    };
    assert!(!page(&[]).contains("How many were there?"));
    let asked = page(&["--asked", &file]);
    for part in [
        "How many were there?",
        "those of later.toml, a later file than the record",
        "1 of 1 demand answered",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    triathlon(["report", &folder, "--asked", "first-heat", "--html", "-"])
        .expect_code(2)
        .expect_complaint(&["its questions are for trials"]);
}

/// What a browser says of a page: written into the page itself by this script, at the end.
const WITNESS: &str = r#"<script>
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => errors.push(event.blockedURI));
</script>"#;

const QUESTIONS: &str = r#"<script>
window.alert = () => { window.alerted = (window.alerted || 0) + 1; };
// The drawing that is seen.
const seen = (figure) => [...figure.querySelectorAll(".still")]
  .filter((one) => one.getClientRects().length);
// How high its text is on the screen.
const height = (svg) => 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
// Marks of an axis whose texts run into each other.
const crowded = (svg) => {
  const boxes = [...svg.querySelectorAll("text.x")].map((text) => text.getBoundingClientRect());
  const meet = (a, b) => a.right > b.left && b.right > a.left
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.some((a, i) => boxes.slice(i + 1).some((b) => meet(a, b)));
};
// What is read out in the middle of a drawing.
const readOut = (figure) => {
  const [svg] = seen(figure);
  const box = svg.getBoundingClientRect();
  const place = { clientX: box.left + box.width * .6, clientY: box.top + 40 };
  svg.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, ...place }));
  const tip = figure.querySelector(".tip");
  const inside = tip.getBoundingClientRect().right <= figure.getBoundingClientRect().right + 1;
  return tip.hidden ? "" : inside ? `read ${tip.textContent}` : "outside";
};
// Whether the text of one element runs into that of another beside it.
const touch = (one, other) => {
  const [a, b] = [one, other].map((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return range.getBoundingClientRect();
  });
  return a.right + 4 > b.left && a.top < b.bottom && b.top < a.bottom;
};
const ask = setInterval(() => {
  const page = document.documentElement;
  if (!page.classList.contains("scripted")) return;
  clearInterval(ask);
  const figures = [...document.querySelectorAll("figure.chart")];
  const second = figures[0].querySelectorAll(".legend button")[1];
  second.click();
  const answer = {
    errors,
    loaded: performance.getEntriesByType("resource").map((entry) => entry.name),
    charts: figures.length,
    drawn: figures.filter((figure) => seen(figure).length === 1).length,
    small: figures.flatMap(seen).filter((svg) => height(svg) < 10 || height(svg) > 17).length,
    crowded: figures.flatMap(seen).filter(crowded).map((svg) => svg.closest("figure").id),
    silent: figures.filter((figure) => !/^read .*\d/.test(readOut(figure)))
      .map((figure) => figure.id),
    blank: figures.filter((figure) => figure.textContent.includes("NaN")).length,
    touching: [...document.querySelectorAll(".answer .row")]
      .filter((row) => touch(row.firstElementChild, row.lastElementChild)).length,
    pressed: second.getAttribute("aria-pressed"),
    width: page.clientWidth,
    content: page.scrollWidth,
    alerts: window.alerted || 0,
  };
  const place = document.createElement("pre");
  place.id = "witness";
  place.textContent = JSON.stringify(answer);
  document.body.append(place);
}, 20);
</script>"#;

/// Opens `page` in a frame `width` pixels wide and returns what it answers.
fn open(browser: &Path, page: &Path, width: u32) -> Value {
    let profile = tempfile::tempdir().expect("a folder for the browser's profile");
    let html = fs::read_to_string(page).expect("the page is there");
    // The charting script has such words in it too: ours are the first and the last.
    let (before, after) = html.rsplit_once("</body>").expect("a page has an end");
    let html = format!("{before}{QUESTIONS}</body>{after}").replacen(
        "<head>",
        &format!("<head>{WITNESS}"),
        1,
    );
    // A window has a smallest width of its own; a frame has not, and is read when it is done.
    let inner = serde_json::to_string(&html)
        .expect("text is JSON")
        .replace('<', "\\u003c");
    let outer = format!(
        "<!DOCTYPE html><body><script>const frame = document.createElement('iframe');\
         frame.style = 'border:0;width:{width}px;height:20000px';\
         frame.srcdoc = {inner};\
         document.body.append(frame);\
         const wait = setInterval(() => {{\
           const place = frame.contentDocument.getElementById('witness');\
           if (!place) return;\
           clearInterval(wait);\
           const answer = document.createElement('pre');\
           answer.id = 'answer';\
           answer.textContent = place.textContent;\
           document.body.replaceChildren(answer);\
         }}, 50);</script></body>"
    );
    let wrapper = profile.path().join("frame.html");
    fs::write(&wrapper, outer).expect("a page can be written");
    let run = Running::start(
        Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--window-size=1400,1200",
                "--virtual-time-budget=20000",
                "--dump-dom",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", wrapper.display())),
    )
    .finish();
    let answer = run
        .stdout
        .split_once("<pre id=\"answer\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .unwrap_or_else(|| panic!("the page did not answer: {}", run.stderr))
        .0;
    serde_json::from_str(
        &answer
            .replace("&amp;", "&")
            .replace("&lt;", "<")
            .replace("&gt;", ">"),
    )
    .unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn a_browser_draws_it_at_every_width() {
    let name = "a_browser_draws_it_at_every_width";
    let Some([browser]) = need(name, ["chromium"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut trials = spoilt_heat();
    for trial in &mut trials {
        // A bound in some rounds: the longest of all verdicts beside the longest of all ratios.
        if trial.point.as_ref().is_some_and(|point| point.round <= 2) {
            let workers = &mut trial.record.workers;
            workers
                .iter_mut()
                .for_each(|worker| worker.busy = worker.window * 6 / 10);
        }
    }
    store(folder.path(), trials);
    let page = folder.path().join("report.html");
    triathlon(["report", &folder.path().display().to_string()]).expect_code(0);
    for width in [390, 700, 820, 1280] {
        let answer = open(&browser, &page, width);
        assert_eq!(
            answer["errors"],
            serde_json::json!([]),
            "at {width}: {answer}"
        );
        assert_eq!(
            answer["loaded"],
            serde_json::json!([]),
            "at {width}: {answer}"
        );
        assert_eq!(answer["alerts"], 0, "at {width}: {answer}");
        assert!(answer["charts"].as_u64() > Some(4), "at {width}: {answer}");
        assert_eq!(answer["drawn"], answer["charts"], "at {width}: {answer}");
        assert_eq!(answer["blank"], 0, "at {width}: {answer}");
        assert_eq!(answer["small"], 0, "at {width}: {answer}");
        for list in ["crowded", "silent"] {
            let nothing = serde_json::json!([]);
            assert_eq!(answer[list], nothing, "{list} at {width}: {answer}");
        }
        assert_eq!(answer["touching"], 0, "at {width}: {answer}");
        assert_eq!(answer["pressed"], "false", "at {width}: {answer}");
        assert_eq!(answer["width"], width, "{answer}");
        assert!(
            answer["content"].as_u64() <= Some(u64::from(width)),
            "the page is wider than {width} pixels: {answer}"
        );
    }
}

/// A pass of ten thousand points, scattered so that most keep a place of their own.
fn many_points(folder: &Path) {
    let ns = (1..=10_000_u64).map(|n| 500 + n * 7_919 % 9_973).collect();
    let result = ProbeResult {
        probe: "socket".to_owned(),
        question: "socket(), while all earlier ones stay open".to_owned(),
        axis: "open sockets".to_owned(),
        population: 10_000,
        passes: vec![Pass {
            number: 1,
            series: vec![Series::counted("socket", ns)],
            ..Pass::default()
        }],
        ..ProbeResult::default()
    };
    let text = serde_json::to_string(&result).expect("a result is JSON");
    fs::create_dir(folder).expect("a folder can be made");
    fs::write(folder.join("socket.json"), text).expect("a result can be written");
}

#[test]
fn a_browser_draws_every_point_at_once() {
    let name = "a_browser_draws_every_point_at_once";
    let Some([browser]) = need(name, ["chromium"]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let [old, new, page] = ["old", "new", "both.html"].map(|name| folder.path().join(name));
    many_points(&old);
    many_points(&new);
    triathlon([Path::new("compare"), &old, &new, Path::new("--html"), &page]).expect_code(0);
    let points = fs::read_to_string(&page)
        .expect("the page is there")
        .matches("h0M")
        .count();
    assert!(points > 6_000, "{points} dots are drawn for two clouds");
    for width in [390, 1280] {
        let answer = open(&browser, &page, width);
        let none = serde_json::json!([]);
        assert_eq!(answer["errors"], none, "at {width}: {answer}");
        assert_eq!(answer["loaded"], none, "at {width}: {answer}");
        assert_eq!(answer["drawn"], 1, "at {width}: {answer}");
        assert_eq!(answer["small"], 0, "at {width}: {answer}");
        assert_eq!(answer["crowded"], none, "at {width}: {answer}");
        assert_eq!(answer["silent"], none, "at {width}: {answer}");
        assert!(
            answer["content"].as_u64() <= Some(u64::from(width)),
            "the page is wider than {width} pixels: {answer}"
        );
    }
}

#[test]
fn a_page_is_printed() {
    let name = "a_page_is_printed";
    if need(name, ["chromium"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    store(folder.path(), small());
    let pdf = folder.path().join("report.pdf");
    triathlon([
        "report",
        &folder.path().display().to_string(),
        "--pdf",
        &pdf.display().to_string(),
    ])
    .expect_code(0);
    let bytes = fs::read(pdf).expect("the PDF is there");
    assert!(bytes.starts_with(b"%PDF-") && bytes.len() > 20_000);
}

/// How far down each page of a PDF something is printed, as a share of its height.
fn filled(pdf: &Path) -> Vec<f64> {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("pdftoppm")
        .args(["-r", "20", "-gray"])
        .args([pdf.as_os_str(), folder.path().join("page").as_os_str()])
        .output()
        .expect("pdftoppm runs");
    assert!(output.status.success(), "{output:?}");
    let mut pages: Vec<_> = fs::read_dir(folder.path())
        .expect("pages were drawn")
        .map(|entry| entry.expect("a page").path())
        .collect();
    pages.sort();
    let filled = |page: &std::path::PathBuf| {
        let bytes = fs::read(page).expect("a page can be read");
        // P5, width, height and 255, each behind white space, then a byte a pixel.
        let mut head = bytes.split(u8::is_ascii_whitespace);
        assert_eq!(head.next(), Some(b"P5".as_slice()));
        let mut number = || {
            let text = std::str::from_utf8(head.next().expect("a number")).expect("ASCII");
            text.parse::<usize>().expect("a number")
        };
        let (width, height) = (number(), number());
        let pixels = &bytes[bytes.len() - width * height..];
        let mut rows = pixels.chunks(width);
        let last = rows.rposition(|row| row.iter().any(|pixel| *pixel < 200));
        #[expect(clippy::cast_precision_loss, reason = "a share of a page")]
        let share = last.map_or(0.0, |row| row as f64 / height as f64);
        share
    };
    pages.iter().map(filled).collect()
}

#[test]
fn a_printed_page_wastes_no_paper() {
    let name = "a_printed_page_wastes_no_paper";
    if need(name, ["chromium", "pdftoppm"]).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let heat = Heat {
        servers: vec!["apache", "lighttpd", "nginx", "origin"],
        workloads: vec![("seven-bytes", 7), ("100-kb", 102_400)],
        connections: vec![1, 64],
        rounds: 4,
        ..Heat::default()
    };
    store(folder.path(), heat.trials());
    let pdf = folder.path().join("report.pdf");
    triathlon([
        "report",
        &folder.path().display().to_string(),
        "--pdf",
        &pdf.display().to_string(),
    ])
    .expect_code(0);
    let filled = filled(&pdf);
    let (_, before) = filled.split_last().expect("there are pages");
    for (number, share) in before.iter().enumerate() {
        assert!(*share >= 0.5, "page {} of {filled:?}", number + 1);
    }
    // A page for each server and workload, and as many for what the machine and the servers were.
    assert!(filled.len() <= 16, "{filled:?}");
}
