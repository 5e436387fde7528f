//! What lies far behind in a list of systems, and what a search finds.

use super::{Run, Spec, SystemFilter, SystemOrder};
use crate::{Db, StoreError, scope::push_scope, sql::Q};
use bailiwick_domain::OrgType;
use bailiwick_policy::Scope;

/// A page far behind, of a list without filters: everything in front of it is walked, so by the index of the order alone.
/// What is gone with its organization is known beforehand, instead of a look at the organization of each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deep {
    /// Rows of the list.
    total: u64,
    /// Whether any system is gone with its organization.
    has_gone: bool,
}

/// From this offset on; below it a look at each organization costs less than finding out.
pub(super) const DEEP: u64 = 200;
/// With more systems than these in deleted organizations it costs less again.
const MOST_GONE: u64 = 2_000;

/// So many are sorted for less than it costs to find a page of them among all.
pub(super) const RARE: u64 = 1_000;

pub(crate) const GONE: &str = "SELECT CAST(COALESCE(SUM(n.systems), 0) AS BIGINT) FROM organizations o \
     JOIN organization_counts n ON n.organization_id = o.id WHERE o.eff_deleted_at IS NOT NULL";

impl Spec<'_> {
    /// Whether a count looks at the organization of each row. Otherwise the few deleted ones are left out by their ids.
    pub(super) fn needs_organizations(&self, run: Option<Run>) -> bool {
        run.is_some() || self.filter.statuses.is_some() || !self.searched_statuses().is_empty()
    }

    /// SQLite reads what a search looks at from an index of nothing else, where the scope is large. PostgreSQL has
    /// trigrams.
    pub(super) fn by_search(&self) -> &'static str {
        let is_large = match self.scope {
            Scope::Everything => true,
            Scope::Subtree { org_type, .. } => *org_type == OrgType::Distributor,
            _ => false,
        };
        let search = self.filter.search.clone();
        let is_search =
            search.is_some() && *self.filter == SystemFilter { search, ..SystemFilter::default() };
        if is_large && is_search { "[[|| INDEXED BY systems_search]]" } else { "" }
    }

    pub(super) async fn deep(&self, db: &Db, total: u64) -> Result<Option<Deep>, StoreError> {
        let is_own_column = self.order.column().is_some_and(|column| column.starts_with("s."));
        if !is_own_column || *self.filter != SystemFilter::default() {
            return Ok(None);
        }
        let gone = Q::new(GONE).count(db).await?;
        Ok((gone <= MOST_GONE).then_some(Deep { total, has_gone: gone > 0 }))
    }

    /// The ids of a page far behind, from the nearer end.
    pub(super) fn push_deep(&self, q: &mut Q, deep: Deep, limit: u64, offset: u64) {
        q.push("SELECT s.id AS page_id FROM systems s");
        // SQLite would take the index that makes keys unique, which does not know what is deleted.
        if self.order == SystemOrder::SystemKey && matches!(self.scope, Scope::Everything) {
            q.push("[[|| INDEXED BY systems_all_key]]");
        }
        q.push(" WHERE s.deleted_at IS NULL");
        if deep.has_gone {
            q.push(
                " AND s.id NOT IN (SELECT g.id FROM organizations d [[JOIN||CROSS JOIN]] systems g \
                 ON g.organization_id = d.id WHERE d.eff_deleted_at IS NOT NULL AND g.deleted_at IS NULL)",
            );
        }
        push_scope(q, "s", "organization_id", self.scope);
        let limit = limit.min(deep.total.saturating_sub(offset));
        let behind = deep.total.saturating_sub(offset).saturating_sub(limit);
        if behind < offset {
            self.push_order_in(q, self.direction.opposite());
            q.push(" LIMIT ? OFFSET ?").arg(limit).arg(behind);
        } else {
            self.push_order_in(q, self.direction);
            q.push(" LIMIT ? OFFSET ?").arg(limit).arg(offset);
        }
    }
}
