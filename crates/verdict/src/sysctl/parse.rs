//! Reads a settings file as sysctl(8) does.

/// One `key = value` line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Setting {
    /// The line, from 1.
    pub line: u32,
    /// The key with dots, whatever separators it was written with.
    pub key: String,
    /// The value, white space folded; empty where none is written.
    pub value: String,
}

impl Setting {
    /// The value as whole numbers, if that is what it is: the kernel reads as many as it wants and
    /// leaves a remark behind them alone.
    pub fn numbers(&self) -> Option<Vec<u64>> {
        let value = self.value.split(" #").next()?;
        let numbers: Result<Vec<u64>, _> = value.split(' ').map(str::parse).collect();
        numbers.ok()
    }

    /// What looks like a remark behind the value, and is part of it.
    pub fn remark(&self) -> Option<&str> {
        let start = self.value.find(" #")?;
        Some(&self.value[start + 1..])
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

/// Reads `text`: lines that begin with `#` or `;` are comments, a leading `-` means that errors are
/// ignored, a key may be written with slashes. All that stands behind the `=` is the value.
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
    let folded: Vec<&str> = value.split_whitespace().collect();
    Some((key, folded.join(" ")))
}
