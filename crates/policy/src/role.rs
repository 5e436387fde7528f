//! The role catalogue: roles are data (spec: authorization#role-catalogue), checked as a whole when they are loaded.

use crate::{Effective, Permission, PermissionSet, Verb, effective};
use bailiwick_domain::OrgType;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, sync::LazyLock};

/// The catalogue as JSON.
pub const BUILT_IN_JSON: &str = include_str!("catalogue.json");

static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
    // A catalogue without roles grants nothing; a test keeps this branch unused.
    Catalogue::parse(BUILT_IN_JSON)
        .unwrap_or_else(|_| Catalogue { org_roles: Vec::new(), user_roles: Vec::new() })
});

/// The catalogue as written in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueDocument {
    /// One for each of the four levels.
    pub organization_roles: Vec<OrgRoleDocument>,
    /// At least one.
    pub user_roles: Vec<UserRoleDocument>,
}

/// An organization role as written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrgRoleDocument {
    /// `owner`, `distributor`, `reseller` or `customer`.
    pub key: String,
    /// The key as it is shown, in any case.
    pub name: String,
    /// Shown in the role list.
    #[serde(default)]
    pub description: String,
    /// 1 owner to 4 customer.
    pub level: i64,
    /// Permissions before the masks of the user roles.
    #[serde(default)]
    pub permissions: Vec<String>,
}

/// A user role as written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRoleDocument {
    /// Stable name, the role's id on the wire.
    pub key: String,
    /// Shown and translated by clients.
    pub name: String,
    /// Shown in the role list.
    #[serde(default)]
    pub description: String,
    /// The permissions the role grants.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Any holder keeps only `read:*` of the organization role.
    #[serde(default)]
    pub read_only: bool,
    /// Actions the holder keeps of the organization role.
    #[serde(default)]
    pub organization_actions: Vec<String>,
    /// Lowest organization level whose users may assign it; absent = everyone.
    #[serde(default)]
    pub assignable_by: Option<String>,
}

/// An organization role: exactly one per organization, fixed by its type.
#[derive(Clone, Debug, PartialEq)]
pub struct OrgRole {
    /// The type it belongs to; its word is the role's key.
    pub org_type: OrgType,
    /// As written in the catalogue.
    pub name: String,
    /// As written in the catalogue.
    pub description: String,
    /// In the order of the catalogue, without repetition.
    pub permissions: Vec<Permission>,
}

/// A user role.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRole {
    /// Stable name, the role's id on the wire.
    pub key: String,
    /// Display name.
    pub name: String,
    /// As written in the catalogue.
    pub description: String,
    /// In the order of the catalogue, without repetition.
    pub permissions: Vec<Permission>,
    /// The permissions as a set.
    pub set: PermissionSet,
    /// Masks every non-read organization permission of any holder.
    pub read_only: bool,
    /// Actions kept of the organization role.
    pub organization_actions: Vec<Verb>,
    /// Set = restricted: only users of this level or above may assign it.
    pub assignable_by: Option<OrgType>,
}

impl UserRole {
    /// The wire marker of a restricted role; never a capability.
    pub fn marker(&self) -> Option<String> {
        self.assignable_by.map(|level| format!("{}:role-access-control", level.as_str()))
    }

    /// Whether users of an organization of this type may assign it (spec: authorization#restricted-roles).
    pub fn assignable_from(&self, org_type: OrgType) -> bool {
        self.assignable_by.is_none_or(|lowest| org_type.level() <= lowest.level())
    }
}

/// The loaded catalogue. It holds all four organization roles and at least one user role.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    org_roles: Vec<OrgRole>,
    user_roles: Vec<UserRole>,
}

impl Catalogue {
    /// The default of spec: authorization#organization-roles, authorization#user-roles.
    pub fn built_in() -> &'static Catalogue {
        &BUILT_IN
    }

    /// Reads a JSON document.
    ///
    /// # Errors
    /// Every problem found, one line each.
    pub fn parse(json: &str) -> Result<Catalogue, Vec<String>> {
        let document = serde_json::from_str(json).map_err(|e| vec![format!("role catalogue: {e}")])?;
        Catalogue::build(&document)
    }

    /// Checks a document as a whole.
    ///
    /// # Errors
    /// Every problem found, one line each.
    pub fn build(document: &CatalogueDocument) -> Result<Catalogue, Vec<String>> {
        let mut errors = Vec::new();
        let org_roles = org_roles(&document.organization_roles, &mut errors);
        let user_roles = user_roles(&document.user_roles, &mut errors);
        if errors.is_empty() { Ok(Catalogue { org_roles, user_roles }) } else { Err(errors) }
    }

    /// Organization roles, from the top.
    pub fn org_roles(&self) -> &[OrgRole] {
        &self.org_roles
    }

    /// The organization role of a type.
    pub fn org_role(&self, org_type: OrgType) -> Option<&OrgRole> {
        self.org_roles.iter().find(|r| r.org_type == org_type)
    }

    /// User roles in catalogue order, restricted ones included; for a caller's view see [`crate::visible_roles`].
    pub fn user_roles(&self) -> &[UserRole] {
        &self.user_roles
    }

    /// The user role with this key.
    pub fn user_role(&self, key: &str) -> Option<&UserRole> {
        self.user_roles.iter().find(|r| r.key == key)
    }

    /// The effective permissions of a user with these roles in an organization of this type (spec:
    /// authorization#effective-permissions).
    pub fn effective(&self, org_type: OrgType, role_ids: &[String]) -> Effective {
        effective::compute(self, org_type, role_ids)
    }
}

/// The two ids of a role must be present and unique.
fn names<'a>(subject: &str, roles: impl Iterator<Item = (&'a String, &'a String)>, errors: &mut Vec<String>) {
    let (mut keys, mut shown) = (HashSet::new(), HashSet::new());
    for (key, name) in roles {
        if key.trim().is_empty() || key.trim() != key {
            errors.push(format!("{subject} role \"{key}\": the key is blank or has spaces around it"));
        }
        if name.trim().is_empty() {
            errors.push(format!("{subject} role \"{key}\": the name is blank"));
        }
        if !keys.insert(key) {
            errors.push(format!("{subject} role \"{key}\": the key appears twice"));
        }
        if !shown.insert(name.to_lowercase()) {
            errors.push(format!("{subject} role \"{key}\": the name \"{name}\" appears twice"));
        }
    }
}

/// Exact permissions, in the order of first mention; each unknown one is an error that names the unknown half.
fn permissions(role: &str, written: &[String], errors: &mut Vec<String>) -> Vec<Permission> {
    let mut parsed = Vec::new();
    for name in written {
        match Permission::parse(name) {
            Some(permission) if !parsed.contains(&permission) => parsed.push(permission),
            Some(_) => {}
            None => errors.push(format!("{role}: permission \"{name}\": {}", unknown_half(name))),
        }
    }
    parsed
}

fn unknown_half(name: &str) -> &'static str {
    let Some((action, resource)) = name.split_once(':') else { return "not of the form action:resource" };
    match (Verb::parse(action), crate::Resource::parse(resource)) {
        (None, _) => "unknown action",
        (_, None) => "unknown resource",
        _ => "this resource has no such action",
    }
}

fn org_roles(written: &[OrgRoleDocument], errors: &mut Vec<String>) -> Vec<OrgRole> {
    names("organization", written.iter().map(|r| (&r.key, &r.name)), errors);
    let mut roles = Vec::new();
    for role in written {
        let subject = format!("organization role \"{}\"", role.key);
        let permissions = permissions(&subject, &role.permissions, errors);
        let Some(org_type) = OrgType::ALL.into_iter().find(|t| i64::from(t.level()) == role.level) else {
            errors.push(format!("{subject}: unknown level {}", role.level));
            continue;
        };
        if role.key != org_type.as_str() || !role.name.eq_ignore_ascii_case(org_type.role_name()) {
            let (key, name) = (org_type.as_str(), org_type.role_name());
            let level = role.level;
            errors.push(format!("{subject}: level {level} has the key \"{key}\" and the name \"{name}\""));
        }
        let (name, description) = (org_type.role_name().to_owned(), role.description.clone());
        roles.push(OrgRole { org_type, name, description, permissions });
    }
    for org_type in OrgType::ALL {
        if !written.iter().any(|r| r.level == i64::from(org_type.level())) {
            errors.push(format!(
                "no organization role for level {} ({})",
                org_type.level(),
                org_type.as_str()
            ));
        }
    }
    roles.sort_by_key(|r| r.org_type.level());
    roles
}

fn user_roles(written: &[UserRoleDocument], errors: &mut Vec<String>) -> Vec<UserRole> {
    if written.is_empty() {
        errors.push("no user role at all".to_owned());
    }
    names("user", written.iter().map(|r| (&r.key, &r.name)), errors);
    written.iter().map(|role| user_role(role, errors)).collect()
}

fn user_role(role: &UserRoleDocument, errors: &mut Vec<String>) -> UserRole {
    let subject = format!("user role \"{}\"", role.key);
    let permissions = permissions(&subject, &role.permissions, errors);
    let mut organization_actions = Vec::new();
    for word in &role.organization_actions {
        match Verb::parse(word) {
            Some(verb) => organization_actions.push(verb),
            None => errors.push(format!("{subject}: organization_actions: unknown action \"{word}\"")),
        }
    }
    let assignable_by = role.assignable_by.as_deref().and_then(|word| {
        let level = OrgType::ALL.into_iter().find(|t| *t != OrgType::Customer && t.as_str() == word);
        if level.is_none() {
            errors.push(format!(
                "{subject}: assignable_by: \"{word}\" is none of owner, distributor, reseller"
            ));
        }
        level
    });
    UserRole {
        key: role.key.clone(),
        name: role.name.clone(),
        description: role.description.clone(),
        set: permissions.iter().copied().collect(),
        permissions,
        read_only: role.read_only,
        organization_actions,
        assignable_by,
    }
}

#[cfg(test)]
#[path = "role_tests.rs"]
mod tests;
