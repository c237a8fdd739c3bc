//! What is known of one simulated connection.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::super::KernelTimes;
use super::super::outgoing::Piece;
use super::agenda::Told;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) target: SocketAddr,
    pub(super) source: Option<SocketAddr>,
    pub(super) established: bool,
    pub(super) ended: bool,
    pub(super) paused: bool,
    pub(super) finished: bool,
    pub(super) skipping: u64,
    pub(super) taken: u64,
    /// When bytes went last, and came last.
    pub(super) times: KernelTimes,
    /// What one receive brings at most, if that is limited.
    pub(super) received_most: Option<usize>,
    pub(super) sends: VecDeque<Piece>,
    /// What came while receiving was paused.
    pub(super) held: VecDeque<Told>,
}

impl Connection {
    /// One whose connect is about to be handed in.
    pub(super) const fn new(target: SocketAddr, source: Option<SocketAddr>) -> Self {
        Self {
            target,
            source,
            established: false,
            ended: false,
            paused: false,
            finished: false,
            skipping: 0,
            taken: 0,
            times: KernelTimes {
                sent: None,
                received: None,
            },
            received_most: None,
            sends: VecDeque::new(),
            held: VecDeque::new(),
        }
    }
}
