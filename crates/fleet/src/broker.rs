//! The connection to NATS: the only file that knows its client.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::jetstream::object_store::{Config, ObjectStore};
use async_nats::jetstream::{Context, ContextBuilder};
use async_nats::{Client, ConnectOptions, Event, ServerAddr, StatusCode};
pub(crate) use async_nats::{Message, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::{Builder, Runtime};

use crate::error::FleetError;
use crate::message::{Elsewhere, LARGEST, decode, elsewhere, encode, encode_elsewhere};

/// Where messages lie that are too large to be sent, and what outlives its sender and its reader.
const BUCKET: &str = "triathlon";
/// They are taken out when they have been read; what nobody reads goes after a day.
const KEPT: Duration = Duration::from_secs(24 * 3_600);
/// All of it together takes no more, and what is beyond that is refused.
const BUCKET_LARGEST: i64 = 1 << 30;
/// The object store does what it is asked for within this time, or is gone.
const STORE_LIMIT: Duration = Duration::from_secs(10);
/// Nobody takes more into memory.
const OBJECT_LARGEST: usize = 256 << 20;
/// What is said to oneself comes back within this time.
const ECHO: Duration = Duration::from_secs(10);
/// So often it is looked meanwhile whether the broker objects.
const ECHO_LOOK: Duration = Duration::from_millis(100);

/// How the broker is reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`, several divided by commas.
    pub url: String,
    /// The file of credentials, as `nsc` writes it.
    pub credentials: Option<PathBuf>,
    /// What the broker calls this connection in its lists.
    pub name: String,
    /// The time of this machine in nanoseconds since 1970.
    pub now: fn() -> u64,
}

/// A connection that makes itself again when it is lost.
#[derive(Debug)]
pub(crate) struct Broker {
    client: Client,
    url: String,
    /// What it objected to last.
    objection: Arc<Mutex<Option<String>>>,
    /// How often it was lost.
    losses: Arc<AtomicU64>,
}

/// An event loop of one thread.
pub(crate) fn runtime() -> Result<Runtime, FleetError> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| FleetError::Runtime(error.to_string()))
}

impl Broker {
    /// Connects, once.
    pub(crate) async fn connect(access: &Access) -> Result<Self, FleetError> {
        let parts: Vec<&str> = access.url.split(',').map(str::trim).collect();
        let shown: Vec<_> = parts.iter().map(|one| model::redact::url(one)).collect();
        let url = shown.join(",");
        let failed = |why: String| FleetError::Connect {
            url: url.clone(),
            why,
        };
        let server = |one: &&str| {
            let parsed = one.parse::<ServerAddr>();
            parsed.map_err(|error| failed(error.to_string()))
        };
        let servers: Vec<ServerAddr> = parts.iter().map(server).collect::<Result<_, _>>()?;
        let objection = Arc::new(Mutex::new(None));
        let heard = Arc::clone(&objection);
        let losses = Arc::new(AtomicU64::new(0));
        let lost = Arc::clone(&losses);
        let mut options = ConnectOptions::new()
            .name(&access.name)
            .event_callback(move |event| {
                match (event, heard.lock()) {
                    (Event::ServerError(said), Ok(mut heard)) => *heard = Some(said.to_string()),
                    (Event::Disconnected, _) => {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                    _ => {}
                }
                std::future::ready(())
            });
        // The client leaves what stands before the host unread.
        if let Some((user, password)) = servers.iter().find_map(user_of) {
            options = match password {
                Some(password) => options.user_and_password(user, password),
                None => options.token(user),
            };
        }
        if let Some(path) = &access.credentials {
            let with_them = options.credentials_file(path).await;
            options = with_them.map_err(|error| FleetError::Credentials {
                path: path.display().to_string(),
                why: error.to_string(),
            })?;
        }
        let client = options.connect(servers).await;
        let client = client.map_err(|error| failed(why_not_connected(&error.to_string())))?;
        Ok(Self {
            client,
            url,
            objection,
            losses,
        })
    }

    /// Whether there is a connection now.
    pub(crate) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// How often the connection was lost so far: what was said meanwhile was not heard.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }

    /// Whether it keeps anything.
    pub(crate) fn has_store(&self) -> bool {
        self.client.server_info().jetstream
    }

    /// A subject that nobody else has.
    pub(crate) fn new_inbox(&self) -> String {
        self.client.new_inbox()
    }

    /// Listens to a subject.
    pub(crate) async fn listen(&self, subject: &str) -> Result<Subscriber, FleetError> {
        let subscriber = self.client.subscribe(subject.to_owned()).await;
        let subscriber = subscriber.map_err(|error| self.failed(error))?;
        self.flush().await?;
        Ok(subscriber)
    }

    /// Waits until the broker has done all that it was asked for so far: what was listened to is
    /// heard from now on.
    pub(crate) async fn settle(&self) -> Result<(), FleetError> {
        let inbox = self.new_inbox();
        let mut echo = self.listen(&inbox).await?;
        let said = self.client.publish(inbox, Vec::<u8>::new().into()).await;
        said.map_err(|error| self.failed(error))?;
        let until = Instant::now() + ECHO;
        loop {
            match tokio::time::timeout(ECHO_LOOK, echo.next()).await {
                Ok(Some(_)) => return Ok(()),
                _ if self.objection().is_some() => {
                    return Err(self.failed(
                        "this user may not do what an agent does; its password may be that of \
                         those who ask agents",
                    ));
                }
                Err(_) if Instant::now() < until => {}
                _ => return Err(self.failed("it gives nothing back")),
            }
        }
    }

    /// Says `message`; answers go to `reply`.
    pub(crate) async fn say<T: Serialize>(
        &self,
        to: &str,
        reply: Option<&str>,
        message: &T,
    ) -> Result<(), FleetError> {
        let bytes = self.packed(encode(message)).await?;
        self.publish(to, reply, bytes).await
    }

    /// The same of what may be lost: where there is no connection now, or the client has no room
    /// for it, it is.
    pub(crate) fn mention<T: Serialize>(&self, to: &str, message: &T) {
        if self.is_connected() {
            let said = self.client.publish(to.to_owned(), encode(message).into());
            // It waits for room alone. What was said is sent without a flush.
            drop(said.now_or_never());
        }
    }

    /// The same of what is kept as `name` already.
    pub(crate) async fn say_kept<T: Serialize>(
        &self,
        to: &str,
        message: &T,
        name: &str,
    ) -> Result<(), FleetError> {
        let bytes = encode(message);
        let bytes = match bytes.len() <= self.largest() {
            true => bytes,
            false => encode_elsewhere(name, true),
        };
        self.publish(to, None, bytes).await
    }

    async fn publish(
        &self,
        to: &str,
        reply: Option<&str>,
        bytes: Vec<u8>,
    ) -> Result<(), FleetError> {
        let to = to.to_owned();
        let said = match reply {
            Some(reply) => {
                let reply = reply.to_owned();
                self.client
                    .publish_with_reply(to, reply, bytes.into())
                    .await
            }
            None => self.client.publish(to, bytes.into()).await,
        };
        said.map_err(|error| self.failed(error))?;
        self.flush().await
    }

    /// The largest message in bytes.
    fn largest(&self) -> usize {
        LARGEST.min(self.client.server_info().max_payload)
    }

    /// Says `message` and waits for the answer; none if nobody listens there.
    pub(crate) async fn ask<T: Serialize, A: DeserializeOwned>(
        &self,
        to: &str,
        message: &T,
    ) -> Result<Option<A>, FleetError> {
        use async_nats::client::RequestErrorKind::NoResponders;
        let bytes = self.packed(encode(message)).await?;
        match self.client.request(to.to_owned(), bytes.into()).await {
            Ok(answer) => self.read(&answer).await.map(Some),
            Err(error) if error.kind() == NoResponders => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// What a message says.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        message: &Message,
    ) -> Result<T, FleetError> {
        let said = match elsewhere(&message.payload) {
            None => decode(&message.payload),
            Some(Elsewhere {
                object, is_kept, ..
            }) => {
                let bytes = self.fetch(&object).await?;
                if !is_kept {
                    self.forget(&object).await;
                }
                decode(&bytes)
            }
        };
        said.map_err(|error| self.failed(error))
    }

    /// Puts `message` where it stays for a day, or until it is forgotten.
    pub(crate) async fn keep<T: Serialize>(
        &self,
        name: &str,
        message: &T,
    ) -> Result<(), FleetError> {
        self.put(name, &encode(message)).await
    }

    /// What is kept under this name; none where nothing is.
    pub(crate) async fn kept<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, FleetError> {
        let bucket = self.bucket().await?;
        let found = match bucket.info(name).await {
            Ok(info) => !info.deleted,
            Err(_) => false,
        };
        if !found {
            return Ok(None);
        }
        let read = decode(&self.fetch(name).await?);
        read.map(Some).map_err(|error| self.failed(error))
    }

    /// Takes out what is kept under this name. What cannot be taken out goes in a day.
    pub(crate) async fn forget(&self, name: &str) {
        if let Ok(bucket) = self.bucket().await {
            drop(bucket.delete(name).await);
        }
    }

    async fn flush(&self) -> Result<(), FleetError> {
        let flushed = self.client.flush().await;
        flushed.map_err(|error| self.failed(error))
    }

    /// The bytes, or what stands for them where they are too many.
    async fn packed(&self, bytes: Vec<u8>) -> Result<Vec<u8>, FleetError> {
        if bytes.len() <= self.largest() {
            return Ok(bytes);
        }
        let inbox = self.new_inbox();
        let object = inbox.rsplit('.').next().unwrap_or(&inbox);
        self.put(object, &bytes).await?;
        Ok(encode_elsewhere(object, false))
    }

    async fn put(&self, name: &str, mut bytes: &[u8]) -> Result<(), FleetError> {
        let put = self.bucket().await?.put(name, &mut bytes).await;
        put.map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// What lies in the object store under this name.
    async fn fetch(&self, name: &str) -> Result<Vec<u8>, FleetError> {
        let bucket = self.bucket().await?;
        let found = bucket.get(name).await;
        let mut object = found.map_err(|error| self.failed(error))?;
        if object.info.size > OBJECT_LARGEST {
            let why = format!("a message of {} bytes is too large", object.info.size);
            return Err(self.failed(why));
        }
        let mut bytes = Vec::with_capacity(object.info.size);
        let read = object.read_to_end(&mut bytes).await;
        read.map_err(|error| self.failed(error))?;
        Ok(bytes)
    }

    /// The object store of all messages.
    async fn bucket(&self) -> Result<ObjectStore, FleetError> {
        let context: Context = ContextBuilder::new()
            .ack_timeout(STORE_LIMIT)
            .build(self.client.clone());
        if let Ok(there) = context.get_object_store(BUCKET).await {
            return Ok(there);
        }
        let config = Config {
            bucket: BUCKET.to_owned(),
            description: Some("plans and records of triathlon".to_owned()),
            max_age: KEPT,
            max_bytes: BUCKET_LARGEST,
            ..Config::default()
        };
        let made = context.create_object_store(config).await;
        made.map_err(|error| {
            self.failed(format!(
                "a plan or a record is larger than a message, and it has no object store: start it \
                 with JetStream, nats-server -js ({error})"
            ))
        })
    }

    /// What went wrong, and what the broker objected to, if anything.
    pub(crate) fn failed(&self, why: impl ToString) -> FleetError {
        let mut why = why.to_string();
        if let Some(objection) = self.objection() {
            why = format!("{why} ({objection})");
        }
        FleetError::Broker {
            url: self.url.clone(),
            why,
        }
    }

    /// What the broker objected to last, as to a subject that this user may not use.
    pub(crate) fn objection(&self) -> Option<String> {
        self.objection.lock().ok()?.clone()
    }
}

/// The user that a URL names, with the password; one alone is a token, as NATS has it.
fn user_of(server: &ServerAddr) -> Option<(String, Option<String>)> {
    Some((decoded(server.username()?), server.password().map(decoded)))
}

/// Without the percent-encoding (RFC 3986 §2.1) that a URL needs for some letters.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let byte = rest.get(at + 1..at + 3);
        let (byte, length) = match byte.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (byte, 3),
            None => (b'%', 1),
        };
        bytes.push(byte);
        rest = &rest[at + length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// In our words where those of the client name no cause.
fn why_not_connected(said: &str) -> String {
    // What answers to a TLS handshake, and not in TLS.
    match said.contains("InvalidContentType") {
        true => "it does not speak TLS; nats://HOST:PORT reaches one in clear".to_owned(),
        false => said.to_owned(),
    }
}

/// Whether the message says that nobody listens where its question went.
pub(crate) fn is_nobody(message: &Message) -> bool {
    message.status == Some(StatusCode::NO_RESPONDERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_a_user_a_token_or_nobody() {
        let check = |url: &str, expected: Option<(&str, Option<&str>)>| {
            let user = user_of(&url.parse().unwrap());
            let user = user
                .as_ref()
                .map(|(user, word)| (user.as_str(), word.as_deref()));
            assert_eq!(user, expected, "{url}");
        };
        check("nats://127.0.0.1:4222", None);
        check("nats://me:secret@127.0.0.1", Some(("me", Some("secret"))));
        check("tls://token@broker.test", Some(("token", None)));
        check("nats://m%40e:50%25%2f@h", Some(("m@e", Some("50%/"))));
        check("nats://me:%zz%@h", Some(("me", Some("%zz%"))));
    }
}
