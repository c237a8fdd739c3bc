//! What is printed: the verdict first, then the numbers, as wide as the terminal is.
//!
//! [`trial()`] is one run, [`latency()`] its spectrum, [`judged()`] its verdict alone, [`lab()`] a
//! whole experiment, [`analysis()`] its answers and numbers alone. Colour is the caller's choice:
//! only the door knows whether it speaks to a terminal.

mod agents;
mod encoding;
mod http2;
mod lab;
mod latency;
mod legend;
mod quic;
mod redirects;
mod renewal;
mod result;
mod servers;
mod slow;
mod sources;
mod split;
mod steps;
mod thresholds;
mod times;
mod tls;
mod users;
mod worth;

use model::finding::{Severity, Status};

pub use lab::{analysis, lab};
pub use latency::latency;
pub use result::trial;
pub use worth::{judged, verdict};

/// How to print.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Style {
    /// Whether to use ANSI colours.
    pub colour: bool,
    /// Columns of a line.
    width: usize,
}

/// Columns of a line where nobody says how many there are.
const WIDTH: usize = 80;
/// Numbers and their names take so many.
const WIDTH_MIN: usize = 60;
/// Eyes lose the line beyond.
const WIDTH_MAX: usize = 100;

impl Default for Style {
    fn default() -> Self {
        Self::new(false, None)
    }
}

/// Columns of the names in front of values.
const LABEL: usize = 12;

impl Style {
    /// In colour or not, on a terminal of `columns` where that is known: lines have 60 columns at
    /// least and 100 at most, and 80 where it is not known.
    pub fn new(colour: bool, columns: Option<usize>) -> Self {
        let width = columns.unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH_MAX);
        Self { colour, width }
    }

    /// Whether a table of 80 columns does not fit.
    const fn is_narrow(self) -> bool {
        self.width < WIDTH
    }

    /// `text` in lines of the terminal's width.
    fn paragraph(self, text: &str) -> String {
        let lines = wrap(text, self.width).into_iter();
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// `label` and `text` beside it, wrapped and indented.
    fn labelled(self, label: &str, text: &str) -> String {
        let mut out = String::new();
        for (position, line) in wrap(text, self.width - LABEL).iter().enumerate() {
            let label = if position == 0 { label } else { "" };
            out.push_str(format!("{label:<LABEL$}{line}").trim_end());
            out.push('\n');
        }
        out
    }

    /// `text` in the colour of `status`.
    fn status(self, status: Status, text: &str) -> String {
        let code = match status {
            Status::Valid => "32",
            Status::Unknown => "35",
            Status::Suspect => "33",
            Status::Invalid => "31",
        };
        self.paint(code, text)
    }

    /// `text` in the colour of `severity`.
    fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Note => self.faint(text),
            Severity::Suspect => self.status(Status::Suspect, text),
            Severity::Invalid => self.status(Status::Invalid, text),
        }
    }

    /// A heading.
    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What matters less.
    fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// What is no result.
    fn struck(self, text: &str) -> String {
        self.paint("9", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// `text` broken at blanks into lines of at most `width` columns; a longer word stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut columns = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > width {
            lines.push(String::new());
            columns = 0;
        }
        if let Some(line) = lines.last_mut() {
            if columns > 0 {
                line.push(' ');
                columns += 1;
            }
            line.push_str(word);
            columns += length;
        }
    }
    lines
}

#[cfg(test)]
mod tests;
