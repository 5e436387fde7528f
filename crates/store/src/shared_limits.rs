//! Counters of limits that all processes share. Every statement counts many keys at once; the caller sorts them, so
//! that two processes lock the rows in the same order.
//!
//! The table is not logged on PostgreSQL: a count waits for no disk, and a crash of the server forgets the counts, as
//! the end of a process forgets those in its memory.

use crate::{
    Db, StoreError, Tx,
    sql::{Column, On, Q, Row, push_rows},
    time::TsCodec,
};
use bailiwick_domain::Ts;
use sqlx_macros::FromRow;
use uuid::Uuid;

/// The most keys of one statement.
pub const KEYS: usize = crate::sql::ROWS;
/// How far the clock of one process may be ahead of another's. A time further ahead is one of a clock that was set
/// back.
pub const SKEW: std::time::Duration = std::time::Duration::from_secs(60);

/// Creates the rows that are missing and locks all.
const HOLD: &str = "INSERT INTO shared_limits (key, purge_at) SELECT v.key, v.purge_at FROM ";
const HOLD_END: &str = " WHERE true ON CONFLICT (key) DO UPDATE SET purge_at = shared_limits.purge_at \
     RETURNING key, events, purge_at";
const KEEP: &str =
    "INSERT INTO shared_limits (key, events, purge_at) SELECT v.key, v.events, v.purge_at FROM ";
const KEEP_END: &str =
    " WHERE true ON CONFLICT (key) DO UPDATE SET events = excluded.events, purge_at = excluded.purge_at";

// What is still used of the bucket, and how many of the requests fit into it. Time runs by the clock that is furthest
// ahead: processes whose clocks differ must not fill the bucket again in turn.
macro_rules! used {
    () => {
        "[[GREATEST||MAX]](0, shared_limits.amount \
         - [[GREATEST||MAX]](0, excluded.at_micros - shared_limits.at_micros))"
    };
}
macro_rules! fitting {
    () => {
        concat!("[[GREATEST||MAX]](0, [[LEAST||MIN]](excluded.passed, (? - ", used!(), ") / ?))")
    };
}
const PASS: &str = "INSERT INTO shared_limits (key, amount, at_micros, passed, purge_at) \
     SELECT v.key, v.amount, v.at_micros, v.passed, v.purge_at FROM ";
const PASS_END: &str = concat!(
    " WHERE true ON CONFLICT (key) DO UPDATE SET amount = ",
    used!(),
    " + ? * ",
    fitting!(),
    ", passed = ",
    fitting!(),
    ", at_micros = CASE WHEN shared_limits.at_micros > excluded.at_micros + ? THEN excluded.at_micros \
     ELSE [[GREATEST||MAX]](shared_limits.at_micros, excluded.at_micros) END, purge_at = excluded.purge_at \
     RETURNING key, amount, at_micros, passed"
);

// Whether the window of the stored failures is over for the new ones, has none, or began by a clock that was set back
// since.
macro_rules! over {
    () => {
        "(shared_limits.amount = 0 OR shared_limits.at_micros + ? <= excluded.at_micros \
         OR shared_limits.at_micros > excluded.at_micros + ?)"
    };
}
const FAIL: &str = "INSERT INTO shared_limits (key, amount, at_micros, purge_at) \
     SELECT v.key, v.amount, v.at_micros, v.purge_at FROM ";
const FAIL_END: &str = concat!(
    " WHERE true ON CONFLICT (key) DO UPDATE SET amount = CASE WHEN ",
    over!(),
    " THEN excluded.amount ELSE shared_limits.amount + excluded.amount END, at_micros = CASE WHEN ",
    over!(),
    " THEN excluded.at_micros ELSE shared_limits.at_micros END, purge_at = excluded.purge_at \
     RETURNING key, amount, at_micros"
);
const REFUSE: &str = "UPDATE shared_limits SET refused_at = ? WHERE key = ?";
const REFUSED: &str =
    "SELECT key FROM shared_limits WHERE refused_at IS NOT NULL ORDER BY refused_at DESC LIMIT ?";
const PURGE: &str = "DELETE FROM shared_limits WHERE [[ctid = ANY(ARRAY(SELECT ctid||key IN (SELECT key]] \
     FROM shared_limits WHERE purge_at < ? ORDER BY purge_at LIMIT ? [[FOR UPDATE SKIP LOCKED))||)]]";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![REFUSE, REFUSED, PURGE];

/// The events of a key that count, in a transaction that holds its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    /// What is limited.
    pub key: Uuid,
    /// The times, in order.
    pub times: Vec<Ts>,
    /// From when the row may be removed.
    pub purge_at: Ts,
}

#[derive(FromRow)]
struct EventsRow {
    key: Uuid,
    events: Vec<u8>,
    purge_at: TsCodec,
}

/// The events of the keys, each once and in order. No other process can count events of these keys until the
/// transaction ends. A key without a row gets one that may be removed at `purge_at`.
pub async fn hold(tx: &mut Tx, keys: &[Uuid], purge_at: Ts) -> Result<Vec<Events>, StoreError> {
    let mut events = Vec::with_capacity(keys.len());
    for keys in keys.chunks(KEYS) {
        let columns = vec![
            ("key", Column::Ids(keys.to_vec())),
            ("purge_at", Column::times(keys.iter().map(|_| purge_at))),
        ];
        let rows: Vec<EventsRow> = with_rows(HOLD, tx.is_postgres(), columns, HOLD_END).all(&mut *tx).await?;
        events.extend(rows.into_iter().map(|row| Events {
            key: row.key,
            times: times_of(&row.events),
            purge_at: row.purge_at.0,
        }));
    }
    Ok(events)
}

/// Stores the events of keys that the transaction holds.
pub async fn save(tx: &mut Tx, all: &[Events]) -> Result<(), StoreError> {
    for some in all.chunks(KEYS) {
        let columns = vec![
            ("key", Column::Ids(some.iter().map(|events| events.key).collect())),
            ("events", Column::Blobs(some.iter().map(|events| bytes_of(&events.times)).collect())),
            ("purge_at", Column::times(some.iter().map(|events| events.purge_at))),
        ];
        with_rows(KEEP, tx.is_postgres(), columns, KEEP_END).run(&mut *tx).await?;
    }
    Ok(())
}

fn bytes_of(times: &[Ts]) -> Vec<u8> {
    times.iter().flat_map(|at| at.0.to_be_bytes()).collect()
}

fn times_of(bytes: &[u8]) -> Vec<Ts> {
    let (times, _) = bytes.as_chunks::<8>();
    times.iter().map(|at| Ts(i64::from_be_bytes(*at))).collect()
}

/// Requests of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// What is limited.
    pub key: Uuid,
    /// How many, at most the burst; at least one.
    pub requested: i64,
    /// When.
    pub at: Ts,
    /// From when the row may be removed.
    pub purge_at: Ts,
}

/// What became of the requests of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// What is limited.
    pub key: Uuid,
    /// How many of them pass.
    pub passed: i64,
    /// How much of the bucket is used now, in microseconds.
    pub used: i64,
    /// The time of that.
    pub at: Ts,
}

/// A bucket of `burst` requests that gets room for another one every `step` microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Microseconds of one request; at least one.
    pub step: i64,
    /// Requests at once.
    pub burst: i64,
}

impl Bucket {
    /// The size in microseconds.
    pub const fn size(self) -> i64 {
        self.step.saturating_mul(self.burst)
    }
}

/// Lets as many requests pass as have room in the buckets of their keys. At most [`KEYS`] keys, each once and in order.
pub async fn pass(db: &Db, bucket: Bucket, all: &[Requests]) -> Result<Vec<Passed>, StoreError> {
    let column = |value: fn(&Requests) -> i64| Column::Ints(all.iter().map(value).collect());
    let amounts = all.iter().map(|requests| requests.requested.saturating_mul(bucket.step)).collect();
    let columns = vec![
        ("key", Column::Ids(all.iter().map(|requests| requests.key).collect())),
        ("amount", Column::Ints(amounts)),
        ("at_micros", column(|requests| requests.at.0)),
        ("passed", column(|requests| requests.requested)),
        ("purge_at", Column::times(all.iter().map(|requests| requests.purge_at))),
    ];
    let mut q = with_rows(PASS, db.is_postgres(), columns, PASS_END);
    q.arg(bucket.step);
    for value in [bucket.size(), bucket.step, bucket.size(), bucket.step, micros(SKEW)] {
        q.arg(value);
    }
    let rows: Vec<(Uuid, i64, i64, i64)> = at_once(db, q).await?;
    Ok(rows.into_iter().map(|(key, used, at, passed)| Passed { key, passed, used, at: Ts(at) }).collect())
}

/// Failures of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failures {
    /// What is limited.
    pub key: Uuid,
    /// How many; none only asks.
    pub count: i64,
    /// When; in an answer, when the first one that counts was.
    pub at: Ts,
    /// From when the row may be removed.
    pub purge_at: Ts,
}

/// Counts failures, and returns how many there are in windows of this length that begin with the first failure. At most
/// [`KEYS`] keys, each once and in order.
pub async fn fail(
    db: &Db,
    window: std::time::Duration,
    all: &[Failures],
) -> Result<Vec<Failures>, StoreError> {
    let column = |value: fn(&Failures) -> i64| Column::Ints(all.iter().map(value).collect());
    let columns = vec![
        ("key", Column::Ids(all.iter().map(|failures| failures.key).collect())),
        ("amount", column(|failures| failures.count)),
        ("at_micros", column(|failures| failures.at.0)),
        ("purge_at", Column::times(all.iter().map(|failures| failures.purge_at))),
    ];
    let mut q = with_rows(FAIL, db.is_postgres(), columns, FAIL_END);
    for value in [window, SKEW, window, SKEW] {
        q.arg(micros(value));
    }
    let rows: Vec<(Uuid, i64, i64)> = at_once(db, q).await?;
    let purge_at = all.first().map_or(Ts::EPOCH, |failures| failures.purge_at);
    Ok(rows.into_iter().map(|(key, count, at)| Failures { key, count, at: Ts(at), purge_at }).collect())
}

/// Notes that these keys are refused.
pub async fn refuse(tx: &mut Tx, keys: &[Uuid], now: Ts) -> Result<(), StoreError> {
    for key in keys {
        Q::new(REFUSE).bind(now).bind(*key).run(&mut *tx).await?;
    }
    Ok(())
}

/// The keys that were refused last, at most `limit`.
pub async fn refused(db: &Db, limit: i64) -> Result<Vec<Uuid>, StoreError> {
    let rows: Vec<(Uuid,)> = Q::by_index(REFUSED).bind(limit).all(db).await?;
    Ok(rows.into_iter().map(|(key,)| key).collect())
}

/// Removes up to `limit` rows that count no more, and returns how many.
pub async fn purge(tx: &mut Tx, now: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::by_index(PURGE).bind(now).bind(limit).run(tx).await
}

fn micros(d: std::time::Duration) -> i64 {
    i64::try_from(d.as_micros()).unwrap_or(i64::MAX)
}

fn with_rows(head: &str, is_postgres: bool, columns: Vec<(&str, Column)>, end: &str) -> Q {
    let mut q = Q::new(head);
    push_rows(&mut q, is_postgres, columns);
    q.push(end);
    q
}

/// Runs a statement that writes as a transaction of its own, on PostgreSQL in one exchange.
async fn at_once<T: Row>(db: &Db, q: Q) -> Result<Vec<T>, StoreError> {
    if db.is_postgres() {
        return q.all(On::Db(db)).await;
    }
    let mut tx = db.begin_relaxed().await?;
    let rows = q.all(&mut tx).await?;
    tx.commit().await?;
    Ok(rows)
}
