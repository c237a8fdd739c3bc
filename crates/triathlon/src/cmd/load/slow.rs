//! The flags of connections that read and send slowly.

use model::plan::Slow;
use model::units::Bytes;

use super::renewal::share;

/// How slowly connections read and send.
#[derive(clap::Args, Debug)]
pub(super) struct Slowness {
    /// Read answers slowly: this many bytes per second on each connection, with a small buffer in
    /// the kernel, so that the server has to wait: 500, 10k. The timeout is for an answer as a
    /// whole
    #[arg(long, value_name = "BYTES")]
    slow_read: Option<Bytes>,

    /// Send requests slowly, piece by piece: this many bytes per second on each connection. A
    /// request counts as sent from its first byte on
    #[arg(long, value_name = "BYTES")]
    slow_send: Option<Bytes>,

    /// With --slow-read or --slow-send: this share of the connections is slow, and the others are
    /// not: 10% [default: all are]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    slow_share: Option<u32>,
}

impl Slowness {
    /// As a plan has it.
    pub(super) fn written(&self) -> Slow {
        Slow {
            read_bytes_per_s: self.slow_read.map(Bytes::count),
            send_bytes_per_s: self.slow_send.map(Bytes::count),
            of_million: self.slow_share,
        }
    }
}
