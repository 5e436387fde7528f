//! `GET /organizations` (spec: organizations#directory): all families in one list, for every signed-in user.

use crate::Directory;
use bailiwick_domain::{Keywords, OrgId, OrgType, Page, PageRequest, Result, SortDirection};
use bailiwick_platform::answer_cache::{self, CachedAnswer, DependsOn};
use bailiwick_policy::{Caller, hierarchy, in_hierarchy};
use bailiwick_store::organizations::{
    self,
    directory::{self, DirectoryFilter, DirectorySort, Entry},
};
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

/// Organizations that may receive something, the first `most` by name, and how many there are: the caller's own and
/// those below, whose name or description contains the text.
pub async fn find(service: &Directory, caller: &Caller, search: &str, most: u64) -> Result<Page<Entry>> {
    first(service, caller, search, None, most).await
}

/// The same for those that a new organization of the family can belong to.
pub async fn find_parents(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    search: &str,
    most: u64,
) -> Result<Page<Entry>> {
    let types = OrgType::FAMILIES.into_iter().filter(|above| above.level() < family.level()).collect();
    first(service, caller, search, Some(types), most).await
}

async fn first(
    service: &Directory,
    caller: &Caller,
    search: &str,
    types: Option<Vec<OrgType>>,
    most: u64,
) -> Result<Page<Entry>> {
    let scope = hierarchy(caller);
    let filter = DirectoryFilter { search: search.trim().to_owned(), types, ..DirectoryFilter::default() };
    let page = PageRequest { page: 1, page_size: most };
    let count = directory::count(&service.db, &scope, &filter);
    let other = answer_cache::variant(&filter);
    let total = answer_cache::number(service, DependsOn::People, "directory", scope, other, count).await?;
    let order = (DirectorySort::Name, SortDirection::Asc);
    Ok(directory::directory(&service.db, &scope, &filter, order, page, total).await?)
}

/// The name of an organization that the caller may see; none for any other one.
pub async fn name_within(service: &Directory, caller: &Caller, id: OrgId) -> Result<Option<String>> {
    let place = organizations::place(&service.db, id).await?;
    if in_hierarchy(caller, place.as_ref()).is_err() {
        return Ok(None);
    }
    Ok(organizations::get(&service.db, id).await?.map(|found| found.details.name))
}
