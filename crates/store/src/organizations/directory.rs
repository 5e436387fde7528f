//! The list of organizations of all families (spec: organizations#directory).

use super::list::{push_order, push_search, push_search_any};
use crate::{Db, StoreError, scope::push_scope, sql::Q, tree::parse_type};
use bailiwick_domain::{OrgId, OrgType, Page, PageRequest, SortDirection, fold::fold};
use bailiwick_policy::Scope;
use std::collections::HashMap;
use uuid::Uuid;

/// The filter. None switches a condition off; an empty list or an impossible parent matches nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectoryFilter {
    /// Occurs in name or description; blank = no filter.
    pub search: String,
    /// Exactly.
    pub name: Option<String>,
    /// Exactly.
    pub description: Option<String>,
    /// Families.
    pub types: Option<Vec<OrgType>>,
    /// The organization directly above; the inner none is an impossible one.
    pub parent: Option<Option<OrgId>>,
}

/// A sortable column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectorySort {
    /// Ignoring case.
    Name,
    /// Ignoring case.
    Description,
    /// By its word.
    Type,
}

/// An organization of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedOrganization {
    pub id: OrgId,
    pub org_type: OrgType,
    pub name: String,
    /// `""` when absent.
    pub description: String,
}

/// The names of those of these organizations that are inside the scope and not deleted.
pub async fn names(db: &Db, scope: &Scope, ids: &[OrgId]) -> Result<HashMap<OrgId, String>, StoreError> {
    let mut q = Q::new("SELECT o.id, o.name FROM organizations o WHERE o.eff_deleted_at IS NULL AND ");
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    q.one_of(db, "o.id", &ids);
    push_scope(&mut q, "o", "id", scope);
    let rows: Vec<(Uuid, String)> = q.all(db).await?;
    Ok(rows.into_iter().map(|(id, name)| (OrgId(id), name)).collect())
}

/// Text that no row can hold matches nothing.
fn push_exact(q: &mut Q, column: &str, text: Option<&String>) {
    match text {
        None => {}
        Some(text) if text.contains('\0') => {
            q.push(" AND 1 = 0");
        }
        Some(text) => {
            q.push(&format!(" AND {column} = ?")).arg(text);
        }
    }
}

fn push_where(q: &mut Q, db: &Db, scope: &Scope, filter: &DirectoryFilter) {
    let is_search = !filter.search.trim().is_empty();
    q.push(" FROM organizations o");
    if is_search && *scope == Scope::Everything && filter.parent.is_none() {
        // SQLite compares names and descriptions in an index that has them in the order of names.
        q.push("[[|| INDEXED BY organizations_search]]");
    }
    q.push(" WHERE o.eff_deleted_at IS NULL AND o.type <> 'owner'");
    push_scope(q, "o", "id", scope);
    if is_search && db.is_postgres() {
        // This column has both texts, and an index.
        push_search(q, "o.search_key", &filter.search);
    }
    push_search_any(q, &["o.name_key", "o.description_key"], &filter.search);
    // The folded column has an index.
    push_exact(q, "o.name_key", filter.name.as_ref().map(|n| fold(n)).as_ref());
    push_exact(q, "o.name", filter.name.as_ref());
    push_exact(q, "o.description", filter.description.as_ref());
    if let Some(types) = &filter.types {
        q.push(" AND o.type IN (").list(types.iter().map(|t| t.as_str())).push(")");
    }
    match filter.parent {
        None => {}
        Some(None) => {
            q.push(" AND 1 = 0");
        }
        Some(Some(id)) => {
            q.push(" AND o.parent_id = ?").arg(id);
        }
    }
}

/// How many organizations match.
pub async fn count(db: &Db, scope: &Scope, filter: &DirectoryFilter) -> Result<u64, StoreError> {
    let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT)");
    push_where(&mut q, db, scope, filter);
    q.count(db).await
}

/// One page of the organizations inside the scope except the owner, with the number of all matches.
pub async fn directory(
    db: &Db,
    scope: &Scope,
    filter: &DirectoryFilter,
    (sort, direction): (DirectorySort, SortDirection),
    page: PageRequest,
    total: u64,
) -> Result<Page<ListedOrganization>, StoreError> {
    if page.offset() >= total {
        return Ok(Page { rows: Vec::new(), total, request: page });
    }
    let mut q = Q::new("SELECT o.id, o.type, o.name, o.description");
    push_where(&mut q, db, scope, filter);
    let column = match sort {
        DirectorySort::Name => "o.name_key",
        DirectorySort::Description => "o.description_order",
        DirectorySort::Type => "o.type",
    };
    push_order(&mut q, column, false, direction, "o.id");
    q.push(" LIMIT ? OFFSET ?").arg(page.page_size).arg(page.offset());
    let rows: Vec<(Uuid, String, String, String)> = q.all(db).await?;
    let entry = |(id, org_type, name, description): (Uuid, String, String, String)| {
        Ok(ListedOrganization { id: OrgId(id), org_type: parse_type(&org_type)?, name, description })
    };
    let rows = rows.into_iter().map(entry).collect::<Result<_, StoreError>>()?;
    Ok(Page { rows, total, request: page })
}
