//! Consents of users to be impersonated. Every write moves the epoch of the lists that show which users a caller may
//! impersonate.

use crate::{
    Db, StoreError, Tx,
    sql::{On, Q},
    time::TsCodec,
};
use bailiwick_domain::{Ts, UserId};
use sqlx_macros::FromRow;
use std::collections::HashSet;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    /// Id; each consent has a new one.
    pub id: Uuid,
    /// The user who gives it.
    pub user_id: UserId,
    /// From then on it is none.
    pub expires_at: Ts,
    /// Its duration in minutes.
    pub max_duration_minutes: i64,
    /// When it was given.
    pub created_at: Ts,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    user_id: Uuid,
    expires_at: TsCodec,
    max_duration_minutes: i64,
    created_at: TsCodec,
}

impl From<Row> for Consent {
    fn from(row: Row) -> Consent {
        Consent {
            id: row.id,
            user_id: UserId(row.user_id),
            expires_at: row.expires_at.0,
            max_duration_minutes: row.max_duration_minutes,
            created_at: row.created_at.0,
        }
    }
}

const GET: &str = "SELECT id, user_id, expires_at, max_duration_minutes, created_at \
     FROM impersonation_consents WHERE user_id = ? AND expires_at > ?";
const HOLD: &str = "SELECT id, user_id, expires_at, max_duration_minutes, created_at \
     FROM impersonation_consents WHERE user_id = ? AND expires_at > ? [[FOR SHARE||]]";
const PUT: &str = "INSERT INTO impersonation_consents \
     (user_id, id, expires_at, max_duration_minutes, created_at) VALUES (?, ?, ?, ?, ?) \
     ON CONFLICT (user_id) DO UPDATE SET id = excluded.id, expires_at = excluded.expires_at, \
     max_duration_minutes = excluded.max_duration_minutes, created_at = excluded.created_at";
const REMOVE: &str = "DELETE FROM impersonation_consents WHERE user_id = ?";
const NEXT_EXPIRY: &str =
    "SELECT MIN(expires_at) AS expires_at FROM impersonation_consents WHERE expires_at > ?";
const PURGE: &str = "DELETE FROM impersonation_consents WHERE user_id IN \
     (SELECT user_id FROM impersonation_consents WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![GET, HOLD, PUT, REMOVE, NEXT_EXPIRY, PURGE];

/// The user's live consent.
pub async fn get(on: impl Into<On<'_>>, user: UserId, now: Ts) -> Result<Option<Consent>, StoreError> {
    Ok(Q::new(GET).bind(user).bind(now).optional::<Row>(on).await?.map(Consent::from))
}

/// The user's live consent, locked against replacement and withdrawal until the transaction ends.
pub async fn hold(tx: &mut Tx, user: UserId, now: Ts) -> Result<Option<Consent>, StoreError> {
    Ok(Q::new(HOLD).bind(user).bind(now).optional::<Row>(tx).await?.map(Consent::from))
}

/// Stores a consent in place of the previous one.
pub async fn put(tx: &mut Tx, consent: &Consent) -> Result<(), StoreError> {
    tx.people_changed();
    Q::new(PUT)
        .bind(consent.user_id)
        .bind(consent.id)
        .bind(consent.expires_at)
        .bind(consent.max_duration_minutes)
        .bind(consent.created_at)
        .run(tx)
        .await
        .map(|_| ())
}

/// Withdraws the user's consent, if there is one.
pub async fn remove(tx: &mut Tx, user: UserId) -> Result<bool, StoreError> {
    tx.people_changed();
    Ok(Q::new(REMOVE).bind(user).run(tx).await? > 0)
}

/// Those of these users that have a live consent; as many as a page holds.
pub async fn of_users(
    db: &Db,
    users: impl IntoIterator<Item = UserId>,
    now: Ts,
) -> Result<HashSet<UserId>, StoreError> {
    let users: Vec<Uuid> = users.into_iter().map(|user| user.0).collect();
    let mut q = Q::new("SELECT user_id FROM impersonation_consents WHERE expires_at > ? AND ").bind(now);
    q.one_of(db, "user_id", &users);
    let rows: Vec<(Uuid,)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(id,)| UserId(id)).collect())
}

/// When the next live consent expires. As long as neither this nor the list epoch of people changes, the same consents
/// are live.
pub async fn next_expiry(db: &Db, now: Ts) -> Result<Option<Ts>, StoreError> {
    let (at,): (Option<TsCodec>,) = Q::new(NEXT_EXPIRY).bind(now).one(db).await?;
    Ok(at.map(Ts::from))
}

/// Removes some of the consents that expired before `before`; lists no longer show them.
pub async fn purge(tx: &mut Tx, before: Ts, limit: i64) -> Result<u64, StoreError> {
    Q::new(PURGE).bind(before).bind(limit).run(tx).await
}
