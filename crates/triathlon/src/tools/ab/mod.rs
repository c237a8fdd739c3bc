//! ab, ApacheBench: so many requests, and the times of connecting, processing and waiting.

mod told;

use model::Span;

use super::figures;
use super::flag::{Flag, any, content, count, flag, seconds};
use super::given::{Given, Grammar};
use super::{Asked, Tool, Work};
use crate::exit::UsageError;

pub(super) const TOOL: Tool = Tool {
    name: "ab",
    usage: "ab [options] [http[s]://]hostname[:port]/path",
    help: "-h",
    grammar: Grammar::Getopt,
    flags: FLAGS,
    examples: &[
        (
            "triathlon ab -n 10000 -c 64 -k http://127.0.0.1:8080/",
            "what ab would print for 10,000 requests; the verdict is on standard error",
        ),
        (
            "ln -s triathlon ab; ./ab -t 30 -c 8 -p form.txt -T text/plain http://127.0.0.1:8080/f",
            "the same through a link of that name: POSTs for 30 seconds, at most 50,000",
        ),
    ],
    differs: &[
        "Requests are HTTP/1.1; ab's are HTTP/1.0.",
        figures::BYTES,
        "Over TLS, Total body sent and the rate of what was sent include what TLS adds; ab's do \
         not.",
        figures::CONNECTING,
        "Times are those of right answers; ab includes those of answers with another status.",
        "A receive error never ends the run, as if -r were given.",
        "Progress is not shown.",
    ],
    work: Work::Load {
        asked,
        told: told::told,
    },
};

const HTML: &str = "results are not printed as HTML tables; triathlon load --json FILE, and then \
                    triathlon report FILE --html PAGE, make a page";

const FLAGS: &[Flag] = &[
    flag(&["-n"], "Number of requests to perform")
        .takes("requests", count)
        .done("--requests; 1 unless given, or 50,000 with -t"),
    flag(&["-c"], "Number of multiple requests to make at a time")
        .takes("concurrency", count)
        .done("--connections; 1 unless given"),
    flag(
        &["-t"],
        "Seconds to max. to spend on benchmarking; implies -n 50000",
    )
    .takes("timelimit", count)
    .done("the run ends after this time, or once the requests of -n are done"),
    flag(&["-s"], "Seconds to max. wait for each response")
        .takes("timeout", seconds)
        .load("--timeout={}"),
    flag(&["-b"], "Size of TCP send/receive buffer, in bytes")
        .text("windowsize")
        .refused(
            "the kernel sizes the buffers of sockets; set net.ipv4.tcp_rmem and net.ipv4.tcp_wmem",
        ),
    flag(
        &["-B"],
        "Address to bind to when making outgoing connections",
    )
    .text("address")
    .load("--interface={}"),
    flag(&["-p"], "File containing data to POST")
        .takes("postfile", content)
        .load("--data={}"),
    flag(&["-u"], "File containing data to PUT")
        .takes("putfile", content)
        .load("--data={}"),
    flag(&["-T"], "Content-type header to use for POST/PUT data")
        .text("content-type")
        .done("a Content-Type field where there is content; text/plain unless given"),
    flag(&["-v"], "How much troubleshooting info to print")
        .takes("verbosity", verbosity)
        .needless("levels up to 1 print nothing more"),
    flag(&["-w"], "Print out results in HTML tables").refused(HTML),
    flag(&["-i"], "Use HEAD instead of GET").done("--request=HEAD"),
    flag(&["-x"], "String to insert as table attributes")
        .text("attributes")
        .refused(HTML),
    flag(&["-y"], "String to insert as tr attributes")
        .text("attributes")
        .refused(HTML),
    flag(&["-z"], "String to insert as td or th attributes")
        .text("attributes")
        .refused(HTML),
    flag(&["-C"], "Add cookie, eg. 'Apache=1234'")
        .text("attribute")
        .many()
        .secret()
        .load("--header=Cookie:{}"),
    flag(
        &["-H"],
        "Add Arbitrary header line, eg. 'Accept-Encoding: gzip'",
    )
    .text("attribute")
    .many()
    .load("--header={}"),
    flag(&["-A"], "Add Basic WWW Authentication, name:password")
        .text("attribute")
        .secret()
        .load("--user={}"),
    flag(&["-P"], "Add Basic Proxy Authentication, name:password")
        .text("attribute")
        .secret()
        .load("--proxy-user={}"),
    flag(&["-X"], "Proxyserver and port number to use")
        .text("proxy:port")
        .load("--proxy={}"),
    flag(&["-V"], "Print version number and exit").version(),
    flag(&["-k"], "Use HTTP KeepAlive feature").done("without it, --requests-per-connection=1"),
    flag(&["-d"], "Do not show percentiles served table.").done("they are left out"),
    flag(&["-S"], "Do not show confidence estimators and warnings.").done("they are left out"),
    flag(
        &["-q"],
        "Do not show progress when doing more than 150 requests",
    )
    .needless("progress is not shown"),
    flag(&["-l"], "Accept variable document length")
        .done("--expect=status; without it, --expect=length"),
    flag(&["-g"], "Output collected data to gnuplot format file.")
        .text("filename")
        .refused("triathlon load --samples FILE writes each exchange as a line of JSON"),
    flag(&["-e"], "Output CSV file with percentages served")
        .text("filename")
        .done("the file is written after the run"),
    flag(&["-r"], "Don't exit on socket receive errors.")
        .needless("no error of an exchange ends a run here: each is counted"),
    flag(&["-m"], "Method name")
        .text("method")
        .done("--request"),
    flag(&["-h"], "Display usage information").help(),
    flag(
        &["-I"],
        "Disable TLS Server Name Indication (SNI) extension",
    )
    .refused(
        "TLS always names the server (SNI); triathlon load --servername NAME sends another name",
    ),
    flag(
        &["-Z"],
        "Specify SSL/TLS cipher suite (See openssl ciphers)",
    )
    .text("ciphersuite")
    .refused("OpenSSL's names are not read; triathlon load --tls-suites takes those of IANA"),
    flag(&["-f"], "Specify SSL/TLS protocol")
        .takes("protocol", version_of_tls)
        .load("--tls-version={}"),
    flag(
        &["-E"],
        "Specify optional client certificate chain and private key",
    )
    .takes("certfile", any)
    .load("--cert={} --key={}"),
];

fn verbosity(text: &str) -> Result<String, String> {
    match text.parse() {
        Ok(0..=1) => Ok(text.to_owned()),
        Ok(_) => Err(
            "requests and answers are not printed; triathlon load shows the answer that all \
             others are compared with, and the first of each failure"
                .to_owned(),
        ),
        Err(_) => Err("write a number from 0".to_owned()),
    }
}

fn version_of_tls(text: &str) -> Result<String, String> {
    match text.to_ascii_uppercase().as_str() {
        "ALL" => Ok("1.2,1.3".to_owned()),
        "TLS1.2" => Ok("1.2".to_owned()),
        "TLS1.3" => Ok("1.3".to_owned()),
        _ => Err("TLS is spoken from version 1.2 on: write TLS1.2, TLS1.3 or ALL".to_owned()),
    }
}

/// How many requests, at most.
fn requests(given: &Given) -> u64 {
    if given.is_last("-t", "-n") {
        50_000
    } else {
        given.number("-n", 1)
    }
}

/// The run.
fn asked(given: &Given, url: &str) -> Result<Asked, UsageError> {
    let (requests, connections) = (requests(given), given.number("-c", 1));
    if connections > requests {
        let why = "ab: Cannot use concurrency level greater than total number of requests";
        return Err(UsageError(why.to_owned()));
    }
    let mut words = vec![
        format!("--requests={requests}"),
        format!("--connections={connections}"),
        "--threads=1".to_owned(),
        "--warmup=0s".to_owned(),
        if given.is("-l") {
            "--expect=status".to_owned()
        } else {
            "--expect=length".to_owned()
        },
    ];
    if !given.is("-s") {
        words.push("--timeout=30s".to_owned());
    }
    if !given.is("-k") {
        words.push("--requests-per-connection=1".to_owned());
    }
    words.extend(super::method_and_kind(given));
    words.extend(super::usual(given, "User-Agent", "ApacheBench/2.3"));
    words.extend(super::usual(given, "Accept", "*/*"));
    words.extend(super::unverified(url));
    let most = given.is("-t").then(|| Span::from_s(given.number("-t", 1)));
    Ok(Asked { words, most })
}

#[cfg(test)]
mod tests;
