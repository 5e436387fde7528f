//! Sessions and the caller's own account (spec: authentication#user-object to authentication#provider-token-reads,
//! account#me).

use bailiwick_domain::{Error, FieldError, OrgType, validate::MAX_NAME_CHARS};
use bailiwick_identity::auth::{Session, UserObject};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A value that must be there and not empty; else the text of `/auth/*` and `/me/*`.
pub(crate) fn required(key: &str, value: Option<String>) -> Result<String, Error> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| Error::BadRequest {
        message: format!("invalid request body: {key} is required").into(),
        data: crate::error::validation(&[FieldError::new(key, "required")]),
    })
}

/// A token of the identity provider, to exchange for a session.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Exchange {
    /// Access token of the identity provider.
    #[schema(required = true, nullable = false)]
    pub access_token: Option<String>,
}

/// A refresh token, to renew a session.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Refresh {
    /// The session's current refresh token.
    #[schema(required = true, nullable = false)]
    pub refresh_token: Option<String>,
}

/// A new password for the caller. Other fields are ignored.
#[derive(Deserialize, ToSchema)]
pub struct PasswordChange {
    /// The current password.
    #[serde(default)]
    #[schema(required = true, nullable = false)]
    pub current_password: Option<String>,
    /// The new password, from 12 to 128 bytes.
    #[serde(default)]
    #[schema(required = true, nullable = false)]
    pub new_password: Option<String>,
}

/// Changes of the caller's own account. At least one field is required.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct InfoChange {
    /// New display name.
    #[schema(min_length = 1, extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
    /// New e-mail address.
    #[schema(format = IdnEmail)]
    pub email: Option<String>,
    /// New phone number; `""` removes it.
    pub phone: Option<String>,
}

/// The fields of the caller's account that were changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct InfoChanged {
    /// Names of the fields: `name`, `email`, and `phone` or `phone (removed)`.
    pub updated_fields: Vec<&'static str>,
}

/// The address of a user's picture.
#[derive(Debug, Serialize, ToSchema)]
pub struct AvatarOutput {
    /// Absolute address of the picture, which anybody may read.
    #[schema(format = "uri")]
    pub avatar_url: String,
}

/// The tokens of a session, with its user.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionTokens {
    /// Access token, for `Authorization: Bearer`.
    pub token: String,
    /// Refresh token, for one `POST /auth/refresh`.
    pub refresh_token: String,
    /// Seconds until `token` expires.
    pub expires_in: u64,
    /// The user of the session.
    pub user: SessionUser,
}

impl From<Session> for SessionTokens {
    fn from(session: Session) -> SessionTokens {
        SessionTokens {
            token: session.token,
            refresh_token: session.refresh_token,
            expires_in: session.expires_in,
            user: session.user.into(),
        }
    }
}

/// A user with their roles and permissions, as tokens show them.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionUser {
    /// Unique identifier of the user.
    pub id: String,
    /// Same value as `id`.
    pub logto_id: String,
    /// User name, which no other user has.
    pub username: String,
    /// E-mail address of the user.
    pub email: String,
    /// Display name of the user.
    pub name: String,
    /// Phone number, digits only; null when there is none.
    #[schema(required = true)]
    pub phone: Option<String>,
    /// Names of the user's roles.
    pub user_roles: Vec<String>,
    /// Ids of the user's roles: their keys in the catalogue of roles.
    pub user_role_ids: Vec<String>,
    /// Permissions that those roles grant, each once.
    pub user_permissions: Vec<String>,
    /// Organization role, by the level of the user's organization: `Owner`, `Distributor`, `Reseller` or `Customer`.
    #[schema(extensions(("x-enum" = json!(OrgType::ALL.map(OrgType::role_name)))))]
    pub org_role: String,
    /// Id of the organization role: `owner`, `distributor`, `reseller` or `customer`.
    #[schema(extensions(("x-enum" = json!(OrgType::ALL.map(OrgType::as_str)))))]
    pub org_role_id: String,
    /// Permissions of the organization role that the user's roles leave. A read-only role leaves those to read.
    pub org_permissions: Vec<String>,
    /// Id of the user's organization.
    pub organization_id: String,
    /// Current name of that organization.
    pub organization_name: String,
}

impl From<UserObject> for SessionUser {
    fn from(user: UserObject) -> SessionUser {
        SessionUser {
            id: user.id.to_string(),
            logto_id: user.logto_id.to_string(),
            username: user.username,
            email: user.email,
            name: user.name,
            phone: user.phone,
            user_roles: user.user_roles,
            user_role_ids: user.user_role_ids,
            user_permissions: user.user_permissions,
            org_role: user.org_role,
            org_role_id: user.org_role_id,
            org_permissions: user.org_permissions,
            organization_id: user.organization_id.to_string(),
            organization_name: user.organization_name,
        }
    }
}

/// The roles and permissions of the user who has signed in.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserPermissions {
    /// Names of the user's roles.
    pub user_roles: Vec<String>,
    /// Permissions that those roles grant, each once.
    pub user_permissions: Vec<String>,
    /// Organization role, by the level of the user's organization: `Owner`, `Distributor`, `Reseller` or `Customer`.
    #[schema(extensions(("x-enum" = json!(OrgType::ALL.map(OrgType::role_name)))))]
    pub org_role: String,
    /// Permissions of the organization role that the user's roles leave. A read-only role leaves those to read.
    pub org_permissions: Vec<String>,
    /// Id of the user's organization.
    pub organization_id: String,
    /// Current name of that organization.
    pub organization_name: String,
}

impl From<UserObject> for UserPermissions {
    fn from(user: UserObject) -> UserPermissions {
        UserPermissions {
            user_roles: user.user_roles,
            user_permissions: user.user_permissions,
            org_role: user.org_role,
            org_permissions: user.org_permissions,
            organization_id: user.organization_id.to_string(),
            organization_name: user.organization_name,
        }
    }
}

/// The confirmation of a sign-out.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoggedOut {
    /// Confirmation for people.
    pub message: &'static str,
}
