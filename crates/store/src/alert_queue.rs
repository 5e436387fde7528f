//! Alerts that wait for a remote router to run their tenant (spec: alerts#waiting-tenants). Each alert has one row: a
//! newer push replaces the waiting one. A delivery leases rows of one tenant. A push during a delivery replaces the row
//! but keeps the lease, so the newer alert is not sent before the older one is answered. The replaced row has no tries
//! yet, and that is how the delivery knows that more is waiting.

use crate::{
    Db, StoreError, Tx,
    leases::latest,
    sql::{Arg, On, Q, ROWS},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts};
use sqlx_macros::FromRow;
use std::collections::HashSet;
use uuid::Uuid;

const PUT: &str = "INSERT INTO alert_queue \
     (organization_id, fingerprint, system_key, payload, attempts, next_attempt_at, queued_at, claimed_until) \
     SELECT o.id, ?, ?, [[CAST(? AS jsonb)||?]], 0, ?, ?, NULL FROM organizations o WHERE o.id = ? \
     ON CONFLICT (organization_id, fingerprint) DO UPDATE SET \
     payload = excluded.payload, system_key = excluded.system_key, attempts = 0, \
     next_attempt_at = [[LEAST||MIN]](alert_queue.next_attempt_at, excluded.next_attempt_at), \
     queued_at = excluded.queued_at";
/// Walks from tenant to tenant, however many alerts of each are waiting.
macro_rules! tenants {
    () => {
        "WITH RECURSIVE t (o) AS (SELECT (SELECT f.organization_id FROM alert_queue f \
         ORDER BY f.organization_id, f.next_attempt_at LIMIT 1) UNION ALL \
         SELECT (SELECT n.organization_id FROM alert_queue n WHERE n.organization_id > t.o \
         ORDER BY n.organization_id, n.next_attempt_at LIMIT 1) FROM t WHERE t.o IS NOT NULL) "
    };
}
const DUE: &str = concat!(
    tenants!(),
    "SELECT t.o, (SELECT q.next_attempt_at FROM alert_queue q WHERE q.organization_id = t.o AND q.next_attempt_at <= ? \
     AND (q.claimed_until IS NULL OR q.claimed_until <= ? OR q.claimed_until > ?) \
     ORDER BY q.organization_id, q.next_attempt_at LIMIT 1) FROM t WHERE t.o IS NOT NULL"
);
const CLAIM: &str = "UPDATE alert_queue SET claimed_until = ?, attempts = attempts + 1 \
     WHERE organization_id = ? AND [[ctid = ANY(ARRAY(SELECT ctid||fingerprint IN (SELECT fingerprint]] FROM alert_queue \
     WHERE organization_id = ? AND next_attempt_at <= ? \
     AND (claimed_until IS NULL OR claimed_until <= ? OR claimed_until > ?) ORDER BY organization_id, next_attempt_at LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]] \
     RETURNING fingerprint, CAST(payload AS TEXT) AS payload, attempts";
const EXPIRE: &str = "DELETE FROM alert_queue WHERE queued_at < ?";
pub(crate) const RELEASE_ALL: &str =
    "UPDATE alert_queue SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
const REMOVE_OF_SYSTEM: &str = "DELETE FROM alert_queue \
     WHERE organization_id = ? AND [[ctid = ANY(ARRAY(SELECT ctid||fingerprint IN (SELECT fingerprint]] FROM alert_queue \
     WHERE organization_id = ? AND system_key = ? [[FOR UPDATE SKIP LOCKED))||)]]";
const COUNTS: &str = "SELECT (SELECT CAST(COUNT(*) AS BIGINT) FROM alert_queue \
     WHERE organization_id = ? AND system_key = ?), (SELECT CAST(COUNT(*) AS BIGINT) FROM alert_queue \
     WHERE organization_id = ?)";
const TENANTS: &str = concat!(tenants!(), "SELECT t.o FROM t WHERE t.o IS NOT NULL");

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![PUT, DUE, CLAIM, EXPIRE, RELEASE_ALL, REMOVE_OF_SYSTEM, COUNTS, TENANTS];

/// An alert to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQueued {
    /// Identity within the tenant.
    pub fingerprint: String,
    /// The system of the alert.
    pub system_key: String,
    /// The alert as the router gets it: one JSON object.
    pub payload: String,
}

/// An alert that waits and is leased.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Queued {
    /// Identity within the tenant.
    pub fingerprint: String,
    /// The alert as the router gets it: one JSON object.
    pub payload: String,
    /// Tries so far, the leased one included.
    pub attempts: i64,
}

/// Leased alerts of one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub tenant: OrgId,
    /// End of the lease.
    pub until: Ts,
    /// By fingerprint.
    pub alerts: Vec<Queued>,
}

/// Adds alerts of a tenant, in the order of their fingerprints, each in place of a waiting one. Nothing waits for a
/// destroyed organization: its tenant will not run again.
pub async fn put(
    tx: &mut Tx,
    tenant: OrgId,
    alerts: &[NewQueued],
    now: Ts,
    first_try: Ts,
) -> Result<(), StoreError> {
    for new in alerts {
        let q = Q::new(PUT).bind(&new.fingerprint).bind(&new.system_key).bind(&new.payload);
        q.bind(first_try).bind(now).bind(tenant).run(&mut *tx).await?;
    }
    Ok(())
}

/// The tenants with something to claim, the longest waiting first; a claim would last until `until`.
pub async fn due(on: impl Into<On<'_>>, now: Ts, until: Ts) -> Result<Vec<OrgId>, StoreError> {
    let q = Q::by_index(DUE).bind(now).bind(now).bind(latest(now, until));
    let rows: Vec<(Uuid, Option<TsCodec>)> = q.all(on).await?;
    let mut due: Vec<(Ts, OrgId)> =
        rows.into_iter().filter_map(|(tenant, at)| Some((at?.0, OrgId(tenant)))).collect();
    due.sort_unstable();
    Ok(due.into_iter().map(|(_, tenant)| tenant).collect())
}

/// Leases up to `limit` due alerts of a tenant until `until`.
pub async fn claim(db: &Db, tenant: OrgId, now: Ts, until: Ts, limit: i64) -> Result<Claimed, StoreError> {
    let mut tx = db.begin().await?;
    let q = Q::by_index(CLAIM).bind(until).bind(tenant).bind(tenant).bind(now).bind(now);
    let mut alerts: Vec<Queued> = q.bind(latest(now, until)).bind(Arg::Int(Some(limit))).all(&mut tx).await?;
    tx.commit().await?;
    // All writers of several of these rows write them in this order.
    alerts.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
    Ok(Claimed { tenant, until, alerts })
}

/// Ends a lease. Removes the rows that were delivered or refused for good; those pushed meanwhile stay and are due.
pub async fn finish(tx: &mut Tx, claimed: &Claimed) -> Result<(), StoreError> {
    for chunk in claimed.alerts.chunks(ROWS) {
        let mut q = Q::by_index("DELETE FROM alert_queue WHERE attempts > 0");
        of_claim(&mut q, claimed, chunk);
        q.run(&mut *tx).await?;
    }
    release(tx, claimed).await
}

/// Ends a lease: each alert is retried at `next` of its tries. An alert pushed meanwhile keeps its own time.
pub async fn postpone(tx: &mut Tx, claimed: &Claimed, next: impl Fn(i64) -> Ts) -> Result<(), StoreError> {
    let tries: std::collections::BTreeSet<i64> = claimed.alerts.iter().map(|alert| alert.attempts).collect();
    for attempts in tries {
        let same: Vec<Queued> = claimed.alerts.iter().filter(|a| a.attempts == attempts).cloned().collect();
        for chunk in same.chunks(ROWS) {
            let mut q = Q::by_index(
                "UPDATE alert_queue SET claimed_until = NULL, next_attempt_at = ? WHERE attempts > 0",
            )
            .bind(next(attempts));
            of_claim(&mut q, claimed, chunk);
            q.run(&mut *tx).await?;
        }
    }
    release(tx, claimed).await
}

async fn release(tx: &mut Tx, claimed: &Claimed) -> Result<(), StoreError> {
    for chunk in claimed.alerts.chunks(ROWS) {
        let mut q = Q::by_index("UPDATE alert_queue SET claimed_until = NULL WHERE 1 = 1");
        of_claim(&mut q, claimed, chunk);
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Appends ` AND …`: these alerts while they are leased by this delivery.
fn of_claim(q: &mut Q, claimed: &Claimed, alerts: &[Queued]) {
    q.push(" AND organization_id = ? AND claimed_until = ? AND fingerprint IN (");
    q.arg(claimed.tenant).arg(claimed.until);
    q.list(alerts.iter().map(|alert| &alert.fingerprint)).push(")");
}

/// Which of these alerts of a tenant wait.
pub async fn waiting<'a>(
    on: impl Into<On<'a>>,
    tenant: OrgId,
    fingerprints: &[String],
) -> Result<HashSet<String>, StoreError> {
    let mut on = on.into();
    let mut queued = HashSet::new();
    for chunk in fingerprints.chunks(ROWS) {
        let mut q = Q::by_index("SELECT fingerprint FROM alert_queue WHERE organization_id = ?").bind(tenant);
        q.push(" AND fingerprint IN (").list(chunk.iter()).push(")");
        let rows: Vec<(String,)> = q.all(on.reborrow()).await?;
        queued.extend(rows.into_iter().map(|r| r.0));
    }
    Ok(queued)
}

/// Removes the waiting alerts of a system that leaves a tenant. It waits for no other writer: rows that one is writing
/// now stay for the next call.
pub async fn remove_of_system(tx: &mut Tx, tenant: OrgId, system_key: &str) -> Result<(), StoreError> {
    Q::by_index(REMOVE_OF_SYSTEM).bind(tenant).bind(tenant).bind(system_key).run(tx).await?;
    Ok(())
}

/// Removes alerts that have waited since before `before`; returns how many.
pub async fn expire(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::by_index(EXPIRE).bind(before).run(tx).await
}

/// The tenants for which something waits.
pub async fn tenants(on: impl Into<On<'_>>) -> Result<Vec<OrgId>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::by_index(TENANTS).all(on).await?;
    Ok(rows.into_iter().map(|r| OrgId(r.0)).collect())
}

/// How many alerts of the system and of its tenant are waiting.
pub async fn counts(tx: &mut Tx, tenant: OrgId, system_key: &str) -> Result<(u64, u64), StoreError> {
    let q = Q::by_index(COUNTS).bind(tenant).bind(system_key).bind(tenant);
    let (system, all): (i64, i64) = q.one(tx).await?;
    Ok((u64::try_from(system).unwrap_or(0), u64::try_from(all).unwrap_or(0)))
}
