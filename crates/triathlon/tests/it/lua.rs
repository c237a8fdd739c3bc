//! wrk's scripts in Lua: those of Debian's package, unchanged, beside the real wrk; what `done` is
//! told; mistakes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use model::Outcome;

use crate::serve::Served;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, Running, command, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, send};
use crate::support::{need, not_run, wait_until};
use crate::tls::Files;
use crate::tools::{both, shape};

/// Where Debian's package has them.
const EXAMPLES: &str = "/usr/share/doc/wrk/examples/scripts";

/// The real wrk, nginx and the folder of the scripts, or none where the test is not to run.
fn needs_wrk(test: &str) -> Option<[PathBuf; 2]> {
    let programs = need(test, ["wrk", "nginx"])?;
    if !Path::new(EXAMPLES).join("stop.lua").is_file() {
        not_run(
            test,
            &format!("{EXAMPLES} is not there, which the package wrk has"),
        );
        return None;
    }
    Some(programs)
}

/// What a server was asked: method, path, X-Counter, X-Token, type and length of the content.
type Asked = Vec<Vec<String>>;

/// What came of one script.
struct Compared {
    runs: [Run; 2],
    /// By connection, in order. Of ours without the fetches before the run, which have connections
    /// of their own.
    asked: [BTreeMap<u64, Asked>; 2],
}

impl Compared {
    /// Runs the real wrk and ours with this script, each before an nginx of its own.
    fn new([wrk, nginx]: &[PathBuf; 2], script: &str, flags: &str, path: &str) -> Self {
        let file = format!("{EXAMPLES}/{script}");
        let run = |ours: bool| {
            let server = Nginx::start_telling(nginx, None);
            let url = server.url(path);
            let words = flags.split(' ').chain(["-s", &file, &url]);
            let words: Vec<&str> = words.collect();
            let run = match ours {
                true => triathlon(["wrk"].into_iter().chain(words)).expect_judged(),
                false => {
                    let mut command = std::process::Command::new(wrk);
                    Running::start(command.args(words)).finish().expect_code(0)
                }
            };
            let shape = shape(&run.stdout.replace(&url, "URL"));
            let mut asked: BTreeMap<u64, Asked> = BTreeMap::new();
            for mut line in server.quit_and_list() {
                let connection = line.remove(0).parse().expect("a number");
                asked.entry(connection).or_default().push(line);
            }
            (run, shape, asked)
        };
        let (theirs, their_shape, theirs_asked) = run(false);
        let (ours, our_shape, mut ours_asked) = run(true);
        ours_asked.retain(|_, asked| asked.len() > 1);
        let compared = Self {
            runs: [theirs, ours],
            asked: [theirs_asked, ours_asked],
        };
        let runs = &compared.runs;
        assert_eq!(our_shape, their_shape, "{script}: {runs:#?}");
        compared
    }

    /// What was asked in all, each once.
    fn kinds(&self) -> [BTreeSet<Vec<String>>; 2] {
        let kinds = |asked: &BTreeMap<u64, Asked>| asked.values().flatten().cloned().collect();
        self.asked.each_ref().map(kinds)
    }

    fn connections(&self) -> [usize; 2] {
        self.asked.each_ref().map(BTreeMap::len)
    }
}

fn line(fields: [&str; 6]) -> Vec<String> {
    fields.map(str::to_owned).to_vec()
}

#[test]
fn the_script_post_asks_what_it_asks_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_post_asks_what_it_asks_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "post.lua", "-t1 -c2 -d1 --latency", "form?a=b");
    let form = "application/x-www-form-urlencoded";
    let expected = BTreeSet::from([line(["POST", "/form?a=b", "-", "-", form, "16"])]);
    assert_eq!(compared.kinds(), [expected.clone(), expected]);
}

#[test]
fn the_script_counter_counts_as_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_counter_counts_as_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "counter.lua", "-t1 -c1 -d1", "");
    for asked in &compared.asked {
        assert_eq!(asked.len(), 1, "{:?}", asked.keys());
        for (lines, number) in asked.values().flatten().zip(1..) {
            // The first is asked for to see what it is, and not sent.
            let (path, counter) = (format!("/{number}"), number.to_string());
            assert_eq!(lines, &line(["GET", &path, &counter, "-", "-", "-"]));
        }
    }
    // Two threads count for themselves, and the second has nothing to see.
    let compared = Compared::new(&programs, "counter.lua", "-t2 -c2 -d1", "");
    for asked in &compared.asked {
        let firsts: BTreeSet<&str> = asked.values().map(|lines| lines[0][1].as_str()).collect();
        assert_eq!(firsts, BTreeSet::from(["/0", "/1"]));
    }
}

#[test]
fn the_script_auth_hears_as_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_auth_hears_as_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "auth.lua", "-t1 -c3 -d1", "");
    let expected = BTreeSet::from([
        line(["GET", "/authenticate", "-", "-", "-", "-"]),
        line(["GET", "/resource", "-", "open-sesame", "-", "-"]),
    ]);
    assert_eq!(compared.kinds(), [expected.clone(), expected]);
    assert_eq!(compared.connections(), [3, 3]);
}

#[test]
fn the_script_pipeline_asks_three_at_once_as_with_wrk() {
    let test = "lua::the_script_pipeline_asks_three_at_once_as_with_wrk";
    let Some(programs) = needs_wrk(test) else {
        return;
    };
    let compared = Compared::new(&programs, "pipeline.lua", "-t1 -c2 -d1", "");
    for asked in &compared.asked {
        assert_eq!(asked.len(), 2);
        for (index, lines) in asked.values().flat_map(|lines| lines.iter().enumerate()) {
            let path = ["/?foo", "/?bar", "/?baz"][index % 3];
            assert_eq!(lines, &line(["GET", path, "-", "-", "-", "-"]));
        }
    }
}

#[test]
fn the_script_delay_waits_as_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_delay_waits_as_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "delay.lua", "-t1 -c4 -d1", "");
    for (asked, run) in compared.asked.iter().zip(&compared.runs) {
        // At least 10 ms before each request of each of four connections, in a second, or longer
        // where it ended late.
        let (_, rest) = run.stdout.split_once(" requests in ").expect("a summary");
        let (seconds, _) = rest.split_once('s').expect("a time");
        let seconds: f64 = seconds.parse().expect("seconds");
        let count = u32::try_from(asked.values().flatten().count()).expect("few");
        assert!(
            f64::from(count) <= 404.0 * seconds.max(1.0),
            "{count} {:#?}",
            compared.runs
        );
    }
    // Who has no CPU for long may ask once on each connection, as a fetch before the run does.
    let expected = BTreeSet::from([line(["GET", "/", "-", "-", "-", "-"])]);
    for kinds in compared.kinds() {
        assert!(kinds.is_subset(&expected), "{kinds:?}");
    }
}

#[test]
fn the_script_addr_chooses_as_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_addr_chooses_as_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "addr.lua", "-t2 -c2 -d1", "x");
    for run in &compared.runs {
        let lines = run.stdout.lines();
        let told = lines.take_while(|line| line.starts_with("thread addr: 127.0.0.1:"));
        assert_eq!(told.count(), 2, "{run:#?}");
    }
}

#[test]
fn the_script_report_reports_as_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_report_reports_as_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "report.lua", "-t1 -c2 -d1", "");
    for run in &compared.runs {
        let (_, report) = run.stdout.split_once("----\n").expect("a report");
        let lines: Vec<(&str, u64)> = report
            .lines()
            .map(|line| line.split_once("%,").expect("two columns"))
            .map(|(percent, us)| (percent, us.parse().expect("a number")))
            .collect();
        let percents: Vec<&str> = lines.iter().map(|(percent, _)| *percent).collect();
        assert_eq!(percents, ["50", "90", "99", "99.999"]);
        assert!(
            lines.is_sorted_by_key(|(_, us)| *us) && lines[0].1 > 0,
            "{report}"
        );
    }
}

/// What each thread counts for itself comes to what the server counted.
#[test]
fn the_script_setup_counts_by_thread_as_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_setup_counts_by_thread_as_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "setup.lua", "-t2 -c4 -d1", "");
    for (run, asked) in compared.runs.iter().zip(&compared.asked) {
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert_eq!(lines[..2], ["thread 1 created", "thread 2 created"]);
        let counts: Vec<[u64; 2]> = lines
            .iter()
            .filter_map(|line| line.split_once(" made "))
            .map(|(_, rest)| {
                let words = rest.split(' ');
                let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
                [numbers[0], numbers[1]]
            })
            .collect();
        assert_eq!(counts.len(), 2, "{run:#?}");
        let served = asked.values().flatten().count() as u64;
        let [made, answers] = [0, 1].map(|index| counts.iter().map(|one| one[index]).sum::<u64>());
        // One more to see what it is; and wrk leaves what is under way at the end.
        assert!(
            made > served && made <= served + 5,
            "{made} {served} {run:#?}"
        );
        assert!(
            answers <= served && answers + 4 >= served,
            "{answers} {served} {run:#?}"
        );
    }
}

#[test]
fn the_script_stop_stops_as_with_wrk() {
    let Some(programs) = needs_wrk("lua::the_script_stop_stops_as_with_wrk") else {
        return;
    };
    let compared = Compared::new(&programs, "stop.lua", "-t2 -c2 -d1", "");
    for asked in &compared.asked {
        let counts: Vec<usize> = asked.values().map(Vec::len).collect();
        assert_eq!(counts, [100, 100]);
    }
}

/// Before origin, too: they say what they say with wrk. Of those that ask in the same way there is
/// one: with content, with a header that an answer told, three at once, and until it stops.
#[test]
fn scripts_run_before_origin() {
    let Some([wrk, _]) = needs_wrk("lua::scripts_run_before_origin") else {
        return;
    };
    let served = Served::start(&[("a", b"seven!\n")], "");
    let url = served.url("/a");
    for script in ["post", "auth", "pipeline", "stop"] {
        let script = format!("{EXAMPLES}/{script}.lua");
        let words = ["-t1", "-c2", "-d1", "-s", &script, &url];
        let runs = both(&wrk, "wrk", &words);
        let shapes = runs.each_ref().map(|run| shape(&run.stdout));
        assert_eq!(shapes[1], shapes[0], "{script}: {runs:#?}");
    }
}

/// Over TLS, where requests that differ each time are encrypted one by one.
#[test]
fn a_script_asks_over_tls() {
    let Some([_, nginx]) = needs_wrk("lua::a_script_asks_over_tls") else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let server = Nginx::start_telling(&nginx, Some((&certificate, &key)));
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("long.lua");
    let code = "local n = 0 local long = string.rep('x', 40000)
        function request()
           n = n + 1
           local body = n % 2 == 0 and long or 'short'
           return wrk.format('POST', '/' .. n, { ['X-Counter'] = n }, body)
        end";
    fs::write(&script, code).expect("a file");
    let script = script.display().to_string();
    let url = server.https_url("");
    let words = ["wrk", "-t1", "-c1", "-d1", "-s", &script, &url];
    let run = triathlon(words).expect_measured();
    assert!(!run.stdout.contains("Socket errors"), "{run:#?}");
    let lines = server.quit_and_list();
    assert!(lines.len() > 2, "{run:#?}");
    for (fields, number) in lines.iter().zip(2..) {
        let (path, counter) = (format!("/{number}"), number.to_string());
        let length = if number % 2 == 0 { "40000" } else { "5" };
        let expected = line(["POST", &path, &counter, "-", "-", length]);
        assert_eq!(fields[1..], expected);
    }
}

/// At a rate, as with wrk2: each arrival asks for one request.
#[test]
fn a_script_asks_at_a_rate() {
    let Some([_, nginx]) = needs_wrk("lua::a_script_asks_at_a_rate") else {
        return;
    };
    let server = Nginx::start_telling(&nginx, None);
    let url = server.url("");
    let script = format!("{EXAMPLES}/counter.lua");
    let words = [
        "wrk2", "-t1", "-c1", "-d1", "-R", "100", "-s", &script, &url,
    ];
    let run = triathlon(words).expect_measured();
    let lines = server.quit_and_list();
    assert!((1..=100).contains(&lines.len()), "{run:#?}");
    for (fields, number) in lines.iter().zip(1..) {
        let (path, counter) = (format!("/{number}"), number.to_string());
        assert_eq!(fields[1..], line(["GET", &path, &counter, "-", "-", "-"]));
    }
}

const FIELDS: &str = "function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format('told %d %d %d %d\\n', summary.requests, summary.bytes,
      errors.status, errors.connect + errors.read + errors.write + errors.timeout))
   io.write(string.format('about %g\\n', summary.duration / 1e6))
   local value, count = latency(1)
   assert(latency.min > 0 and latency.min <= latency.mean and latency.mean <= latency.max)
   assert(value > 0 and count > 0 and #latency > 0 and latency.stdev >= 0)
   assert(requests.max >= requests.min and requests.mean > 0 and #requests > 0)
end";

/// The fields of `summary` are what is printed, with wrk and with ours.
#[test]
fn done_is_told_what_is_printed() {
    let Some([wrk, nginx]) = needs_wrk("lua::done_is_told_what_is_printed") else {
        return;
    };
    let server = Nginx::start_telling(&nginx, None);
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("done.lua");
    fs::write(&script, FIELDS).expect("a file");
    let script = script.display().to_string();
    for path in ["", "missing"] {
        let url = server.url(path);
        // Of wrong answers ours has no times.
        let code = match path {
            "" => FIELDS.to_owned(),
            _ => FIELDS.replace("assert(", "tostring("),
        };
        fs::write(&script, code).expect("a file");
        let words = ["-t1", "-c2", "-d1", "-s", &script, &url];
        for run in both(&wrk, "wrk", &words) {
            let text = &run.stdout;
            let told = text.lines().find_map(|line| line.strip_prefix("told "));
            let told: Vec<u64> = told
                .unwrap_or_else(|| panic!("{run:#?}"))
                .split(' ')
                .map(|number| number.parse().expect("a number"))
                .collect();
            let printed = format!("  {} requests in ", told[0]);
            assert!(text.contains(&printed) && told[0] > 0, "{run:#?}");
            assert!(told[1] > told[0] * 50 && told[3] == 0, "{run:#?}");
            let wrong = if path.is_empty() { 0 } else { told[0] };
            assert_eq!(told[2], wrong, "{run:#?}");
            let seconds = text.lines().find_map(|line| line.strip_prefix("about "));
            let seconds: f64 = seconds.and_then(|text| text.parse().ok()).expect("a time");
            assert!(seconds >= 1.0, "{run:#?}");
        }
    }
}

/// A file with a script, and the words that run it with `load`.
fn load(code: &str, url: &str, flags: &str) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.lua");
    fs::write(&path, code).expect("a file");
    let path = path.display().to_string();
    let words = ["load", url, "-s", &path];
    triathlon(words.into_iter().chain(flags.split_whitespace()))
}

fn seven() -> Stub {
    Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    })
}

#[test]
fn load_runs_a_script_and_its_record_says_so() {
    let server = seven();
    let code = "local n = 0
        function init(args) prefix = args[1] assert(args[2] == '-x') end
        function request() n = n + 1 return wrk.format(nil, '/' .. prefix .. n) end";
    let flags = "-n 50 -c 2 -t 1 --lua-arg p --lua-arg -x --timeout 20s --json -";
    let run = load(code, &server.url(), flags).expect_measured();
    let trial = run.trial();
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 50, "{run:#?}");
    // Nobody fetched anything before the run.
    assert_eq!(server.requests(), 50);
    let lua = trial.plan.lua.as_ref().expect("the plan tells of it");
    assert!(lua.asks && !lua.hears && !lua.waits && lua.name == "mine.lua");
    assert_eq!(lua.sha256.len(), 64);
    // Such a plan alone cannot run again.
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.json");
    fs::write(&plan, serde_json::to_string(&trial.plan).expect("JSON")).expect("a file");
    let plan = plan.display().to_string();
    let again = triathlon(["load", "--plan", &plan]);
    again
        .expect_code(1)
        .expect_complaint(&["mine.lua", "--lua"]);
    let text = load(code, &server.url(), &flags.replace("--json -", "")).expect_measured();
    assert!(text.stdout.contains("mine.lua"), "{text:#?}");
}

/// What stands behind `--` is for the script, as in wrk: behind the words of `--lua-arg`, and
/// nothing of it is read as a flag or as a URL.
#[test]
fn words_behind_two_dashes_are_those_of_the_script() {
    let server = seven();
    let code = "function init(args) path = '/' .. #args .. '-' .. table.concat(args, '-') end
        function request() return wrk.format(nil, path) end
        function response() if not said then said = true io.write('asked ' .. path .. '\\n') end end";
    let check = |flags: &str, path: &str| {
        let run = load(code, &server.url(), flags).expect_measured();
        let said = format!("asked {path}\n");
        assert!(run.stdout.contains(&said), "{flags}: {run:#?}");
    };
    let flags = "-n 5 -c 1 -t 1 --timeout 20s";
    check(flags, "/0-");
    check(&format!("{flags} -- one two"), "/2-one-two");
    check(&format!("{flags} -- -c --json"), "/2--c---json");
    check(&format!("{flags} --lua-arg one -- two"), "/2-one-two");
    let url = server.url();
    triathlon(["load", &url, "-n", "1", "--", "word"])
        .expect_code(2)
        .expect_complaint(&["'word'", "behind --", "-s/--lua"]);
}

/// One that only says what is asked costs nothing: its run is like any other.
#[test]
fn a_script_without_functions_is_a_plan() {
    let server = seven();
    let code = "wrk.method = 'PUT' wrk.body = 'abc' wrk.headers['X-A'] = 'b'";
    let flags = "-n 20 -c 2 -t 1 --timeout 20s --json -";
    let run = load(code, &server.url(), flags).expect_measured();
    let trial = run.trial();
    let request = &trial.plan.requests[0];
    assert_eq!(
        (request.method.as_str(), request.body_base64.as_deref()),
        ("PUT", Some("YWJj"))
    );
    assert_eq!(request.headers, [("X-A".to_owned(), "b".to_owned())]);
    let lua = trial.plan.lua.as_ref().expect("the plan tells of it");
    assert!(!lua.takes_part());
    assert!(trial.record.reference.is_some(), "{run:#?}");
}

#[test]
fn a_mistake_in_a_script_is_told_with_file_and_line() {
    let server = seven();
    let check_with = |code: &str, flags: &str, words: &[&str]| {
        let run = load(code, &server.url(), flags);
        run.expect_code(2).expect_complaint(words);
    };
    let check = |code: &str, words: &[&str]| check_with(code, "-d 50s -c 2 -t 2", words);
    check("\nlocal x = = 1", &["mine.lua:2:", "unexpected symbol"]);
    check("nothing.at = 'all'", &["mine.lua:1:", "nil value"]);
    check(
        "function request() return 'no request' end",
        &["incomplete request at 1:11"],
    );
    // While it runs, too: the run is over at once.
    check(
        "function response(status, headers, body)\n error('enough: ' .. body) end",
        &["mine.lua:2: enough: seven!"],
    );
    check(
        "n = 0 function request() n = n + 1\n if n == 9 then n = n .. {} end return wrk.format() end",
        &["mine.lua:2:", "concatenate"],
    );
    check(
        "function delay()\n return nothing.at end",
        &["mine.lua:2:", "nil value"],
    );
    let done = "function done()\n error('at the end') end";
    check_with(done, "-n 20 -c 2 -t 2", &["mine.lua:2: at the end"]);
    let path = ["load", &server.url(), "--lua", "/nowhere/x.lua"];
    triathlon(path)
        .expect_code(1)
        .expect_complaint(&["cannot read /nowhere/x.lua"]);
    load("", &server.url(), "--http2")
        .expect_code(2)
        .expect_complaint(&["--lua", "--http2"]);
}

/// Begins to run a script that may `loop()` for ever at some time, and says so then: interrupts it
/// once when it has said all of `said`.
fn looping(code: &str, words: &[&str], said: &[&str]) -> Run {
    let server = seven();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.lua");
    let code =
        format!("function loop() io.stderr:write('for ever\\n') while true do end end {code}");
    fs::write(&path, code).expect("a file");
    let path = path.display().to_string();
    let url = server.url();
    let words = words.iter().copied().chain([path.as_str(), &url]);
    let running = Running::start(&mut command(words));
    if !said.is_empty() {
        wait_until("the script has said all", || {
            let told = running.stderr();
            said.iter().all(|one| told.contains(one))
        });
        running.signal("INT");
    }
    running.finish()
}

/// One Ctrl-C is enough, wherever a script loops for ever.
#[test]
fn a_script_without_an_end_can_be_interrupted() {
    let words = ["wrk", "-t1", "-c1", "-d", "50", "-s"];
    let before = looping("request = loop", &words, &["for ever"]);
    before.expect_code(130).expect_complaint(&[
        "the Lua script",
        "mine.lua",
        "a loop without an end?",
    ]);
    let alone = "n = 0 function request() n = n + 1 if n == 5 then loop() end
        return wrk.format() end";
    looping(alone, &words, &["for ever"])
        .expect_code(2)
        .expect_complaint(&["mine.lua", "request() did not return"]);
}

/// The second thread loops for ever; the first one says when some of its answers were measured.
const ONE_OF_TWO: &str = "local count = 0
    function setup(thread) count = count + 1 thread:set('id', count) end
    function response() n = (n or 0) + 1
        if n == 5 and id == 1 then io.stderr:write('five answers\\n') end
        if n == 5 and id == 2 then loop() end end
    function done() io.stderr:write('it was told\\n') end";

/// What the first thread of [`ONE_OF_TWO`] has measured is told, and who is missing.
fn expect_one_of_two(run: &Run, interrupted: bool) {
    let record = run.trial().record;
    assert!(record.total.outcomes[Outcome::Ok] > 0, "{run:#?}");
    assert_eq!(record.interrupted, interrupted, "{run:#?}");
    assert_eq!(record.workers.len(), 1, "{run:#?}");
    let note = record.notes.iter().find(|note| note.contains("mine.lua"));
    let note = note.expect("a note names the script");
    assert!(
        note.contains("did not return from response() on 1 of 2 threads"),
        "{note}"
    );
    assert!(!run.stderr.contains("it was told"), "{run:#?}");
    assert!(
        run.stderr.contains("did not return on all threads"),
        "{run:#?}"
    );
}

/// What its other threads have measured is told.
#[test]
fn a_thread_without_an_end_is_left_behind() {
    let words = "load -t 2 -c 2 -d 50s --warmup 0s --json - --lua";
    let words: Vec<&str> = words.split(' ').collect();
    let run = looping(ONE_OF_TWO, &words, &["for ever", "five answers"]).expect_code(130);
    expect_one_of_two(&run, true);
}

/// Nobody interrupted it, and the other thread has measured all of the window: it is the script
/// that was wrong.
#[test]
fn a_thread_without_an_end_is_left_behind_at_the_end() {
    let words = "load -t 2 -c 2 -d 1s --timeout 200ms --warmup 0s --json - --lua";
    let words: Vec<&str> = words.split(' ').collect();
    let run = looping(ONE_OF_TWO, &words, &[]).expect_code(2);
    expect_one_of_two(&run, false);
}
