//! One load from its orders to its records.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use model::plan::Stop;
use model::{Json as _, PlanFile, Span, Trial};
use tokio::time::timeout;

use super::intervals::Intervals;
use super::missing::Missing;
use super::roll::Roll;
use super::{Coordinator, Ears, Edge, LOOK, Member, Sheet, Wish};
use crate::broker::{Subscriber, is_nobody};
use crate::error::FleetError;
use crate::message::{Ask, Order, Tell, subject_of};

/// From the moment when all agents are ready to the first exchange: all of them have read it by
/// then.
const LEAD: Span = Span::from_s(1);
/// How long an agent may take beyond what its plan says.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same of one that was told to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take until a word is on its way.
const WORD: Duration = Duration::from_secs(2);
/// Agents that have something to say say it within this time.
const QUIET: Duration = Duration::from_secs(2);

/// Who interrupts a load while there is no connection waits so long for one.
const RECONNECT: Duration = Duration::from_secs(5);

/// So often it is looked what the broker keeps, once a connection has been lost.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A load that agents make.
pub(super) struct Load<'a> {
    coordinator: &'a Coordinator,
    wish: &'a Wish<'a>,
    order: String,
    /// Each agent answers to the subject below it that ends in its position.
    inbox: String,
    news: Subscriber,
    roll: Roll<'a>,
    missing: Missing,
    /// What is told while it runs.
    intervals: Intervals,
    ears: &'a mut dyn Ears,
    /// What is still to be heard of its window, by this machine's clock in nanoseconds since 1970.
    edges: VecDeque<(Edge, u64)>,
    /// When all were told to come to their end.
    stopped: Option<Instant>,
    has_begun: bool,
    /// Since when there is no connection to the broker.
    apart: Option<Instant>,
    /// When it begins, by this machine's clock in nanoseconds since 1970; 0 before that is known.
    start: u64,
    /// How often the connection had been lost when it began.
    losses: u64,
    /// When it was last looked what the broker keeps.
    looked: Instant,
}

/// How long something may take.
#[derive(Clone, Copy, Debug)]
struct Time {
    /// From then on the silent are asked whether they are there: a load is not disturbed by that.
    quiet: Option<Duration>,
    /// Whoever is silent then is given up.
    most: Duration,
}

impl<'a> Load<'a> {
    pub(super) async fn new(
        coordinator: &'a Coordinator,
        wish: &'a Wish<'a>,
        ears: &'a mut dyn Ears,
    ) -> Result<Self, FleetError> {
        let broker = &coordinator.broker;
        let inbox = broker.new_inbox();
        Ok(Self {
            coordinator,
            wish,
            order: inbox.rsplit('.').next().unwrap_or(&inbox).to_owned(),
            news: broker.listen(&format!("{inbox}.*")).await?,
            inbox,
            roll: Roll::new(wish.crew),
            missing: Missing::new(wish.crew.len()),
            intervals: Intervals::new(
                wish.crew.iter().map(|member| member.name.clone()).collect(),
                wish.plan.interval,
            ),
            ears,
            edges: VecDeque::new(),
            stopped: None,
            has_begun: false,
            apart: None,
            start: 0,
            losses: broker.losses(),
            looked: Instant::now(),
        })
    }

    /// What it is called.
    pub(super) fn order(&self) -> &str {
        &self.order
    }

    /// Whether it did not begin because messages were lost or came late: then nothing stands in the
    /// way of another try.
    pub(super) fn was_disturbed(&self) -> bool {
        !self.has_begun
            && self.stopped.is_none()
            && (self.coordinator.is_cut_off() || self.is_late())
    }

    /// Whether its start had passed before all had been told of it.
    fn is_late(&self) -> bool {
        self.start != 0 && (self.coordinator.now)() >= self.start
    }

    /// Has it made; what each agent measured.
    pub(super) async fn make(&mut self) -> Result<Vec<Trial>, FleetError> {
        let plan = self.wish.plan;
        let written = plan.to_json().and_then(|text| serde_json::from_str(&text));
        let written: serde_json::Value = written
            .map_err(|error| FleetError::Agents(format!("the plan cannot be written: {error}")))?;
        for (position, member) in self.wish.crew.iter().enumerate() {
            let order = Ask::Order(Box::new(Order {
                id: self.order.clone(),
                version: self.coordinator.version.clone(),
                workers: member.workers.clone(),
                is_watched: self.wish.is_watched,
                plan: written.clone(),
            }));
            let reply = format!("{}.{position}", self.inbox);
            let subject = subject_of(&member.name);
            self.coordinator
                .broker
                .say(&subject, Some(&reply), &order)
                .await?;
        }
        let timeout = Duration::from_nanos(plan.longest_wait().as_ns());
        let time = Time {
            quiet: Some(QUIET),
            most: PATIENCE + timeout * 4,
        };
        self.hear_until(time, Roll::is_ready).await?;
        // Who was stopped before the start has measured nothing, and says so.
        if self.stopped.is_none() {
            if self.keep().await {
                self.ears.kept(&self.order);
            }
            self.begin().await?;
        }
        self.hear_until(time_of(plan), Roll::is_done).await?;
        Ok(self.roll.take())
    }

    /// Writes down what it is, for whoever asks for its result later; whether that is kept.
    async fn keep(&self) -> bool {
        let broker = &self.coordinator.broker;
        let sheet = Sheet {
            version: self.coordinator.version.clone(),
            crew: self.wish.crew.to_vec(),
            plan: self.wish.shown.clone(),
        };
        broker.has_store() && broker.keep(&self.order, &sheet).await.is_ok()
    }

    async fn begin(&mut self) -> Result<(), FleetError> {
        let start = (self.coordinator.now)().saturating_add(LEAD.as_ns());
        self.start = start;
        let window = window(self.wish.plan, start);
        self.edges = window.map_or_else(VecDeque::new, |[begin, end]| {
            [(Edge::Begin, begin), (Edge::End, end)].into()
        });
        for member in self.wish.crew {
            let begin = Ask::Begin {
                order: self.order.clone(),
                at_unix_ns: member.clock.there(start),
            };
            self.say(member, &begin).await?;
        }
        if self.is_late() {
            return Err(self.not_begun());
        }
        for member in self.wish.crew {
            self.await_answer(member).await;
        }
        if self.coordinator.is_cut_off() {
            return Err(self.not_begun());
        }
        self.has_begun = true;
        self.ears.window(window);
        Ok(())
    }

    /// Waits until this one says something: then it has heard all that was said to it before. Until
    /// the start it has time for that, and nothing comes back over a connection that is lost.
    async fn await_answer(&self, member: &Member) {
        let subject = subject_of(&member.name);
        let mut asked = pin!(
            self.coordinator
                .broker
                .ask::<_, Tell>(&subject, &Ask::Hello)
        );
        while timeout(LOOK, asked.as_mut()).await.is_err() {
            if self.coordinator.is_cut_off() || self.is_late() {
                return;
            }
        }
    }

    fn not_begun(&self) -> FleetError {
        let broker = &self.coordinator.broker;
        broker.failed("agents were not told in time when the load begins")
    }

    /// Lets all come to their end.
    pub(super) async fn stop(&mut self) -> Result<(), FleetError> {
        self.stopped = Some(Instant::now());
        for member in self.wish.crew {
            let stop = Ask::Stop {
                order: self.order.clone(),
            };
            // Without a connection it is said once there is one, for which nobody waits here.
            if let Ok(said) = timeout(WORD, self.say(member, &stop)).await {
                said?;
            }
        }
        Ok(())
    }

    async fn say(&self, member: &Member, ask: &Ask) -> Result<(), FleetError> {
        let subject = subject_of(&member.name);
        self.coordinator.broker.say(&subject, None, ask).await
    }

    /// Listens until all are as far as that.
    async fn hear_until(
        &mut self,
        time: Time,
        is_far: fn(&Roll<'a>) -> bool,
    ) -> Result<(), FleetError> {
        let start = Instant::now();
        let (mut until, mut quiet) = (start + time.most, time.quiet.map(|time| start + time));
        while !is_far(&self.roll) {
            if self.ears.is_interrupted() && self.stopped.is_none() {
                self.stop().await?;
                let now = Instant::now();
                until = until.min(now + STOP_PATIENCE);
                quiet = Some(quiet.map_or(now + QUIET, |quiet| quiet.min(now + QUIET)));
            }
            if self.was_disturbed() {
                return Err(self.not_begun());
            }
            self.tell_connection();
            self.find_lost().await?;
            if is_far(&self.roll) {
                break;
            }
            if self.is_alone() {
                return Err(self.interrupted_alone());
            }
            if Instant::now() > until {
                return self.give_up().await;
            }
            if quiet.is_some_and(|quiet| Instant::now() > quiet) {
                let (coordinator, order) = (self.coordinator, self.order.as_str());
                let there = self.missing.ask(coordinator, order, &self.roll).await;
                if there.is_err() {
                    // Who has gone may have left its record.
                    coordinator.look_up(order, &mut self.roll).await?;
                    if !is_far(&self.roll) {
                        return there;
                    }
                }
            }
            let next = self.tell_edges();
            self.tell_intervals();
            if let Ok(news) = timeout(LOOK.min(next), self.news.next()).await {
                self.hear(news).await?;
            }
        }
        Ok(())
    }

    /// Tells the edges of the window that have been reached, and how far the next one is.
    fn tell_edges(&mut self) -> Duration {
        let now = (self.coordinator.now)();
        if self.stopped.is_some() {
            // They are elsewhere now.
            self.edges.clear();
        }
        while let Some((edge, at)) = self.edges.pop_front() {
            if at > now {
                self.edges.push_front((edge, at));
                return Duration::from_nanos(at - now);
            }
            self.ears.edge(edge, at);
        }
        LOOK
    }

    /// Tells that the connection to the broker was lost, and that there is one again.
    fn tell_connection(&mut self) {
        let is_connected = self.coordinator.broker.is_connected();
        if is_connected != self.apart.is_none() {
            self.apart = (!is_connected).then(Instant::now);
            self.ears.connection(is_connected);
        }
    }

    /// Whether it was interrupted, and there has been no connection for long enough since.
    fn is_alone(&self) -> bool {
        let since = self.stopped.zip(self.apart);
        since.is_some_and(|(stopped, apart)| stopped.max(apart).elapsed() >= RECONNECT)
    }

    fn interrupted_alone(&self) -> FleetError {
        let broker = &self.coordinator.broker;
        let what_becomes = match broker.has_store() {
            true => "is kept there once it is back",
            false => "is lost",
        };
        broker.failed(format_args!(
            "the connection is lost, and an interrupt does not wait for it: agents end with their \
             parts, and what they measure {what_becomes}"
        ))
    }

    async fn hear(&mut self, news: Option<crate::broker::Message>) -> Result<(), FleetError> {
        let broker = &self.coordinator.broker;
        let Some(message) = news else {
            return Err(broker.failed("the connection has ended"));
        };
        let position = message.subject.rsplit('.').next();
        let Some(position) = position.and_then(|text| text.parse().ok()) else {
            return Ok(());
        };
        if is_nobody(&message) {
            return Err(self.roll.objection(position, "it has gone"));
        }
        let tell: Tell = broker.read(&message).await?;
        if let Tell::Interval { order, passed } = tell {
            if let (true, Some(age)) = (order == self.order, self.age()) {
                self.intervals.hear(position, passed, age);
            }
            return Ok(());
        }
        self.roll.hear(position, &self.order, tell)?;
        if self.roll.has_told(position) {
            self.intervals.ended(position);
        }
        Ok(())
    }

    /// Tells the intervals that are over, where somebody watches.
    fn tell_intervals(&mut self) {
        let Some(age) = self.age() else {
            return;
        };
        while let Some(interval) = self.intervals.next(age) {
            self.ears.interval(&interval);
        }
    }

    /// For how long the window has been open, at most as long as it is; none where it is not open,
    /// nobody watches, or who was told to stop tells nothing any more.
    fn age(&self) -> Option<Span> {
        if !self.wish.is_watched || !self.has_begun || self.stopped.is_some() {
            return None;
        }
        let plan = self.wish.plan;
        let begin = self.start.saturating_add(plan.warmup.as_ns());
        let age = (self.coordinator.now)().checked_sub(begin)?;
        let age = Span::from_ns(age);
        Some(match plan.stop {
            Stop::Count(_) => age,
            Stop::DurationNs(length) => age.min(length),
        })
    }

    /// What was said while there was no connection lies with the broker, if it is kept at all.
    async fn find_lost(&mut self) -> Result<(), FleetError> {
        let broker = &self.coordinator.broker;
        let was_lost = broker.losses() > self.losses && broker.is_connected();
        // Agents may come back later than this side of the connection, so it is looked again.
        if !was_lost || !broker.has_store() || self.looked.elapsed() < LOOK_AGAIN {
            return Ok(());
        }
        self.looked = Instant::now();
        self.coordinator.look_up(&self.order, &mut self.roll).await
    }

    /// Time is over, and somebody is silent.
    async fn give_up(&mut self) -> Result<(), FleetError> {
        let broker = &self.coordinator.broker;
        if broker.has_store() {
            self.coordinator
                .look_up(&self.order, &mut self.roll)
                .await?;
            if self.roll.is_done() {
                return Ok(());
            }
        }
        let why = match broker.objection() {
            None => "it is silent: it has ended, hangs, or is cut off".to_owned(),
            Some(why) => format!("it is silent, and the NATS server says: {why}"),
        };
        Err(FleetError::agent(self.roll.silent(), why))
    }
}

/// When the window of a plan that starts at `start` begins and ends, by the same clock. Where a
/// count ends it, nobody but those who make it knows when.
pub fn window(plan: &PlanFile, start: u64) -> Option<[u64; 2]> {
    let Stop::DurationNs(length) = plan.stop else {
        return None;
    };
    let begin = start.saturating_add(plan.warmup.as_ns());
    Some([begin, begin.saturating_add(length.as_ns())])
}

/// How long a load may take from its start to the last record.
fn time_of(plan: &PlanFile) -> Time {
    let of = |span: Span| Duration::from_nanos(span.as_ns());
    let timeout = of(plan.longest_wait());
    let around = of(LEAD) + of(plan.warmup) + timeout;
    match plan.stop {
        // A count at an unknown rate may take its time.
        Stop::Count(count) => {
            let window = timeout * u32::try_from(count.min(1_000)).unwrap_or(1_000);
            Time {
                quiet: None,
                most: around + window + PATIENCE,
            }
        }
        Stop::DurationNs(length) => Time {
            quiet: Some(around + of(length) + QUIET),
            most: around + of(length) + PATIENCE,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_may_take_as_long_as_its_plan_and_some_patience() {
        let plan = |stop: Stop| PlanFile {
            warmup: Span::from_s(2),
            timeout: Span::from_s(3),
            stop,
            ..model::fixture::plan("http://127.0.0.1/", &[])
        };
        let check = |stop: Stop, seconds: u64, quiet: Option<u64>| {
            let time = time_of(&plan(stop));
            assert_eq!(time.most, Duration::from_secs(seconds) + PATIENCE);
            // Nobody is asked anything while a load may go on.
            let quiet = quiet.map(|seconds| Duration::from_secs(seconds) + QUIET);
            assert_eq!(time.quiet, quiet);
        };
        check(Stop::DurationNs(Span::from_s(10)), 16, Some(16));
        check(Stop::Count(5), 21, None);
        check(Stop::Count(u64::MAX), 3_006, None);
        let edges = |stop: Stop| window(&plan(stop), 7_000_000_000);
        let ten = Some([9_000_000_000, 19_000_000_000]);
        assert_eq!(edges(Stop::DurationNs(Span::from_s(10))), ten);
        assert_eq!(edges(Stop::Count(5)), None);
    }
}
