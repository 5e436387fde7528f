//! Personal API keys (spec: account#api-keys). Their events are in [`events`].

pub mod events;

use crate::{
    StoreError, Tx,
    identities::{Identified, UserRow, user_columns},
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{ApiKeyId, OrgId, Ts, UserId};
use bailiwick_policy::KeyMode;
use sqlx_macros::FromRow;
use std::time::Duration;
use uuid::Uuid;

/// The most keys a list shows besides the usable ones.
const LISTED: i64 = 100;

/// A key as its owner sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    /// The owner.
    pub user_id: UserId,
    /// The owner's present organization.
    pub organization_id: OrgId,
    /// The name given by the owner.
    pub name: String,
    /// Lookup part of the token.
    pub key_public: String,
    /// Which of the owner's permissions the key has.
    pub mode: KeyMode,
    /// From then on it is refused.
    pub expires_at: Ts,
    /// Last use, up to a minute late.
    pub last_used_at: Option<Ts>,
    /// Address of that use.
    pub last_used_ip: Option<String>,
    /// End by its owner.
    pub revoked_at: Option<Ts>,
    /// Creation.
    pub created_at: Ts,
}

/// A key as authentication reads it, with its owner and their state.
#[derive(Clone, Debug, PartialEq)]
pub struct Presented {
    pub id: ApiKeyId,
    /// Given by the owner.
    pub name: String,
    /// `hex(salt):hex(SHA-256(salt ‖ secret part))`.
    pub secret_hash: String,
    /// Which of the owner's permissions the key has.
    pub mode: KeyMode,
    /// From then on it is refused.
    pub expires_at: Ts,
    /// Last use, up to a minute late.
    pub last_used_at: Option<Ts>,
    /// Whether its owner has ended it.
    pub is_revoked: bool,
    /// The owner.
    pub user: Identified,
}

/// A key to insert.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// Fresh id.
    pub id: ApiKeyId,
    /// The owner.
    pub user_id: UserId,
    /// The name given by the owner.
    pub name: String,
    /// Lookup part of the token.
    pub key_public: String,
    /// Salted hash of the secret part.
    pub secret_hash: String,
    /// Which of the owner's permissions the key has.
    pub mode: KeyMode,
    /// From then on it is refused.
    pub expires_at: Ts,
    /// Now.
    pub at: Ts,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    user_id: Uuid,
    organization_id: Uuid,
    name: String,
    key_public: String,
    mode: String,
    expires_at: TsCodec,
    last_used_at: Option<TsCodec>,
    last_used_ip: Option<String>,
    revoked_at: Option<TsCodec>,
    created_at: TsCodec,
}

fn mode(word: &str) -> Result<KeyMode, StoreError> {
    KeyMode::parse(word).ok_or_else(|| StoreError::Corrupt(format!("mode \"{word}\" of an API key")))
}

impl TryFrom<Row> for ApiKey {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<ApiKey, StoreError> {
        Ok(ApiKey {
            id: ApiKeyId(row.id),
            user_id: UserId(row.user_id),
            organization_id: OrgId(row.organization_id),
            mode: mode(&row.mode)?,
            name: row.name,
            key_public: row.key_public,
            expires_at: row.expires_at.0,
            last_used_at: row.last_used_at.map(Ts::from),
            last_used_ip: row.last_used_ip,
            revoked_at: row.revoked_at.map(Ts::from),
            created_at: row.created_at.0,
        })
    }
}

#[derive(FromRow)]
struct PresentedRow {
    key_id: Uuid,
    key_name: String,
    secret_hash: String,
    mode: String,
    expires_at: TsCodec,
    last_used_at: Option<TsCodec>,
    revoked_at: Option<TsCodec>,
    #[sqlx(flatten)]
    user: UserRow,
}

macro_rules! columns {
    () => {
        "SELECT k.id, k.user_id, u.organization_id, k.name, k.key_public, k.mode, k.expires_at, k.last_used_at, \
         k.last_used_ip, k.revoked_at, k.created_at FROM api_keys k JOIN users u ON u.id = k.user_id"
    };
}

const BY_PUBLIC: &str = concat!(
    "SELECT k.id AS key_id, k.name AS key_name, k.secret_hash, k.mode, k.expires_at, k.last_used_at, k.revoked_at, ",
    user_columns!(),
    " FROM api_keys k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id \
     WHERE k.key_public = ?"
);

const OF_USER: &str = concat!(
    columns!(),
    " WHERE k.user_id = ? AND ((k.revoked_at IS NULL AND k.expires_at > ?) OR k.id IN ( \
     SELECT n.id FROM api_keys n WHERE n.user_id = ? ORDER BY n.created_at DESC, n.id DESC LIMIT ?)) \
     ORDER BY k.created_at DESC, k.id DESC"
);

const ONE_OF_USER: &str = concat!(columns!(), " WHERE k.id = ? AND k.user_id = ? [[FOR UPDATE OF k||]]");

const COUNT_ACTIVE: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM api_keys \
     WHERE user_id = ? AND revoked_at IS NULL AND expires_at > ?";

const INSERT: &str = "INSERT INTO api_keys (id, user_id, name, key_public, secret_hash, mode, expires_at, \
     created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

const REVOKE: &str = "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL";

const NOTE_USE: &str = "UPDATE api_keys SET last_used_at = ?, last_used_ip = ? \
     WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![BY_PUBLIC, OF_USER, ONE_OF_USER, COUNT_ACTIVE, INSERT, REVOKE, NOTE_USE];

/// The key with this lookup part and its owner: the one read of a request with an API key.
pub async fn by_public(on: impl Into<On<'_>>, public: &str) -> Result<Option<Presented>, StoreError> {
    let Some(row) = Q::new(BY_PUBLIC).bind(public).optional::<PresentedRow>(on).await? else {
        return Ok(None);
    };
    Ok(Some(Presented {
        id: ApiKeyId(row.key_id),
        name: row.key_name,
        secret_hash: row.secret_hash,
        mode: mode(&row.mode)?,
        expires_at: row.expires_at.0,
        last_used_at: row.last_used_at.map(Ts::from),
        is_revoked: row.revoked_at.is_some(),
        user: row.user.into_identified()?,
    }))
}

/// A user's keys, the newest first: all usable ones, and of the others as many as fit into the newest hundred.
pub async fn of_user(on: impl Into<On<'_>>, user: UserId, now: Ts) -> Result<Vec<ApiKey>, StoreError> {
    let q = Q::new(OF_USER).bind(user).bind(now).bind(user).bind(LISTED);
    q.all::<Row>(on).await?.into_iter().map(ApiKey::try_from).collect()
}

/// One key of the user, held until the transaction ends.
pub async fn lock(tx: &mut Tx, id: ApiKeyId, user: UserId) -> Result<Option<ApiKey>, StoreError> {
    Q::new(ONE_OF_USER).bind(id).bind(user).optional::<Row>(tx).await?.map(ApiKey::try_from).transpose()
}

/// How many of the user's keys can be used now.
pub async fn count_active(on: impl Into<On<'_>>, user: UserId, now: Ts) -> Result<u64, StoreError> {
    Q::new(COUNT_ACTIVE).bind(user).bind(now).count(on).await
}

/// Inserts a key. The caller holds the user's row, so that two creations cannot exceed the limit together.
pub async fn insert(tx: &mut Tx, new: &NewApiKey) -> Result<(), StoreError> {
    Q::new(INSERT)
        .bind(new.id)
        .bind(new.user_id)
        .bind(&new.name)
        .bind(&new.key_public)
        .bind(&new.secret_hash)
        .bind(new.mode.as_str())
        .bind(new.expires_at)
        .bind(new.at)
        .run(tx)
        .await
        .map(|_| ())
}

/// Ends a key; the next request with it is refused.
pub async fn revoke(tx: &mut Tx, id: ApiKeyId, at: Ts) -> Result<(), StoreError> {
    Q::new(REVOKE).bind(at).bind(id).run(tx).await.map(|_| ())
}

/// Notes a use unless a use was noted within `interval`, on any replica.
pub async fn note_use(
    tx: &mut Tx,
    id: ApiKeyId,
    at: Ts,
    ip: &str,
    interval: Duration,
) -> Result<(), StoreError> {
    Q::new(NOTE_USE).bind(at).bind(ip).bind(id).bind(at.minus(interval)).run(tx).await.map(|_| ())
}
