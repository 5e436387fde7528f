//! The creator of a row (spec: organizations#creator), and the condition that they are shown to a reader (spec:
//! authorization#creators).

use crate::{StoreError, scope::push_scope, sql::Q};
use bailiwick_domain::{
    OrgId, OrgType,
    org::{Creator, Origin},
};
use bailiwick_policy::Scope;
use serde_json::Value;
use uuid::Uuid;

/// Columns of [`CreatorRow`], of the row `$row`; `c` is the organization of its creator.
macro_rules! creator_columns {
    ($row:literal) => {
        concat!(
            $row,
            ".created_by, c.name AS creator_org_name, c.type AS creator_org_type, c.p2 AS creator_org_p2, \
             c.p3 AS creator_org_p3"
        )
    };
}
pub(crate) use creator_columns;

/// The creator of a row, and their organization if it still exists.
#[derive(sqlx_macros::FromRow)]
pub(crate) struct CreatorRow {
    created_by: Option<Value>,
    creator_org_name: Option<String>,
    creator_org_type: Option<String>,
    creator_org_p2: Option<Uuid>,
    creator_org_p3: Option<Uuid>,
}

impl CreatorRow {
    /// The creator with the present name of their organization; the snapshot's own once the organization no longer
    /// exists. `path`: the organization of what they created, and those above it.
    pub(crate) fn creator(self, path: [Uuid; 3]) -> Result<Option<Creator>, StoreError> {
        let Some(mut creator) = snapshot(self.created_by)? else { return Ok(None) };
        let is_near = creator.organization_id.is_none_or(|id| path.contains(&id.0))
            || self.creator_org_type.as_deref() == Some(OrgType::Owner.as_str());
        creator.origin = match (self.creator_org_p2, self.creator_org_p3) {
            _ if is_near => Origin::Above,
            (Some(p2), Some(p3)) => Origin::Elsewhere { p2: OrgId(p2), p3: OrgId(p3) },
            _ => Origin::Gone,
        };
        if let Some(name) = self.creator_org_name {
            creator.organization_name = name;
        }
        Ok(Some(creator))
    }
}

/// A stored snapshot.
pub(crate) fn snapshot(stored: Option<Value>) -> Result<Option<Creator>, StoreError> {
    let creator = stored.map(serde_json::from_value).transpose();
    creator.map_err(|e| StoreError::Corrupt(format!("creation snapshot: {e}")))
}

/// Appends ` AND …` for the creator: their id or that of their organization. `row`: the alias of the row; `own`: its
/// column with its organization. Creators that a reader of the scope is not shown have created nothing for them
/// ([`Scope::shows`]).
pub(crate) fn push_created_by(q: &mut Q, (row, own): (&str, &str), scope: &Scope, ids: Option<&Vec<Uuid>>) {
    let Some(ids) = ids else { return };
    q.push(&format!(" AND ({row}.creator_user_id IN (")).list(ids.iter().copied());
    q.push(&format!(") OR {row}.creator_org_id IN (")).list(ids.iter().copied()).push("))");
    push_shown(q, (row, own), scope);
}

/// Appends ` AND …`: the creator is shown to a reader of the scope.
pub(crate) fn push_shown(q: &mut Q, (row, own): (&str, &str), scope: &Scope) {
    if *scope != Scope::Everything {
        let creator = format!("{row}.creator_org_id");
        q.push(&format!(" AND ({creator} IS NULL OR "));
        push_near(q, &creator, (row, own), scope);
        q.push(")");
    }
}

/// Appends a condition: the organization is in the scope, or is that of the row or above it.
pub(crate) fn push_near(q: &mut Q, organization: &str, (row, own): (&str, &str), scope: &Scope) {
    q.push(&format!(
        "({organization} IN ({row}.{own}, {row}.p3, {row}.p2) OR EXISTS (SELECT 1 FROM organizations n \
         WHERE n.id = {organization} AND (n.type = 'owner' OR (1 = 1"
    ));
    push_scope(q, "n", "id", scope);
    q.push("))))");
}
