//! Dates as HTTP writes them (RFC 9110 §5.6.7): one form written, three forms read.

/// How long a date is.
pub const LENGTH: usize = 29;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const SECONDS_PER_DAY: u64 = 86_400;
/// The last second of the year 9999: a date has four digits for the year.
const LAST: u64 = 253_402_300_799;

/// A moment on the calendar, in UTC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Calendar {
    /// 1970 to 9999.
    pub year: u64,
    /// 0 to 11.
    pub month: usize,
    /// 1 to 31.
    pub day: u64,
    /// 0 is Sunday.
    pub weekday: usize,
    /// 0 to 23.
    pub hour: u64,
    /// 0 to 59.
    pub minute: u64,
    /// 0 to 59.
    pub second: u64,
}

impl Calendar {
    /// The moment `seconds` after the beginning of 1970.
    pub fn of(seconds: u64) -> Self {
        let seconds = seconds.min(LAST);
        let days = seconds / SECONDS_PER_DAY;
        let time = seconds % SECONDS_PER_DAY;
        // Howard Hinnant's civil_from_days: years that begin in March, in eras of 400.
        let shifted = days + 719_468;
        let era = shifted / 146_097;
        let day_of_era = shifted % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = (from_march + 2) % 12;
        Self {
            year: era * 400 + year_of_era + u64::from(month < 2),
            month: usize::try_from(month).unwrap_or(0),
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            weekday: usize::try_from((days + 4) % 7).unwrap_or(0),
            hour: time / 3_600,
            minute: time / 60 % 60,
            second: time % 60,
        }
    }

    /// The name of its month, three letters.
    pub fn month_name(&self) -> &'static str {
        MONTHS[self.month]
    }
}

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

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(month: usize, year: u64) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Days from the beginning of 1970 to that day.
fn days_before(year: u64, month: usize, day: u64) -> u64 {
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    let months: u64 = (0..month).map(|month| days_in(month, year)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests;
