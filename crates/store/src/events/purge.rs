//! Retention of events: by age, and by number with a share for each organization.

use crate::{
    Db, StoreError, Tx,
    scope::push_scope,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts};
use bailiwick_policy::Scope;
use uuid::Uuid;

const OLDEST: &str = "SELECT e.seq, e.at FROM events e ORDER BY e.seq LIMIT ?";
const OLDEST_OF: &str = "SELECT e.seq FROM events e WHERE e.organization_id = ? ORDER BY e.seq LIMIT ?";
/// Taken before any event, as numbering does: two transactions that lock the same rows in one order cannot deadlock.
const HOLD: &str = "SELECT p.last FROM event_position p WHERE p.id = 1 [[FOR UPDATE||]]";
const DELIVERED: &str = "SELECT s.id FROM event_subscriptions s WHERE s.id IN (SELECT d.subscription_id \
     FROM event_deliveries d WHERE d.event_seq <= ?) ORDER BY s.id FOR NO KEY UPDATE";
const COUNTS: &str =
    "SELECT e.organization_id, CAST(COUNT(*) AS BIGINT) FROM events e GROUP BY e.organization_id";
/// It locks the organization before its events, as a destruction does.
const NOTE: &str = "INSERT INTO event_removals (organization_id, p2, p3, up_to) \
     SELECT o.id, o.p2, o.p3, CAST(? AS BIGINT) FROM organizations o WHERE o.id = ? [[FOR KEY SHARE||]] \
     ON CONFLICT (organization_id) DO UPDATE SET up_to = excluded.up_to";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![OLDEST, OLDEST_OF, HOLD, COUNTS, NOTE];

/// Removes up to `limit` events from before `before`, the oldest first. Returns how many.
pub async fn purge(db: &Db, before: Ts, limit: i64) -> Result<u64, StoreError> {
    let oldest: Vec<(i64, TsCodec)> = Q::by_index(OLDEST).bind(limit).all(db).await?;
    let is_old = |(_, at): &&(i64, TsCodec)| at.0 < before;
    let Some((up_to, _)) = oldest.iter().take_while(is_old).last() else { return Ok(0) };
    let mut tx = hold(db).await?;
    if tx.is_postgres() {
        // A delivery locks the subscription before its deliveries, which are removed with their events.
        let _: Vec<(Uuid,)> = Q::by_index(DELIVERED).bind(*up_to).all(&mut tx).await?;
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

/// How many events there are of each organization; empty if there cannot be more than `most`.
pub async fn counts_beyond(db: &Db, most: i64) -> Result<Vec<(OrgId, i64)>, StoreError> {
    let oldest: Vec<(i64, TsCodec)> = Q::by_index(OLDEST).bind(1_i64).all(db).await?;
    let Some((oldest, _)) = oldest.first() else { return Ok(Vec::new()) };
    if super::position(db).await?.saturating_sub(*oldest) < most {
        return Ok(Vec::new());
    }
    let counts: Vec<(Uuid, i64)> = Q::by_index(COUNTS).all(db).await?;
    Ok(counts.into_iter().map(|(id, count)| (OrgId(id), count)).collect())
}

/// Removes the `count` oldest events of an organization. Returns how many it had.
pub async fn purge_of(db: &Db, organization: OrgId, count: i64) -> Result<u64, StoreError> {
    let oldest: Vec<(i64,)> = Q::by_index(OLDEST_OF).bind(organization).bind(count).all(db).await?;
    let oldest: Vec<i64> = oldest.into_iter().map(|(seq,)| seq).collect();
    let Some(up_to) = oldest.last().copied() else { return Ok(0) };
    let mut tx = hold(db).await?;
    if Q::new(NOTE).bind(up_to).bind(organization).run(&mut tx).await? == 0 {
        return Ok(0);
    }
    if tx.is_postgres() {
        let mut q = Q::by_index(
            "SELECT s.id FROM event_subscriptions s WHERE s.id IN (SELECT d.subscription_id \
             FROM event_deliveries d WHERE d.event_seq IN (",
        );
        q.list(oldest.iter().copied()).push(")) ORDER BY s.id FOR NO KEY UPDATE");
        let _: Vec<(Uuid,)> = q.all(&mut tx).await?;
    }
    let mut q = Q::by_index("DELETE FROM events WHERE seq IN (");
    q.list(oldest).push(")");
    let gone = q.run(&mut tx).await?;
    tx.commit().await?;
    Ok(gone)
}

async fn hold(db: &Db) -> Result<Tx, StoreError> {
    let mut tx = db.begin_relaxed().await?;
    let (_,): (i64,) = Q::new(HOLD).one(&mut tx).await?;
    Ok(tx)
}

/// The newest number that retention has removed from the events of a scope: a reader of the scope with an older
/// position may have missed events.
pub async fn removed_up_to(on: impl Into<On<'_>>, scope: &Scope) -> Result<i64, StoreError> {
    let mut q = Q::new("SELECT p.purged, COALESCE((SELECT MAX(r.up_to) FROM event_removals r WHERE 1 = 1");
    push_scope(&mut q, "r", "organization_id", scope);
    q.push("), 0) FROM event_position p WHERE p.id = 1");
    let (by_age, by_number): (i64, i64) = q.one(on).await?;
    Ok(by_age.max(by_number))
}
