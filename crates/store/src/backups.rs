//! Backups of systems (spec: backups#operations): the rows are the list; the objects they name are stored elsewhere. A
//! transaction that removes a row also enqueues the deletion of its object ([`bury`]).

use crate::{
    StoreError, Tx,
    jobs::{self, NewJob},
    sql::{On, Q},
    time::TsCodec,
    tree::subtree_column,
};
use bailiwick_domain::{JobId, OrgId, OrgType, SystemId, Ts};
use serde_json::json;
use sqlx_macros::FromRow;
use uuid::Uuid;

/// Kind of the jobs that delete objects: payload `{"keys":[…]}`.
pub const DELETION: &str = "asset.delete";
/// Objects of one job.
const KEYS_OF_A_JOB: usize = 200;

macro_rules! columns {
    () => {
        "SELECT id, system_id, organization_id, object_key, filename, size, sha256, mimetype, uploaded_at, \
         uploaded_from FROM backups "
    };
}

const LIST: &str = concat!(columns!(), "WHERE system_id = ? ORDER BY uploaded_at DESC, id DESC");
const GET: &str = concat!(columns!(), "WHERE id = ?");
const BY_OBJECT: &str = concat!(columns!(), "WHERE object_key = ?");
const INSERT: &str = "INSERT INTO backups (id, system_id, organization_id, object_key, filename, size, sha256, \
     mimetype, uploaded_at, uploaded_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const REMOVE: &str = "DELETE FROM backups WHERE id = ?";
const RELOCATE: &str = "UPDATE backups SET organization_id = ?, object_key = ? WHERE id = ?";
const USED: &str = "SELECT CAST(COALESCE(SUM(size), 0) AS bigint) FROM backups WHERE organization_id = ?";
const HOLD_ORGANIZATION: &str = "SELECT id FROM organizations WHERE id = ? [[FOR NO KEY UPDATE||]]";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![LIST, GET, BY_OBJECT, INSERT, REMOVE, RELOCATE, USED, HOLD_ORGANIZATION];

/// A stored backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// UUIDv7 with suffix.
    pub id: String,
    pub system_id: SystemId,
    /// Organization of the system.
    pub organization_id: OrgId,
    /// Where the bytes are.
    pub object_key: String,
    /// Cleaned name of the file.
    pub filename: String,
    /// Bytes.
    pub size: i64,
    /// Digest in hexadecimal.
    pub sha256: String,
    /// As the system called it.
    pub mimetype: String,
    /// When.
    pub uploaded_at: Ts,
    /// Address it came from.
    pub uploaded_from: String,
}

#[derive(FromRow)]
struct Row {
    id: String,
    system_id: Uuid,
    organization_id: Uuid,
    object_key: String,
    filename: String,
    size: i64,
    sha256: String,
    mimetype: String,
    uploaded_at: TsCodec,
    uploaded_from: String,
}

impl From<Row> for Backup {
    fn from(r: Row) -> Backup {
        Backup {
            id: r.id,
            system_id: SystemId(r.system_id),
            organization_id: OrgId(r.organization_id),
            object_key: r.object_key,
            filename: r.filename,
            size: r.size,
            sha256: r.sha256,
            mimetype: r.mimetype,
            uploaded_at: r.uploaded_at.0,
            uploaded_from: r.uploaded_from,
        }
    }
}

/// The backups of a system, the newest first. Pruning keeps them few.
pub async fn list(on: impl Into<On<'_>>, system: SystemId) -> Result<Vec<Backup>, StoreError> {
    let rows: Vec<Row> = Q::new(LIST).bind(system).all(on).await?;
    Ok(rows.into_iter().map(Backup::from).collect())
}

/// A backup of a system.
pub async fn get(on: impl Into<On<'_>>, system: SystemId, id: &str) -> Result<Option<Backup>, StoreError> {
    let row: Option<Row> = Q::new(GET).bind(id).optional(on).await?;
    Ok(row.map(Backup::from).filter(|backup| backup.system_id == system))
}

/// The backup with its bytes under this key.
pub async fn by_object(on: impl Into<On<'_>>, key: &str) -> Result<Option<Backup>, StoreError> {
    let row: Option<Row> = Q::new(BY_OBJECT).bind(key).optional(on).await?;
    Ok(row.map(Backup::from))
}

/// Adds a backup; its object is already stored.
pub async fn insert(tx: &mut Tx, backup: &Backup) -> Result<(), StoreError> {
    Q::new(INSERT)
        .bind(&backup.id)
        .bind(backup.system_id)
        .bind(backup.organization_id)
        .bind(&backup.object_key)
        .bind(&backup.filename)
        .bind(backup.size)
        .bind(&backup.sha256)
        .bind(&backup.mimetype)
        .bind(backup.uploaded_at)
        .bind(&backup.uploaded_from)
        .run(tx)
        .await?;
    Ok(())
}

/// Removes a row; the caller must [`bury`] its object. False when another transaction was faster.
pub async fn remove(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    Ok(Q::new(REMOVE).bind(id).run(tx).await? > 0)
}

/// Records that the bytes of a backup are under another key, which belongs to this organization.
pub async fn relocate(
    tx: &mut Tx,
    id: &str,
    organization: OrgId,
    object_key: &str,
) -> Result<(), StoreError> {
    Q::new(RELOCATE).bind(organization).bind(object_key).bind(id).run(tx).await?;
    Ok(())
}

/// Bytes of all backups of an organization.
pub async fn used(on: impl Into<On<'_>>, organization: OrgId) -> Result<i64, StoreError> {
    let used: Option<(i64,)> = Q::new(USED).bind(organization).optional(on).await?;
    Ok(used.map_or(0, |(bytes,)| bytes))
}

/// Locks the organization, so that two simultaneous uploads cannot exceed its quota; false when it no longer exists.
pub async fn hold_organization(tx: &mut Tx, organization: OrgId) -> Result<bool, StoreError> {
    let row: Option<(Uuid,)> = Q::new(HOLD_ORGANIZATION).bind(organization).optional(tx).await?;
    Ok(row.is_some())
}

/// Where the bytes of a whole subtree are: for its destruction.
pub async fn objects_below(
    tx: &mut Tx,
    organization: OrgId,
    org_type: OrgType,
) -> Result<Vec<String>, StoreError> {
    let column = subtree_column(org_type, "organization_id");
    let sql = format!(
        "SELECT b.object_key FROM backups b JOIN systems s ON s.id = b.system_id WHERE s.{column} = ?"
    );
    let keys: Vec<(String,)> = Q::new(&sql).bind(organization).all(tx).await?;
    Ok(keys.into_iter().map(|(key,)| key).collect())
}

/// Enqueues the deletion of objects without references.
pub async fn bury(
    tx: &mut Tx,
    keys: &[String],
    at: Ts,
    mut fresh: impl FnMut() -> JobId,
) -> Result<(), StoreError> {
    for keys in keys.chunks(KEYS_OF_A_JOB) {
        let job = NewJob {
            id: fresh(),
            kind: DELETION,
            key: None,
            payload: json!({"keys": keys}),
            next_at: at,
            at,
        };
        jobs::enqueue(tx, job).await?;
    }
    Ok(())
}

/// Enqueues the deletion of one object for later, for an upload that may never end. A second call for the same object
/// replaces the first; [`cancel_removal`] cancels it.
pub async fn bury_later(tx: &mut Tx, id: JobId, key: &str, next_at: Ts, at: Ts) -> Result<(), StoreError> {
    let payload = json!({"keys": [key]});
    jobs::enqueue(tx, NewJob { id, kind: DELETION, key: Some(key.to_owned()), payload, next_at, at }).await
}

/// Cancels the deletion of an object, in the transaction that begins to refer to it. False when another process may
/// already be deleting it: then no row may refer to it any more.
pub async fn cancel_removal(tx: &mut Tx, key: &str) -> Result<bool, StoreError> {
    jobs::take_back(tx, DELETION, key).await
}
