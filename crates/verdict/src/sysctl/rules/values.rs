//! Values that the kernel refuses whatever they are meant for, and a limit of files that is met.

use model::Severity;

use super::super::table::{Number, number_of};
use super::super::{Kind, Machine, Setting};
use super::{Draft, single};

/// What the rest of a machine may have open: a desktop has some 10,000 files open.
const FILES_OF_OTHERS: u64 = 10_000;

/// A word where a number belongs, and a number that does not fit.
pub(super) fn numbers(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let Some(Number {
        count, min, max, ..
    }) = number_of(&setting.key)
    else {
        return Vec::new();
    };
    // The kernel reads as many as it wants; an empty value is told by another rule.
    let words = setting.value.split(' ').take(*count);
    words
        .filter(|word| !word.is_empty() && !word.starts_with('#'))
        .find_map(|word| match read(word) {
            None => {
                let say = format!(
                    "'{word}' is not a number: the kernel refuses the line, and what was there \
                     stays."
                );
                Some(Draft::new(Kind::Malformed, Severity::Suspect, say))
            }
            Some(number) if number < 0 && *min == 0 => {
                let say = format!(
                    "{number} is below zero, which means nothing here: a kernel refuses it or \
                     takes it for something else."
                );
                Some(Draft::new(Kind::Width, Severity::Suspect, say))
            }
            Some(number) if !(*min..=*max).contains(&number) => {
                let say = format!(
                    "{number} is not between {min} and {max}: the kernel refuses the line, and \
                     what was there stays."
                );
                Some(Draft::new(Kind::Width, Severity::Suspect, say))
            }
            Some(_) => None,
        })
        .map(|draft| {
            draft
                .fix("write a number that the kernel takes, or remove the line")
                .source("proc_dointvec_minmax in kernel/sysctl.c")
        })
        .into_iter()
        .collect()
}

/// A number as the kernel reads it: decimal, `0x` hexadecimal, or octal behind a zero.
fn read(word: &str) -> Option<i128> {
    let (is_negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(digits) => i128::from_str_radix(digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => i128::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    let number = number.ok()?;
    Some(if is_negative { -number } else { number })
}

/// Fewer open files on the whole machine than the benchmark and the rest of the machine need.
pub(super) fn file_max(setting: &Setting, machine: &Machine) -> Vec<Draft> {
    let Some(files) = too_few_files(setting, machine) else {
        return Vec::new();
    };
    let say = format!(
        "It limits open files of the whole machine to {files}: {} connections take twice as many \
         where generator and server share a machine, and other programs have a few thousand open. \
         Beyond it, accept and open fail (ENFILE) for everyone but root.",
        machine.connections
    );
    vec![
        Draft::new(Kind::Size, Severity::Suspect, say)
            .fix(
                "remove the line: by default the kernel allows as many as fit into a tenth of \
                  its memory",
            )
            .source("Documentation/admin-guide/sysctl/fs.rst"),
    ]
}

/// The limit that `setting` sets, if it is one of files and will be met.
pub(super) fn too_few_files(setting: &Setting, machine: &Machine) -> Option<u64> {
    let needed = machine
        .connections
        .saturating_mul(2)
        .saturating_add(FILES_OF_OTHERS);
    single(setting, "fs.file-max").filter(|files| *files < needed)
}
