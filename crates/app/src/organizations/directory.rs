//! `GET /organizations` (contract 02 §12): all families in one list, for whoever signs in.

use crate::{App, kept};
use bailiwick_domain::{OrgId, OrgType, Page, PageRequest, Result, SortDirection};
use bailiwick_policy::{Caller, hierarchy};
use bailiwick_store::organizations::directory::{self, DirectoryFilter, DirectorySort, Entry};

/// The query as sent.
#[derive(Clone, Debug)]
pub struct DirectoryQuery {
    /// Page.
    pub page: PageRequest,
    /// `search`.
    pub search: String,
    /// `name`, exact.
    pub name: Option<String>,
    /// `description`, exact.
    pub description: Option<String>,
    /// `type`.
    pub types: Vec<String>,
    /// `created_by`: the organization above.
    pub created_by: Option<String>,
    /// `sort_by`; unknown = by name, ascending.
    pub sort_by: String,
    /// `sort_direction`.
    pub direction: SortDirection,
}

/// One page of what is in the caller's hierarchy, his own organization included, the owner never.
pub async fn directory(app: &App, caller: &Caller, query: DirectoryQuery) -> Result<Page<Entry>> {
    let types: Vec<OrgType> = query.types.iter().filter_map(|word| OrgType::parse(word)).collect();
    let filter = DirectoryFilter {
        search: query.search,
        name: query.name,
        description: query.description,
        types: (!query.types.is_empty()).then_some(types),
        parent: query.created_by.map(|id| id.parse::<OrgId>().ok()),
    };
    let order = match query.sort_by.as_str() {
        "name" => (DirectorySort::Name, query.direction),
        "description" => (DirectorySort::Description, query.direction),
        "type" => (DirectorySort::Type, query.direction),
        _ => (DirectorySort::Name, SortDirection::Asc),
    };
    let (scope, matches) = (hierarchy(caller), format!("{filter:?}"));
    let count = directory::count(&app.db, &scope, &filter);
    let total = kept::number(app, "directory", scope, matches, count).await?;
    Ok(directory::directory(&app.db, &scope, &filter, order, query.page, total).await?)
}
