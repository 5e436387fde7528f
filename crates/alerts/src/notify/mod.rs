//! Notifications about alerts: the groups of the embedded router and the notifications they send (spec:
//! alert-delivery#routing to alert-delivery#mail-and-telegram). `bailiwick_alertmanager::notify` decides what is sent
//! and when; this module does the work.
//!
//! All state is in the database ([`bailiwick_store::delivery`]). One [`scheduler`] claims the tenants that have
//! something due, puts new alerts into groups and starts the [`send_group`]es that are due. Each flush is a task that
//! [`send`]s to every recipient within the [limits of its destination](bailiwick_platform::limits::DestinationLimits),
//! retries where that may help, and records the [`outcomes`] before its group is due again. So a process that dies
//! loses nothing: after the end of its lease, another process (or the same one after a restart) claims its tenants, and
//! recorded notifications are not sent again.
//!
//! To add a kind of recipient, see [`bailiwick_alertmanager::receivers`].

mod evaluate;
mod outcomes;
mod render;
mod routing;
mod scheduler;
mod send;
mod send_group;
mod stats;
mod test_message;
mod unreached;

pub use stats::{Count, NotifyCounters};
pub use test_message::{A_MINUTE as TESTS_A_MINUTE, TestOrder, TestOutcome, send_test};

use crate::Alerts;
use bailiwick_domain::Result;
use bailiwick_platform::{
    limits::{DestinationLimits, TenantRateLimit},
    worker::Worker,
};
use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::{Mutex, Notify};

/// How often due work is searched: a notification is to be sent within a second of being due.
const POLL: Duration = Duration::from_millis(400);

/// How often the numbers of notifications are logged.
const FIGURES_EVERY: Duration = Duration::from_secs(600);

/// The state this process keeps for notifications.
#[derive(Default)]
pub struct Delivery {
    /// One round of this process at a time.
    round: Mutex<scheduler::Round>,
    /// This process runs one transaction about groups at a time, so that it never waits for itself.
    writing: Mutex<()>,
    under_way: UnderWay,
    rates: TenantRateLimit,
    destinations: DestinationLimits,
    memory: render::RenderMemory,
    senders: OnceLock<send::Senders>,
    recorder: OnceLock<outcomes::OutcomeWriter>,
    figures: NotifyCounters,
    unreached: unreached::Unreached,
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Delivery")
    }
}

/// Flushes that are under way.
#[derive(Default)]
struct UnderWay {
    count: AtomicUsize,
    one_less: Notify,
}

impl UnderWay {
    fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    fn begin(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
        self.one_less.notify_waiters();
    }

    /// Waits until fewer than `count` are.
    async fn below(&self, count: usize) {
        loop {
            let one_less = self.one_less.notified();
            if self.count() < count {
                return;
            }
            one_less.await;
        }
    }
}

fn of(service: &Alerts) -> &Delivery {
    &service.state.delivery
}

/// Starts the work on the application's tracker. Once for each process that serves an embedded router.
pub(super) fn start(service: &Alerts) {
    let worker = service.clone();
    service.platform.tasks.spawn(async move {
        let service = &worker;
        let (mut logged_at, mut logged) = (Instant::now(), Vec::new());
        let step = || {
            if logged_at.elapsed() >= FIGURES_EVERY {
                logged_at = Instant::now();
                log_counts(service, &mut logged);
            }
            run(service)
        };
        let failure = "cannot send notifications, will retry";
        Worker { name: "notifications", failure, poll: POLL, hint: None, step }
            .run(&service.platform.stop)
            .await;
        close(service).await;
    });
}

/// Logs the numbers of notifications, if they have changed since the last time.
fn log_counts(service: &Alerts, logged: &mut Vec<Count>) {
    let counts = figures(service).counts();
    if *logged == counts {
        return;
    }
    for Count { channel, sent, retried, failed } in &counts {
        tracing::info!(channel, sent, retried, failed, "notifications since the start");
    }
    *logged = counts;
}

/// Lets each notification finish its present try, then releases all tenants, so that another process continues at once.
async fn close(service: &Alerts) {
    let delivery = of(service);
    delivery.under_way.below(1).await;
    if let Err(e) = delivery.round.lock().await.release_all(service).await {
        tracing::warn!(error = %e, "tenants cannot be released; their leases expire");
    }
    if let Some(recorder) = delivery.recorder.get() {
        recorder.close();
    }
    if let Some(senders) = delivery.senders.get() {
        senders.close().await;
    }
}

/// One round; how much there was to do.
async fn run(service: &Alerts) -> Result<u64> {
    let mut state = of(service).round.lock().await;
    scheduler::round(service, &mut state).await
}

/// Does everything that is due now, waits for it and returns how much it was; for tests and commands.
///
/// # Errors
/// The database's.
pub async fn run_until_idle(service: &Alerts) -> Result<u64> {
    let mut done = 0;
    loop {
        let found = run(service).await?;
        of(service).under_way.below(1).await;
        if found == 0 {
            return Ok(done);
        }
        done += found;
    }
}

/// Numbers of notifications by outcome since the process began.
pub fn figures(service: &Alerts) -> &NotifyCounters {
    &of(service).figures
}
