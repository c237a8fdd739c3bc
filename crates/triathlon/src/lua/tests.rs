use std::net::TcpListener;

use load::author::Author;
use model::Span;

use super::*;

/// Somebody who listens, and the URL of that: a script with `setup` connects.
fn listening() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    (listener, url)
}

/// The script in `code`, for so many threads.
fn read(code: &str, url: &str, words: &[&str], threads: u32) -> Result<Script, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.lua");
    std::fs::write(&path, code).expect("a file");
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let request = RequestFile::get(url);
    let script = Script::read(&path, &words, &request, &[], threads);
    script.map_err(|error| error.to_string())
}

fn script(code: &str) -> Script {
    read(code, "http://127.0.0.1:81/x?y=1", &[], 1).unwrap_or_else(|why| panic!("{why}: {code}"))
}

fn author(script: &Script) -> Box<dyn Author> {
    script.states[0].author(0)
}

fn asked(author: &mut dyn Author) -> String {
    let mut out = Vec::new();
    author.request(&mut out).expect("a request");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_script_that_only_says_what_is_asked_is_a_plan() {
    let check = |code: &str, expected: &dyn Fn(&RequestFile)| {
        let script = script(code);
        assert!(!script.lua.takes_part(), "{code}");
        expected(&script.request);
    };
    check("", &|request| {
        assert_eq!(request, &RequestFile::get("http://127.0.0.1:81/x?y=1"));
    });
    check(
        "wrk.method = 'POST' wrk.body = 'a=b' wrk.headers['X-A'] = 7 wrk.path = '/form'",
        &|request| {
            assert_eq!(request.method, "POST");
            assert_eq!(request.url, "http://127.0.0.1:81/form");
            assert_eq!(request.headers, [("X-A".to_owned(), "7".to_owned())]);
            assert_eq!(request.body_base64.as_deref(), Some("YT1i"));
        },
    );
    check("wrk.body = ''", &|request| {
        assert_eq!(request.body_base64.as_deref(), Some(""));
    });
    check("wrk.headers.Host = 'other.test'", &|request| {
        let host = ("Host".to_owned(), "other.test".to_owned());
        assert_eq!(request.headers, [host]);
    });
    check("function done() end", &|_| ());
    let (_listener, url) = listening();
    let setup = read("function setup() end", &url, &[], 2).expect("a script");
    assert!(!setup.lua.takes_part() && setup.addresses.len() == 1);
}

#[test]
fn what_a_plan_cannot_say_is_left_to_the_script() {
    let closes = script("wrk.headers.Connection = 'close'");
    assert!(closes.lua.asks);
    assert!(asked(&mut *author(&closes)).contains("\r\nConnection: close\r\n"));
    let code = "local n = 0
        function setup(thread) thread:set('number', n) n = n + 1 end
        function init() wrk.path = '/' .. number end";
    let (_listener, url) = listening();
    let each = read(code, &url, &[], 2).expect("a script");
    assert!(each.lua.asks);
    let second = asked(&mut *each.states[1].author(1));
    assert!(second.starts_with("GET /1 HTTP/1.1\r\n"), "{second}");
}

#[test]
fn the_table_wrk_is_that_of_wrk() {
    let code = "assert(wrk.scheme == 'http' and wrk.host == '127.0.0.1' and wrk.port == '81')
        assert(wrk.path == '/x?y=1' and wrk.method == 'GET' and wrk.body == nil)
        assert(next(wrk.headers) == nil and require 'wrk' == wrk)
        assert(bit.band(6, 3) == 2 and jit.version)
        assert(package.loadlib == nil and debug == nil)
        function init(args)
           assert(args[0] == 'http://127.0.0.1:81/x?y=1' and #args == 2 and args[2] == '-b')
           assert(wrk.headers.Host == '127.0.0.1:81')
           assert(type(wrk.thread) == 'userdata')
           local made = wrk.format('PUT', '/p', { A = 1 }, 'four')
           assert(made:find('^PUT /p HTTP/1.1\\r\\n') and made:find('\\r\\n\\r\\nfour$'))
           assert(made:find('A: 1\\r\\n') and made:find('Content%-Length: 4\\r\\n'))
           assert(made:find('Host: 127.0.0.1:81\\r\\n'))
           local addrs = wrk.lookup('127.0.0.1', 'http')
           assert(#addrs == 1 and tostring(addrs[1]) == '127.0.0.1:80')
           assert(('%s'):format(addrs[1]) == '127.0.0.1:80')
           wrk.thread.addr = addrs[1]
           assert(tostring(wrk.thread.addr) == '127.0.0.1:80')
           assert(not pcall(wrk.connect, 'nowhere'))
           assert(not pcall(function() wrk.thread.name = 1 end))
        end";
    let script = read(code, "http://127.0.0.1:81/x?y=1", &["a", "-b"], 1);
    let script = script.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(script.addresses, ["127.0.0.1:80".parse().expect("one")]);
    let six = "assert(wrk.host == '::1' and wrk.port == nil and wrk.path == '/')
        function init() assert(wrk.headers.Host == '[::1]') end";
    read(six, "http://[::1]", &[], 1).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn values_go_from_thread_to_thread() {
    let code = "local threads = {}
        function setup(thread)
           thread:set('given', { 1, two = { true, 'x' } })
           assert(not pcall(thread.set, thread, 'f', print))
           local itself = {} itself[1] = itself
           assert(not pcall(thread.set, thread, 'i', itself))
           table.insert(threads, thread)
        end
        function init() counter = given[1] + #given.two end
        function done()
           local all = {}
           for _, thread in ipairs(threads) do all[#all + 1] = thread:get('counter') end
           sum = all[1] + all[2]
           assert(threads[1]:get('nothing') == nil and threads[1]:get('given').two[2] == 'x')
           local is_done, why = pcall(threads[1].get, threads[1], 'init')
           assert(why:find(\"cannot transfer 'function' to thread\"), why)
        end";
    let (_listener, url) = listening();
    let script = read(code, &url, &[], 2);
    let script = script.unwrap_or_else(|why| panic!("{why}"));
    script.done(&Finished::default()).expect("it is done");
    let sum: f64 = script.main.lua().globals().raw_get("sum").expect("a sum");
    assert!((sum - 6.0).abs() < 1e-9);
}

#[test]
fn done_is_told_what_wrk_tells() {
    let code = "function done(summary, latency, requests)
           local errors = summary.errors
           assert(summary.duration == 2000000 and summary.requests == 10 and summary.bytes == 99)
           assert(errors.connect == 1 and errors.read == 2 and errors.write == 3)
           assert(errors.status == 4 and errors.timeout == 5)
           assert(latency.min == 10 and latency.max == 30 and latency.mean == 17.5)
           assert(latency.stdev == 7.5 and #latency == 3)
           assert(latency:percentile(50) == 20 and latency:percentile(99.999) == 30)
           assert(latency:percentile(10) == 10 and latency:percentile(100) == 30)
           local value, count = latency(2)
           assert(value == 20 and count == 3)
           assert(latency(4) == 0 and requests.max == 7 and requests:percentile(1) == 7)
           was_called = true
        end";
    let script = script(code);
    let finished = Finished {
        duration_us: 2_000_000,
        requests: 10,
        bytes: 99,
        errors: [
            ("connect", 1),
            ("read", 2),
            ("write", 3),
            ("status", 4),
            ("timeout", 5),
        ],
        latency: Statistics {
            values: vec![(10, 4), (20, 3), (30, 1)],
            mean: 17.5,
            deviation: 7.5,
        },
        rates: Statistics {
            values: vec![(7, 2)],
            mean: 7.0,
            deviation: 0.0,
        },
    };
    script
        .done(&finished)
        .unwrap_or_else(|error| panic!("{error}"));
    let globals = script.main.lua().globals();
    let was_called: bool = globals.raw_get("was_called").expect("a truth");
    assert!(was_called);
}

#[test]
fn the_functions_of_a_script_work_in_a_run() {
    let code = "local n = 0
        function request() n = n + 1 return wrk.format(nil, '/' .. n) end
        function response(status, headers, body)
           if headers['X-Stop'] then wrk.thread:stop() end
           seen = status .. headers['Content-Type'] .. body
           request = function() return wrk.format('HEAD') end
        end
        function delay() return 12.9 end";
    let script = script(code);
    let lua = &script.lua;
    assert!(lua.asks && lua.hears && lua.waits && lua.name == "s.lua");
    assert_eq!(lua.sha256.len(), 64);
    let mut author = author(&script);
    // The first was asked for to see what it is.
    assert!(asked(&mut *author).starts_with("GET /2 HTTP/1.1\r\n"));
    assert_eq!(author.delay(), Ok(Span::from_ms(12)));
    let head = b"HTTP/1.1 200 OK: yes\r\nContent-Type: text\r\nServer:x\r\n\r\n";
    author
        .answer(200, head, b"\x00\xffbody")
        .expect("it is told");
    let seen: mlua::Result<mlua::LuaString> = script.states[0].lua().globals().raw_get("seen");
    assert_eq!(
        &*seen.expect("it was seen").as_bytes(),
        b"200text\x00\xffbody"
    );
    assert!(asked(&mut *author).starts_with("HEAD /x?y=1 HTTP/1.1\r\n"));
    assert!(!author.has_stopped());
    let stop = b"HTTP/1.1 200 OK\r\nX-Stop: 1\r\nContent-Type: text\r\n\r\n";
    author.answer(200, stop, b"").expect("it is told");
    assert!(author.has_stopped());
}

#[test]
fn mistakes_are_told_with_file_and_line() {
    let check = |code: &str, words: &[&str]| {
        let why = read(code, "http://127.0.0.1:1/", &[], 1).expect_err(code);
        for word in words {
            assert!(why.contains(word), "{code}: {why}");
        }
        assert!(!why.contains("traceback") && !why.contains("[C]"), "{why}");
    };
    check("\nlocal x = = 1", &["s.lua:2:", "unexpected symbol"]);
    check("\n\nnothing.x = 1", &["s.lua:3:", "nil value"]);
    check("function init()\n error('no') end", &["s.lua:2: no"]);
    check(
        "function init()\n wrk.lookup('127.0.0.1', 'x') end",
        &["s.lua:2:", "no service"],
    );
    check("function request() end", &["request() returned nil"]);
    check(
        "function request() return 'GET / HTTP/1.1\\r\\nA: b' end",
        &["incomplete request at 2:5"],
    );
    check(
        "function request() return string.rep(wrk.format(), 65) end",
        &["65 requests at once", "64"],
    );
    check("\u{1b}LJ", &["s.lua: ", "binary"]);
    check(
        "function setup() end",
        &["unable to connect to 127.0.0.1:1"],
    );
    let later = script(
        "n = 0 function request() n = n + 1 if n > 1 then\n error({}) end return wrk.format() end",
    );
    let mut out = Vec::new();
    let why = author(&later).request(&mut out).expect_err("it is none");
    assert_eq!(
        why,
        "the script raised an error that is a table, and not a text"
    );
}
