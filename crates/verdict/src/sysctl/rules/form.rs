//! What is wrong with a line whatever its key means: no value, a remark behind it, a key that
//! nobody can set.

use model::Severity;

use super::super::table::{DEFAULTS, READ_ONLY, covers};
use super::super::{Kind, Machine, Setting};
use super::Draft;

/// Whether the kernel tells `key` and lets nobody set it.
pub(in super::super) fn is_read_only(key: &str) -> bool {
    READ_ONLY.iter().any(|pattern| covers(pattern, key))
}

pub(super) fn read_only(setting: &Setting, _: &Machine) -> Vec<Draft> {
    if !is_read_only(&setting.key) {
        return Vec::new();
    }
    let say = "The kernel only reports this: it cannot be set.";
    vec![Draft::new(Kind::ReadOnly, Severity::Note, say).source("its mode in /proc/sys is 0444")]
}

/// Keys that hold text or a list may be empty; a number may not.
pub(super) fn empty(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let is_number = DEFAULTS.iter().any(|default| default.key == setting.key);
    if !setting.value.is_empty() || !is_number {
        return Vec::new();
    }
    let say = "No value is written: the kernel refuses the line, and what was there stays.";
    vec![
        Draft::new(Kind::Malformed, Severity::Suspect, say)
            .fix("write a number, or remove the line")
            .source("proc_dointvec in kernel/sysctl.c"),
    ]
}

pub(super) fn remark(setting: &Setting, _: &Machine) -> Vec<Draft> {
    let Some(remark) = setting.remark().filter(|_| !is_read_only(&setting.key)) else {
        return Vec::new();
    };
    let say = format!(
        "Only a line that begins with # or ; is a comment: '{remark}' is written to the kernel as \
         part of the value. Where that is a number the rest is left alone; a name is refused."
    );
    vec![
        Draft::new(Kind::Malformed, Severity::Note, say)
            .fix("put the remark on a line of its own")
            .source("sysctl.conf(5)"),
    ]
}
