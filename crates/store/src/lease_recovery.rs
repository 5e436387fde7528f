//! Ends the leases of processes that are dead.

use crate::{
    StoreError, Tx, alert_queue, alert_tenants, delivery, events::subscriptions, inventory::queue, jobs,
    logto::outbox, sql::Q,
};
use bailiwick_domain::Ts;

/// Ends every lease of every queue at `now`. Only for a process that has the database alone and has just started: the
/// workers that took those leases are dead. The rows of `leases` stay, because a command may hold one of them while
/// the service starts.
pub async fn release_all(tx: &mut Tx, now: Ts) -> Result<(), StoreError> {
    for text in [
        jobs::RELEASE_ALL,
        queue::RELEASE_ALL,
        outbox::RELEASE_ALL,
        subscriptions::RELEASE_ALL,
        alert_queue::RELEASE_ALL,
        alert_tenants::RELEASE_ALL,
    ] {
        Q::new(text).run(&mut *tx).await?;
    }
    Q::new(delivery::RELEASE_ALL).bind(now).run(tx).await?;
    Ok(())
}
