//! The real worker on a virtual clock, before servers whose behaviour is known exactly.

mod connections;
mod failures;
mod harness;
mod reference;
mod timing;
