//! Signing keys.

use crate::{
    StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::Ts;
use serde_json::Value;
use sqlx_macros::FromRow;

/// A signing key as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredKey {
    /// Names it in `jwks` and in token headers.
    pub kid: String,
    /// PKCS#8, sealed.
    pub sealed: Vec<u8>,
    /// Public half as a JSON Web Key.
    pub public_jwk: Value,
    /// When it was created.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct KeyRow {
    kid: String,
    sealed: Vec<u8>,
    public_jwk: Value,
    created_at: TsCodec,
}

impl From<KeyRow> for StoredKey {
    fn from(row: KeyRow) -> StoredKey {
        StoredKey {
            kid: row.kid,
            sealed: row.sealed,
            public_jwk: row.public_jwk,
            created_at: row.created_at.0,
        }
    }
}

// Two processes may create one each at their first start: the later one signs, both verify.
const CURRENT: &str = "SELECT kid, sealed, public_jwk, created_at FROM oidc_keys WHERE retired_at IS NULL \
     ORDER BY created_at DESC, kid DESC LIMIT 1";

const PUBLISHED: &str = "SELECT kid, sealed, public_jwk, created_at FROM oidc_keys \
     WHERE retired_at IS NULL OR retired_at > ? \
     ORDER BY CASE WHEN retired_at IS NULL THEN 0 ELSE 1 END, created_at DESC, kid DESC";

const INSERT: &str = "INSERT INTO oidc_keys (kid, sealed, public_jwk, created_at) VALUES (?, ?, ?, ?)";

const RETIRE: &str = "UPDATE oidc_keys SET retired_at = ? WHERE retired_at IS NULL AND kid <> ?";

const PURGE: &str = "DELETE FROM oidc_keys WHERE retired_at <= ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![CURRENT, PUBLISHED, INSERT, RETIRE, PURGE];

/// The key that signs now.
pub async fn current(on: impl Into<On<'_>>) -> Result<Option<StoredKey>, StoreError> {
    Ok(Q::new(CURRENT).optional::<KeyRow>(on).await?.map(StoredKey::from))
}

/// The keys whose tokens may still be valid: those not retired before `retired_after`.
pub async fn published(on: impl Into<On<'_>>, retired_after: Ts) -> Result<Vec<StoredKey>, StoreError> {
    let rows: Vec<KeyRow> = Q::new(PUBLISHED).bind(retired_after).all(on).await?;
    Ok(rows.into_iter().map(StoredKey::from).collect())
}

/// Adds a key.
pub async fn insert(tx: &mut Tx, key: &StoredKey) -> Result<(), StoreError> {
    let q = Q::new(INSERT)
        .bind(&key.kid)
        .bind(key.sealed.clone())
        .bind(key.public_jwk.clone())
        .bind(key.created_at);
    q.run(tx).await.map(|_| ())
}

/// Retires all keys but one; they verify until they are no longer [`published`].
pub async fn retire_others(tx: &mut Tx, kid: &str, at: Ts) -> Result<u64, StoreError> {
    Q::new(RETIRE).bind(at).bind(kid).run(tx).await
}

/// Removes keys retired before `before`.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).run(tx).await
}
