//! Moments on the calendar: what seconds since 1970 are called.

/// Their first three letters.
pub const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// Of any day: leap seconds are not counted.
pub const SECONDS_PER_DAY: u64 = 86_400;
/// The last second of the year 9999: years have four digits.
pub const LAST: u64 = 253_402_300_799;

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

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days of a month, which is 0 to 11.
pub const fn days_in(month: usize, year: u64) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Days from the beginning of 1970 to that day, in 1970 or later.
pub fn days_before(year: u64, month: usize, day: u64) -> u64 {
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    let months: u64 = (0..month).map(|month| days_in(month, year)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_they_are_named() {
        for day in 0..=LAST / SECONDS_PER_DAY {
            let at = Calendar::of(day * SECONDS_PER_DAY + 86_399);
            assert_eq!(days_before(at.year, at.month, at.day), day);
            assert!((1..=days_in(at.month, at.year)).contains(&at.day));
            assert_eq!((at.hour, at.minute, at.second), (23, 59, 59));
        }
        let leap = Calendar::of(951_782_400);
        assert_eq!((leap.year, leap.month_name(), leap.day), (2000, "Feb", 29));
        assert_eq!(leap.weekday, 2);
        assert_eq!(Calendar::of(u64::MAX), Calendar::of(LAST));
    }
}
