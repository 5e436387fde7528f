//! The fingerprints of the secrets that a database has been used with.

use crate::{
    Db, StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::Ts;
use sqlx_macros::FromRow;

/// A secret that values were sealed or signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedSecret {
    /// Derived from the secret; reveals nothing about it.
    pub fingerprint: Vec<u8>,
    /// When a process first had it.
    pub created_at: Ts,
    /// From then on no stored value is sealed with it.
    pub resealed_at: Option<Ts>,
}

#[derive(FromRow)]
struct Row {
    fingerprint: Vec<u8>,
    created_at: TsCodec,
    resealed_at: Option<TsCodec>,
}

const HOLD: &str = "SELECT [[CAST(count(pg_advisory_xact_lock(7263080)) AS BIGINT)||0]]";
const ALL: &str = "SELECT fingerprint, created_at, resealed_at FROM secrets ORDER BY created_at, fingerprint";
const KEEP: &str = "INSERT INTO secrets (fingerprint, created_at) VALUES (?, ?) \
    ON CONFLICT (fingerprint) DO UPDATE SET created_at = excluded.created_at, resealed_at = NULL";
const RESEALED: &str = "UPDATE secrets SET resealed_at = ? WHERE fingerprint <> ? AND resealed_at IS NULL";
const FORGET: &str = "DELETE FROM secrets";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![HOLD, ALL, KEEP, RESEALED, FORGET];

/// Begins a transaction that locks the fingerprints against other writers.
pub async fn begin(db: &Db) -> Result<Tx, StoreError> {
    let mut tx = db.begin().await?;
    Q::new(HOLD).count(&mut tx).await?;
    Ok(tx)
}

/// All, the oldest first.
pub async fn all(on: impl Into<On<'_>>) -> Result<Vec<UsedSecret>, StoreError> {
    let rows: Vec<Row> = Q::new(ALL).all(on).await?;
    let used_secret = |row: Row| UsedSecret {
        fingerprint: row.fingerprint,
        created_at: row.created_at.0,
        resealed_at: row.resealed_at.map(|at| at.0),
    };
    Ok(rows.into_iter().map(used_secret).collect())
}

/// From now on values may be sealed with this secret.
pub async fn remember(tx: &mut Tx, fingerprint: &[u8], at: Ts) -> Result<(), StoreError> {
    Q::new(KEEP).bind(fingerprint).bind(at).run(tx).await.map(|_| ())
}

/// Every stored value is sealed with this secret.
pub async fn resealed(tx: &mut Tx, fingerprint: &[u8], at: Ts) -> Result<(), StoreError> {
    Q::new(RESEALED).bind(at).bind(fingerprint).run(tx).await.map(|_| ())
}

/// Forgets all; how many there were.
pub async fn forget(tx: &mut Tx) -> Result<u64, StoreError> {
    Q::new(FORGET).run(tx).await
}
