//! Alerts that wait for a remote router to run their tenant (contract 04 §1.13). One row for each alert: a newer push
//! takes the place of the one that waits. A delivery leases its rows; a row pushed again meanwhile is no longer leased.

use crate::{
    Db, StoreError, Tx,
    sql::{Arg, On, Q},
    time::TsCodec,
};
use bailiwick_domain::{OrgId, Ts};
use sqlx::FromRow;
use uuid::Uuid;

pub(crate) const PUT: &str = "INSERT INTO alert_queue \
     (organization_id, fingerprint, payload, attempts, next_attempt_at, queued_at, claimed_until) \
     VALUES (?, ?, [[CAST(? AS jsonb)||?]], 0, ?, ?, NULL) ON CONFLICT (organization_id, fingerprint) DO UPDATE SET \
     payload = excluded.payload, attempts = 0, next_attempt_at = excluded.next_attempt_at, \
     queued_at = excluded.queued_at, claimed_until = NULL";
pub(crate) const CLAIM: &str = "UPDATE alert_queue SET claimed_until = ?, attempts = attempts + 1 \
     WHERE (organization_id, fingerprint) IN (SELECT organization_id, fingerprint FROM alert_queue \
     WHERE next_attempt_at <= ? AND (claimed_until IS NULL OR claimed_until <= ?) \
     ORDER BY next_attempt_at LIMIT ? [[FOR UPDATE SKIP LOCKED||]]) \
     RETURNING organization_id, fingerprint, CAST(payload AS TEXT) AS payload, attempts, claimed_until";
pub(crate) const FINISH: &str =
    "DELETE FROM alert_queue WHERE organization_id = ? AND fingerprint = ? AND claimed_until = ?";
pub(crate) const POSTPONE: &str = "UPDATE alert_queue SET claimed_until = NULL, next_attempt_at = ? \
     WHERE organization_id = ? AND fingerprint = ? AND claimed_until = ?";
pub(crate) const SUPERSEDE: &str =
    "DELETE FROM alert_queue WHERE organization_id = ? AND fingerprint = ? AND queued_at <= ?";
pub(crate) const EXPIRE: &str = "DELETE FROM alert_queue WHERE queued_at < ?";
pub(crate) const REMOVE_OF_SYSTEM: &str = "DELETE FROM alert_queue WHERE organization_id = ? AND \
     [[payload->'labels'->>'system_key'||json_extract(payload, '$.labels.system_key')]] = ?";
pub(crate) const COUNT: &str = "SELECT CAST(count(*) AS BIGINT) FROM alert_queue WHERE organization_id = ?";
pub(crate) const TENANTS: &str = "SELECT DISTINCT organization_id FROM alert_queue";

/// An alert that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Tenant.
    pub organization_id: OrgId,
    /// Identity within the tenant.
    pub fingerprint: String,
    /// The alert as the router gets it: one JSON object.
    pub payload: String,
    /// Tries so far, the leased one included.
    pub attempts: i64,
    /// End of the lease.
    pub claimed_until: Ts,
}

#[derive(FromRow)]
struct Row {
    organization_id: Uuid,
    fingerprint: String,
    payload: String,
    attempts: i64,
    claimed_until: TsCodec,
}

/// Adds alerts of a tenant, `(fingerprint, payload)`, each in place of one that waits.
pub async fn put(
    tx: &mut Tx,
    tenant: OrgId,
    alerts: &[(String, String)],
    now: Ts,
    first_try: Ts,
) -> Result<(), StoreError> {
    for (fingerprint, payload) in alerts {
        let q = Q::new(PUT).bind(tenant).bind(fingerprint).bind(payload).bind(first_try).bind(now);
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Leases up to `limit` due alerts until `until`.
pub async fn claim(db: &Db, now: Ts, until: Ts, limit: i64) -> Result<Vec<Queued>, StoreError> {
    let mut tx = db.begin().await?;
    let rows: Vec<Row> =
        Q::new(CLAIM).bind(until).bind(now).bind(now).bind(Arg::Int(Some(limit))).all(&mut tx).await?;
    tx.commit().await?;
    Ok(rows
        .into_iter()
        .map(|r| Queued {
            organization_id: OrgId(r.organization_id),
            fingerprint: r.fingerprint,
            payload: r.payload,
            attempts: r.attempts,
            claimed_until: r.claimed_until.0,
        })
        .collect())
}

/// Removes a delivered or refused alert, unless it was pushed again meanwhile.
pub async fn finish(tx: &mut Tx, queued: &Queued) -> Result<(), StoreError> {
    let q = Q::new(FINISH).bind(queued.organization_id).bind(&queued.fingerprint).bind(queued.claimed_until);
    q.run(tx).await?;
    Ok(())
}

/// Gives an alert back to be tried again at `next`.
pub async fn postpone(tx: &mut Tx, queued: &Queued, next: Ts) -> Result<(), StoreError> {
    let q = Q::new(POSTPONE).bind(next).bind(queued.organization_id).bind(&queued.fingerprint);
    q.bind(queued.claimed_until).run(tx).await?;
    Ok(())
}

/// Removes what waits of these alerts since `until` or longer: the router has had a newer push.
pub async fn supersede(
    tx: &mut Tx,
    tenant: OrgId,
    fingerprints: &[String],
    until: Ts,
) -> Result<(), StoreError> {
    for fingerprint in fingerprints {
        Q::new(SUPERSEDE).bind(tenant).bind(fingerprint).bind(until).run(&mut *tx).await?;
    }
    Ok(())
}

/// Removes what waits about a system in a tenant it has left.
pub async fn remove_of_system(tx: &mut Tx, tenant: OrgId, system_key: &str) -> Result<(), StoreError> {
    Q::new(REMOVE_OF_SYSTEM).bind(tenant).bind(system_key).run(tx).await?;
    Ok(())
}

/// Removes what has waited since before `before`; how many.
pub async fn expire(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::new(EXPIRE).bind(before).run(tx).await
}

/// The tenants for which something waits.
pub async fn tenants(on: impl Into<On<'_>>) -> Result<Vec<OrgId>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::new(TENANTS).all(on).await?;
    Ok(rows.into_iter().map(|r| OrgId(r.0)).collect())
}

/// How many alerts of the tenant wait.
pub async fn count(tx: &mut Tx, tenant: OrgId) -> Result<u64, StoreError> {
    Q::new(COUNT).bind(tenant).count(tx).await
}
