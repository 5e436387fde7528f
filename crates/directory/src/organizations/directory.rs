//! `GET /organizations` (spec: organizations#directory): all families in one list, for every signed-in user.

use crate::Directory;
use bailiwick_domain::{Keywords, OrgId, OrgType, Page, PageRequest, Result, SortDirection};
use bailiwick_platform::answer_cache::{self, CachedAnswer, DependsOn};
use bailiwick_policy::{Caller, hierarchy};
use bailiwick_store::organizations::directory::{self, DirectoryFilter, DirectorySort, Entry};
use bytes::Bytes;

/// The words of `sort_by`.
pub const DIRECTORY_ORDERS: Keywords<DirectorySort> = Keywords::of(&[
    ("name", DirectorySort::Name),
    ("description", DirectorySort::Description),
    ("type", DirectorySort::Type),
]);

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

/// One page of the caller's hierarchy, with the caller's organization and without the owner. `write` writes the answer.
pub async fn directory(
    service: &Directory,
    caller: &Caller,
    query: DirectoryQuery,
    write: impl FnOnce(Page<Entry>) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let (scope, other) = (hierarchy(caller), answer_cache::variant(&query));
    let types: Vec<OrgType> = query.types.iter().filter_map(|word| OrgType::parse(word)).collect();
    let filter = DirectoryFilter {
        search: query.search,
        name: query.name,
        description: query.description,
        types: (!query.types.is_empty()).then_some(types),
        parent: query.created_by.map(|id| id.parse::<OrgId>().ok()),
    };
    let order = DIRECTORY_ORDERS.parse(&query.sort_by).map(|by| (by, query.direction));
    let order = order.unwrap_or((DirectorySort::Name, SortDirection::Asc));
    let make = async {
        let count = directory::count(&service.db, &scope, &filter);
        let total = answer_cache::number(
            service,
            DependsOn::People,
            "directory",
            scope,
            answer_cache::variant(&filter),
            count,
        )
        .await?;
        write(directory::directory(&service.db, &scope, &filter, order, query.page, total).await?)
    };
    answer_cache::answer(service, DependsOn::People, "directory", scope, other, make).await
}
