//! Organizations directly below others, for a tree whose branches are opened one by one.

use crate::{Db, StoreError, sql::Q, time::TsCodec, tree::parse_type};
use bailiwick_domain::{OrgId, OrgType, Ts};
use uuid::Uuid;

/// An organization below another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    pub id: OrgId,
    /// The organization directly above.
    pub parent_id: OrgId,
    pub org_type: OrgType,
    pub name: String,
    /// Effective suspension.
    pub suspended_at: Option<Ts>,
}

#[derive(sqlx_macros::FromRow)]
struct Row {
    id: Uuid,
    parent_id: Uuid,
    r#type: String,
    name: String,
    eff_suspended_at: Option<TsCodec>,
}

/// The first `most` organizations of these families below each parent, by family and name. Deleted ones are left out.
pub async fn children(
    db: &Db,
    parents: &[OrgId],
    families: &[OrgType],
    most: u64,
) -> Result<Vec<Child>, StoreError> {
    if parents.is_empty() || families.is_empty() {
        return Ok(Vec::new());
    }
    let mut q = Q::new(
        "SELECT c.id, c.parent_id, c.type, c.name, c.eff_suspended_at FROM (SELECT o.id, o.parent_id, o.type, o.name, \
         o.eff_suspended_at, ROW_NUMBER() OVER (PARTITION BY o.parent_id ORDER BY CASE o.type \
         WHEN 'distributor' THEN 2 WHEN 'reseller' THEN 3 ELSE 4 END, o.name_key, o.id) AS n FROM organizations o \
         WHERE o.eff_deleted_at IS NULL AND o.parent_id IN (",
    );
    q.list(parents.iter().copied()).push(") AND o.type IN (");
    q.list(families.iter().map(|family| family.as_str())).push(")) c WHERE c.n <= ?").arg(most);
    q.push(" ORDER BY c.parent_id, c.n");
    let rows: Vec<Row> = q.all(db).await?;
    let child = |row: Row| {
        Ok(Child {
            id: OrgId(row.id),
            parent_id: OrgId(row.parent_id),
            org_type: parse_type(&row.r#type)?,
            name: row.name,
            suspended_at: row.eff_suspended_at.map(|at| at.0),
        })
    };
    rows.into_iter().map(child).collect()
}
