//! Whoever asks agents for a load: finds them, measures how far their clocks are away, gives each
//! its part, says when all begin, and takes what they measured.

mod roll;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use model::plan::Stop;
use model::{PlanFile, Span, Trial};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use self::roll::Roll;
use crate::broker::{Access, Broker, Subscriber, is_nobody, runtime};
use crate::clock::{Clock, RoundTrip};
use crate::error::FleetError;
use crate::message::{Announcement, Ask, EVERYONE, Name, Order, Role, Tell, subject_of};

/// Agents that are there answer within this time.
const HELLO: Duration = Duration::from_secs(1);
/// So many round trips bound the offset of a clock: the shortest of them decides.
const TRIPS: usize = 16;
/// From the moment when all agents are ready to the first exchange: all of them have read it by
/// then.
const LEAD: Span = Span::from_s(1);
/// How long an agent may take beyond what its plan says.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same of one that was told to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// So often it is looked whether a person wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Which agents are wanted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// All with this label.
    Labelled(String, String),
    /// The one of this name.
    Named(Name),
}

impl FromStr for Wanted {
    type Err = String;

    /// `NAME`, or `KEY=VALUE` for a label.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None => text.parse().map(Self::Named),
            Some((key, value)) if !key.is_empty() => {
                Ok(Self::Labelled(key.to_owned(), value.to_owned()))
            }
            Some(_) => Err(format!("'{text}': a label is KEY=VALUE")),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labelled(key, value) => write!(f, "with the label {key}={value}"),
            Self::Named(name) => write!(f, "'{name}'"),
        }
    }
}

/// An agent that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Who it is.
    pub announcement: Announcement,
    /// How far its clock is ahead of ours.
    pub clock: Clock,
}

/// An agent with its part of a load.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// Which of the plan's workers.
    pub workers: Range<u32>,
    /// How far its clock is ahead of ours.
    pub clock: Clock,
}

/// A connection to agents.
#[derive(Debug)]
pub struct Coordinator {
    runtime: Runtime,
    broker: Broker,
    now: fn() -> u64,
    version: String,
}

impl Coordinator {
    /// Connects. `version` is that of this program.
    ///
    /// # Errors
    ///
    /// The broker cannot be reached.
    pub fn connect(access: &Access, version: &str) -> Result<Self, FleetError> {
        let runtime = runtime()?;
        let broker = runtime.block_on(Broker::connect(access))?;
        Ok(Self {
            runtime,
            broker,
            now: access.now,
            version: version.to_owned(),
        })
    }

    /// All agents that are there, by name.
    ///
    /// # Errors
    ///
    /// The broker is gone, or two agents have one name.
    pub fn list(&self) -> Result<Vec<Seen>, FleetError> {
        self.runtime.block_on(async {
            let mut seen = Vec::new();
            for announcement in self.greet().await? {
                seen.push(self.look(announcement).await?);
            }
            Ok(seen)
        })
    }

    /// The agents that are wanted, by name, each of which can make load now.
    ///
    /// # Errors
    ///
    /// One of them is not there, or cannot.
    pub fn gather(&self, wanted: &[Wanted]) -> Result<Vec<Seen>, FleetError> {
        self.runtime.block_on(async {
            let mut seen = Vec::new();
            for announcement in select(self.greet().await?, wanted)? {
                self.check(&announcement)?;
                let one = self.look(announcement).await?;
                if let Some(why) = one.clock.objection() {
                    return Err(FleetError::agent(one.announcement.name.as_str(), why));
                }
                seen.push(one);
            }
            Ok(seen)
        })
    }

    /// Has `plan` made by `crew`; what each measured, in their order. Where `is_interrupted`, all
    /// come to their end, and what they measured until then is kept.
    ///
    /// # Errors
    ///
    /// One of them cannot do its part: then none does.
    pub fn run(
        &self,
        crew: &[Member],
        plan: &PlanFile,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Trial>, FleetError> {
        self.runtime.block_on(async {
            let inbox = self.broker.new_inbox();
            let mut load = Load {
                coordinator: self,
                order: inbox.rsplit('.').next().unwrap_or(&inbox).to_owned(),
                news: self.broker.listen(&format!("{inbox}.*")).await?,
                inbox,
                roll: Roll::new(crew),
                crew,
                is_interrupted,
                is_stopped: false,
            };
            let made = load.make(plan).await;
            if made.is_err() {
                // Who is gone hears nothing, and ends by itself.
                drop(load.stop().await);
            }
            made
        })
    }

    /// Who is there.
    async fn greet(&self) -> Result<Vec<Announcement>, FleetError> {
        let inbox = self.broker.new_inbox();
        let mut answers = self.broker.listen(&inbox).await?;
        self.broker.say(EVERYONE, Some(&inbox), &Ask::Hello).await?;
        let mut found: Vec<Announcement> = Vec::new();
        while let Ok(Some(answer)) = timeout(HELLO, answers.next()).await {
            if is_nobody(&answer) {
                break;
            }
            // One of another version is there, and cannot be talked to.
            if let Ok(Tell::Hello(hello)) = self.broker.read(&answer).await {
                found.push(*hello);
            }
        }
        if found.is_empty() && self.broker.objection().is_some() {
            return Err(self.broker.failed("this user may not ask agents"));
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        match found.windows(2).find(|two| two[0].name == two[1].name) {
            None => Ok(found),
            Some(two) => Err(FleetError::agent(
                two[0].name.as_str(),
                "two agents have this name: start one of them with another --name",
            )),
        }
    }

    /// Measures how far its clock is away.
    async fn look(&self, announcement: Announcement) -> Result<Seen, FleetError> {
        let name = announcement.name.as_str();
        let subject = subject_of(&announcement.name);
        let mut trips = Vec::with_capacity(TRIPS);
        for _ in 0..TRIPS {
            let sent = (self.now)();
            let answer: Option<Tell> = self.broker.ask(&subject, &Ask::Clock).await?;
            let received = (self.now)();
            let Some(Tell::Clock { unix_ns: answered }) = answer else {
                return Err(FleetError::agent(name, "it does not tell its time"));
            };
            trips.push(RoundTrip {
                sent,
                answered,
                received,
            });
        }
        let clock = Clock::from_trips(&trips)
            .ok_or_else(|| FleetError::agent(name, "it does not tell its time"))?;
        Ok(Seen {
            announcement,
            clock,
        })
    }

    /// Whether it can make load now.
    fn check(&self, one: &Announcement) -> Result<(), FleetError> {
        let why = match () {
            () if one.version != self.version => format!(
                "it is of version {}, and this program of version {}: install the same version of \
                 triathlon on both",
                one.version, self.version
            ),
            () if one.role == Role::Server => "it makes no load (--role server)".to_owned(),
            () if one.busy.is_some() => {
                "it works on another order: wait until that has ended".to_owned()
            }
            () => return Ok(()),
        };
        Err(FleetError::agent(one.name.as_str(), why))
    }
}

/// Those of `found` that are wanted.
fn select(found: Vec<Announcement>, wanted: &[Wanted]) -> Result<Vec<Announcement>, FleetError> {
    let is = |one: &Announcement, wanted: &Wanted| match wanted {
        Wanted::Labelled(key, value) => one.labels.get(key) == Some(value),
        Wanted::Named(name) => one.name == *name,
    };
    let is_there = |wanted: &&Wanted| found.iter().any(|one| is(one, wanted));
    if let Some(missing) = wanted.iter().find(|wanted| !is_there(wanted)) {
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        let there = match names.is_empty() {
            true => "there is none at all".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        return Err(FleetError::Agents(format!(
            "there is no agent {missing} ({there}): start one with triathlon agent --nats URL"
        )));
    }
    let is_wanted = |one: &Announcement| wanted.iter().any(|wanted| is(one, wanted));
    Ok(found.into_iter().filter(is_wanted).collect())
}

/// One load that agents make.
struct Load<'a> {
    coordinator: &'a Coordinator,
    order: String,
    /// Each agent answers to the subject below it that ends in its position.
    inbox: String,
    news: Subscriber,
    crew: &'a [Member],
    roll: Roll<'a>,
    is_interrupted: &'a dyn Fn() -> bool,
    is_stopped: bool,
}

impl<'a> Load<'a> {
    async fn make(&mut self, plan: &PlanFile) -> Result<Vec<Trial>, FleetError> {
        let written = serde_json::to_value(plan)
            .map_err(|error| FleetError::Agents(format!("the plan cannot be written: {error}")))?;
        for (position, member) in self.crew.iter().enumerate() {
            let order = Ask::Order(Box::new(Order {
                id: self.order.clone(),
                version: self.coordinator.version.clone(),
                workers: member.workers.clone(),
                plan: written.clone(),
            }));
            let reply = format!("{}.{position}", self.inbox);
            let subject = subject_of(&member.name);
            self.coordinator
                .broker
                .say(&subject, Some(&reply), &order)
                .await?;
        }
        let timeout = Duration::from_nanos(plan.timeout.as_ns());
        self.hear_until(PATIENCE + timeout * 4, Roll::is_ready)
            .await?;
        // Who was stopped before the start has measured nothing, and says so.
        if !self.is_stopped {
            self.begin().await?;
        }
        let lead = Duration::from_nanos(LEAD.as_ns());
        self.hear_until(lead + longest(plan), Roll::is_done).await?;
        Ok(self.roll.take())
    }

    async fn begin(&self) -> Result<(), FleetError> {
        let start = (self.coordinator.now)().saturating_add(LEAD.as_ns());
        for member in self.crew {
            let begin = Ask::Begin {
                order: self.order.clone(),
                at_unix_ns: member.clock.there(start),
            };
            self.say(member, &begin).await?;
        }
        Ok(())
    }

    async fn stop(&mut self) -> Result<(), FleetError> {
        self.is_stopped = true;
        for member in self.crew {
            let stop = Ask::Stop {
                order: self.order.clone(),
            };
            self.say(member, &stop).await?;
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
        at_most: Duration,
        is_far: fn(&Roll<'a>) -> bool,
    ) -> Result<(), FleetError> {
        let mut until = Instant::now() + at_most;
        while !is_far(&self.roll) {
            if (self.is_interrupted)() && !self.is_stopped {
                self.stop().await?;
                until = until.min(Instant::now() + STOP_PATIENCE);
            }
            if Instant::now() > until {
                let why = match self.coordinator.broker.objection() {
                    None => "it is silent: it has ended, hangs, or is cut off".to_owned(),
                    Some(why) => format!("it is silent, and the NATS server says: {why}"),
                };
                return Err(FleetError::agent(self.roll.silent(), why));
            }
            let Ok(news) = timeout(LOOK, self.news.next()).await else {
                continue;
            };
            let Some(message) = news else {
                return Err(self.coordinator.broker.failed("the connection has ended"));
            };
            let position = message.subject.rsplit('.').next();
            let Some(position) = position.and_then(|text| text.parse().ok()) else {
                continue;
            };
            if is_nobody(&message) {
                return Err(self.roll.objection(position, "it has gone"));
            }
            let tell: Tell = self.coordinator.broker.read(&message).await?;
            self.roll.hear(position, &self.order, tell)?;
        }
        Ok(())
    }
}

/// How long a load may take from its start to the last record.
fn longest(plan: &PlanFile) -> Duration {
    let timeout = Duration::from_nanos(plan.timeout.as_ns());
    let window = match plan.stop {
        // A count at an unknown rate may take its time.
        Stop::Count(count) => timeout * u32::try_from(count.min(1_000)).unwrap_or(1_000),
        Stop::DurationNs(length) => Duration::from_nanos(length.as_ns()),
    };
    Duration::from_nanos(plan.warmup.as_ns()) + window + timeout + PATIENCE
}

#[cfg(test)]
mod tests;
