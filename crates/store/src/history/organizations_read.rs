//! The organizations whose alerts a request reads: the caller's scope, narrowed to the organizations the request names
//! (spec: alert-management#organizations).

use crate::{scope::push_scope, sql::Q};
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_policy::Scope;

/// The organizations of a read; deleted ones are never among them.
#[derive(Clone, Debug)]
pub struct OrganizationsRead {
    /// The caller's scope.
    pub scope: Scope,
    /// The named ones, all of them in the scope; none = everything in it.
    pub named: Option<Vec<(OrgId, OrgType)>>,
    /// Whether the named ones include all organizations below them.
    pub with_descendants: bool,
}

impl OrganizationsRead {
    /// Everything in the scope.
    pub const fn all(scope: Scope) -> OrganizationsRead {
        OrganizationsRead { scope, named: None, with_descendants: false }
    }

    /// Whether no organization is left out but the deleted ones.
    pub(super) fn is_everything(&self) -> bool {
        self.scope == Scope::Everything && self.named.is_none()
    }

    /// Appends ` JOIN …` of the organizations, as `o`, of the rows of a table of figures. SQLite takes a table that was
    /// empty at the last ANALYZE for a large one, and would read all organizations first.
    pub(super) fn push_organizations_of(&self, q: &mut Q, alias: &str) {
        q.push(if self.is_everything() { " [[JOIN||CROSS JOIN]]" } else { " JOIN" });
        q.push(&format!(" organizations o ON o.id = {alias}.organization_id"));
    }

    /// Appends ` AND …` by the columns `p2`, `p3` and `organization` of `alias`, and by `o`, the organization's row.
    pub(super) fn push(&self, q: &mut Q, alias: &str, organization: &str) {
        q.push(" AND o.eff_deleted_at IS NULL");
        self.push_with_deleted(q, alias, organization);
    }

    /// Appends ` AND …` for all organizations, deleted ones included; it does not name `o`.
    pub(super) fn push_with_deleted(&self, q: &mut Q, alias: &str, organization: &str) {
        push_scope(q, alias, organization, &self.scope);
        let Some(named) = &self.named else { return };
        if !self.with_descendants {
            q.push(&format!(" AND {alias}.{organization} IN ("));
            q.list(named.iter().map(|(id, _)| *id)).push(")");
            return;
        }
        if named.iter().any(|(_, kind)| *kind == OrgType::Owner) {
            return;
        }
        let ids_of_type =
            |wanted: OrgType| named.iter().filter(move |(_, kind)| *kind == wanted).map(|(id, _)| *id);
        q.push(&format!(" AND ({alias}.p2 IN ("));
        q.list(ids_of_type(OrgType::Distributor)).push(&format!(") OR {alias}.p3 IN ("));
        q.list(ids_of_type(OrgType::Reseller)).push(&format!(") OR {alias}.{organization} IN ("));
        q.list(ids_of_type(OrgType::Customer)).push("))");
    }
}
