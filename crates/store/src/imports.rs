//! Files of an import, between validation and confirmation (spec: imports-and-exports#imports).

use crate::{StoreError, Tx, sql::Q, time::TsCodec};
use bailiwick_domain::{Ts, UserId};
use uuid::Uuid;

const INSERT: &str =
    "INSERT INTO import_sessions (id, user_id, family, content, size, created_at) VALUES (?, ?, ?, ?, ?, ?)";
const KEEP_LATEST: &str = "DELETE FROM import_sessions WHERE user_id = ? AND id NOT IN ( \
    SELECT id FROM import_sessions WHERE user_id = ? ORDER BY created_at DESC, id DESC LIMIT ?)";
const LOCK: &str = "SELECT id, user_id, family, content, size, created_at FROM import_sessions \
    WHERE id = ? [[FOR UPDATE||]]";
const REMOVE: &str = "DELETE FROM import_sessions WHERE id = ?";
const PURGE: &str = "DELETE FROM import_sessions WHERE created_at < ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![INSERT, KEEP_LATEST, LOCK, REMOVE, PURGE];

/// A file that waits to be confirmed.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportSession {
    /// Fresh id.
    pub id: Uuid,
    /// The user who may confirm it.
    pub user_id: UserId,
    /// `distributors`, `resellers`, `customers` or `users`.
    pub family: String,
    /// The file, compressed.
    pub content: Vec<u8>,
    /// Its bytes before.
    pub size: i64,
    /// When it was validated.
    pub created_at: Ts,
}

#[derive(sqlx_macros::FromRow)]
struct Row {
    id: Uuid,
    user_id: Uuid,
    family: String,
    content: Vec<u8>,
    size: i64,
    created_at: TsCodec,
}

/// Stores a file; of those of the same user only the `most` latest stay.
pub async fn insert(tx: &mut Tx, session: ImportSession, most: i64) -> Result<(), StoreError> {
    let user = session.user_id;
    Q::new(INSERT)
        .bind(session.id)
        .bind(user)
        .bind(session.family)
        .bind(session.content)
        .bind(session.size)
        .bind(session.created_at)
        .run(tx)
        .await?;
    Q::new(KEEP_LATEST).bind(user).bind(user).bind(most).run(tx).await?;
    Ok(())
}

/// Reads a file and locks it, so that only one of several confirmations finds it.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<Option<ImportSession>, StoreError> {
    let row: Option<Row> = Q::new(LOCK).bind(id).optional(tx).await?;
    Ok(row.map(|r| ImportSession {
        id: r.id,
        user_id: UserId(r.user_id),
        family: r.family,
        content: r.content,
        size: r.size,
        created_at: r.created_at.0,
    }))
}

/// Removes a file that is being confirmed.
pub async fn remove(tx: &mut Tx, id: Uuid) -> Result<(), StoreError> {
    Q::new(REMOVE).bind(id).run(tx).await?;
    Ok(())
}

/// Removes files validated before `before`.
pub async fn purge(tx: &mut Tx, before: Ts) -> Result<u64, StoreError> {
    Q::by_index(PURGE).bind(before).run(tx).await
}
