//! The file between validation and confirmation: bound to its user and family, usable once, for half an hour.

use super::ImportKind;
use crate::Directory;
use bailiwick_domain::{Error, Result};
use bailiwick_platform::csv;
use bailiwick_policy::Caller;
use bailiwick_store::imports::{self, ImportSession};
use std::time::Duration;
use uuid::Uuid;

/// How long a file waits for its confirmation.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Files of one user that may wait at the same time; a further one replaces the oldest.
const WAITING: i64 = 5;

/// Keeps a file of `size` bytes, packed.
pub(super) async fn save(
    service: &Directory,
    caller: &Caller,
    kind: ImportKind,
    packed: Vec<u8>,
    size: usize,
) -> Result<Uuid> {
    let user_id = caller.user_id().ok_or_else(|| Error::internal("an import without a user"))?;
    let session = ImportSession {
        id: service.platform.fresh(),
        user_id,
        family: kind.word().to_owned(),
        content: packed,
        size: i64::try_from(size).map_err(Error::internal)?,
        created_at: service.platform.now(),
    };
    let id = session.id;
    let mut tx = service.platform.db.begin().await?;
    imports::insert(&mut tx, session, WAITING).await?;
    tx.commit().await?;
    Ok(id)
}

/// Takes the file for good: a second request does not find it.
pub(super) async fn claim(
    service: &Directory,
    caller: &Caller,
    kind: ImportKind,
    id: &str,
) -> Result<ImportSession> {
    let lost = || Error::bad_request("import session not found or expired. please re-validate the CSV file");
    let id = id.parse::<uuid::fmt::Hyphenated>().map_err(|_| lost())?.into_uuid();
    let mut tx = service.platform.db.begin().await?;
    let stored = imports::lock(&mut tx, id).await?;
    let oldest = service.platform.now().minus(LIFETIME);
    let session = stored.filter(|session| session.created_at > oldest).ok_or_else(lost)?;
    if caller.user_id() != Some(session.user_id) {
        return Err(Error::forbidden("this import session belongs to another user"));
    }
    if session.family != kind.word() {
        return Err(Error::bad_request("import session entity type mismatch"));
    }
    imports::remove(&mut tx, id).await?;
    tx.commit().await?;
    Ok(session)
}

/// The rows of a kept file.
pub(super) async fn rows(
    service: &Directory,
    kind: ImportKind,
    session: ImportSession,
) -> Result<Vec<Vec<String>>> {
    let read = move || {
        let size = usize::try_from(session.size).map_err(Error::internal)?;
        let file = zstd::bulk::decompress(&session.content, size).map_err(Error::internal)?;
        csv::read(&file, kind.columns())
    };
    service.platform.tasks.spawn_blocking(read).await.map_err(Error::internal)?
}

/// Removes files that can no longer be confirmed; returns how many.
pub async fn purge_expired(service: &Directory) -> Result<u64> {
    let mut tx = service.platform.db.begin_relaxed().await?;
    let purged = imports::purge(&mut tx, service.platform.now().minus(LIFETIME)).await?;
    tx.commit().await?;
    Ok(purged)
}
