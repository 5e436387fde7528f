//! The user object of tokens, `/auth/*`, `/me` and `/user/profile` (spec: authentication#user-object).

use crate::Identity;
use bailiwick_domain::{Error, OrgId, Result, UserId};
use bailiwick_policy::{Caller, Catalogue, Consent, UserIdentity, UserTarget};
use bailiwick_store::{identities::Identified, users::Placed};
use serde::Serialize;

/// Exactly these 14 keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserObject {
    pub id: UserId,
    /// The id again, for older clients.
    pub logto_id: UserId,
    /// User name.
    pub username: String,
    pub email: String,
    /// Display name.
    pub name: String,
    /// Digits only.
    pub phone: Option<String>,
    /// Names of the user roles.
    pub user_roles: Vec<String>,
    /// Their keys.
    pub user_role_ids: Vec<String>,
    /// Permissions of the user roles, markers included, in order of first sight.
    pub user_permissions: Vec<String>,
    /// Capitalised name of the organization role.
    pub org_role: String,
    /// Its key.
    pub org_role_id: String,
    /// The permissions that the masks leave of the organization role.
    pub org_permissions: Vec<String>,
    pub organization_id: OrgId,
    /// Its present name.
    pub organization_name: String,
}

/// The user object; this is the one place that builds it.
pub fn user_object(identity: &UserIdentity) -> UserObject {
    let organization = &identity.organization;
    UserObject {
        id: identity.user_id,
        logto_id: identity.user_id,
        username: identity.username.clone(),
        email: identity.email.clone(),
        name: identity.name.clone(),
        phone: identity.phone.clone(),
        user_roles: identity.effective.user_roles().to_vec(),
        user_role_ids: identity.effective.user_role_ids().to_vec(),
        user_permissions: identity.effective.user_permissions().to_vec(),
        org_role: organization.org_type.role_name().to_owned(),
        org_role_id: organization.org_type.as_str().to_owned(),
        org_permissions: identity.effective.org_permissions().to_vec(),
        organization_id: organization.id,
        organization_name: organization.name.clone(),
    }
}

/// A user as the policy sees them, from the row just read.
pub fn identity_of(catalogue: &Catalogue, user: Identified) -> UserIdentity {
    UserIdentity {
        user_id: user.id,
        effective: catalogue.effective(user.organization.org_type, &user.role_ids),
        username: user.username,
        name: user.name,
        email: user.email,
        phone: user.phone,
        organization: user.organization,
    }
}

/// A user as the rules of access see them. A caller that needs their consent looks it up.
pub fn judged_user(service: &Identity, placed: &Placed) -> UserTarget {
    let user = &placed.user;
    UserTarget {
        id: user.id,
        path: placed.path,
        effective: service.platform.catalogue.effective(user.organization.org_type, &user.role_ids),
        standing: placed.standing,
        consent: Consent::Absent,
    }
}

/// The caller's own user object; under impersonation the target's.
pub fn object_of(caller: &Caller) -> Result<UserObject> {
    caller.identity().map(user_object).ok_or_else(|| Error::unauthenticated("invalid token"))
}
