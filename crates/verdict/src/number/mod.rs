//! Numbers as people read them: a unit on each, as many digits as mean something.
//!
//! Findings, tables, pages and comparisons all write their numbers by this module, so that the same
//! number has the same digits wherever it stands. Files for programs have full precision.

/// What an axis or a column counts. Values are kept in the base unit that the variant names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// A plain count.
    Count,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Per second.
    PerSecond,
    /// A share of a whole, from 0 to 1.
    Share,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// `value` with its unit, scaled so that it reads well: `1.25 ms`, `128,456/s`.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Bytes => bytes(value),
            Self::Count => plain(value),
            Self::Microseconds => time_us(value),
            Self::Nanoseconds => time_us(value / 1e3),
            Self::PerSecond => format!("{}/s", plain(value)),
            Self::Share => share(value),
            Self::Seconds => time_us(value * 1e6),
        }
    }

    /// `value` as a mark on an axis: short.
    pub fn tick(self, value: f64) -> String {
        self.tick_beside(value, value)
    }

    /// The same in the unit that suits `size`: marks of one axis have one unit.
    pub fn tick_beside(self, value: f64, size: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let (scale, name) = self.scale(size.abs());
        format!("{} {name}", trimmed(value / scale))
            .trim_end()
            .to_owned()
    }

    /// What suits values of that size, in this unit, and its name.
    fn scale(self, size: f64) -> (f64, &'static str) {
        let of_time = |us: f64| {
            let (scale, name) = time_scale(size * us);
            (scale / us, name)
        };
        match self {
            Self::Count | Self::PerSecond => count_scale(size),
            Self::Share => (0.01, "%"),
            Self::Bytes => byte_scale(size),
            Self::Microseconds => of_time(1.0),
            Self::Nanoseconds => of_time(1e-3),
            Self::Seconds => of_time(1e6),
        }
    }

    /// The unit's own name, for headings and for the script that shows values on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Count => "count",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
            Self::PerSecond => "per_second",
            Self::Share => "share",
            Self::Seconds => "s",
        }
    }
}

/// Three significant digits below a thousand, whole numbers in groups of three above.
pub fn plain(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value.fract() == 0.0 || value.abs() >= 999.5 {
        return grouped(value);
    }
    digits(value)
}

/// How many times as much: to the per mille about one, where that matters; else three significant
/// digits.
pub fn times(ratio: f64) -> String {
    if ratio >= 1e6 {
        "no end".to_owned()
    } else if (0.9..1.1).contains(&ratio) {
        format!("{ratio:.3}")
    } else {
        digits(ratio)
    }
}

/// A part of a whole in per cent: `98 %`, `2.3 %`, `0.041 %`.
pub fn share(part: f64) -> String {
    let percent = part * 100.0;
    let size = percent.abs();
    if size >= 10.0 || size <= 0.0 {
        format!("{percent:.0} %")
    } else if size >= 0.1 {
        format!("{percent:.1} %")
    } else if size >= 0.001 {
        format!("{percent:.3} %")
    } else {
        format!("{percent:.1e} %")
    }
}

/// The same to three significant digits, where much depends on the last of them: `87.5 %`.
pub fn fine_share(part: f64) -> String {
    format!("{} %", digits(part * 100.0))
}

/// What is left of a whole without `part` of it, with as many digits as it takes to differ from
/// all: `50 %`, `98.7 %`, `99.96 %`.
pub fn all_but(part: f64) -> String {
    let percent = (1.0 - part) * 100.0;
    let (mut digits, mut tenths) = (0, part * 100.0);
    while digits < 8 && part > 0.0 && tenths < 0.999 {
        tenths *= 10.0;
        digits += 1;
    }
    format!("{percent:.digits$} %")
}

/// A whole number in groups of three.
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// Three significant digits, no exponent, no trailing zeros lost: `0.0213`, `2.10`, `21.0`, `210`.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let decimals = if size >= 99.95 {
        0
    } else if size >= 9.995 {
        1
    } else if size >= 0.9995 {
        2
    } else if size >= 0.000_1 {
        3 + leading_zeros(size)
    } else {
        return format!("{value:.1e}");
    };
    if size >= 999.5 {
        return grouped(value);
    }
    format!("{value:.decimals$}")
}

/// How many zeros stand between the point and the first digit of a number below one.
fn leading_zeros(size: f64) -> usize {
    let mut zeros = 0;
    let mut scaled = size * 10.0;
    while scaled < 0.9995 && zeros < 6 {
        scaled *= 10.0;
        zeros += 1;
    }
    zeros
}

/// A time in microseconds, in the unit a person would choose.
pub fn time_us(us: f64) -> String {
    let (scale, name) = time_scale(us.abs());
    format!("{} {name}", digits(us / scale))
}

/// Bytes in powers of 1024.
pub fn bytes(value: f64) -> String {
    let (scale, name) = byte_scale(value);
    format!("{} {name}", digits(value / scale))
}

fn time_scale(us: f64) -> (f64, &'static str) {
    if us == 0.0 {
        (1.0, "µs")
    } else if us < 0.9995 {
        (1e-3, "ns")
    } else if us < 999.5 {
        (1.0, "µs")
    } else if us < 999_500.0 {
        (1e3, "ms")
    } else {
        (1e6, "s")
    }
}

/// The largest unit of bytes that is not larger than `value`, and its name.
pub fn byte_scale(value: f64) -> (f64, &'static str) {
    match value.abs() {
        size if size < 1024.0 => (1.0, "B"),
        size if size < 1_048_576.0 => (1024.0, "KiB"),
        size if size < 1_073_741_824.0 => (1_048_576.0, "MiB"),
        _ => (1_073_741_824.0, "GiB"),
    }
}

/// `k`, `M`: for marks on axes, where room is short.
const fn count_scale(size: f64) -> (f64, &'static str) {
    if size >= 1e9 {
        (1e9, "G")
    } else if size >= 1e6 {
        (1e6, "M")
    } else if size >= 1e4 {
        (1e3, "k")
    } else {
        (1.0, "")
    }
}

/// As few digits as tell it apart from its neighbours on an axis.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", group(whole)),
        None => group(text),
    }
}

fn grouped(value: f64) -> String {
    group(&format!("{value:.0}"))
}

/// Puts commas between groups of three digits.
fn group(text: &str) -> String {
    let (sign, text) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let mut out = String::with_capacity(text.len() + text.len() / 3 + 1);
    out.push_str(sign);
    for (position, digit) in text.chars().enumerate() {
        if position > 0 && (text.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `value` with so few digits that a plot of it does not change: five.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// `1 round`, `6 rounds`.
pub fn plural(n: usize, one: &str) -> String {
    crate::words::plural(n as u64, one)
}

/// A value that a rule read, with no more digits than anyone reads.
pub fn evidence(value: &serde_json::Value) -> String {
    use serde_json::Value;

    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(evidence).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Number(number) if number.is_f64() => {
            let value = rounded(number.as_f64().unwrap_or_default());
            if value.abs() >= 1e15 {
                format!("{value:e}")
            } else {
                value.to_string()
            }
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}: {}", evidence(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Null | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
