//! Dates as HTTP writes them (RFC 9110 §5.6.7): one form written, three forms read.

use model::calendar::{Calendar, MONTHS, SECONDS_PER_DAY, days_before, days_in};

/// How long a date is.
pub const LENGTH: usize = 29;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
/// Writes the moment `seconds` after the beginning of 1970: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn format(seconds: u64) -> [u8; LENGTH] {
    let at = Calendar::of(seconds);
    let mut text = *b"Sun, 00 Jan 0000 00:00:00 GMT";
    text[..3].copy_from_slice(DAYS[at.weekday].as_bytes());
    two_digits(&mut text, 5, at.day);
    text[8..11].copy_from_slice(MONTHS[at.month].as_bytes());
    two_digits(&mut text, 12, at.year / 100);
    two_digits(&mut text, 14, at.year % 100);
    two_digits(&mut text, 17, at.hour);
    two_digits(&mut text, 20, at.minute);
    two_digits(&mut text, 23, at.second);
    text
}

fn two_digits(text: &mut [u8], at: usize, value: u64) {
    debug_assert!(value < 100);
    for (place, digit) in [(at, value / 10 % 10), (at + 1, value % 10)] {
        text[place] = b'0' + u8::try_from(digit).unwrap_or(0);
    }
}

/// Reads a date in any of the three forms; `now` settles the century of a two-digit year.
/// Nothing for what is not a date, which must then be ignored.
pub fn parse(text: &[u8], now: u64) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim_matches([' ', '\t']);
    let words: Vec<&str> = text
        .split([' ', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    let (day, month, year, time) = match *words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
        [weekday, day, month, year, time, "GMT"] if weekday.ends_with(',') => {
            (day, month, full_year(year, now)?, time)
        }
        // Sun Nov  6 08:49:37 1994
        [_, month, day, time, year] if year.len() == 4 => (day, month, number(year)?, time),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let day = number(day)?;
    let mut clock = time.split(':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let is_valid = clock.next().is_none()
        && (1970..=9999).contains(&year)
        && (1..=days_in(month, year)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    is_valid.then(|| {
        let seconds = hour * 3_600 + minute * 60 + second.min(59);
        days_before(year, month, day) * SECONDS_PER_DAY + seconds
    })
}

/// A two-digit year that would lie more than 50 years ahead is in the past (RFC 9110 §5.6.7).
fn full_year(year: &str, now: u64) -> Option<u64> {
    let value = number(year)?;
    match year.len() {
        4 => Some(value),
        2 => {
            let this_year = Calendar::of(now).year;
            let candidate = this_year / 100 * 100 + value;
            Some(if candidate > this_year + 50 {
                candidate - 100
            } else {
                candidate
            })
        }
        _ => None,
    }
}

fn number(digits: &str) -> Option<u64> {
    let is_plain = digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
