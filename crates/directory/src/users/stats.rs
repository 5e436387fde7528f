//! Totals, trend and the choices of the list's filters (spec: users#operations, conventions#trends).

use crate::{Directory, creators::narrow, organizations::by_name, roles::RoleChoice};
use bailiwick_domain::{ChoiceSearch, Result, org::OrgRef};
use bailiwick_platform::{
    answer_cache::{self, CachedAnswer, DependsOn},
    trend::{Trend, Window},
};
use bailiwick_policy::{Caller, Resource, filter_roles, list_scope};
use bailiwick_store::{
    creators::{self, CreatorChoice, Of},
    users::stats::{self, Totals},
};
use bytes::Bytes;

/// The number of users the caller sees, and of suspended ones. `write` writes the answer.
pub async fn totals(
    service: &Directory,
    caller: &Caller,
    write: impl FnOnce(Totals) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let scope = list_scope(caller, Resource::Users)?;
    let make = async { write(stats::count_by_state(&service.platform.db, &scope).await?) };
    answer_cache::answer(&service.platform, DependsOn::People, "totals of users", scope, String::new(), make)
        .await
}

/// The users the caller sees by date of creation. A user who is deleted now counts on no date, not even before (spec:
/// conventions#trends). `period` as sent; none = 7. `write` writes the answer.
pub async fn trend(
    service: &Directory,
    caller: &Caller,
    period: Option<&str>,
    write: impl FnOnce(Trend) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let scope = list_scope(caller, Resource::Users)?;
    let window = Window::parse(service.platform.now(), period)?;
    let dates = window.key();
    let make = async {
        let created = stats::created_by_day(&service.platform.db, &scope, window.since()?).await?;
        let total = stats::count(&service.platform.db, &scope).await?;
        write(window.fill(&created, total)?)
    };
    answer_cache::answer(&service.platform, DependsOn::People, "trend of users", scope, dates, make).await
}

/// The trend of users as numbers.
pub async fn growth(service: &Directory, caller: &Caller, period: Option<&str>) -> Result<Trend> {
    let scope = list_scope(caller, Resource::Users)?;
    let window = Window::parse(service.platform.now(), period)?;
    let dates = window.key();
    let make = async {
        let created = stats::created_by_day(&service.platform.db, &scope, window.since()?).await?;
        window.fill(&created, stats::count(&service.platform.db, &scope).await?)
    };
    answer_cache::computed(&service.platform, DependsOn::People, "growth of users", scope, dates, make).await
}

/// The choices of the list's filters.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Roles the caller could assign by level.
    pub roles: Vec<RoleChoice>,
    /// Organizations with visible users, by name.
    pub organizations: Vec<OrgRef>,
    /// The users who created users, by name.
    pub creators: Vec<CreatorChoice>,
    /// The lists that the search has cut, by their names on the wire; none without a search.
    pub more: Option<Vec<&'static str>>,
}

/// `GET /filters/users`; with a search only creators and organizations that it finds. `write` writes the answer.
pub async fn choices(
    service: &Directory,
    caller: &Caller,
    search: Option<&ChoiceSearch>,
    write: impl FnOnce(Choices) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let scope = list_scope(caller, Resource::Users)?;
    let roles: Vec<RoleChoice> =
        filter_roles(caller, &service.platform.catalogue).into_iter().map(RoleChoice::of).collect();
    let offered = roles.iter().map(|role| role.id.as_str()).collect::<Vec<_>>().join(",");
    let make = async {
        let mut organizations = stats::homes(&service.platform.db, &scope, search).await?;
        let mut creators = by_name(creators::creators(&service.platform.db, Of::Users, &scope).await?);
        let more = narrow(search, &mut creators, &mut organizations);
        write(Choices { roles, organizations, creators, more })
    };
    let other = answer_cache::key_text(&(offered, search));
    answer_cache::answer(&service.platform, DependsOn::People, "filters of users", scope, other, make).await
}
