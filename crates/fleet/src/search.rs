//! One text over organizations, users, systems and applications (spec: search#search). Each kind is found as its list
//! finds it, with the same permission, scope and caches.

use crate::{
    Fleet,
    applications::{self, ApplicationFilter, ApplicationOrder, ApplicationQuery, ApplicationRecord},
    systems::{self, SystemFilter, SystemOrder, SystemQuery},
};
use bailiwick_directory::{organizations, users};
use bailiwick_domain::{Keywords, Page, PageRequest, Result, SortDirection, System};
use bailiwick_policy::{Action, Caller, Resource, gate};
use bailiwick_store::organizations::directory::ListedOrganization;

/// Most rows of a kind.
pub const MOST: u64 = 10;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchKind {
    /// Organizations, by name and description.
    Organizations,
    /// Users, by name and address.
    Users,
    /// Systems, by name, key, host name, address and what else their list searches.
    Systems,
    /// Applications, by name, module and system.
    Applications,
}

impl SearchKind {
    /// All of them, in the order of the answer, by the words of `kinds`.
    pub const WORDS: Keywords<SearchKind> = Keywords::of(&[
        ("organizations", SearchKind::Organizations),
        ("users", SearchKind::Users),
        ("systems", SearchKind::Systems),
        ("applications", SearchKind::Applications),
    ]);
}

/// What was found; none = the kind was not asked for, or the caller may not read it.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    pub organizations: Option<Page<ListedOrganization>>,
    pub users: Option<Page<users::FoundUser>>,
    pub systems: Option<Page<System>>,
    pub applications: Option<Page<ApplicationRecord>>,
}

/// `GET /search`: the first `most` rows of each kind by name, and how many there are. A blank text finds nothing.
///
/// # Errors
/// The database's.
pub async fn search(
    service: &Fleet,
    caller: &Caller,
    text: &str,
    kinds: Option<&[SearchKind]>,
    most: u64,
) -> Result<SearchResults> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(SearchResults::default());
    }
    let page = PageRequest { page: 1, page_size: most.clamp(1, MOST) };
    let is_asked = |kind: SearchKind| kinds.is_none_or(|kinds| kinds.contains(&kind));
    let mut results = SearchResults::default();
    if is_asked(SearchKind::Organizations) {
        results.organizations = organizations::search(&service.directory, caller, text, page).await?;
    }
    if is_asked(SearchKind::Users) && gate(caller, Action::Read, Resource::Users).is_ok() {
        results.users = Some(users::search(&service.directory, caller, text, page).await?);
    }
    if is_asked(SearchKind::Systems) && gate(caller, Action::Read, Resource::Systems).is_ok() {
        let query = SystemQuery {
            filter: SystemFilter { search: Some(text.to_owned()), ..SystemFilter::default() },
            order: Some((SystemOrder::Name, SortDirection::Asc)),
            page,
        };
        results.systems = Some(systems::list(service, caller, query).await?);
    }
    if is_asked(SearchKind::Applications) && gate(caller, Action::Read, Resource::Applications).is_ok() {
        let query = ApplicationQuery {
            filter: ApplicationFilter { search: Some(text.to_owned()), ..ApplicationFilter::default() },
            order: Some((ApplicationOrder::DisplayName, SortDirection::Asc)),
            page,
        };
        results.applications = Some(applications::list(service, caller, query).await?);
    }
    Ok(results)
}
