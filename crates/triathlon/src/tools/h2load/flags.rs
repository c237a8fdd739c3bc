//! The flags of h2load.

use super::super::flag::{Flag, content, count, flag};

const DATAGRAMS: &str = "datagrams are as long as the path allows, and handed over together where \
                         the kernel divides them: leave the flag out";

const WINDOWS: &str = "30 is taken, and others are refused: windows have the largest size, so that \
                       they delay no answer";

const TABLE: &str = "4096 and 4k are taken, and others are refused: the table has 4 KiB";

pub(super) const FLAGS: &[Flag] = &[
    flag(
        &["-n", "--requests"],
        "Number of requests across all clients",
    )
    .takes("N", count)
    .done("--requests; 1 unless given, and unused with -D"),
    flag(&["-c", "--clients"], "Number of concurrent clients")
        .takes("N", count)
        .load("--connections={}"),
    flag(&["-t", "--threads"], "Number of native threads")
        .takes("N", count)
        .load("--threads={}"),
    flag(&["-i", "--input-file"], "Path of a file with multiple URIs")
        .text("PATH")
        .refused(
            "URIs are not asked one after the other; triathlon load --urls FILE mixes those of a \
             file",
        ),
    flag(
        &["-m", "--max-concurrent-streams"],
        "Number of HTTP pipelining requests in-flight",
    )
    .takes("N", count)
    .done("--streams, or --pipeline in HTTP/1.1"),
    flag(&["-f", "--max-frame-size"], "Maximum frame size")
        .takes("SIZE", frame_size)
        .done("16384 and 16k are taken, and others are refused: frames have up to 16 KiB"),
    flag(&["-w", "--window-bits"], "Stream level initial window size")
        .takes("N", window)
        .done(WINDOWS),
    flag(
        &["-W", "--connection-window-bits"],
        "Connection level initial window size",
    )
    .takes("N", window)
    .done(WINDOWS),
    flag(
        &["-H", "--header"],
        "Add/Override a header to the requests.",
    )
    .text("HEADER")
    .many()
    .load("--header={}"),
    flag(&["--ciphers"], "Allowed cipher list for TLSv1.2 or earlier")
        .text("SUITE")
        .refused("OpenSSL's names are not read; triathlon load --tls-suites takes those of IANA"),
    flag(&["--tls13-ciphers"], "Allowed cipher list for TLSv1.3")
        .takes("SUITE", list)
        .load("--tls-suites={}"),
    flag(
        &["-p", "--no-tls-proto"],
        "ALPN identifier of the protocol to be used without SSL/TLS",
    )
    .takes("PROTOID", clear_protocol)
    .done("h2c or http/1.1 is spoken; h2c unless given"),
    flag(&["-d", "--data"], "Post FILE to server")
        .takes("PATH", content)
        .load("--data={}"),
    flag(
        &["-r", "--rate"],
        "Fixed rate at which connections are created",
    )
    .takes("N", count)
    .done(
        "--connect-rate, with --requests-per-connection: -n divided by -c; not with -D, as there",
    ),
    flag(
        &["--rate-period"],
        "Time period between creating connections",
    )
    .takes("DURATION", duration)
    .done("-r counts per this time; 1s unless given"),
    flag(&["-D", "--duration"], "Main duration for the measurements")
        .takes("DURATION", duration)
        .load("--duration={}"),
    flag(
        &["--warm-up-time"],
        "Time period before starting the actual measurements",
    )
    .takes("DURATION", duration)
    .load("--warmup={}"),
    flag(
        &["-T", "--connection-active-timeout"],
        "Maximum time to keep a connection open",
    )
    .takes("DURATION", duration)
    .load("--connection-lifetime={}"),
    flag(
        &["-N", "--connection-inactivity-timeout"],
        "Time to wait to see activity on a given connection",
    )
    .takes("DURATION", duration)
    .load("--timeout={}"),
    flag(
        &["--timing-script-file"],
        "Path of a file with times and URIs",
    )
    .text("PATH")
    .refused("requests are not timed one by one; triathlon load --stages changes the rate"),
    flag(
        &["-B", "--base-uri"],
        "URI from which the scheme, host and port will be used",
    )
    .text("URI")
    .refused("write the whole URI, or use --connect-to to ask another address"),
    flag(
        &["--npn-list", "--alpn-list"],
        "ALPN protocol identifiers in the order of preference",
    )
    .takes("LIST", protocol)
    .done("the first is spoken, h2, h3 or http/1.1; h2 unless given"),
    flag(&["--h1"], "Force http/1.1 for both http and https URI").done("http/1.1 is spoken"),
    flag(&["--h3"], "Use HTTP/3").done("HTTP/3 is spoken"),
    flag(&["--header-table-size"], "Decoder header table size.")
        .takes("SIZE", table_size)
        .done(TABLE),
    flag(
        &["--encoder-header-table-size"],
        "Encoder header table size.",
    )
    .takes("SIZE", table_size)
    .done(TABLE),
    flag(&["--log-file"], "Write per-request information to a file")
        .text("PATH")
        .refused("triathlon load --samples FILE writes each exchange as a line of JSON"),
    flag(&["--qlog-file-base"], "Enable qlog output")
        .text("PATH")
        .refused("packets are not written down; triathlon load --json FILE counts them"),
    flag(
        &["--connect-to"],
        "Host and port to connect instead of using the authority in URI.",
    )
    .takes("HOST[:PORT]", connect_to)
    .load("--connect-to={}"),
    flag(&["--rps"], "Request per second for each client.")
        .takes("N", count)
        .done("--rate, times the clients"),
    flag(&["--groups"], "Supported groups.")
        .takes("GROUPS", list)
        .load("--tls-groups={}"),
    flag(&["--no-udp-gso"], "Disable UDP GSO.").refused(DATAGRAMS),
    flag(
        &["--max-udp-payload-size"],
        "Maximum outgoing UDP payload size.",
    )
    .text("SIZE")
    .refused(DATAGRAMS),
    flag(&["--ktls"], "Enable ktls.").refused(
        "TLS is not handed to the kernel; leave the flag out, and it is done by this program",
    ),
    flag(&["--sni"], "Send this name in TLS SNI")
        .text("NAME")
        .load("--servername={}"),
    flag(&["--histogram"], "Print a histogram of times")
        .refused("triathlon load --latency prints the spectrum of response times"),
    flag(&["--output-file"], "Write the results as JSON")
        .text("PATH")
        .refused("triathlon load --json FILE writes the whole trial"),
    flag(&["-v", "--verbose"], "Output debug information.").refused(
        "requests and answers are not printed; triathlon load shows the answer that all others \
         are compared with, and the first of each failure",
    ),
    flag(&["--version"], "Display version information and exit.").version(),
    flag(&["-h", "--help"], "Display this help and exit.").help(),
];

/// Names between colons, which our lists have commas between.
fn list(text: &str) -> Result<String, String> {
    Ok(text.replace(':', ","))
}

/// The first of the list, which has to be agreed to.
fn protocol(text: &str) -> Result<String, String> {
    match text.split(',').next() {
        Some(first @ ("h2" | "h3" | "http/1.1")) => Ok(first.to_owned()),
        _ => Err("write h2, h3 or http/1.1 first: nothing else is spoken".to_owned()),
    }
}

fn clear_protocol(text: &str) -> Result<String, String> {
    match text {
        "h2c" | "http/1.1" => Ok(text.to_owned()),
        _ => Err("write h2c or http/1.1".to_owned()),
    }
}

/// Refuses any other value than those that are meant by what is done.
fn only(text: &str, those: &[&str], why: &str) -> Result<String, String> {
    match those.iter().any(|one| text.eq_ignore_ascii_case(one)) {
        true => Ok(text.to_owned()),
        false => Err(format!("{why}: leave the flag out")),
    }
}

fn frame_size(text: &str) -> Result<String, String> {
    only(text, &["16384", "16k"], "frames have up to 16 KiB here")
}

fn table_size(text: &str) -> Result<String, String> {
    only(text, &["4096", "4k"], "the table has 4 KiB here")
}

fn window(text: &str) -> Result<String, String> {
    only(text, &["30"], "windows have the largest size")
}

/// A whole number of seconds, or of the unit behind it.
fn duration(text: &str) -> Result<String, String> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let wrong = || "write a whole number, as in 10, 500ms, 2m or 1h".to_owned();
    let number: u64 = text[..end].parse().map_err(|_| wrong())?;
    let ms = match &text[end..] {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    Ok(format!("{}ms", number.checked_mul(ms).ok_or_else(wrong)?))
}

/// As `triathlon load` has it: for any host and port of the URL.
fn connect_to(text: &str) -> Result<String, String> {
    let has_port = match text.rfind(']') {
        Some(end) => text[end..].contains(':'),
        None => text.contains(':'),
    };
    Ok(format!("::{text}{}", if has_port { "" } else { ":" }))
}
