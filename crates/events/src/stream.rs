//! A live stream of events for one caller: from the caller's last position, each read with the caller's present rights.

use super::{Stored, visibility};
use crate::Events;
use bailiwick_domain::{Error, Result};
use bailiwick_policy::Caller;
use bailiwick_store::events;
use futures_util::future::BoxFuture;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};
use uuid::Uuid;

/// Concurrent streams of one user, of one organization, and of this process.
const OF_USER: usize = 5;
const OF_ORGANIZATION: usize = 50;
const IN_ALL: usize = 500;
/// Events of one read.
const AT_ONCE: u64 = 100;
/// Time between two reads of a busy stream.
const PACE: Duration = Duration::from_millis(200);
/// Within this time, the end of a credential ends its stream.
const CHECK: Duration = Duration::from_secs(2);
/// Longest silence of a stream, well within the time after which a connection without progress is closed.
const PING: Duration = Duration::from_secs(15);
/// When a refused client may try again.
const COME_AGAIN: Duration = Duration::from_secs(30);

/// The state this process keeps for streams.
#[derive(Debug)]
pub struct Streams {
    /// The newest number that is known of.
    newest: watch::Sender<i64>,
    open: Arc<Mutex<HashMap<Uuid, usize>>>,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams { newest: watch::Sender::new(0), open: Arc::default() }
    }
}

impl Streams {
    /// Whether there are listeners.
    pub(super) fn is_wanted(&self) -> bool {
        self.newest.receiver_count() > 0
    }

    /// Wakes the listeners.
    pub(super) fn notify(&self, newest: i64) {
        self.newest.send_if_modified(|position| {
            let is_news = *position < newest;
            *position = newest.max(*position);
            is_news
        });
    }

    /// A slot among this process's streams; freed on drop.
    fn acquire_slot(&self, user: Uuid, organization: Uuid) -> Result<StreamSlot> {
        let whose = [(user, OF_USER), (organization, OF_ORGANIZATION), (Uuid::nil(), IN_ALL)];
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if whose.iter().any(|(id, most)| open.get(id).is_some_and(|n| n >= most)) {
            return Err(Error::TooMany { retry_after: COME_AGAIN });
        }
        for (id, _) in whose {
            *open.entry(id).or_default() += 1;
        }
        Ok(StreamSlot { whose: whose.map(|(id, _)| id), open: self.open.clone() })
    }
}

#[derive(Debug)]
struct StreamSlot {
    whose: [Uuid; 3],
    open: Arc<Mutex<HashMap<Uuid, usize>>>,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for id in self.whose {
            if let Some(n) = open.get_mut(&id) {
                *n -= 1;
            }
        }
        open.retain(|_, n| *n > 0);
    }
}

/// Authenticates the credential that opened a stream again, and returns the caller with present rights.
pub type Authenticate = Box<dyn Fn() -> BoxFuture<'static, Result<Caller>> + Send + Sync>;

/// Why a stream does not start or continue at the reader's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Events after the reader's position are no longer kept.
    Expired,
    /// The service has never given this number.
    Unknown,
}

/// The next item to send.
#[derive(Debug)]
pub enum Next {
    /// Events, in order.
    Events(Vec<Stored>),
    /// Events may be missing; the stream continues after this number.
    Gap(Gap, i64),
    /// Nothing; read up to this number.
    Ping(i64),
    /// The end: the process stops.
    Leaving,
    /// The end: the credential is no longer valid, or cannot be checked.
    Refused(Error),
}

/// A stream that is open.
pub struct Stream {
    service: Events,
    authenticate: Authenticate,
    types: Vec<String>,
    newest: watch::Receiver<i64>,
    /// Read up to this number.
    cursor: i64,
    /// The reader knows that events up to this number may have been removed.
    removed: i64,
    gap: Option<Gap>,
    checked: Option<Instant>,
    sent: Instant,
    is_over: bool,
    _slot: StreamSlot,
}

/// Opens a stream after `last`, the last number that the reader has; none = from now on.
///
/// # Errors
/// 429 when there are too many.
pub async fn open(
    service: &Events,
    caller: &Caller,
    authenticate: Authenticate,
    types: Vec<String>,
    last: Option<String>,
) -> Result<Stream> {
    if types.len() > super::PATTERNS {
        return Err(Error::bad_request("too many filter values"));
    }
    let (Some(user), Some(organization)) = (caller.user_id(), caller.org()) else {
        return Err(Error::internal("a stream without a user"));
    };
    let slot = service.streams.acquire_slot(user.0, organization.id.0)?;
    let newest = service.streams.newest.subscribe();
    let position = events::position(&service.platform.db).await?;
    let removed = events::removed_up_to(&service.platform.db, &visibility(caller, None).scope).await?;
    service.streams.notify(position);
    let (cursor, gap) = match last.map(|last| last.parse::<i64>().ok()) {
        None => (position, None),
        // The beginning, even if events were removed: a reader who asks for it has read nothing yet.
        Some(Some(0)) => (0, None),
        Some(Some(last)) if (0..removed).contains(&last) => {
            (before_next(service, last, position).await?, Some(Gap::Expired))
        }
        Some(Some(last)) if (0..=position).contains(&last) => (last, None),
        Some(_) => (position, Some(Gap::Unknown)),
    };
    Ok(Stream {
        service: service.clone(),
        authenticate,
        types,
        newest,
        cursor,
        removed,
        gap,
        checked: None,
        sent: Instant::now(),
        is_over: false,
        _slot: slot,
    })
}

/// The number before the next event that is kept; `newest` if there is none.
async fn before_next(service: &Events, after: i64, newest: i64) -> Result<i64> {
    let next = events::next_after(&service.platform.db, after).await?;
    Ok(next.map_or(newest, |next| next - 1))
}

impl Stream {
    /// The next item to send; none after the end.
    pub async fn next(&mut self) -> Option<Next> {
        if self.is_over {
            return None;
        }
        if let Some(gap) = self.gap.take() {
            return Some(Next::Gap(gap, self.cursor));
        }
        loop {
            if self.service.platform.leaving.is_cancelled() {
                self.is_over = true;
                return Some(Next::Leaving);
            }
            match self.read_next().await {
                Ok(events) if !events.is_empty() => {
                    self.sent = Instant::now();
                    return Some(Next::Events(events));
                }
                Ok(_) if self.gap.is_some() => {
                    self.sent = Instant::now();
                    return self.gap.take().map(|gap| Next::Gap(gap, self.cursor));
                }
                // An API key beyond its rate is checked again a moment later.
                Ok(_) | Err(Error::TooMany { .. }) => {}
                Err(e) => {
                    self.is_over = true;
                    return Some(Next::Refused(e));
                }
            }
            if self.sent.elapsed() >= PING {
                self.sent = Instant::now();
                return Some(Next::Ping(self.cursor));
            }
            self.wait().await;
        }
    }

    /// Waits for news, for the next check of the credential, or for the end.
    async fn wait(&mut self) {
        let now = Instant::now();
        let earliest = self.checked.map_or(now, |at| at + PACE);
        let latest = self.checked.map_or(now, |at| at + CHECK).min(self.sent + PING);
        let leaving = self.service.platform.leaving.clone();
        tokio::select! {
            () = leaving.cancelled() => {}
            () = tokio::time::sleep_until(latest) => {}
            _ = self.newest.changed() => tokio::time::sleep_until(earliest).await,
        }
    }

    /// Reads on, with the present rights of the credential.
    async fn read_next(&mut self) -> Result<Vec<Stored>> {
        let up_to = *self.newest.borrow_and_update();
        let is_due = self.checked.is_none_or(|at| at.elapsed() >= CHECK);
        if up_to <= self.cursor && !is_due {
            return Ok(Vec::new());
        }
        self.checked = Some(Instant::now());
        let caller = (self.authenticate)().await?;
        if up_to <= self.cursor {
            return Ok(Vec::new());
        }
        let visibility = visibility(&caller, (!self.types.is_empty()).then_some(self.types.as_slice()));
        let rows =
            events::after(&self.service.platform.db, &visibility, (self.cursor, up_to), AT_ONCE).await?;
        // Read after the events: it includes events removed before they were read; events removed since then were read.
        let removed = events::removed_up_to(&self.service.platform.db, &visibility.scope).await?;
        if removed > self.cursor && removed > self.removed {
            self.removed = removed;
            self.cursor = before_next(&self.service, self.cursor, up_to).await?;
            self.gap = Some(Gap::Expired);
            self.newest.mark_changed();
            return Ok(Vec::new());
        }
        let is_full = rows.len() as u64 == AT_ONCE;
        self.cursor = rows.last().filter(|_| is_full).map_or(up_to, |last| last.seq);
        if is_full {
            self.newest.mark_changed();
        }
        Ok(rows)
    }
}
