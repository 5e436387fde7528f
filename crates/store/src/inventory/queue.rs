//! Accepted documents that wait for the worker, and those the worker could not process.

use crate::{
    StoreError, Tx,
    leases::latest,
    sql::{Arg, On, Q, padded},
    stats::MOST,
    time::TsCodec,
};
use bailiwick_domain::{SystemId, Ts};
use sqlx_macros::FromRow;
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
use uuid::Uuid;

/// A text that the system's latest record already has is not stored again: the entry names that record instead.
macro_rules! enqueue_from {
    ($values:literal, $order:literal) => {
        concat!(
            "INSERT INTO inventory_queue (system_id, received_at, data_hash, data_size, body, same_as, next_at) \
             SELECT v.system_id, v.received_at, v.data_hash, v.data_size, \
             CASE WHEN r.id IS NULL THEN v.body ELSE [['\\x'::bytea||x'']] END, r.id, v.received_at FROM ",
            $values,
            " JOIN systems s ON s.id = v.system_id LEFT JOIN system_activity a ON a.system_id = v.system_id \
             LEFT JOIN inventory_records r ON r.id = a.latest_inventory_id AND r.data_hash = v.data_hash",
            $order
        )
    };
}
const ENQUEUE_MANY: &str = enqueue_from!(
    "[[unnest(?::uuid[], ?::timestamptz[], ?::text[], ?::bigint[], ?::bytea[]) WITH ORDINALITY \
     AS v (system_id, received_at, data_hash, data_size, body, n)\
     ||(SELECT ? AS system_id, ? AS received_at, ? AS data_hash, ? AS data_size, ? AS body, 1 AS n) v]]",
    " ORDER BY v.n"
);
/// Serializes the claims of all processes: each sees the rows that the one before it has taken.
const TAKE_TURN: &str = "SELECT pg_advisory_xact_lock(7263001)";
/// The oldest waiting entries, those of one system in order: none whose system has an earlier entry that is leased or
/// waits for its retry. One index has the order of the waiting entries, another one that of a system's entries, and no
/// third index could give either order. On PostgreSQL the entries are looked for once, as an array: a subquery may be
/// run again for each row, and would claim more each time.
const CLAIM: &str = "UPDATE inventory_queue SET claimed_until = ? WHERE id [[= ANY(ARRAY(||IN (]]\
     SELECT q.id FROM inventory_queue q WHERE q.quarantined_at IS NULL AND q.next_at <= ? \
     AND (q.claimed_until IS NULL OR q.claimed_until <= ? OR q.claimed_until > ?) AND (\
     SELECT e.id FROM inventory_queue e WHERE (e.system_id, e.id) >= (q.system_id, 0) \
     AND (e.system_id, e.id) < (q.system_id, q.id) \
     AND [[||+]]e.quarantined_at IS NULL AND (e.next_at > ? OR (e.claimed_until > ? AND e.claimed_until <= ?)) \
     ORDER BY e.system_id, e.id LIMIT 1) IS NULL ORDER BY q.quarantined_at, q.id LIMIT ? [[FOR UPDATE))||)]] \
     RETURNING id, system_id, received_at, data_hash, data_size, same_as, attempts, claimed_until";
const RELEASE: &str = "UPDATE inventory_queue SET claimed_until = NULL WHERE id = ? AND claimed_until = ?";
pub(crate) const RELEASE_ALL: &str =
    "UPDATE inventory_queue SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
const HOLD: &str = "SELECT id FROM inventory_queue WHERE id = ? AND claimed_until = ? [[FOR UPDATE||]]";
const RETRY: &str = "UPDATE inventory_queue SET attempts = attempts + 1, next_at = ?, error = ?, \
     claimed_until = NULL WHERE id = ? AND claimed_until = ?";
const QUARANTINE: &str = "UPDATE inventory_queue SET attempts = attempts + 1, quarantined_at = ?, \
     error = ?, claimed_until = NULL WHERE id = ? AND claimed_until = ?";
const REPLAY: &str = "UPDATE inventory_queue SET quarantined_at = NULL, attempts = 0, next_at = ?, \
     error = NULL WHERE quarantined_at IS NOT NULL AND (CAST(? AS bigint) IS NULL OR id = ?)";
const QUARANTINED: &str = "SELECT q.id, s.system_key, q.received_at, q.quarantined_at, q.data_size, \
     COALESCE(q.error, '') AS error FROM inventory_queue q JOIN systems s ON s.id = q.system_id \
     WHERE q.quarantined_at IS NOT NULL AND q.id > ? ORDER BY q.id LIMIT ?";
const STATE: &str = "SELECT (SELECT CAST(COUNT(*) AS bigint) FROM (SELECT id FROM inventory_queue \
     WHERE quarantined_at IS NULL ORDER BY quarantined_at, id LIMIT ?) w), (SELECT CAST(COUNT(*) AS bigint) FROM \
     (SELECT id FROM inventory_queue WHERE quarantined_at IS NOT NULL ORDER BY quarantined_at, id LIMIT ?) p)";

/// The most documents that one SQLite statement enqueues; a group is split into such powers of two.
const ROWS_AT_ONCE: usize = 32;

/// An accepted document on its way into the queue.
#[derive(Clone, Debug)]
pub struct Document {
    /// Sender.
    pub system_id: SystemId,
    /// Receipt.
    pub received_at: Ts,
    /// Lower-case hex SHA-256 of the canonical text.
    pub data_hash: String,
    /// Bytes of the canonical text.
    pub data_size: i64,
    /// Canonical text, compressed.
    pub body: Vec<u8>,
}

/// PostgreSQL only.
const HOLD_SYSTEMS: &str =
    "SELECT id FROM systems WHERE id [[= ANY(?::uuid[])||= ?]] ORDER BY id [[FOR KEY SHARE||]]";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    ENQUEUE_MANY,
    CLAIM,
    RELEASE,
    RELEASE_ALL,
    HOLD,
    RETRY,
    QUARANTINE,
    REPLAY,
    QUARANTINED,
    STATE,
    HOLD_SYSTEMS
];

/// Adds documents in this order. Those of systems that have vanished are left out.
pub async fn enqueue(tx: &mut Tx, mut documents: Vec<Document>) -> Result<(), StoreError> {
    if tx.is_postgres() {
        let ids: Vec<Uuid> = documents.iter().map(|d| d.system_id.0).collect();
        // Waits for systems that are being removed. If only the insertion found one missing, the documents of all other
        // systems would fail with it.
        let _: Vec<(Uuid,)> = Q::new(HOLD_SYSTEMS).bind(Arg::Ids(ids.clone())).all(&mut *tx).await?;
        let times = documents.iter().map(|d| d.received_at).collect();
        let sizes = documents.iter().map(|d| d.data_size).collect();
        let hashes = documents.iter_mut().map(|d| std::mem::take(&mut d.data_hash)).collect();
        let bodies = documents.into_iter().map(|d| d.body).collect();
        let q = Q::new(ENQUEUE_MANY).bind(Arg::Ids(ids)).bind(Arg::Times(times)).bind(Arg::Texts(hashes));
        q.bind(Arg::Ints(sizes)).bind(Arg::Blobs(bodies)).run(tx).await?;
        return Ok(());
    }
    let mut left = documents.into_iter();
    while left.len() > 0 {
        let rows = ROWS_AT_ONCE.min(1 << left.len().ilog2());
        enqueue_rows(tx, left.by_ref().take(rows).collect()).await?;
    }
    Ok(())
}

/// On SQLite: a number of rows that is a power of two, so that few texts are prepared.
async fn enqueue_rows(tx: &mut Tx, documents: Vec<Document>) -> Result<(), StoreError> {
    let rows = ", (?, ?, ?, ?, ?)".repeat(documents.len());
    let text = enqueue_from!(
        "(SELECT column1 AS system_id, column2 AS received_at, column3 AS data_hash, column4 AS data_size, \
         column5 AS body FROM (VALUES ROWS)) v CROSS",
        ""
    );
    let mut q = Q::new(&text.replacen("ROWS", rows.trim_start_matches(", "), 1));
    for d in documents {
        q.arg(d.system_id).arg(d.received_at).arg(d.data_hash).arg(d.data_size).arg(d.body);
    }
    q.run(tx).await?;
    Ok(())
}

/// A queue entry under lease.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Entry.
    pub id: i64,
    /// Sender.
    pub system_id: SystemId,
    /// Receipt.
    pub received_at: Ts,
    /// Hash of the canonical text.
    pub data_hash: String,
    /// Bytes of the canonical text.
    pub data_size: i64,
    /// The record that has this text; the entry has no body then.
    pub same_as: Option<i64>,
    /// Failures so far.
    pub attempts: i64,
    /// End of the lease, which names it.
    pub claimed_until: Ts,
}

#[derive(FromRow)]
struct ClaimedRow {
    id: i64,
    system_id: Uuid,
    received_at: TsCodec,
    data_hash: String,
    data_size: i64,
    same_as: Option<i64>,
    attempts: i64,
    claimed_until: TsCodec,
}

/// Leases up to `limit` due entries for the time of `lease`, oldest first; those of each system without a gap from its
/// oldest.
pub async fn claim(tx: &mut Tx, now: Ts, lease: Duration, limit: i64) -> Result<Vec<Claimed>, StoreError> {
    if tx.is_postgres() {
        Q::new(TAKE_TURN).run(tx).await?;
    }
    let until = now.plus(lease);
    let latest = latest(now, until);
    let q = Q::by_index(CLAIM).bind(until).bind(now).bind(now).bind(latest).bind(now).bind(now).bind(latest);
    let q = q.bind(limit);
    let mut rows: Vec<ClaimedRow> = q.all(tx).await?;
    rows.sort_by_key(|r| r.id);
    Ok(rows
        .into_iter()
        .map(|r| Claimed {
            id: r.id,
            system_id: SystemId(r.system_id),
            received_at: r.received_at.0,
            data_hash: r.data_hash,
            data_size: r.data_size,
            same_as: r.same_as,
            attempts: r.attempts,
            claimed_until: r.claimed_until.0,
        })
        .collect())
}

/// The compressed bodies of entries by id; entries that no longer exist are left out.
pub async fn bodies(on: impl Into<On<'_>>, ids: &[i64]) -> Result<HashMap<i64, Vec<u8>>, StoreError> {
    let mut q = Q::by_index("SELECT id, body FROM inventory_queue WHERE id IN (");
    q.list(padded(ids).copied()).push(")");
    Ok(q.all::<(i64, Vec<u8>)>(on).await?.into_iter().collect())
}

/// Gives an entry back unused.
pub async fn release(tx: &mut Tx, entry: &Claimed) -> Result<(), StoreError> {
    Q::by_index(RELEASE).bind(entry.id).bind(entry.claimed_until).run(tx).await?;
    Ok(())
}

/// Whether the lease is still ours; if so the entry is locked until the transaction ends.
pub async fn hold(tx: &mut Tx, entry: &Claimed) -> Result<bool, StoreError> {
    let row: Option<(i64,)> = Q::by_index(HOLD).bind(entry.id).bind(entry.claimed_until).optional(tx).await?;
    Ok(row.is_some())
}

/// Which of the entries of one claim are still ours; those are locked until the transaction ends.
pub async fn hold_all(tx: &mut Tx, claimed_until: Ts, ids: &[i64]) -> Result<HashSet<i64>, StoreError> {
    let mut q = Q::by_index("SELECT id FROM inventory_queue WHERE id IN (");
    q.list(padded(ids).copied())
        .push(") AND claimed_until = ? ORDER BY id [[FOR UPDATE||]]")
        .arg(claimed_until);
    Ok(q.all::<(i64,)>(tx).await?.into_iter().map(|row| row.0).collect())
}

/// Removes finished entries.
pub async fn remove(tx: &mut Tx, ids: &[i64]) -> Result<(), StoreError> {
    let mut q = Q::by_index("DELETE FROM inventory_queue WHERE id IN (");
    q.list(padded(ids).copied()).push(")");
    q.run(tx).await?;
    Ok(())
}

/// Puts a failed entry back until `next_at`.
pub async fn retry(tx: &mut Tx, entry: &Claimed, next_at: Ts, error: &str) -> Result<(), StoreError> {
    Q::by_index(RETRY).bind(next_at).bind(error).bind(entry.id).bind(entry.claimed_until).run(tx).await?;
    Ok(())
}

/// Sets an entry aside for good: the worker continues with the next document of its system.
pub async fn quarantine(tx: &mut Tx, entry: &Claimed, now: Ts, error: &str) -> Result<(), StoreError> {
    Q::by_index(QUARANTINE).bind(now).bind(error).bind(entry.id).bind(entry.claimed_until).run(tx).await?;
    Ok(())
}

/// How full the queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// Entries that wait or are being worked on.
    pub pending: i64,
    /// Quarantined entries.
    pub quarantined: i64,
}

/// Counts the queue, up to [`MOST`] of each.
pub async fn state(on: impl Into<On<'_>>) -> Result<QueueState, StoreError> {
    let (pending, quarantined) = Q::by_index(STATE).bind(MOST).bind(MOST).one(on).await?;
    Ok(QueueState { pending, quarantined })
}

/// A quarantined entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Entry.
    pub id: i64,
    /// Sender.
    pub system_key: String,
    /// Receipt.
    pub received_at: Ts,
    /// When it was quarantined.
    pub quarantined_at: Ts,
    /// Bytes of the canonical text.
    pub data_size: i64,
    /// Why.
    pub error: String,
}

#[derive(FromRow)]
struct QuarantinedRow {
    id: i64,
    system_key: String,
    received_at: TsCodec,
    quarantined_at: TsCodec,
    data_size: i64,
    error: String,
}

/// Quarantined entries, in order of receipt, after that entry.
pub async fn quarantined(
    on: impl Into<On<'_>>,
    after: i64,
    limit: i64,
) -> Result<Vec<Quarantined>, StoreError> {
    let rows: Vec<QuarantinedRow> = Q::new(QUARANTINED).bind(after).bind(limit).all(on).await?;
    let of_row = |r: QuarantinedRow| Quarantined {
        id: r.id,
        system_key: r.system_key,
        received_at: r.received_at.0,
        quarantined_at: r.quarantined_at.0,
        data_size: r.data_size,
        error: r.error,
    };
    Ok(rows.into_iter().map(of_row).collect())
}

/// Puts quarantined entries back into the queue as if they had just arrived: that one, or all. Returns how many.
pub async fn replay(tx: &mut Tx, entry: Option<i64>, now: Ts) -> Result<u64, StoreError> {
    Q::new(REPLAY).bind(now).bind(entry).bind(entry).run(tx).await
}
