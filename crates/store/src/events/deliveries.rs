//! Deliveries: which event is sent to which subscription, and their outcome.

use super::{Stored, Visibility, read::Row as EventRow};
use crate::{
    Db, StoreError, Tx,
    filters::push_in,
    sql::{Column, On, Q, ROWS, push_rows},
    time::TsCodec,
};
use bailiwick_domain::{Page, PageRequest, Ts};
use bailiwick_policy::Granted;
use sqlx_macros::FromRow;
use std::collections::HashMap;
use uuid::Uuid;

/// Adds deliveries for a number of subscriptions; existing ones stay.
pub async fn add(tx: &mut Tx, pairs: &[(Uuid, i64)], now: Ts) -> Result<(), StoreError> {
    for chunk in pairs.chunks(ROWS) {
        let columns = vec![
            ("s", Column::Ids(chunk.iter().map(|pair| pair.0).collect())),
            ("e", Column::Ints(chunk.iter().map(|pair| pair.1).collect())),
            ("at", Column::times(chunk.iter().map(|_| now))),
        ];
        let mut q = Q::new(
            "INSERT INTO event_deliveries (subscription_id, event_seq, state, attempts, next_at, created_at) \
             SELECT v.s, v.e, 'pending', 0, v.at, v.at FROM ",
        );
        push_rows(&mut q, tx.is_postgres(), columns);
        q.push(" WHERE 1 = 1 ON CONFLICT (subscription_id, event_seq) DO NOTHING");
        q.run(tx).await?;
    }
    Ok(())
}

/// A delivery that is due.
#[derive(Clone, Debug)]
pub struct Due {
    /// Number of its event.
    pub seq: i64,
    /// Tries so far.
    pub attempts: i64,
    /// The event; none = the organization cannot read it any more.
    pub event: Option<Stored>,
}

/// The first `limit` due deliveries of a subscription, in the order of events, with the parts that the organization may
/// read now.
pub async fn due(
    db: &Db,
    id: Uuid,
    visibility: &Visibility,
    now: Ts,
    limit: i64,
) -> Result<Vec<Due>, StoreError> {
    let rows: Vec<(i64, i64)> = Q::by_index(DUE).bind(id).bind(id).bind(now).bind(limit).all(db).await?;
    let mut q = Q::new("SELECT e.seq, e.id, e.at, e.type, e.subject, e.data FROM events e WHERE e.seq IN (");
    q.list(rows.iter().map(|row| row.0)).push(")");
    visibility.push(&mut q);
    let events: Vec<EventRow> = q.all(db).await?;
    let mut events: HashMap<i64, Stored> =
        events.into_iter().map(Stored::from).map(|event| (event.seq, event)).collect();
    Ok(rows.into_iter().map(|(seq, attempts)| Due { seq, attempts, event: events.remove(&seq) }).collect())
}

/// By a range of one id and a sum, so that only the index of pending deliveries gives the order. To PostgreSQL, an
/// index of events alone, or one of all deliveries, looks as good, and may begin with thousands of old deliveries.
const DUE: &str = "SELECT d.event_seq, d.attempts FROM event_deliveries d WHERE d.subscription_id >= ? \
     AND d.subscription_id <= ? AND d.state = 'pending' AND d.next_at <= ? \
     ORDER BY d.subscription_id, d.event_seq + 0 LIMIT ?";

/// The outcome of a try.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Number of the event.
    pub seq: i64,
    /// `pending`: to be tried again at `next_at`.
    pub state: &'static str,
    /// Tries so far.
    pub attempts: i64,
    /// Next try.
    pub next_at: Ts,
    /// Status of the answer.
    pub status: Option<i64>,
    /// Why it has failed.
    pub error: Option<String>,
}

/// By its key: the sum of texts keeps PostgreSQL from using an index by state.
const RECORD: &str = "UPDATE event_deliveries SET state = ?, attempts = ?, next_at = ?, finished_at = ?, \
     last_status = ?, last_error = ? WHERE subscription_id = ? AND event_seq = ? AND state || '' = 'pending'";

/// Records the outcomes of tries.
pub async fn record(tx: &mut Tx, id: Uuid, outcomes: &[Outcome], now: Ts) -> Result<(), StoreError> {
    for outcome in outcomes {
        let finished = (outcome.state != "pending").then_some(now);
        Q::by_index(RECORD)
            .bind(outcome.state)
            .bind(outcome.attempts)
            .bind(outcome.next_at)
            .bind(finished)
            .bind(outcome.status)
            .bind(outcome.error.clone())
            .bind(id)
            .bind(outcome.seq)
            .run(tx)
            .await?;
    }
    Ok(())
}

const HURRY: &str = "UPDATE event_deliveries SET next_at = ? WHERE \
     [[ctid = ANY(ARRAY(SELECT d.ctid||(subscription_id, event_seq) IN (SELECT d.subscription_id, d.event_seq]] \
     FROM event_deliveries d WHERE d.subscription_id = ? AND d.state = 'pending' AND d.next_at > ? \
     ORDER BY d.subscription_id, d.next_at[[))||)]]";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![DUE, RECORD, HURRY];

/// Makes pending deliveries due at once: the recipient is back.
pub async fn make_due_now(tx: &mut Tx, id: Uuid, now: Ts) -> Result<(), StoreError> {
    Q::by_index(HURRY).bind(now).bind(id).bind(now).run(tx).await?;
    Ok(())
}

/// Which events are to be delivered again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    One(Uuid),
    /// The events of this time or later; none of them has a smaller number than this ([`super::first_since`]).
    Since(Ts, i64),
}

/// Delivers again the events that the organization may read, delivered before or not, `limit` at most; returns how
/// many.
pub async fn replay(
    tx: &mut Tx,
    target: &Granted<Uuid>,
    visibility: &Visibility,
    again: &Again,
    now: Ts,
    limit: i64,
) -> Result<u64, StoreError> {
    let mut q = Q::new(
        "INSERT INTO event_deliveries (subscription_id, event_seq, state, attempts, next_at, created_at) \
         SELECT s.id, e.seq, 'pending', 0, ?, ? FROM events e JOIN event_subscriptions s ON s.id = ? WHERE 1 = 1",
    )
    .bind(now)
    .bind(now)
    .bind(target.id());
    match again {
        Again::One(event) => q.push(" AND e.id = ?").arg(*event),
        Again::Since(at, first) => q.push(" AND e.seq >= ? AND e.at >= ?").arg(*first).arg(*at),
    };
    visibility.push(&mut q);
    // Events before their deliveries, in the order of numbers, like retention.
    q.push(" ORDER BY e.seq LIMIT ? [[FOR KEY SHARE OF e||]]").arg(limit);
    q.push(
        " ON CONFLICT (subscription_id, event_seq) DO UPDATE SET state = 'pending', attempts = 0, next_at = ?, \
         finished_at = NULL, last_status = NULL, last_error = NULL",
    )
    .arg(now);
    q.run(tx).await
}

/// A delivery as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Number of the event.
    pub seq: i64,
    pub event_id: Uuid,
    /// Its type.
    pub kind: String,
    /// `pending`, `delivered`, `dead` or `withheld`.
    pub state: String,
    /// Tries.
    pub attempts: i64,
    /// Next try, while it waits.
    pub next_at: Ts,
    /// When it first became due.
    pub created_at: Ts,
    /// When it ended.
    pub finished_at: Option<Ts>,
    /// Status of the last answer.
    pub status: Option<i64>,
    /// Why the last try has failed.
    pub error: Option<String>,
}

#[derive(FromRow)]
struct Row {
    event_seq: i64,
    event_id: Uuid,
    #[sqlx(rename = "type")]
    kind: String,
    state: String,
    attempts: i64,
    next_at: TsCodec,
    created_at: TsCodec,
    finished_at: Option<TsCodec>,
    last_status: Option<i64>,
    last_error: Option<String>,
}

/// One page, the newest event first. `states`: none = all, an empty list = none.
pub async fn list(
    db: &Db,
    id: Uuid,
    states: Option<&[String]>,
    request: PageRequest,
) -> Result<Page<Delivery>, StoreError> {
    let narrow = |q: &mut Q| {
        q.push(" WHERE d.subscription_id = ?").arg(id);
        if let Some(states) = states {
            push_in(q, "d.state", states);
        }
    };
    let mut q = Q::new(
        "SELECT d.event_seq, e.id AS event_id, e.type, d.state, d.attempts, d.next_at, d.created_at, d.finished_at, \
         d.last_status, d.last_error FROM event_deliveries d JOIN events e ON e.seq = d.event_seq",
    );
    narrow(&mut q);
    q.push(" ORDER BY d.event_seq DESC LIMIT ? OFFSET ?").arg(request.page_size).arg(request.offset());
    let rows: Vec<Row> = q.all(db).await?;
    let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM event_deliveries d");
    narrow(&mut q);
    let total = q.count(On::Db(db)).await?;
    let rows = rows.into_iter().map(|r| Delivery {
        seq: r.event_seq,
        event_id: r.event_id,
        kind: r.kind,
        state: r.state,
        attempts: r.attempts,
        next_at: r.next_at.0,
        created_at: r.created_at.0,
        finished_at: r.finished_at.map(Ts::from),
        status: r.last_status,
        error: r.last_error,
    });
    Ok(Page { rows: rows.collect(), total, request })
}
