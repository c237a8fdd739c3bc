//! The flags of oha.

use model::plan::REDIRECTS_MAX;

use super::super::flag::{Flag, content, flag};
use super::super::wrk;

const PROXY: &str = "proxies are asked over HTTP/1.1, without fields of their own";

const BURST: &str = "requests do not come in bursts; triathlon load --stages changes the rate, and \
                     has flash crowds";

const RANDOM: &str = "URLs are not made from patterns; triathlon load --urls FILE mixes those of a \
                      list";

const AWS: &str = "requests are not signed; give the fields that are needed with -H";

const FAMILY: &str = "addresses are not chosen by their family; write the address in the URL, or \
                      use --connect-to";

pub(super) const FLAGS: &[Flag] = &[
    flag(
        &["-n"],
        "Number of requests to run: 10k, 1m. [default: 200]",
    )
    .takes("N_REQUESTS", wrk::metric)
    .done("--requests; 200 unless given or -z"),
    flag(
        &["-c"],
        "Number of connections to run concurrently. [default: 50]",
    )
    .takes("N_CONNECTIONS", super::super::flag::count)
    .load("--connections={}"),
    flag(&["-p"], "Number of parallel requests to send on HTTP/2.")
        .takes("N_HTTP2_PARALLEL", super::super::flag::count)
        .done("--streams of HTTP/2 and HTTP/3; 1 unless given, and unused in HTTP/1.1"),
    flag(
        &["-z"],
        "Duration of application to send requests: 10s, 3m.",
    )
    .takes("DURATION", super::super::hey::duration)
    .load("--duration={}"),
    flag(
        &["-w", "--wait-ongoing-requests-after-deadline"],
        "When the duration is reached, ongoing requests are waited",
    )
    .needless("they are waited for in any case, and not counted"),
    flag(&["-q"], "Rate limit for all, in queries per second (QPS)")
        .takes("QUERY_PER_SECOND", rate)
        .load("--rate={}"),
    flag(&["--burst-delay"], "Delay between a number of requests.")
        .text("BURST_DURATION")
        .refused(BURST),
    flag(&["--burst-rate"], "Rates of requests for burst.")
        .text("BURST_REQUESTS")
        .refused(BURST),
    flag(&["--rand-regex-url"], "Generate URL by rand_regex crate.").refused(RANDOM),
    flag(&["--urls-from-file"], "Read the URLs to query from a file")
        .refused("triathlon load --urls FILE reads them"),
    flag(&["--max-repeat"], "A parameter for the '--rand-regex-url'.")
        .text("MAX_REPEAT")
        .refused(RANDOM),
    flag(
        &["--dump-urls"],
        "Dump target Urls to debug --rand-regex-url",
    )
    .text("DUMP_URLS")
    .refused(RANDOM),
    flag(
        &["--latency-correction"],
        "Correct latency to avoid coordinated omission problem.",
    )
    .done("the times printed are measured from the due time"),
    flag(&["--no-tui"], "No realtime tui").needless("there is none"),
    flag(&["--fps"], "Frame per second for tui.")
        .text("FPS")
        .needless("there is no live view"),
    flag(&["-m", "--method"], "HTTP method [default: GET]")
        .text("METHOD")
        .done("--request; GET unless given, and POST in its place with -F"),
    flag(&["-H"], "Custom HTTP header.")
        .text("HEADERS")
        .many()
        .load("--header={}"),
    flag(&["--proxy-header"], "Custom Proxy HTTP header.")
        .text("PROXY_HEADERS")
        .refused(PROXY),
    flag(&["-t"], "Timeout for each request.")
        .takes("TIMEOUT", super::super::hey::duration)
        .load("--timeout={}"),
    flag(
        &["--connect-timeout"],
        "Timeout for establishing a new connection.",
    )
    .takes("CONNECT_TIMEOUT", super::super::hey::duration)
    .load("--connect-timeout={}"),
    flag(&["-A"], "HTTP Accept Header.")
        .text("ACCEPT_HEADER")
        .load("--header=Accept:{}"),
    flag(&["-d"], "HTTP request body.")
        .text("BODY_STRING")
        .load("--data={}"),
    flag(&["-D"], "HTTP request body from file.")
        .takes("BODY_PATH", content)
        .load("--data={}"),
    flag(&["-Z"], "HTTP request body from file line by line.")
        .text("BODY_PATH_LINES")
        .refused("each request has the same content; -D sends that of a whole file"),
    flag(
        &["-F", "--form"],
        "HTTP multipart POST data (curl compatible).",
    )
    .text("FORM")
    .many()
    .done(
        "--form, but always multipart/form-data; NAME=<FILE, ;type= and ;filename= are taken \
         too, as there",
    ),
    flag(&["-T"], "Content-Type.")
        .text("CONTENT_TYPE")
        .load("--header=Content-Type:{}"),
    flag(&["-a"], "Basic authentication (username:password)")
        .text("BASIC_AUTH")
        .secret()
        .load("--user={}"),
    flag(&["--aws-session"], "AWS session token")
        .text("AWS_SESSION")
        .secret()
        .refused(AWS),
    flag(&["--aws-sigv4"], "AWS SigV4 signing params")
        .text("AWS_SIGV4")
        .refused(AWS),
    flag(&["-x"], "HTTP proxy").text("PROXY").load("--proxy={}"),
    flag(
        &["--proxy-http-version"],
        "HTTP version to connect to proxy.",
    )
    .text("PROXY_HTTP_VERSION")
    .refused(PROXY),
    flag(&["--proxy-http2"], "Use HTTP/2 to connect to proxy.").refused(PROXY),
    flag(&["--http-version"], "HTTP version: 0.9, 1.0, 1.1, 2, 3")
        .takes("HTTP_VERSION", version)
        .done("1.1, 2 or 3 is spoken; 1.1 unless given"),
    flag(&["--http2"], "Use HTTP/2.").done("--http2, or --http2-prior-knowledge for an http URL"),
    flag(&["--host"], "HTTP Host header")
        .text("HOST")
        .load("--header=Host:{}"),
    flag(&["--disable-compression"], "Disable compression.")
        .done("without it, a field Accept-Encoding is sent"),
    flag(
        &["-r", "--redirect"],
        "Limit for number of Redirect. [default: 10]",
    )
    .takes("REDIRECT", redirects)
    .done("--follow, 10 unless given; 0 follows none"),
    flag(&["--disable-keepalive"], "Disable keep-alive").load("--requests-per-connection=1"),
    flag(
        &["--no-pre-lookup"],
        "*Not* perform a DNS lookup at beginning",
    )
    .refused("names are looked up once, before the run; leave the flag out"),
    flag(&["--ipv6"], "Lookup only ipv6.").refused(FAMILY),
    flag(&["--ipv4"], "Lookup only ipv4.").refused(FAMILY),
    flag(&["--cacert"], "(TLS) Certificate file to verify the peer.")
        .text("CACERT")
        .load("--cacert={}"),
    flag(&["--cert"], "(TLS) Client certificate file.")
        .text("CERT")
        .load("--cert={}"),
    flag(&["--key"], "(TLS) Client key file.")
        .text("KEY")
        .load("--key={}"),
    flag(&["--insecure"], "Accept invalid certs.")
        .done("--insecure; nothing for an http URL, which has no certificate"),
    flag(
        &["--connect-to"],
        "Override DNS resolution and default port numbers",
    )
    .text("CONNECT_TO")
    .many()
    .load("--connect-to={}"),
    flag(
        &["--no-color", "--disable-color"],
        "Disable the color scheme.",
    )
    .needless("text is never coloured"),
    flag(&["--unix-socket"], "Connect to a unix socket.")
        .text("UNIX_SOCKET")
        .load("--unix-socket={}"),
    flag(
        &["--vsock-addr"],
        "Connect to a VSOCK socket using 'cid:port'.",
    )
    .text("VSOCK_ADDR")
    .refused("VSOCK is not supported; let the server listen on an IP address"),
    flag(
        &["--stats-success-breakdown"],
        "A breakdown of times by status, successful or not",
    )
    .refused("times are those of right answers only; leave the flag out"),
    flag(&["--db-url"], "Write succeeded requests to sqlite database")
        .text("DB_URL")
        .refused("triathlon load --samples FILE writes each exchange as a line of JSON"),
    flag(
        &["--debug"],
        "Perform a single request and dump it and the response",
    )
    .refused("triathlon load shows the answer that all others are compared with"),
    flag(&["-o", "--output"], "Output file to write the results to.")
        .text("OUTPUT")
        .refused("the result goes to standard output; write '> FILE' after the command"),
    flag(&["--output-format"], "Output format [default: text]")
        .takes("OUTPUT_FORMAT", format)
        .done("text is printed, and other formats are refused"),
    flag(&["-j", "--json"], "Print results as JSON")
        .refused("triathlon load --json - prints the whole trial as JSON"),
    flag(&["-u", "--time-unit"], "Time unit to be used.")
        .takes("TIME_UNIT", unit)
        .done("times are printed in it"),
    flag(&["-h", "--help"], "Print help").help(),
    flag(&["-V", "--version"], "Print version").version(),
];

fn rate(text: &str) -> Result<String, String> {
    let number: Option<f64> = text.parse().ok().filter(|rate| *rate > 0.0);
    let number = number.ok_or_else(|| "write a number above 0".to_owned())?;
    Ok(number.to_string())
}

fn version(text: &str) -> Result<String, String> {
    match text {
        "1.1" | "2" | "3" => Ok(text.to_owned()),
        _ => Err("write 1.1, 2 or 3: no other version is spoken".to_owned()),
    }
}

fn redirects(text: &str) -> Result<String, String> {
    match text.parse::<u32>() {
        Ok(0..=REDIRECTS_MAX) => Ok(text.to_owned()),
        _ => Err(format!("write a number from 0 to {REDIRECTS_MAX}")),
    }
}

fn format(text: &str) -> Result<String, String> {
    match text {
        "text" => Ok(text.to_owned()),
        _ => Err(
            "text is printed; triathlon load --json - prints the whole trial as JSON".to_owned(),
        ),
    }
}

fn unit(text: &str) -> Result<String, String> {
    match text {
        "ns" | "us" | "ms" | "s" => Ok(text.to_owned()),
        _ => Err("write ns, us, ms or s".to_owned()),
    }
}
