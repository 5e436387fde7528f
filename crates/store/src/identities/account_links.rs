//! Links between users and accounts of external identity providers (spec: authentication#identity-modes). A user has at
//! most one at each issuer, an account belongs to at most one user.

use crate::{
    StoreError, Tx,
    sql::{On, Q},
};
use bailiwick_domain::{Ts, UserId};
use uuid::Uuid;

const USER: &str = "SELECT user_id FROM user_identities WHERE issuer = ? AND subject = ?";
const HOLDER: &str = "SELECT i.user_id, CASE WHEN u.deleted_at IS NULL THEN 0 ELSE 1 END \
    FROM user_identities i JOIN users u ON u.id = i.user_id WHERE i.issuer = ? AND i.subject = ?";
const INSERT: &str = "INSERT INTO user_identities (issuer, subject, user_id, linked_at) \
    VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
const REMOVE: &str = "DELETE FROM user_identities WHERE user_id = ? AND issuer = ? RETURNING subject";

const REMOVE_SUBJECT: &str = "DELETE FROM user_identities WHERE user_id = ? AND issuer = ? AND subject = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![USER, HOLDER, INSERT, REMOVE, REMOVE_SUBJECT];

/// The user a subject of an issuer is linked to.
pub async fn user(on: impl Into<On<'_>>, issuer: &str, subject: &str) -> Result<Option<UserId>, StoreError> {
    let row: Option<(Uuid,)> = Q::new(USER).bind(issuer).bind(subject).optional(on).await?;
    Ok(row.map(|(id,)| UserId(id)))
}

/// The user a subject of an issuer is linked to, and whether the user is deleted individually: then they keep the
/// subject only until another user is found for it.
pub async fn holder(
    on: impl Into<On<'_>>,
    issuer: &str,
    subject: &str,
) -> Result<Option<(UserId, bool)>, StoreError> {
    let row: Option<(Uuid, i32)> = Q::new(HOLDER).bind(issuer).bind(subject).optional(on).await?;
    Ok(row.map(|(id, is_deleted)| (UserId(id), is_deleted != 0)))
}

/// Links them; false when either has a link already.
pub async fn insert(
    tx: &mut Tx,
    issuer: &str,
    subject: &str,
    user: UserId,
    at: Ts,
) -> Result<bool, StoreError> {
    Ok(Q::new(INSERT).bind(issuer).bind(subject).bind(user).bind(at).run(tx).await? > 0)
}

/// Ends the user's link to an issuer; returns its subject.
pub async fn remove(tx: &mut Tx, issuer: &str, user: UserId) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = Q::new(REMOVE).bind(user).bind(issuer).optional(tx).await?;
    Ok(row.map(|(subject,)| subject))
}

/// Ends the user's link to this very account. False when they have another link by now, or none.
pub async fn remove_subject(
    tx: &mut Tx,
    issuer: &str,
    user: UserId,
    subject: &str,
) -> Result<bool, StoreError> {
    Ok(Q::new(REMOVE_SUBJECT).bind(user).bind(issuer).bind(subject).run(tx).await? > 0)
}
