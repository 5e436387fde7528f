//! Totals, trend and the choices of the list's filters (contract 01 §5.4, §5.7).

use crate::{
    App,
    organizations::by_name,
    roles::RoleChoice,
    trend::{Trend, Window},
};
use bailiwick_domain::{Result, org::OrgRef};
use bailiwick_policy::{Caller, Resource, filter_roles, list_scope};
use bailiwick_store::{
    creators::{self, CreatorChoice, Of},
    users::figures::{self, Totals},
};

/// How many users the caller sees, and how many of them are suspended.
pub async fn totals(app: &App, caller: &Caller) -> Result<Totals> {
    let scope = list_scope(caller, Resource::Users)?;
    Ok(figures::count_by_state(&app.db, &scope).await?)
}

/// The users the caller sees by date of creation; who is deleted now counts on no date, not even before (contract 01
/// §5.7). `period` as sent; none = 7.
pub async fn trend(app: &App, caller: &Caller, period: Option<&str>) -> Result<Trend> {
    let scope = list_scope(caller, Resource::Users)?;
    let window = Window::parse(app.now(), period)?;
    let created = figures::created_by_day(&app.db, &scope, window.since()?).await?;
    let total = figures::count(&app.db, &scope).await?;
    window.fill(&created, total)
}

/// What the filters of the list can be set to.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Roles the caller could assign by level.
    pub roles: Vec<RoleChoice>,
    /// Organizations with visible users, by name.
    pub organizations: Vec<OrgRef>,
    /// Who created users, by name.
    pub creators: Vec<CreatorChoice>,
}

/// `GET /filters/users`.
pub async fn choices(app: &App, caller: &Caller) -> Result<Choices> {
    let scope = list_scope(caller, Resource::Users)?;
    let roles = filter_roles(caller, &app.catalogue).into_iter().map(RoleChoice::of).collect();
    let organizations = figures::homes(&app.db, &scope).await?;
    let creators = by_name(creators::creators(&app.db, Of::Users, &scope).await?);
    Ok(Choices { roles, organizations, creators })
}
