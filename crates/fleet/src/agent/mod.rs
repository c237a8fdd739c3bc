//! An agent: it listens, lets its [`Desk`] decide, and has the work done by whoever started it, on
//! a thread of its own. While a load runs it tells each interval if somebody watches, and nothing
//! else (ADR 0040).

mod line;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use model::{Environment, Trial};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::line::News;
pub use self::line::{Heard, Line, Output};
use crate::broker::{Access, Broker, Message, is_nobody, runtime};
use crate::desk::{Desk, Job, Limits, Step};
use crate::error::FleetError;
use crate::message::{Announcement, Ask, Ceiling, EVERYONE, Name, Tell, kept_as, subject_of};

/// So often it is looked whether a person wants the agent to end.
const LOOK: Duration = Duration::from_millis(250);
/// So often they say meanwhile that they are ready.
const REMIND: Duration = Duration::from_secs(1);
/// A broker that is being started again is waited for so long.
const KEEP_LIMIT: Duration = Duration::from_secs(600);
/// Why the servers of a lab come to their end.
const LOST: &str = "its connection to the NATS server was lost";
/// So often something is tried that should work.
const KEEP_TRIES: u32 = 3;

/// What an agent's program does for it.
pub trait Host: Send + Sync + 'static {
    /// Its machine, with what the doctor found, and with its clock as it is kept now. It is asked
    /// while a load runs, too.
    fn environment(&self) -> Environment;
    /// CPUs for workers.
    fn cpus(&self) -> Vec<u32>;
    /// What one of them reached when that was last measured; none where it was not.
    fn ceiling(&self) -> Option<Ceiling> {
        None
    }
    /// The addresses of a name.
    ///
    /// # Errors
    ///
    /// It has none, in a sentence.
    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String>;
    /// Makes a part of a load, and asks `line` again and again what it is told.
    ///
    /// # Errors
    ///
    /// Nothing could be measured: why, in a sentence.
    fn run(&self, job: &Job, line: &Line) -> Result<Trial, String>;
    /// Starts what has the servers of a lab, and passes lines on until that has ended: it is to
    /// end where no more lines can come.
    ///
    /// # Errors
    ///
    /// It did not start, or ended before it was done: why, in a sentence.
    fn lab(&self, lines: &Receiver<String>, output: &Output) -> Result<(), String>;
    /// Whether a person wants the agent to end.
    fn is_interrupted(&self) -> bool;
    /// Tells whoever watches.
    fn note(&self, text: &str);
}

/// What an agent knows of that.
#[derive(Debug)]
struct Lab {
    /// Takes lines for it; none once it is to end.
    lines: Option<Sender<String>>,
    /// Whoever asked has nothing to say before.
    quiet_until: Instant,
    /// How often the connection had been lost when it began.
    losses: u64,
}

/// Serves as an agent until a person wants it to end.
///
/// # Errors
///
/// The broker cannot be reached.
pub fn serve(
    access: &Access,
    name: Name,
    labels: BTreeMap<String, String>,
    limits: Limits,
    host: Arc<dyn Host>,
) -> Result<(), FleetError> {
    let announcement = Announcement {
        name,
        version: limits.version.clone(),
        role: limits.role,
        labels,
        targets: limits.targets.iter().map(ToString::to_string).collect(),
        may_start_servers: limits.may_start_servers,
        cpus: host.cpus(),
        ceiling: host.ceiling(),
        busy: None,
        environment: host.environment(),
    };
    let (news, received) = unbounded_channel();
    runtime()?.block_on(async {
        let agent = Agent {
            broker: Broker::connect(access).await?,
            now: access.now,
            announcement,
            desk: Desk::new(limits),
            host,
            line: None,
            lab: None,
            news,
            reminded: None,
        };
        agent.work(received).await
    })
}

/// Whom a message is to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum To {
    Everyone,
    This,
}

struct Agent {
    broker: Broker,
    now: fn() -> u64,
    announcement: Announcement,
    desk: Desk,
    host: Arc<dyn Host>,
    /// To the load that is being made.
    line: Option<Arc<Line>>,
    lab: Option<Lab>,
    news: UnboundedSender<News>,
    /// When it last said again that a load is ready.
    reminded: Option<Instant>,
}

impl Agent {
    async fn work(mut self, mut received: UnboundedReceiver<News>) -> Result<(), FleetError> {
        let name = self.announcement.name.clone();
        let mut everyone = self.broker.listen(EVERYONE).await?;
        let mut own = self.broker.listen(&subject_of(&name)).await?;
        let inbox = self.broker.new_inbox();
        let mut echoes = self.broker.listen(&format!("{inbox}.*")).await?;
        self.broker.settle().await?;
        if !self.broker.has_store() {
            self.host.note(
                "the NATS server keeps nothing (start it with JetStream, nats-server -js): a \
                 record is lost where whoever asked for it has gone",
            );
        }
        self.host.note(&format!("agent {name} waits for orders"));
        loop {
            let done = tokio::select! {
                Some(message) = everyone.next() => self.hear(&message, To::Everyone).await,
                Some(message) = own.next() => self.hear(&message, To::This).await,
                Some(message) = echoes.next() => self.hear_echo(&message).await,
                Some(news) = received.recv() => self.learn(news).await,
                () = tokio::time::sleep(LOOK) => self.remind(&inbox).await,
            };
            if let Err(error) = done {
                self.host.note(&error.to_string());
            }
            if self.host.is_interrupted() {
                if self.desk.busy().is_none() {
                    return Ok(());
                }
                self.stop();
            }
        }
    }

    /// Somebody says something to one agent or to all.
    async fn hear(&mut self, message: &Message, whom: To) -> Result<(), FleetError> {
        let to = message.reply.as_ref().map(ToString::to_string);
        let ask: Ask = match self.broker.read(message).await {
            // All are asked who they are, and nothing else: an order has one agent.
            Ok(ask) if whom == To::Everyone && ask != Ask::Hello => return Ok(()),
            Ok(ask) => ask,
            Err(error) => {
                let Some(to) = to else {
                    return Err(error);
                };
                let refused = Tell::Refused {
                    order: String::new(),
                    why: match error {
                        FleetError::Broker { why, .. } => why,
                        error => error.to_string(),
                    },
                };
                return self.broker.say(&to, None, &refused).await;
            }
        };
        let host = Arc::clone(&self.host);
        let resolve = |name: &str, port: u16| host.resolve(name, port);
        let steps = self.desk.hear(ask, to.as_deref(), (self.now)(), &resolve);
        self.take(steps).await
    }

    /// Says again that a load is ready, as long as it has not begun, or that servers are there:
    /// where nobody listens, the broker says so.
    async fn remind(&mut self, inbox: &str) -> Result<(), FleetError> {
        if let Some(lab) = &self.lab {
            if self.broker.losses() > lab.losses {
                let steps = self.desk.cut_off(LOST);
                return self.take(steps).await;
            }
            if Instant::now() < lab.quiet_until {
                return Ok(());
            }
        }
        let (Some((to, order)), Some(again)) = (self.desk.waiting(), self.desk.reminder()) else {
            return Ok(());
        };
        if self.reminded.is_some_and(|at| at.elapsed() < REMIND) {
            return Ok(());
        }
        self.reminded = Some(Instant::now());
        let reply = format!("{inbox}.{order}");
        self.broker.say(to, Some(&reply), &again).await
    }

    /// Something came back of that.
    async fn hear_echo(&mut self, message: &Message) -> Result<(), FleetError> {
        let order = message.subject.rsplit('.').next();
        let Some(order) = order.filter(|_| is_nobody(message)) else {
            return Ok(());
        };
        let steps = self.desk.abandon(order);
        if !steps.is_empty() {
            let gone = "whoever asked for it has gone";
            self.host.note(&format!("order {order}: {gone}"));
        }
        self.take(steps).await
    }

    /// The load that is being made has something to say.
    async fn learn(&mut self, news: News) -> Result<(), FleetError> {
        let steps = match news {
            News::Ready => self.desk.ready(),
            News::Passed => {
                let passed = self.line.as_ref().and_then(|line| line.take_passed());
                let now = (self.now)();
                passed.map_or_else(Vec::new, |passed| self.desk.passed(passed, now))
            }
            News::Ended(result) => {
                self.line = None;
                let how = match &result {
                    Ok(_) => "the order has ended".to_owned(),
                    Err(why) => format!("the order failed: {why}"),
                };
                self.host.note(&how);
                self.desk.ended(result)
            }
            News::Said(line) => self.desk.said(line),
            News::Closed(result) => {
                self.lab = None;
                let how = match &result {
                    Ok(()) => "the servers of the lab have ended".to_owned(),
                    Err(why) => format!("the servers of the lab have ended: {why}"),
                };
                self.host.note(&how);
                self.desk.closed(result)
            }
        };
        self.take(steps).await
    }

    /// Does all of it, also where something cannot be said.
    async fn take(&mut self, steps: Vec<Step>) -> Result<(), FleetError> {
        let mut done = Ok(());
        for step in steps {
            let said = match step {
                Step::Announce { to } => {
                    let busy = self.desk.busy().map(str::to_owned);
                    let announcement = Announcement {
                        busy,
                        environment: self.host.environment(),
                        ..self.announcement.clone()
                    };
                    let hello = Tell::Hello(Box::new(announcement));
                    self.broker.say(&to, None, &hello).await
                }
                Step::Begin(at) => {
                    if let Some(line) = &self.line {
                        line.start.store(at, Ordering::Relaxed);
                    }
                    Ok(())
                }
                Step::Mention { to, tell } => {
                    self.broker.mention(&to, &tell);
                    Ok(())
                }
                Step::Open(order) => {
                    self.open(&order);
                    Ok(())
                }
                Step::Pass { text, silence } => {
                    if let Some(lab) = &mut self.lab {
                        lab.quiet_until = Instant::now() + Duration::from_nanos(silence.as_ns());
                        // One that has ended says so.
                        drop(lab.lines.as_ref().map(|lines| lines.send(text)));
                    }
                    Ok(())
                }
                Step::Start(job) => {
                    self.start(*job);
                    Ok(())
                }
                Step::Stop => {
                    self.stop();
                    Ok(())
                }
                Step::Tell { to, tell } => {
                    let is_line = matches!(*tell, Tell::Line { .. });
                    let said = self.tell(&to, *tell).await;
                    if let (Err(error), true) = (&said, is_line)
                        && !self.desk.cut_off(&error.to_string()).is_empty()
                    {
                        self.stop();
                    }
                    said
                }
            };
            done = done.and(said);
        }
        done
    }

    /// Says it. How an order ended stays with the broker, too, so that whoever asked for it may be
    /// gone. A record that cannot be sent is told as that: somebody waits for it.
    async fn tell(&self, to: &str, tell: Tell) -> Result<(), FleetError> {
        let kept = match tell.ended() {
            Some(order) => self.keep(order, &tell).await,
            None => None,
        };
        let said = match kept {
            Some(name) => self.broker.say_kept(to, &tell, &name).await,
            None => self.broker.say(to, None, &tell).await,
        };
        if let (Err(error), Tell::Trial { order, .. }) = (&said, tell) {
            let why = error.to_string();
            let failed = Tell::Failed { order, why };
            self.broker.say(to, None, &failed).await?;
        }
        said
    }

    /// Puts how an order ended where it stays; its name there, or none where that cannot be.
    async fn keep(&self, order: &str, tell: &Tell) -> Option<String> {
        if !self.broker.has_store() {
            return None;
        }
        let name = kept_as(order, &self.announcement.name);
        let until = Instant::now() + KEEP_LIMIT;
        let mut tries = 0;
        loop {
            let Err(error) = self.broker.keep(&name, tell).await else {
                return Some(name);
            };
            // Only a broker that is there counts.
            tries += u32::from(self.broker.is_connected());
            let is_over = tries == KEEP_TRIES || Instant::now() > until;
            if is_over || self.host.is_interrupted() {
                let lost = "the record is lost if nobody waits for it";
                self.host.note(&format!("{lost}: {error}"));
                return None;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Makes the load on a thread of its own.
    fn start(&mut self, job: Job) {
        self.host.note(&format!(
            "order {}: workers {} to {} of {}",
            job.order,
            job.workers.start,
            job.workers.end.saturating_sub(1),
            job.plan.workers
        ));
        let line = Arc::new(Line::new(self.news.clone(), job.is_watched));
        self.line = Some(Arc::clone(&line));
        let host = Arc::clone(&self.host);
        let made = thread::Builder::new()
            .name("order".to_owned())
            .spawn(move || {
                let result = host.run(&job, &line).map(Box::new);
                drop(line.news.send(News::Ended(result)));
            });
        if let Err(error) = made {
            let why = format!("no thread can be started: {error}");
            drop(self.news.send(News::Ended(Err(why))));
        }
    }

    /// Starts what has the servers of a lab, on a thread of its own.
    fn open(&mut self, order: &str) {
        self.host.note(&format!("order {order}: servers of a lab"));
        let (lines, input) = channel();
        self.lab = Some(Lab {
            lines: Some(lines),
            quiet_until: Instant::now(),
            losses: self.broker.losses(),
        });
        let (host, news) = (Arc::clone(&self.host), self.news.clone());
        let made = thread::Builder::new()
            .name("servers".to_owned())
            .spawn(move || {
                let output = Output { news };
                let result = host.lab(&input, &output);
                drop(output.news.send(News::Closed(result)));
            });
        if let Err(error) = made {
            let why = format!("no thread can be started: {error}");
            drop(self.news.send(News::Closed(Err(why))));
        }
    }

    fn stop(&mut self) {
        if let Some(line) = &self.line {
            line.is_stopped.store(true, Ordering::Relaxed);
        }
        if let Some(lab) = &mut self.lab {
            lab.lines = None;
        }
    }
}
