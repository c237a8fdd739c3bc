//! What real kernels do to a client, and a perfect network does not: each of it can be switched on
//! alone, and a seed repeats it.

use model::units::{Instant, Span};

use super::random::Random;
use crate::Errno;

/// How the kernel under the network behaves. The default is a kernel that never fails, is never
/// late and takes everything at once.
///
/// [`Kernel::mixture`] makes one of all of these from one number, so that a suite can run over as
/// many seeds as it likes:
///
/// ```text
/// for seed in 0..1_000 {
///     let sim = Sim::new(server(), &settings).with_kernel(Kernel::mixture(seed));
///     ...
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Kernel {
    /// What decides when the following happens.
    pub seed: u64,
    /// A wait ends up to so much later than it should.
    pub wait_late: Span,
    /// A place stays taken up to so long after its connection was closed: a connect may be answered
    /// with [`Refused::Slots`](super::Refused::Slots) although the caller holds few keys.
    pub free_late: Span,
    /// So many of a thousand sends are taken in part: the first bytes now, the rest within
    /// [`Kernel::send_pause`], perhaps in several parts again. Sends after them are
    /// [`Behind`](super::Handed::Behind).
    pub partial_sends_per_1000: u16,
    /// The longest time for which the kernel takes no more of a send that was taken in part.
    pub send_pause: Span,
    /// So many of a thousand sends fail for want of memory: the connection stands.
    pub failed_sends_per_1000: u16,
    /// So many of a thousand connects fail within the call, with
    /// [`Refused::Kernel`](super::Refused::Kernel).
    pub failed_connects_per_1000: u16,
    /// So many of a thousand batches end before all that has happened was told. The rest comes with
    /// the next wait or poll.
    pub split_batches_per_1000: u16,
}

impl Kernel {
    /// Some of all this, as `seed` says: each behaviour is off in a quarter of all seeds, and as
    /// strong as the seed says in the others. Seed 0 is the kernel that never fails.
    #[must_use]
    pub fn mixture(seed: u64) -> Self {
        if seed == 0 {
            return Self::default();
        }
        let mut random = Random::new(seed);
        let mut up_to = |most: u64| {
            if random.below(4) == 0 {
                0
            } else {
                random.below(most) + 1
            }
        };
        let wait_late = Span::from_us(up_to(2_000));
        let free_late = Span::from_us(up_to(5_000));
        let partial_sends = up_to(500);
        let send_pause = Span::from_us(up_to(3_000));
        let failed_connects = up_to(100);
        let split_batches = up_to(900);
        let failed_sends = up_to(20);
        let per_thousand = |number: u64| u16::try_from(number).unwrap_or(1_000);
        Self {
            seed,
            wait_late,
            free_late,
            partial_sends_per_1000: per_thousand(partial_sends),
            send_pause,
            failed_sends_per_1000: per_thousand(failed_sends),
            failed_connects_per_1000: per_thousand(failed_connects),
            split_batches_per_1000: per_thousand(split_batches),
        }
    }
}

/// A [`Kernel`] at work.
#[derive(Debug)]
pub(super) struct Behaviour {
    kernel: Kernel,
    random: Random,
    /// Places of closed connections that are not free yet, and when they will be.
    closing: Vec<Instant>,
}

impl Behaviour {
    pub(super) const fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            random: Random::new(kernel.seed),
            closing: Vec::new(),
        }
    }

    /// How much too late this wait ends. Every second one is in time.
    pub(super) fn lateness(&mut self) -> Span {
        if self.kernel.wait_late == Span::ZERO || self.random.below(2) == 0 {
            return Span::ZERO;
        }
        self.random.span(self.kernel.wait_late)
    }

    /// A connection was closed.
    pub(super) fn closed(&mut self, now: Instant) {
        if self.kernel.free_late > Span::ZERO {
            self.closing
                .push(now + self.random.span(self.kernel.free_late));
        }
    }

    /// How many places of closed connections are still taken.
    pub(super) fn taken_places(&mut self, now: Instant) -> usize {
        self.closing.retain(|free_at| *free_at > now);
        self.closing.len()
    }

    /// How this connect fails within the call, if it does.
    pub(super) fn connect_error(&mut self) -> Option<Errno> {
        const ERRORS: [i32; 3] = [libc::EADDRNOTAVAIL, libc::ENETUNREACH, libc::ENOBUFS];
        if !self.random.happens(self.kernel.failed_connects_per_1000) {
            return None;
        }
        let number = usize::try_from(self.random.below(3)).unwrap_or(0);
        Some(Errno::new(ERRORS[number]))
    }

    /// How this send fails, if it does.
    pub(super) fn send_error(&mut self) -> Option<Errno> {
        let fails = self.random.happens(self.kernel.failed_sends_per_1000);
        fails.then_some(Errno::new(libc::ENOBUFS))
    }

    /// How many of so many bytes the kernel takes now, and how long it then takes no more.
    pub(super) fn takes(&mut self, count: usize) -> (usize, Span) {
        if count < 2 || !self.random.happens(self.kernel.partial_sends_per_1000) {
            return (count, Span::ZERO);
        }
        let part = self.random.below(count as u64 - 1) + 1;
        let pause = self.random.span(self.kernel.send_pause) + Span::from_ns(1);
        (usize::try_from(part).unwrap_or(count), pause)
    }

    /// How many of so many things that have happened are told in this batch.
    pub(super) fn batch(&mut self, count: usize) -> usize {
        if count < 2 || !self.random.happens(self.kernel.split_batches_per_1000) {
            return usize::MAX;
        }
        usize::try_from(self.random.below(count as u64) + 1).unwrap_or(count)
    }
}
