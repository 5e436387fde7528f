//! The state of a connection and its start, and the one timer that follows from it.

use super::{Options, unread_bodies::LINGER_TIME};
use futures_util::task::AtomicWaker;
use std::{
    future::{Future, poll_fn},
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// Waiting for the first byte of a request.
pub(super) const IDLE: u8 = 0;
/// A request has begun and its head is not complete. A new connection starts here: it must send a request.
pub(super) const HEAD: u8 = 1;
/// A request is being worked on or answered.
pub(super) const BUSY: u8 = 2;
/// The last answer is sent, and the rest of an unread body is received and dropped.
pub(super) const LINGER: u8 = 3;

/// How long the head of a request may be on its way before its connection counts as idle.
const ARRIVAL: Duration = Duration::from_millis(250);

/// The state of a connection and its start, in milliseconds from that of the connection. Only its own task writes
/// these, so relaxed order suffices; other threads read them to find idle connections and may ask one to end.
#[derive(Debug)]
pub(super) struct ConnectionState {
    start: Instant,
    phase: AtomicU8,
    since: AtomicU64,
    /// Since when the client has accepted no byte, plus one; 0 = it accepts them.
    blocked: AtomicU64,
    /// The client is still sending a body that is not read.
    pub(super) is_unread: AtomicBool,
    is_asked_to_end: AtomicBool,
    task: AtomicWaker,
}

impl ConnectionState {
    pub(super) fn new() -> ConnectionState {
        ConnectionState {
            start: Instant::now(),
            phase: AtomicU8::new(HEAD),
            since: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
            is_unread: AtomicBool::new(false),
            is_asked_to_end: AtomicBool::new(false),
            task: AtomicWaker::new(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn phase(&self) -> u8 {
        self.phase.load(Relaxed)
    }

    pub(super) fn enter(&self, phase: u8) {
        self.phase.store(phase, Relaxed);
        self.since.store(self.now(), Relaxed);
    }

    pub(super) fn wrote(&self, done: &Poll<io::Result<usize>>) {
        if done.is_ready() {
            self.blocked.store(0, Relaxed);
        } else if self.blocked.load(Relaxed) == 0 {
            self.blocked.store(self.now() + 1, Relaxed);
        }
    }

    /// When the last request ended; `None` while one is in flight. A connection without a complete first request is
    /// idle since it was accepted, after a moment in which the request may be on its way.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let since = self.start + Duration::from_millis(self.since.load(Relaxed));
        match self.phase() {
            BUSY => None,
            HEAD => (since.elapsed() >= ARRIVAL).then_some(since),
            _ => Some(since),
        }
    }

    /// Asks the connection to end, from any thread: at once, or with the answer to a request that has arrived
    /// meanwhile.
    pub(super) fn ask_to_end(&self) {
        self.is_asked_to_end.store(true, Relaxed);
        self.task.wake();
    }

    /// Whether the connection was asked to end since the last call; if not, its task is woken when it is.
    pub(super) fn poll_asked_to_end(&self, cx: &Context<'_>) -> Poll<()> {
        self.task.register(cx.waker());
        if self.is_asked_to_end.swap(false, Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Waits until the connection is asked to end.
    pub(super) async fn asked_to_end(&self) {
        poll_fn(|cx| self.poll_asked_to_end(cx)).await;
    }

    /// The deadline of the present phase; `None` = no limit (the API limits its own work).
    fn due(&self, options: &Options) -> Option<Instant> {
        let after = |since: u64, limit: Duration| self.start + Duration::from_millis(since) + limit;
        let since = self.since.load(Relaxed);
        match (self.phase(), self.blocked.load(Relaxed)) {
            (HEAD, _) => Some(after(since, options.head_timeout)),
            (LINGER, _) => Some(after(since, LINGER_TIME)),
            (_, blocked @ 1..) => Some(after(blocked - 1, options.write_timeout)),
            (IDLE, 0) => Some(after(since, options.idle_timeout)),
            _ => None,
        }
    }
}

/// The connection's one timer.
pub(super) struct Timer<'a> {
    state: &'a ConnectionState,
    options: Options,
    sleep: Pin<Box<tokio::time::Sleep>>,
}

impl<'a> Timer<'a> {
    pub(super) fn new(state: &'a ConnectionState, options: Options) -> Timer<'a> {
        let sleep = Box::pin(sleep_until(state.start + options.head_timeout));
        Timer { state, options, sleep }
    }

    /// Ready when the deadline of the phase has passed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.state.due(&self.options);
        if let Some(due) = due
            && due < self.sleep.deadline()
        {
            self.sleep.as_mut().reset(due);
        }
        while self.sleep.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            match due {
                Some(due) if due <= now => return Poll::Ready(()),
                Some(due) => self.sleep.as_mut().reset(due),
                None => self.sleep.as_mut().reset(now + self.options.idle_timeout),
            }
        }
        Poll::Pending
    }
}

/// A request in progress: from its head to the last byte of its answer passed to the connection, however it ends.
pub(super) struct RequestInWork(pub(super) Arc<ConnectionState>);

impl RequestInWork {
    pub(super) fn begin(state: &Arc<ConnectionState>) -> RequestInWork {
        state.enter(BUSY);
        RequestInWork(Arc::clone(state))
    }
}

impl Drop for RequestInWork {
    fn drop(&mut self) {
        self.0.enter(IDLE);
    }
}
