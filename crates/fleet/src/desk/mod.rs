//! What an agent does about each message, decided without a network, a clock or a process.
//!
//! An agent works on one order at a time. A message that comes twice, or late, changes nothing. An
//! order is examined before anything starts: who asks has the same version, its plan can be read,
//! and leads to addresses that the agent's owner has named.

mod plan;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;

use model::{PlanFile, Prefix, Span, Trial};

pub use self::plan::allowed;
use crate::message::{Ask, LabOrder, Name, Order, Passed, Role, Tell};

/// So many orders that have ended are remembered, so that nothing that comes late begins them anew.
const REMEMBERED: usize = 256;

/// A load may begin so far ahead. A time farther ahead is one of another clock.
const AHEAD_MOST: Span = Span::from_s(60);

/// Of a load that somebody watches, one interval is told in this time at most.
const MENTION_EVERY: Span = Span::from_s(1);

/// Why an agent has no servers.
pub const STARTS_NONE: &str = "it starts no servers: its owner has not allowed it (--role server \
                               or both, and --may-start-servers)";

/// What an agent's owner allows, and what it is.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The version of its program.
    pub version: String,
    /// What it is for.
    pub role: Role,
    /// The addresses that it may load.
    pub targets: Vec<Prefix>,
    /// Whether it may start servers.
    pub may_start_servers: bool,
}

/// A part of a load that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The order that asks for it.
    pub order: String,
    /// The whole plan. Its addresses are those that were examined.
    pub plan: PlanFile,
    /// Which of its workers.
    pub workers: Range<u32>,
    /// Whether somebody watches.
    pub is_watched: bool,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Say who the agent is.
    Announce {
        /// To whom.
        to: String,
    },
    /// Let the load begin at this time of our clock, in nanoseconds since 1970.
    Begin(u64),
    /// Say this if it can be said at once. Otherwise it is lost, and changes nothing.
    Mention {
        /// To whom.
        to: String,
        /// What.
        tell: Box<Tell>,
    },
    /// Start what has the servers of a lab, for this order.
    Open(String),
    /// Pass on a line to it. Whoever said it has nothing else to say for so long.
    Pass {
        /// The line.
        text: String,
        /// How long.
        silence: Span,
    },
    /// Start the generator.
    Start(Box<Job>),
    /// Let what was started come to its end.
    Stop,
    /// Say this.
    Tell {
        /// To whom.
        to: String,
        /// What.
        tell: Box<Tell>,
    },
}

/// How a name leads to addresses.
pub type Resolve<'a> = dyn Fn(&str, u16) -> Result<Vec<SocketAddr>, String> + 'a;

/// Where an agent is with its work.
#[derive(Debug)]
pub struct Desk {
    limits: Limits,
    work: Option<Work>,
    /// Orders that have ended, the latest last.
    ended: VecDeque<String>,
}

/// An order that is worked on.
#[derive(Debug)]
struct Work {
    order: String,
    /// Who asked for it.
    to: String,
    stage: Stage,
    /// Of the servers of a lab, the number of the line that comes next to them, and from them.
    next: u64,
    said: u64,
    /// Where somebody watches a load, what was told of it.
    watch: Option<Watch>,
    /// Why it comes to nothing, whatever is measured yet.
    objection: Option<String>,
}

/// What was told of a load while it runs.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    /// When it begins, in nanoseconds since 1970.
    start: u64,
    /// The number of the interval that may come next.
    next: u64,
    /// How many were told.
    told: u64,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Stage {
    Preparing,
    Ready,
    Begun,
    /// It has the servers of a lab.
    Serving,
    Stopped,
}

impl Desk {
    /// An agent that has nothing to do.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            work: None,
            ended: VecDeque::new(),
        }
    }

    /// The order that is worked on.
    pub fn busy(&self) -> Option<&str> {
        self.work.as_ref().map(|work| work.order.as_str())
    }

    /// Somebody asks, who wants to be answered at `to`. It is `now`, in nanoseconds since 1970.
    pub fn hear(
        &mut self,
        ask: Ask,
        to: Option<&str>,
        now: u64,
        resolve: &Resolve<'_>,
    ) -> Vec<Step> {
        let to = to.map(str::to_owned);
        match ask {
            Ask::Clock => tell(to, Tell::Clock { unix_ns: now }),
            Ask::Hello => to.map(|to| Step::Announce { to }).into_iter().collect(),
            Ask::Order(order) => match to {
                Some(to) => self.take(*order, to, resolve),
                // Nobody would be told.
                None => Vec::new(),
            },
            Ask::Begin { order, at_unix_ns } => self.begin(&order, at_unix_ns, now),
            Ask::Stop { order } => match self.work_on(&order) {
                Some(work) if work.stage < Stage::Stopped => {
                    work.stage = Stage::Stopped;
                    vec![Step::Stop]
                }
                _ => Vec::new(),
            },
            Ask::Lab(order) => match to {
                Some(to) => self.take_lab(*order, to),
                None => Vec::new(),
            },
            Ask::Line {
                order,
                number,
                text,
                silence,
            } => self.pass(&order, number, text, silence),
        }
    }

    /// The workers have all they need.
    pub fn ready(&mut self) -> Vec<Step> {
        let Some(work) = &mut self.work else {
            return Vec::new();
        };
        if work.stage != Stage::Preparing {
            return Vec::new();
        }
        work.stage = Stage::Ready;
        let order = work.order.clone();
        tell(Some(work.to.clone()), Tell::Ready { order })
    }

    /// The order that waits to be told something, behind where its asker listens: when a load that
    /// is ready begins, or what comes next for the servers of a lab.
    pub fn waiting(&self) -> Option<(&str, &str)> {
        let work = self.work.as_ref();
        let work = work.filter(|work| matches!(work.stage, Stage::Ready | Stage::Serving))?;
        Some((&work.to, &work.order))
    }

    /// What is said again to whoever asked, so that the broker tells whether somebody listens.
    pub fn reminder(&self) -> Option<Tell> {
        let work = self.work.as_ref()?;
        let order = work.order.clone();
        match work.stage {
            Stage::Ready => Some(Tell::Ready { order }),
            Stage::Serving => Some(Tell::Accepted { order }),
            _ => None,
        }
    }

    /// Whether it has the servers of a lab.
    pub fn is_serving(&self) -> bool {
        let work = self.work.as_ref();
        work.is_some_and(|work| work.stage == Stage::Serving)
    }

    /// Whoever asked for the order is not there any more: nobody will say when it begins.
    pub fn abandon(&mut self, order: &str) -> Vec<Step> {
        match self.work_on(order) {
            Some(work) if work.stage == Stage::Ready => {
                work.object("whoever asked for it has gone before it began")
            }
            Some(work) if work.stage == Stage::Serving => {
                work.object("whoever asked for it has gone")
            }
            _ => Vec::new(),
        }
    }

    /// Lines were lost: the servers of a lab come to their end.
    pub fn cut_off(&mut self, why: &str) -> Vec<Step> {
        match &mut self.work {
            Some(work) if work.stage == Stage::Serving => work.object(why),
            _ => Vec::new(),
        }
    }

    /// What has the servers of a lab says a line.
    pub fn said(&mut self, text: String) -> Vec<Step> {
        let Some(work) = &mut self.work else {
            return Vec::new();
        };
        let line = Tell::Line {
            order: work.order.clone(),
            number: work.said,
            text,
        };
        work.said += 1;
        tell(Some(work.to.clone()), line)
    }

    /// An interval of the load is over at `now`, in nanoseconds since 1970. Where somebody watches
    /// it is told, each once and in their order, and in all no more than one in
    /// `MENTION_EVERY` since the start.
    pub fn passed(&mut self, passed: Passed, now: u64) -> Vec<Step> {
        let work = self.work.as_mut();
        let Some(work) = work.filter(|work| work.stage == Stage::Begun) else {
            return Vec::new();
        };
        let Some(watch) = &mut work.watch else {
            return Vec::new();
        };
        let may_be = now.saturating_sub(watch.start) / MENTION_EVERY.as_ns();
        if passed.number < watch.next || watch.told > may_be {
            return Vec::new();
        }
        watch.next = passed.number.saturating_add(1);
        watch.told += 1;
        let tell = Tell::Interval {
            order: work.order.clone(),
            passed,
        };
        vec![Step::Mention {
            to: work.to.clone(),
            tell: Box::new(tell),
        }]
    }

    fn forget_work(&mut self) -> Option<Work> {
        let work = self.work.take()?;
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back(work.order.clone());
        Some(work)
    }

    /// What had the servers of a lab has ended.
    pub fn closed(&mut self, result: Result<(), String>) -> Vec<Step> {
        let Some(work) = self.forget_work() else {
            return Vec::new();
        };
        let closed = Tell::Closed {
            order: work.order,
            why: work.objection.or_else(|| result.err()),
        };
        tell(Some(work.to), closed)
    }

    /// The generator has ended.
    pub fn ended(&mut self, result: Result<Box<Trial>, String>) -> Vec<Step> {
        let Some(work) = self.forget_work() else {
            return Vec::new();
        };
        let order = work.order;
        let said = match (work.objection, result) {
            (Some(why), _) | (None, Err(why)) => Tell::Failed { order, why },
            (None, Ok(trial)) => Tell::Trial { order, trial },
        };
        tell(Some(work.to), said)
    }

    fn work_on(&mut self, order: &str) -> Option<&mut Work> {
        self.work.as_mut().filter(|work| work.order == order)
    }

    fn take(&mut self, order: Order, to: String, resolve: &Resolve<'_>) -> Vec<Step> {
        let id = order.id.clone();
        if self.busy() == Some(id.as_str()) || self.ended.contains(&id) {
            return Vec::new();
        }
        match self.examine(order, resolve) {
            Err(why) => tell(Some(to), Tell::Refused { order: id, why }),
            Ok(job) => {
                self.work = Some(Work {
                    watch: job.is_watched.then(Watch::default),
                    ..Work::new(&id, &to, Stage::Preparing)
                });
                let mut steps = tell(Some(to), Tell::Accepted { order: id });
                steps.push(Step::Start(Box::new(job)));
                steps
            }
        }
    }

    fn take_lab(&mut self, order: LabOrder, to: String) -> Vec<Step> {
        let id = order.id;
        if self.busy() == Some(id.as_str()) || self.ended.contains(&id) {
            return Vec::new();
        }
        let refused = self.examine_order(&id, &order.version).and_then(|()| {
            let Limits { role, .. } = &self.limits;
            match *role != Role::Load && self.limits.may_start_servers {
                true => Ok(()),
                false => Err(STARTS_NONE.to_owned()),
            }
        });
        if let Err(why) = refused {
            return tell(Some(to), Tell::Refused { order: id, why });
        }
        self.work = Some(Work::new(&id, &to, Stage::Serving));
        let order = id.clone();
        let mut steps = tell(Some(to), Tell::Accepted { order });
        steps.push(Step::Open(id));
        steps
    }

    /// A line for the servers of a lab: one that came twice is not passed on, and where one is
    /// missing nothing can be made of those that follow.
    fn pass(&mut self, order: &str, number: u64, text: String, silence: Span) -> Vec<Step> {
        let Some(work) = self.work_on(order) else {
            return Vec::new();
        };
        if work.stage != Stage::Serving || number < work.next {
            return Vec::new();
        }
        if number > work.next {
            return work.object("a message to it was lost");
        }
        work.next += 1;
        vec![Step::Pass { text, silence }]
    }

    fn begin(&mut self, order: &str, at: u64, now: u64) -> Vec<Step> {
        let Some(work) = self.work_on(order) else {
            return Vec::new();
        };
        if work.stage != Stage::Ready {
            return Vec::new();
        }
        let why = match at.checked_sub(now).map(Span::from_ns) {
            Some(ahead) if ahead <= AHEAD_MOST => {
                work.stage = Stage::Begun;
                if let Some(watch) = &mut work.watch {
                    watch.start = at;
                }
                return vec![Step::Begin(at)];
            }
            Some(ahead) => format!("the load is to begin in {} by this clock", ahead.people()),
            None => {
                let late = Span::from_ns(now.saturating_sub(at));
                format!("the load was to begin {} ago by this clock", late.people())
            }
        };
        work.stage = Stage::Stopped;
        work.objection = Some(format!(
            "{why}: the network was too slow, or a clock has been set meanwhile"
        ));
        vec![Step::Stop]
    }

    /// What is to be made for `order`, or why it is not.
    fn examine(&self, order: Order, resolve: &Resolve<'_>) -> Result<Job, String> {
        self.examine_order(&order.id, &order.version)?;
        if self.limits.role == Role::Server {
            return Err("it makes no load (--role server)".to_owned());
        }
        let mut plan = plan::read(order.plan)?;
        let workers = order.workers;
        if workers.is_empty() || workers.end > plan.workers {
            return Err(format!(
                "the plan has workers 0 to {}, and the order is for {} to {}",
                plan.workers.saturating_sub(1),
                workers.start,
                workers.end.saturating_sub(1)
            ));
        }
        plan.addresses = allowed(&plan, &self.limits.targets, resolve)?;
        // They are those of another machine.
        plan.cpus.clear();
        Ok(Job {
            order: order.id,
            plan,
            workers,
            is_watched: order.is_watched,
        })
    }

    /// Whether an order of that name, by a program of that version, can be worked on at all.
    fn examine_order(&self, id: &str, version: &str) -> Result<(), String> {
        let own = &self.limits.version;
        if version != own {
            return Err(format!(
                "it is of version {own}, and the order of version {version}: install the same \
                 version of triathlon on both"
            ));
        }
        // It is a part of subjects.
        if id.parse::<Name>().is_err() {
            return Err("the order has no name that an order can have".to_owned());
        }
        if self.work.is_some() {
            return Err("it works on another order: wait until that has ended".to_owned());
        }
        Ok(())
    }
}

impl Work {
    fn new(order: &str, to: &str, stage: Stage) -> Self {
        Self {
            order: order.to_owned(),
            to: to.to_owned(),
            stage,
            next: 0,
            said: 0,
            watch: None,
            objection: None,
        }
    }

    /// It comes to nothing.
    fn object(&mut self, why: &str) -> Vec<Step> {
        self.stage = Stage::Stopped;
        self.objection = Some(why.to_owned());
        vec![Step::Stop]
    }
}

fn tell(to: Option<String>, tell: Tell) -> Vec<Step> {
    let step = |to| Step::Tell {
        to,
        tell: Box::new(tell),
    };
    to.map(step).into_iter().collect()
}

#[cfg(test)]
mod tests;
