//! The roles of the catalogue as callers see them (spec: users#user-roles, users#organization-roles).

use crate::Directory;
use bailiwick_domain::OrgType;
use bailiwick_policy::{Caller, OrgRole, UserRole, filter_roles, may_grant, visible_roles};

/// A role as lists offer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleChoice {
    /// Catalogue key; of an organization role, the word of its type.
    pub id: String,
    pub name: String,
    pub description: String,
}

impl RoleChoice {
    pub(crate) fn of(role: &UserRole) -> RoleChoice {
        RoleChoice { id: role.key.clone(), name: role.name.clone(), description: role.description.clone() }
    }

    fn of_organizations(role: &OrgRole) -> RoleChoice {
        let id = role.org_type.as_str().to_owned();
        RoleChoice { id, name: role.name.clone(), description: role.description.clone() }
    }
}

/// The user roles the caller may be offered, in catalogue order.
pub fn user_roles(service: &Directory, caller: &Caller) -> Vec<RoleChoice> {
    visible_roles(caller, &service.platform.catalogue).into_iter().map(RoleChoice::of).collect()
}

/// The user roles by which the caller may filter, in catalogue order.
pub fn filters(service: &Directory, caller: &Caller) -> Vec<RoleChoice> {
    filter_roles(caller, &service.platform.catalogue).into_iter().map(RoleChoice::of).collect()
}

/// The user roles that the caller may give to a user of an organization of this type, in catalogue order; without a
/// type, to a user of any organization below the caller's or of that one.
pub fn grantable(service: &Directory, caller: &Caller, home: Option<OrgType>) -> Vec<RoleChoice> {
    let own = caller.org_type();
    let is_reachable = |home: &OrgType| own.is_some_and(|own| home.level() >= own.level());
    let homes: Vec<OrgType> = match home {
        Some(home) => vec![home],
        None => OrgType::FAMILIES.into_iter().filter(is_reachable).collect(),
    };
    let is_given = |role: &&UserRole| {
        let only = [role.key.clone()];
        homes.iter().any(|home| may_grant(caller, &service.platform.catalogue, &only, *home).is_ok())
    };
    visible_roles(caller, &service.platform.catalogue)
        .into_iter()
        .filter(is_given)
        .map(RoleChoice::of)
        .collect()
}

/// The four organization roles, from the owner down.
pub fn organization_roles(service: &Directory) -> Vec<RoleChoice> {
    let mut roles: Vec<&OrgRole> = service.platform.catalogue.org_roles().iter().collect();
    roles.sort_by_key(|role| role.org_type.level());
    roles.into_iter().map(RoleChoice::of_organizations).collect()
}
