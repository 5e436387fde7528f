//! Organizations: one table for the four types. Lists and counts are in [`mod@list`], [`directory`], [`children`],
//! [`counts`] and [`stats`], suspension and deletion in [`lifecycle`] and [`suspended`], the move of a subtree in
//! [`promote`].

pub mod children;
pub mod counts;
pub mod destroy;
pub mod directory;
pub mod export;
pub mod lifecycle;
pub mod list;
pub mod lookup;
pub mod promote;
pub mod stats;
pub(crate) mod suspended;

pub use counts::{Counts, Stats, Totals, stats_of, totals};
pub use list::{Filter, Order, Sort, Within, list};

use crate::{
    StoreError, Tx,
    creator_row::CreatorRow,
    sql::{On, Q, assignments, names, placeholders, values},
    time::TsCodec,
    tree::parse_type,
};
use bailiwick_domain::{
    OrgId, OrgType, Organization, Ts, exact,
    fold::{fold, fold_start},
    org::{Creator, Details, Mark, Origin, PromotedFrom, SyncState},
    validate::Vat,
};
use bailiwick_policy::{Granted, OrgNode, Path, Standing};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Columns of [`DetailsRow`], of the organization `o`.
macro_rules! details {
    () => {
        "o.name, o.description"
    };
}
pub(crate) use details;

/// The columns that keep [`Details`], each with its value: the one list of what a creation, a change and the bulk load
/// write.
macro_rules! kept_details {
    ($each:ident) => {
        $each! {
            Text "name" = |d| &d.name;
            Text "name_key" = |d| fold(&d.name);
            Text "description" = |d| &d.description;
            Text "description_key" = |d| fold(&d.description);
            Text "description_order" = |d| fold_start(&d.description);
        }
    };
}
pub(crate) use kept_details;

/// Columns of [`Row`]; `o` is the organization, `c` the organization of its creator.
macro_rules! columns {
    () => {
        concat!(
            "o.id, o.type, o.parent_id, ",
            details!(),
            ", o.p2, o.p3, o.vat, o.custom_data, ",
            $crate::creator_row::creator_columns!("o"),
            ", o.created_at, o.updated_at, o.updated_by_org_id, \
             o.eff_suspended_at, o.eff_suspended_by, o.eff_deleted_at, o.eff_deleted_by, o.promoted_from, ",
            $crate::rebranding::nearest!("o.id", "o.p3", "o.p2"),
            " AS rebranding_org_id"
        )
    };
}
pub(crate) const COLUMNS: &str = columns!();
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM organizations o LEFT JOIN organizations c ON c.id = o.creator_org_id WHERE o.id = ?"
);
const PLACES: &str = "SELECT o.id, o.type, o.p2, o.p3, o.eff_suspended_at, o.eff_deleted_at, \
    p.eff_suspended_at AS parent_suspended_at, p.eff_deleted_at AS parent_deleted_at \
    FROM organizations o LEFT JOIN organizations p ON p.id = o.parent_id WHERE o.id IN (";
const PLACE: &str = "SELECT o.id, o.type, o.p2, o.p3, o.eff_suspended_at, o.eff_deleted_at, \
    p.eff_suspended_at AS parent_suspended_at, p.eff_deleted_at AS parent_deleted_at \
    FROM organizations o LEFT JOIN organizations p ON p.id = o.parent_id WHERE o.id = ?";
/// Top-down, so that it waits for a transaction that marks an organization above before that one rewrites the rows
/// below.
const LOCK_PATH: &str = "SELECT id, type, p2, p3, eff_suspended_at, eff_suspended_by, eff_deleted_at, eff_deleted_by \
    FROM organizations WHERE id IN (?, ?, ?) \
    ORDER BY CASE type WHEN 'owner' THEN 1 WHEN 'distributor' THEN 2 WHEN 'reseller' THEN 3 ELSE 4 END [[FOR SHARE||]]";
const LOCK: &str = concat!(
    "SELECT ",
    details!(),
    ", o.vat, o.custom_data FROM organizations o WHERE o.id = ? [[FOR NO KEY UPDATE||]]"
);
const INSERT: &str = concat!(
    "INSERT INTO organizations (",
    kept_details!(names),
    "id, type, parent_id, p2, p3, vat, vat_key, custom_data, search_key, created_by, creator_user_id, creator_org_id, \
     creator_key, created_at, updated_at, eff_suspended_at, eff_suspended_by, eff_deleted_at, eff_deleted_by) VALUES (",
    kept_details!(placeholders),
    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
);
const INSERT_COUNTS: &str =
    "INSERT INTO organization_counts (organization_id, systems, users) VALUES (?, 0, 0)";
const UPDATE: &str = concat!(
    "UPDATE organizations SET ",
    kept_details!(assignments),
    "vat = ?, vat_key = ?, custom_data = ?, search_key = ?, updated_at = ?, updated_by_org_id = ? WHERE id = ?"
);
pub(crate) const OWNER: &str = "SELECT id FROM organizations WHERE type = 'owner'";
const ADD_USERS: &str = "UPDATE organization_counts SET users = users + ? WHERE organization_id = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![GET, PLACE, LOCK_PATH, LOCK, INSERT, INSERT_COUNTS, UPDATE, OWNER, ADD_USERS];

/// Columns of [`Details`].
#[derive(sqlx_macros::FromRow)]
pub(crate) struct DetailsRow {
    name: String,
    description: String,
}

impl DetailsRow {
    /// Bytes of text.
    const fn len(&self) -> usize {
        self.name.len() + self.description.len()
    }
}

impl From<DetailsRow> for Details {
    fn from(row: DetailsRow) -> Details {
        Details { name: row.name, description: row.description }
    }
}

#[derive(sqlx_macros::FromRow)]
pub(crate) struct Row {
    id: Uuid,
    r#type: String,
    parent_id: Option<Uuid>,
    p2: Uuid,
    p3: Uuid,
    #[sqlx(flatten)]
    details: DetailsRow,
    vat: Option<String>,
    custom_data: Value,
    #[sqlx(flatten)]
    creator: CreatorRow,
    created_at: TsCodec,
    updated_at: TsCodec,
    updated_by_org_id: Option<Uuid>,
    eff_suspended_at: Option<TsCodec>,
    eff_suspended_by: Option<Uuid>,
    eff_deleted_at: Option<TsCodec>,
    eff_deleted_by: Option<Uuid>,
    promoted_from: Option<Value>,
    rebranding_org_id: Option<Uuid>,
}

impl Row {
    pub(crate) const fn id(&self) -> Uuid {
        self.id
    }

    pub(crate) fn into_organization(self) -> Result<Organization, StoreError> {
        Ok(Organization {
            id: OrgId(self.id),
            org_type: parse_type(&self.r#type)?,
            parent_id: self.parent_id.map(OrgId),
            details: self.details.into(),
            vat: self.vat,
            custom_data: object(self.custom_data)?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            updated_by_org_id: self.updated_by_org_id.map(OrgId),
            created_by: self.creator.creator([self.id, self.p3, self.p2])?,
            suspended: mark(self.eff_suspended_at, self.eff_suspended_by),
            deleted: mark(self.eff_deleted_at, self.eff_deleted_by),
            promoted_from: self.promoted_from.map(promoted_from).transpose()?,
            rebranding: self.rebranding_org_id.map(OrgId),
            mirrored: SyncState::default(),
        })
    }
}

#[derive(sqlx_macros::FromRow)]
struct PlaceRow {
    id: Uuid,
    r#type: String,
    p2: Uuid,
    p3: Uuid,
    eff_suspended_at: Option<TsCodec>,
    eff_deleted_at: Option<TsCodec>,
    parent_suspended_at: Option<TsCodec>,
    parent_deleted_at: Option<TsCodec>,
}

#[derive(sqlx_macros::FromRow)]
struct PathRow {
    id: Uuid,
    r#type: String,
    p2: Uuid,
    p3: Uuid,
    eff_suspended_at: Option<TsCodec>,
    eff_suspended_by: Option<Uuid>,
    eff_deleted_at: Option<TsCodec>,
    eff_deleted_by: Option<Uuid>,
}

/// A JSON object column.
pub(crate) fn object(value: Value) -> Result<Map<String, Value>, StoreError> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(StoreError::Corrupt(format!("an object was expected, found {other}"))),
    }
}

/// The former place of a distributor. Who promoted it belonged to the organization that it left, or to the owner.
fn promoted_from(stored: Value) -> Result<PromotedFrom, StoreError> {
    let mut from: PromotedFrom = serde_json::from_value(stored)
        .map_err(|e| StoreError::Corrupt(format!("promotion snapshot: {e}")))?;
    let left = from.detached_from_organization_id;
    if let Some(by) = from.by.as_mut().filter(|by| by.organization_id == Some(left)) {
        by.origin = Origin::Elsewhere { p2: left, p3: left };
    }
    Ok(from)
}

/// A snapshot as it is stored.
pub(crate) fn snapshot(creator: Option<&Creator>) -> Result<Option<Value>, StoreError> {
    creator.map(serde_json::to_value).transpose().map_err(|e| StoreError::Encode(e.into()))
}

pub(crate) fn mark(at: Option<TsCodec>, by: Option<Uuid>) -> Mark {
    Mark { at: at.map(|t| t.0), by: by.map(OrgId) }
}

/// The organization, deleted or not.
pub async fn get(on: impl Into<On<'_>>, id: OrgId) -> Result<Option<Organization>, StoreError> {
    let row: Option<Row> = Q::new(GET).bind(id).optional(on).await?;
    row.map(Row::into_organization).transpose()
}

impl PlaceRow {
    fn into_place(self) -> Result<OrgNode, StoreError> {
        let standing = Standing {
            suspended: self.eff_suspended_at.is_some(),
            suspended_above: self.parent_suspended_at.is_some(),
            deleted: self.eff_deleted_at.is_some(),
            deleted_above: self.parent_deleted_at.is_some(),
        };
        let path = Path { id: OrgId(self.id), p2: OrgId(self.p2), p3: OrgId(self.p3) };
        Ok(OrgNode { path, org_type: parse_type(&self.r#type)?, standing })
    }
}

/// The data of an organization that decisions need.
pub async fn node(on: impl Into<On<'_>>, id: OrgId) -> Result<Option<OrgNode>, StoreError> {
    let row: Option<PlaceRow> = Q::new(PLACE).bind(id).optional(on).await?;
    row.map(PlaceRow::into_place).transpose()
}

/// The data of several organizations that decisions need; unknown ones are left out.
pub async fn places(
    on: impl Into<On<'_>>,
    ids: impl IntoIterator<Item = OrgId>,
) -> Result<Vec<OrgNode>, StoreError> {
    let mut q = Q::new(PLACES);
    q.list(ids).push(")");
    q.all(on).await?.into_iter().map(PlaceRow::into_place).collect()
}

/// The owner organization, once the first start has created it.
pub async fn owner(on: impl Into<On<'_>>) -> Result<Option<OrgId>, StoreError> {
    let row: Option<(Uuid,)> = Q::new(OWNER).optional(on).await?;
    Ok(row.map(|r| OrgId(r.0)))
}

/// An organization with the marks that apply to it, locked against change until the end of the transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Its place in the tree.
    pub path: Path,
    pub org_type: OrgType,
    /// Effective suspension.
    pub suspended: Mark,
    /// Effective deletion.
    pub deleted: Mark,
}

/// Locks an organization and all above it: until the transaction ends no other transaction can mark or move them, so
/// rows written below inherit the right state. None when the organization no longer exists.
pub async fn hold(tx: &mut Tx, id: OrgId) -> Result<Option<Held>, StoreError> {
    // A move between the two reads shows in the second one; moves (promotions) are rare, and each is one step.
    for _ in 0..3 {
        let Some(node) = node(&mut *tx, id).await? else { return Ok(None) };
        let Path { p2, p3, .. } = node.path;
        let rows: Vec<PathRow> = Q::new(LOCK_PATH).bind(p2).bind(p3).bind(id).all(&mut *tx).await?;
        let Some(row) = rows.into_iter().find(|r| r.id == id.0) else { return Ok(None) };
        if (row.p2, row.p3) == (p2.0, p3.0) {
            return Ok(Some(Held {
                path: node.path,
                org_type: parse_type(&row.r#type)?,
                suspended: mark(row.eff_suspended_at, row.eff_suspended_by),
                deleted: mark(row.eff_deleted_at, row.eff_deleted_by),
            }));
        }
    }
    Err(StoreError::Misuse("an organization moves faster than it can be held"))
}

/// An organization to create. Its place and inherited state come from the parent.
#[derive(Clone, Debug)]
pub struct NewOrganization {
    /// Fresh id.
    pub id: OrgId,
    pub org_type: OrgType,
    /// What people write of it.
    pub details: Details,
    /// None only for the owner.
    pub vat: Option<Vat>,
    /// Client keys.
    pub custom_data: Map<String, Value>,
    /// Creation snapshot.
    pub created_by: Option<Creator>,
    /// Now.
    pub at: Ts,
}

/// Creates an organization below the granted parent, which is locked; none only for the owner organization. False when
/// the parent was removed or deleted meanwhile.
pub async fn insert(
    tx: &mut Tx,
    parent: Option<&Granted<OrgId>>,
    new: &NewOrganization,
) -> Result<bool, StoreError> {
    let (path, suspended, deleted) = match parent {
        None => (Path::owner(new.id), Mark::default(), Mark::default()),
        Some(parent) => match hold(tx, parent.id()).await? {
            Some(held) if !held.deleted.is_set() => (
                held.path.child(new.id, new.org_type),
                held.suspended.inherited_from(held.path.id),
                held.deleted.inherited_from(held.path.id),
            ),
            _ => return Ok(false),
        },
    };
    let creator = new.created_by.as_ref();
    tx.people_changed();
    with_details(INSERT, &new.details)
        .bind(new.id)
        .bind(new.org_type.as_str())
        .bind(parent.map(Granted::id))
        .bind(path.p2)
        .bind(path.p3)
        .bind(new.vat.as_ref().map(Vat::as_str))
        .bind(new.vat.as_ref().map(Vat::key))
        .bind(Value::Object(new.custom_data.clone()))
        .bind(search_key(&new.details, &new.custom_data))
        .bind(snapshot(creator)?)
        .bind(creator.and_then(|c| c.user_id))
        .bind(creator.and_then(|c| c.organization_id))
        .bind(creator.map(|c| fold(&c.name)))
        .bind(new.at)
        .bind(new.at)
        .bind(suspended.at)
        .bind(suspended.by)
        .bind(deleted.at)
        .bind(deleted.by)
        .run(tx)
        .await?;
    Q::new(INSERT_COUNTS).bind(new.id).run(tx).await?;
    Ok(true)
}

/// The present values that a PUT starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Editable {
    /// What people write of it.
    pub details: Details,
    /// As sent.
    pub vat: Option<String>,
    /// Client keys.
    pub custom_data: Map<String, Value>,
}

#[derive(sqlx_macros::FromRow)]
struct EditableRow {
    #[sqlx(flatten)]
    details: DetailsRow,
    vat: Option<String>,
    custom_data: Value,
}

/// Reads the values that a PUT changes and locks the row.
pub async fn lock(tx: &mut Tx, id: OrgId) -> Result<Option<Editable>, StoreError> {
    let row: Option<EditableRow> = Q::new(LOCK).bind(id).optional(tx).await?;
    let editable = |EditableRow { details, vat, custom_data }| {
        Ok(Editable { details: details.into(), vat, custom_data: object(custom_data)? })
    };
    row.map(editable).transpose()
}

/// The result of a PUT.
#[derive(Clone, Debug)]
pub struct Change {
    /// What people write of it.
    pub details: Details,
    /// VAT number.
    pub vat: Vat,
    /// All client keys.
    pub custom_data: Map<String, Value>,
    /// Now.
    pub at: Ts,
    /// Organization of the updater.
    pub by: Option<OrgId>,
}

/// Writes the result of a PUT.
pub async fn update(tx: &mut Tx, target: &Granted<OrgId>, change: &Change) -> Result<(), StoreError> {
    tx.people_changed();
    with_details(UPDATE, &change.details)
        .bind(change.vat.as_str())
        .bind(change.vat.key())
        .bind(Value::Object(change.custom_data.clone()))
        .bind(search_key(&change.details, &change.custom_data))
        .bind(change.at)
        .bind(change.by)
        .bind(target.id())
        .run(tx)
        .await?;
    Ok(())
}

/// A statement whose first placeholders are those of `kept_details!`.
fn with_details(text: &str, details: &Details) -> Q {
    let values: fn(&Details) -> _ = kept_details!(values);
    Q::new(text).bind_all(values(details))
}

/// Adds to the counter of an organization's users that are not individually deleted.
pub(crate) async fn add_users(tx: &mut Tx, id: OrgId, delta: i64) -> Result<(), StoreError> {
    Q::new(ADD_USERS).bind(delta).bind(id).run(tx).await?;
    Ok(())
}

/// Separates the searchable texts, so that no match spans two of them.
const BETWEEN: char = '\u{1f}';

/// The texts that `search` compares: name, description and the text of each top-level client value (spec:
/// organizations#list).
pub(crate) fn search_key(details: &Details, custom_data: &Map<String, Value>) -> String {
    let mut key = fold(&details.name);
    key.push(BETWEEN);
    key.push_str(&fold(&details.description));
    for value in custom_data.values() {
        key.push(BETWEEN);
        match value {
            Value::Null => {}
            Value::String(text) => key.push_str(&fold(text)),
            other => key.push_str(&fold(&exact::text(other))),
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::{Details, search_key};
    use serde_json::json;

    #[test]
    fn search_compares_values_but_not_keys() {
        let data = json!({"city": "ROMA", "n": 15, "list": ["A"], "none": null});
        let key = search_key(&Details::new("Alfa", "Nord"), data.as_object().unwrap());
        assert_eq!(key, "alfa\u{1f}nord\u{1f}roma\u{1f}15\u{1f}[\"a\"]\u{1f}");
    }
}
