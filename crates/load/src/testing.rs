//! What several tests of this crate begin with.

use model::plan::{Arrivals, Backend, Expectation, FORMAT, PlanFile, RequestFile, Spin, Stop};
use model::units::Span;

/// A closed loop of one connection for a second.
pub(crate) fn plan_file() -> PlanFile {
    PlanFile {
        format: FORMAT,
        requests: vec![RequestFile {
            url: "http://127.0.0.1:1/".to_owned(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body_base64: None,
        }],
        addresses: vec!["127.0.0.1:1".parse().unwrap()],
        sources: Vec::new(),
        protocol: model::plan::Protocol::Http1,
        arrivals: Arrivals::Closed,
        stop: Stop::DurationNs(Span::from_s(1)),
        warmup: Span::ZERO,
        connections: 1,
        requests_per_connection: None,
        pipeline: 1,
        timeout: Span::from_s(5),
        seed: 0,
        workers: 1,
        cpus: Vec::new(),
        spin: Spin::Never,
        backend: Backend::Auto,
        expect: Expectation::default(),
        samples: 0,
        interval: Span::from_s(1),
    }
}
