//! Colours, symbols and dashes: the same for a server in every chart.
//!
//! Colours are those of Okabe and Ito, told apart by colour-blind readers too; the style sheet
//! holds their values for light and dark. Symbols differ as well, and after four looks the lines
//! are dashed, so that a chart reads in grey.

use crate::chart::{LOOKS, Standing};

/// Outlines of the symbols in a square of 10 by 10.
const SYMBOLS: [&str; LOOKS] = [
    "M5 0A5 5 0 1 1 5 10A5 5 0 1 1 5 0Z",
    "M0.8 0.8H9.2V9.2H0.8Z",
    "M5 0L10 9.4H0Z",
    "M5 -0.6L10.6 5L5 10.6L-0.6 5Z",
    "M0 0.6H10L5 10Z",
    "M3.4 0H6.6V3.4H10V6.6H6.6V10H3.4V6.6H0V3.4H3.4Z",
    "M2.5 0.6H7.5L10 5L7.5 9.4H2.5L0 5Z",
    "M0 0H10L6.6 5L10 10H0L3.4 5Z",
];

/// What stands where a number does not: a cross.
pub(super) const STRUCK: &str =
    "M0 1.4L1.4 0L5 3.6L8.6 0L10 1.4L6.4 5L10 8.6L8.6 10L5 6.4L1.4 10L0 8.6L3.6 5Z";

/// What stands where the true value is higher: an arrow up.
pub(super) const AT_LEAST: &str = "M5 0L9.5 4.8H6.2V10H3.8V4.8H0.5Z";

/// The symbol of a look. Past the last look colours repeat with other symbols.
pub(super) fn symbol(look: usize) -> &'static str {
    SYMBOLS[(look + look / LOOKS) % LOOKS]
}

/// The symbol of a point of that look.
pub(super) fn symbol_of(look: usize, standing: Standing) -> &'static str {
    match standing {
        Standing::Sound | Standing::Doubtful => symbol(look),
        Standing::AtLeast => AT_LEAST,
        Standing::Struck => STRUCK,
    }
}

/// The colour of a look, as the style sheet names it.
pub(super) fn colour(look: usize) -> String {
    format!("var(--s{})", look % LOOKS)
}

/// Whether lines of a look are dashed.
pub(super) const fn dashed(look: usize) -> bool {
    (look / 4) % 2 == 1
}
