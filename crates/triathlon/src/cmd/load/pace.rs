//! The flags that say when requests become due: rates, stages, users, deadlines, pipelines.

use model::plan::{Arrivals, PIPELINE_MAX, Protocol, STREAMS_MAX, Stage, Think, Url, pace};
use model::threshold::Threshold;
use model::units::{Rate, Span};

use super::capacity::Of;
use crate::exit::UsageError;
use crate::whole;

/// When requests become due.
#[derive(clap::Args, Debug)]
pub(super) struct Pace {
    /// Open loop: arrivals per second in total, 2000 or 2k, whether or not answers come
    /// [default: closed loop, each connection asks again when its answer has come]
    #[arg(short = 'R', long, value_name = "RATE", group = "pace")]
    rate: Option<Rate>,

    /// With --rate or --stages: independent arrivals (exponential gaps) instead of evenly spaced
    /// ones
    #[arg(long, requires = "pace", conflicts_with = "uniform")]
    pub(super) poisson: bool,

    /// With --rate or --stages: each arrival at a random instant between its place and the next
    /// one's, where evenly spaced ones would keep step with something
    #[arg(long, requires = "pace")]
    pub(super) uniform: bool,

    /// Open loop at a rate that changes, stage by stage: 30s:1k goes evenly to 1,000/s within 30 s,
    /// from 0 at first; 30s:=1k jumps there and stays; 60s:!9k/5s is a flash crowd, which jumps to
    /// 9,000/s and loses half of the excess every 5 s. The measurement is as long as all of them,
    /// without warm-up by default
    #[arg(
        long,
        value_name = "STAGE,...",
        value_delimiter = ',',
        conflicts_with_all = ["duration", "rate", "requests"],
        group = "pace"
    )]
    pub(super) stages: Vec<Stage>,

    /// Closed loop of users, one on each connection, who wait before each request: 100ms,
    /// exp:100ms, uniform:50ms-150ms or lognormal:100ms/1.2 (median and sigma)
    #[arg(long, value_name = "TIME|LAW", conflicts_with = "pace")]
    pub(super) think: Option<Think>,

    /// Open loop: give up a request that was due for this long and could not be sent, and count it
    /// as shed [default: it waits until the end]
    #[arg(long, value_name = "TIME", requires = "pace")]
    pub(super) deadline: Option<Span>,

    /// Search the highest load at which these conditions (see --threshold) hold, by MLRsearch
    /// (RFC 9971): trials of --duration [default: 20s] at rates that double and then halve what is
    /// between, several at each rate, then fresh ones at the answer, which is an interval
    #[arg(
        long,
        value_name = "CONDITION,...",
        value_delimiter = ',',
        conflicts_with_all = ["rate", "requests", "stages", "thresholds"],
        group = "pace"
    )]
    pub(super) capacity: Vec<Threshold>,

    /// What --capacity searches
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        requires = "capacity",
        conflicts_with_all = ["deadline"]
    )]
    pub(super) capacity_of: Of,

    /// Exchanges in flight on one connection: requests are sent before the answers to those before
    /// them have come (RFC 9112 §9.3.2)
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = whole::from_to(1..=PIPELINE_MAX)
    )]
    pub(super) pipeline: u32,

    /// Speak HTTP/2 with an https:// server, which has to agree (ALPN) [default: HTTP/1.1]
    #[arg(long, conflicts_with_all = ["http2_prior_knowledge", "pipeline"])]
    http2: bool,

    /// Speak HTTP/2 with an http:// server, which has to expect that
    #[arg(long, conflicts_with = "pipeline")]
    http2_prior_knowledge: bool,

    /// Speak HTTP/3 with an https:// server, over QUIC on the same port of UDP. It goes over epoll,
    /// and the time of a handshake is that of QUIC
    #[arg(long, conflicts_with_all = ["http2", "http2_prior_knowledge", "pipeline"])]
    http3: bool,

    /// Streams of HTTP/2 or HTTP/3 on one connection: exchanges in flight at once, as far as the
    /// server allows [default: 1, or for the parts of a script's page as many as these]
    #[arg(
        short = 'm',
        long,
        value_name = "N",
        value_parser = whole::from_to(1..=STREAMS_MAX)
    )]
    pub(super) streams: Option<u32>,
}

impl Pace {
    /// What connections to `url` speak.
    pub(super) fn protocol(&self, url: &Url) -> Result<Protocol, UsageError> {
        let wrong = |text: &str| Err(UsageError(text.to_owned()));
        if self.http3 {
            return match url.is_secure {
                true => Ok(Protocol::Http3),
                false => wrong("--http3: HTTP/3 always uses TLS: give an https:// URL"),
            };
        }
        match (self.http2, self.http2_prior_knowledge, url.is_secure) {
            (false, false, _) => Ok(Protocol::Http1),
            (true, _, true) | (_, true, false) => Ok(Protocol::Http2),
            (true, _, false) => wrong(
                "--http2: an http:// server cannot be asked whether it speaks HTTP/2; say \
                 --http2-prior-knowledge if it does",
            ),
            (_, true, true) => wrong(
                "--http2-prior-knowledge: an https:// server is asked whether it speaks HTTP/2; \
                 say --http2",
            ),
        }
    }

    /// As a plan has it.
    pub(super) fn arrivals(&self) -> Arrivals {
        let mean = || pace::mean_rate(&self.stages);
        match self.rate.or_else(|| (!self.stages.is_empty()).then(mean)) {
            None => Arrivals::Closed,
            Some(rate) => self.arrivals_at(rate),
        }
    }

    /// An open loop at `rate_per_1000_s`.
    pub(super) const fn arrivals_at(&self, rate_per_1000_s: Rate) -> Arrivals {
        match (self.poisson, self.uniform) {
            (true, _) => Arrivals::Poisson { rate_per_1000_s },
            (false, true) => Arrivals::Uniform { rate_per_1000_s },
            (false, false) => Arrivals::Fixed { rate_per_1000_s },
        }
    }
}
