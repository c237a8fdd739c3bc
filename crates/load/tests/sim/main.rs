//! The real worker on a virtual clock, before servers whose behaviour is known exactly.

mod authors;
mod classes;
mod codings;
mod coming;
mod connections;
mod early;
mod experiments;
mod failures;
mod harness;
mod hosts;
mod http2;
mod mixture;
mod models;
mod overload;
mod pages;
mod pipeline;
mod redirects;
mod reference;
mod renewal;
mod scripts;
mod slowly;
mod split;
mod timing;
mod tls;
mod truth;
mod tunnels;
