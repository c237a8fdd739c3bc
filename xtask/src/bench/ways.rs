//! Comparisons of one way to ask with another: what URLs, scripts and source addresses cost.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};

use super::generator::{Ask, FAR_ABOVE, Generator};
use super::server::Server;
use super::table::{cpu_ratio, rate_beside, rate_ratio, table};
use super::{Contest, NULL_RESPONDER, Setting, contest};

/// How many URLs there are.
const URLS: usize = 1_000;
/// How many source addresses there are, and connections that have them.
const SOURCES: u32 = 12_000;

/// The CPU time of `ours` per answer in each way but the last, as a ratio to that in the last.
fn ways(setting: &Setting, contests: &[Contest<'_>], most: f64) -> Result<()> {
    let rows = contest(setting, contests)?;
    let Some(((other, ..), others)) = contests.split_last() else {
        return Ok(());
    };
    table(&rows, &[other]);
    for (one, ..) in others {
        cpu_ratio(&rows, one, other, Some(most));
    }
    Ok(())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Writes `text` into a file beside those that are served: its path.
pub(super) fn write(setting: &Setting, name: &str, text: &str) -> Result<String> {
    let path = setting.site.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let path = path
        .to_str()
        .context("the temporary folder has no name in UTF-8")?;
    Ok(path.to_owned())
}

pub(super) fn heads(setting: &Setting) -> Result<()> {
    let null = |heads| Server::null(&setting.programs, setting.server_cpu, &["--heads", heads]);
    let (changing, fixed) = (null("changing")?, null("fixed")?);
    let (ours, ask) = (Generator::TriathlonUring, Ask::of("/"));
    let contests = [
        ("changing", ours, &changing, ask),
        ("fixed", ours, &fixed, ask),
    ];
    ways(setting, &contests, 1.03)
}

pub(super) fn urls(setting: &Setting) -> Result<()> {
    let server = Server::null(&setting.programs, setting.server_cpu, &[])?;
    let mut list = String::new();
    for number in 0..URLS {
        writeln!(list, "/item/{number}")?;
    }
    let list = ["--urls".to_owned(), write(setting, "urls.txt", &list)?];
    let numbers: Vec<String> = (0..URLS).map(|number| format!("\"{number}\"")).collect();
    let steps = format!(
        "[variables]\nitem = {{ list = [{}] }}\n\n[[step]]\nget = \"/item/${{item}}\"\n",
        numbers.join(", ")
    );
    let filled_in = ["--script".to_owned(), write(setting, "items.toml", &steps)?];
    let (ours, ask) = (Generator::TriathlonUring, Ask::of("/item/0"));
    let contests = [
        ("1,000 URLs", ours, &server, ask.with(&list)),
        ("1,000 URLs, filled in", ours, &server, ask.with(&filled_in)),
        ("one URL", ours, &server, ask),
    ];
    ways(setting, &contests, 1.15)
}

pub(super) fn script(setting: &Setting) -> Result<()> {
    let server = Server::null(&setting.programs, setting.server_cpu, &[])?;
    let steps = "[[step]]\nget = \"/\"\n\n[[step]]\nname = \"other\"\nget = \"/other\"\n";
    let script = ["--script".to_owned(), write(setting, "steps.toml", steps)?];
    let (ours, ask) = (Generator::TriathlonUring, Ask::of("/"));
    let contests = [
        ("script", ours, &server, ask.with(&script)),
        ("plain", ours, &server, ask),
    ];
    ways(setting, &contests, 1.1)
}

/// wrk's own way to make a request and to look at an answer.
const LUA: &str = "local count = 0
request = function()
   count = count + 1
   wrk.headers['X-Counter'] = count
   return wrk.format(nil, '/' .. count % 1000)
end
response = function(status, headers, body)
   if status ~= 200 then wrk.thread:stop() end
end
";

pub(super) fn lua(setting: &Setting) -> Result<()> {
    let server = Server::null(&setting.programs, setting.server_cpu, &[])?;
    let file = write(setting, "script.lua", LUA)?;
    let (ours, theirs) = (words(&["--lua", &file]), words(&["-s", &file]));
    let ask = Ask::of("/");
    let contests = [
        (
            "triathlon load --lua",
            Generator::TriathlonUring,
            &server,
            ask.with(&ours),
        ),
        ("wrk -s", Generator::Wrk, &server, ask.with(&theirs)),
    ];
    ways(setting, &contests, 1.0)
}

/// Where Debian has the scripts that come with wrk.
const OWN: &str = "/usr/share/doc/wrk/examples/scripts";
/// One of them: its file, what its rows are called, who answers, over how many connections.
type OwnScript = (&'static str, [&'static str; 2], Answering, u32);

/// Who answers a script.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Answering {
    /// The null server, which takes what arrives at once for one request.
    Null,
    /// Our own server with a file, where requests come several at once.
    Origin,
}

/// All but `stop.lua`, whose run is over after a hundred answers: too few to tell what one costs.
/// One that waits between its requests has so many connections that there is something to measure.
const OWN_SCRIPTS: [OwnScript; 8] = [
    (
        "addr.lua",
        ["load, addr.lua", "wrk, addr.lua"],
        Answering::Null,
        64,
    ),
    (
        "auth.lua",
        ["load, auth.lua", "wrk, auth.lua"],
        Answering::Null,
        64,
    ),
    (
        "counter.lua",
        ["load, counter.lua", "wrk, counter.lua"],
        Answering::Null,
        64,
    ),
    (
        "delay.lua",
        ["load, delay.lua", "wrk, delay.lua"],
        Answering::Null,
        1_000,
    ),
    (
        "pipeline.lua",
        ["load, pipeline.lua", "wrk, pipeline.lua"],
        Answering::Origin,
        64,
    ),
    (
        "post.lua",
        ["load, post.lua", "wrk, post.lua"],
        Answering::Null,
        64,
    ),
    (
        "report.lua",
        ["load, report.lua", "wrk, report.lua"],
        Answering::Null,
        64,
    ),
    (
        "setup.lua",
        ["load, setup.lua", "wrk, setup.lua"],
        Answering::Null,
        64,
    ),
];

pub(super) fn own_lua(setting: &Setting) -> Result<()> {
    let null = Server::null(&setting.programs, setting.server_cpu, &[])?;
    write(setting, "index.html", "1234567")?;
    let origin = Server::origin(&setting.programs, &setting.site, setting.server_cpu, None)?;
    for (script, [ours, theirs], answering, connections) in OWN_SCRIPTS {
        let server = if answering == Answering::Null {
            &null
        } else {
            &origin
        };
        let ask = Ask {
            connections,
            ..Ask::of("/")
        };
        let file = format!("{OWN}/{script}");
        let (with_load, with_wrk) = (words(&["--lua", &file]), words(&["-s", &file]));
        let uring = Generator::TriathlonUring;
        let contests = [
            (ours, uring, server, ask.with(&with_load)),
            (theirs, Generator::Wrk, server, ask.with(&with_wrk)),
        ];
        ways(setting, &contests, 1.0)?;
    }
    Ok(())
}

pub(super) fn ceiling(setting: &Setting) -> Result<()> {
    let server = Server::null(&setting.programs, setting.server_cpu, &[])?;
    let open = words(&["--rate", FAR_ABOVE]);
    let (ours, ask) = (Generator::TriathlonUring, Ask::of("/"));
    let mut contests = vec![
        ("open loop", ours, &server, ask.with(&open)),
        ("closed loop", ours, &server, ask),
        ("bare io_uring loop", Generator::BareUring, &server, ask),
    ];
    match Generator::Zrk.missing() {
        None => contests.push(("zrk, open loop", Generator::Zrk, &server, ask)),
        // No package has it.
        Some(_) => println!("  zrk is not installed (https://github.com/zoxy-io/zrk)"),
    }
    let rows = contest(setting, &contests)?;
    table(&rows, &["closed loop"]);
    rate_ratio(&rows, "open loop", "closed loop", 0.95);
    rate_ratio(&rows, "open loop", "zrk, open loop", 1.25);
    // What a loop reaches that checks nothing and has no schedule: nobody can be further ahead.
    rate_beside(&rows, "bare io_uring loop", "zrk, open loop");
    Ok(())
}

pub(super) fn sources(setting: &Setting) -> Result<()> {
    let server = Server::origin(&setting.programs, &setting.site, setting.server_cpu, None)?;
    let many = words(&["--interface", "127.1.0.1-127.1.46.224"]);
    let one = words(&["--interface", "127.1.0.1"]);
    let ask = Ask {
        connections: SOURCES,
        ..Ask::of(NULL_RESPONDER)
    };
    let ours = Generator::TriathlonUring;
    let contests = [
        ("12,000 addresses", ours, &server, ask.with(&many)),
        ("one address", ours, &server, ask.with(&one)),
    ];
    ways(setting, &contests, 1.1)
}
