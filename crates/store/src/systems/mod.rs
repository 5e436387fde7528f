//! Systems: their rows with organization and activity, writes by id, the list (in [`mod@list`]).
//!
//! `search_key` holds the folded texts that `search` compares; a statement that writes one of its parts writes it too
//! ([`search_key`]). `organization_counts` counts the rows that are not individually deleted; [`insert`] keeps that
//! here, [`lifecycle`] and [`reassignments`] do as well ([`status`]).

mod filter;
pub mod lifecycle;
mod list;
pub mod reassignments;
mod row;
pub mod stats;
pub mod status;

pub(crate) use filter::own_marked;
pub use filter::{FILTERS, StatusFilter, SystemFilter, SystemOrder};
pub use list::{KnownCounts, OrderedPage, depends_on_status, list, total, walk, walk_query};
pub use row::SystemRecord;

use crate::{
    StoreError, Tx,
    filters::SEPARATOR,
    sql::{On, Q, assignments, names, placeholders, values},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{
    OrgId, System, SystemId, Ts,
    fold::fold,
    org::{Creator, Origin},
};
use bailiwick_policy::{Granted, OrgNode, Path, Standing};
use row::{Row, row_columns};
use serde_json::{Map, Value};
use sqlx_macros::FromRow;
use std::collections::HashSet;
use uuid::Uuid;

/// The columns that people write of a system, each with its value: the one list of what a creation, a change and the
/// bulk load write.
macro_rules! kept_texts {
    ($each:ident) => {
        $each! {
            Text "name" = |s| &s.name;
            Text "name_key" = |s| fold(&s.name);
            Text "notes" = |s| &s.notes;
            Json "custom_data" = |s| Value::Object(s.custom_data.clone());
        }
    };
}
pub(crate) use kept_texts;

/// The columns that come from inventory: what a new document and the bulk load write.
macro_rules! kept_facts {
    ($each:ident) => {
        $each! {
            TextOrNull "type" = |s| s.system_type.as_deref();
            Text "type_key" = |s| fold(s.system_type.as_deref().unwrap_or_default());
            Text "fqdn" = |s| &s.fqdn;
            Text "fqdn_key" = |s| fold(&s.fqdn);
            Text "ipv4_address" = |s| &s.ipv4_address;
            Text "ipv6_address" = |s| &s.ipv6_address;
            Text "version" = |s| &s.version;
        }
    };
}
pub(crate) use kept_facts;

const GET: &str = concat!(
    "SELECT ",
    row_columns!(),
    " FROM systems s JOIN organizations o ON o.id = s.organization_id \
     JOIN system_activity a ON a.system_id = s.id LEFT JOIN organizations c ON c.id = s.creator_org_id \
     WHERE s.id = ?"
);
const LOCK: &str = "SELECT s.id FROM systems s WHERE s.id = ? [[FOR UPDATE||]]";
const LOCK_PLACEMENT: &str = "SELECT id, type, p2, p3, eff_suspended_at, eff_deleted_at, name FROM organizations \
     WHERE id = ? [[FOR SHARE||]]";
const INSERT: &str = concat!(
    "INSERT INTO systems (",
    kept_texts!(names),
    "id, organization_id, p2, p3, search_key, system_key, secret_public, secret_hash, created_by, creator_user_id, \
     creator_org_id, creator_key, created_at, updated_at, registered_at) VALUES (",
    kept_texts!(placeholders),
    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
);
const ACTIVITY: &str = "INSERT INTO system_activity (system_id, organization_id, p2, p3) VALUES (?, ?, ?, ?)";
const ONE_MORE: &str = "INSERT INTO organization_counts (organization_id, systems, systems_unknown) \
     VALUES (?, 1, 1) ON CONFLICT (organization_id) DO UPDATE SET systems = organization_counts.systems + 1, \
     systems_unknown = organization_counts.systems_unknown + 1";
const UPDATE: &str =
    concat!("UPDATE systems SET ", kept_texts!(assignments), "search_key = ?, updated_at = ? WHERE id = ?");
const SET_FACTS: &str =
    concat!("UPDATE systems SET ", kept_facts!(assignments), "search_key = ?, updated_at = ? WHERE id = ?");

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![GET, LOCK, LOCK_PLACEMENT, INSERT, ACTIVITY, ONE_MORE, UPDATE, SET_FACTS];

/// The system, whatever its state; the caller decides whether it may be seen.
pub async fn get(on: impl Into<On<'_>>, id: SystemId) -> Result<Option<SystemRecord>, StoreError> {
    Q::new(GET).bind(id).optional::<Row>(on).await?.map(SystemRecord::try_from).transpose()
}

/// The system, whatever its state, locked against other writers until the transaction ends.
pub async fn lock(tx: &mut Tx, id: SystemId) -> Result<Option<SystemRecord>, StoreError> {
    let row: Option<(Uuid,)> = Q::new(LOCK).bind(id).optional(&mut *tx).await?;
    match row {
        Some(_) => get(tx, id).await,
        None => Ok(None),
    }
}

/// Which of these keys belong to systems of the organization, deleted ones included.
pub async fn keys_among(
    on: impl Into<On<'_>>,
    organization: OrgId,
    keys: impl IntoIterator<Item = &str>,
) -> Result<HashSet<String>, StoreError> {
    let mut q = Q::new("SELECT system_key FROM systems WHERE organization_id = ?").bind(organization);
    q.push(" AND system_key IN (").list(keys).push(")");
    let rows: Vec<(String,)> = q.all(on).await?;
    Ok(rows.into_iter().map(|r| r.0).collect())
}

#[derive(FromRow)]
struct PlacementRow {
    id: Uuid,
    #[sqlx(rename = "type")]
    org_type: String,
    p2: Uuid,
    p3: Uuid,
    eff_suspended_at: Option<TsCodec>,
    eff_deleted_at: Option<TsCodec>,
    name: String,
}

/// An organization named for a new or moved system, held against deletion and moves until the transaction ends.
/// With its name.
pub async fn lock_placement(tx: &mut Tx, id: OrgId) -> Result<Option<(OrgNode, String)>, StoreError> {
    let Some(row) = Q::new(LOCK_PLACEMENT).bind(id).optional::<PlacementRow>(tx).await? else {
        return Ok(None);
    };
    let org_type = parse_type(&row.org_type)?;
    let (suspended, deleted) = (row.eff_suspended_at.is_some(), row.eff_deleted_at.is_some());
    let node = OrgNode {
        path: Path { id: OrgId(row.id), p2: OrgId(row.p2), p3: OrgId(row.p3) },
        org_type,
        standing: Standing { suspended, suspended_above: suspended, deleted, deleted_above: deleted },
    };
    Ok(Some((node, row.name)))
}

/// A system to be stored.
#[derive(Clone, Debug)]
pub struct NewSystem {
    /// Fresh id.
    pub id: SystemId,
    /// Checked name.
    pub name: String,
    /// Free text.
    pub notes: String,
    /// Text to text.
    pub custom_data: Map<String, Value>,
    /// Fresh key.
    pub system_key: String,
    /// Lookup part of the secret.
    pub secret_public: String,
    /// `hex(salt):hex(SHA-256(salt ‖ secret part))`.
    pub secret_hash: String,
    /// Snapshot, possibly attributed.
    pub created_by: Creator,
    /// Creation.
    pub created_at: Ts,
    /// Last change.
    pub updated_at: Ts,
    /// Set when it is born registered.
    pub registered_at: Option<Ts>,
}

/// Stores a new system in the organization that was granted; `path` is that organization's.
pub async fn insert(
    tx: &mut Tx,
    granted: &Granted<OrgId>,
    path: &Path,
    new: NewSystem,
) -> Result<(), StoreError> {
    if granted.id() != path.id {
        return Err(StoreError::Misuse("a grant for another organization"));
    }
    let creator = &new.created_by;
    let [creator_name, creator_email] = searched(creator);
    let (user, org) = (creator.user_id.map(|u| u.0), creator.organization_id.map(|o| o.0));
    let created_by = serde_json::to_value(creator).map_err(|e| StoreError::Encode(e.into()))?;
    let texts: fn(&NewSystem) -> _ = kept_texts!(values);
    Q::new(INSERT)
        .bind_all(texts(&new))
        .bind(new.id)
        .bind(path.id)
        .bind(path.p2)
        .bind(path.p3)
        .bind(search_text([&new.name, "", "", "", creator_name, creator_email, &new.system_key, "", ""]))
        .bind(new.system_key)
        .bind(new.secret_public)
        .bind(new.secret_hash)
        .bind(created_by)
        .bind(user)
        .bind(org)
        .bind(fold(&creator.name))
        .bind(new.created_at)
        .bind(new.updated_at)
        .bind(new.registered_at)
        .run(&mut *tx)
        .await?;
    tx.figures_changed();
    tx.systems_changed();
    let activity = Q::new(ACTIVITY).bind(new.id).bind(path.id).bind(path.p2).bind(path.p3);
    activity.run(&mut *tx).await?;
    Q::new(ONE_MORE).bind(path.id).run(tx).await?;
    Ok(())
}

/// Stores name, notes and custom data of `system` as they are in it, with `updated_at`.
pub async fn update(tx: &mut Tx, granted: &Granted<SystemId>, system: &System) -> Result<(), StoreError> {
    tx.systems_changed();
    let texts: fn(&System) -> _ = kept_texts!(values);
    Q::new(UPDATE)
        .bind_all(texts(system))
        .bind(search_key(system))
        .bind(system.updated_at)
        .bind(granted.id())
        .run(&mut *tx)
        .await?;
    crate::applications::rename_host(tx, granted.id(), &fold(&system.name)).await
}

/// Stores the columns that come from inventory as they are in `system`, with `updated_at`.
pub async fn set_facts(tx: &mut Tx, system: &System) -> Result<(), StoreError> {
    tx.systems_changed();
    let facts: fn(&System) -> _ = kept_facts!(values);
    Q::new(SET_FACTS)
        .bind_all(facts(system))
        .bind(search_key(system))
        .bind(system.updated_at)
        .bind(system.id)
        .run(tx)
        .await?;
    Ok(())
}

/// The texts that `search` compares, apart from the status (spec: systems#list).
pub fn search_key(s: &System) -> String {
    let [creator_name, creator_email] = searched(&s.created_by);
    search_text([
        &s.name,
        s.system_type.as_deref().unwrap_or_default(),
        &s.fqdn,
        &s.version,
        creator_name,
        creator_email,
        &s.system_key,
        &s.ipv4_address,
        &s.ipv6_address,
    ])
}

/// Name and e-mail address of a creator, by which a search finds; empty for one of another branch.
fn searched(creator: &Creator) -> [&str; 2] {
    if creator.origin == Origin::Above { [&creator.name, &creator.email] } else { [""; 2] }
}

fn search_text(parts: [&str; 9]) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push(SEPARATOR);
        }
        text.push_str(&fold(part));
    }
    text
}
