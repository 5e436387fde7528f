//! A recording HTTP upstream: keeps every request exactly as it came and answers by a function.
//!
//! It reads HTTP/1.1 itself instead of through a library, because tests check details that a library hides: repeated
//! headers, their order and spelling, and answers that break the protocol.

mod wire;

use super::{PartError, Result};
use crate::PATIENCE;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::JoinSet,
};

/// One request as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The number of the connection, from 1 in the order of their opening.
    pub connection: u64,
    /// The method, as sent.
    pub method: String,
    /// The request target before the first `?`, as sent (percent-encoding untouched).
    pub path: String,
    /// The text after the first `?`; None without one.
    pub query: Option<String>,
    /// Names and values in the order and spelling of the wire, repeats included.
    pub headers: Vec<(String, String)>,
    /// The body, after transfer encoding.
    pub body: Vec<u8>,
}

impl Recorded {
    /// All values of a header, in order; the name in any spelling.
    #[must_use]
    pub fn values(&self, name: &str) -> Vec<&str> {
        let same = self.headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_str()).collect()
    }

    /// The first value of a header.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(name).first().copied()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.body)
            .map_err(|error| PartError::new(format!("the recorded body is no JSON: {error}")))
    }

    /// The path with the query, as sent.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }
}

/// The upstream's reaction to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    delay: Duration,
    is_held: bool,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Reply { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    Raw(Vec<u8>),
}

impl Answer {
    /// An answer with this status, no headers but `content-length`, and an empty body.
    #[must_use]
    pub const fn status(status: u16) -> Self {
        Self {
            delay: Duration::ZERO,
            is_held: false,
            kind: Kind::Reply { status, headers: Vec::new(), body: Vec::new() },
        }
    }

    /// Whether the answer means that a request was understood and not carried out: a 4xx with a JSON body, except the
    /// statuses for a wrong caller, a missing object or a temporary fault.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        let Kind::Reply { status, body, .. } = &self.kind else { return false };
        (400..500).contains(status)
            && ![401, 403, 404, 405, 408, 429].contains(status)
            && serde_json::from_slice::<serde_json::Value>(body).is_ok()
    }

    /// An answer with a JSON body.
    #[must_use]
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        Self::status(status).header("content-type", "application/json").body(value.to_string())
    }

    /// These bytes instead of an HTTP answer, then the end of the connection: for garbage and cut answers.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { delay: Duration::ZERO, is_held: false, kind: Kind::Raw(bytes.into()) }
    }

    /// Closes the connection without a byte of answer.
    #[must_use]
    pub const fn dropped() -> Self {
        Self { delay: Duration::ZERO, is_held: false, kind: Kind::Raw(Vec::new()) }
    }

    /// Adds a header; repeats are sent. Raw answers have none.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Kind::Reply { headers, .. } = &mut self.kind {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Sets the body. Raw answers have none.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let Kind::Reply { body, .. } = &mut self.kind {
            *body = bytes.into();
        }
        self
    }

    /// Waits this long before answering (the request is recorded at once).
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits for [`Recorder::release`] before answering (the request is recorded at once).
    #[must_use]
    pub const fn held(mut self) -> Self {
        self.is_held = true;
        self
    }
}

type Script = Arc<dyn Fn(&Recorded) -> Answer + Send + Sync>;

/// The state that the connections' tasks share with the value.
struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Recorded>>,
    changed: Notify,
    releases: watch::Sender<()>,
}

/// A running upstream; it stops listening and closes its connections when it is dropped.
pub struct Recorder {
    url: String,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Recorder {
    /// Starts an upstream that answers by `script`.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(script: impl Fn(&Recorded) -> Answer + Send + Sync + 'static) -> Result<Self> {
        let failed = |error: std::io::Error| PartError::io("cannot listen on 127.0.0.1", &error);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let shared = Arc::new(Shared {
            script: Mutex::new(Arc::new(script)),
            requests: Mutex::default(),
            changed: Notify::new(),
            releases: watch::Sender::new(()),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { url, shared, _tasks: tasks })
    }

    /// The address, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Answers by another function from the next request on.
    pub fn answer_by(&self, script: impl Fn(&Recorded) -> Answer + Send + Sync + 'static) {
        *locked(&self.shared.script) = Arc::new(script);
    }

    /// The requests so far, in the order in which their bodies ended.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        locked(&self.shared.requests).clone()
    }

    /// The requests so far; forgets them.
    #[must_use]
    pub fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut *locked(&self.shared.requests))
    }

    /// Lets go of the answers that are held now.
    pub fn release(&self) {
        self.shared.releases.send_replace(());
    }

    /// Waits until there are `count` requests and returns them.
    ///
    /// # Errors
    /// When there are fewer after [`PATIENCE`].
    pub async fn wait_for(&self, count: usize) -> Result<Vec<Recorded>> {
        self.wait_within(count, PATIENCE).await
    }

    /// As [`Recorder::wait_for`], with a longer limit.
    ///
    /// # Errors
    /// When there are fewer after `limit`.
    pub async fn wait_within(&self, count: usize, limit: Duration) -> Result<Vec<Recorded>> {
        let waiting = async {
            loop {
                // Subscribed before the check, so that a request between the check and the wait is not missed.
                let changed = self.shared.changed.notified();
                let requests = self.requests();
                if requests.len() >= count {
                    return requests;
                }
                changed.await;
            }
        };
        let late =
            |_| PartError::new(format!("{} of {count} requests came in {limit:?}", self.requests().len()));
        tokio::time::timeout(limit, waiting).await.map_err(late)
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Every connection has its task; all end with the set, which ends with the accepting task.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((stream, _)) = listener.accept().await {
        number += 1;
        connections.spawn(converse(stream, number, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection until either side ends it.
async fn converse(stream: TcpStream, number: u64, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let mut connection = wire::Connection::new(stream, number);
    while let Ok(Some(request)) = connection.read().await {
        // Subscribed before the script is chosen, so that no release is missed: not even one that comes right
        // after another script has taken the place of this one.
        let mut releases = shared.releases.subscribe();
        let script = Arc::clone(&*locked(&shared.script));
        let answer = script(&request);
        let method = request.method.clone();
        locked(&shared.requests).push(request);
        shared.changed.notify_waiters();
        tokio::time::sleep(answer.delay).await;
        if answer.is_held {
            // An error means that the recorder was dropped, and this task ends with it.
            let _ = releases.changed().await;
        }
        if !matches!(connection.write(&method, &answer.kind).await, Ok(true)) {
            return;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A script that panicked in one test must not fail the others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
