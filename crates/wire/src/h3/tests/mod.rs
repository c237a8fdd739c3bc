//! Both sides against each other in simulated time, over a network that loses, repeats and reorders
//! datagrams as a seed says; and frames cut at any place.

mod cancelled;
mod exchanges;
mod frames;
mod network;
mod resumption;
mod rules;
