//! Users (spec: users#operations, authorization#assigning-roles): create, read, change, assign roles, reset a password,
//! suspend, delete and back.
//!
//! Order of every change: gate, self guard, reach, rank; then the body; then the references in it (organization,
//! roles); then fields and uniqueness together. Permissions are checked again on the locked row.

mod create;
mod fields;
mod lifecycle;
mod list;
mod own;
mod password;
mod second_factors;
mod stats;
mod update;

pub use bailiwick_store::users::stats::Totals;
pub use create::create;
pub use lifecycle::{delete, destroy, reactivate, restore, suspend};
pub(crate) use list::prepare;
pub use list::{FILTERS, FilterValues, FoundUser, ListQuery, ORDERS, list, page, search, walk};
pub use own::{OwnInfo, change_own_info};
pub use password::set_password;
pub use second_factors::reset_second_factors;
pub use stats::{Choices, choices, growth, totals, trend};
pub use update::update;

use crate::Directory;
use bailiwick_domain::{Error, ObjectKind, OrgId, Result, Ts, User, UserId};
use bailiwick_identity::{auth::judged_user, impersonation, logto_sync};
use bailiwick_platform::RequestContext;
use bailiwick_policy::{
    Action, Caller, Consent, Granted, OrgNode, Permission, Resource, UserHome, UserTarget, decide, gate,
    hierarchy,
};
use bailiwick_store::{
    impersonation::consents as stored_consents,
    organizations,
    users::{self, Placed},
};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The body of a creation or a change; absent and null are the same.
#[derive(Clone, Debug, Default)]
pub struct UserBody {
    pub username: Option<String>,
    pub email: Option<String>,
    pub name: Option<String>,
    /// `phone`; `""` removes it.
    pub phone: Option<String>,
    pub user_role_ids: Option<Vec<String>>,
    pub organization_id: Option<String>,
    /// `custom_data` as sent, server-owned keys included.
    pub custom_data: Option<Map<String, Value>>,
}

/// A user as an answer shows it.
#[derive(Clone, Debug)]
pub struct UserView {
    pub user: User,
    /// Key and name of the roles that the catalogue knows.
    pub roles: Vec<(String, String)>,
    /// Set only for callers who hold `impersonate:users`.
    pub can_be_impersonated: Option<bool>,
    /// The reason why the Logto sync was refused for this user; set only in identity mode `logto`.
    pub sync_error: Option<Option<String>>,
}

/// One user. `id`: none = malformed, treated as missing.
pub async fn get(service: &Directory, caller: &Caller, id: Option<UserId>) -> Result<UserView> {
    let placed = load(service, id).await?;
    let (_, placed) = authorize(service, caller, Action::Read, placed)?;
    shown(service, caller, placed).await
}

/// A user as a page shows them, with what decides about them.
#[derive(Clone, Debug)]
pub struct UserRecord {
    pub view: UserView,
    /// For decisions; without the consent, which [`UserView::can_be_impersonated`] has judged.
    pub target: UserTarget,
    /// When the consent ends, if the caller may impersonate the user now.
    pub consented_until: Option<Ts>,
}

/// One user on whom the caller may take the action. `id`: none = malformed, treated as missing.
///
/// # Errors
/// The refusal of the action.
pub async fn load_for(
    service: &Directory,
    caller: &Caller,
    action: Action,
    id: Option<UserId>,
) -> Result<UserRecord> {
    let (_, placed) = authorize(service, caller, action, load(service, id).await?)?;
    let target = judged_user(&service.identity, &placed);
    let view = shown(service, caller, placed).await?;
    let consent = match view.can_be_impersonated {
        Some(true) => {
            stored_consents::get(&service.platform.db, view.user.id, service.platform.now()).await?
        }
        _ => None,
    };
    Ok(UserRecord { view, target, consented_until: consent.map(|consent| consent.expires_at) })
}

/// A user with the place of their organization in the tree; none when there is no such user.
pub async fn load(service: &Directory, id: Option<UserId>) -> Result<Option<Placed>> {
    match id {
        Some(id) => Ok(users::get(&service.platform.db, id).await?),
        None => Ok(None),
    }
}

/// Checks permission for a user that was loaded; missing and unreadable users give the same answer.
fn authorize(
    service: &Directory,
    caller: &Caller,
    action: Action,
    placed: Option<Placed>,
) -> Result<(Granted<UserId>, Placed)> {
    let Some(placed) = placed else {
        gate(caller, action, Resource::Users)?;
        return Err(Error::NotFound(ObjectKind::User));
    };
    let granted = decide(caller, action, &judged_user(&service.identity, &placed)).granted()?;
    Ok((granted, placed))
}

/// Checks permission for a change of a user, then the conditions of the request on the user's state.
fn authorize_on_condition(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    action: Action,
    placed: Option<Placed>,
) -> Result<(Granted<UserId>, Placed)> {
    let (granted, placed) = authorize(service, caller, action, placed)?;
    ctx.check_conditions(&service.platform, &placed.user)?;
    Ok((granted, placed))
}

/// Whether the caller may change something about the user that is not in the user's row.
pub(crate) fn authorize_change(
    service: &Directory,
    caller: &Caller,
    placed: Option<Placed>,
) -> Result<UserId> {
    authorize(service, caller, Action::Update, placed).map(|(granted, _)| granted.id())
}

/// A user as this caller sees it.
async fn shown(service: &Directory, caller: &Caller, mut placed: Placed) -> Result<UserView> {
    let agreed = consents(service, caller, std::iter::once(placed.user.id)).await?;
    let mut marks = logto_sync::marks_of_users(&service.identity, std::iter::once(placed.user.id)).await?;
    placed.user.mirrored = marks.remove(&placed.user.id.0).unwrap_or_default();
    Ok(view(service, caller, agreed.as_ref(), placed))
}

/// Which of these users have given consent to impersonation; none for a caller who may not see it.
async fn consents(
    service: &Directory,
    caller: &Caller,
    users: impl Iterator<Item = UserId>,
) -> Result<Option<HashSet<UserId>>> {
    if !caller.holds(Permission::ImpersonateUsers) {
        return Ok(None);
    }
    Ok(Some(stored_consents::of_users(&service.platform.db, users, service.platform.now()).await?))
}

fn view(service: &Directory, caller: &Caller, agreed: Option<&HashSet<UserId>>, placed: Placed) -> UserView {
    let can_be_impersonated = agreed.map(|agreed| {
        let consent = if agreed.contains(&placed.user.id) {
            impersonation::reach(&service.identity)
        } else {
            Consent::Absent
        };
        decide(
            caller,
            Action::Impersonate,
            &UserTarget { consent, ..judged_user(&service.identity, &placed) },
        )
        .is_allowed()
    });
    let roles = placed.user.role_ids.iter().filter_map(|id| service.platform.catalogue.user_role(id));
    let roles = roles.map(|role| (role.key.clone(), role.name.clone())).collect();
    let sync_error = service.identity.logto.as_ref().map(|_| placed.user.mirrored.error.clone());
    let mut user = placed.user;
    user.created_by = user.created_by.filter(|creator| hierarchy(caller).shows(creator));
    UserView { roles, can_be_impersonated, sync_error, user }
}

/// The organization that a body names, if the caller may put users there (spec: users#scope).
async fn grant_organization(
    service: &Directory,
    caller: &Caller,
    action: Action,
    requested_id: &str,
) -> Result<(Granted<OrgId>, OrgNode)> {
    let node = match requested_id.parse::<OrgId>() {
        Ok(id) => organizations::node(&service.platform.db, id).await?,
        Err(_) => None,
    };
    let home = UserHome { requested_id: requested_id.to_owned(), node };
    let granted = decide(caller, action, &home).granted()?;
    // A missing organization is never granted; this only converts the type.
    let node = node.ok_or_else(|| Error::internal("an unknown organization was granted"))?;
    Ok((granted, node))
}

/// Each key once, in order of first occurrence. A body can hold a hundred thousand of them, hence the set.
fn distinct(mut role_ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::with_capacity(role_ids.len());
    role_ids.retain(|id| seen.insert(id.clone()));
    role_ids
}

/// The fields of a user that the audit keeps, without secrets.
fn audited(user: &User) -> Value {
    json!({
        "username": user.username, "email": user.email, "name": user.name, "phone": user.phone,
        "user_role_ids": user.role_ids, "organization_id": user.organization.id, "custom_data": user.custom_data,
    })
}
