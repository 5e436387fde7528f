//! The rank rule (spec: authorization#assigning-roles): no user acts on, or creates, a user with more rights than their
//! own.

use crate::{Caller, Catalogue, Effective, Permission, PermissionSet, Refusal, UserRole};
use bailiwick_domain::{Error, FieldError, OrgType};
use serde_json::json;

/// The permissions and roles a caller lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct RankGap {
    /// The role that is the cause; when acting on a user, only a restricted one.
    pub role_id: Option<String>,
    /// The lowest level that may assign it; none unless it is restricted.
    pub required: Option<OrgType>,
    /// The caller's level; none for a credential without one.
    pub current: Option<OrgType>,
    /// Permissions the caller lacks.
    pub missing: PermissionSet,
}

impl RankGap {
    pub(crate) fn error(&self, message: &'static str) -> Error {
        let data = json!({
            "role_id": self.role_id,
            "required_org_role": self.required.map(OrgType::as_str),
            "current_org_role": self.current.map(OrgType::as_str),
            "missing_permissions": self.missing.names(),
        });
        Error::Forbidden { message: message.into(), data }
    }
}

/// The gap between the caller and a user with these effective permissions. None: the caller may act on them.
pub fn rank_gap(caller: &Caller, target: &Effective) -> Option<RankGap> {
    if matches!(caller, Caller::Worker) {
        return None;
    }
    let current = caller.org_type();
    let missing = target.set().without(caller.permissions());
    let out_of_reach = |lowest: &OrgType| current.is_none_or(|own| own.level() > lowest.level());
    let restricted = target.restricted().iter().find(|(_, lowest)| out_of_reach(lowest));
    match restricted {
        Some((role, lowest)) => {
            Some(RankGap { role_id: Some(role.clone()), required: Some(*lowest), current, missing })
        }
        None if missing.is_empty() => None,
        None => Some(RankGap { role_id: None, required: None, current, missing }),
    }
}

/// The roles named for a user exist and are at least one (spec: authorization#rank). A restricted role passes here.
///
/// # Errors
/// 400 with the field `user_role_ids`.
pub fn known_roles(catalogue: &Catalogue, role_ids: &[String]) -> Result<(), Error> {
    if role_ids.is_empty() {
        return Err(Error::field("user_role_ids", "at least one role is required"));
    }
    let unknown = |id: &&String| catalogue.user_role(id).is_none();
    let errors: Vec<FieldError> = role_ids
        .iter()
        .filter(unknown)
        .map(|id| FieldError::new("user_role_ids", "role not found").with_value(id.as_str()))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}

/// The grant rule: a user with these roles in an organization of this type must not have more than the caller, and the
/// caller must be allowed to assign every restricted role. Roles missing in the catalogue are refused by
/// [`known_roles`].
///
/// # Errors
/// `insufficient privileges to assign this role` with the first role that goes too far.
pub fn may_grant(
    caller: &Caller,
    catalogue: &Catalogue,
    role_ids: &[String],
    org_type: OrgType,
) -> Result<(), Refusal> {
    let result = catalogue.effective(org_type, role_ids);
    let Some(gap) = rank_gap(caller, &result) else { return Ok(()) };
    if gap.required.is_some() {
        return Err(Refusal::Ungrantable(gap));
    }
    // Each missing permission comes from a single role: from its own list, or from an action it keeps.
    let brings = |id: &&String| {
        !catalogue.effective(org_type, &[(*id).clone()]).set().intersect(gap.missing).is_empty()
    };
    let role_id = role_ids.iter().find(brings).or(role_ids.first()).cloned();
    Err(Refusal::Ungrantable(RankGap { role_id, ..gap }))
}

/// The roles that `GET /roles` offers a caller, in catalogue order: none restricted to a higher level, and, if the
/// caller manages users, none that grants permissions they lack (spec: authorization#rank).
pub fn visible_roles<'a>(caller: &Caller, catalogue: &'a Catalogue) -> Vec<&'a UserRole> {
    let own = caller.permissions();
    let manages = own.contains(Permission::ManageUsers);
    let mut roles = filter_roles(caller, catalogue);
    roles.retain(|role| !manages || role.set.is_subset(own));
    roles
}

/// The roles of `GET /filters/users`: all but the restricted ones above the caller.
pub fn filter_roles<'a>(caller: &Caller, catalogue: &'a Catalogue) -> Vec<&'a UserRole> {
    let Some(org_type) = caller.org_type() else { return Vec::new() };
    catalogue.user_roles().iter().filter(|role| role.assignable_from(org_type)).collect()
}
