//! Whole numbers as arguments, and what is said where one does not fit.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use verdict::words;

/// A parser of numbers within `range`, for clap.
pub(crate) fn from_to<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: Copy + Into<u64> + FromStr + PartialOrd + Display + Send + Sync,
{
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "give a whole number from {} to {}",
            words::count((*range.start()).into()),
            words::count((*range.end()).into())
        )),
    }
}

/// The same for numbers that have no upper end that a person would name.
pub(crate) fn at_least_one<T>() -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: Copy + Into<u64> + FromStr + Send + Sync,
{
    |text| match text.parse::<T>() {
        Ok(number) if number.into() > 0 => Ok(number),
        _ if text.parse().is_ok_and(|number: u128| number > 0) => {
            Err("that is more than any machine has: give less".to_owned())
        }
        _ => Err("give a whole number, 1 or more".to_owned()),
    }
}

/// The same for numbers that may be 0.
pub(crate) fn zero_or_more<T>() -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: FromStr + Send + Sync,
{
    |text| {
        let why = match text.parse::<u128>() {
            Ok(_) => "that is too large a number: give less",
            Err(_) => "give a whole number, 0 or more",
        };
        text.parse().map_err(|_| why.to_owned())
    }
}

/// One of several numbers that say how often each of several URLs is asked.
pub(crate) fn weight(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| "give a whole number for each URL, with commas between them: 9,1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_range_is_told_what_fits() {
        let parse = from_to(1..=1_024_u32);
        assert_eq!(parse("1024"), Ok(1_024));
        for wrong in ["0", "1025", "-1", "1.5", "many", ""] {
            let said = parse(wrong).expect_err(wrong);
            assert_eq!(said, "give a whole number from 1 to 1,024");
        }
        let parse = at_least_one::<u64>();
        assert_eq!(parse("7"), Ok(7));
        for wrong in ["0", "-7", "x"] {
            let said = parse(wrong).expect_err(wrong);
            assert_eq!(said, "give a whole number, 1 or more");
        }
        let parse = zero_or_more::<u32>();
        assert_eq!(parse("0"), Ok(0));
        for (wrong, expected) in [
            ("-1", "give a whole number, 0 or more"),
            ("4294967296", "that is too large a number: give less"),
        ] {
            assert_eq!(parse(wrong).expect_err(wrong), expected);
        }
        assert_eq!(weight("9"), Ok(9));
        assert!(weight("9:1").expect_err("no number").contains("commas"));
    }
}
