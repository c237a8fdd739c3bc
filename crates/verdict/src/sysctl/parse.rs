//! Reads a settings file as sysctl(8) does.

/// One `key = value` line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Setting {
    /// The line, from 1.
    pub line: u32,
    /// The key with dots, whatever separators it was written with.
    pub key: String,
    /// The value, white space folded.
    pub value: String,
}

impl Setting {
    /// The value as whole numbers, if that is what it is.
    pub fn numbers(&self) -> Option<Vec<u64>> {
        let numbers: Result<Vec<u64>, _> = self.value.split(' ').map(str::parse).collect();
        numbers.ok()
    }
}

/// A line that is no setting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Malformed {
    /// The line, from 1.
    pub line: u32,
    /// What it says.
    pub text: String,
}

/// Reads `text`: comments start with `#` or `;`, a leading `-` means that errors are ignored, a
/// key may be written with slashes. A remark after the value is cut off and tolerated.
pub fn parse(text: &str) -> (Vec<Setting>, Vec<Malformed>) {
    let (mut settings, mut malformed) = (Vec::new(), Vec::new());
    for (line, raw) in (1..).zip(text.lines()) {
        let trimmed = raw.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        match read(trimmed) {
            Some((key, value)) => settings.push(Setting { line, key, value }),
            None => malformed.push(Malformed {
                line,
                text: trimmed.to_owned(),
            }),
        }
    }
    (settings, malformed)
}

fn read(line: &str) -> Option<(String, String)> {
    let (key, value) = line.trim_start_matches('-').split_once('=')?;
    let key = key.trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || "._-/*".contains(c);
    if key.is_empty() || !key.chars().all(is_key) {
        return None;
    }
    // With slashes, a dot is part of a name (an interface like eth0.1); we know no such key.
    let key = key.replace('/', ".");
    let value = value.split(" #").next().unwrap_or_default().trim();
    let folded: Vec<&str> = value.split_whitespace().collect();
    (!folded.is_empty()).then(|| (key, folded.join(" ")))
}
