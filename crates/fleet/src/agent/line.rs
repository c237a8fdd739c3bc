//! What the threads that work on an order hear and say.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use model::Trial;
use tokio::sync::mpsc::UnboundedSender;

use crate::message::Passed;

/// Workers that are ready wait so long for the time to begin. Whoever ordered them is gone then.
const START_LIMIT: Duration = Duration::from_secs(120);

/// What the thread that makes a load hears and says.
#[derive(Debug)]
pub struct Line {
    /// In nanoseconds since 1970; 0: not said yet.
    pub(super) start: AtomicU64,
    pub(super) is_stopped: AtomicBool,
    ready_since: OnceLock<Instant>,
    /// Whether anybody wants to know what passes.
    is_watched: bool,
    /// What passed last, until the agent takes it.
    passed: Mutex<Option<Passed>>,
    pub(super) news: UnboundedSender<News>,
}

/// What a load is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// Nothing yet.
    Nothing,
    /// To begin at this time of the machine's clock, in nanoseconds since 1970.
    Begin(u64),
    /// To come to its end.
    Stop,
}

/// What is new of a load, or of the servers of a lab.
#[derive(Debug)]
pub(super) enum News {
    Ready,
    /// An interval is over: what passed in it lies with the [`Line`].
    Passed,
    Ended(Result<Box<Trial>, String>),
    Said(String),
    Closed(Result<(), String>),
}

/// Takes the lines of what has the servers of a lab.
#[derive(Clone, Debug)]
pub struct Output {
    pub(super) news: UnboundedSender<News>,
}

impl Output {
    /// Says one to whoever asked.
    pub fn say(&self, line: String) {
        // Without the agent nobody wants to know.
        drop(self.news.send(News::Said(line)));
    }
}

impl Line {
    pub(super) const fn new(news: UnboundedSender<News>, is_watched: bool) -> Self {
        Self {
            start: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            ready_since: OnceLock::new(),
            is_watched,
            passed: Mutex::new(None),
            news,
        }
    }

    /// An interval of the load is over. There is room for one: where the agent has not taken the
    /// one before, that is lost.
    pub fn pass(&self, passed: Passed) {
        if !self.is_watched {
            return;
        }
        if let Ok(mut place) = self.passed.lock()
            && place.replace(passed).is_none()
        {
            // Without the agent nobody wants to know.
            drop(self.news.send(News::Passed));
        }
    }

    /// What passed last, once.
    pub(super) fn take_passed(&self) -> Option<Passed> {
        self.passed.lock().ok()?.take()
    }

    /// What the load is told; `is_ready` says whether its workers are ready to begin.
    pub fn listen(&self, is_ready: bool) -> Heard {
        let since = is_ready.then(|| {
            *self.ready_since.get_or_init(|| {
                // Without the agent nobody wants to know.
                drop(self.news.send(News::Ready));
                Instant::now()
            })
        });
        let is_alone = || since.is_some_and(|since| since.elapsed() > START_LIMIT);
        match self.start.load(Ordering::Relaxed) {
            _ if self.is_stopped.load(Ordering::Relaxed) => Heard::Stop,
            0 if is_alone() => Heard::Stop,
            0 => Heard::Nothing,
            at => Heard::Begin(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[test]
    fn a_load_hears_its_start_and_its_end_and_tells_once_that_it_is_ready() {
        let (news, mut received) = unbounded_channel();
        let line = Line::new(news, false);
        assert_eq!(line.listen(false), Heard::Nothing);
        assert!(received.try_recv().is_err(), "it is not ready");
        assert_eq!(line.listen(true), Heard::Nothing);
        assert!(matches!(received.try_recv(), Ok(News::Ready)));
        line.start.store(7, Ordering::Relaxed);
        assert_eq!(line.listen(true), Heard::Begin(7));
        line.is_stopped.store(true, Ordering::Relaxed);
        assert_eq!(line.listen(true), Heard::Stop);
        assert!(received.try_recv().is_err(), "once is enough");
    }

    #[test]
    fn one_interval_waits_for_the_agent_and_no_more() {
        let passed = |number| Passed {
            number,
            length: model::Span::from_s(1),
            right: 1,
            failed: 0,
            connections: 1,
            bytes_received: model::Bytes::new(7),
            response_time_p99: None,
        };
        let (news, mut received) = unbounded_channel();
        let unseen = Line::new(news.clone(), false);
        unseen.pass(passed(0));
        assert!(received.try_recv().is_err(), "nobody watches");
        let line = Line::new(news, true);
        for number in 0..1_000 {
            line.pass(passed(number));
        }
        assert!(matches!(received.try_recv(), Ok(News::Passed)));
        assert!(received.try_recv().is_err(), "it is told of once");
        assert_eq!(line.take_passed(), Some(passed(999)));
        assert_eq!(line.take_passed(), None);
        line.pass(passed(1_000));
        assert!(matches!(received.try_recv(), Ok(News::Passed)));
    }
}
