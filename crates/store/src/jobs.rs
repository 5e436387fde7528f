//! The job queue. The row is the truth: a worker leases it, does the job and removes the row; a worker that dies loses
//! the lease.
//!
//! A lease is identified by the time it ends: finishing or postponing a job changes nothing if another worker has
//! leased it since, or if it was enqueued again meanwhile. A job that cannot be done stays, ended, with the reason.

use crate::{Db, StoreError, Tx, leases::latest, sql::Q, time::TsCodec};
use bailiwick_domain::{JobId, Ts};
use serde_json::Value;
use uuid::Uuid;

const ENQUEUE: &str = "INSERT INTO jobs (id, kind, key, payload, attempts, next_at, created_at) \
    VALUES (?, ?, ?, ?, 0, ?, ?) \
    ON CONFLICT (kind, key) WHERE key IS NOT NULL DO UPDATE SET \
    payload = excluded.payload, attempts = 0, next_at = excluded.next_at, claimed_until = NULL, last_error = NULL, \
    ended_at = NULL";
const CLAIM: &str = "UPDATE jobs SET claimed_until = ?, attempts = attempts + 1 WHERE id [[= ANY(ARRAY(||IN (]]\
    SELECT id FROM jobs WHERE kind = ? AND ended_at IS NULL AND next_at <= ? \
    AND (claimed_until IS NULL OR claimed_until <= ? OR claimed_until > ?) ORDER BY kind, next_at, id LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]] \
    RETURNING id, kind, key, payload, attempts, claimed_until";
const FINISH: &str = "DELETE FROM jobs WHERE id = ? AND claimed_until = ?";
const POSTPONE: &str =
    "UPDATE jobs SET claimed_until = NULL, next_at = ?, last_error = ? WHERE id = ? AND claimed_until = ?";

const END: &str = "UPDATE jobs SET claimed_until = NULL, ended_at = ?, last_error = ?, payload = ? \
    WHERE id = ? AND claimed_until = ?";
pub(crate) const RELEASE_ALL: &str = "UPDATE jobs SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
const TAKE_BACK: &str =
    "DELETE FROM jobs WHERE kind = ? AND key = ? AND attempts = 0 AND claimed_until IS NULL";
const PURGE_ENDED: &str = "DELETE FROM jobs WHERE ended_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![ENQUEUE, CLAIM, FINISH, POSTPONE, END, RELEASE_ALL, TAKE_BACK, PURGE_ENDED];

/// A job to enqueue.
#[derive(Clone, Debug)]
pub struct NewJob<'a> {
    /// Fresh id.
    pub id: JobId,
    /// Which worker does it.
    pub kind: &'a str,
    /// At most one job waits for each kind and key; a second one replaces it. None: no limit on waiting jobs.
    pub key: Option<String>,
    /// The input of the worker; ids rather than values, so that it reads the present state.
    pub payload: Value,
    /// Not before.
    pub next_at: Ts,
    /// Now.
    pub at: Ts,
}

/// A leased job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    /// Which worker does it.
    pub kind: String,
    /// See [`NewJob::key`].
    pub key: Option<String>,
    /// The payload as enqueued.
    pub payload: Value,
    /// Leases so far, this one included.
    pub attempts: i64,
    /// End of this lease; afterwards another worker may take it.
    pub claimed_until: Ts,
}

#[derive(sqlx_macros::FromRow)]
struct Row {
    id: Uuid,
    kind: String,
    key: Option<String>,
    payload: Value,
    attempts: i64,
    claimed_until: TsCodec,
}

/// Adds a job, in the transaction that makes it necessary.
pub async fn enqueue(tx: &mut Tx, job: NewJob<'_>) -> Result<(), StoreError> {
    Q::new(ENQUEUE)
        .bind(job.id)
        .bind(job.kind)
        .bind(job.key)
        .bind(job.payload)
        .bind(job.next_at)
        .bind(job.at)
        .run(tx)
        .await?;
    Ok(())
}

/// Leases up to `limit` due jobs of a kind until `until`; several processes may do so at the same time.
pub async fn claim(db: &Db, kind: &str, now: Ts, until: Ts, limit: i64) -> Result<Vec<Job>, StoreError> {
    let mut tx = db.begin().await?;
    let q = Q::by_index(CLAIM).bind(until).bind(kind).bind(now).bind(now).bind(latest(now, until));
    let rows: Vec<Row> = q.bind(limit).all(&mut tx).await?;
    tx.commit().await?;
    Ok(rows
        .into_iter()
        .map(|r| Job {
            id: JobId(r.id),
            kind: r.kind,
            key: r.key,
            payload: r.payload,
            attempts: r.attempts,
            claimed_until: r.claimed_until.0,
        })
        .collect())
}

/// Removes a job that is done; false when the lease is no longer this one.
pub async fn finish(tx: &mut Tx, job: &Job) -> Result<bool, StoreError> {
    Ok(Q::by_index(FINISH).bind(job.id).bind(job.claimed_until).run(tx).await? > 0)
}

/// Gives a job back for a retry at `next_at`, with the reason for the operator; false when the lease is no longer this
/// one.
pub async fn postpone(tx: &mut Tx, job: &Job, next_at: Ts, error: &str) -> Result<bool, StoreError> {
    let n =
        Q::by_index(POSTPONE).bind(next_at).bind(error).bind(job.id).bind(job.claimed_until).run(tx).await?;
    Ok(n > 0)
}

/// Gives up a job: it stays visible to the operator, with the reason and with `payload`, which has no secrets. False
/// when the lease is no longer this one.
pub async fn end(tx: &mut Tx, job: &Job, now: Ts, error: &str, payload: Value) -> Result<bool, StoreError> {
    let q = Q::by_index(END).bind(now).bind(error).bind(payload).bind(job.id).bind(job.claimed_until);
    Ok(q.run(tx).await? > 0)
}

/// Drops a waiting job by its key, because it is no longer needed. False when a worker has begun it or has done it.
pub async fn take_back(tx: &mut Tx, kind: &str, key: &str) -> Result<bool, StoreError> {
    Ok(Q::by_index(TAKE_BACK).bind(kind).bind(key).run(tx).await? > 0)
}

/// Removes jobs that were given up before `before`.
pub async fn purge_ended(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::by_index(PURGE_ENDED).bind(before).run(tx).await
}
