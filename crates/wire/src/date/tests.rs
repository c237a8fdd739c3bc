use model::calendar::LAST;
use proptest::prelude::*;

use super::*;

const NOW: u64 = 1_800_000_000; // 2027

#[track_caller]
fn check(text: &str, expected: Option<u64>) {
    assert_eq!(parse(text.as_bytes(), NOW), expected, "{text}");
}

#[test]
fn three_forms_are_read() {
    check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
    check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
    check("Sun Nov  6 08:49:37 1994", Some(784_111_777));
    check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
    check("Tue, 29 Feb 2000 23:59:60 GMT", Some(951_868_799));
    check("Friday, 31-Dec-99 23:59:59 GMT", Some(946_684_799));
    check("Friday, 31-Dec-76 23:59:59 GMT", Some(3_376_684_799));
}

#[test]
fn what_is_no_date_is_none() {
    for text in [
        "",
        "yesterday",
        "0",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37:00 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Tue, 29 Feb 1900 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 99999 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
    ] {
        check(text, None);
    }
}

#[test]
fn one_form_is_written() {
    assert_eq!(&format(784_111_777), b"Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(&format(0), b"Thu, 01 Jan 1970 00:00:00 GMT");
    assert_eq!(&format(951_782_400), b"Tue, 29 Feb 2000 00:00:00 GMT");
    assert_eq!(&format(u64::MAX), b"Fri, 31 Dec 9999 23:59:59 GMT");
}

proptest! {
    #[test]
    fn what_is_written_is_read(seconds in 0..=LAST) {
        prop_assert_eq!(parse(&format(seconds), NOW), Some(seconds));
    }
}
