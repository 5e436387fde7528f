//! Retention (spec: inventory#retention, alert-management#history): the first run five minutes after the start, then
//! one each hour, by one process for all. A run works in small transactions, and documents are received and processed
//! between them; an interrupted run is simply repeated.

mod pass;
mod tiers;

use crate::App;
use bailiwick_domain::{Result, Ts};
use bailiwick_platform::{jobs, tasks::lease};
use bailiwick_store::{inventory::retention, leases};
use pass::{Pass, Way};
use std::time::{Duration, Instant};
use tiers::Tiers;
use tracing::Instrument;

/// The name of the task.
pub(crate) const NAME: &str = "retention";
/// Longest time the work of a process that has died waits for another one. A run renews it again and again.
const LEASE_TIME: Duration = Duration::from_secs(300);
/// From one run to the next.
pub(crate) const EVERY: Duration = Duration::from_secs(3600);
/// How often a process checks whether a run is due: another process may have done it or died.
pub(crate) const LOOK: Duration = Duration::from_secs(300);

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionReport {
    /// Inventory records thinned out.
    pub records: u64,
    /// Inventory alerts ended because they are 30 days old.
    pub alerts_ended: u64,
    /// Inventory alerts removed 30 days after their end.
    pub alerts_removed: u64,
    /// Documents removed 30 days after they were quarantined.
    pub quarantined: u64,
    /// Resolved alerts removed from the history.
    pub history: u64,
    /// Removed records of alert handling.
    pub activity: u64,
    /// Removed impersonation sessions.
    pub impersonations: u64,
    /// Removed entries of these sessions.
    pub impersonation_entries: u64,
    /// Refusals of API keys that do not work any more removed.
    pub key_refusals: u64,
}

/// The result that a whole run would have now; changes nothing.
pub async fn dry_run(app: &App) -> Result<RetentionReport> {
    let mut pass = Pass::new(app, Way::Count)?;
    pass.thin_all().await?;
    pass.sweep().await?;
    pass.purge_history().await?;
    pass.purge_impersonations().await?;
    pass.purge_refusals().await?;
    Ok(pass.figures)
}

/// A run over everything, due or not. None when another process is at it.
pub async fn run(app: &App) -> Result<Option<RetentionReport>> {
    under_lease(app, None).await
}

/// Runs if an hour has passed since the last run. None when no run is due or another process is running it. Looks only
/// at rows that have grown too old since the last run.
pub async fn run_if_due(app: &App) -> Result<Option<RetentionReport>> {
    let is_due = |next_at: Option<Ts>| next_at.is_none_or(|at| at <= app.platform.now());
    if !is_due(retention::state(&app.platform.db).await?.next_at) || !take(app).await? {
        return Ok(None);
    }
    // Another one may have been faster.
    let state = retention::state(&app.platform.db).await?;
    if !is_due(state.next_at) {
        leases::release(&app.platform.db, NAME, app.platform.instance()).await?;
        return Ok(None);
    }
    under_lease(app, state.thinned_to).await
}

/// Takes or renews the lease.
async fn take(app: &App) -> Result<bool> {
    lease(&app.platform, NAME, LEASE_TIME).await
}

async fn under_lease(app: &App, since: Option<Ts>) -> Result<Option<RetentionReport>> {
    if !take(app).await? {
        return Ok(None);
    }
    let started = Instant::now();
    let outcome = work(app, since).instrument(jobs::span("retention")).await;
    // Released whatever has happened, so no process waits for the end of the lease.
    leases::release(&app.platform.db, NAME, app.platform.instance()).await?;
    let figures = outcome?;
    if let Some(figures) = &figures {
        let RetentionReport { records, alerts_ended, alerts_removed, quarantined, history, activity, .. } =
            *figures;
        let RetentionReport { impersonations, impersonation_entries, key_refusals, .. } = *figures;
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            records,
            alerts_ended,
            alerts_removed,
            quarantined,
            history,
            activity,
            impersonations,
            impersonation_entries,
            key_refusals,
            millis,
            "retention"
        );
    }
    Ok(figures)
}

/// None: interrupted, because the process stops or another one has taken over.
async fn work(app: &App, since: Option<Ts>) -> Result<Option<RetentionReport>> {
    let mut pass = Pass::new(app, Way::Remove)?;
    let is_whole = match since {
        Some(since) => pass.thin_since(Tiers::at(since)?).await?,
        None => pass.thin_all().await?,
    };
    if !is_whole
        || !pass.sweep().await?
        || !pass.purge_history().await?
        || !pass.purge_impersonations().await?
        || !pass.purge_refusals().await?
    {
        return Ok(None);
    }
    let mut tx = app.platform.db.begin_relaxed().await?;
    retention::set_state(&mut tx, pass.now.plus(EVERY), pass.now).await?;
    tx.commit().await?;
    Ok(Some(pass.figures))
}
