//! The exchanges of each request.

use std::hint::black_box;

use super::answers::{Answers, Ended};

/// So many requests have all their counters in the caches of a CPU.
const FEW: usize = 16;
/// So many exchanges of more requests are counted together.
const TOGETHER: usize = 32;

/// The exchanges of each request of the plan.
///
/// Of a thousand requests nearly each counter lies in main memory, and a CPU that meets them one by
/// one waits for each. Where there are many requests, what has ended is put down and counted later,
/// some at once: the CPU waits for their counters together.
#[derive(Debug)]
pub(super) struct Classes {
    answers: Box<[Answers]>,
    /// What is put down, each with its request; never any where there are few.
    later: Vec<(u16, Ended)>,
}

impl Classes {
    pub(super) fn new(count: usize) -> Self {
        let together = if count > FEW { TOGETHER } else { 0 };
        Self {
            answers: (0..count).map(|_| Answers::default()).collect(),
            later: Vec::with_capacity(together),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.answers.len()
    }

    /// An exchange of that request has ended.
    #[inline]
    pub(super) fn end(&mut self, class: u16, ended: Ended) {
        if self.answers.len() <= FEW {
            return self.answers[usize::from(class)].end(&ended);
        }
        self.later.push((class, ended));
        if self.later.len() == TOGETHER {
            self.count();
        }
    }

    /// A right answer to that request came in an open loop's window, and was due before it.
    #[cold]
    pub(super) const fn pass(&mut self, class: u16) {
        self.answers[class as usize].pass();
    }

    /// Counts what is put down.
    fn count(&mut self) {
        let touched =
            |(class, ended): &(u16, Ended)| self.answers[usize::from(*class)].touch(ended);
        black_box(self.later.iter().map(touched).fold(0, |all, one| all ^ one));
        for (class, ended) in self.later.drain(..) {
            self.answers[usize::from(class)].end(&ended);
        }
    }

    /// All that was counted, by request.
    pub(super) fn finish(mut self) -> Box<[Answers]> {
        self.count();
        self.answers
    }
}
