//! The program from outside: what it prints, writes and answers, against servers and clients that
//! share nothing with it.
//!
//! Quick tests need nothing but this program. Those that start other people's servers or take
//! seconds run where `TRIATHLON_SLOW_TESTS=1`, as `cargo xtask test` sets it; a test that cannot
//! run says why in the file that `TRIATHLON_NOT_RUN` names.

#![forbid(unsafe_code)]
#![allow(
    clippy::print_stderr,
    reason = "a test that cannot run here says so to whoever watches"
)]

mod addresses;
mod agents;
mod bad_input;
mod browser;
mod calls;
mod ci;
mod compare;
mod comparisons;
mod compression;
mod counts;
mod digests;
mod disturbed;
mod doctor;
mod door;
mod exports;
mod figures;
mod first_heat;
mod generate;
mod gone;
mod handshakes;
mod hostile;
mod hostile_http2;
mod hosts;
mod http2;
mod http3;
mod identities;
mod judged;
mod keys;
mod lab;
mod lab_exits;
mod lab_tls;
mod lab_users;
mod lossy;
mod lua;
mod many;
mod memory;
mod mistakes;
mod models;
mod network;
mod outputs;
mod own;
mod probe;
mod proxies;
mod publish;
mod recorded;
mod redirects;
mod report;
mod scripts;
mod secrets;
mod serve;
mod servers;
mod sessions;
mod slow;
mod split;
#[allow(dead_code, reason = "each file of tests uses its part")]
mod support;
mod tables;
mod targets;
mod thresholds;
mod timekeeping;
mod tls;
mod tools;
mod unfair;
mod view;
mod way;
