//! What a trial is worth: a pure function from stored facts to a verdict.
//!
//! [`judge()`] reads one trial; [`judge_set`] reads all trials of an experiment and lets the rules
//! look across rounds and points too. A rule judges claims, not runs, and a rule that cannot read
//! its fact says what was missing: that is `unknown`, never "passed". Start reading at the table in
//! `checks`.

#![forbid(unsafe_code)]

pub mod analysis;
mod apart;
pub mod cause;
mod check;
mod checks;
pub mod compare;
pub mod doctor;
pub mod growth;
mod judge;
pub mod limit;
pub mod number;
pub mod pairs;
mod ports;
pub mod scaling;
pub mod set;
pub mod summary;
pub mod sysctl;
pub mod thresholds;
pub mod words;

#[cfg(test)]
mod settings_tests;

pub use cause::void;
pub use check::Check;
pub use checks::WAITED;
pub use judge::{
    SET, is_about_likeness, is_bound, is_disturbance, is_spoilt, judge, judge_set, judge_shares,
};
pub use set::TrialSet;

/// All rules, in the order of the catalogue.
pub fn rules() -> &'static [&'static Check] {
    checks::ALL
}
