//! `GET /organizations` (spec: organizations#directory): all families in one list, for every signed-in user.

use crate::Directory;
use bailiwick_domain::{Keywords, OrgId, OrgType, Page, PageRequest, Result, SortDirection};
use bailiwick_platform::answer_cache::{self, CachedAnswer, DependsOn};
use bailiwick_policy::{Action, Caller, gate, hierarchy, in_hierarchy, resource_of};
use bailiwick_store::organizations::{
    self,
    directory::{self, DirectoryFilter, DirectorySort, ListedOrganization},
};
use bytes::Bytes;
use std::collections::HashMap;

/// The words of `sort_by`.
pub const DIRECTORY_ORDERS: Keywords<DirectorySort> = Keywords::of(&[
    ("name", DirectorySort::Name),
    ("description", DirectorySort::Description),
    ("type", DirectorySort::Type),
]);

/// The query as sent.
#[derive(Clone, Debug)]
pub struct DirectoryQuery {
    pub page: PageRequest,
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
    pub direction: SortDirection,
}

/// One page of the caller's hierarchy, with the caller's organization and without the owner. `write` writes the answer.
pub async fn directory(
    service: &Directory,
    caller: &Caller,
    query: DirectoryQuery,
    write: impl FnOnce(Page<ListedOrganization>) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let (scope, other) = (hierarchy(caller), answer_cache::key_text(&query));
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
        let count = directory::count(&service.platform.db, &scope, &filter);
        let total = answer_cache::number(
            &service.platform,
            DependsOn::People,
            "directory",
            scope,
            answer_cache::key_text(&filter),
            count,
        )
        .await?;
        write(directory::directory(&service.platform.db, &scope, &filter, order, query.page, total).await?)
    };
    answer_cache::answer(&service.platform, DependsOn::People, "directory", scope, other, make).await
}

/// Organizations that may receive something, the first `most` by name, and how many there are: the caller's own and
/// those below, whose name or description contains the text.
pub async fn find(
    service: &Directory,
    caller: &Caller,
    search: &str,
    most: u64,
) -> Result<Page<ListedOrganization>> {
    first(service, caller, search, None, most).await
}

/// The directory of those organizations that a new one of the family can belong to.
pub async fn find_parents(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    search: &str,
    most: u64,
) -> Result<Page<ListedOrganization>> {
    let types = OrgType::FAMILIES.into_iter().filter(|above| above.level() < family.level()).collect();
    first(service, caller, search, Some(types), most).await
}

async fn first(
    service: &Directory,
    caller: &Caller,
    search: &str,
    types: Option<Vec<OrgType>>,
    most: u64,
) -> Result<Page<ListedOrganization>> {
    let scope = hierarchy(caller);
    let filter = DirectoryFilter { search: search.trim().to_owned(), types, ..DirectoryFilter::default() };
    let page = PageRequest { page: 1, page_size: most };
    let count = directory::count(&service.platform.db, &scope, &filter);
    let other = answer_cache::key_text(&filter);
    let total =
        answer_cache::number(&service.platform, DependsOn::People, "directory", scope, other, count).await?;
    let order = (DirectorySort::Name, SortDirection::Asc);
    Ok(directory::directory(&service.platform.db, &scope, &filter, order, page, total).await?)
}

/// The organizations of the families that the caller may read whose name or description contains the text, by name;
/// none where the caller may read no family.
pub async fn search(
    service: &Directory,
    caller: &Caller,
    text: &str,
    page: PageRequest,
) -> Result<Option<Page<ListedOrganization>>> {
    let may = |family: &OrgType| {
        let is_below = caller.org_type().is_some_and(|own| own.level() < family.level());
        is_below && resource_of(*family).is_some_and(|resource| gate(caller, Action::Read, resource).is_ok())
    };
    let types: Vec<OrgType> = OrgType::FAMILIES.into_iter().filter(may).collect();
    if types.is_empty() {
        return Ok(None);
    }
    let scope = hierarchy(caller);
    let filter =
        DirectoryFilter { search: text.to_owned(), types: Some(types), ..DirectoryFilter::default() };
    let order = (DirectorySort::Name, SortDirection::Asc);
    // Together, so that the rows are never those of an earlier number.
    let read = async {
        let total = directory::count(&service.platform.db, &scope, &filter).await?;
        let listed = directory::directory(&service.platform.db, &scope, &filter, order, page, total).await?;
        let rows = listed.rows.into_iter().map(|e| (e.id, e.org_type, e.name, e.description));
        Ok((total, rows.collect()))
    };
    let other = answer_cache::key_text(&(&filter, page));
    let (total, rows): (u64, Vec<(OrgId, OrgType, String, String)>) = answer_cache::computed(
        &service.platform,
        DependsOn::People,
        "organizations/search",
        scope,
        other,
        read,
    )
    .await?;
    let entry = |(id, org_type, name, description)| ListedOrganization { id, org_type, name, description };
    Ok(Some(Page { rows: rows.into_iter().map(entry).collect(), total, request: page }))
}

/// The names of those of these organizations that the caller may see.
pub async fn names_within(
    service: &Directory,
    caller: &Caller,
    ids: &[OrgId],
) -> Result<HashMap<OrgId, String>> {
    Ok(directory::names(&service.platform.db, &hierarchy(caller), ids).await?)
}

/// The name of an organization that the caller may see; none for any other one.
pub async fn name_within(service: &Directory, caller: &Caller, id: OrgId) -> Result<Option<String>> {
    let node = organizations::node(&service.platform.db, id).await?;
    if in_hierarchy(caller, node.as_ref()).is_err() {
        return Ok(None);
    }
    Ok(organizations::get(&service.platform.db, id).await?.map(|organization| organization.details.name))
}
