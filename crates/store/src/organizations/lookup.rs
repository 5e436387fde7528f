//! Looks up many organizations at once, inside a scope: an import looks up all its rows together.

use crate::{
    StoreError,
    scope::push_scope,
    sql::{On, Q},
    tree::parse_type,
};
use bailiwick_domain::{OrgId, OrgType, org::OrgRef};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// An organization that has one of the requested VAT numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct VatHolder {
    /// Normalised number.
    pub key: String,
    /// The organization; of several the oldest.
    pub id: OrgId,
    /// Whether it is deleted, itself or through an organization above.
    pub is_deleted: bool,
}

/// For each VAT number (normalised) the oldest live and the oldest deleted organization of a family inside the scope;
/// with `parent` only its direct children.
pub async fn holders_of_vats(
    on: impl Into<On<'_>>,
    scope: &Scope,
    family: OrgType,
    parent: Option<OrgId>,
    keys: &[&str],
) -> Result<Vec<VatHolder>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut q = Q::new(
        "SELECT id, vat_key, is_deleted FROM (SELECT o.id, o.vat_key, o.eff_deleted_at IS NOT NULL AS is_deleted, \
         ROW_NUMBER() OVER (PARTITION BY o.vat_key, o.eff_deleted_at IS NOT NULL ORDER BY o.created_at, o.id) AS n \
         FROM organizations o WHERE o.vat_key IN (",
    );
    q.list(keys.iter().copied()).push(") AND o.type = ?").arg(family.as_str());
    if let Some(parent) = parent {
        q.push(" AND o.parent_id = ?").arg(parent);
    }
    push_scope(&mut q, "o", "id", scope);
    q.push(") found WHERE n = 1");
    let rows: Vec<(Uuid, String, bool)> = q.all(on).await?;
    Ok(rows.into_iter().map(|(id, key, is_deleted)| VatHolder { key, id: OrgId(id), is_deleted }).collect())
}

/// A live organization that is not the owner's, with its folded name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Folded name.
    pub key: String,
    pub organization: OrgRef,
    /// Whether it is suspended, itself or through an organization above.
    pub is_suspended: bool,
}

type NamedRow = (Uuid, String, String, String, bool);

fn from_rows(rows: Vec<NamedRow>) -> Result<Vec<Named>, StoreError> {
    rows.into_iter()
        .map(|(id, name, org_type, key, is_suspended)| {
            let organization = OrgRef { id: OrgId(id), name, org_type: parse_type(&org_type)? };
            Ok(Named { key, organization, is_suspended })
        })
        .collect()
}

/// Live organizations inside the scope with one of these folded names, in order of creation; of each name at most
/// `most`. The owner organization is never among them.
pub async fn by_names(
    on: impl Into<On<'_>>,
    scope: &Scope,
    keys: &[&str],
    most: i64,
) -> Result<Vec<Named>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let mut q = Q::new(
        "SELECT id, name, type, name_key, is_suspended FROM (SELECT o.id, o.name, o.type, o.name_key, \
         o.eff_suspended_at IS NOT NULL AS is_suspended, \
         ROW_NUMBER() OVER (PARTITION BY o.name_key ORDER BY o.created_at, o.id) AS n \
         FROM organizations o WHERE o.type <> 'owner' AND o.eff_deleted_at IS NULL AND o.name_key IN (",
    );
    q.list(keys.iter().copied()).push(")");
    push_scope(&mut q, "o", "id", scope);
    q.push(") found WHERE n <= ? ORDER BY name_key, n").arg(most);
    from_rows(q.all(on).await?)
}

/// Live organizations inside the scope with these ids.
pub async fn by_ids(on: impl Into<On<'_>>, scope: &Scope, ids: &[OrgId]) -> Result<Vec<Named>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut q = Q::new(
        "SELECT o.id, o.name, o.type, o.name_key, o.eff_suspended_at IS NOT NULL AS is_suspended FROM organizations o \
         WHERE o.type <> 'owner' AND o.eff_deleted_at IS NULL AND o.id IN (",
    );
    q.list(ids.iter().copied()).push(")");
    push_scope(&mut q, "o", "id", scope);
    from_rows(q.all(on).await?)
}
