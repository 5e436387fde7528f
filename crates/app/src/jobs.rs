//! What background work has in common: workers on leased jobs, of which several processes share the jobs and one that
//! dies loses its own; and what one process of all does again and again.

use crate::App;
use bailiwick_domain::{Result, Ts};
use bailiwick_store::leases;
use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio::sync::Notify;
use tracing::Span;

/// Wait after the first failure; it doubles up to [`LONGEST_DELAY`].
const FIRST_DELAY: Duration = Duration::from_secs(30);
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(4 * 3600);
/// Longest reason kept with a job, in characters.
const REASON_CHARS: usize = 500;

/// Leases once and handles what was leased; how many that were.
pub(crate) type Step = for<'a> fn(&'a App) -> BoxFuture<'a, Result<u64>>;

/// Works until the application stops: at once after a hint, and every `poll` without one.
pub(crate) async fn work(app: &App, kind: &'static str, hint: &Notify, poll: Duration, step: Step) {
    while !app.stop.is_cancelled() {
        match step(app).await {
            Ok(0) => {}
            Ok(_) => continue,
            Err(e) => tracing::warn!(kind, error = %e, "waiting jobs cannot be worked on"),
        }
        tokio::select! {
            () = app.stop.cancelled() => {}
            () = hint.notified() => {}
            () = tokio::time::sleep(poll) => {}
        }
    }
}

/// Runs `step` on the application's tracker every `interval` until it stops, then gives `lease` back, under which the step
/// works: another process need not wait for its end.
pub(crate) fn repeat(app: &App, lease: &'static str, interval: Duration, step: Step) {
    let worker = app.clone();
    app.tasks.spawn(async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = worker.stop.cancelled() => break,
            }
            if let Err(e) = step(&worker).await {
                tracing::warn!(lease, error = %e, "regular work failed and is tried again next time");
            }
        }
        if let Err(e) = leases::release(&worker.db, lease, worker.instance()).await {
            tracing::debug!(lease, error = %e, "a lease ends by itself");
        }
    });
}

/// Where this process has the database alone, the processes that have leased anything before are dead. Called before
/// anything is leased here, so that no lease of this process ends.
pub(crate) async fn end_old_leases(app: &App) -> Result<()> {
    if app.db.is_postgres() {
        return Ok(());
    }
    let mut tx = app.db.begin_relaxed().await?;
    leases::release_all(&mut tx, app.now()).await?;
    Ok(tx.commit().await?)
}

/// A job in traces: the trace of what is done within it.
pub(crate) fn span(kind: &'static str) -> Span {
    tracing::trace_span!("job", job.kind = kind)
}

/// Handles everything that is due now; for tests and commands. Answers how many jobs were handled.
pub(crate) async fn until_idle(app: &App, step: Step) -> Result<u64> {
    let mut handled = 0;
    loop {
        match step(app).await? {
            0 => return Ok(handled),
            n => handled += n,
        }
    }
}

/// When a job that has failed is due again: after 30 s, 1, 2, 4 … minutes.
pub(crate) fn next_try(now: Ts, attempts: i64) -> Ts {
    let doublings = u32::try_from(attempts.saturating_sub(1).clamp(0, 16)).unwrap_or(16);
    now.plus(FIRST_DELAY.saturating_mul(1 << doublings).min(LONGEST_DELAY))
}

/// Why it has failed, as it is kept with the job.
pub(crate) fn reason(text: &str) -> String {
    text.replace('\0', " ").chars().take(REASON_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_grow_and_end() {
        let wait = |n| next_try(Ts(0), n).since(Ts(0)).as_secs();
        assert_eq!([1, 2, 3, 4].map(wait), [30, 60, 120, 240]);
        assert_eq!([10, 20, i64::MAX].map(wait), [14_400; 3]);
    }
}
