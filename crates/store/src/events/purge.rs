//! Retention of events: by age and by number.

use crate::{Db, StoreError, sql::Q, time::TsCodec};
use bailiwick_domain::Ts;

const OLDEST: &str = "SELECT e.seq, e.at FROM events e ORDER BY e.seq LIMIT ?";
/// Taken before any event, as numbering does: two transactions that lock the same rows in one order cannot deadlock.
const HOLD: &str = "SELECT p.last FROM event_position p WHERE p.id = 1 [[FOR UPDATE||]]";
const DELIVERED: &str = "SELECT s.id FROM event_subscriptions s WHERE s.id IN (SELECT d.subscription_id \
     FROM event_deliveries d WHERE d.event_seq <= ?) ORDER BY s.id FOR NO KEY UPDATE";
pub(crate) const PURGED: &str = "SELECT p.purged FROM event_position p WHERE p.id = 1";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![OLDEST, HOLD, PURGED];

/// Removes up to `limit` of the oldest events: those from before `before`, and those beyond the newest `keep`. Returns
/// how many.
pub async fn purge(db: &Db, before: Ts, keep: i64, limit: i64) -> Result<u64, StoreError> {
    let last = super::position(db).await?;
    let oldest: Vec<(i64, TsCodec)> = Q::by_index(OLDEST).bind(limit).all(db).await?;
    let is_old = |(seq, at): &&(i64, TsCodec)| at.0 < before || *seq <= last.saturating_sub(keep);
    let Some((up_to, _)) = oldest.iter().take_while(is_old).last() else { return Ok(0) };
    let mut tx = db.begin_relaxed().await?;
    let (_,): (i64,) = Q::new(HOLD).one(&mut tx).await?;
    if tx.is_postgres() {
        // A delivery locks the subscription before its deliveries, which are removed with their events.
        let _: Vec<(uuid::Uuid,)> = Q::by_index(DELIVERED).bind(*up_to).all(&mut tx).await?;
    }
    let gone = Q::by_index("DELETE FROM events WHERE seq <= ?").bind(*up_to).run(&mut tx).await?;
    Q::new("UPDATE event_position SET purged = ? WHERE id = 1 AND purged < ?")
        .bind(*up_to)
        .bind(*up_to)
        .run(&mut tx)
        .await?;
    tx.commit().await?;
    Ok(gone)
}
