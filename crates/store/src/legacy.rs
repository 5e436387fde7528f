//! Credentials that systems bring from an earlier installation (spec: systems-interface#credentials,
//! systems-interface#older-paths): an older pair of id and secret, and their key and secret themselves, the latter as
//! an Argon2id hash until its first use.
//!
//! Callers that write here raise the auth epoch in the same transaction.

use crate::{
    StoreError, Tx,
    credentials::{self, CredentialRecord, columns},
    sql::{On, Q},
};
use bailiwick_domain::{System, SystemId, Ts};
use sqlx_macros::FromRow;
use uuid::Uuid;

const BY_ID: &str = concat!(
    "SELECT ",
    columns!(", l.secret_hash AS legacy_hash"),
    " JOIN legacy_credentials l ON l.system_id = s.id WHERE l.legacy_id = ?"
);
const HOLD: &str = "SELECT system_id FROM legacy_credentials WHERE system_id = ? [[FOR UPDATE||]]";
const PUT: &str = "INSERT INTO legacy_credentials (system_id, legacy_id, secret_hash, created_at) \
     VALUES (?, ?, ?, ?) ON CONFLICT (system_id) DO UPDATE SET legacy_id = excluded.legacy_id, \
     secret_hash = excluded.secret_hash, created_at = excluded.created_at";
const REMOVE: &str = "DELETE FROM legacy_credentials WHERE system_id = ?";
const REMOVE_ALL: &str = "DELETE FROM legacy_credentials";
const ADOPT: &str = "UPDATE systems SET system_key = ?, search_key = ?, secret_public = ?, secret_hash = ?, \
     updated_at = ? WHERE id = ? AND registered_at IS NULL";
const REPLACE_HASH: &str = "UPDATE systems SET secret_hash = ? WHERE id = ? AND secret_hash = ?";
/// The registration counts as used, so that it cannot be repeated.
const ISSUE: &str = "UPDATE systems SET secret_public = ?, secret_hash = ?, \
     registered_at = COALESCE(registered_at, ?), registered_from = COALESCE(registered_from, ?), \
     authenticated_at = ?, updated_at = ? WHERE id = ?";
const REGISTER: &str =
    "UPDATE systems SET registered_at = ?, updated_at = ? WHERE id = ? AND registered_at IS NULL";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![BY_ID, HOLD, PUT, REMOVE, REMOVE_ALL, ADOPT, REPLACE_HASH, ISSUE, REGISTER];

#[derive(FromRow)]
struct Row {
    #[sqlx(flatten)]
    system: credentials::Row,
    legacy_hash: String,
}

/// The system with this older id, and the hash of the secret that belongs to the id.
pub async fn by_id(
    on: impl Into<On<'_>>,
    legacy_id: &str,
) -> Result<Option<(CredentialRecord, String)>, StoreError> {
    let row: Option<Row> = Q::new(BY_ID).bind(legacy_id).optional(on).await?;
    row.map(|row| Ok((CredentialRecord::try_from(row.system)?, row.legacy_hash))).transpose()
}

/// Whether a system has an older pair, locked until the transaction ends.
pub async fn hold(tx: &mut Tx, system: SystemId) -> Result<bool, StoreError> {
    let row: Option<(Uuid,)> = Q::new(HOLD).bind(system).optional(tx).await?;
    Ok(row.is_some())
}

/// Stores an older pair of a system, in place of its previous one.
pub async fn put(
    tx: &mut Tx,
    system: SystemId,
    legacy_id: &str,
    secret_hash: &str,
    at: Ts,
) -> Result<(), StoreError> {
    Q::new(PUT).bind(system).bind(legacy_id).bind(secret_hash).bind(at).run(tx).await?;
    Ok(())
}

/// Removes the older pair of one system or of all; returns how many.
pub async fn remove(tx: &mut Tx, system: Option<SystemId>) -> Result<u64, StoreError> {
    match system {
        Some(system) => Q::new(REMOVE).bind(system).run(tx).await,
        None => Q::new(REMOVE_ALL).run(tx).await,
    }
}

/// Replaces the key and secret of a system that is not registered; `system` is its row with that key. False when it has
/// been registered meanwhile.
pub async fn adopt(
    tx: &mut Tx,
    system: &System,
    secret_public: &str,
    secret_hash: &str,
    at: Ts,
) -> Result<bool, StoreError> {
    tx.systems_changed();
    tx.figures_changed();
    let adopted = Q::new(ADOPT)
        .bind(&system.system_key)
        .bind(crate::systems::search_key(system))
        .bind(secret_public)
        .bind(secret_hash)
        .bind(at)
        .bind(system.id)
        .run(tx)
        .await?;
    Ok(adopted > 0)
}

/// Replaces an imported hash by the service's own form; false when another hash is stored by now.
pub async fn replace_hash(tx: &mut Tx, id: SystemId, imported: &str, own: &str) -> Result<bool, StoreError> {
    Ok(Q::new(REPLACE_HASH).bind(own).bind(id).bind(imported).run(tx).await? > 0)
}

/// Replaces the secret of a locked system. The new secret needs no registration any more; a missing registration is
/// recorded.
pub async fn issue(
    tx: &mut Tx,
    id: SystemId,
    secret_public: &str,
    secret_hash: &str,
    from: &str,
    now: Ts,
) -> Result<(), StoreError> {
    tx.systems_changed();
    let q = Q::new(ISSUE).bind(secret_public).bind(secret_hash).bind(now).bind(from);
    q.bind(now).bind(now).bind(id).run(tx).await?;
    Ok(())
}

/// Marks a system as registered since `at`; a registered one stays unchanged.
pub async fn register(tx: &mut Tx, id: SystemId, at: Ts, now: Ts) -> Result<(), StoreError> {
    tx.systems_changed();
    Q::new(REGISTER).bind(at).bind(now).bind(id).run(tx).await?;
    Ok(())
}
