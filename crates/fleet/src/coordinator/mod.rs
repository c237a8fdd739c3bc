//! Whoever asks agents for a load: finds them, measures how far their clocks are away, gives each
//! its part, says when all begin, and takes what they measured.

mod again;
mod intervals;
mod load;
mod missing;
mod roll;
mod talk;
mod wanted;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use model::{PlanFile, Trial};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

pub use self::intervals::Interval;
use self::load::Load;
pub use self::load::window;
use self::missing::Missing;
use self::roll::Roll;
pub use self::talk::{Said, Talk};
pub use self::wanted::Wanted;
use self::wanted::{has_namesake, select};
use crate::broker::{Access, Broker, is_nobody, runtime};
use crate::clock::{Clock, RoundTrip};
use crate::error::FleetError;
use crate::message::{Announcement, Ask, EVERYONE, Name, Role, Tell, kept_as, subject_of};

/// Agents that are there answer within this time.
const HELLO: Duration = Duration::from_secs(1);
/// So many round trips bound the offset of a clock: the shortest of them decides.
const TRIPS: usize = 16;
/// An agent that was told to stop is free again within this time.
const FREE: Duration = Duration::from_secs(20);
/// A load that something disturbed before it began is prepared anew so often.
const PREPARED_ANEW: u32 = 3;
/// So often it is looked whether a person wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// An agent that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Who it is.
    pub announcement: Announcement,
    /// How far its clock is ahead of ours.
    pub clock: Clock,
}

/// An agent with its part of a load.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// Which of the plan's workers.
    pub workers: Range<u32>,
    /// How far its clock is ahead of ours.
    pub clock: Clock,
}

/// A load that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Who makes it.
    pub crew: &'a [Member],
    /// All of it.
    pub plan: &'a PlanFile,
    /// The same as a result may show it.
    pub shown: &'a PlanFile,
    /// Whether somebody watches: then agents tell each interval that is over.
    pub is_watched: bool,
}

/// Who asked for a load, while it is made.
pub trait Ears {
    /// Whether a person wants it to end: from the first yes on, always yes.
    fn is_interrupted(&self) -> bool;

    /// It begins, and the broker keeps its result under this name.
    fn kept(&mut self, order: &str);

    /// All agents know when it begins. The edges of its window, by this machine's clock in
    /// nanoseconds since 1970; none where a count ends it. Heard once, before they are reached,
    /// unless messages were slow.
    fn window(&mut self, edges: Option<[u64; 2]>);

    /// What agents told of an interval of a load that is watched. The result may differ: it has
    /// what was missing here.
    fn interval(&mut self, interval: &Interval);

    /// Its window begins or ends, by this machine's clock in nanoseconds since 1970.
    fn edge(&mut self, edge: Edge, at: u64);

    /// The connection to the broker was lost, or is there again: agents go on with what they do,
    /// and are not heard meanwhile.
    fn connection(&mut self, is_there: bool) {
        let _nobody_is_told = is_there;
    }
}

/// An edge of the measured window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Edge {
    /// It begins.
    Begin,
    /// It ends.
    End,
}

/// What came of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Its name.
    pub order: String,
    /// What each agent measured, in the order of the crew.
    pub trials: Vec<Trial>,
}

/// What is kept of a load from its beginning on, so that its result can be put together by somebody
/// else than whoever asked for it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Sheet {
    /// The version of the program that asked.
    pub version: String,
    /// Who makes it.
    pub crew: Vec<Member>,
    /// All of it, as a result may show it.
    pub plan: PlanFile,
}

/// A connection to agents.
#[derive(Debug)]
pub struct Coordinator {
    runtime: Runtime,
    broker: Broker,
    now: fn() -> u64,
    version: String,
    /// How often the connection had been lost when all agents were heard last.
    losses: AtomicU64,
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
            losses: AtomicU64::new(0),
        })
    }

    /// All agents that are there, by name. What is asked of one whose name others have, too, all of
    /// them answer: their clocks are not known.
    ///
    /// # Errors
    ///
    /// The broker is gone.
    pub fn list(&self) -> Result<Vec<(Announcement, Option<Clock>)>, FleetError> {
        self.runtime.block_on(async {
            let found = self.greet().await?;
            let alone: Vec<bool> = found.iter().map(|one| !has_namesake(one, &found)).collect();
            let mut listed = Vec::new();
            for (announcement, is_alone) in found.into_iter().zip(alone) {
                listed.push(match is_alone {
                    true => {
                        let seen = self.look(announcement).await?;
                        (seen.announcement, Some(seen.clock))
                    }
                    false => (announcement, None),
                });
            }
            Ok(listed)
        })
    }

    /// The agents that are wanted, by name, each of which can make load now; where one works on
    /// another order, that is waited for as long as `patience` lasts.
    ///
    /// # Errors
    ///
    /// One of them is not there, or cannot.
    pub fn gather(&self, wanted: &[Wanted], patience: Duration) -> Result<Vec<Seen>, FleetError> {
        self.runtime.block_on(async {
            let mut seen = Vec::new();
            for announcement in select(self.greet().await?, wanted)? {
                let free = self.free(announcement, patience).await?;
                seen.push(self.look(free).await?);
            }
            seen.iter().try_for_each(in_time)?;
            self.all_heard();
            Ok(seen)
        })
    }

    /// All agents that are wanted have answered.
    fn all_heard(&self) {
        self.losses.store(self.broker.losses(), Ordering::Relaxed);
    }

    /// Whether the connection was lost since all were heard.
    fn is_cut_off(&self) -> bool {
        let losses = self.losses.load(Ordering::Relaxed);
        !self.broker.is_connected() || self.broker.losses() > losses
    }

    /// What an agent says of itself.
    async fn hello(&self, name: &Name) -> Result<Announcement, FleetError> {
        match self.broker.ask(&subject_of(name), &Ask::Hello).await? {
            Some(Tell::Hello(hello)) => Ok(*hello),
            _ => Err(FleetError::agent(name.as_str(), "it has gone")),
        }
    }

    /// What it says once it can make load.
    async fn free(
        &self,
        mut announcement: Announcement,
        patience: Duration,
    ) -> Result<Announcement, FleetError> {
        let until = Instant::now() + patience;
        while announcement.busy.is_some() && Instant::now() < until {
            // It may be in the middle of a load.
            sleep(LOOK * 10).await;
            announcement = self.hello(&announcement.name).await?;
        }
        self.check(&announcement)?;
        Ok(announcement)
    }

    /// Has `wish` made; what each of its crew measured, in their order. Where a person interrupts
    /// it, all come to their end, and what they measured until then is kept. A connection that is
    /// lost before the load begins costs time and nothing else: the load is prepared anew.
    ///
    /// # Errors
    ///
    /// One of them cannot do its part: then none does.
    pub fn run(&self, wish: &Wish<'_>, ears: &mut dyn Ears) -> Result<Made, FleetError> {
        self.runtime.block_on(async {
            let mut left = PREPARED_ANEW;
            loop {
                let mut load = Load::new(self, wish, &mut *ears).await?;
                let order = load.order().to_owned();
                let error = match load.make().await {
                    Ok(trials) => return Ok(Made { order, trials }),
                    Err(error) => error,
                };
                let is_to_repeat = load.was_disturbed() && left > 0;
                // Who is gone hears nothing, and ends by itself.
                drop(load.stop().await);
                self.take_out(&order, wish.crew).await;
                if !is_to_repeat {
                    return Err(error);
                }
                left -= 1;
                self.await_free(wish.crew).await?;
            }
        })
    }

    /// What came of a load that somebody else has asked for, and gone: waits until all of it is
    /// there.
    ///
    /// # Errors
    ///
    /// There is no such load, one of its agents has nothing to tell, or a person wants to stop.
    pub fn resume(
        &self,
        order: &str,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<(Sheet, Made), FleetError> {
        self.runtime.block_on(async {
            let sheet = self.sheet(order).await?;
            let mut roll = Roll::new(&sheet.crew);
            let mut missing = Missing::new(sheet.crew.len());
            loop {
                self.look_up(order, &mut roll).await?;
                if roll.is_done() {
                    break;
                }
                if is_interrupted() {
                    return Err(FleetError::Interrupted);
                }
                missing.ask(self, order, &roll).await?;
                sleep(LOOK * 5).await;
            }
            let (order, trials) = (order.to_owned(), roll.take());
            Ok((sheet, Made { order, trials }))
        })
    }

    /// What came of `order` has been told: nobody will ask for it again.
    pub fn forget(&self, order: &str, crew: &[Member]) {
        self.runtime.block_on(self.take_out(order, crew));
    }

    async fn take_out(&self, order: &str, crew: &[Member]) {
        // What cannot be taken out now is taken out by the broker, after a day.
        if !self.broker.has_store() || !self.broker.is_connected() {
            return;
        }
        self.broker.forget(order).await;
        for member in crew {
            self.broker.forget(&kept_as(order, &member.name)).await;
        }
    }

    /// What is kept of an order.
    async fn sheet(&self, order: &str) -> Result<Sheet, FleetError> {
        if !self.broker.has_store() {
            return Err(self
                .broker
                .failed("it keeps no records (start it with JetStream, nats-server -js)"));
        }
        let sheet: Option<Sheet> = self.broker.kept(order).await?;
        let sheet = sheet.ok_or_else(|| {
            FleetError::Agents(format!(
                "nothing is kept of a load '{order}': its result has been shown, it had not begun, \
                 or it is more than a day old"
            ))
        })?;
        match sheet.version == self.version {
            true => Ok(sheet),
            false => Err(FleetError::Agents(format!(
                "the load '{order}' was asked for by version {}, and this program is of version \
                 {}: install the same version of triathlon",
                sheet.version, self.version
            ))),
        }
    }

    /// Reads what the broker keeps of those who have not told how they ended.
    async fn look_up(&self, order: &str, roll: &mut Roll<'_>) -> Result<(), FleetError> {
        for (position, name) in roll.missing() {
            // A broker that is away is asked again later.
            if let Ok(Some(tell)) = self.broker.kept(&kept_as(order, &name)).await {
                roll.hear(position, order, tell)?;
            }
        }
        Ok(())
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
        Ok(found)
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
        self.check_version(one)?;
        match one.role {
            Role::Server => {
                let why = "it makes no load (--role server)";
                Err(FleetError::agent(one.name.as_str(), why))
            }
            _ => Ok(()),
        }
    }

    /// Whether it is of this version, and free.
    fn check_version(&self, one: &Announcement) -> Result<(), FleetError> {
        let why = match () {
            () if one.version != self.version => format!(
                "it is of version {}, and this program of version {}: install the same version of \
                 triathlon on both",
                one.version, self.version
            ),
            () if one.busy.is_some() => {
                "it works on another order: wait until that has ended".to_owned()
            }
            () => return Ok(()),
        };
        Err(FleetError::agent(one.name.as_str(), why))
    }
}

/// Its clock is near enough for a common start.
fn in_time(seen: &Seen) -> Result<(), FleetError> {
    let why = seen.clock.objection();
    why.map_or(Ok(()), |why| {
        Err(FleetError::agent(seen.announcement.name.as_str(), why))
    })
}

#[cfg(test)]
mod tests;
