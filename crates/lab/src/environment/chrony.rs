//! What chronyd says of the clock that it keeps, by way of chronyc.
//!
//! chronyc asks it over a socket of its own. Where nobody answers it tries for several seconds, so
//! that it is given one, and then is ended. `-n` keeps it from asking for names of addresses.

use std::io::Read as _;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use model::Span;
use model::environment::{Chrony, TimeSource};

/// chronyd answers within milliseconds.
const LIMIT: Duration = Duration::from_secs(1);
/// So often it is looked whether chronyc has ended, once it has closed its output.
const LOOK: Duration = Duration::from_millis(1);
/// The answer has some 150 bytes.
const LENGTH_MAX: u64 = 4_096;

/// What it says; none where chronyc is not there, fails, takes too long, or says something else.
pub(super) fn ask() -> Option<Chrony> {
    let mut chronyc = Command::new("chronyc");
    answer_of(chronyc.args(["-n", "-c", "tracking"]), LIMIT)
}

fn answer_of(command: &mut Command, limit: Duration) -> Option<Chrony> {
    let until = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let output = child.stdout.take()?;
    let (sender, text) = channel();
    // It ends when the last one closes its end of the pipe.
    thread::spawn(move || {
        let mut text = String::new();
        if output.take(LENGTH_MAX).read_to_string(&mut text).is_ok() {
            drop(sender.send(text));
        }
    });
    let text = text.recv_timeout(until.saturating_duration_since(Instant::now()));
    let is_right = has_succeeded(&mut child, until);
    text.ok().filter(|_| is_right).as_deref().and_then(parse)
}

/// Whether it ends in time, and with success. It has ended, or is ended, in any case.
fn has_succeeded(child: &mut Child, until: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => thread::sleep(LOOK),
            _ => break,
        }
    }
    drop(child.kill());
    drop(child.wait());
    false
}

/// Reads the line of `chronyc -c tracking`: reference, its name or address, stratum, time of the
/// last correction, how far the system's clock is behind, six more, root delay, root dispersion,
/// interval, and whether a leap second comes.
fn parse(text: &str) -> Option<Chrony> {
    let fields: Vec<&str> = text.trim_end().split(',').collect();
    let [
        reference,
        name,
        stratum,
        _,
        behind,
        _,
        _,
        _,
        _,
        _,
        delay,
        dispersion,
        _,
        leap,
    ] = fields.as_slice()
    else {
        return None;
    };
    let reference = u32::from_str_radix(reference, 16).ok()?;
    let is_synchronised = *leap != "Not synchronised";
    Some(Chrony {
        source: is_synchronised.then(|| source(reference, name)),
        stratum: stratum.parse().ok()?,
        offset_ns: nanoseconds(behind)?.checked_neg()?,
        root_delay: span(delay)?,
        root_dispersion: span(dispersion)?,
    })
}

/// Where its time comes from. A device has a name of four letters, which is its number, too: PHC
/// and PTP are those of network cards. What is on the network has an address, or its name.
fn source(reference: u32, name: &str) -> TimeSource {
    /// What it calls itself (`local` of chrony.conf).
    const OWN: u32 = 0x7f7f_0101;
    let device = reference.to_be_bytes();
    let device = device.split(|byte| *byte == 0).next().unwrap_or_default();
    match name {
        _ if reference == OWN => TimeSource::Own,
        name if name.parse::<IpAddr>().is_ok() => TimeSource::Network,
        name if name.as_bytes() != device => TimeSource::Network,
        name if name.starts_with("PHC") || name.starts_with("PTP") => TimeSource::Ptp,
        _ => TimeSource::Device,
    }
}

fn span(seconds: &str) -> Option<Span> {
    Some(Span::from_ns(u64::try_from(nanoseconds(seconds)?).ok()?))
}

/// Seconds with at most nine digits after the point.
fn nanoseconds(seconds: &str) -> Option<i64> {
    let (is_negative, digits) = match seconds.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, seconds),
    };
    let (whole, part) = digits.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 9 {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = format!("{part:0<9}").parse().ok()?;
    let sum = whole.checked_mul(1_000_000_000)?.checked_add(part)?;
    Some(if is_negative { -sum } else { sum })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What chronyc 4.3 printed. It follows a server on the network.
    const NETWORK: &str = "7F000001,127.0.0.1,4,1795571880.346552160,-0.000000779,-0.000000009,\
                           0.000000247,0.004,-0.001,0.051,0.000004187,0.000001215,1.0,Normal\n";
    /// The same a moment after its start.
    const BEGUN: &str = "7F000001,127.0.0.1,4,1795571873.084928546,-0.000001628,0.000000213,\
                         0.000000213,2.273,0.000,520.651,0.000006640,0.000123999,0.1,Normal\n";
    /// A device that somebody named PHC0.
    const CARD: &str = "50484330,PHC0,1,1795571910.058817366,0.000001000,0.000000000,0.000000000,\
                        0.000,0.000,0.000,0.000000001,0.000000966,0.3,Normal\n";
    /// A device without a name of its own.
    const DEVICE: &str = "534F4330,SOC0,1,1795571915.566377766,0.000001000,-0.000000000,\
                          0.000000000,-0.000,-0.000,0.000,0.000000001,0.000000779,0.3,Normal\n";
    /// Its own clock is right by definition.
    const OWN: &str = "7F7F0101,,3,1795571871.817783051,0.000000000,0.000000000,0.000000000,\
                       0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n";
    /// Its server does not answer.
    const NOTHING: &str = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,\
                           0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n";
    /// chronyd does not run.
    const GONE: &str = "506 Cannot talk to daemon\n";

    #[test]
    fn what_chronyc_prints_is_understood() {
        let check = |text: &str, source, stratum: u32, offset_ns: i64, delay: u64, spread: u64| {
            let expected = Chrony {
                source,
                stratum,
                offset_ns,
                root_delay: Span::from_ns(delay),
                root_dispersion: Span::from_ns(spread),
            };
            assert_eq!(parse(text), Some(expected), "{text}");
        };
        // It said "seconds fast" of the first two, and "slow" of the next two.
        check(NETWORK, Some(TimeSource::Network), 4, 779, 4_187, 1_215);
        check(BEGUN, Some(TimeSource::Network), 4, 1_628, 6_640, 123_999);
        check(CARD, Some(TimeSource::Ptp), 1, -1_000, 1, 966);
        check(DEVICE, Some(TimeSource::Device), 1, -1_000, 1, 779);
        check(OWN, Some(TimeSource::Own), 3, 0, 0, 0);
        check(NOTHING, None, 0, 0, 1_000_000_000, 1_000_000_000);
        // The address is not the number, and the name may be shown in its place.
        let named = NETWORK.replace("127.0.0.1", "ntp.example.org");
        check(&named, Some(TimeSource::Network), 4, 779, 4_187, 1_215);
        let by_v6 = NETWORK.replace("7F000001,127.0.0.1", "A1B2C3D4,2001:db8::1");
        check(&by_v6, Some(TimeSource::Network), 4, 779, 4_187, 1_215);
    }

    #[test]
    fn what_is_no_answer_is_unknown() {
        for text in [GONE, "", "\n", ",,,,,,,,,,,,,", "a,b,c"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let broken = |from: &str, to: &str| {
            let text = NETWORK.replace(from, to);
            assert_ne!(text, NETWORK);
            assert_eq!(parse(&text), None, "{text}");
        };
        broken("7F000001", "seven");
        broken(",4,", ",four,");
        broken("-0.000000779", "-0,000000779");
        broken("0.000004187", "-0.000004187");
        broken("0.000001215", "99999999999999.000001215");
        broken("0.000001215", "0.0000012151");
    }

    #[test]
    fn a_program_that_fails_or_does_not_end_tells_nothing() {
        let asked = |words: &str, limit: Duration| {
            let mut shell = Command::new("sh");
            answer_of(shell.args(["-c", words]), limit)
        };
        let (long, short) = (Duration::from_secs(3_600), Duration::from_millis(50));
        let line = NETWORK.trim_end();
        assert!(asked(&format!("echo '{line}'"), long).is_some());
        assert_eq!(asked(&format!("echo '{line}'; exit 1"), long), None);
        assert_eq!(asked(&format!("echo '{GONE}'; exit 1"), long), None);
        assert_eq!(asked("exec sleep 3600", short), None);
        let shut = format!("echo '{line}'; exec >&-; exec sleep 3600");
        assert_eq!(asked(&shut, short), None);
        let mut gone = Command::new("/nonexistent/chronyc");
        assert_eq!(answer_of(&mut gone, long), None);
    }
}
