//! Periodic work that one process does for all of them.

use crate::Platform;
use bailiwick_domain::Result;
use bailiwick_store::leases;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// Starts a task on the tracker that runs `step` after every `interval` until the process stops. The step itself takes
/// and renews `lease`, so that one process works at a time. At the end the task releases the lease, so that another
/// process need not wait for it to expire.
pub fn repeat<C, S>(context: &C, lease: &'static str, interval: Duration, step: S)
where
    C: AsRef<Platform> + Clone + Send + Sync + 'static,
    S: for<'c> Fn(&'c C) -> BoxFuture<'c, Result<u64>> + Send + Sync + 'static,
{
    let worker = context.clone();
    context.as_ref().tasks.spawn(async move {
        let platform = worker.as_ref();
        while platform.stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
            if let Err(e) = step(&worker).await {
                tracing::warn!(lease, error = %e, "regular work failed and will be retried next time");
            }
        }
        if let Err(e) = leases::release(&platform.db, lease, platform.instance()).await {
            tracing::debug!(lease, error = %e, "a lease ends by itself");
        }
    });
}
