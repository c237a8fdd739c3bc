//! What has the servers of a lab, on the machine of an agent: spoken to in lines.
//!
//! A line that is lost ends it, on both sides, for nothing can be made of those that follow.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use model::Span;
use tokio::time::{sleep, timeout};

use super::{Coordinator, LOOK, Seen, Wanted, in_time, select};
use crate::broker::{Message, Subscriber, is_nobody};
use crate::clock::Clock;
use crate::desk::STARTS_NONE;
use crate::error::FleetError;
use crate::message::{Announcement, Ask, LabOrder, Name, Role, Tell, subject_of};

/// A silent agent is asked so often whether it is there.
const AGAIN: Duration = Duration::from_secs(1);
/// Who is there answers within this time.
const ANSWER: Duration = Duration::from_secs(2);
/// So often in a row it must be gone: what it said last may be under way.
const GONE: u32 = 3;
/// The event loop runs at least so often, and so long, so that the broker sees that we are here.
const BREATH: Duration = Duration::from_secs(5);
const BREATHE: Duration = Duration::from_millis(1);

/// What an agent's machine says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Said {
    /// Nothing yet.
    Nothing,
    /// A line.
    Line(String),
    /// That it has ended; why, if it was not done.
    Closed(Option<String>),
}

/// The servers of a lab on the machine of an agent.
#[derive(Debug)]
pub struct Talk<'a> {
    coordinator: &'a Coordinator,
    agent: Name,
    order: String,
    /// None once it is dropped.
    news: Option<Subscriber>,
    /// How many lines were said, and heard.
    said: u64,
    heard: u64,
    /// How often the connection had been lost when it began.
    losses: u64,
    /// When it was last known to be there.
    seen: Instant,
    /// How often in a row it was not.
    gone: u32,
    breathed: Instant,
}

impl Coordinator {
    /// The agent of this name, which can start servers now; where it works on another order, that
    /// is waited for as long as `patience` lasts.
    ///
    /// # Errors
    ///
    /// It is not there, or cannot.
    pub fn starter(&self, name: &Name, patience: Duration) -> Result<Seen, FleetError> {
        self.runtime.block_on(async {
            let until = Instant::now() + patience;
            let found = self.greet().await?;
            if !found.iter().any(|one| one.name == *name) {
                return Err(FleetError::Agents(format!(
                    "there is no agent '{name}': start one on the machine of the servers with \
                     triathlon agent --nats URL --name {name} --role server --may-start-servers"
                )));
            }
            let mut announcement = select(found, &[Wanted::Named(name.clone())])?.remove(0);
            while announcement.busy.is_some() && Instant::now() < until {
                sleep(LOOK * 10).await;
                announcement = self.hello(name).await?;
            }
            self.check_starter(&announcement)?;
            let seen = self.look(announcement).await?;
            in_time(&seen)?;
            Ok(seen)
        })
    }

    fn check_starter(&self, one: &Announcement) -> Result<(), FleetError> {
        self.check_version(one)?;
        if one.role == Role::Load || !one.may_start_servers {
            return Err(FleetError::agent(one.name.as_str(), STARTS_NONE));
        }
        Ok(())
    }

    /// Has that agent start what has the servers of a lab.
    ///
    /// # Errors
    ///
    /// The broker is gone. Whether the agent does it, is heard.
    pub fn talk(&self, seen: &Seen) -> Result<Talk<'_>, FleetError> {
        self.runtime.block_on(async {
            let inbox = self.broker.new_inbox();
            let order = inbox.rsplit('.').next().unwrap_or(&inbox).to_owned();
            let news = self.broker.listen(&inbox).await?;
            let lab = Ask::Lab(Box::new(LabOrder {
                id: order.clone(),
                version: self.version.clone(),
            }));
            let agent = seen.announcement.name.clone();
            let losses = self.broker.losses();
            self.broker
                .say(&subject_of(&agent), Some(&inbox), &lab)
                .await?;
            Ok(Talk {
                coordinator: self,
                agent,
                order,
                news: Some(news),
                said: 0,
                heard: 0,
                losses,
                seen: Instant::now(),
                gone: 0,
                breathed: Instant::now(),
            })
        })
    }
}

impl Drop for Talk<'_> {
    fn drop(&mut self) {
        // It tells the broker, which takes the event loop.
        let _inside = self.coordinator.runtime.enter();
        drop(self.news.take());
    }
}

impl Talk<'_> {
    /// Says a line. Nothing else will be said for so long.
    ///
    /// # Errors
    ///
    /// The broker is gone.
    pub fn say(&mut self, text: String, silence: Span) -> Result<(), FleetError> {
        let line = Ask::Line {
            order: self.order.clone(),
            number: self.said,
            text,
            silence,
        };
        self.said += 1;
        let (coordinator, subject) = (self.coordinator, subject_of(&self.agent));
        let said = coordinator.broker.say(&subject, None, &line);
        coordinator.runtime.block_on(said)
    }

    /// What is said next, if it is soon.
    ///
    /// # Errors
    ///
    /// The agent refuses, has gone, or something that was said is lost.
    pub fn hear(&mut self) -> Result<Said, FleetError> {
        let coordinator = self.coordinator;
        coordinator.runtime.block_on(async {
            if coordinator.broker.losses() > self.losses {
                return Err(coordinator.broker.failed(
                    "the connection was lost, and with it what the agent of the servers said",
                ));
            }
            let Some(news) = &mut self.news else {
                return Ok(Said::Nothing);
            };
            match timeout(LOOK, news.next()).await {
                Ok(Some(message)) => self.understand(&message).await,
                Ok(None) => Err(coordinator.broker.failed("the connection has ended")),
                Err(_) => {
                    self.ask().await?;
                    Ok(Said::Nothing)
                }
            }
        })
    }

    /// How far the agent's clock is ahead of ours now.
    ///
    /// # Errors
    ///
    /// It does not tell its time, or is too far away.
    pub fn clock(&self) -> Result<Clock, FleetError> {
        self.coordinator.runtime.block_on(async {
            let announcement = self.coordinator.hello(&self.agent).await?;
            let seen = self.coordinator.look(announcement).await?;
            in_time(&seen)?;
            Ok(seen.clock)
        })
    }

    /// Keeps the connection while nothing is to be heard. To be called again and again.
    pub fn breathe(&mut self) {
        if self.breathed.elapsed() >= BREATH {
            let runtime = &self.coordinator.runtime;
            runtime.block_on(async { sleep(BREATHE).await });
            self.breathed = Instant::now();
        }
        self.seen = Instant::now();
    }

    async fn understand(&mut self, message: &Message) -> Result<Said, FleetError> {
        let broker = &self.coordinator.broker;
        if is_nobody(message) {
            return Err(self.lacks("it has gone"));
        }
        (self.seen, self.gone) = (Instant::now(), 0);
        match broker.read(message).await? {
            Tell::Line {
                order,
                number,
                text,
            } if order == self.order && number >= self.heard => {
                if number > self.heard {
                    return Err(self.lacks("a message of it was lost"));
                }
                self.heard += 1;
                Ok(Said::Line(text))
            }
            Tell::Closed { order, why } if order == self.order => Ok(Said::Closed(why)),
            Tell::Refused { order, why } if order == self.order || order.is_empty() => {
                Err(self.lacks(&why))
            }
            _ => Ok(Said::Nothing),
        }
    }

    /// Asks a silent agent whether it still works on the order.
    async fn ask(&mut self) -> Result<(), FleetError> {
        if self.seen.elapsed() < AGAIN {
            return Ok(());
        }
        self.seen = Instant::now();
        let subject = subject_of(&self.agent);
        let asked = self
            .coordinator
            .broker
            .ask::<_, Tell>(&subject, &Ask::Hello);
        let why = match timeout(ANSWER, asked).await {
            Ok(Ok(Some(Tell::Hello(hello)))) if hello.busy.as_ref() == Some(&self.order) => {
                self.gone = 0;
                return Ok(());
            }
            Ok(Ok(None)) => {
                "it has gone: its program has ended, or its machine or its network is down"
            }
            Ok(Ok(Some(_))) => "it does not have the servers any more: it was started again",
            _ => "it is silent: it hangs, or is cut off",
        };
        self.gone += 1;
        match self.gone >= GONE {
            true => Err(self.lacks(why)),
            false => Ok(()),
        }
    }

    fn lacks(&self, why: &str) -> FleetError {
        FleetError::agent(self.agent.as_str(), why)
    }
}
