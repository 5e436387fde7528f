//! The processes that serve this database, each with the data other processes need about it.

use crate::{
    Db, StoreError,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::Ts;
use sqlx_macros::FromRow;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Created at its start.
    pub id: Uuid,
    /// Where it runs, for people.
    pub host: String,
    /// Where clients reach it.
    pub public_url: String,
    /// `iss` of its tokens.
    pub issuer: String,
    /// `aud` of its tokens.
    pub audience: String,
    /// Fingerprint of the secret it seals and signs with.
    pub secret: Vec<u8>,
    /// Fingerprint of the secret it also accepts.
    pub previous_secret: Option<Vec<u8>>,
    pub started_at: Ts,
    /// Its last sign of life.
    pub seen_at: Ts,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    host: String,
    public_url: String,
    issuer: String,
    audience: String,
    secret: Vec<u8>,
    previous_secret: Option<Vec<u8>>,
    started_at: TsCodec,
    seen_at: TsCodec,
}

const SIGN: &str = "INSERT INTO processes (id, host, public_url, issuer, audience, secret, previous_secret, \
    started_at, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at";
const TOUCH: &str = "UPDATE processes SET seen_at = ? WHERE id = ?";
const FORGET: &str = "DELETE FROM processes WHERE seen_at < ?";
const LEAVE: &str = "DELETE FROM processes WHERE id = ?";
const SEEN: &str = "SELECT id, host, public_url, issuer, audience, secret, previous_secret, started_at, \
    seen_at FROM processes WHERE seen_at BETWEEN ? AND ? ORDER BY started_at, id";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![SIGN, TOUCH, FORGET, LEAVE, SEEN];

/// Writes the sign of life of a process, and removes processes last seen before a time.
pub async fn sign(db: &Db, process: &Process, forget_before: Ts) -> Result<(), StoreError> {
    let mut tx = db.begin_relaxed().await?;
    Q::new(SIGN)
        .bind(process.id)
        .bind(&process.host)
        .bind(&process.public_url)
        .bind(&process.issuer)
        .bind(&process.audience)
        .bind(&process.secret[..])
        .bind(process.previous_secret.clone())
        .bind(process.started_at)
        .bind(process.seen_at)
        .run(&mut tx)
        .await?;
    Q::new(FORGET).bind(forget_before).run(&mut tx).await?;
    tx.commit().await
}

/// Writes the sign of life of a process that has given one before. Any other process writes nothing, but begins a
/// transaction and ends it.
pub async fn touch(db: &Db, id: Uuid, seen_at: Ts) -> Result<(), StoreError> {
    let mut tx = db.begin_relaxed().await?;
    Q::new(TOUCH).bind(seen_at).bind(id).run(&mut tx).await?;
    tx.commit().await
}

/// Removes a process from the list, because it stops.
pub async fn leave(db: &Db, id: Uuid) -> Result<(), StoreError> {
    let mut tx = db.begin_relaxed().await?;
    Q::new(LEAVE).bind(id).run(&mut tx).await?;
    tx.commit().await
}

/// Those that were seen between two times, the oldest first.
pub async fn active_between(on: impl Into<On<'_>>, from: Ts, to: Ts) -> Result<Vec<Process>, StoreError> {
    let rows: Vec<Row> = Q::new(SEEN).bind(from).bind(to).all(on).await?;
    let process = |row: Row| Process {
        id: row.id,
        host: row.host,
        public_url: row.public_url,
        issuer: row.issuer,
        audience: row.audience,
        secret: row.secret,
        previous_secret: row.previous_secret,
        started_at: row.started_at.0,
        seen_at: row.seen_at.0,
    };
    Ok(rows.into_iter().map(process).collect())
}
