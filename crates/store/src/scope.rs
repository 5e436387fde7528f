//! A policy scope as SQL: one equality (docs/tree.md), never a list of ids.

use crate::sql::Q;
use bailiwick_domain::OrgType;
use bailiwick_policy::Scope;

/// Appends ` AND …` so that only rows inside the scope remain.
///
/// `alias` is the table with the columns `p2` and `p3`; `organization` its column with the organization's id: `id` for
/// organizations, `organization_id` for rows that belong to one.
pub(crate) fn push_scope(q: &mut Q, alias: &str, organization: &str, scope: &Scope) {
    match *scope {
        Scope::Everything => {}
        Scope::Subtree { root, org_type: OrgType::Distributor } => {
            q.push(&format!(" AND {alias}.p2 = ?")).arg(root);
        }
        Scope::Subtree { root, .. } => {
            q.push(&format!(" AND {alias}.p3 = ?")).arg(root);
        }
        Scope::Organization(id) => {
            q.push(&format!(" AND {alias}.{organization} = ?")).arg(id);
        }
        Scope::SelfOnly(_) | Scope::Nothing => {
            q.push(" AND 1 = 0");
        }
    }
}
