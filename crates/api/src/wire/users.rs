//! Users (spec: users#user, users#create, users#update).

use super::organizations::CreatorOutput;
use crate::envelope::Pagination;
use bailiwick_directory::users::{UserBody, UserView};
use bailiwick_domain::{Page, Ts, exact, org::OrgRef};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Body of POST and PUT. Other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct UserInput {
    /// Derived from the e-mail when absent.
    pub username: Option<String>,
    /// Required by POST.
    pub email: Option<String>,
    /// Required by POST.
    pub name: Option<String>,
    /// `""` removes it.
    pub phone: Option<String>,
    /// Role keys; required by POST, never empty.
    pub user_role_ids: Option<Vec<String>>,
    /// Required by POST; another one moves the user.
    pub organization_id: Option<String>,
    /// Client keys; replaces the stored ones.
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

/// Body of a password reset. Never printed.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct PasswordInput {
    /// The new password.
    #[schema(required = true, nullable = false)]
    pub password: Option<String>,
}

/// An organization as other objects show it.
#[derive(Debug, Serialize, ToSchema)]
pub struct OrganizationRefOutput {
    /// Id.
    pub id: String,
    /// The same value again.
    pub logto_id: String,
    /// Present name.
    pub name: String,
    /// `owner`, `distributor`, `reseller` or `customer`.
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

/// A role as a user shows it.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoleRefOutput {
    /// Catalogue key.
    pub id: String,
    /// Name.
    pub name: String,
}

/// A user. All keys are always present but the last one.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserOutput {
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
    /// The user's organization.
    pub organization: OrganizationRefOutput,
    /// The user's roles.
    pub roles: Vec<RoleRefOutput>,
    /// Client keys, or null.
    #[schema(required = true, value_type = Option<Object>)]
    #[serde(serialize_with = "exact::write_if_any")]
    pub custom_data: Option<Map<String, Value>>,
    /// Creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    /// Last change by management.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
    /// Null outside identity mode `logto`.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub logto_synced_at: Option<Ts>,
    /// Of one user in identity mode `logto`: what was refused there, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub logto_sync_error: Option<Option<String>>,
    /// Last exchange.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub latest_login_at: Option<Ts>,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Ts>,
    /// Effective.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub suspended_at: Option<Ts>,
    /// The organization it is inherited from.
    #[schema(required = true)]
    pub suspended_by_org_id: Option<String>,
    /// The organization it is inherited from.
    #[schema(required = true)]
    pub deleted_by_org_id: Option<String>,
    /// The creator, or null.
    #[schema(required = true)]
    pub created_by: Option<CreatorOutput>,
    /// Only for callers who hold `impersonate:users`.
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

/// One page of users.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserList {
    /// Rows.
    pub users: Vec<UserOutput>,
    /// Page.
    pub pagination: Pagination,
}

impl UserList {
    /// Of a page, with the sort as the client sent it.
    pub fn of(page: Page<UserView>, sort_by: Option<&str>, direction: Option<&str>) -> UserList {
        let pagination = Pagination::of(&page, sort_by, direction);
        UserList { users: page.rows.into_iter().map(UserOutput::from).collect(), pagination }
    }
}
