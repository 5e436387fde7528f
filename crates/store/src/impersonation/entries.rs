//! Entries of a session: its start, every call, its end (spec: impersonation#requests-while-impersonating).

use crate::{Db, StoreError, Tx, sql::Q, time::TsCodec};
use bailiwick_domain::{ImpersonationId, Page, PageRequest, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

/// A call that begins, already without secrets.
#[derive(Clone, Debug)]
pub struct NewCall<'a> {
    pub id: Uuid,
    /// The session of its token.
    pub session: ImpersonationId,
    /// Now.
    pub at: Ts,
    /// Path without query.
    pub endpoint: &'a str,
    pub method: &'a str,
    /// The recorded parts of the request.
    pub data: Option<&'a str>,
}

/// A recorded entry.
#[derive(Clone, Debug, PartialEq)]
pub struct ImpersonationEntry {
    pub id: Uuid,
    /// When.
    pub at: Ts,
    /// `session_start`, `api_call` or `session_end`.
    pub action_type: String,
    /// Path without query.
    pub api_endpoint: Option<String>,
    pub http_method: Option<String>,
    /// The recorded parts of the request.
    pub request_data: Option<String>,
    /// Status of the response; none = no response was sent.
    pub response_status: Option<i64>,
    /// Its words.
    pub response_status_text: Option<String>,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    at: TsCodec,
    action_type: String,
    api_endpoint: Option<String>,
    http_method: Option<String>,
    request_data: Option<String>,
    response_status: Option<i64>,
    response_status_text: Option<String>,
}

impl From<Row> for ImpersonationEntry {
    fn from(row: Row) -> ImpersonationEntry {
        ImpersonationEntry {
            id: row.id,
            at: row.at.0,
            action_type: row.action_type,
            api_endpoint: row.api_endpoint,
            http_method: row.http_method,
            request_data: row.request_data,
            response_status: row.response_status,
            response_status_text: row.response_status_text,
        }
    }
}

const COUNT_ONE: &str = "UPDATE impersonation_sessions SET action_count = action_count + 1 WHERE id = ?";
const OPEN: &str = "INSERT INTO impersonation_entries \
     (id, session_id, at, action_type, api_endpoint, http_method, request_data) \
     VALUES (?, ?, ?, 'api_call', ?, ?, ?) RETURNING seq";
const START: &str = "INSERT INTO impersonation_entries (id, session_id, at, action_type) \
     VALUES (?, ?, ?, 'session_start')";
const COMPLETE: &str = "UPDATE impersonation_entries SET response_status = ?, \
     response_status_text = ?, request_data = COALESCE(?, request_data) \
     WHERE seq = ? AND response_status IS NULL";
const TOTAL: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM impersonation_entries WHERE session_id = ?";
const PAGE: &str = "SELECT id, at, action_type, api_endpoint, http_method, request_data, \
     response_status, response_status_text FROM impersonation_entries WHERE session_id = ? \
     ORDER BY at, seq LIMIT ? OFFSET ?";
const PURGE: &str = "DELETE FROM impersonation_entries WHERE seq IN (SELECT e.seq \
     FROM impersonation_sessions s JOIN impersonation_entries e ON e.session_id = s.id \
     WHERE s.ended_at IS NOT NULL AND s.ended_at < ? LIMIT ?)";

const COUNT_OLD: &str = "SELECT (SELECT COUNT(*) FROM impersonation_entries e \
     JOIN impersonation_sessions s ON s.id = e.session_id WHERE s.ended_at < ? \
     OR (s.ended_at IS NULL AND s.expires_at < ?)) \
     + (SELECT COUNT(*) FROM impersonation_sessions s WHERE s.ended_at IS NULL AND s.expires_at < ?)";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![COUNT_ONE, OPEN, START, COMPLETE, TOTAL, PAGE, PURGE, COUNT_OLD];

/// Records that a call begins and returns the entry's number, by which the entry is completed.
pub async fn open(tx: &mut Tx, call: &NewCall<'_>) -> Result<i64, StoreError> {
    Q::new(COUNT_ONE).bind(call.session).run(tx).await?;
    let (seq,): (i64,) = Q::new(OPEN)
        .bind(call.id)
        .bind(call.session)
        .bind(call.at)
        .bind(call.endpoint)
        .bind(call.method)
        .bind(call.data)
        .one(tx)
        .await?;
    Ok(seq)
}

/// Records the outcome of a call, unless its status is already recorded. `data`: details of the request that are known
/// only at its end.
pub async fn complete(
    tx: &mut Tx,
    seq: i64,
    status: Option<u16>,
    words: &str,
    data: Option<&str>,
) -> Result<(), StoreError> {
    let status = status.map(i64::from);
    Q::new(COMPLETE).bind(status).bind(words).bind(data).bind(seq).run(tx).await.map(|_| ())
}

/// Records the start of a session, which counts it already.
pub(super) async fn start(tx: &mut Tx, id: Uuid, session: ImpersonationId, at: Ts) -> Result<(), StoreError> {
    Q::new(START).bind(id).bind(session).bind(at).run(tx).await.map(|_| ())
}

/// One page of a session's entries, the oldest first.
pub async fn of_session(
    db: &Db,
    session: ImpersonationId,
    page: PageRequest,
) -> Result<Page<ImpersonationEntry>, StoreError> {
    let total = Q::new(TOTAL).bind(session).count(db).await?;
    let mut rows = Vec::new();
    if page.offset() < total {
        rows = Q::new(PAGE).bind(session).bind(page.page_size).bind(page.offset()).all::<Row>(db).await?;
    }
    Ok(Page { rows: rows.into_iter().map(ImpersonationEntry::from).collect(), total, request: page })
}

/// How many entries sessions have that ended before `before`, including the entries that their ends will still add.
pub async fn count_old(db: &Db, before: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_OLD).bind(before).bind(before).bind(before).count(db).await
}

/// Removes some entries of sessions that ended before `before`.
pub async fn purge(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).bind(limit).run(tx).await
}
