//! Sessions and the caller's own account (spec: authentication#user-object to authentication#provider-token-reads,
//! account#me).

use bailiwick_domain::{Error, FieldError};
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

/// Body of `/auth/exchange`.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Exchange {
    /// Access token of the identity provider.
    #[schema(required = true, nullable = false)]
    pub access_token: Option<String>,
}

/// Body of `/auth/refresh`.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Refresh {
    /// The chain's current refresh token.
    #[schema(required = true, nullable = false)]
    pub refresh_token: Option<String>,
}

/// Body of `/me/change-password`; other fields are ignored.
#[derive(Deserialize, ToSchema)]
pub struct PasswordChange {
    /// The present password.
    #[serde(default)]
    #[schema(required = true, nullable = false)]
    pub current_password: Option<String>,
    /// The new one.
    #[serde(default)]
    #[schema(required = true, nullable = false)]
    pub new_password: Option<String>,
}

/// Body of `/me/change-info`; at least one of them.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct InfoChange {
    /// Display name.
    pub name: Option<String>,
    /// E-mail.
    pub email: Option<String>,
    /// `""` removes it.
    pub phone: Option<String>,
}

/// What has been changed of oneself.
#[derive(Debug, Serialize, ToSchema)]
pub struct InfoChanged {
    /// `name`, `email`, `phone` or `phone (removed)`.
    pub updated_fields: Vec<&'static str>,
}

/// Where a picture can be seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct AvatarOutput {
    /// Absolute address; public.
    pub avatar_url: String,
}

/// Tokens of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionTokens {
    /// Access token, for `Authorization: Bearer`.
    pub token: String,
    /// For `/auth/refresh`, once.
    pub refresh_token: String,
    /// Seconds `token` lives from now.
    pub expires_in: u64,
    /// The user.
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

/// The caller as tokens and answers show the user: exactly these keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionUser {
    /// Id.
    pub id: String,
    /// The same value again.
    pub logto_id: String,
    /// User name.
    pub username: String,
    /// E-mail.
    pub email: String,
    /// Display name.
    pub name: String,
    /// Digits only.
    #[schema(required = true)]
    pub phone: Option<String>,
    /// Names of the user roles.
    pub user_roles: Vec<String>,
    /// Their keys.
    pub user_role_ids: Vec<String>,
    /// Permissions of the user roles, in order of first sight.
    pub user_permissions: Vec<String>,
    /// `Owner`, `Distributor`, `Reseller` or `Customer`.
    pub org_role: String,
    /// Its key.
    pub org_role_id: String,
    /// What the user roles leave of the organization role.
    pub org_permissions: Vec<String>,
    /// Organization.
    pub organization_id: String,
    /// Its present name.
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

/// `GET /user/permissions`.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserPermissions {
    /// Names of the user roles.
    pub user_roles: Vec<String>,
    /// Permissions of the user roles.
    pub user_permissions: Vec<String>,
    /// Name of the organization role.
    pub org_role: String,
    /// What the user roles leave of it.
    pub org_permissions: Vec<String>,
    /// Organization.
    pub organization_id: String,
    /// Its present name.
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

/// Answer of `/auth/logout`.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoggedOut {
    /// For people.
    pub message: &'static str,
}
