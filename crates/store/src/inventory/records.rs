//! Records: one for each document that differs from the one before it.

use crate::{
    StoreError, Tx,
    sql::{Arg, On, Q, padded},
    time::TsCodec,
};
use bailiwick_domain::{SystemId, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

const ADD_BASE: &str =
    "INSERT INTO inventory_bases (system_id, data_size, body) VALUES (?, ?, ?) RETURNING id";
const ADD_RECORDS: &str = "INSERT INTO inventory_records (system_id, timestamp, body, base_id, data_hash, \
     data_size, processed_at, has_changes, change_count, created_at, updated_at) \
     SELECT v.system_id, v.received_at, v.body, v.base_id, v.data_hash, v.data_size, v.now, v.change_count > 0, \
     v.change_count, v.now, v.now FROM [[unnest(?::uuid[], ?::timestamptz[], ?::bytea[], ?::bigint[], ?::text[], \
     ?::bigint[], ?::timestamptz[], ?::bigint[]) WITH ORDINALITY AS v (system_id, received_at, body, base_id, \
     data_hash, data_size, now, change_count, n) ORDER BY v.n\
     ||(SELECT ? AS system_id, ? AS received_at, ? AS body, ? AS base_id, ? AS data_hash, ? AS data_size, ? AS now, \
     ? AS change_count) v WHERE 1 = 1]] RETURNING id";
const TOUCH: &str = "UPDATE inventory_records SET timestamp = CASE WHEN timestamp > v.received_at \
     THEN timestamp ELSE v.received_at END, updated_at = v.now FROM \
     [[unnest(?::bigint[], ?::timestamptz[], ?::timestamptz[]) AS v (id, received_at, now)\
     ||(SELECT ? AS id, ? AS received_at, ? AS now) v]] WHERE inventory_records.id = v.id";
/// Columns of [`MetaRow`], from records `r`.
macro_rules! meta_columns {
    () => {
        "r.id, r.timestamp, r.data_hash, r.data_size, r.processed_at, r.has_changes, r.change_count, r.created_at, \
         r.updated_at"
    };
}
pub(super) use meta_columns;
/// Columns of [`RecordRow`], from records `r` and their bases `b`.
macro_rules! record_columns {
    () => {
        concat!(
            $crate::inventory::records::meta_columns!(),
            ", r.body, b.id AS base_id, b.data_size AS base_size, b.body AS base_body"
        )
    };
}
pub(super) use record_columns;
const LATEST: &str = concat!(
    "SELECT ",
    record_columns!(),
    " FROM system_activity a JOIN inventory_records r ON r.id = a.latest_inventory_id \
     LEFT JOIN inventory_bases b ON b.id = r.base_id WHERE a.system_id = ?"
);

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![ADD_BASE, ADD_RECORDS, TOUCH, LATEST];

/// A text as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// The text compressed, with the base's text as the dictionary if there is a base.
    pub body: Vec<u8>,
    /// Bytes of the text.
    pub size: i64,
    /// Id, bytes of the text and compressed text of the base.
    pub base: Option<(i64, i64, Vec<u8>)>,
}

/// A record without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordMeta {
    /// Ascending in order of creation.
    pub id: i64,
    /// Newest receipt of this very document.
    pub timestamp: Ts,
    /// Lower-case hex SHA-256 of the canonical text.
    pub data_hash: String,
    /// Bytes of the canonical text.
    pub data_size: i64,
    /// When it was compared with the one before it.
    pub processed_at: Option<Ts>,
    /// Whether the comparison found changes.
    pub has_changes: bool,
    /// How many.
    pub change_count: i64,
    /// First receipt processed.
    pub created_at: Ts,
    /// Last touched.
    pub updated_at: Ts,
}

/// A stored document (spec: inventory#shapes).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Everything but the document.
    pub meta: RecordMeta,
    /// The canonical text.
    pub text: Packed,
}

#[derive(FromRow)]
pub(super) struct MetaRow {
    id: i64,
    timestamp: TsCodec,
    data_hash: String,
    data_size: i64,
    processed_at: Option<TsCodec>,
    has_changes: bool,
    change_count: i64,
    created_at: TsCodec,
    updated_at: TsCodec,
}

#[derive(FromRow)]
pub(super) struct RecordRow {
    #[sqlx(flatten)]
    meta: MetaRow,
    body: Vec<u8>,
    base_id: Option<i64>,
    base_size: Option<i64>,
    base_body: Option<Vec<u8>>,
}

impl From<MetaRow> for RecordMeta {
    fn from(r: MetaRow) -> RecordMeta {
        RecordMeta {
            id: r.id,
            timestamp: r.timestamp.0,
            data_hash: r.data_hash,
            data_size: r.data_size,
            processed_at: r.processed_at.map(|t| t.0),
            has_changes: r.has_changes,
            change_count: r.change_count,
            created_at: r.created_at.0,
            updated_at: r.updated_at.0,
        }
    }
}

impl From<RecordRow> for Record {
    fn from(r: RecordRow) -> Record {
        let text = packed(r.body, r.meta.data_size, r.base_id, r.base_size, r.base_body);
        Record { meta: r.meta.into(), text }
    }
}

fn packed(
    body: Vec<u8>,
    size: i64,
    base_id: Option<i64>,
    base_size: Option<i64>,
    base_body: Option<Vec<u8>>,
) -> Packed {
    let base = match (base_id, base_size, base_body) {
        (Some(id), Some(size), Some(body)) => Some((id, size, body)),
        _ => None,
    };
    Packed { body, size, base }
}

/// The system's latest record.
pub async fn latest(on: impl Into<On<'_>>, id: SystemId) -> Result<Option<Record>, StoreError> {
    let row: Option<RecordRow> = Q::new(LATEST).bind(id).optional(on).await?;
    Ok(row.map(Record::from))
}

/// The state that the next document of a system is compared with.
#[derive(Clone, Debug)]
pub struct Stored {
    pub system_id: SystemId,
    /// Record.
    pub id: i64,
    /// Hash of its text.
    pub data_hash: String,
    pub text: Packed,
}

#[derive(FromRow)]
struct StoredRow {
    system_id: Uuid,
    id: i64,
    data_hash: String,
    data_size: i64,
    body: Vec<u8>,
    base_id: Option<i64>,
    base_size: Option<i64>,
    base_body: Option<Vec<u8>>,
}

impl From<StoredRow> for Stored {
    fn from(r: StoredRow) -> Stored {
        Stored {
            system_id: SystemId(r.system_id),
            id: r.id,
            data_hash: r.data_hash,
            text: packed(r.body, r.data_size, r.base_id, r.base_size, r.base_body),
        }
    }
}

const STORED: &str = "SELECT r.system_id, r.id, r.data_hash, r.data_size, r.body, b.id AS base_id, \
     b.data_size AS base_size, b.body AS base_body FROM inventory_records r \
     LEFT JOIN inventory_bases b ON b.id = r.base_id WHERE r.id IN (";

/// The latest records of systems; systems without any are left out.
pub async fn latest_of(on: impl Into<On<'_>>, systems: &[SystemId]) -> Result<Vec<Stored>, StoreError> {
    let mut q = Q::new(STORED);
    q.push("SELECT a.latest_inventory_id FROM system_activity a WHERE a.system_id IN (");
    q.list(padded(systems).copied()).push("))");
    Ok(q.all::<StoredRow>(on).await?.into_iter().map(Stored::from).collect())
}

/// Records by id.
pub async fn stored(on: impl Into<On<'_>>, ids: &[i64]) -> Result<Vec<Stored>, StoreError> {
    let mut q = Q::new(STORED);
    q.list(padded(ids).copied()).push(")");
    Ok(q.all::<StoredRow>(on).await?.into_iter().map(Stored::from).collect())
}

/// Stores a text as a base for records.
pub async fn add_base(tx: &mut Tx, system: SystemId, size: i64, body: Vec<u8>) -> Result<i64, StoreError> {
    let (id,): (i64,) = Q::new(ADD_BASE).bind(system).bind(size).bind(body).one(tx).await?;
    Ok(id)
}

/// A record to be stored.
#[derive(Clone, Debug)]
pub struct NewRecord {
    pub system_id: SystemId,
    /// Receipt.
    pub received_at: Ts,
    /// The text compressed against the base.
    pub body: Vec<u8>,
    pub base_id: i64,
    /// Hash of the text.
    pub data_hash: String,
    /// Bytes of the text.
    pub data_size: i64,
    /// Changes since the record before it.
    pub change_count: i64,
    /// Now: the comparison is done when the record is stored.
    pub now: Ts,
}

/// Stores records in this order and answers their ids.
pub async fn add_records(tx: &mut Tx, records: Vec<NewRecord>) -> Result<Vec<i64>, StoreError> {
    let mut ids = Vec::with_capacity(records.len());
    if !tx.is_postgres() {
        for r in records {
            let q = Q::new(ADD_RECORDS).bind(r.system_id).bind(r.received_at).bind(r.body).bind(r.base_id);
            let q = q.bind(r.data_hash).bind(r.data_size).bind(r.now).bind(r.change_count);
            ids.push(q.one::<(i64,)>(&mut *tx).await?.0);
        }
        return Ok(ids);
    }
    if records.is_empty() {
        return Ok(ids);
    }
    let systems = records.iter().map(|r| r.system_id.0).collect();
    let received = records.iter().map(|r| r.received_at).collect();
    let bases = records.iter().map(|r| r.base_id).collect();
    let hashes = records.iter().map(|r| r.data_hash.clone()).collect();
    let sizes = records.iter().map(|r| r.data_size).collect();
    let now = records.iter().map(|r| r.now).collect();
    let counts = records.iter().map(|r| r.change_count).collect();
    let bodies = records.into_iter().map(|r| r.body).collect();
    let q = Q::new(ADD_RECORDS).bind(Arg::Ids(systems)).bind(Arg::Times(received)).bind(Arg::Blobs(bodies));
    let q = q.bind(Arg::Ints(bases)).bind(Arg::Texts(hashes)).bind(Arg::Ints(sizes));
    let rows: Vec<(i64,)> = q.bind(Arg::Times(now)).bind(Arg::Ints(counts)).all(tx).await?;
    ids.extend(rows.into_iter().map(|row| row.0));
    // Ids follow the order of the rows, whatever order the database returns them in.
    ids.sort_unstable();
    Ok(ids)
}

/// Unchanged documents: only the times of the records move. `(record, receipt)`, each record once.
pub async fn touch(tx: &mut Tx, again: &[(i64, Ts)], now: Ts) -> Result<(), StoreError> {
    if tx.is_postgres() {
        if !again.is_empty() {
            let (ids, times) = again.iter().copied().unzip();
            let q = Q::new(TOUCH).bind(Arg::Ints(ids)).bind(Arg::Times(times));
            q.bind(Arg::Times(vec![now; again.len()])).run(tx).await?;
        }
        return Ok(());
    }
    for (id, received_at) in again {
        Q::new(TOUCH).bind(*id).bind(*received_at).bind(now).run(tx).await?;
    }
    Ok(())
}
