//! One file per subcommand: its arguments, and the wiring of the rooms it needs.

pub(crate) mod addresses;
pub(crate) mod agent;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod judge;
pub(crate) mod lab;
mod later;
pub(crate) mod load;
pub(crate) mod pack;
mod printer;
pub(crate) mod probe;
mod publish;
pub(crate) mod report;
pub(crate) mod serve;
mod stored;
mod study;
