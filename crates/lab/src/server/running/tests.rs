use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::event::Phase;
use model::experiment::Spoken;
use model::usage::GroupUsage;
use model::{Event, PlanFile, Trial};

use super::*;
use crate::experiment;
use crate::generator::{Generator, Watch};
use crate::host::Host;
use crate::meter::memory;
use crate::server::{Absent, Search, installed, installed_as};
use crate::site::Site;
use crate::trial::{self, Load, Surroundings, Target, Wanted};

/// Not a server by itself; servers that take as long to start as all of the others; and one that
/// bears no blanks in its paths.
const LEFT_OUT: [&str; 4] = ["custom", "jetty", "mighttpd2", "tomcat"];

/// The products of this machine that are not this program. Those that are missing are told, as far
/// as all of them can be installed: what Debian has no package of, or none that can be there beside
/// the others, is tried where somebody has it.
fn strangers() -> Vec<Installed> {
    let search = Search::of_system(PathBuf::from("/no/triathlon"));
    let mut found = Vec::new();
    for product in search.catalogue.products() {
        if product
            .processes()
            .iter()
            .any(|one| one.programs[0] == "@triathlon" && one.only_for.is_empty())
            || LEFT_OUT.contains(&product.name())
        {
            continue;
        }
        match installed(Arc::clone(product), &search) {
            // Its default variant may have this program behind it.
            Ok(installed) if installed.lacking.contains_key(product.variant_default()) => {}
            Ok(installed) => found.push(installed),
            Err(absent) if product.install().starts_with("Debian") => {
                crate::testing::not_run(&absent.why);
            }
            Err(_) => {}
        }
    }
    found
}

/// The one of that name, if it is installed.
fn stranger(name: &str) -> Option<Installed> {
    let found = strangers().into_iter();
    found.into_iter().find(|one| one.product.name() == name)
}

struct Place {
    scratch: Scratch,
    site: Site,
    _alone: MutexGuard<'static, ()>,
}

/// A lab runs one server at a time, and so do these tests: without control groups, who goes into
/// the background belongs to whichever server runs.
static ALONE: Mutex<()> = Mutex::new(());

fn place() -> Place {
    place_of(&experiment::read("first-heat", &[]).unwrap().experiment)
}

fn place_of(experiment: &model::Experiment) -> Place {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::create_in(&std::env::temp_dir(), "a lab with blanks ").unwrap();
    open_to_all(scratch.path(), 0o755).unwrap();
    let site = Site::build(&scratch.path().join("www"), experiment).unwrap();
    Place {
        scratch,
        site,
        _alone: alone,
    }
}

fn start<'a>(place: &'a Place, installed: &'a Installed, preset: Preset<'a>) -> Start<'a> {
    Start {
        address: std::net::Ipv4Addr::LOCALHOST,
        label: "label",
        installed,
        preset,
        preset_name: "tuned",
        access_log: AccessLog::Off,
        protocol: Spoken::Http1,
        certificate: None,
        tls: None,
        cpus: &[0],
        connections: 256,
        needs: &[],
        variant: installed.product.variant_default(),
        reload: false,
        directives: &[],
        pin: Pin::Mask,
        is_checked: false,
        site: &place.site,
        scratch: &place.scratch,
    }
}

/// Asks for `path` once; the answer's head and content.
fn fetch(port: u16, path: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    let content = answer.split_off(end);
    (String::from_utf8(answer).unwrap(), content)
}

fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".lock"))
        .collect()
}

#[test]
fn every_server_starts_answers_and_leaves_nothing_behind() {
    for installed in strangers() {
        starts_answers_and_leaves_nothing_behind(&installed, 100, &[]);
    }
}

/// They take seconds to start, so they take part in this alone; their servlets answer too.
#[test]
fn a_server_in_java_starts_answers_and_leaves_nothing_behind() {
    let search = Search::of_system(PathBuf::from("/no/triathlon"));
    // As they are delivered, 50 connections wait to be accepted, or 100.
    for (name, backlog) in [("jetty", 49), ("tomcat", 99)] {
        match installed(search.catalogue.product(name).unwrap(), &search) {
            Ok(found) => starts_answers_and_leaves_nothing_behind(&found, backlog, &["java"]),
            Err(absent) => crate::testing::not_run(&absent.why),
        }
    }
}

/// Another build of a product is started by its path.
#[test]
fn an_experiment_says_which_program_is_started() {
    let Some(found) = stranger("nginx") else {
        return crate::testing::not_run("nginx is not installed");
    };
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    let program = found.programs.last().unwrap().as_ref().unwrap();
    std::os::unix::fs::symlink(program, &other).unwrap();
    let search = Search::of_system(PathBuf::from("/no/triathlon"));
    let as_told = |path: &Path| {
        let nginx = search.catalogue.product("nginx").unwrap();
        installed_as(nginx, &search, path.to_str())
    };
    let installed = as_told(&other).unwrap();
    assert_eq!(installed.programs.last(), Some(&Some(other.clone())));
    assert_eq!(installed.version, found.version);
    let place = place();
    let running = Running::start(&start(&place, &installed, Preset::Tuned)).unwrap();
    let pid = running.pid().unwrap();
    // nginx shows the command that started it.
    let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(title.contains(&other.display().to_string()), "{title}");
    running.stop();
    let missing = as_told(Path::new("/no/such")).unwrap_err();
    assert_eq!(
        missing.why,
        "nginx is not installed: no program /no/such was found"
    );
}

/// Whoever listens on the same port of another address takes nothing from the server.
#[test]
fn a_server_on_the_same_port_of_another_address_is_a_stranger_to_nobody() {
    let Some(installed) = stranger("nginx") else {
        return crate::testing::not_run("nginx is not installed");
    };
    let place = place();
    let mut running = Running::start(&start(&place, &installed, Preset::Tuned)).unwrap();
    let elsewhere = (Ipv4Addr::new(127, 0, 0, 9), running.port());
    let other = std::net::TcpListener::bind(elsewhere).unwrap();
    running.look_before();
    let facts = running.look_after();
    assert_eq!(facts.listener_is_ours, Some(true), "{facts:?}");
    drop(other);
    running.stop();
}

/// In both presets, with more connections than `backlog` that may wait to be accepted.
fn starts_answers_and_leaves_nothing_behind(
    installed: &Installed,
    backlog: u32,
    handlers: &[&str],
) {
    let experiment = HANDLED.replace("memory", "java") + LONGER;
    let experiment = experiment::parse("handlers", &experiment, &[]).unwrap();
    let needs: Vec<String> = handlers.iter().map(|name| (*name).to_owned()).collect();
    for preset in [Preset::Tuned, Preset::Stock] {
        let name = installed.product.name();
        let place = place_of(&experiment);
        let mut start = start(&place, installed, preset);
        // A test of a configuration in Java takes as long as a start: that of the other preset is
        // tested by a lab.
        start.is_checked = handlers.is_empty() || preset == Preset::Stock;
        start.needs = &needs;
        let mut running = Running::start(&start).unwrap();
        check_makers(&running, &place, handlers);
        for length in [7, 102_400] {
            let document = place.site.document(model::Bytes::new(length));
            let (head, content) = fetch(running.port(), &document.path);
            assert!(head.starts_with("HTTP/1.1 200 "), "{name}: {head}");
            let file = place.site.root().join(&document.path[1..]);
            assert_eq!(content, fs::read(file).unwrap(), "{name}");
        }
        running.look_before();
        let facts = running.look_after();
        assert_eq!(facts.listener_is_ours, Some(true), "{name}: {facts:?}");
        assert_eq!(facts.listener_owner, None);
        assert_eq!(facts.cpus_allowed.as_deref(), Some(&[0][..]), "{name}");
        // It has a process for each connection, and one may not have ended yet.
        if name != "mini-httpd" {
            assert_eq!(facts.processes_before, facts.processes_after, "{name}");
        }
        // It lets twice as many wait as it has room for, which are few as it comes.
        let least = match (name, preset) {
            ("webfs", Preset::Stock) => 63,
            _ => backlog,
        };
        assert!(facts.listen_backlog > Some(least), "{name}: {facts:?}");
        // What the tuned configurations of these say, as far as the kernel lets them.
        let are_told = ["nginx", "apache", "lighttpd", "haproxy", "trafficserver"];
        if preset == Preset::Tuned && are_told.contains(&name) {
            let most = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
            let most: u32 = most.trim().parse().unwrap();
            assert_eq!(facts.listen_backlog, Some(most.min(4_096)), "{name}");
        }
        assert!(facts.open_files_limit > Some(100), "{name}");
        assert_eq!((facts.exit, facts.error_log_lines), (None, 0), "{name}");
        let pid = running.pid().unwrap();
        running.stop();
        assert_eq!(
            process::session_members(Path::new("/proc"), pid),
            Vec::<u32>::new(),
            "{name}"
        );
        assert_eq!(files_in(place.scratch.path()), ["www"], "{name}");
    }
}

/// In [`HANDLED`].
const HANDLERS: &str =
    r#"["cgi-c", "cgi-perl", "fastcgi-c", "fastcgi-php", "js", "lua", "memory", "perl"]"#;

/// Two documents by every handler that has words of its own.
const HANDLED: &str = r#"[experiment]
name = "handlers"
question = "?"
rounds = 1
duration = "1s"
[[server]]
product = "nginx"
[[workload]]
name = "short"
body = { bytes = 7 }
handler = ["cgi-c", "cgi-perl", "fastcgi-c", "fastcgi-php", "js", "lua", "memory", "perl"]
[[workload]]
name = "long"
body = { bytes = 3_000 }
handler = ["cgi-c", "cgi-perl", "fastcgi-c", "fastcgi-php", "js", "lua", "memory", "perl"]
[load]
connections = 1
"#;

/// A document that no handler makes.
const LONGER: &str = r#"[[workload]]
name = "longer"
body = { bytes = 102_400 }
"#;

/// Who says that it made the answer, by its name and process; none where nobody does.
fn maker(head: &str) -> Option<(String, u32)> {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("X-Handler: "))?;
    let (name, pid) = line.split_once(' ')?;
    Some((name.to_owned(), pid.parse().ok()?))
}

/// Content that came in chunks, as Apache sends that of programs.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = std::str::from_utf8(&rest[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return content;
        }
        content.extend(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
    }
}

/// Asks each handler of `running` some times: the bytes are those of the file, a program for CGI
/// has a process for each answer, and an application of FastCGI stays and is one of the server's.
fn check_makers(running: &Running, place: &Place, handlers: &[&str]) {
    let product = running.installed.product.name();
    for (handler, bytes) in handlers.iter().flat_map(|name| [(name, 7), (name, 3_000)]) {
        let document = place.site.document(model::Bytes::new(bytes));
        let file = place
            .site
            .root()
            .join(document.path.trim_start_matches('/'));
        let expected = fs::read(file).unwrap();
        let mut pids = Vec::new();
        for _ in 0..4 {
            let (head, content) = fetch(running.port(), &format!("/{handler}/{bytes}"));
            let content = match head.contains("Transfer-Encoding: chunked") {
                true => unchunked(&content),
                false => content,
            };
            assert!(content == expected, "{product} {handler}: {head}");
            let maker = maker(&head);
            let name = maker.as_ref().map(|(name, _)| name.as_str());
            let tells = handler.contains("cgi").then_some(*handler);
            assert_eq!(name, tells, "{product} {handler}: {head}");
            pids.extend(maker.map(|(_, pid)| pid));
        }
        pids.sort_unstable();
        pids.dedup();
        if handler.starts_with("cgi") {
            assert_eq!(pids.len(), 4, "{product} {handler}: {pids:?}");
        } else if !pids.is_empty() {
            let ours: Vec<u32> = running.processes().iter().map(|(pid, _)| *pid).collect();
            let stays = pids.iter().all(|pid| ours.contains(pid));
            assert!(stays, "{product} {handler}: {pids:?} of {ours:?}");
        }
    }
}

/// Every handler of `name` at once, in both presets.
fn check_handlers(name: &str, variant: Option<&str>, handlers: &[&str]) {
    let Some(installed) = stranger(name) else {
        return crate::testing::not_run(&format!("{name} is not installed"));
    };
    if let Some(absent) = installed.lacks(handlers.iter().copied()) {
        return crate::testing::not_run(&absent.why);
    }
    let experiment = experiment::parse("handlers", HANDLED, &[]).unwrap();
    let place = place_of(&experiment);
    let search = Search::of_system(PathBuf::from("/no/triathlon"));
    crate::site::programs::build(&place.site, &experiment, &search).unwrap();
    let needs: Vec<String> = handlers.iter().map(|name| (*name).to_owned()).collect();
    for preset in [Preset::Stock, Preset::Tuned] {
        let mut start = start(&place, &installed, preset);
        start.needs = &needs;
        start.is_checked = true;
        start.variant = variant.unwrap_or(start.variant);
        let running = Running::start(&start).unwrap();
        check_makers(&running, &place, handlers);
        let is_php = running.facts.version.contains("PHP ");
        assert_eq!(is_php, handlers.contains(&"fastcgi-php"));
        let told = |word: &str, makers: &[&str]| {
            let is_told = running.facts.version.contains(word);
            let is_used = makers.iter().any(|maker| handlers.contains(maker));
            assert_eq!(is_told, is_used, "{word}: {}", running.facts.version);
        };
        told("Perl v", &["cgi-perl", "perl"]);
        told("cc (", &["cgi-c", "fastcgi-c"]);
        if name == "apache" {
            told("mod_perl 2.", &["perl"]);
        }
        running.stop();
        assert_eq!(
            files_in(place.scratch.path()),
            ["programs", "www"],
            "{name}"
        );
    }
}

#[test]
fn handlers_of_nginx_tell_who_makes_an_answer() {
    let handlers = [
        "cgi-c",
        "cgi-perl",
        "fastcgi-c",
        "fastcgi-php",
        "js",
        "memory",
        "perl",
    ];
    check_handlers("nginx", None, &handlers);
}

#[test]
fn handlers_of_apache_tell_who_makes_an_answer() {
    let handlers = [
        "cgi-c",
        "cgi-perl",
        "fastcgi-c",
        "fastcgi-php",
        "lua",
        "perl",
    ];
    check_handlers("apache", None, &handlers);
    check_handlers("apache", Some("itk"), &["cgi-c", "fastcgi-c"]);
}

#[test]
fn handlers_of_lighttpd_tell_who_makes_an_answer() {
    check_handlers("lighttpd", None, &["cgi-c", "cgi-perl", "fastcgi-c", "lua"]);
}

#[test]
fn access_logs_are_written_where_they_are_asked_for_and_cut_between_trials() {
    for installed in strangers() {
        let place = place();
        let mut start = start(&place, &installed, Preset::Tuned);
        start.access_log = AccessLog::On;
        if installed.product.cannot_log(AccessLog::On).is_some() {
            continue;
        }
        let mut running = Running::start(&start).unwrap();
        let document = place.site.document(model::Bytes::new(7));
        fetch(running.port(), &document.path);
        let log = running.directory.path().join("logs/access.log");
        let until = Instant::now() + Duration::from_secs(20);
        // lighttpd writes every four seconds.
        while fs::metadata(&log).map_or(0, |meta| meta.len()) == 0 {
            assert!(Instant::now() < until, "{}", installed.product.name());
            running.processes[0].child.wait(Duration::from_millis(20));
        }
        running.look_before();
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
        running.stop();
    }
}

/// Asks for `path` so many times on one connection, each time when the answer before has come.
fn ask_on_one_connection(port: u16, path: &str, length: usize, times: u64) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a patience");
    // In one piece, so that it never waits for what acknowledges the piece before.
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    for _ in 0..times {
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = Vec::new();
        let is_whole = |answer: &[u8]| {
            let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
            end.is_some_and(|end| answer.len() == end + 4 + length)
        };
        while !is_whole(&answer) {
            let mut bytes = [0; 1024];
            let read = match stream.read(&mut bytes) {
                // A signal that another test sends ends a wait that has a limit.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read.expect("an answer"),
            };
            assert!(read > 0, "it closed");
            answer.extend_from_slice(&bytes[..read]);
        }
    }
}

/// A server that writes each line has written that of a request before it answers the next one on
/// the same connection. One that gathers lines has not, when a trial ends and its log is read:
/// nginx writes them within a second, and Apache when so many have come.
#[test]
fn a_log_that_is_buffered_keeps_lines_back() {
    const ASKED: u64 = 100;
    for name in ["nginx", "apache"] {
        let Some(installed) = stranger(name) else {
            crate::testing::not_run(&format!("{name} is not installed"));
            continue;
        };
        for log in [AccessLog::On, AccessLog::Buffered] {
            let place = place();
            let mut start = start(&place, &installed, Preset::Tuned);
            start.access_log = log;
            let mut running = Running::start(&start).unwrap();
            let path = &place.site.document(model::Bytes::new(7)).path;
            let mut logged = || {
                running.look_before();
                ask_on_one_connection(running.port(), path, 7, ASKED);
                let facts = running.look_after();
                assert_eq!(facts.access_log, log.name());
                facts.access_log_lines.unwrap()
            };
            if log == AccessLog::On {
                let lines = logged();
                assert!((ASKED - 1..=ASKED).contains(&lines), "{name}: {lines}");
                running.stop();
                continue;
            }
            // A machine may stop for a second just then, so that nginx writes before it is seen.
            let is_kept = (0..20).any(|_| logged() < ASKED - 1);
            assert!(is_kept, "{name}: it has each line at once");
            // What nginx kept comes when nobody looks any more.
            if name == "nginx" {
                let log = running.directory.path().join("logs/access.log");
                let until = Instant::now() + Duration::from_secs(20);
                while access_log::size(&log).is_none_or(|(lines, _)| lines < ASKED) {
                    assert!(Instant::now() < until, "{name}: lines are missing");
                    running.processes[0].child.wait(Duration::from_millis(20));
                }
            }
            running.stop();
        }
    }
}

#[test]
fn threads_are_bound_where_an_experiment_wants_that_and_nowhere_else() {
    if sys::cpu::allowed().unwrap().len() < 2 {
        return crate::testing::not_run("this machine has one CPU");
    }
    let Some(apache) = stranger("apache") else {
        return crate::testing::not_run("apache is not installed");
    };
    let place = place();
    let mut start = start(&place, &apache, Preset::Tuned);
    start.cpus = &[0, 1];
    let running = |pin: Pin| Running::start(&Start { pin, ..start }).unwrap();
    let look = |running: &mut Running| {
        running.look_before();
        running.look_after().threads
    };
    let free = look(&mut running(Pin::Mask));
    assert_eq!(free.keys().collect::<Vec<_>>(), ["0-1"], "{free:?}");
    let mut running = running(Pin::Thread);
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        // Apache listens before all of its threads are there.
        let bound = look(&mut running);
        let is_even = |bound: &BTreeMap<String, u32>| bound["0"].abs_diff(bound["1"]) <= 1;
        if bound.keys().eq(["0", "1"]) && is_even(&bound) {
            break;
        }
        assert!(Instant::now() < until, "{bound:?}");
    }
}

#[test]
fn a_server_of_two_workers_has_two() {
    if sys::cpu::allowed().unwrap().len() < 2 {
        return crate::testing::not_run("this machine has one CPU");
    }
    for installed in strangers() {
        let place = place();
        let mut start = start(&place, &installed, Preset::Tuned);
        start.cpus = &[0, 1];
        let running = Running::start(&start).unwrap();
        // The others have threads.
        let name = installed.product.name();
        let forks = ["apache", "lighttpd", "nginx"].contains(&name);
        let least = if forks { 3 } else { 1 };
        assert!(running.processes().len() >= least, "{name}");
        // They may begin after the first of them answers.
        let wanted = threads(&running).map(|_| start.cpus.len());
        let until = Instant::now() + Duration::from_secs(20);
        while threads(&running) != wanted && Instant::now() < until {
            std::thread::yield_now();
        }
        assert_eq!(threads(&running), wanted, "{name}");
        running.stop();
    }
}

fn pids(running: &Running) -> Vec<u32> {
    let all = running.processes();
    all.iter().map(|(pid, _)| *pid).collect()
}

/// How many threads of a server serve, where it has them for that and it can be told.
fn threads(running: &Running) -> Option<usize> {
    let pids = pids(running);
    let comms = |pid: u32| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
    };
    match running.installed.product.name() {
        // One thread of h2o is no worker.
        "h2o" => Some(comms(running.pid()?).count().saturating_sub(1)),
        "haproxy" => pids.iter().map(|pid| comms(*pid).count()).max(),
        "trafficserver" => {
            let serving = |pid: &u32| {
                comms(*pid)
                    .filter(|name| name.starts_with("[ET_NET"))
                    .count()
            };
            pids.iter().map(serving).max()
        }
        // Go starts threads as it needs them, and runs so many of them.
        "caddy" => {
            let environment = fs::read(format!("/proc/{}/environ", running.pid()?)).unwrap();
            let mut all = environment.split(|byte| *byte == 0);
            let most = all.find_map(|one| one.strip_prefix(b"GOMAXPROCS="))?;
            std::str::from_utf8(most).unwrap().parse().ok()
        }
        _ => None,
    }
}

/// The folder of `product` with other words for some in its files.
fn changed(product: &str, words: &[(&str, &str)]) -> Result<Installed, Absent> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join(product);
    fs::create_dir(&place).unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers");
    let mut left: Vec<&str> = words.iter().map(|(from, _)| *from).collect();
    for entry in fs::read_dir(own.join(product)).unwrap() {
        let entry = entry.unwrap();
        let mut text = fs::read_to_string(entry.path()).unwrap();
        for (from, to) in words {
            left.retain(|word| word != from || !text.contains(from));
            text = text.replace(from, to);
        }
        fs::write(place.join(entry.file_name()), text).unwrap();
    }
    assert_eq!(left, Vec::<&str>::new(), "{product} has these words");
    fs::write(place.join("behind.conf"), BEHIND).unwrap();
    let mut search = Search::of_system(PathBuf::from("/no/triathlon"));
    search.catalogue.add(folder.path()).unwrap();
    installed(search.catalogue.product(product).unwrap(), &search)
}

/// A server behind that is no part of this program.
const BEHIND: &str = include_str!("fixtures/behind.conf");

/// `product` with that server for origin behind it, and other words for some more.
fn before_nginx(product: &str, words: &[(&str, &str)]) -> Result<Installed, Absent> {
    let origin = "arguments = [\"serve\", \"{{ site }}\", \"--listen\", \"127.0.0.1:{{ port }}\", \
                  \"--workers\", \"1\"]";
    let nginx = include_str!("fixtures/behind.toml");
    let all = [
        &[("programs = [\"@triathlon\"]", ""), (origin, nginx)],
        words,
    ]
    .concat();
    changed(product, &all)
}

/// Whether anything of an answer comes within `patience` while all behind are stopped.
fn is_answered_alone(running: &Running, path: &str, patience: Duration) -> bool {
    let behind = running.behind();
    assert_eq!(behind.len(), 2, "a master and its worker");
    let tell = |signal: &str| {
        let pids = behind.iter().map(u32::to_string);
        let told = Command::new("kill").arg(signal).args(pids).status();
        assert!(told.unwrap().success());
    };
    tell("-STOP");
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, running.port())).unwrap();
    stream.set_read_timeout(Some(patience)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut byte = [0];
    let came = stream.read(&mut byte).is_ok_and(|count| count == 1);
    tell("-CONT");
    came
}

/// Whether a file below `folder` has these bytes.
fn is_stored_in(folder: &Path, bytes: &[u8]) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| match path.is_dir() {
        true => is_stored_in(&path, bytes),
        false => {
            fs::read(&path).is_ok_and(|file| file.windows(bytes.len()).any(|part| part == bytes))
        }
    })
}

/// While the server behind is frozen, what the cache has is answered all the same, and what it must
/// fetch is not, though it stores that too.
fn check_cache(cache: &Installed, variant: &str, preset: Preset<'_>, handler: &str) {
    let text = HANDLED.replace(HANDLERS, &format!("[\"{handler}\"]"));
    let experiment = experiment::parse("handlers", &text, &[]).unwrap();
    let place = place_of(&experiment);
    let needs = [handler.to_owned()];
    let mut start = start(&place, cache, preset);
    start.variant = variant;
    start.needs = &needs;
    start.is_checked = true;
    let running = Running::start(&start).unwrap();
    let what = format!("{} {preset:?} {handler}", cache.product.name());
    let document = place.site.document(model::Bytes::new(7));
    let content = fs::read(place.site.root().join(&document.path[1..])).unwrap();
    let path = match handler {
        "cache" => crate::site::relayed_at(handler, document),
        _ => crate::site::made_at(handler, document.bytes),
    };
    let ask = || {
        let (head, came) = fetch(running.port(), &path);
        assert!(head.starts_with("HTTP/1.1 200 "), "{what}: {head}");
        assert!(came == content, "{what}: {head}");
    };
    if handler == "cache" {
        // What came last may not be stored yet.
        let mut tries = 0..10;
        let is_hit = tries.any(|_| {
            ask();
            is_answered_alone(&running, &path, Duration::from_secs(2))
        });
        assert!(is_hit, "{what}");
    } else {
        ask();
        ask();
        let is_hit = is_answered_alone(&running, &path, Duration::from_millis(300));
        assert!(!is_hit, "{what}");
    }
    // The others keep it in memory.
    if ["apache", "nginx"].contains(&cache.product.name()) {
        let folder = running.directory.path().join("cache");
        let until = Instant::now() + Duration::from_secs(20);
        while !is_stored_in(&folder, &content) {
            assert!(Instant::now() < until, "{what}: it stores nothing");
            std::thread::yield_now();
        }
    }
    running.stop();
}

#[test]
fn a_hit_asks_nobody_and_a_miss_asks_the_server_behind() {
    let search = Search::of_system(PathBuf::from("/no/triathlon"));
    if search.program(&["nginx"]).is_none() {
        return crate::testing::not_run("nginx is not installed");
    }
    let both = ["cache", "cache-miss"];
    for (product, variant, handlers) in [
        ("apache", "event", &both[..]),
        ("apache", "prefork", &both),
        ("nginx", "", &both),
        ("trafficserver", "", &both[..1]),
        ("varnish", "nginx", &both),
    ] {
        let cache = match product {
            "varnish" => installed(search.catalogue.product(product).unwrap(), &search),
            _ => before_nginx(product, &[]),
        };
        let cache = match cache {
            Ok(found) => found,
            Err(absent) => {
                crate::testing::not_run(&absent.why);
                continue;
            }
        };
        for handler in handlers {
            for preset in [Preset::Stock, Preset::Tuned] {
                check_cache(&cache, variant, preset, handler);
            }
        }
    }
}

/// Each of two nginx has a master and a worker; the one behind takes part in what is fetched there.
#[test]
fn who_takes_no_part_in_an_answer_is_not_metered() {
    let installed = match before_nginx("nginx", &[]) {
        Ok(installed) => installed,
        Err(absent) => return crate::testing::not_run(&absent.why),
    };
    let place = place();
    let needs = ["static", "proxy"].map(str::to_owned);
    let mut start = start(&place, &installed, Preset::Tuned);
    start.needs = &needs;
    let mut running = Running::start(&start).unwrap();
    assert_eq!(running.group().unwrap().idle, [0; 0], "nobody has asked");
    let mut told = |asked_for: &str| {
        running.ask_for(&[asked_for.to_owned()]);
        running.look_before();
        let facts = running.look_after();
        let (before, after) = (facts.processes_before, facts.processes_after);
        assert_eq!(before, after);
        let mut usage = GroupUsage::default();
        memory(Path::new("/proc"), running.group().unwrap(), &mut usage);
        let threads: u32 = facts.threads.values().sum();
        let counted = (before.unwrap().len(), threads, running.behind().len());
        (counted, usage.memory_rss.unwrap())
    };
    let (all, alone) = (told("proxy"), told("static"));
    assert_eq!((all.0, alone.0), ((4, 4, 2), (2, 2, 0)));
    assert!(alone.1 < all.1, "{alone:?} of {all:?}");
}

/// By what its processes have loaded, and not by what its configuration says.
#[test]
fn apache_runs_the_mpm_that_its_variant_names() {
    let Some(installed) = stranger("apache") else {
        return crate::testing::not_run("apache is not installed");
    };
    // ITK stands on prefork.
    for (variant, module) in [
        ("event", "mod_mpm_event.so"),
        ("worker", "mod_mpm_worker.so"),
        ("prefork", "mod_mpm_prefork.so"),
        ("itk", "mpm_itk.so"),
    ] {
        for preset in [Preset::Tuned, Preset::Stock] {
            let place = place();
            let mut start = start(&place, &installed, preset);
            start.variant = variant;
            let running = Running::start(&start).unwrap();
            let mut seen = 0;
            for pid in pids(&running) {
                let loaded = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
                let loaded: Vec<&str> = loaded
                    .lines()
                    .filter(|line| line.contains("mpm_"))
                    .collect();
                let is_it = loaded.iter().any(|line| line.ends_with(module));
                assert!(is_it || loaded.is_empty(), "{variant}: {loaded:?}");
                seen += usize::from(is_it);
            }
            assert!(seen > 0, "{variant}");
            running.stop();
        }
    }
}

/// A server with a worker too few is not raced: it has not what it was given CPUs for.
#[test]
fn a_server_that_lacks_a_worker_is_told_so() {
    if sys::cpu::allowed().unwrap().len() < 2 {
        return crate::testing::not_run("this machine has one CPU");
    }
    let hurried = ("[process.ready]\n", "[process.ready]\nwithin = \"1s\"\n");
    let Ok(nginx) = changed("nginx", &[hurried]) else {
        return crate::testing::not_run("nginx is not installed");
    };
    let place = place();
    let mut start = start(&place, &nginx, Preset::Tuned);
    start.cpus = &[0, 1];
    let directives = [("worker_processes".to_owned(), "1".to_owned())];
    start.directives = &directives;
    let why = Running::start(&start).unwrap_err().to_string();
    assert!(why.contains("it has 2 of 3 processes"), "{why}");
}

/// The same of a server that is one process of threads, each of which has a CPU to serve on.
#[test]
fn a_server_that_lacks_a_thread_is_told_so() {
    if sys::cpu::allowed().unwrap().len() < 2 {
        return crate::testing::not_run("this machine has one CPU");
    }
    let hurried = (
        "threads = \"workers\"",
        "threads = \"workers\", within = \"2s\"",
    );
    for (product, asked) in [("haproxy", "nbthread "), ("h2o", "num-threads: ")] {
        let (all, one) = (format!("{asked}{{{{ workers }}}}"), format!("{asked}1"));
        let words = [hurried, (all.as_str(), one.as_str())];
        let served = match product {
            "haproxy" => before_nginx(product, &words),
            _ => changed(product, &words),
        };
        let served = match served {
            Ok(served) => served,
            Err(absent) => {
                crate::testing::not_run(&absent.why);
                continue;
            }
        };
        let place = place();
        let mut start = start(&place, &served, Preset::Stock);
        start.cpus = &[0, 1];
        let why = Running::start(&start).unwrap_err().to_string();
        assert!(why.contains("it has 1 of 2 threads that serve"), "{why}");
        assert_eq!(files_in(place.scratch.path()), ["www"], "{product}");
    }
}

/// Apache runs another number of workers than it is asked for, and says so when it starts.
#[test]
fn what_a_server_warns_of_when_it_starts_is_told_in_each_trial() {
    let Some(apache) = stranger("apache") else {
        return crate::testing::not_run("Apache is not installed");
    };
    let place = place();
    let mut start = start(&place, &apache, Preset::Stock);
    start.preset_name = "stock";
    let directives = [
        ("ServerLimit", "8192"),
        ("MaxRequestWorkers", "2048"),
        ("ThreadsPerChild", "25"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    start.directives = &directives;
    let mut running = Running::start(&start).unwrap();
    for _ in 0..2 {
        running.look_before();
        let facts = running.look_after();
        let [warning] = facts.warned_at_start.as_slice() else {
            panic!("{facts:?}");
        };
        assert!(
            warning.contains("2048") && warning.contains("2025"),
            "{warning}"
        );
        // On a busy machine it says that it runs after it has answered.
        let mut later = facts.error_log.iter();
        assert!(later.all(|line| line.contains(":notice]")), "{facts:?}");
    }
    running.stop();
}

#[test]
fn a_wrong_configuration_is_told_in_the_servers_own_words() {
    for installed in strangers() {
        let place = place();
        let start = start(
            &place,
            &installed,
            Preset::Template {
                path: "mine.conf",
                text: "no_such_word {port};\n",
            },
        );
        let error = Running::start(&start).unwrap_err().to_string();
        if error.contains("no configuration file that depends on the preset") {
            continue;
        }
        assert!(
            error.starts_with("label: it ended at once (exit code "),
            "{error}"
        );
        let (_, said) = error.split_once(".arguments): ").expect("its place");
        assert!(!said.is_empty(), "{error}");
        assert_eq!(files_in(place.scratch.path()), ["www"]);
        if installed.product.tested().is_empty() {
            continue;
        }
        // Its test says so before, and where.
        let error = Running::start(&Start {
            is_checked: true,
            ..start
        });
        let error = error.unwrap_err().to_string();
        for part in [
            "est of its configuration",
            ".check): ",
            "written from mine.conf",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let names_line = ["haproxy", "nginx"].contains(&installed.product.name());
        assert!(
            !names_line || error.contains(" is 'no_such_word "),
            "{error}"
        );
        assert!(!error.contains("server-"), "{error}");
        assert_eq!(files_in(place.scratch.path()), ["www"]);
    }
}

#[test]
fn what_the_error_log_gains_belongs_to_the_trial() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = ErrorLog::create(folder.path().join("error.log")).unwrap();
    writeln!(log.writer().unwrap(), "before").unwrap();
    log.skip();
    for number in 0..30 {
        writeln!(log.writer().unwrap(), "line {number}").unwrap();
    }
    let (lines, count) = log.gained();
    assert_eq!((lines.len(), count), (20, 30));
    assert_eq!(lines[0], "line 0");
    assert_eq!(log.gained(), (Vec::new(), 0));
}

/// A shell that is taken for a server and runs a script; `more` are more lines of its folder.
fn shell(script: &str, more: &str) -> Installed {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("shell")).unwrap();
    let text = format!(
        "install = ''\n[access_log.off]\n[[process]]\nprograms = ['sh']\n\
         arguments = ['-c', \"\"\"{script}\"\"\"]\n{more}"
    );
    fs::write(folder.path().join("shell/server.toml"), text).unwrap();
    let mut search = Search::of_system(PathBuf::from("/no/triathlon"));
    search.catalogue.add(folder.path()).unwrap();
    installed(search.catalogue.product("shell").unwrap(), &search).unwrap()
}

/// What makes answers beside a server stands behind its version, where it is asked for.
#[test]
fn a_version_tells_what_makes_the_answers() {
    let makers = "[handler]\nstatic = {}\nmade = { versions = [\n\
        { programs = ['no-such', 'sh'], arguments = ['-c', 'echo maker 7'], pattern = 'm.* 7' },\n\
        { programs = ['no-such'], arguments = [], pattern = '.' },\n\
        { programs = ['sh'], arguments = ['-c', 'echo'], pattern = 'nothing' },\n\
        ] }\n";
    let installed = shell("exit 1", makers);
    let place = place();
    let version = |needs: &[String]| {
        let mut start = start(&place, &installed, Preset::Tuned);
        start.needs = needs;
        look::facts_of(&start, &[], Vec::new()).version
    };
    assert_eq!(version(&["static".to_owned()]), "does not tell its version");
    let told = version(&["made".to_owned()]);
    assert_eq!(told, "does not tell its version, maker 7");
    let of_preset = "[preset.tuned]\nversions = [\n\
        { programs = ['sh'], arguments = ['-c', 'echo tuner 7'], pattern = '.+' }]\n";
    let installed = shell("exit 1", of_preset);
    let version = |preset, preset_name| {
        let mut start = start(&place, &installed, preset);
        start.preset_name = preset_name;
        look::facts_of(&start, &[], Vec::new()).version
    };
    let told = version(Preset::Tuned, "tuned");
    assert_eq!(told, "does not tell its version, tuner 7");
    assert_eq!(version(Preset::Stock, "stock"), "does not tell its version");
}

/// Why the lab does not start a server that does what `script` says.
fn refusal(script: &str) -> String {
    refusal_of(&shell(script, ""))
}

fn refusal_of(installed: &Installed) -> String {
    let place = place();
    let started = Running::start(&start(&place, installed, Preset::Tuned));
    assert_eq!(files_in(place.scratch.path()), ["www"]);
    let told = started.unwrap_err().to_string();
    // The folder that holds it has another name each time.
    match told.split_once("; /") {
        Some((before, place)) if place.contains("shell/server.toml") => {
            let at = place.find("shell/server.toml").unwrap();
            format!("{before}; {}", &place[at..])
        }
        _ => told,
    }
}

#[test]
fn a_server_that_does_not_come_up_is_given_up() {
    assert_eq!(
        refusal("echo sorry >&2; exit 4"),
        "label: it ended at once (exit code 4; shell/server.toml:5: process[0].arguments): sorry"
    );
    assert_eq!(
        refusal("exit 4"),
        "label: it ended at once (exit code 4; shell/server.toml:5: process[0].arguments) and said \
         nothing"
    );
    assert_eq!(
        refusal("exit 0"),
        "label: it ended at once (exit code 0; shell/server.toml:5: process[0].arguments) and \
         said nothing; if it put itself into the background, start it so that it stays in the \
         foreground"
    );
}

/// Why the lab does not start a server that tests its configuration as `check` says.
fn refusal_of_test(check: &str) -> String {
    let checked = shell("exit 4", &format!("check = {check}\n"));
    let place = place();
    let told = Running::start(&Start {
        is_checked: true,
        ..start(&place, &checked, Preset::Tuned)
    });
    assert_eq!(files_in(place.scratch.path()), ["www"]);
    let told = told.unwrap_err().to_string();
    let (before, after) = told.split_once("; /").unwrap_or_else(|| panic!("{told}"));
    let at = after.find("shell/server.toml").unwrap();
    format!("{before}; {}", &after[at..])
}

#[test]
fn a_configuration_that_fails_its_own_test_is_not_started() {
    assert_eq!(
        refusal_of_test("{ arguments = ['-c', 'echo one; echo two >&2; exit 3'] }"),
        "label: its own test of its configuration fails (exit code 3; shell/server.toml:6: \
         process[0].check): one | two"
    );
    assert_eq!(
        refusal_of_test("{ arguments = ['-c', 'exit 3'] }"),
        "label: its own test of its configuration fails (exit code 3; shell/server.toml:6: \
         process[0].check) and says nothing"
    );
    // What passes goes on to the start.
    assert_eq!(
        refusal_of_test("{ arguments = ['-c', 'echo fine'] }"),
        "label: it ended at once (exit code 4; shell/server.toml:5: process[0].arguments) and said \
         nothing"
    );
}

#[test]
fn a_test_of_a_configuration_has_its_time_and_leaves_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    // It waits for what it started, which would not end.
    let script = format!("sleep 600 & echo $! > {}; wait", pid.display());
    let check = format!("{{ arguments = ['-c', '{script}'], within = '2s' }}");
    let checked = shell("exit 4", &format!("check = {check}\n"));
    let place = place();
    let told = Running::start(&Start {
        is_checked: true,
        ..start(&place, &checked, Preset::Tuned)
    });
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("test of its configuration has not ended after 2 s ("),
        "{told}"
    );
    assert_eq!(files_in(place.scratch.path()), ["www"]);
    // On a busy machine it may not have come so far in its time.
    if let Some(pid) = fs::read_to_string(&pid)
        .ok()
        .and_then(|pid| pid.trim().parse().ok())
    {
        let stat = process::stat(Path::new("/proc"), pid);
        assert!(!stat.is_ok_and(|stat| stat.state != 'Z'), "{pid} lives");
    }
}

/// What comes of a reload that is the command `script` of a server, which says what it does in a
/// file; and the facts of the trial.
fn reloaded_by(script: &str, within: &str) -> (Result<(), String>, Option<model::Span>) {
    let reload = format!(
        "ready = {{ listens = false }}\n\
         reload = {{ arguments = ['-c', '{script}'], within = '{within}' }}\n"
    );
    let place = place();
    let served = shell("exec sleep 600", &reload);
    let start = Start {
        reload: true,
        ..start(&place, &served, Preset::Tuned)
    };
    let mut running = Running::start(&start).unwrap();
    running.look_before();
    running.reload(Duration::from_secs(1));
    let ended = running.end_reload().map_err(|why| why.to_string());
    assert_eq!(running.processes().len(), 1, "{script}: the server lives");
    (ended, running.look_after().reloaded)
}

#[test]
fn a_command_makes_a_server_read_its_configuration_again() {
    let after = Some(model::Span::from_s(1));
    assert_eq!(reloaded_by("exit 0", "20s"), (Ok(()), after));
    let (ended, after) = reloaded_by("echo one; echo two >&2; exit 3", "20s");
    let why = ended.unwrap_err();
    let expected = "label: the command that makes it read its configuration again fails (exit code \
                    3; ";
    assert!(why.starts_with(expected), "{why}");
    let expected = "shell/server.toml:7: process[0].reload): one | two";
    assert!(why.ends_with(expected), "{why}");
    assert_eq!(after, None);
    let why = reloaded_by("sleep 600 & wait", "100ms").0.unwrap_err();
    assert!(why.contains("has not ended after 0.1 s ("), "{why}");
}

#[test]
fn a_program_that_would_make_it_read_its_configuration_again_is_looked_for() {
    let told = shell(
        "",
        "reload = { programs = ['no-such-program'], arguments = [] }\n",
    );
    assert_eq!(
        told.cannot_reload().unwrap().why,
        "shell cannot be told to read its configuration again: no program no-such-program was found"
    );
    let told = shell("", "reload = { programs = ['true'], arguments = [] }\n");
    assert_eq!(told.cannot_reload(), None);
}

#[test]
fn a_server_that_puts_itself_into_the_background_is_ended_and_told_so() {
    // Without a subreaper what remains would come to init, and only a control group would tell.
    sys::process::become_subreaper().unwrap();
    let told = refusal(
        "(setsid sh -c 'echo went away; exec sleep 600' &); while ! grep -q away error.log; do \
         sleep 0.01; done; exit 0",
    );
    let (before, after) = told
        .split_once("sleep (process ")
        .unwrap_or_else(|| panic!("{told}"));
    assert_eq!(
        before,
        "label: it ended at once (exit code 0; shell/server.toml:5: process[0].arguments) and left "
    );
    let (pid, after) = after.split_once(") ").unwrap();
    assert_eq!(
        after,
        "running: it put itself into the background; start it so that it stays in the foreground: \
         went away"
    );
    let stat = process::stat(Path::new("/proc"), pid.parse().unwrap());
    // It has ended, whether or not it was waited for by now.
    assert!(
        stat.as_ref().is_ok_and(|stat| stat.state == 'Z') || stat.is_err(),
        "{stat:?}"
    );
}

#[test]
fn nginx_without_daemon_off_is_ended_and_told_so() {
    let Some(installed) = stranger("nginx") else {
        return crate::testing::not_run("nginx is not installed");
    };
    sys::process::become_subreaper().unwrap();
    let place = place();
    let template = "pid \"{directory}/nginx.pid\"; events {} http {
        client_body_temp_path \"{directory}/tmp/b\"; proxy_temp_path \"{directory}/tmp/p\";
        fastcgi_temp_path \"{directory}/tmp/f\"; uwsgi_temp_path \"{directory}/tmp/u\";
        scgi_temp_path \"{directory}/tmp/s\"; access_log off;
        server { listen 127.0.0.1:{port}; }
    }";
    let start = start(
        &place,
        &installed,
        Preset::Template {
            path: "mine.conf",
            text: template,
        },
    );
    // It may listen before its first process is seen to end.
    let told = Running::start(&start).and_then(|mut running| {
        let until = Instant::now() + Duration::from_secs(20);
        while running.ended(AT_ONCE).is_none() {
            assert!(Instant::now() < until, "it does not end");
            running.processes[0].child.wait(Duration::from_millis(20));
        }
        let why = running.ended(AT_ONCE).unwrap();
        Err::<(), _>(running.failed(why))
    });
    let told = told.unwrap_err().to_string();
    for words in [
        "label: it ended at once (exit code 0; servers/nginx/server.toml:",
        ".arguments) and left nginx (process ",
        "it put itself into the background; write 'daemon off;'",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let (_, rest) = told.split_once("(process ").unwrap();
    let pid: u32 = rest.split_once(')').unwrap().0.parse().unwrap();
    let root = Path::new("/proc");
    let lives = process::stat(root, pid).is_ok_and(|stat| stat.state != 'Z');
    assert!(!lives, "{told}");
    assert_eq!(process::session_members(root, pid), Vec::<u32>::new());
    assert_eq!(files_in(place.scratch.path()), ["www"]);
}

#[test]
fn a_server_that_never_becomes_ready_is_told_with_file_and_line() {
    let silent = shell(
        "echo starting; exec sleep 600",
        "ready = { within = '50ms' }\n",
    );
    let told = refusal_of(&silent);
    let (start, place) = told.split_once(" (").unwrap();
    assert_eq!(start, "label: it is not ready after 0.05 s");
    let (file, rest) = place.split_once("server.toml:6: ").unwrap();
    assert!(file.ends_with("shell/"), "{told}");
    let (lacks, said) = rest.rsplit_once(": ").unwrap();
    assert!(
        lacks.starts_with("process[0].ready.within): it does not listen on port "),
        "{told}"
    );
    assert_eq!(said, "starting");

    let lonely = shell(
        "exec sleep 600",
        "ready = { within = '50ms', processes = '1 + workers', listens = false }\n",
    );
    let told = refusal_of(&lonely);
    assert!(told.ends_with("): it has 1 of 2 processes"), "{told}");
}

#[test]
fn the_processes_of_a_rig_start_in_order_and_stop_in_reverse() {
    // Each says that it begins, then has a child, which makes it ready; and that it ends.
    let script = |name: &str| {
        format!(
            "trap 'echo {name} ends >&2; exit 0' TERM; echo {name} {{{{ port }}}} \
             {{{{ ports.back }}}} >&2; sleep 600 & wait"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("rig")).unwrap();
    let process = |name: &str| {
        format!(
            "[[process]]\nname = '{name}'\nprograms = ['sh']\n\
             version = {{ arguments = ['-c', 'echo {name} 1'], pattern = '.+' }}\n\
             arguments = ['-c', \"\"\"{}\"\"\"]\nready = {{ listens = false, processes = '2' }}\n",
            script(name)
        )
    };
    let text = format!(
        "install = ''\n[access_log.off]\n{}{}",
        process("back"),
        process("front")
    );
    fs::write(folder.path().join("rig/server.toml"), text).unwrap();
    let mut search = Search::of_system(PathBuf::from("/no/triathlon"));
    search.catalogue.add(folder.path()).unwrap();
    let rig = installed(search.catalogue.product("rig").unwrap(), &search).unwrap();
    assert_eq!(rig.version, "front 1, back 1");
    let place = place();
    let running = Running::start(&start(&place, &rig, Preset::Tuned)).unwrap();
    let log = running.directory.path().join("error.log");
    let kept = File::open(&log).unwrap();
    let (back, front) = (running.processes[0].launch.port, running.port());
    assert_ne!(back, front);
    assert_eq!(
        fs::read_to_string(&log).unwrap(),
        format!("back {back} {back}\nfront {front} {back}\n")
    );
    assert_eq!(running.processes().len(), 4);
    let pids: Vec<u32> = running
        .processes
        .iter()
        .map(|one| one.child.pid())
        .collect();
    running.stop();
    let text = std::io::read_to_string(kept).unwrap();
    assert!(text.ends_with("\nfront ends\nback ends\n"), "{text}");
    for pid in pids {
        assert_eq!(
            process::session_members(Path::new("/proc"), pid),
            Vec::<u32>::new()
        );
    }
}

/// A generator that kills a server's first process in the middle of its load.
struct Killer {
    pid: u32,
    /// Who lives of the server after the next event.
    left: Vec<u32>,
}

impl Generator for Killer {
    fn run(&mut self, plan: &PlanFile, watch: &mut Watch<'_>) -> Result<Trial, LabError> {
        let root = Path::new("/proc");
        let mut kill = Command::new("kill");
        kill.args(["-KILL", &self.pid.to_string()]);
        assert!(kill.status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(20);
        while process::stat(root, self.pid).is_ok_and(|stat| stat.state != 'Z') {
            assert!(Instant::now() < until, "it does not end");
            std::thread::yield_now();
        }
        for phase in [Phase::Measurement, Phase::Drain] {
            let monotonic_ns = sys::clock::monotonic();
            let event = Event::Phase {
                phase,
                monotonic_ns,
            };
            watch(&event, None);
            self.left = process::session_members(root, self.pid);
        }
        Ok(Trial {
            format: 1,
            point: None,
            plan: plan.clone(),
            environment: model::Environment::default(),
            record: model::Record::default(),
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

#[test]
fn helpers_that_end_as_soon_as_they_may_are_no_loss() {
    let script = "mkfifo '{{ directory }}/hold'
        for one in $(seq 60); do cat '{{ directory }}/hold' & done
        exec sleep 600";
    let served = shell(script, "ready = { listens = false, processes = '61' }\n");
    let place = place();
    let guard = sys::process::Guard::start().unwrap();
    let mut running = Running::start(&start(&place, &served, Preset::Tuned)).unwrap();
    let hold = running.directory.path().join("hold");
    let hold = File::options().read(true).write(true).open(hold).unwrap();
    running.freeze(&guard).unwrap();
    // What they wait for comes while they are frozen: nothing more to read.
    drop(hold);
    assert_eq!(running.wake(), Ok(true));
    assert_eq!(running.wake(), Ok(false));

    // Whoever is killed is a loss.
    running.freeze(&guard).unwrap();
    let pid = running.pid().unwrap().to_string();
    let kill = Command::new("kill").args(["-KILL", &pid]).status();
    assert!(kill.unwrap().success());
    let is_gone = || {
        let stat = process::stat(Path::new("/proc"), running.pid().unwrap());
        stat.is_err() || stat.is_ok_and(|stat| stat.state == 'Z')
    };
    let until = Instant::now() + Duration::from_secs(20);
    while !is_gone() {
        assert!(Instant::now() < until, "{pid} was killed and lives");
        std::thread::yield_now();
    }
    let lost = running.wake().unwrap_err();
    assert!(lost.contains("while it was frozen"), "{lost}");
}

#[test]
fn workers_do_not_outlive_a_master_that_is_killed_in_the_middle_of_a_trial() {
    for installed in strangers() {
        let name = installed.product.name().to_owned();
        let place = place();
        let mut running = Running::start(&start(&place, &installed, Preset::Tuned)).unwrap();
        // Helpers of others, as h2o's, may end by themselves when their master has gone.
        let leaves_workers = ["nginx", "apache"].contains(&name.as_str());
        let mut killer = Killer {
            pid: running.pid().unwrap(),
            left: Vec::new(),
        };
        let target = Target {
            place: running.place(),
            requests: vec![Wanted::file("/", 0, None)],
            script: None,
        };
        let plan = trial::plan(
            &target,
            &Load::one_exchange(model::Span::from_s(1), 1),
            &[0],
        );
        let host = Host {
            listen: Ipv4Addr::LOCALHOST,
            is_asked_from_elsewhere: false,
            read: &model::Environment::default,
        };
        let surroundings = Surroundings {
            host: &host,
            environment: &model::Environment::default(),
            cpu_choice: "",
            generator_cpus: &[],
            overload: false,
            reload: false,
        };
        let point = model::Point::default();
        let trial = trial::measure(&mut killer, &mut running, &plan, point, &surroundings);
        let facts = trial.unwrap().context.server.unwrap();
        assert_eq!(facts.exit.as_deref(), Some("ended by signal 9"), "{name}");
        assert_eq!(
            killer.left,
            Vec::<u32>::new(),
            "{name}: while the trial went on"
        );
        assert_eq!(running.processes(), Vec::new(), "{name}");
        let why = running.ended("by itself").unwrap();
        assert!(
            why.contains("ended by itself (ended by signal 9)"),
            "{name}: {why}"
        );
        assert!(!why.contains("background"), "{name}: {why}");
        let told = why.contains(" of it was ended too");
        assert!(told || !leaves_workers, "{name}: {why}");
    }
}
