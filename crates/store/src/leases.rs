//! Leases for work that one process does for all: the process that holds the row does the work until it stops renewing
//! the lease.

use crate::{Db, StoreError, Tx, sql::Q};
use bailiwick_domain::Ts;
use std::time::Duration;
use uuid::Uuid;

/// How far the clocks of two processes may differ before one process assumes that another clock was set back.
pub const SKEW: Duration = Duration::from_secs(30);

/// The latest plausible end of a lease, where one taken `now` ends at `until`. A later end was written by a clock that
/// has been set back since, and no process waits for it. Twice the time: another process may have other settings.
pub(crate) fn latest(now: Ts, until: Ts) -> Ts {
    until.plus(until.since(now)).plus(SKEW)
}

const TAKE: &str = "INSERT INTO leases (name, holder, until) VALUES (?, ?, ?) \
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until \
     WHERE leases.until <= ? OR leases.until > ? OR leases.holder = excluded.holder";
const RELEASE: &str = "DELETE FROM leases WHERE name = ? AND holder = ?";
const GIVE_BACK: &str = "DELETE FROM leases WHERE name = ? AND holder = ? AND until > ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![TAKE, RELEASE, GIVE_BACK];

/// Takes or renews a lease until `until`; false when another process holds it.
pub async fn take(db: &Db, name: &str, holder: Uuid, now: Ts, until: Ts) -> Result<bool, StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let q = Q::new(TAKE).bind(name).bind(holder).bind(until).bind(now).bind(latest(now, until));
    let taken = q.run(&mut tx).await? > 0;
    tx.commit().await?;
    Ok(taken)
}

/// Gives up a lease, so that no process has to wait for its end.
pub async fn release(db: &Db, name: &str, holder: Uuid) -> Result<(), StoreError> {
    let mut tx = db.begin_relaxed().await?;
    Q::by_index(RELEASE).bind(name).bind(holder).run(&mut tx).await?;
    tx.commit().await
}

/// Gives a lease up in the transaction of the work it was taken for. False when the lease has ended, so another process
/// may be doing that work by now.
pub async fn give_back(tx: &mut Tx, name: &str, holder: Uuid, now: Ts) -> Result<bool, StoreError> {
    Ok(Q::by_index(GIVE_BACK).bind(name).bind(holder).bind(now).run(tx).await? > 0)
}
