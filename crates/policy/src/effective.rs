//! The effective permissions of a user (spec: authorization#effective-permissions).

use crate::{Catalogue, Permission, PermissionSet, UserRole, Verb};
use bailiwick_domain::OrgType;

/// The effective permissions of one user. Only a catalogue creates them; the default value grants nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effective {
    user_roles: Vec<String>,
    user_role_ids: Vec<String>,
    user_permissions: Vec<String>,
    org_permissions: Vec<String>,
    set: PermissionSet,
    restricted: Vec<(String, OrgType)>,
}

impl Effective {
    /// Names of the held roles that the catalogue knows.
    pub fn user_roles(&self) -> &[String] {
        &self.user_roles
    }

    /// Their keys.
    pub fn user_role_ids(&self) -> &[String] {
        &self.user_role_ids
    }

    /// Wire list with the markers, in order of first sight.
    pub fn user_permissions(&self) -> &[String] {
        &self.user_permissions
    }

    /// The permissions that the masks leave of the organization role, as listed on the wire.
    pub fn org_permissions(&self) -> &[String] {
        &self.org_permissions
    }

    /// P(u): both lists as a set, without markers.
    pub const fn set(&self) -> PermissionSet {
        self.set
    }

    /// Held restricted roles with the lowest level that may assign each.
    pub fn restricted(&self) -> &[(String, OrgType)] {
        &self.restricted
    }
}

/// The actions of the organization role that a holder of these roles keeps: none without a role, and one read-only role
/// outweighs all others.
fn kept_actions(roles: &[&UserRole]) -> Vec<Verb> {
    if roles.iter().any(|r| r.read_only) {
        return vec![Verb::Read];
    }
    roles.iter().flat_map(|r| r.organization_actions.iter().copied()).collect()
}

fn push_new(list: &mut Vec<String>, entry: String) {
    if !list.contains(&entry) {
        list.push(entry);
    }
}

pub(crate) fn compute(catalogue: &Catalogue, org_type: OrgType, role_ids: &[String]) -> Effective {
    let mut roles: Vec<&UserRole> = Vec::new();
    for role in role_ids.iter().filter_map(|id| catalogue.user_role(id)) {
        if !roles.iter().any(|r| r.key == role.key) {
            roles.push(role);
        }
    }
    let mut user_permissions = Vec::new();
    for role in &roles {
        role.permissions.iter().for_each(|p| push_new(&mut user_permissions, p.as_str().to_owned()));
        role.marker().into_iter().for_each(|m| push_new(&mut user_permissions, m));
    }
    let kept_verbs = kept_actions(&roles);
    let org: Vec<Permission> = catalogue
        .org_role(org_type)
        .map(|role| role.permissions.iter().copied().filter(|p| kept_verbs.contains(&p.verb())).collect())
        .unwrap_or_default();
    let user_set = roles.iter().fold(PermissionSet::EMPTY, |set, role| set.union(role.set));
    Effective {
        user_roles: roles.iter().map(|r| r.name.clone()).collect(),
        user_role_ids: roles.iter().map(|r| r.key.clone()).collect(),
        user_permissions,
        org_permissions: org.iter().map(|p| p.as_str().to_owned()).collect(),
        set: user_set.union(org.into_iter().collect()),
        restricted: roles.iter().filter_map(|r| Some((r.key.clone(), r.assignable_by?))).collect(),
    }
}
