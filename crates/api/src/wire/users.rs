//! Users (spec: users#user, users#create, users#update).

use super::organizations::CreatorOutput;
use crate::envelope::Pagination;
use bailiwick_directory::users::{UserBody, UserView};
use bailiwick_domain::{
    OrgType, Page, Ts, exact,
    org::OrgRef,
    validate::{MAX_NAME_CHARS, MAX_USERNAME_CHARS},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A user to create, or their changes. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct UserInput {
    /// User name: letters, digits and `_`, at most 128 characters. Derived from the e-mail address of a new user when
    /// absent.
    #[schema(extensions(("x-maxLength" = json!(MAX_USERNAME_CHARS))))]
    pub username: Option<String>,
    /// E-mail address. Required for a new user.
    #[schema(format = IdnEmail)]
    pub email: Option<String>,
    /// Display name, at most 255 characters. Required for a new user.
    #[schema(extensions(("x-maxLength" = json!(MAX_NAME_CHARS))))]
    pub name: Option<String>,
    /// Phone number, such as `+39 333 123456`; `""` removes it.
    pub phone: Option<String>,
    /// Ids of the user's roles, at least one. Required for a new user.
    #[schema(min_items = 1)]
    pub user_role_ids: Option<Vec<String>>,
    /// Id of the user's organization. Required for a new user; another one moves the user.
    pub organization_id: Option<String>,
    /// Data of clients, at most 64 KiB as JSON. A change replaces the stored data.
    #[schema(value_type = Option<Object>)]
    #[serde(deserialize_with = "exact::read")]
    pub custom_data: Option<Map<String, Value>>,
}

impl From<UserInput> for UserBody {
    fn from(input: UserInput) -> UserBody {
        UserBody {
            username: input.username,
            email: input.email,
            name: input.name,
            phone: input.phone,
            user_role_ids: input.user_role_ids,
            organization_id: input.organization_id,
            custom_data: input.custom_data,
        }
    }
}

/// A new password for a user.
// Secrets do not print, so there is no `Debug`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct PasswordInput {
    /// The new password, from 12 to 128 bytes.
    #[schema(required = true, nullable = false)]
    pub password: Option<String>,
}

/// The organization that an object belongs to.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationRefOutput {
    /// Id of the organization.
    pub id: String,
    /// Same value as `id`.
    pub logto_id: String,
    /// Current name of the organization.
    pub name: String,
    /// Level of the organization: `owner`, `distributor`, `reseller` or `customer`.
    #[schema(extensions(("x-enum" = json!(OrgType::ALL.map(OrgType::as_str)))))]
    pub r#type: &'static str,
}

impl From<OrgRef> for OrganizationRefOutput {
    fn from(o: OrgRef) -> OrganizationRefOutput {
        OrganizationRefOutput {
            id: o.id.to_string(),
            logto_id: o.id.to_string(),
            name: o.name,
            r#type: o.org_type.as_str(),
        }
    }
}

/// A role of a user.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleRefOutput {
    /// Id of the role: its key in the catalogue of roles.
    pub id: String,
    /// Name of the role.
    pub name: String,
}

/// A user. All fields but `logto_sync_error` and `can_be_impersonated` are always present.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserOutput {
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
    /// The user's organization.
    pub organization: OrganizationRefOutput,
    /// The user's roles.
    pub roles: Vec<RoleRefOutput>,
    /// Data of clients; null when there is none.
    #[schema(required = true, value_type = Option<Object>)]
    #[serde(serialize_with = "exact::write_if_any")]
    pub custom_data: Option<Map<String, Value>>,
    /// When the user was created.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// When the user was last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// When the user was last mirrored to Logto; null outside identity mode `logto`.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub logto_synced_at: Option<Ts>,
    /// Why mirroring to Logto fails; null if it does not. Present only when one user is read in identity mode `logto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub logto_sync_error: Option<Option<String>>,
    /// When the user last signed in; null if never.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub latest_login_at: Option<Ts>,
    /// When the user, or the nearest deleted organization, was deleted; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// When the user, or the nearest suspended organization, was suspended; null if neither is.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// Id of the organization that the suspension comes from; null if the user was suspended directly, or is not
    /// suspended.
    #[schema(required = true)]
    pub suspended_by_org_id: Option<String>,
    /// Id of the organization that the deletion comes from; null if the user was deleted directly, or is not deleted.
    #[schema(required = true)]
    pub deleted_by_org_id: Option<String>,
    /// Who created the user; null if that is not known, or the reader may not see it.
    #[schema(required = true)]
    pub created_by: Option<CreatorOutput>,
    /// Whether the caller may impersonate the user now. Present only for callers who hold `impersonate:users`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_be_impersonated: Option<bool>,
}

impl From<UserView> for UserOutput {
    fn from(view: UserView) -> UserOutput {
        let user = view.user;
        UserOutput {
            id: user.id.to_string(),
            logto_id: user.id.to_string(),
            username: user.username,
            email: user.email,
            name: user.name,
            phone: user.phone,
            organization: user.organization.into(),
            roles: view.roles.into_iter().map(|(id, name)| RoleRefOutput { id, name }).collect(),
            custom_data: user.custom_data,
            created_at: user.created_at,
            updated_at: user.updated_at,
            logto_synced_at: user.mirrored.synced_at,
            logto_sync_error: None,
            latest_login_at: user.latest_login_at,
            deleted_at: user.deleted.at,
            suspended_at: user.suspended.at,
            suspended_by_org_id: user.suspended.by.map(|id| id.to_string()),
            deleted_by_org_id: user.deleted.by.map(|id| id.to_string()),
            created_by: user.created_by.map(CreatorOutput::from),
            can_be_impersonated: view.can_be_impersonated,
        }
    }
}

impl UserOutput {
    /// As `GET /users/{id}` shows the user.
    pub fn alone(view: UserView) -> UserOutput {
        let logto_sync_error = view.sync_error.clone();
        UserOutput { logto_sync_error, ..view.into() }
    }
}

/// A page of users.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserList {
    /// The users of this page.
    pub users: Vec<UserOutput>,
    /// Position of this page in the list.
    pub pagination: Pagination,
}

impl UserList {
    /// Of a page, with the sort as the client sent it.
    pub fn of(page: Page<UserView>, sort_by: Option<&str>, direction: Option<&str>) -> UserList {
        let pagination = Pagination::of(&page, sort_by, direction);
        UserList { users: page.rows.into_iter().map(UserOutput::from).collect(), pagination }
    }
}
