//! Inventory: the durable queue of accepted documents, and the records made of them.
//!
//! Bodies are the canonical text, compressed. A body goes from queue to record inside the database.

use crate::{
    StoreError, Tx,
    sql::{Arg, On, Q},
    time::TsCodec,
};
use bailiwick_domain::{SystemId, Ts};
use sqlx::FromRow;
use std::time::Duration;
use uuid::Uuid;

pub(crate) const ENQUEUE_MANY: &str = "INSERT INTO inventory_queue \
     (system_id, received_at, data_hash, data_size, body, next_at) \
     SELECT v.system_id, v.received_at, v.data_hash, v.data_size, v.body, v.received_at \
     FROM [[unnest(?::uuid[], ?::timestamptz[], ?::text[], ?::bigint[], ?::bytea[]) WITH ORDINALITY \
     AS v (system_id, received_at, data_hash, data_size, body, n)\
     ||(SELECT ? AS system_id, ? AS received_at, ? AS data_hash, ? AS data_size, ? AS body, 1 AS n) v]] \
     JOIN systems s ON s.id = v.system_id ORDER BY v.n";
/// Claims of all processes one after the other: each sees what the one before it has taken.
const TAKE_TURN: &str = "SELECT pg_advisory_xact_lock(7263001)";
/// The oldest waiting entries, those of one system in order: none whose system has an earlier one that somebody works
/// on or that waits for its next try.
pub(crate) const CLAIM: &str = "UPDATE inventory_queue SET claimed_until = ? WHERE id IN (\
     SELECT q.id FROM inventory_queue q WHERE q.quarantined_at IS NULL AND q.next_at <= ? \
     AND (q.claimed_until IS NULL OR q.claimed_until <= ?) AND NOT EXISTS (\
     SELECT 1 FROM inventory_queue e WHERE e.system_id = q.system_id AND e.id < q.id \
     AND e.quarantined_at IS NULL AND (e.next_at > ? OR e.claimed_until > ?)) \
     ORDER BY q.id LIMIT ? [[FOR UPDATE||]]) \
     RETURNING id, system_id, received_at, data_hash, data_size, attempts, claimed_until";
pub(crate) const BODY: &str = "SELECT body FROM inventory_queue WHERE id = ?";
pub(crate) const RELEASE: &str =
    "UPDATE inventory_queue SET claimed_until = NULL WHERE id = ? AND claimed_until = ?";
pub(crate) const RELEASE_ALL: &str =
    "UPDATE inventory_queue SET claimed_until = NULL WHERE claimed_until IS NOT NULL";
pub(crate) const HOLD: &str =
    "SELECT id FROM inventory_queue WHERE id = ? AND claimed_until = ? [[FOR UPDATE||]]";
pub(crate) const REMOVE: &str = "DELETE FROM inventory_queue WHERE id = ?";
pub(crate) const RETRY: &str = "UPDATE inventory_queue SET attempts = attempts + 1, next_at = ?, error = ?, \
     claimed_until = NULL WHERE id = ? AND claimed_until = ?";
pub(crate) const QUARANTINE: &str = "UPDATE inventory_queue SET attempts = attempts + 1, quarantined_at = ?, \
     error = ?, claimed_until = NULL WHERE id = ? AND claimed_until = ?";
pub(crate) const LATEST_HASH: &str = "SELECT r.id, r.data_hash FROM system_activity a \
     JOIN inventory_records r ON r.id = a.latest_inventory_id WHERE a.system_id = ?";
pub(crate) const RECORD: &str = "INSERT INTO inventory_records \
     (system_id, timestamp, body, data_hash, data_size, processed_at, created_at, updated_at) \
     SELECT q.system_id, q.received_at, q.body, q.data_hash, q.data_size, \
     CAST(? AS [[timestamptz||INTEGER]]), CAST(? AS [[timestamptz||INTEGER]]), CAST(? AS [[timestamptz||INTEGER]]) \
     FROM inventory_queue q WHERE q.id = ? RETURNING id";
pub(crate) const TOUCH: &str = "UPDATE inventory_records SET timestamp = CASE WHEN timestamp > ? THEN timestamp \
     ELSE ? END, updated_at = ? WHERE id = ?";
pub(crate) const LATEST: &str = "SELECT r.id, r.timestamp, r.body, r.data_hash, r.data_size, r.processed_at, \
     r.has_changes, r.change_count, r.created_at, r.updated_at FROM system_activity a \
     JOIN inventory_records r ON r.id = a.latest_inventory_id WHERE a.system_id = ?";

/// Documents that one SQLite statement enqueues at most; a group is cut into such powers of two.
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
pub(crate) const HOLD_SYSTEMS: &str =
    "SELECT id FROM systems WHERE id [[= ANY(?::uuid[])||= ?]] ORDER BY id [[FOR KEY SHARE||]]";

/// Adds documents in this order. Those of systems that have vanished are left out.
pub async fn enqueue(tx: &mut Tx, mut documents: Vec<Document>) -> Result<(), StoreError> {
    if tx.is_postgres() {
        let ids: Vec<Uuid> = documents.iter().map(|d| d.system_id.0).collect();
        // One that is being removed is waited for here; found missing only by the insertion, it would take the
        // documents of all others with it.
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
    let mut q = Q::new(
        "INSERT INTO inventory_queue (system_id, received_at, data_hash, data_size, body, next_at) \
         SELECT v.column1, v.column2, v.column3, v.column4, v.column5, v.column2 FROM (VALUES (?, ?, ?, ?, ?)",
    );
    q.push(&", (?, ?, ?, ?, ?)".repeat(documents.len().saturating_sub(1)));
    for d in documents {
        q.arg(d.system_id).arg(d.received_at).arg(d.data_hash).arg(d.data_size).arg(d.body);
    }
    q.push(") v CROSS JOIN systems s ON s.id = v.column1");
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
    attempts: i64,
    claimed_until: TsCodec,
}

/// Takes up to `limit` due entries for the time of `lease`, oldest first; of each system without a gap from its oldest.
pub async fn claim(tx: &mut Tx, now: Ts, lease: Duration, limit: i64) -> Result<Vec<Claimed>, StoreError> {
    if tx.is_postgres() {
        Q::new(TAKE_TURN).run(tx).await?;
    }
    let q = Q::new(CLAIM).bind(now.plus(lease)).bind(now).bind(now).bind(now).bind(now).bind(limit);
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
            attempts: r.attempts,
            claimed_until: r.claimed_until.0,
        })
        .collect())
}

/// The compressed body of an entry; none when the entry is gone.
pub async fn body(on: impl Into<On<'_>>, entry: &Claimed) -> Result<Option<Vec<u8>>, StoreError> {
    let row: Option<(Vec<u8>,)> = Q::new(BODY).bind(entry.id).optional(on).await?;
    Ok(row.map(|r| r.0))
}

/// Ends every lease; only for a process that has the database for itself.
pub async fn release_all(tx: &mut Tx) -> Result<(), StoreError> {
    Q::new(RELEASE_ALL).run(tx).await?;
    Ok(())
}

/// Gives an entry back unused.
pub async fn release(tx: &mut Tx, entry: &Claimed) -> Result<(), StoreError> {
    Q::new(RELEASE).bind(entry.id).bind(entry.claimed_until).run(tx).await?;
    Ok(())
}

/// Whether the lease is still ours; if so the entry is held until the transaction ends.
pub async fn hold(tx: &mut Tx, entry: &Claimed) -> Result<bool, StoreError> {
    let row: Option<(i64,)> = Q::new(HOLD).bind(entry.id).bind(entry.claimed_until).optional(tx).await?;
    Ok(row.is_some())
}

/// Removes a finished entry.
pub async fn remove(tx: &mut Tx, entry: i64) -> Result<(), StoreError> {
    Q::new(REMOVE).bind(entry).run(tx).await?;
    Ok(())
}

/// Puts a failed entry back until `next_at`.
pub async fn retry(tx: &mut Tx, entry: &Claimed, next_at: Ts, error: &str) -> Result<(), StoreError> {
    Q::new(RETRY).bind(next_at).bind(error).bind(entry.id).bind(entry.claimed_until).run(tx).await?;
    Ok(())
}

/// Puts an entry aside for good: the next document of its system goes on.
pub async fn quarantine(tx: &mut Tx, entry: &Claimed, now: Ts, error: &str) -> Result<(), StoreError> {
    Q::new(QUARANTINE).bind(now).bind(error).bind(entry.id).bind(entry.claimed_until).run(tx).await?;
    Ok(())
}

/// Id and hash of the system's latest record.
pub async fn latest_hash(on: impl Into<On<'_>>, id: SystemId) -> Result<Option<(i64, String)>, StoreError> {
    Q::new(LATEST_HASH).bind(id).optional(on).await
}

/// Makes a record of a queue entry. `processed_at`: set for a system's first record, which has nothing to differ from.
pub async fn record(tx: &mut Tx, entry: i64, processed_at: Option<Ts>, now: Ts) -> Result<i64, StoreError> {
    let (id,): (i64,) = Q::new(RECORD).bind(processed_at).bind(now).bind(now).bind(entry).one(tx).await?;
    Ok(id)
}

/// The same document again: only the times of the record move.
pub async fn touch(tx: &mut Tx, record: i64, received_at: Ts, now: Ts) -> Result<(), StoreError> {
    Q::new(TOUCH).bind(received_at).bind(received_at).bind(now).bind(record).run(tx).await?;
    Ok(())
}

/// A stored document (contract 03 §9.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Ascending in order of creation.
    pub id: i64,
    /// Newest receipt of this very document.
    pub timestamp: Ts,
    /// Canonical text, compressed.
    pub body: Vec<u8>,
    /// Lower-case hex SHA-256 of the canonical text.
    pub data_hash: String,
    /// Bytes of the canonical text.
    pub data_size: i64,
    /// When it was compared with the one before it.
    pub processed_at: Option<Ts>,
    /// Whether that found changes.
    pub has_changes: bool,
    /// How many.
    pub change_count: i64,
    /// First receipt processed.
    pub created_at: Ts,
    /// Last touched.
    pub updated_at: Ts,
}

#[derive(FromRow)]
struct RecordRow {
    id: i64,
    timestamp: TsCodec,
    body: Vec<u8>,
    data_hash: String,
    data_size: i64,
    processed_at: Option<TsCodec>,
    has_changes: bool,
    change_count: i64,
    created_at: TsCodec,
    updated_at: TsCodec,
}

/// The system's latest record.
pub async fn latest(on: impl Into<On<'_>>, id: SystemId) -> Result<Option<Record>, StoreError> {
    let row: Option<RecordRow> = Q::new(LATEST).bind(id).optional(on).await?;
    Ok(row.map(|r| Record {
        id: r.id,
        timestamp: r.timestamp.0,
        body: r.body,
        data_hash: r.data_hash,
        data_size: r.data_size,
        processed_at: r.processed_at.map(|t| t.0),
        has_changes: r.has_changes,
        change_count: r.change_count,
        created_at: r.created_at.0,
        updated_at: r.updated_at.0,
    }))
}
